"""Measure learning from many features: time, memory and gap of ``"certified"``, and what it finds.

Leukemia and colon cancer are read from ``sgml/leukemia.csv`` and ``sgml/colon-cancer.csv`` in the
folder ``GDAOPT_DATA``. Each case runs in a process of its own.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.sparse import csr_array

import gdaopt as gda
from experiments.pages import Experiment, Page, header, in_a_process, wrap, write_figure
from experiments.pages import row as line
from gdaopt.linalg.laplacian import edge_threshold, n_edges
from gdaopt.objectives import pair_objective
from gdaopt.scaling import auto_trace_bound
from gdaopt.support.processes import peak_memory
from gdaopt.support.validation import FloatArray
from gdaopt.wide.features import ManyFeatures
from gdaopt.wide.scatter import ScatterMatrix

if TYPE_CHECKING:  # what is measured in processes has no pictures in its memory
    from matplotlib.figure import Figure

TOLERANCE = 1e-4
SAME = 1e-9  # the tolerance where two ways are compared
N_SAMPLES = 60
N_INFORMATIVE = 10
SHARE = 1e-6  # ρ as a share of C/K
TIME_LIMIT = 300.0
EQUAL_STEPS = 200
FOLDS = {"n_splits": 5, "n_repeats": 2, "random_state": 0}
COMPONENTS = 20
SHOWN = 16  # features in the picture
N_TEXTS = 2000
N_WORDS = 50_000
WORDS_OF_TEXT = 50
WORDS_OF_CLASS = 200


@dataclass(frozen=True)
class Case:
    """Synthetic data, and the way to learn from them."""

    kind: str  # "normal", "z-scores", "text"
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
    Case("text", "screened", N_WORDS),
    *(Case("text", way, 2000) for way in ("screened", "dense")),
)


def n_edges_of(result: gda.Result) -> int:
    """Return the number of edges of a metric that count."""
    threshold = edge_threshold(result.feasible_set.trace_bound, result.n_features)
    return n_edges(result.block, threshold)


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


def texts(n_features: int) -> tuple[csr_array, FloatArray]:
    """Return texts of two classes by their most frequent words, and their signal.

    Words are drawn by Zipf's law, but some are four times as frequent in one of the classes. Each
    word that a text has counts by the logarithm of how rare it is; texts have unit length.
    """
    rng = np.random.default_rng(0)
    signal = np.repeat([1.0, -1.0], N_TEXTS // 2)
    of_classes = 20 + rng.permutation(N_WORDS // 10)[: 2 * WORDS_OF_CLASS].reshape(2, -1)
    words = np.empty((N_TEXTS, WORDS_OF_TEXT), dtype=np.intp)
    for texts_of_class, frequent in zip(np.split(words, 2), of_classes, strict=True):
        shares = 1 / np.arange(1.0, N_WORDS + 1)
        shares[frequent] *= 4
        for text in texts_of_class:
            text[:] = rng.choice(N_WORDS, WORDS_OF_TEXT, replace=False, p=shares / shares.sum())
    counts = np.bincount(words.ravel(), minlength=N_WORDS)
    values = np.log(N_TEXTS / counts[words])
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    starts = np.arange(0, words.size + 1, WORDS_OF_TEXT)
    X = csr_array((values.ravel(), words.ravel(), starts), shape=(N_TEXTS, N_WORDS))
    return X[:, np.sort(np.argsort(-counts, kind="stable")[:n_features])], signal


def problem_of(case: Case) -> gda.MetricProblem:
    """Return the problem: the regulariser over graph metrics of trace K, of texts "auto"."""
    size = float(case.n_features)
    if case.kind == "text":
        words, signal = texts(case.n_features)
        objective = gda.GLR(words, signal)
        trace_bound = auto_trace_bound(objective, gda.GraphMetrics(1.0))
        feasible_set = gda.GraphMetrics(trace_bound, SHARE * trace_bound / size)
        if case.way == "dense":
            objective = gda.GLR(words.toarray(), signal)
        return gda.MetricProblem(objective, feasible_set)
    X, signal = normal(case.n_features, case.kind == "z-scores")
    return gda.MetricProblem(gda.GLR(X, signal), gda.GraphMetrics(size, SHARE))


def equal_weights(problem: gda.MetricProblem, n_steps: int) -> float:
    """Return the objective after Frank–Wolfe steps over atoms ``(e_i ± e_j)/√2`` and ``e_i``.

    That is the idea of HDSL (Liu, Bellet, Sha 2015), with all pairs looked at, exact steps and the
    same budget: the two features of an atom have the same weight, and no bound says when to stop.
    """
    whole = ManyFeatures(problem)
    samples, size, budget = whole.samples, whole.size, whole.budget
    gram = budget / size * whole.gram  # X N X' of the middle of the set
    for _ in range(n_steps):
        scatter = whole.scatter(whole.at(gram)[1])
        diagonal, best, pair = scatter.diagonal, np.inf, (0, 0)
        for start in range(0, size, 256):
            rows = slice(start, start + 256)
            block = (samples.T @ scatter.products(samples[:, rows])).T
            prices = np.add.outer(diagonal[rows] / 2, diagonal / 2) - np.maximum(block, 0.0)
            place = int(prices.argmin())
            if prices.flat[place] < best:
                best, pair = float(prices.flat[place]), divmod(place + start * size, size)
        along = samples[:, pair[0]]
        if pair[0] != pair[1]:
            along = (along - samples[:, pair[1]]) * 0.5**0.5
        direction = budget * np.multiply.outer(along, along) - gram
        step = minimize_scalar(
            lambda gamma, start, way: whole.at(start + gamma * way)[0].log_value,
            bounds=(0.0, 1.0),
            args=(gram, direction),
            method="bounded",
            options={"xatol": 1e-12},
        )
        gram = gram + step.x * direction
    return whole.at(gram)[0].value


def measure(case: Case) -> dict[str, Any]:
    """Return what the first table says of a case; in a process of its own."""
    options: dict[str, Any] = {"tolerance": TOLERANCE}
    if case.n_features > 100_000:
        options["time_limit"] = TIME_LIMIT
    if case.kind == "text" and case.n_features < N_WORDS:
        options["tolerance"] = SAME
    screened_metric = None
    if case.kind == "text" and case.way == "dense":
        screened = problem_of(Case("text", "screened", case.n_features))
        screened_metric = gda.solve(screened, **options).metric
    pair_objective.MOST_DENSE = case.n_features if case.way == "dense" else 1
    problem = problem_of(case)
    priced = [0]

    def count(self: Any, number: int) -> None:
        priced[0] += number - self.__dict__.get("n", 0)
        self.__dict__["n"] = number

    ScatterMatrix.n_priced = property(lambda self: self.__dict__.get("n", 0), count)  # type: ignore
    start, cpu = time.perf_counter(), time.process_time()
    if case.way == "equal weights":
        objective = equal_weights(problem, EQUAL_STEPS)
        figures: dict[str, Any] = {"objective": objective, "rounds": EQUAL_STEPS}
    elif screened_metric is not None:
        certificate = gda.certify(problem, screened_metric)
        figures = {"objective": certificate.objective, "gap": certificate.relative_gap, "rounds": 0}
    else:
        result = gda.solve(problem, "certified", **options)
        figures = {
            "objective": result.objective,
            "gap": result.relative_gap,
            "status": result.status,
            "rounds": result.iterations,
            "atoms": len(result.weights if result.weights is not None else ()),
            "edges": n_edges_of(result),
        }
    seconds = time.perf_counter() - start, time.process_time() - cpu
    return figures | {
        "wall": seconds[0],
        "cpu": seconds[1],
        "peak": peak_memory(),
        "priced": priced[0],
    }


# --- real data ------------------------------------------------------------------------------------


def real(name: str) -> tuple[FloatArray, Any]:
    """Return samples and classes of a data set: of genes, or scikit-learn's."""
    if name == "breast_cancer":
        from sklearn.datasets import load_breast_cancer

        X, y = load_breast_cancer(return_X_y=True)
        return X, y
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
    _, result = learned(StandardScaler().fit_transform(X), y)
    weight = np.asarray(csr_array(result.atoms).power(2).T @ np.array(result.weights))
    strongest = np.argsort(-weight, kind="stable")
    used = int(np.count_nonzero(weight))
    return {
        "shape": X.shape,
        "errors": {
            key: (float(np.mean(e)), float(np.std(e) / len(e) ** 0.5)) for key, e in errors.items()
        },
        "seconds": float(np.median(seconds)),
        "gap": result.relative_gap,
        "edges": n_edges_of(result),
        "used": used,
        "strongest": strongest[:SHOWN].tolist(),
        "block": result.sparse_metric[strongest[:SHOWN]][:, strongest[:SHOWN]].toarray().tolist(),
    }


# --- tables ---------------------------------------------------------------------------------------

INTRODUCTION = f"""
`"certified"` to a relative gap of {TOLERANCE:g}: the graph Laplacian regulariser
over graph metrics of trace K. *normal*: {N_SAMPLES} samples of standard normal features, ten of
which are shifted by 1 between two classes. *z-scores*: the same, each feature scaled, so that no
feature is longer than the others and nearly all pairs have to be looked at. *text*: {N_TEXTS}
sparse samples of {WORDS_OF_TEXT} words each, drawn by Zipf's law, of trace `"auto"`; with fewer
features these are the most frequent words, and the gap is {SAME:g}. *screened*: no K×K array.
*dense*: all entries of each gradient; of texts they certify the screened optimum as an array, and
there is no run. *equal weights*: {EQUAL_STEPS} Frank–Wolfe steps over atoms of two features of the
same weight, as in HDSL, without a bound. *pairs*: entries of gradients that were computed to find
the best atoms, also as a multiple of the number of pairs. Beyond 100,000 features the run ends
after {TIME_LIMIT:g} s. *peak*: of a process.
"""
GROWTH = """
The features of both kinds have no directions in common: all samples have to be compared for each
pair of features that their lengths do not rule out. With features of one length these are all
pairs, each of them once, and time comes to grow like their number, K^2.
"""
GENES = f"""
Errors in % of five nearest neighbours, by {FOLDS["n_repeats"]} × {FOLDS["n_splits"]} stratified
folds (± standard error): of z-scores; of {COMPONENTS} principal components under the metric of
`MetricLearner`; and along the atoms of the certified metric. *seconds*: median of a fold.
*features*: how many have a weight in the metric of all samples; the strongest are named.
"""
COLUMNS = (
    "data | way | K | seconds | CPU seconds | peak, MB | pairs | share | rounds | atoms | edges | "
    "objective | gap | status"
)
GENE_COLUMNS = (
    "data | N | K | z-scores | PCA + metric | certified | seconds | gap | features | edges | "
    "strongest features"
)


def row(case: Case, figures: dict[str, Any]) -> str:
    """Return a row of the first table."""
    gap, priced = figures.get("gap"), figures["priced"]
    n_pairs = case.n_features * (case.n_features - 1) / 2
    return line(
        case.kind,
        case.way,
        f"{case.n_features:,}",
        f"{figures['wall']:.1f}",
        f"{figures['cpu']:.1f}",
        f"{figures['peak'] / 1e6:.0f}",
        f"{priced:.1e}" if priced else "",
        f"{priced / n_pairs:.2g}" if priced else "",
        figures["rounds"],
        figures.get("atoms", ""),
        figures.get("edges", ""),
        f"{figures['objective']:.12g}" if case.kind == "text" else f"{figures['objective']:.9g}",
        "" if gap is None else f"{gap:.1e}",
        figures.get("status", ""),
    )


def growth(figures: dict[Case, dict[str, Any]], kind: str, what: str) -> str | None:
    """Return the power of K that a column grows like, fitted from 10⁴ to 10⁵ features."""
    points = [
        (np.log(case.n_features), np.log(measured[what]))
        for case, measured in figures.items()
        if case.kind == kind and case.way == "screened" and 10**4 <= case.n_features <= 10**5
    ]
    if len(points) < 2:
        return None
    sizes, values = np.array(points).T
    return f"K^{np.polyfit(sizes, values, 1)[0]:.2f} ({kind})"


def picture(figures: dict[str, dict[str, Any]]) -> Figure:
    """Return the strongest features of the metrics of all samples as graphs."""
    from matplotlib.figure import Figure

    from gdaopt import plotting

    figure = Figure(figsize=(13, 6), layout="constrained")
    axes = figure.subplots(1, len(figures), squeeze=False)[0]
    for ax, (name, measured) in zip(axes, figures.items(), strict=True):
        names = [str(place + 1) for place in measured["strongest"]]
        plotting.graph(np.array(measured["block"]), names=names, ax=ax)
        ax.set_title(f"{name}: the {SHOWN} strongest of {measured['shape'][1]} genes", y=1.08)
    return figure


def run(quick: bool, out: Path) -> None:
    """Measure all cases, with `quick` small ones, and write page and picture."""
    cases: tuple[Case, ...] = CASES
    data_sets: tuple[str, ...] = ("leukemia", "colon-cancer")
    if quick:
        ways = ("screened", "dense", "equal weights")
        cases, data_sets = tuple(Case("normal", way, 300) for way in ways), ("breast_cancer",)
    page = Page(out, "wide", "Many features", INTRODUCTION)
    page.add(*header(COLUMNS, words=2))
    figures = {}
    for case in cases:
        figures[case] = in_a_process(measure, case)
        page.add(row(case, figures[case]))
    powers = {
        what: [power for kind in ("normal", "z-scores") if (power := growth(figures, kind, column))]
        for what, column in (("CPU time", "cpu"), ("the number of pairs looked at", "priced"))
    }
    said = "; ".join(f"{what} grows like {' and '.join(p)}" for what, p in powers.items())
    page.add("", f"From 10,000 to 100,000 features: {said}.", *wrap(GROWTH), "")
    page.add("## Genes", "", *wrap(GENES), "", *header(GENE_COLUMNS))
    genes = {}
    for name in data_sets:
        genes[name] = measured = in_a_process(measure_real, name)
        page.add(
            line(
                name,
                *measured["shape"],
                *(f"{100 * mean:.1f} ± {100 * se:.1f}" for mean, se in measured["errors"].values()),
                f"{measured['seconds']:.2f}",
                f"{measured['gap']:.1e}",
                measured["used"],
                measured["edges"],
                ", ".join(str(place + 1) for place in measured["strongest"][:8]),
            )
        )
    page.write()
    write_figure(out / "wide.png", picture(genes), dpi=100)


EXPERIMENT = Experiment(
    "time and memory of `certified` for up to a million features; genes",
    minutes=15,
    files=("wide.md", "wide.png"),
    run=run,
)
