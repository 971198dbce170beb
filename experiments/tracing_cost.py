"""Measure what tracing costs: the same run with every row, every tenth, and the ends only.

Run ``OMP_NUM_THREADS=1 python experiments/tracing_cost.py`` from the top of a checkout; it prints
the table and writes ``figures/tracing_cost.md`` (a minute).
"""

import gc
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from statistics import median
from unittest.mock import patch

import numpy as np
from pages import Page, header, here, timed
from problems import wine

import gdaopt as gda
from gdaopt.methods.run import Run
from gdaopt.methods.tracer import Tracer

METHODS: dict[str, type[gda.methods.Alternating | gda.methods.Joint]] = {
    "alternating": gda.methods.Alternating,
    "joint": gda.methods.Joint,
}
EVERY = (1, 10, 0)
REPEATS = 21


class NoTracer(Tracer):
    """What is left of a run when nothing is traced."""

    def stepped(self, run: Run) -> None:
        """Look away; the start alone has a row."""

    def ended(self, run: Run) -> None:
        """Look away."""


@dataclass
class Case:
    """A problem and a method, with the whole wall time of each run."""

    name: str
    problem: gda.MetricProblem
    method: str
    steps: int  # of every run, so that all do the same work
    bare: list[float] = field(default_factory=list)
    traced: dict[int, list[float]] = field(default_factory=lambda: {n: [] for n in EVERY})

    def make(self, every: int) -> gda.methods.Method:
        """Return the method with a trace of every n-th step."""
        kind = METHODS[self.method]
        return kind(solver="analytic", tolerance=0, max_iterations=self.steps, trace_every=every)

    def without(self) -> None:
        """Run with a tracer that does nothing."""
        with patch.object(sys.modules["gdaopt.methods.solve"], "Tracer", NoTracer):
            gda.solve(self.problem, self.make(0))

    def measure(self) -> None:
        """Time each kind of run, in a new order at each repeat: each follows each."""
        kinds: list[tuple[list[float], Callable[[], object]]] = [(self.bare, self.without)]
        kinds += [
            (self.traced[every], partial(gda.solve, self.problem, self.make(every)))
            for every in EVERY
        ]
        for _, call in kinds:
            call()  # fills caches
        rng = np.random.default_rng(0)
        for _ in range(REPEATS):
            for index in rng.permutation(len(kinds)):
                times, call = kinds[index]
                gc.collect()  # what the run before left
                times.append(timed(call)[0])

    def cost(self, every: int) -> float:
        """Return the median share, over repeats, that a run takes beyond the bare one."""
        return median(t / b for t, b in zip(self.traced[every], self.bare, strict=True)) - 1


def synthetic() -> gda.MetricProblem:
    """Return the problem of 100 random samples of 60 features."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 60)) / np.sqrt(120)
    z = np.sign(X[:, 0] - X[:, 1] + 0.05 * rng.standard_normal(100))
    return gda.MetricProblem(gda.GLR(X, z), gda.GraphMetrics(trace_bound=60.0))


def report(cases: list[Case]) -> list[str]:
    """Return the table."""
    lines = [
        "# What tracing costs",
        "",
        f"Whole wall time of the same run, medians of {REPEATS} interleaved repeats, closed-form",
        "programs. *bare*: with a tracer that does nothing. The percentages are medians of what a",
        "run takes beyond the bare one of the same repeat; *off* keeps the rows of start and end.",
        "",
        here(),
        "",
        *header(
            "problem | method | steps | bare, ms | every row | every tenth | off | off, µs a run",
            words=2,
        ),
    ]
    for case in cases:
        steps = gda.solve(case.problem, case.make(0)).iterations
        shares = " | ".join(f"{100 * case.cost(every):+.2f} %" for every in EVERY)
        bare = median(case.bare)
        lines.append(
            f"| {case.name} | {case.method} | {steps} | {1e3 * bare:.2f} | {shares} "
            f"| {1e6 * case.cost(0) * bare:.0f} |"
        )
    worst = max(case.cost(0) for case in cases)
    return [*lines, "", f"* off, worst: {100 * worst:.2f} %"]


def main() -> None:
    cases = [
        *(Case("wine class_1, K = 13", wine("class_1"), name, 300) for name in METHODS),
        *(
            Case("synthetic, K = 60", synthetic(), name, steps)
            for name, steps in (("alternating", 300), ("joint", 100))
        ),
    ]
    for case in cases:
        case.measure()
    Page("tracing_cost", *report(cases)).write()


if __name__ == "__main__":
    main()
