"""Measure what the wording of a linear program costs in CVXPY: one program in three wordings.

* *literal*: the metric M is a symmetric matrix variable, and the discs are those of S M S⁻¹, with
  S = diag(1/v), as the papers write them. Products of parameters are not DPP, so that CVXPY
  compiles the problem anew for each solve.
* *literal, DPP*: M as before, and the discs as the inequality M v ≥ ρ v, which is linear in the
  parameters.
* *lean*: the programs of `gdaopt.programs`, whose variables are the entries that can move.

Run ``python experiments/wordings.py`` from the top of a checkout (half a minute); it prints the
table and writes ``figures/wordings.md``. The three optima of each program are compared on the way.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Protocol

import cvxpy as cp
import numpy as np
from pages import Page, here
from problems import aligned_metric

from gdaopt.linalg.entries import all_edges
from gdaopt.programs import JointPolytope, Knapsack, Program
from gdaopt.support.validation import FloatArray

SIZES = {5: 60, 13: 60, 40: 20}  # K: instances
SOLVER = "HIGHS"
BLOCKS = ("diagonal", "column", "joint")
RHO = 1e-3
AGREEMENT = 1e-5  # of the optima, relative to ‖G‖ C


@dataclass(frozen=True)
class Instance:
    """A linear program: a cost ⟨G, M⟩, the metric it starts from, and what may move."""

    gradient: FloatArray
    metric: FloatArray
    v: FloatArray
    slack: FloatArray
    trace_bound: float
    block: str
    column: int

    @property
    def free(self) -> FloatArray:
        """1 for the entries that may move, 0 for the others."""
        size = len(self.v)
        if self.block == "joint":
            return np.ones((size, size))
        if self.block == "diagonal":
            return np.eye(size)
        free = np.zeros((size, size))
        free[self.column, :] = free[:, self.column] = 1.0
        free[self.column, self.column] = 0.0
        return free


class Wording(Protocol):
    """One wording of a program, built once for all instances of a size."""

    def solve(self, instance: Instance) -> float:
        """Return the optimal value."""


class Literal:
    """A symmetric matrix variable, and the discs of S M S⁻¹."""

    def __init__(self, size: int) -> None:
        self.M = cp.Variable((size, size), symmetric=True)
        self.G, self.fixed, self.mask = (cp.Parameter((size, size)) for _ in range(3))
        self.scale, self.inverse = cp.Parameter((size, 1), pos=True), cp.Parameter((1, size))
        self.trace_bound = cp.Parameter(nonneg=True)
        self.problem = cp.Problem(cp.Minimize(cp.sum(cp.multiply(self.G, self.M))), self.rows(size))

    def rows(self, size: int) -> list[Any]:
        """Return the constraints."""
        off = 1.0 - np.eye(size)
        scaled = cp.multiply(self.scale @ self.inverse, self.M)
        radii = cp.sum(cp.multiply(off, cp.abs(scaled)), axis=1)
        return [
            cp.multiply(self.mask, self.M - self.fixed) == 0,
            cp.multiply(off, self.M) <= 0,
            cp.diag(scaled) - radii >= RHO,
            cp.trace(self.M) <= self.trace_bound,
        ]

    def assign(self, instance: Instance) -> None:
        """Set the parameters."""
        self.G.value, self.fixed.value = instance.gradient, instance.metric
        self.mask.value = 1.0 - instance.free
        self.trace_bound.value = instance.trace_bound
        self.scale.value, self.inverse.value = 1.0 / instance.v[:, None], instance.v[None, :]

    def solve(self, instance: Instance) -> float:
        """Compile and solve."""
        self.assign(instance)
        assert not self.problem.is_dpp()
        self.problem.solve(solver=SOLVER, warm_start=False, ignore_dpp=True)
        return float(self.problem.value)


class LiteralDpp(Literal):
    """A symmetric matrix variable, and the discs as M v ≥ ρ v."""

    def rows(self, size: int) -> list[Any]:
        """Return the constraints."""
        off = 1.0 - np.eye(size)
        self.v = cp.Parameter(size, pos=True)
        self.held = cp.Parameter((size, size))
        return [
            cp.multiply(self.mask, self.M) == self.held,
            cp.multiply(off, self.M) <= 0,
            self.M @ self.v >= RHO * self.v,
            cp.trace(self.M) <= self.trace_bound,
        ]

    def solve(self, instance: Instance) -> float:
        """Solve; only the first call compiles."""
        self.assign(instance)
        self.v.value, self.held.value = instance.v, (1.0 - instance.free) * instance.metric
        self.problem.solve(solver=SOLVER, warm_start=False, enforce_dpp=True)
        return float(self.problem.value)


class Lean:
    """A program of `gdaopt.programs`."""

    def __init__(self, size: int, _block: str) -> None:
        self.edges = all_edges(size)
        self.program = Program(SOLVER)

    def solve(self, instance: Instance) -> float:
        """Solve; only the first call compiles."""
        G, M = instance.gradient, instance.metric
        polytope: Any  # of the kind that the program takes
        if instance.block == "diagonal":
            polytope = Knapsack.diagonal(M, instance.slack, instance.trace_bound)
            cost = np.diagonal(G).copy()
            rest = float((G * M).sum() - cost @ np.diagonal(M))
        elif instance.block == "column":
            c = instance.column
            others = np.delete(np.arange(len(M)), c)
            floor = np.zeros(len(others))
            polytope = Knapsack.column(M, instance.v, instance.slack, c, others, floor)
            cost = -2.0 * G[others, c]
            rest = float((G * M).sum() + cost @ M[others, c])
        else:
            none = np.zeros(len(self.edges[0]))
            polytope = JointPolytope(instance.v, RHO, instance.trace_bound, self.edges, none)
            cost, rest = np.concatenate([np.diagonal(G), -2.0 * G[self.edges]]), 0.0
        return rest + float(self.program.solve(cost, polytope).value)


WORDINGS: dict[str, Callable[[int, str], Wording]] = {
    "literal": lambda size, _: Literal(size),
    "literal, DPP": lambda size, _: LiteralDpp(size),
    "lean": Lean,
}


@dataclass
class Times:
    """Seconds of one wording."""

    first: float = 0.0
    again: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)


def instances(block: str, size: int, count: int) -> list[Instance]:
    """Return random metrics under their aligned left-ends, with symmetric gradients."""
    rng = np.random.default_rng(size)
    found = []
    for _ in range(count):
        metric, alignment = aligned_metric(rng, size, RHO)
        G = rng.standard_normal((size, size))
        found.append(
            Instance(
                G + G.T,
                metric,
                alignment.v,
                alignment.left_ends - RHO,
                1.5 * float(np.trace(metric)),
                block,
                int(rng.integers(size)),
            )
        )
    return found


def measure(block: str, size: int) -> dict[str, Times]:
    """Time all wordings of one program, interleaved, and compare their optima."""
    grid = instances(block, size, SIZES[size])
    times = {name: Times() for name in WORDINGS}
    worded: dict[str, Wording] = {}
    for instance in grid:
        for name, make in WORDINGS.items():
            start = time.perf_counter()
            new = name not in worded
            if new:
                worded[name] = make(size, block)
            times[name].values.append(worded[name].solve(instance))
            seconds = time.perf_counter() - start
            if new:
                times[name].first = seconds
            else:
                times[name].again.append(seconds)
        reference = times["lean"].values[-1]
        unit = float(np.linalg.norm(instance.gradient)) * instance.trace_bound
        for name, one in times.items():
            if abs(one.values[-1] - reference) > AGREEMENT * unit:
                raise AssertionError(
                    f"{block}, K = {size}: {name} found {one.values[-1]}, lean {reference}"
                )
    return times


def report(measured: dict[tuple[str, int], dict[str, Times]]) -> list[str]:
    """Return the table."""
    lines = [
        "# Three wordings of the same programs",
        "",
        "`python experiments/wordings.py`. Milliseconds with HiGHS. *First*: to build the problem,",
        "compile it and solve it once. *Again*: to solve it with new parameters, the median.",
        "*Literal*: M as a symmetric matrix variable and the discs of S M S⁻¹, not DPP. *Literal,",
        "DPP*: M v ≥ ρ v instead. *Lean*: only the entries that can move, as in `gdaopt.programs`;",
        "its times include making the solver's point feasible. All three have the same optimum.",
        "",
        here(f"CVXPY {cp.__version__}"),
        "",
        "| program | K | wording | first | again | again / lean |",
        "|---|--:|---|--:|--:|--:|",
    ]
    for (block, size), times in measured.items():
        lean = median(times["lean"].again)
        for name, one in times.items():
            again = median(one.again)
            lines.append(
                f"| {block} | {size} | {name} | {1e3 * one.first:.1f} | {1e3 * again:.2f} "
                f"| {again / lean:.1f} |"
            )
    return lines


def main() -> None:
    measure("joint", min(SIZES))  # imports
    measured = {(block, size): measure(block, size) for block in BLOCKS for size in SIZES}
    Page("wordings", *report(measured)).write()


if __name__ == "__main__":
    main()
