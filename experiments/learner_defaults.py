"""What the defaults of the learners are chosen by: objective, eigenvalues, scale, samples, paths.

Run ``python experiments/learner_defaults.py`` from the top of a checkout (15 minutes); it prints
the tables and writes ``figures/learner_defaults.md``.
"""

import time
import warnings
from collections.abc import Iterator
from textwrap import fill
from typing import Any

import numpy as np
import numpy.typing as npt
import sklearn
from pages import Page, header, here
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

import gdaopt as gda
from gdaopt.datasets import load
from gdaopt.estimators.cross_validated import auto_path, path_results
from gdaopt.estimators.inputs import class_signal
from gdaopt.objectives import OBJECTIVES
from gdaopt.scaling import auto_trace_bound
from gdaopt.support.validation import FloatArray

LEARNERS: dict[str, Any] = {
    "graph": gda.GraphMetricLearner,
    "diagonal": gda.DiagonalMetricLearner,
    "definite": gda.PositiveDefiniteMetricLearner,
}
DATA = ("iris", "wine", "breast_cancer", "seeds")
SEEDS = range(2)
SYNTHETIC = {  # samples, features, of which informative, and combinations of these; classes
    "noise, 2 classes": (1500, 100, 6, 0, 2),
    "noise, 5 classes": (1200, 150, 6, 0, 5),
    "noise, 10 classes": (2500, 50, 8, 0, 10),
    "correlated, 2 classes": (1500, 60, 6, 50, 2),
    "correlated, 5 classes": (1200, 50, 6, 40, 5),
    "correlated, 10 classes": (2500, 40, 8, 30, 10),
}
NOISY = [name for name in SYNTHETIC if name.startswith("noise")]
SHARES = (0.001, 0.03, 0.1, 0.3)  # ρ as a share of C/K
CHOICES: dict[str, dict[str, Any]] = {
    "GLR, all pairs": {"objective": "glr"},
    "GLR, a third of the samples": {"objective": "glr", "max_samples": 1 / 3},
    "GLR, 10 nearest of other classes a sample": {"objective": "glr", "n_neighbors": 10},
    "GLR, 50 nearest of other classes a sample": {"objective": "glr", "n_neighbors": 50},
    "GLR, 10 random pairs a sample": {"objective": "glr", "max_pairs": 10},
    "GLR, 50 random pairs a sample": {"objective": "glr", "max_pairs": 50},
    "MCML, all samples": {},
    "MCML, a third of the samples": {"max_samples": 1 / 3},
}
KINDS = [(name, share) for name in ("mcml", "glr") for share in SHARES]


Halves = tuple[FloatArray, npt.NDArray[Any], FloatArray, npt.NDArray[Any]]
"""Training samples and their labels, test samples and theirs."""


def error(X: FloatArray, y: Any, queries: FloatArray, answers: Any) -> float:
    """Return the error of 5 nearest neighbours in %."""
    return 100 - 100 * float(KNeighborsClassifier().fit(X, y).score(queries, answers))


def problems() -> Iterator[tuple[str, list[Halves]]]:
    """Yield the name of each problem, and its halves: standardised samples and labels."""
    for name in DATA:
        X, y = load(name).features, np.unique(load(name).labels, return_inverse=True)[1]
        halves = []
        for seed in SEEDS:
            for train, test in StratifiedKFold(2, shuffle=True, random_state=seed).split(X, y):
                scaler = StandardScaler().fit(X[train])
                halves.append(
                    (scaler.transform(X[train]), y[train], scaler.transform(X[test]), y[test])
                )
        yield name, halves
    for name in SYNTHETIC:
        X, y, queries, answers = synthetic(name)
        scaler = StandardScaler().fit(X)
        yield name, [(scaler.transform(X), y, scaler.transform(queries), answers)]


def synthetic(name: str) -> Halves:
    """Return training samples and as many test samples of a synthetic problem."""
    count, size, informative, redundant, classes = SYNTHETIC[name]
    X, y = make_classification(
        2 * count,
        size,
        n_informative=informative,
        n_redundant=redundant,
        n_classes=classes,
        n_clusters_per_class=1 if classes > 2 else 2,
        random_state=1,
    )
    return X[:count], y[:count], X[count:], y[count:]


def objectives() -> Iterator[str]:
    """Yield the table of objectives and smallest eigenvalues."""
    yield "## Objectives, and the smallest eigenvalue allowed"
    yield ""
    heads = " | ".join(f"{name.upper()}, {share:g}" for name, share in KINDS)
    yield from header(f"data | no learning | {heads}")
    for data, halves in problems():
        rows = [[error(*half), *(learned_error(half, *kind) for kind in KINDS)] for half in halves]
        yield f"| {data} | {' | '.join(f'{mean:.1f}' for mean in np.mean(rows, axis=0))} |"
    yield ""


def learned_error(half: Halves, objective: str, share: float) -> float:
    """Return the error under a graph metric whose eigenvalues are at least a share of C/K."""
    X, y, queries, answers = half
    made = OBJECTIVES[objective](X, class_signal(y) if objective == "glr" else y)
    bound = auto_trace_bound(made, gda.GraphMetrics(1.0))
    learner = gda.GraphMetricLearner(
        objective,
        trace_bound=bound,
        min_eigenvalue=share * bound / X.shape[1],
        scale="none",
        tolerance=1e-2,
    ).fit(X, y)
    return error(learner.transform(X), y, learner.transform(queries), answers)


def scales() -> Iterator[str]:
    """Yield the table of raw and standardised features."""
    columns = [f"{name}, {scale}" for name in LEARNERS for scale in ("raw", "standardised")]
    yield "## Scale"
    yield ""
    yield from header(
        f"data | no learning, raw | no learning, standardised | {' | '.join(columns)}"
    )
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
    yield from header(f"learn from | {' | '.join(f'{name}, % | s' for name in NOISY)}")
    cells: dict[str, list[str]] = {name: [] for name in ("no learning", *CHOICES)}
    for data in NOISY:
        X, y, queries, answers = synthetic(data)
        cells["no learning"] += [f"{error(X, y, queries, answers):.1f}", ""]
        for name, choice in CHOICES.items():
            options: dict[str, Any] = {"max_samples": None}
            options |= {key: scaled(key, value, len(X)) for key, value in choice.items()}
            start = time.process_time()
            learner = gda.DiagonalMetricLearner(tolerance=1e-3, **options).fit(X, y)
            seconds = time.process_time() - start
            found = error(learner.transform(X), y, learner.transform(queries), answers)
            cells[name] += [f"{found:.1f}", f"{seconds:.2f}"]
    for name, row in cells.items():
        yield f"| {name} | {' | '.join(row)} |"
    yield ""


def scaled(option: str, value: Any, count: int) -> Any:
    """Return the value of an option for so many samples."""
    return int(value * count) if option.startswith("max") else value


def paths() -> Iterator[str]:
    """Yield the table of what paths cost."""
    yield "## Paths of 10 trace bounds"
    yield ""
    yield from header(
        "data | set | one fit, s | path, in fits | path without starts, in fits", words=2
    )
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
    warnings.simplefilter("ignore", ConvergenceWarning)
    sizes = "; ".join(
        f"{name}: {count} × {size}, {informative} informative features"
        + (f" and {redundant} combinations of them" if redundant else "")
        for name, (count, size, informative, redundant, _) in SYNTHETIC.items()
    )
    page = Page(
        "learner_defaults",
        "# What the defaults of the learners are chosen by",
        "",
        fill(
            "Errors of 5 nearest neighbours, in %. Objectives: graph metrics learned to 1e-2 from "
            "standardised features, for ρ of several shares of C/K, means of 4 halves or of one "
            "problem of `make_classification` with as many test samples as training samples "
            f"({sizes}). Scale: learned to 1e-3 from the same halves, on features as they are "
            '(`scale="none"`) and divided by their standard deviations (`scale="auto"`). Samples '
            "and pairs: diagonal metrics, to 1e-3; CPU seconds of the fit. "
            "Paths: what the 10 fits of a learner with cross-validation on one fold cost, "
            "in CPU seconds of one fit with defaults; to 1e-2, each started from the last one; and "
            "as 10 fits with defaults. Written by `python experiments/learner_defaults.py`.",
            100,
        ),
        "",
        here(f"scikit-learn {sklearn.__version__}"),
        "",
    )
    for table in (objectives(), scales(), pairs(), paths()):
        for line in table:
            page.add(line)
    page.write()


if __name__ == "__main__":
    main()
