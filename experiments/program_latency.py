"""Measure how long the programs take: analytic and solvers, re-solved, rebuilt, and bare CVXPY.

Run ``python experiments/program_latency.py`` from the top of a checkout (about a minute); it prints
the tables and writes ``figures/program_latency.md``.
"""

from dataclasses import dataclass, field
from functools import partial
from statistics import median

import cvxpy as cp
import numpy as np
from pages import Page, here, timed
from problems import aligned_metric

import gdaopt as gda
from gdaopt.backends import Answer
from gdaopt.backends.cvxpy import CvxpyBackend
from gdaopt.programs import Knapsack, Program
from gdaopt.support.validation import FloatArray

SIZES = {4: 200, 13: 200, 60: 100, 500: 30}  # K: instances
SOLVERS = ("HIGHS", "ECOS", "CLARABEL")
REBUILDS = 15

Instance = tuple[FloatArray, Knapsack]


@dataclass
class Times:
    """Seconds of one program by one solver, over all instances."""

    ours: list[float] = field(default_factory=list)
    build: list[float] = field(default_factory=list)
    solve: list[float] = field(default_factory=list)
    bare: list[float] = field(default_factory=list)
    rebuilt: list[float] = field(default_factory=list)

    @property
    def overhead(self) -> float:
        """Our path over the bare loop."""
        return median(self.ours) / median(self.bare)

    @property
    def reuse(self) -> float:
        """A re-solve over building the problem anew."""
        return median(self.ours) / median(self.rebuilt)

    @property
    def build_reuse(self) -> float:
        """The same without the solver's own time, which both take."""
        own = median(self.solve)
        return (median(self.ours) - own) / (median(self.rebuilt) - own)


def instances(block: str, size: int, count: int) -> list[Instance]:
    """Return polytopes of random metrics under their aligned left-ends, with costs."""
    rng = np.random.default_rng(size)
    found: list[Instance] = []
    for _ in range(count):
        metric, alignment = aligned_metric(rng, size, 0.0)
        if block == "diagonal":
            polytope = Knapsack.diagonal(metric, alignment.left_ends, 1.5 * np.trace(metric))
        else:
            column, floor = int(rng.integers(size)), np.zeros(size - 1)
            others = np.delete(np.arange(size), column)
            polytope = Knapsack.column(
                metric, alignment.v, alignment.left_ends, column, others, floor
            )
        found.append((rng.standard_normal(len(polytope.current)), polytope))
    return found


def measure(block: str, size: int, solver: str) -> Times:
    """Time one program by one solver."""
    times = Times()
    grid = instances(block, size, SIZES[size])
    program = Program(solver)
    if solver == "analytic":
        times.ours = [timed(partial(program.solve, *one))[0] for _ in range(5) for one in grid]
        return times

    other, problem = CvxpyBackend(solver, {}), cp.Problem(cp.Minimize(0))  # for the bare loop
    values = []
    for cost, polytope in grid:  # compiles both, and notes the parameters' values
        program.solve(cost, polytope)
        problem = other.compiled(polytope.arrays(cost)).problem
        values.append({name: parameter.value for name, parameter in problem.param_dict.items()})

    def bare(index: int) -> None:
        for name, value in values[index].items():
            problem.param_dict[name].value = value
        problem.solve(solver=solver, warm_start=False)

    def rebuilt(instance: Instance) -> None:
        Program(solver).solve(*instance)

    for index, instance in enumerate(grid):
        if index % 2:
            times.bare.append(timed(partial(bare, index))[0])
        seconds, solution = timed(partial(program.solve, *instance))
        if not index % 2:
            times.bare.append(timed(partial(bare, index))[0])
        times.ours.append(seconds)
        note(times, solution)
    times.rebuilt = [timed(partial(rebuilt, one))[0] for one in grid[:REBUILDS]]
    return times


def note(times: Times, solution: Answer) -> None:
    """Note the time in the solver and around it."""
    times.solve.append(solution.seconds.solve)
    times.build.append(solution.seconds.build)


def milliseconds(seconds: list[float]) -> str:
    """Return the median for a cell of the table."""
    return f"{1e3 * median(seconds):.3f}" if seconds else ""


def report(measured: dict[tuple[str, int, str], Times]) -> list[str]:
    """Return the tables, and the ratios of most interest."""
    lines = [
        "# Latency of the programs",
        "",
        "Median milliseconds. *re-solve*: our path, with new parameters. *build* and *solve*: its",
        "parts, around the solver and in it. *bare*: `Problem.solve` on the same DPP problem with",
        "the same parameter values, interleaved with ours. *rebuild*: a new problem for each call.",
        "",
        here(),
        "",
        "| program | K | solver | re-solve | build | solve | bare | re-solve / bare | rebuild "
        "| re-solve / rebuild |",
        "|---|--:|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for (block, size, solver), times in measured.items():
        cells = [milliseconds(part) for part in (times.ours, times.build, times.solve, times.bare)]
        if times.bare:
            cells += [f"{times.overhead:.2f}", milliseconds(times.rebuilt), f"{times.reuse:.2f}"]
        else:
            cells += ["", "", ""]
        lines.append(f"| {block} | {size} | {solver} | {' | '.join(cells)} |")
    solved = {key: times for key, times in measured.items() if times.bare}
    overhead = max(times.overhead for times in solved.values())
    lines += ["", f"* re-solve / bare, worst: {overhead:.2f}"]
    for size in SIZES:
        of_size = [times for key, times in solved.items() if key[1] == size]
        reuse = max(times.reuse for times in of_size)
        build = max(times.build_reuse for times in of_size)
        what = f"re-solve / rebuild, worst at K = {size} (without the solver: {build:.2f})"
        lines.append(f"* {what}: {reuse:.2f}")
    for block in ("diagonal", "column"):
        highs, closed = (median(measured[block, 13, name].ours) for name in ("HIGHS", "analytic"))
        lines.append(f"* HiGHS / analytic, {block} at K = 13: {highs / closed:.2f}")
    return lines


def main() -> None:
    usable = {info.name for info in gda.solvers() if info.usable}
    measured = {
        (block, size, solver): measure(block, size, solver)
        for block in ("diagonal", "column")
        for size in SIZES
        for solver in ("analytic", *SOLVERS)
        if solver in usable | {"analytic"}
    }
    Page("program_latency", *report(measured)).write()


if __name__ == "__main__":
    main()
