"""One cell of the study: a sequence solved again, or a whole run, by one solver. Task functions."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gdaopt.backends.lookup import tolerance_options
from gdaopt.bench.judging import verdict
from gdaopt.bench.options import BenchOptions
from gdaopt.bench.recorded import RecordedProgram, load_programs
from gdaopt.bench.replayed import Replayed, Start, replay
from gdaopt.bench.sequences import Sequence
from gdaopt.methods import solve
from gdaopt.studies.study_directory import write_frame
from gdaopt.support.text import plain
from gdaopt.support.warning_filters import ignoring

_OF_RUN = (
    *("objective", "iterations", "oracle_calls", "repair_distance", "seconds"),
    *("status", "message"),
)


def replay_task(
    path: Path, recorded: Path, solver: str, start: Start, tolerance: float, limits: BenchOptions
) -> dict[str, Any]:
    """Solve a recorded sequence again; return how many answers there are.

    A line for each of them is in the parquet file at `path`.
    """
    import pandas as pd  # on demand: it is slow to import

    programs = load_programs(recorded)
    # Programs for which something is compiled, whatever the start is.
    firsts = {one.structure: number for number, one in reversed([*enumerate(programs)])}.values()
    options = tolerance_options(solver, tolerance)

    def replayed(some: list[RecordedProgram], how: Start) -> Iterator[Replayed]:
        return replay(some, solver, start=how, solver_opts=options, time_limit=limits.cap)

    lines: list[dict[str, Any]] = []
    with ignoring(category=Warning):  # the point is judged, not what solvers say of it
        list(replayed(programs[:1], "cold"))  # imports, and whatever else is done once
        begun = time.perf_counter()
        for number, found in enumerate(replayed(programs, start)):
            about = {"index": number, "is_first": number in firsts}
            lines.append({**about, **_line(programs[number], found, tolerance, limits.cap)})
            if time.perf_counter() - begun > limits.budget:
                break
    write_frame(Path(f"{path}.parquet"), pd.DataFrame(lines))
    return {"answers": len(lines)}


def _line(
    program: RecordedProgram, found: Replayed, tolerance: float, cap: float
) -> dict[str, Any]:
    """Return what is kept of one answer."""
    answer = found.answer
    stages = {f"{name}_seconds": value for name, value in asdict(found.seconds).items()}
    return {
        "program": program.kind,
        "variables": len(program.cost),
        "verdict": verdict(found, tolerance, cap),
        "solver_status": "" if answer is None else answer.status,
        "message": plain(found.failure),
        "infeasibility": found.infeasibility,
        "suboptimality": found.suboptimality,
        "residual": found.residual,
        "iterations": None if answer is None else answer.iterations,
        "restarts": 0 if answer is None else answer.restarts,
        "seconds": found.seconds.total,
        **stages,
        "reported_seconds": None if answer is None else answer.reported_seconds,
    }


def run_task(
    _: Path,
    sequence: Sequence,
    method: str,
    solver: str,
    tolerance: float,
    limits: BenchOptions,
) -> dict[str, Any]:
    """Solve a whole problem, its programs by a solver at a tolerance."""
    options = tolerance_options(solver, tolerance)
    with ignoring(category=Warning):
        result = solve(
            sequence.problem(),
            method,
            solver=solver,
            solver_opts=options or None,
            max_iterations=limits.steps,
            time_limit=limits.budget,
            trace_every=0,
        )
    return {name: getattr(result, name) for name in _OF_RUN}
