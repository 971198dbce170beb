"""Measure what CVXPY's language costs beside `gdaopt.solve`, and what a path of budgets costs.

Run ``OMP_NUM_THREADS=1 python experiments/cvxpy_language.py`` from the top of a checkout (some
minutes); it prints the tables and writes ``figures/cvxpy_language.md``.
"""

import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

import cvxpy as cp
import numpy as np
from pages import Page, header, timed
from problems import wine

import gdaopt as gda
from gdaopt.datasets import load, scale_features
from gdaopt.objectives import Objective
from gdaopt.support.validation import FloatArray

WINE: Any = wine("class_0")
REPEATS = 15
N_BUDGETS = 20
N_PATHS = 3
SINGLES = 4  # every fourth budget is solved cold, too
TOLERANCE = 1e-6


def seconds(run: Callable[[], object]) -> float:
    """Return the processor's time of a call."""
    return timed(run, time.process_time)[0]


def overhead() -> list[str]:
    """Return the rows of the table of single solves."""
    glr, metrics = WINE.objective, WINE.feasible_set
    M = cp.Variable((13, 13), symmetric=True)
    rows: dict[str, Callable[[cp.Expression], list[cp.Constraint]]] = {
        "no rows": lambda _: [],
        "three rows": lambda M: [M[0, 1] == 0, cp.trace(M) <= 6, cp.sum(cp.diag(M)[:4]) <= 1],
    }
    lines = []
    for name, own in rows.items():
        model = cp.Problem(cp.Minimize(glr(M)), [*metrics.of(M), *own(M)])

        def ours(own: Callable[[cp.Expression], list[cp.Constraint]] = own) -> None:
            gda.solve(gda.MetricProblem(glr, metrics, constraints=own), "certified")

        def cvxpys(model: cp.Problem = model) -> None:
            model.solve(method="gdaopt", warm_start=False)

        ours()  # what is loaded on demand is loaded
        cvxpys()
        pairs = [(seconds(ours), seconds(cvxpys)) for _ in range(REPEATS)]
        own_time, language = (1000 * median(column) for column in zip(*pairs, strict=True))
        more = 1000 * median(second - first for first, second in pairs)
        lines.append(f"| {name} | {own_time:.1f} | {language:.1f} | {more:+.1f} |")
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
        times, rounds, held = [], 0, None
        for budget.value in budgets:
            M.value = held
            times.append(seconds(lambda: warm.solve(method="gdaopt", tolerance=TOLERANCE)))
            held, rounds = M.value, rounds + (warm.solver_stats.num_iters or 0)
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


def paths() -> list[str]:
    """Return the rows of the table of paths."""
    lines = []
    for name, objective, *both in objectives():
        for kind, budgets in zip(("over a decade", "within a tenth"), both, strict=True):
            total, single, again, rounds = path(objective, budgets)
            lines.append(
                f"| {name} | {kind} | {1000 * total:.0f} | {1000 * single:.1f} | "
                f"{total / single:.1f} | {1000 * again:.1f} | {rounds} |"
            )
    return lines


def main() -> None:
    """Print the tables and write them."""
    page = Page(
        "cvxpy_language",
        "# What CVXPY's language costs",
        "",
        "`OMP_NUM_THREADS=1 python experiments/cvxpy_language.py`",
        "",
        "One solve of GLR on wine's first class (178 samples, 13 features) by `certified`, in",
        f"milliseconds of the processor, medians of {REPEATS} pairs: `gdaopt.solve`, which",
        'reads the rows anew, and `problem.solve(method="gdaopt", warm_start=False)`.',
        "",
        *header("problem | gdaopt.solve | CVXPY's language | difference", words=4),
        *overhead(),
        "",
        f"A path of {N_BUDGETS} rising budgets, one `cp.Parameter`, tolerance 1e-6, the first",
        "solve cold: milliseconds of all solves and of a cold single solve (the median over",
        f"the path), each the least of {N_PATHS}; and rounds, of the path and of a single one.",
        "*Again* is a solve for the budget that has just been solved: it reads the problem,",
        "evaluates the objective and certifies it, as every solve of a path has to. With",
        "`again` above a sixth of `single`, 20 solves cost more than four single ones whatever",
        "they start from. Over a decade each budget is 13 % above the one before it, so that",
        "the atoms of the optimum change, and new ones have to be found.",
        "",
        *header(
            "objective | budgets | path | single | path / single | again | rounds | single", words=8
        ),
        *paths(),
    )
    page.write()


if __name__ == "__main__":
    main()
