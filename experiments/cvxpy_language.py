"""Measure what CVXPY's language costs beside `gdaopt.solve`, and what a path of budgets costs.

Run ``OMP_NUM_THREADS=1 python experiments/cvxpy_language.py`` from the top of a checkout (half a
minute); it prints the tables and writes ``figures/cvxpy_language.md``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import cvxpy as cp
import numpy as np

import gdaopt as gda
from gdaopt.datasets import load, scale_features
from gdaopt.support.files import write_text

OUT = Path(__file__).parent.parent / "figures" / "cvxpy_language.md"
REPEATS = 15
N_BUDGETS = 20
TOLERANCE = 1e-6


def seconds(run: Callable[[], object]) -> float:
    """Return the processor's time of a call."""
    start = time.process_time()
    run()
    return time.process_time() - start


def wine() -> tuple[gda.GLR, gda.GraphMetrics]:
    """Return the objective of wine's first class, and a set."""
    data = load("wine")
    glr = gda.GLR(scale_features(data.features), data.signal("class_0"))
    return glr, gda.GraphMetrics(trace_bound=13.0, min_eigenvalue=1e-6)


def overhead() -> list[str]:
    """Return the rows of the table of single solves."""
    glr, metrics = wine()
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


def path() -> list[str]:
    """Return the rows of the table of a path of budgets."""
    glr, metrics = wine()
    M = cp.Variable((13, 13), symmetric=True)
    budget = cp.Parameter(nonneg=True)
    model = cp.Problem(cp.Minimize(glr(M)), [*metrics.of(M), cp.trace(M) <= budget])
    budgets = np.geomspace(0.5, 5.0, N_BUDGETS)
    lines = []
    for name, values in (("rising", budgets), ("falling", budgets[::-1])):
        rounds: list[int] = []
        cold_rounds: list[int] = []
        times, cold_times = [], []
        M.value = None
        for value in values:
            budget.value = value
            times.append(seconds(lambda: model.solve(method="gdaopt", tolerance=TOLERANCE)))
            rounds.append(model.solver_stats.num_iters or 0)
            held = M.value
            cold_times.append(
                seconds(lambda: model.solve(method="gdaopt", tolerance=TOLERANCE, warm_start=False))
            )
            cold_rounds.append(model.solver_stats.num_iters or 0)
            M.value = held
        single = median(cold_times)
        lines.append(
            f"| {name} | {sum(times) / single:.1f} | {sum(cold_times) / single:.1f} | "
            f"{sum(rounds)} | {sum(cold_rounds)} |"
        )
    return lines


def main() -> None:
    """Print the tables and write them."""
    text = "\n".join(
        [
            "# What CVXPY's language costs",
            "",
            "`OMP_NUM_THREADS=1 python experiments/cvxpy_language.py`",
            "",
            "One solve of GLR on wine's first class (178 samples, 13 features) by `certified`, in",
            f"milliseconds of the processor, medians of {REPEATS} pairs: `gdaopt.solve`, which",
            'reads the rows anew, and `problem.solve(method="gdaopt", warm_start=False)`.',
            "",
            "| problem | gdaopt.solve | CVXPY's language | difference |",
            "|---|---|---|---|",
            *overhead(),
            "",
            f"A path of {N_BUDGETS} budgets from 0.5 to 5, one `cp.Parameter`, tolerance 1e-6: the",
            "time of all solves, in units of the median of single solves that start cold.",
            "",
            "| budgets | warm starts | cold starts | rounds, warm | rounds, cold |",
            "|---|---|---|---|---|",
            *path(),
            "",
        ]
    )
    print(text)
    write_text(OUT, text)


if __name__ == "__main__":
    main()
