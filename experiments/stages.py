"""Measure where the time of one linear program goes, by each solver that works here.

The stages are measured at the same places for all solvers, by one clock. They should add up to the
wall time of the call: the share of it that they make up is in the table.

Run ``python experiments/stages.py`` from the top of a checkout (two minutes, with the solvers of
``pip install -e ".[solvers]"``); it prints the table and writes ``figures/stages.md``.
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from statistics import median
from typing import Any

from problems import recorded

import gdaopt as gda
from gdaopt.backends.catalogue import entry_of
from gdaopt.bench import RecordedProgram
from gdaopt.errors import GdaoptError
from gdaopt.programs import Program, ProgramSolution
from gdaopt.studies.study_directory import machine, versions
from gdaopt.support.files import write_text

STAGES = ("write", "canonicalize", "solve", "unpack")
METHODS = ("alternating", "joint")
MOST = 25  # programs of each run
BUDGET = 20.0  # seconds for all programs of one solver
OUT = Path(__file__).parent.parent / "figures" / "stages.md"


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
        before = time.perf_counter()
        try:
            solution = program.solve(cost, polytope)
        except GdaoptError:
            continue
        wall = time.perf_counter() - before
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
    about = f"{solver} | {entry_of(solver).version} | {len(found)}"
    return median(walls), f"| {about} | {' | '.join(cells)} |"


def main() -> None:
    """Measure, print, write."""
    warnings.simplefilter(
        "ignore", gda.errors.InaccurateSolutionWarning
    )  # accuracy is backends.py's
    programs = [program for method in METHODS for program in recorded(method, MOST)]
    usable = [info.name for info in gda.solvers() if info.usable]
    rows = []
    for solver in usable:
        found = calls(programs, solver)
        if found:
            rows.append(row(solver, found))
        print(f"{solver}: {len(found)} answers", flush=True)
    text = "\n".join(
        [
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
            f"| solver | version | answers | call | {' | '.join(STAGES)} | reported | together |",
            f"|---|---|{'--:|' * (4 + len(STAGES))}",
            *(line for _, line in sorted(rows)),
            "",
        ]
    )
    print(text)
    write_text(OUT, text)


if __name__ == "__main__":
    main()
