"""Measure HiGHS without CVXPY: programs of real runs by highspy, by CVXPY, and by a bare loop.

Run ``python experiments/native_highs.py`` from the top of a checkout (two minutes); it prints the
tables and writes ``figures/native_highs.md``. All times are of this thread's CPU; ways that are
compared take turns, and the least of a few times counts, so that other work on the machine shows
little.
"""

import platform
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import highspy
import numpy as np
from pages import Page, header, timed
from problems import wine

import gdaopt as gda
from gdaopt.backends import LinearArrays
from gdaopt.backends.highspy import DEFAULTS
from gdaopt.bench import RecordedProgram, load_programs, recording
from gdaopt.programs import Program

METHODS = {"alternating": 120, "joint": 120}  # most programs
REPEATS = 9


def recorded(method: str, most: int) -> list[RecordedProgram]:
    """Return the programs of a run on a class of wine."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.npz"
        with recording(path):
            gda.solve(wine("class_0"), method, solver="analytic", max_iterations=most)
        return load_programs(path)


def by_gdaopt(programs: Sequence[RecordedProgram], solver: str) -> Callable[[], list[float]]:
    """Return a function that solves all programs and returns the seconds of each."""
    program = Program(solver)

    def run() -> list[float]:
        return [
            timed(partial(program.solve, one.cost, one.polytope), time.thread_time)[0]
            for one in programs
        ]

    return run


class BareLoop:
    """What one writes by hand for programs of one pattern: no checks, no units, as returned."""

    def __init__(self, first: LinearArrays, options: Mapping[str, Any]) -> None:
        self.highs: Any = highspy.Highs()  # type: ignore[no-untyped-call]
        for name, value in {"output_flag": False, **options}.items():
            self.highs.setOptionValue(name, value)
        pattern = first.pattern
        self.columns = np.arange(pattern.size, dtype=np.int32)
        self.rows = np.arange(pattern.n_rows, dtype=np.int32)
        self.entries = list(
            zip(pattern.row_indices.tolist(), pattern.columns.tolist(), strict=True)
        )
        self.highs.passModel(
            pattern.size,
            pattern.n_rows,
            len(self.entries),
            int(highspy.MatrixFormat.kRowwise),
            int(highspy.ObjSense.kMinimize),
            0.0,
            first.cost,
            first.lower,
            first.upper,
            first.row_lower,
            first.row_upper,
            pattern.starts,
            pattern.columns,
            first.coefficients,
            np.zeros(pattern.size, dtype=np.int32),
        )
        self.polytope: object = None

    def solve(self, arrays: LinearArrays, polytope: object) -> tuple[Any, Any]:
        """Change what has changed, and solve."""
        highs = self.highs
        highs.changeColsCost(len(self.columns), self.columns, arrays.cost)
        if polytope is not self.polytope:
            highs.changeColsBounds(len(self.columns), self.columns, arrays.lower, arrays.upper)
            highs.changeRowsBounds(len(self.rows), self.rows, arrays.row_lower, arrays.row_upper)
            for (row, column), value in zip(self.entries, arrays.coefficients, strict=True):
                highs.changeCoeff(row, column, value)
            self.polytope = polytope
        highs.run()
        assert highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
        solution = highs.getSolution()
        return np.array(solution.col_value), np.array(solution.row_dual)


def by_hand(
    programs: Sequence[RecordedProgram], options: Mapping[str, Any]
) -> Callable[[], list[float]]:
    """Return a function that solves all programs by bare loops, one for each pattern."""
    prepared = [(one.structure, one.arrays, one.polytope) for one in programs]
    loops = {structure: BareLoop(arrays, options) for structure, arrays, _ in prepared}

    def run() -> list[float]:
        return [
            timed(partial(loops[structure].solve, arrays, polytope), time.thread_time)[0]
            for structure, arrays, polytope in prepared
        ]

    return run


def program_rows() -> list[str]:
    """Return the table of single programs."""
    every: list[np.ndarray] = []
    lines = header(
        "programs of | number | CVXPY, HIGHS (µs) | highspy (µs) | bare loop (µs) "
        "| bare, our options (µs) | CVXPY / highspy | highspy / bare loop "
        "| highspy / bare, our options"
    )
    for method, most in METHODS.items():
        programs = recorded(method, most)
        ways = {
            "HIGHS": by_gdaopt(programs, "HIGHS"),
            "highspy": by_gdaopt(programs, "highspy"),
            "bare": by_hand(programs, {}),
            "bare, our options": by_hand(programs, DEFAULTS),
        }
        for run in ways.values():
            run()  # compiles, imports
        seconds: dict[str, list[list[float]]] = {name: [] for name in ways}
        for _ in range(REPEATS):
            for name, run in ways.items():
                seconds[name].append(run())
        every.append(1e6 * np.min([seconds[name] for name in ways], axis=1))
        lines.append(program_row(method, every[-1]))
    return [*lines, program_row("both", np.concatenate(every, axis=1))]


def program_row(title: str, micros: np.ndarray) -> str:
    """Return a line of the table: microseconds of each way (rows) for each program (columns)."""
    cvxpy, highs, bare, alike = micros.mean(axis=1)
    return (
        f"| {title} | {micros.shape[1]} | {cvxpy:.0f} | {highs:.0f} | {bare:.0f} | {alike:.0f} "
        f"| {cvxpy / highs:.1f} | {highs / bare:.2f} | {highs / alike:.2f} |"
    )


def run_rows() -> list[str]:
    """Return the table of whole runs."""
    lines = header("alternating | steps | HIGHS (s) | highspy (s) | analytic (s) | HIGHS / highspy")
    for class_name in ("class_0", "class_1", "class_2"):
        problem = wine(class_name)
        seconds: dict[str, list[float]] = {}
        steps = 0
        for solver in REPEATS * ("HIGHS", "highspy", "analytic"):
            solve = partial(gda.solve, problem, "alternating", solver=solver, trace_every=0)
            taken, result = timed(solve, time.thread_time)
            seconds.setdefault(solver, []).append(taken)
            steps = result.iterations
        one = {solver: min(parts) for solver, parts in seconds.items()}
        lines.append(
            f"| {class_name} | {steps} | {one['HIGHS']:.3f} | {one['highspy']:.3f} "
            f"| {one['analytic']:.3f} | {one['HIGHS'] / one['highspy']:.1f} |"
        )
    return lines


def main() -> None:
    page = Page(
        "native_highs",
        "# HiGHS without CVXPY",
        "",
        'Seconds of CPU on wine (K = 13). *highspy*: `solver="highspy"`, hot, each answer',
        "checked by its residuals and brought back into the polytope. *CVXPY, HIGHS*: the same",
        "by a compiled CVXPY problem. *bare loop*: HiGHS alone, by hand, on arrays that were",
        "prepared before, with no checks, by HiGHS' default options, and by those that",
        '`solver="highspy"` sets. Means over the programs of a run, of the least of',
        f"{REPEATS} times each; whole runs with all that is compiled, the least of {REPEATS}.",
        "",
        "`python experiments/native_highs.py`.",
        "",
        f"Python {platform.python_version()}, {platform.machine()}, gdaopt {gda.__version__}, "
        f"HiGHS {highspy.Highs().version()}.",  # type: ignore[no-untyped-call]
        "",
        *program_rows(),
        "",
        *run_rows(),
    )
    page.write()


if __name__ == "__main__":
    main()
