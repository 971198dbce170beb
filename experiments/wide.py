"""Measure learning from many features: time, memory and gap of ``"certified"``, and what it finds.

Run ``python experiments/wide.py`` from the top of a checkout, with ``GDAOPT_DATA`` set to a folder
with ``sgml/leukemia.csv`` and ``sgml/colon-cancer.csv`` (a quarter of an hour, if quiet). It prints
the tables, and writes ``figures/wide.md`` and ``figures/wide.png``. Each case runs in a process of
its own. ``--most K`` leaves larger cases out, and writes nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import textwrap
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import gdaopt as gda
from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.directions import AtomsDirection
from gdaopt.linalg.scatter import ScatterMatrix
from gdaopt.master import ActiveSet
from gdaopt.methods.steps import find_step
from gdaopt.objectives.pairs import base
from gdaopt.support.files import write_text
from gdaopt.support.processes import peak_memory
from gdaopt.support.validation import FloatArray

FIGURES = Path(__file__).parent.parent / "figures"
TOLERANCE = 1e-4
N_SAMPLES = 60
N_INFORMATIVE = 10
SHARE = 1e-6  # ρ as a share of C/K
TIME_LIMIT = 300.0
EQUAL_STEPS = 200
FOLDS = {"n_splits": 5, "n_repeats": 2, "random_state": 0}
COMPONENTS = 20
SHOWN = 16  # features in the picture


@dataclass(frozen=True)
class Case:
    """Synthetic data, and the way to learn from them."""

    kind: str  # "normal", "z-scores"
    way: str  # "screened", "dense", "equal weights"
    n_features: int


CASES = (
    *(Case("normal", "screened", 10**k) for k in (3, 4)),
    Case("normal", "screened", 8000),
    Case("normal", "screened", 30_000),
    Case("normal", "screened", 100_000),
    Case("normal", "screened", 1_000_000),
    *(Case("z-scores", "screened", k) for k in (1000, 8000, 10_000, 30_000, 100_000)),
    *(Case("normal", "dense", k) for k in (1000, 2000, 4000)),
    *(Case("normal", "equal weights", k) for k in (1000, 4000)),
)


def normal(n_features: int, scaled: bool) -> tuple[FloatArray, FloatArray]:
    """Return samples of two classes, whose means differ in ten features, and their signal."""
    rng = np.random.default_rng(n_features)
    X = rng.standard_normal((N_SAMPLES, n_features))
    signal = np.repeat([1.0, -1.0], N_SAMPLES // 2)
    X[: N_SAMPLES // 2, :N_INFORMATIVE] += 1.0
    if scaled:
        X -= X.mean(axis=0)
        X /= X.std(axis=0)
    X /= np.sqrt(2 * n_features)
    return X, signal


def problem_of(case: Case) -> gda.MetricProblem:
    """Return the problem: the regulariser over graph metrics of trace K."""
    X, signal = normal(case.n_features, case.kind == "z-scores")
    size = float(case.n_features)
    return gda.MetricProblem(gda.GLR(X, signal), gda.GraphMetrics(size, SHARE))


def equal_weights(problem: gda.MetricProblem, n_steps: int) -> float:
    """Return the objective after Frank–Wolfe steps over atoms ``(e_i ± e_j)/√2`` and ``e_i``.

    That is the idea of HDSL (Liu, Bellet, Sha 2015), with all pairs looked at, exact steps and the
    same budget: the two features of an atom have the same weight, and no bound says when to stop.
    """
    size, budget = problem.n_features, problem.feasible_set.budget(problem.n_features)
    base_point = problem.objective.at(problem.base())
    centre = ActiveSet(*problem.centre)
    point = base_point.moved(AtomsDirection(centre.weights, centre.atoms), 1.0)
    step = find_step("exact").prepared(problem)
    current = centre
    for iteration in range(n_steps):
        gradient: Any = problem.feasible_set.gradient_at(point)
        diagonal, best, pair = gradient.diagonal(), np.inf, (0, 0)
        for start in range(0, size, 256):
            rows = slice(start, start + 256)
            products = gradient.products(gradient.samples[:, rows])
            block = (gradient.samples.T @ products).T
            prices = np.add.outer(diagonal[rows] / 2, diagonal / 2) - np.maximum(block, 0.0)
            place = int(prices.argmin())
            if prices.flat[place] < best:
                best, pair = float(prices.flat[place]), divmod(place + start * size, size)
        values = np.array([[1.0, 0.0]] if pair[0] == pair[1] else [[0.5**0.5, -(0.5**0.5)]])
        atom = Atoms(np.array([pair]), values)
        target, index = current.with_one(atom)
        change = -target.weights
        change[index] += budget
        direction = AtomsDirection(change, target.atoms)
        gamma = step.checked_size(point.line(direction), iteration)
        current = ActiveSet(target.atoms, target.weights + gamma * change).without_zeros()
        point = point.moved(direction, gamma)
    return point.value


def measure(case: Case) -> dict[str, Any]:
    """Return what the first table says of a case; in a process of its own."""
    base.MOST_DENSE = case.n_features if case.way == "dense" else 1
    problem = problem_of(case)
    priced = [0]

    def count(self: Any, number: int) -> None:
        priced[0] += number - self.__dict__.get("n", 0)
        self.__dict__["n"] = number

    ScatterMatrix.n_priced = property(lambda self: self.__dict__.get("n", 0), count)  # type: ignore
    start, cpu = time.perf_counter(), time.process_time()
    if case.way == "equal weights":
        objective = equal_weights(problem, EQUAL_STEPS)
        found: dict[str, Any] = {"objective": objective, "rounds": EQUAL_STEPS}
    else:
        limit = TIME_LIMIT if case.n_features > 100_000 else None
        result = gda.solve(problem, tolerance=TOLERANCE, time_limit=limit)
        found = {
            "objective": result.objective,
            "gap": result.relative_gap,
            "status": result.status,
            "rounds": result.iterations,
            "atoms": len(result.weights if result.weights is not None else ()),
            "edges": problem.feasible_set.n_edges(result.known_metric),
        }
    seconds = time.perf_counter() - start, time.process_time() - cpu
    return found | {
        "wall": seconds[0],
        "cpu": seconds[1],
        "peak": peak_memory(),
        "priced": priced[0],
    }


# --- real data ------------------------------------------------------------------------------------


def real(name: str) -> tuple[FloatArray, Any]:
    """Return samples and classes of a data set."""
    table = np.loadtxt(Path(os.environ["GDAOPT_DATA"], "sgml", f"{name}.csv"), delimiter=",")
    return table[:, :-1], table[:, -1].astype(int)


def transformed(result: gda.Result, X: FloatArray) -> FloatArray:
    """Return X along the atoms, times the roots of their weights: distances without ``ρI``."""
    return np.asarray(X @ (result.atoms.T * np.sqrt(np.array(result.weights))))


def learned(X: FloatArray, y: Any) -> tuple[gda.MetricProblem, gda.Result]:
    """Return the certified optimum of the regulariser of z-scores over graph metrics."""
    size = X.shape[1]
    signal = np.where(y == y.min(), -1.0, 1.0)
    problem = gda.MetricProblem(
        gda.GLR(X / np.sqrt(2 * size), signal), gda.GraphMetrics(float(size), SHARE)
    )
    return problem, gda.solve(problem, tolerance=TOLERANCE)


def error(train: FloatArray, y_train: Any, test: FloatArray, y_test: Any) -> float:
    """Return the share of errors of five nearest neighbours."""
    from sklearn.neighbors import KNeighborsClassifier

    return 1 - float(KNeighborsClassifier(5).fit(train, y_train).score(test, y_test))


def measure_real(name: str) -> dict[str, Any]:
    """Return errors by the same folds, and the features of the metric of all samples."""
    # Here, since they would take a part of the memory that other processes measure.
    from sklearn.decomposition import PCA
    from sklearn.model_selection import RepeatedStratifiedKFold
    from sklearn.preprocessing import StandardScaler

    X, y = real(name)
    errors: dict[str, list[float]] = {"plain": [], "pca": [], "certified": []}
    seconds = []
    for train, test in RepeatedStratifiedKFold(**FOLDS).split(X, y):
        scaler = StandardScaler().fit(X[train])
        a, b = scaler.transform(X[train]), scaler.transform(X[test])
        errors["plain"].append(error(a, y[train], b, y[test]))
        pca = PCA(min(COMPONENTS, len(train) - 1), random_state=0).fit(a)
        learner = gda.MetricLearner().fit(pca.transform(a), y[train])
        errors["pca"].append(
            error(
                learner.transform(pca.transform(a)),
                y[train],
                learner.transform(pca.transform(b)),
                y[test],
            )
        )
        start = time.perf_counter()
        _, result = learned(a, y[train])
        seconds.append(time.perf_counter() - start)
        errors["certified"].append(
            error(transformed(result, a), y[train], transformed(result, b), y[test])
        )
    problem, result = learned(StandardScaler().fit_transform(X), y)
    weight = np.zeros(X.shape[1])
    np.add.at(
        weight,
        result.atoms.indices,
        result.atoms.data**2 * np.repeat(np.array(result.weights), np.diff(result.atoms.indptr)),
    )
    strongest = np.argsort(-weight, kind="stable")
    used = int(np.count_nonzero(weight))
    return {
        "shape": X.shape,
        "errors": {
            key: (float(np.mean(e)), float(np.std(e) / len(e) ** 0.5)) for key, e in errors.items()
        },
        "seconds": float(np.median(seconds)),
        "gap": result.relative_gap,
        "edges": problem.feasible_set.n_edges(result.known_metric),
        "used": used,
        "strongest": strongest[:SHOWN].tolist(),
        "block": result.sparse_metric[strongest[:SHOWN]][:, strongest[:SHOWN]].toarray().tolist(),
    }


# --- tables ---------------------------------------------------------------------------------------

INTRODUCTION = f"""
`"certified"` to a relative gap of {TOLERANCE:g}: the graph Laplacian regulariser over graph metrics
of trace K, by `python experiments/wide.py`. *normal*: {N_SAMPLES} samples of standard normal
features, ten of which are shifted by 1 between two classes. *z-scores*: the same, each feature
scaled, so that no feature is longer than the others and nearly all pairs have to be looked at.
*screened*: no K×K array. *dense*: all entries of each gradient. *equal weights*: {EQUAL_STEPS}
Frank–Wolfe steps over atoms of two features of the same weight, as in HDSL, without a bound.
*pairs*: entries of gradients that were computed to find the best atoms, also as a multiple of the
number of pairs. Beyond 100,000 features the run ends after {TIME_LIMIT:g} s. *peak*: of a process.
"""
GENES = f"""
Errors in % of five nearest neighbours, by {FOLDS["n_repeats"]} × {FOLDS["n_splits"]} stratified
folds (± standard error): of z-scores; of {COMPONENTS} principal components under the metric of
`MetricLearner`; and along the atoms of the certified metric. *seconds*: median of a fold.
*features*: how many have a weight in the metric of all samples; the strongest are named.
"""
COLUMNS = (
    *("data", "way", "K", "seconds", "CPU seconds", "peak, MB", "pairs", "share", "rounds"),
    *("atoms", "edges", "objective", "gap", "status"),
)
GENE_COLUMNS = (
    *("data", "N", "K", "z-scores", "PCA + metric", "certified", "seconds", "gap", "features"),
    *("edges", "strongest features"),
)


def wrapped(paragraph: str) -> list[str]:
    """Return the lines of a paragraph."""
    return textwrap.wrap(" ".join(paragraph.split()), 100)


def in_process(option: str, value: str) -> dict[str, Any]:
    """Return what a process of its own measures."""
    command = [sys.executable, __file__, option, value]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found: dict[str, Any] = json.loads(output.splitlines()[-1])
    return found


def row(case: Case, found: dict[str, Any]) -> str:
    """Return a row of the first table."""
    gap = found.get("gap")
    n_pairs = case.n_features * (case.n_features - 1) / 2
    cells = [
        case.kind,
        case.way,
        f"{case.n_features:,}",
        f"{found['wall']:.1f}",
        f"{found['cpu']:.1f}",
        f"{found['peak'] / 1e6:.0f}",
        f"{found['priced']:.1e}" if found["priced"] else "",
        f"{found['priced'] / n_pairs:.2g}" if found["priced"] else "",
        str(found["rounds"]),
        str(found.get("atoms", "")),
        str(found.get("edges", "")),
        f"{found['objective']:.9g}",
        "" if gap is None else f"{gap:.1e}",
        found.get("status", ""),
    ]
    return "| " + " | ".join(cells) + " |"


def slope(found: dict[Case, dict[str, Any]], kind: str) -> float | None:
    """Return the exponent of CPU time as a power of K, fitted from 10⁴ to 10⁵ features."""
    points = [
        (np.log(case.n_features), np.log(measured["cpu"]))
        for case, measured in found.items()
        if case.kind == kind and case.way == "screened" and 10**4 <= case.n_features <= 10**5
    ]
    if len(points) < 2:
        return None
    sizes, times = np.array(points).T
    return float(np.polyfit(sizes, times, 1)[0])


def picture(found: dict[str, dict[str, Any]]) -> None:
    """Draw the strongest features of the metrics of all samples as graphs."""
    import matplotlib.pyplot as plt

    from gdaopt import plotting

    figure, axes = plt.subplots(1, len(found), figsize=(13, 6), layout="constrained")
    for ax, (name, measured) in zip(axes, found.items(), strict=True):
        names = [str(place + 1) for place in measured["strongest"]]
        plotting.graph(np.array(measured["block"]), names=names, ax=ax)
        ax.set_title(f"{name}: the {SHOWN} strongest of {measured['shape'][1]} genes", y=1.08)
    figure.savefig(FIGURES / "wide.png", dpi=100)


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int)
    parser.add_argument("--case")
    parser.add_argument("--real")
    options = parser.parse_args()
    if options.case:
        print(json.dumps(measure(Case(**json.loads(options.case)))))
        return
    if options.real:
        print(json.dumps(measure_real(options.real)))
        return
    lines = [
        "# Many features",
        "",
        *wrapped(INTRODUCTION),
        "",
        f"Python {platform.python_version()}, numpy {np.__version__}, {platform.machine()}, gdaopt "
        f"{gda.__version__}, {os.environ.get('OMP_NUM_THREADS', 'all')} thread(s).",
        "",
        "| " + " | ".join(COLUMNS) + " |",
        "|---|---|" + "--:|" * (len(COLUMNS) - 3) + "---|",
    ]
    print("\n".join(lines), flush=True)
    found = {}
    for case in CASES:
        if options.most is None or case.n_features <= options.most:
            found[case] = in_process("--case", json.dumps(asdict(case)))
            lines.append(row(case, found[case]))
            print(lines[-1], flush=True)
    slopes = {kind: slope(found, kind) for kind in ("normal", "z-scores")}
    more = [
        "",
        "CPU time from 10,000 to 100,000 features grows like "
        + " and ".join(f"K^{s:.2f} ({kind})" for kind, s in slopes.items() if s is not None)
        + ".",
        "",
        "## Genes",
        "",
        *wrapped(GENES),
        "",
        "| " + " | ".join(GENE_COLUMNS) + " |",
        "|---|" + "--:|" * (len(GENE_COLUMNS) - 2) + "---|",
    ]
    print("\n".join(more), flush=True)
    lines += more
    genes = {}
    for name in ("leukemia", "colon-cancer"):
        genes[name] = measured = in_process("--real", name)
        errors = [f"{100 * mean:.1f} ± {100 * se:.1f}" for mean, se in measured["errors"].values()]
        cells = [
            name,
            *map(str, measured["shape"]),
            *errors,
            f"{measured['seconds']:.2f}",
            f"{measured['gap']:.1e}",
            str(measured["used"]),
            str(measured["edges"]),
            ", ".join(str(place + 1) for place in measured["strongest"][:8]),
        ]
        lines.append("| " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    if options.most is None:
        write_text(FIGURES / "wide.md", "\n".join(lines) + "\n")
        picture(genes)


if __name__ == "__main__":
    main()
