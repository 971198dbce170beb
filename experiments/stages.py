"""Measure where the time of one linear program goes, by each solver that works here.

The stages are measured at the same places for all solvers, by one clock. They should add up to the
wall time of the call: the share of it that they make up is in the table.

Run ``python experiments/stages.py`` from the top of a checkout (two minutes, with the solvers of
``pip install -e ".[solvers]"``); it prints the table and writes ``figures/stages.md``.
"""

import time
import warnings
from functools import partial
from statistics import median
from typing import Any

from pages import Page, header, timed
from pages import row as line_of
from problems import recorded

import gdaopt as gda
from gdaopt.backends.lookup import entry_of
from gdaopt.bench import RecordedProgram
from gdaopt.errors import GdaoptError
from gdaopt.programs import Program, ProgramSolution
from gdaopt.studies.study_directory import machine, versions

STAGES = ("write", "canonicalize", "solve", "unpack")
METHODS = ("alternating", "joint")
MOST = 25  # programs of each run
BUDGET = 20.0  # seconds for all programs of one solver


def calls(programs: list[RecordedProgram], solver: str) -> list[tuple[ProgramSolution, float]]:
    """Return the answers, each with the wall time of its call; the first of each kind is left out.

    The first compiles. Programs that the solver fails on have no answer.
    """
    kept: dict[tuple[object, ...], Any] = {}
    found = []
    start = time.perf_counter()
    for recorded_program in programs:
        if time.perf_counter() - start > BUDGET:
            break
        is_first = recorded_program.structure not in kept
        if is_first:
            kept[recorded_program.structure] = Program(solver)
        program = kept[recorded_program.structure]
        cost, polytope = recorded_program.cost, recorded_program.polytope
        try:
            wall, solution = timed(partial(program.solve, cost, polytope))
        except GdaoptError:
            continue
        if not is_first:
            found.append((solution, wall))
    return found


def row(solver: str, found: list[tuple[ProgramSolution, float]]) -> tuple[float, str]:
    """Return the median wall time, and a line of the table in milliseconds."""
    walls = [wall for _, wall in found]
    parts = [
        1e3 * median(getattr(solution.seconds, stage) for solution, _ in found) for stage in STAGES
    ]
    reported = [s.reported_seconds for s, _ in found if s.reported_seconds is not None]
    share = median(solution.seconds.total / wall for solution, wall in found)
    cells = [
        f"{1e3 * median(walls):.3f}",
        *(f"{part:.3f}" for part in parts),
        f"{1e3 * median(reported):.3f}" if reported else "",
        f"{100 * share:.1f} %",
    ]
    return median(walls), line_of(solver, entry_of(solver).version, len(found), *cells)


def main() -> None:
    # Accuracy is the subject of backends.py.
    warnings.simplefilter("ignore", gda.errors.InaccurateSolutionWarning)
    programs = [program for method in METHODS for program in recorded(method, MOST)]
    rows = []
    for solver in [info.name for info in gda.solvers() if info.usable]:
        found = calls(programs, solver)
        if found:
            rows.append(row(solver, found))
        print(f"{solver}: {len(found)} answers", flush=True)
    page = Page(
        "stages",
        "# Where the time of one program goes",
        "",
        "Median milliseconds of a call with what is compiled kept, over linear programs of",
        f"wine (K = 13): at most {MOST} of a run of `alternating`, and as many of `joint`.",
        "*Write* to *unpack* are the stages, measured at the same places for all solvers;",
        "*reported* is the time that the solver reports of itself. *Together*: the median",
        "share of the wall time of the call that the stages make up. SDPA, GLOP and PDLP run",
        "in a worker process; the way there and back is part of *write*. A solver is given up",
        f"after {BUDGET:g} s.",
        "",
        "`python experiments/stages.py`.",
        "",
        f"{machine()}. {', '.join(' '.join(pair) for pair in versions().items())}.",
        "",
        *header(
            f"solver | version | answers | call | {' | '.join(STAGES)} | reported | together", 2
        ),
        *(line for _, line in sorted(rows)),
    )
    page.write()


if __name__ == "__main__":
    main()
