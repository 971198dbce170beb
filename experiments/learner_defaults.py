"""What the defaults of the learners are chosen by: the scale of features, samples, pairs, paths.

Run ``python experiments/learner_defaults.py`` from the top of a checkout (5 minutes); it prints the
tables and writes ``figures/learner_defaults.md``.
"""

from __future__ import annotations

import platform
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np
import sklearn
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

import gdaopt as gda
from gdaopt.datasets import load
from gdaopt.estimators.trace_bound_path import auto_path, path_results
from gdaopt.io import write_text
from gdaopt.validation import FloatArray

LEARNERS: dict[str, Any] = {
    "graph": gda.GraphMetricLearner,
    "diagonal": gda.DiagonalMetricLearner,
    "definite": gda.PositiveDefiniteMetricLearner,
}
DATA = ("iris", "wine", "breast_cancer", "seeds")
SEEDS = range(2)
NOISY = {  # samples, features, of which informative, classes
    "2 classes": (1500, 100, 6, 2),
    "5 classes": (1200, 150, 6, 5),
    "10 classes": (2500, 50, 8, 10),
}
CHOICES: dict[str, dict[str, Any]] = {
    "all pairs": {},
    "a third of the samples": {"max_samples": 1 / 3},
    "10 nearest of other classes a sample": {"n_neighbors": 10},
    "50 nearest of other classes a sample": {"n_neighbors": 50},
    "10 random pairs a sample": {"max_pairs": 10},
    "50 random pairs a sample": {"max_pairs": 50},
}
OUT = Path(__file__).parent.parent / "figures" / "learner_defaults.md"


def error(X: FloatArray, y: Any, queries: FloatArray, answers: Any) -> float:
    """Return the error of 5 nearest neighbours in %."""
    return 100 - 100 * float(KNeighborsClassifier().fit(X, y).score(queries, answers))


def scales() -> Iterator[str]:
    """Yield the table of raw and standardised features."""
    columns = [f"{name}, {scale}" for name in LEARNERS for scale in ("raw", "standardised")]
    yield "## Scale"
    yield ""
    yield f"| data | no learning, raw | no learning, standardised | {' | '.join(columns)} |"
    yield f"|---|--:|--:|{'--:|' * len(columns)}"
    for name in DATA:
        X, y = load(name).features, load(name).labels
        rows = []
        for seed in SEEDS:
            for train, test in StratifiedKFold(2, shuffle=True, random_state=seed).split(X, y):
                scaler = StandardScaler().fit(X[train])
                row = [error(X[train], y[train], X[test], y[test])]
                standardised = scaler.transform(X[train]), scaler.transform(X[test])
                row.append(error(standardised[0], y[train], standardised[1], y[test]))
                for make in LEARNERS.values():
                    for scale in ("none", "auto"):
                        learner = make(scale=scale, tolerance=1e-3, time_limit=30).fit(
                            X[train], y[train]
                        )
                        maps = learner.transform(X[train]), learner.transform(X[test])
                        row.append(error(maps[0], y[train], maps[1], y[test]))
                rows.append(row)
        means = np.mean(rows, axis=0)
        yield f"| {name} | {' | '.join(f'{mean:.1f}' for mean in means)} |"
    yield ""


def pairs() -> Iterator[str]:
    """Yield the table of samples and pairs."""
    yield "## Samples and pairs where most features are noise"
    yield ""
    yield f"| learn from | {' | '.join(f'{name}, % | s' for name in NOISY)} |"
    yield f"|---|{'--:|--:|' * len(NOISY)}"
    cells: dict[str, list[str]] = {name: [] for name in ("no learning", *CHOICES)}
    for count, size, informative, classes in NOISY.values():
        X, y = make_classification(
            2 * count,
            size,
            n_informative=informative,
            n_redundant=0,
            n_classes=classes,
            n_clusters_per_class=1 if classes > 2 else 2,
            random_state=1,
        )
        known = X[:count], y[:count]
        cells["no learning"] += [f"{error(*known, X[count:], y[count:]):.1f}", ""]
        for name, choice in CHOICES.items():
            options: dict[str, Any] = {"max_samples": None}
            options |= {key: scaled(key, value, count) for key, value in choice.items()}
            start = time.process_time()
            learner = gda.DiagonalMetricLearner(tolerance=1e-3, **options).fit(*known)
            seconds = time.process_time() - start
            maps = learner.transform(X[:count]), learner.transform(X[count:])
            cells[name] += [f"{error(maps[0], known[1], maps[1], y[count:]):.1f}", f"{seconds:.2f}"]
    for name, row in cells.items():
        yield f"| {name} | {' | '.join(row)} |"
    yield ""


def scaled(option: str, value: float, count: int) -> int:
    """Return the value of an option for so many samples."""
    return int(value) if option == "n_neighbors" else int(value * count)


def paths() -> Iterator[str]:
    """Yield the table of what paths cost."""
    yield "## Paths of 10 trace bounds"
    yield ""
    yield "| data | set | one fit, s | path, in fits | path without starts, in fits |"
    yield "|---|---|--:|--:|--:|"
    for name in ("wine", "breast_cancer"):
        X, y = load(name).features, load(name).labels
        classes, codes = np.unique(y, return_inverse=True)
        for kind, make in LEARNERS.items():
            start = time.process_time()
            make().fit(X, y)
            one = time.process_time() - start
            learner = make(tolerance=1e-2)
            learner.classes_, learner.n_features_in_ = classes, X.shape[1]
            start = time.process_time()
            bounds = auto_path(learner, X, codes, 10)
            list(path_results(learner, X, codes, bounds))
            path = time.process_time() - start
            start = time.process_time()
            for bound in bounds.tolist():
                make(trace_bound=bound, tolerance=1e-4).fit(X, y)
            alone = time.process_time() - start
            yield f"| {name} | {kind} | {one:.3g} | {path / one:.1f} | {alone / one:.1f} |"


def main() -> None:
    """Measure, print, write."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    sizes = ", ".join(
        f"{name}: {count} × {size}, {informative} informative features"
        for name, (count, size, informative, _) in NOISY.items()
    )
    lines = [
        "# What the defaults of the learners are chosen by",
        "",
        fill(
            "Errors of 5 nearest neighbours, in %, in metrics learned to 1e-3. Scale: means of 4 "
            'halves of each data set, on features as they are (`scale="none"`) and divided by '
            'their standard deviations (`scale="auto"`). Samples and pairs: diagonal metrics on '
            "data of `make_classification`, as many test samples as training samples; CPU seconds "
            f"of the fit. {sizes}. "
            "Paths: what the 10 fits of a learner with cross-validation on one fold cost, "
            "in CPU seconds of one fit with defaults; to 1e-2, each started from the last one; and "
            "as 10 fits with defaults. Written by `python experiments/learner_defaults.py`.",
            100,
        ),
        "",
        f"Python {platform.python_version()}, gdaopt {gda.__version__}, numpy {np.__version__}, "
        f"scikit-learn {sklearn.__version__}, {platform.machine()}.",
        "",
    ]
    for table in (scales(), pairs(), paths()):
        for line in table:
            print(line, flush=True)
            lines.append(line)
    write_text(OUT, "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
