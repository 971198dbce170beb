"""Measure what a mask of edges changes: the metric of an image's pixels, and many features.

Each case runs in a process of its own.
"""

import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from statistics import mean, median

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

import gdaopt as gda
from experiments.pages import Experiment, Page, header, in_a_process
from gdaopt.datasets import scale_features
from gdaopt.linalg.laplacian import edge_threshold, n_edges
from gdaopt.support.processes import peak_memory

SIDE = 8  # pixels of a digit
SEEDS, FOLDS, NEIGHBORS = (0, 1), 2, 5
N_DIGITS = 1797
N_SAMPLES, N_FEATURES = 62, 2000
REPEATS = 5

Figures = dict[str, float]


def grid(side: int) -> list[tuple[int, int]]:
    """Return the pairs of pixels side by side, in a row or in a column."""
    pixels = np.arange(side**2).reshape(side, side)
    return [
        pair for lines in (pixels, pixels.T) for line in lines.tolist() for pair in pairwise(line)
    ]


# --- digits --------------------------------------------------------------------------------------

LEARNERS: dict[str, Callable[[], gda.MetricLearner]] = {
    "all pairs": lambda: gda.GraphMetricLearner("glr"),
    "pixels side by side": lambda: gda.GraphMetricLearner("glr", edges=grid(SIDE)),
    "none (diagonal)": lambda: gda.DiagonalMetricLearner("glr"),
}


def digits(name: str, n_samples: int) -> Figures:
    """Fit a learner on each fold and return its figures."""
    X, y = (array[:n_samples] for array in load_digits(return_X_y=True))
    seconds, errors, gaps, edges, neighbors, objectives = [], [], [], [], [], []
    beside = np.array(grid(SIDE)).T
    for seed in SEEDS:
        for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(X, y):
            scaler = StandardScaler().fit(X[train])
            learner = LEARNERS[name]()
            start = time.process_time()
            learner.fit(scaler.transform(X[train]), y[train])
            seconds.append(time.process_time() - start)
            near, asked = (learner.transform(scaler.transform(X[part])) for part in (train, test))
            classifier = KNeighborsClassifier(NEIGHBORS).fit(near, y[train])
            errors.append(100 * (1 - classifier.score(asked, y[test])))
            result = learner.result_
            gaps.append(result.relative_gap or 0.0)
            objectives.append(result.objective)
            threshold = edge_threshold(result.feasible_set.trace_bound, SIDE**2)
            edges.append(n_edges(result.metric, threshold))
            learned = -result.metric > threshold
            neighbors.append(int(learned[tuple(beside)].sum()))
    return {
        "seconds": median(seconds),
        "error": mean(errors),
        "gap": max(gaps),
        "objective": mean(objectives),
        "edges": mean(edges),
        "neighbors": mean(neighbors),
    }


# --- many features -------------------------------------------------------------------------------

MASKS = ("all pairs", "4K pairs")


def wide(name: str, n_features: int) -> Figures:
    """Solve the problem of few samples and many features and return its figures."""
    rng = np.random.default_rng(0)
    z = np.where(np.arange(N_SAMPLES) < 40, 1.0, -1.0)
    X = rng.standard_normal((N_SAMPLES, n_features))
    X[z > 0, :50] += 0.8
    X = scale_features(X)
    pairs = rng.integers(n_features, size=(5 * n_features, 2))
    pairs = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0)
    chosen = rng.permutation(len(pairs))[: 4 * n_features]
    feasible_set = gda.GraphMetrics(
        trace_bound=float(n_features), edges=None if name == "all pairs" else pairs[chosen]
    )
    problem = gda.MetricProblem(gda.GLR(X, z), feasible_set)
    before = peak_memory()
    seconds = []
    for _ in range(REPEATS):
        start = time.process_time()
        result = gda.solve(problem, "certified", trace_every=0)
        seconds.append(time.process_time() - start)
    return {
        "seconds": median(seconds),
        "gap": result.relative_gap or 0.0,
        "objective": result.objective,
        "rounds": result.iterations,
        "edges": n_edges(
            result.metric, edge_threshold(feasible_set.trace_bound, problem.n_features)
        ),
        "memory": peak_memory() - before,
    }


# --- the tables ----------------------------------------------------------------------------------


def digits_table(n_samples: int) -> Iterator[str]:
    """Yield the lines of the first table."""
    n_pairs = SIDE**2 * (SIDE**2 - 1) // 2
    yield f"## Digits: {SIDE} × {SIDE} pixels, 10 classes"
    yield ""
    yield '`GraphMetricLearner("glr", edges=...)` on scikit-learn\'s digits, in z-scores by the'
    yield f"training samples; {len(SEEDS)} × {FOLDS} stratified folds (seeds 0 and 1). Fit:"
    yield "median CPU seconds, one thread. Error of 5 nearest neighbours, objective, edges: means."
    yield ""
    yield from header(
        "edges allowed | pairs | fit, s | 5-NN error, % | log Q | edges learned | side by side "
        "| largest gap"
    )
    for name, n in zip(LEARNERS, (n_pairs, len(grid(SIDE)), 0), strict=True):
        figures = in_a_process(digits, name, n_samples)
        yield (
            f"| {name} | {n} | {figures['seconds']:.3g} | {figures['error']:.2f} "
            f"| {np.log(figures['objective']):.4f} | {figures['edges']:.0f} "
            f"| {figures['neighbors']:.0f} | {figures['gap']:.1e} |"
        )
    yield ""
    yield "An edge pays where two classes differ by opposite signs in its two features. Pixels side"
    yield "by side mostly differ by the same sign: no mask is needed to leave them without an edge,"
    yield "and what this one takes away are the edges between other pixels."


def wide_table(n_features: int) -> Iterator[str]:
    """Yield the lines of the second table."""
    yield f"## {N_SAMPLES} samples of {n_features} features"
    yield ""
    yield "`gda.solve(problem, 'certified')` with defaults, C = K, two Gaussian clouds that are"
    yield f"apart in 50 features; {4 * n_features} random pairs. CPU: median of {REPEATS} runs,"
    yield "one thread. Memory: how much more the process holds at its peak than before the first."
    yield ""
    yield from header(
        "edges allowed | CPU, s | memory, MB | rounds | objective | edges learned | gap"
    )
    for name in MASKS:
        figures = in_a_process(wide, name, n_features)
        yield (
            f"| {name} | {figures['seconds']:.3g} | {figures['memory'] / 1e6:.0f} "
            f"| {figures['rounds']:.0f} | {figures['objective']:.6g} | {figures['edges']:.0f} "
            f"| {figures['gap']:.1e} |"
        )


def run(quick: bool, out: Path) -> None:
    """Measure, with `quick` fewer digits and features, and write the page."""
    page = Page(out, "masks", "Masks of edges", "What a mask of edges changes, in two settings.")
    page.add(*digits_table(300 if quick else N_DIGITS))
    page.add("", *wide_table(200 if quick else N_FEATURES))
    page.write()


EXPERIMENT = Experiment("what a mask of edges costs and saves", 3, ("masks.md",), run)
