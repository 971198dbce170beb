"""Measure learning from many samples: gradients, time, memory and gap of ``"certified"``.

Each case runs in a process of its own. Times are CPU times as multiples of one evaluation of value
and gradient, so that a machine that is busy changes little; the seconds are those of the clock.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

import gdaopt as gda
from experiments import pages
from gdaopt.objectives import PairObjective
from gdaopt.objectives.pair_objective import draw_stratified
from gdaopt.scaling import auto_trace_bound
from gdaopt.support.processes import peak_memory
from gdaopt.support.validation import FloatArray

TOLERANCE = 1e-4
SHARE = 1e-3  # ρ as a share of C/K
BLOCK = 64, 1000  # rows and columns of the bare evaluation: a block stays in cache
BARE_CALLS = 40
REPEATS = 5


@dataclass(frozen=True)
class Case:
    """A problem, and how many of its samples to learn from."""

    objective: str
    n_samples: int
    n_features: int
    n_classes: int
    sample: int | None = None


@dataclass(frozen=True)
class LearnerCase:
    """What a user of scikit-learn calls: a learner, and neighbours under its metric."""

    objective: str
    n_samples: int
    n_features: int
    n_classes: int
    max_samples: str | int = "auto"


CASES = (
    *(Case("GLR", n, 30, 2) for n in (1000, 2000, 5000, 10_000, 20_000)),
    Case("GLR", 10_000, 30, 3),
    Case("GLR", 20_000, 50, 10),
    *(Case("MCML", n, 30, 3) for n in (1000, 5000, 10_000)),
    Case("GLR", 65_000, 20, 2, sample=16_000),
)
LEARNER_CASES = (
    LearnerCase("glr", 20_000, 50, 10),
    LearnerCase("mcml", 20_000, 50, 10),
    LearnerCase("glr", 65_000, 20, 2),
    LearnerCase("glr", 65_000, 20, 2, max_samples=16_000),
    LearnerCase("mcml", 65_000, 20, 2),
)
N_HELD_OUT = 2000


def data(case: Case) -> tuple[FloatArray, Any]:
    """Return z-scores and classes: clouds apart in five features, one of which has a copy."""
    rng = np.random.default_rng(case.n_samples)
    y = np.sort(rng.integers(0, case.n_classes, case.n_samples))
    X = rng.standard_normal((case.n_samples, case.n_features))
    X[:, :5] += rng.standard_normal((case.n_classes, 5))[y]
    X[:, 5] = X[:, 0] + rng.standard_normal(case.n_samples) / 2
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def objective(case: Case, X: FloatArray, y: Any, weights: FloatArray | None = None) -> Any:
    """Return the objective of samples."""
    if case.objective == "MCML":
        return gda.MCML(X, y, sample_weight=weights)
    signal = np.eye(case.n_classes)[y] if case.n_classes > 2 else 2.0 * y - 1
    return gda.GLR(X, signal, sample_weight=weights)


def bare(size: int) -> tuple[float, float]:
    """Return the CPU seconds of a pair: of its share of two products of matrices, and of one exp.

    The products are those that distances and gradients of all pairs are made of, in blocks of the
    shape that is best for them.
    """
    rng = np.random.default_rng(0)
    n_rows, n_columns = BLOCK
    rows = rng.standard_normal((n_rows, size))
    columns = rng.standard_normal((n_columns, size))
    transposed = np.ascontiguousarray(columns.T)
    block, gathered = np.empty((n_rows, n_columns)), np.empty((n_rows, size))
    exponents = -3 * rng.random((n_rows, n_columns))

    def products() -> None:
        np.matmul(rows, transposed, out=block)
        np.matmul(exponents, columns, out=gathered)

    def exponentials() -> None:
        np.exp(exponents, out=block)

    def seconds(call: Callable[[], None]) -> float:
        start = time.process_time()
        for _ in range(BARE_CALLS):
            call()
        return (time.process_time() - start) / (BARE_CALLS * n_rows * n_columns)

    return seconds(products), seconds(exponentials)


def cpu(call: Callable[[], Any]) -> tuple[float, float, Any]:
    """Return the CPU and the wall seconds of a call, and what it returns."""
    wall, (seconds, result) = pages.time_call(lambda: pages.time_call(call, time.process_time))
    return seconds, wall, result


def measure(case: Case) -> dict[str, Any]:
    """Return what the tables say of a case; in a process of its own."""
    X, y = data(case)
    whole = objective(case, X, y)
    problem_of = whole
    if case.sample is not None:
        chosen, counts = draw_stratified(y, case.sample)
        problem_of = objective(case, X[chosen], y[chosen], counts)
    size = case.n_features
    if case.objective == "MCML":
        C = problem_of.auto_trace_bound()
    else:
        C = auto_trace_bound(problem_of, gda.GraphMetrics(1.0))
    feasible_set = gda.GraphMetrics(C, SHARE * C / size)
    M = np.eye(size) * C / size

    def evaluated(of: Any) -> None:
        point = of.at(M)
        _ = point.value, point.gradient()

    # In turn, so that a machine that is busy for a while slows down all three.
    timed = [
        (cpu(lambda: evaluated(problem_of))[0], *bare(case.n_features)) for _ in range(REPEATS)
    ]
    one, products, exponentials = map(min, zip(*timed, strict=True))
    products, exponentials = (problem_of.pairs.n_pairs * each for each in (products, exponentials))
    counted = [0]
    original = PairObjective.sums

    def sums(self: Any, metric: FloatArray) -> Any:
        counted[0] += len(self.pairs.features) == len(problem_of.pairs.features)
        return original(self, metric)

    PairObjective.sums = sums  # type: ignore[method-assign]
    problem = gda.MetricProblem(problem_of, feasible_set)
    seconds, wall, result = cpu(lambda: gda.solve(problem, "certified", tolerance=TOLERANCE))
    PairObjective.sums = original  # type: ignore[method-assign]
    figures = {
        "pairs": problem_of.pairs.n_pairs,
        "gradients": counted[0] or None,
        "units": seconds / one,
        "one": one,
        "wall": wall,
        "gap": result.relative_gap,
        "status": result.status,
        "rounds": result.iterations,
        "overhead": one / (products + exponentials),
        "products": one / products,
    }
    if case.sample is not None:
        figures["whole_seconds"] = cpu(lambda: evaluated(whole))[1]
    return {**figures, "peak": peak_memory()}


def measure_learner(case: LearnerCase) -> dict[str, Any]:
    """Return what the second table says of a case; in a process of its own."""
    X, y = make_classification(
        case.n_samples + N_HELD_OUT,
        case.n_features,
        n_informative=8,
        n_redundant=4,
        n_classes=case.n_classes,
        n_clusters_per_class=1,
        class_sep=1.0,
        random_state=0,
    )
    train, test, y_train, y_test = train_test_split(
        X, y, test_size=N_HELD_OUT, random_state=0, stratify=y
    )
    learner = gda.GraphMetricLearner(case.objective, max_samples=case.max_samples)
    seconds, wall, _ = cpu(lambda: learner.fit(train, y_train))
    peak = peak_memory()
    scaler = StandardScaler().fit(train)

    def accuracy(transform: Callable[[FloatArray], FloatArray]) -> float:
        neighbors = KNeighborsClassifier().fit(transform(train), y_train)
        return float(neighbors.score(transform(test), y_test))

    chosen = learner.sample_indices_
    return {
        "solved": case.n_samples if chosen is None else len(chosen),
        "seconds": seconds,
        "wall": wall,
        "peak": peak,
        "gap": learner.result_.relative_gap,
        "full": learner.full_objective_,
        "plain": accuracy(scaler.transform),
        "learned": accuracy(learner.transform),
    }


def learner_row(case: LearnerCase, figures: dict[str, Any]) -> str:
    """Return a row of the second table."""
    full = figures["full"]
    cells = [
        f'`GraphMetricLearner("{case.objective}", max_samples={case.max_samples!r})`',
        str(case.n_samples),
        str(case.n_features),
        str(case.n_classes),
        str(figures["solved"]),
        f"{figures['wall']:.1f}",
        f"{figures['seconds']:.1f}",
        f"{figures['peak'] / 1e6:.0f}",
        f"{figures['gap']:.1e}",
        "" if full is None else f"{full:.6g}",
        f"{figures['plain']:.3f}",
        f"{figures['learned']:.3f}",
    ]
    return pages.row(*cells)


def row(case: Case, figures: dict[str, Any]) -> str:
    """Return a row of the table."""
    seconds = figures["wall"] + figures.get("whole_seconds", 0.0)
    name = case.objective if case.sample is None else f"{case.objective}, {case.sample} of them"
    cells = [
        name,
        str(case.n_samples),
        str(case.n_features),
        str(case.n_classes),
        f"{figures['pairs'] / 1e6:.1f}",
        "" if figures["gradients"] is None else str(figures["gradients"]),
        f"{figures['units']:.1f}",
        f"{figures['overhead']:.2f}",
        f"{figures['products']:.2f}",
        f"{seconds:.1f}",
        f"{figures['peak'] / 1e6:.0f}",
        f"{figures['gap']:.1e}",
    ]
    return pages.row(*cells)


def run(quick: bool, out: Path) -> None:
    """Measure all cases, with `quick` a small one of each kind, and write the page."""
    cases: tuple[Case, ...] = CASES
    learner_cases: tuple[LearnerCase, ...] = LEARNER_CASES
    if quick:
        cases = replace(CASES[0], n_samples=300), replace(CASES[-1], n_samples=1000, sample=300)
        learner_cases = (replace(LEARNER_CASES[0], n_samples=600, n_features=15, n_classes=3),)
    page = pages.Page(
        out,
        "large_n",
        "Learning from many samples",
        f'`"certified"` to a relative gap of {TOLERANCE:g} over graph metrics, trace bound "auto". '
        "*gradients*: evaluations of value and gradient over all samples. *time / evaluation*: "
        "CPU time of the whole run as a multiple of one of these, those of samples included. "
        "*evaluation / bare*: one evaluation as a multiple of its two products of matrices and one "
        "exp a pair. *evaluation / products*: of the products alone. Without AVX-512 one exp of "
        "NumPy takes longer than both products do with 30 features. The last row learns from a "
        "sample, and its seconds include one evaluation over all 65 000 samples.",
    )
    page.add(
        *pages.header(
            "objective | N | K | classes | pairs, millions | gradients | time / evaluation "
            "| evaluation / bare | evaluation / products | seconds | peak, MB | gap"
        ),
    )
    for case in cases:
        page.add(row(case, pages.in_a_process(measure, case)))
    page.add(
        "",
        "## Through the learner",
        "",
        *pages.wrap(
            "Samples of `sklearn.datasets.make_classification`, 8 features informative and 4 "
            f"redundant, one cloud a class, `class_sep=1`, seed 0; {N_HELD_OUT} further samples "
            "are held out, and classified by 5 nearest neighbours, without learning after "
            "scaling. *solved*: how many samples the certified problem has. *seconds* are those "
            "of `fit`, one evaluation of the objective of all samples included."
        ),
        "",
        *pages.header(
            "learner | N | K | classes | solved | seconds | CPU seconds | peak, MB | gap "
            "| objective of all | accuracy without | accuracy"
        ),
    )
    n_worse = 0
    for learner_case in learner_cases:
        figures = pages.in_a_process(measure_learner, learner_case)
        n_worse += figures["learned"] < figures["plain"]
        page.add(learner_row(learner_case, figures))
    page.add("", f"In {n_worse} of the rows the learned metric classifies worse than no learning.")
    page.write()


EXPERIMENT = pages.Experiment(
    "time and memory of `certified` for up to 65 000 samples", 15, ("large_n.md",), run
)
