"""Measure what is around a solve: CVXPY's language, a path of budgets, and the trace."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

import cvxpy as cp
import numpy as np

import gdaopt as gda
from experiments.pages import Experiment, Page, header, row, time_call, wrap
from experiments.problems import wine
from gdaopt.datasets import load, scale_features
from gdaopt.objectives import Objective
from gdaopt.support.validation import FloatArray

WINE: Any = wine("class_0")
REPEATS = 15
N_BUDGETS = 20
N_PATHS = 3
SINGLES = 4  # every fourth budget is solved cold, too
TOLERANCE = 1e-6
EVERY = (1, 10, 0)  # steps a row of the trace


def seconds(run: Callable[[], object]) -> float:
    """Return the processor's time of a call."""
    return time_call(run, time.process_time)[0]


def language(repeats: int) -> list[str]:
    """Return the rows of the table of single solves."""
    glr, metrics = WINE.objective, WINE.feasible_set
    M = cp.Variable((13, 13), symmetric=True)
    rows: dict[str, Callable[[cp.Expression], list[cp.Constraint]]] = {
        "no rows": lambda _: [],
        "three rows": lambda M: [M[0, 1] == 0, cp.trace(M) <= 6, cp.sum(cp.diag(M)[:4]) <= 1],
    }
    lines = []
    for name, constraints in rows.items():
        model = cp.Problem(cp.Minimize(glr(M)), [*metrics.of(M), *constraints(M)])

        def ours(constraints: Any = constraints) -> None:
            gda.solve(gda.MetricProblem(glr, metrics, constraints=constraints), "certified")

        def cvxpys(model: cp.Problem = model) -> None:
            model.solve(method="gdaopt", warm_start=False)

        ours()  # what is loaded on demand is loaded
        cvxpys()
        pairs = [(seconds(ours), seconds(cvxpys)) for _ in range(repeats)]
        own_time, language_time = (1000 * median(column) for column in zip(*pairs, strict=True))
        more = 1000 * median(second - first for first, second in pairs)
        lines.append(row(name, f"{own_time:.1f}", f"{language_time:.1f}", f"{more:+.1f}"))
    return lines


def synthetic(n_samples: int, n_features: int) -> tuple[FloatArray, FloatArray]:
    """Return correlated samples of two classes that overlap, z-scored, and their signal."""
    rng = np.random.default_rng(0)
    labels = rng.choice([-1.0, 1.0], n_samples)
    mixed = rng.standard_normal((n_features, n_features)) / np.sqrt(n_features)
    apart = 0.8 * rng.standard_normal(n_features)
    noise = rng.standard_normal((n_samples, n_features))
    samples = (noise + np.outer(labels / 2, apart)) @ (mixed + 0.6 * np.eye(n_features))
    return scale_features(samples), labels


def objectives() -> Iterator[tuple[str, Objective, FloatArray, FloatArray]]:
    """Yield names, objectives, and their budgets: over a decade, and within a tenth."""
    wide, close = np.geomspace(0.5, 5.0, N_BUDGETS), np.geomspace(2.0, 2.2, N_BUDGETS)
    yield "GLR, wine", WINE.objective, wide, close
    wide, close = np.geomspace(3.0, 30.0, N_BUDGETS), np.geomspace(15.0, 16.5, N_BUDGETS)
    data = load("breast_cancer")
    glr = gda.GLR(scale_features(data.features), data.signal("malignant"))
    yield "GLR, breast_cancer", glr, wide, close
    X, z = synthetic(1000, 30)
    yield "GLR, 1000 × 30", gda.GLR(X, z), wide, close
    yield "MCML, 1000 × 30", gda.MCML(X, z), wide, close


def path(objective: Objective, budgets: FloatArray) -> tuple[float, float, float, str]:
    """Return the time of a path, the median of cold single solves, and the rounds of both.

    Before the rounds comes the time of a solve for a budget that has just been solved.
    """
    size = objective.n_features
    M, budget = cp.Variable((size, size), symmetric=True), cp.Parameter(nonneg=True)
    metrics = gda.GraphMetrics(trace_bound=2 * float(budgets.max()), min_eigenvalue=1e-6)
    constraints = [*metrics.of(M), cp.trace(M) <= budget]
    warm, cold = (cp.Problem(cp.Minimize(objective(M)), constraints) for _ in range(2))
    repeats, again = [], []
    for _ in range(N_PATHS):
        times, rounds, metric = [], 0, None
        for budget.value in budgets:
            M.value = metric
            times.append(seconds(lambda: warm.solve(method="gdaopt", tolerance=TOLERANCE)))
            metric, rounds = M.value, rounds + (warm.solver_stats.num_iters or 0)
        again.append(seconds(lambda: warm.solve(method="gdaopt", tolerance=TOLERANCE)))
        singles, cold_rounds = [], 0
        for budget.value in budgets[::SINGLES]:
            singles.append(
                seconds(lambda: cold.solve(method="gdaopt", tolerance=TOLERANCE, warm_start=False))
            )
            cold_rounds += cold.solver_stats.num_iters or 0
        repeats.append((times, singles))
    least, least_cold = (np.min(columns, axis=0) for columns in zip(*repeats, strict=True))
    each = cold_rounds / len(least_cold)
    single = float(np.median(least_cold))
    return float(least.sum()), single, min(again), f"{rounds} | {each:.1f}"


def paths(cases: list[tuple[str, Objective, FloatArray, FloatArray]]) -> list[str]:
    """Return the rows of the table of paths."""
    lines = []
    for name, objective, *both in cases:
        for kind, budgets in zip(("over a decade", "within a tenth"), both, strict=True):
            total, single, again, rounds = path(objective, budgets)
            lines.append(
                f"| {name} | {kind} | {1000 * total:.0f} | {1000 * single:.1f} | "
                f"{total / single:.1f} | {1000 * again:.1f} | {rounds} |"
            )
    return lines


def traces(repeats: int) -> list[str]:
    """Return the rows of the table of traces: the same run with every row, every tenth, or none."""
    lines = []
    for method, steps in (("alternating", 190), ("joint", 300)):
        options = {"solver": "analytic", "tolerance": 0, "max_iterations": steps}
        solve = partial(gda.solve, wine("class_1"), method, **options)
        times: dict[int, list[float]] = {every: [] for every in EVERY}
        for repeat, every in product(range(repeats + 1), EVERY):
            taken = seconds(partial(solve, trace_every=every))
            if repeat:  # the first ones fill caches
                times[every].append(taken)
        ratios = [
            median(a / b for a, b in zip(times[every], times[0], strict=True)) for every in EVERY
        ]
        cells = (f"{ratio:.2f}" for ratio in ratios[:2])
        lines.append(row(method, steps, f"{1000 * median(times[0]):.0f}", *cells))
    return lines


def run(quick: bool, out: Path) -> None:
    """Measure, with `quick` two repeats and one path, and write the page."""
    repeats = 2 if quick else REPEATS
    cases = [case for case, _ in zip(objectives(), range(1 if quick else 4), strict=False)]
    page = Page(
        out,
        "overheads",
        "What is around a solve",
        "What CVXPY's language costs, what a path of budgets costs, and what the trace costs: "
        "processor seconds, one thread.",
    )
    page.add(
        "## CVXPY's language",
        "",
        *wrap(
            "One solve of GLR on wine's first class (178 samples, 13 features) by `certified`, in "
            f"milliseconds of the processor, medians of {repeats} pairs: `gdaopt.solve`, which "
            'reads the rows anew, and `problem.solve(method="gdaopt", warm_start=False)`.'
        ),
        "",
        *header("problem | gdaopt.solve | CVXPY's language | difference"),
        *language(repeats),
        "",
        "## A path of budgets",
        "",
        *wrap(
            f"{N_BUDGETS} rising budgets, one `cp.Parameter`, tolerance 1e-6, the first solve "
            "cold: milliseconds of all solves and of a cold single solve (the median over the "
            f"path), each the least of {N_PATHS}; and rounds, of the path and of a single one. "
            "*Again* is a solve for the budget that has just been solved: it reads the problem, "
            "evaluates the objective and certifies it, as every solve of a path has to. With "
            "`again` above a sixth of `single`, 20 solves cost more than four single ones whatever "
            "they start from. Over a decade each budget is 13 % above the one before it, so that "
            "the atoms of the optimum change, and new ones have to be found."
        ),
        "",
        *header("objective | budgets | path | single | path / single | again | rounds | single", 2),
        *paths(cases),
        "",
        "## The trace",
        "",
        *wrap(
            "The same run on wine's second class, with programs in closed form, which are so fast "
            "that the trace shows: milliseconds without rows between start and end "
            "(`trace_every=0`), and how many times as long it takes with every row (the default) "
            f"and with every tenth. Medians of {repeats} repeats, in turn."
        ),
        "",
        *header("method | steps | without rows, ms | every row | every tenth"),
        *traces(repeats),
    )
    page.write()


EXPERIMENT = Experiment(
    "what CVXPY's language, a path of budgets and the trace cost", 3, ("overheads.md",), run
)
