"""Measure what tracing costs: the same run with every row, every tenth, and the ends only.

Run ``OMP_NUM_THREADS=1 python experiments/tracing_cost.py`` from the top of a checkout; it prints
the table and writes ``figures/tracing_cost.md`` (a minute).
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from statistics import median
from unittest.mock import patch

import numpy as np
from pages import Page, header, here

import gdaopt as gda
from gdaopt.datasets import load, scale_features
from gdaopt.methods.tracer import Tracer

METHODS: dict[str, type[gda.methods.Alternating | gda.methods.Joint]] = {
    "alternating": gda.methods.Alternating,
    "joint": gda.methods.Joint,
}
EVERY = (1, 10, 0)
REPEATS = 21


class NoTracer(Tracer):
    """What is left of a run when nothing is traced."""

    def record(self, state: gda.methods.State, seconds: float) -> None:
        """Look away."""

    def trace(self, end: gda.methods.State, seconds: float) -> gda.trace.Trace:  # noqa: ARG002
        """Return no rows."""
        return gda.trace.Trace((), np.zeros((0, len(end.metric))))


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
                start = time.perf_counter()
                call()
                times.append(time.perf_counter() - start)

    def cost(self, every: int) -> float:
        """Return the median share, over repeats, that a run takes beyond the bare one."""
        return median(t / b for t, b in zip(self.traced[every], self.bare, strict=True)) - 1


def wine(method: str, steps: int) -> Case:
    """Return the run on wine, class 1."""
    data = load("wine")
    X = scale_features(data.features)
    glr = gda.GLR(X, data.signal("class_1"))
    problem = gda.MetricProblem(glr, gda.GraphMetrics(trace_bound=X.shape[1]))
    return Case("wine class_1, K = 13", problem, method, steps)


def synthetic(method: str, steps: int) -> Case:
    """Return a run on 100 random samples of 60 features."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 60)) / np.sqrt(120)
    z = np.sign(X[:, 0] - X[:, 1] + 0.05 * rng.standard_normal(100))
    problem = gda.MetricProblem(gda.GLR(X, z), gda.GraphMetrics(trace_bound=60.0))
    return Case("synthetic, K = 60", problem, method, steps)


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
    """Measure, print, write."""
    cases = [
        wine("alternating", 300),
        wine("joint", 300),
        synthetic("alternating", 300),
        synthetic("joint", 100),
    ]
    for case in cases:
        case.measure()
    Page("tracing_cost", *report(cases)).write()


if __name__ == "__main__":
    main()
