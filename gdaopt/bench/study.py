"""A study of solvers: a task for each recording, each sequence by each solver, each whole run."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gdaopt.backends.protocol import ANALYTIC
from gdaopt.bench.pictures import PICTURES
from gdaopt.bench.recorded import RecordedProgram, load_programs
from gdaopt.bench.replayed import Replayed, Start, replay
from gdaopt.bench.sequences import BenchOptions, ProgramSequence, record_task, starts_of
from gdaopt.bench.table import markdown, programs_frame, runs_frame, summary, verdict
from gdaopt.errors import InvalidInputError
from gdaopt.plotting.canvas import save_figure
from gdaopt.solving import solve
from gdaopt.studies.named_options import SolverSpec
from gdaopt.studies.runner import Progress, Study, Task, run_tasks
from gdaopt.studies.study_directory import (
    StudyDirectory,
    machine,
    sole_writer,
    task_key,
    versions,
    write_frame,
)
from gdaopt.studies.task_workers import TaskWorkers
from gdaopt.support.files import write_text
from gdaopt.support.text import plain
from gdaopt.support.warning_filters import ignoring

if TYPE_CHECKING:
    import pandas as pd

_GRACE = 120.0  # seconds for the start of a process, imports, and what a cell does once
_RECORDING_DEADLINE = 3600.0
_OF_A_WORKER, _OF_A_CELL = 3.0, 1.0  # seconds: for its start, and for imports and a run's steps
_OF_A_SOLVE = {"cold": 0.03, "re-solve": 0.004, "hot": 0.004}  # seconds, see `Bench.estimate`


class Bench(Study["tuple[pd.DataFrame, pd.DataFrame]"]):
    """A directory with the recorded sequences, and a row for each cell."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        sequences: Sequence[ProgramSequence],
        options: BenchOptions,
    ) -> None:
        if not sequences:
            raise InvalidInputError("no data are given; name at least one data set")
        names = [sequence.name for sequence in sequences]
        for name in names:
            if names.count(name) > 1:
                raise InvalidInputError(f"two of the data are called {name!r}; rename one")
        self._options = options
        hashes = {sequence.name: sequence.sha256 for sequence in sequences}
        said = {"data": hashes, **options.record(), "machine": machine(), **versions()}
        self._directory = StudyDirectory(path, "bench", said)
        self.recordings: dict[str, Task] = {}
        self.tasks = {}
        for sequence in sequences:
            key = task_key("recorded", sequence.name)
            needs_bound = bool(options.runs) and sequence.has_runs
            kinds = tuple(options.programs)
            arguments = (sequence, kinds, options.steps, options.most, needs_bound)
            self.recordings[key] = Task(record_task, arguments, {"data": sequence.name}, (".npz",))
            recorded = Path(f"{self._directory.stem(key)}.npz").absolute()
            self.tasks |= self._cells(sequence, recorded)

    def _cells(self, sequence: ProgramSequence, recorded: Path) -> dict[str, Task]:
        options, name = self._options, sequence.name
        methods = options.runs if sequence.has_runs else ()
        tasks = {}
        for solver, tolerance in product(options.solvers, options.tolerances):
            if solver == ANALYTIC and not sequence.has_closed_form:
                continue
            version = SolverSpec.parse(solver).entry.version
            about: dict[str, Any] = {"data": name, "solver": solver, "tolerance": tolerance}
            for method in methods:
                key = task_key(name, method, solver, version, tolerance)
                run = (sequence, method, solver, tolerance, options)
                tasks[key] = Task(run_task, run, {**about, "method": method})
            for start, repeat in product(starts_of(solver, options.starts), range(options.repeats)):
                key = task_key(name, solver, version, start, tolerance, repeat)
                cell = (recorded, solver, start, tolerance, options)
                tasks[key] = Task(
                    replay_task,
                    cell,
                    {**about, "start": start, "repeat": repeat},
                    (".parquet",),
                )
        return tasks

    def estimate(self) -> tuple[float, float]:
        """Return about how many seconds missing cells take for small programs, and at most."""
        options = self._options
        missing = [task for key, task in self.tasks.items() if self._directory.row(key) is None]
        solves = options.most * len(options.programs)
        seconds = _OF_A_WORKER * len({_worker(task) for task in missing})
        for task in missing:
            of_one = _OF_A_SOLVE.get(task.about.get("start", ""), 0.0)
            seconds += min(_OF_A_CELL + solves * of_one, options.budget)
        return seconds / options.jobs, (options.budget + _GRACE) * len(missing) / options.jobs

    def label(self, key: str) -> str:
        """Return what a task is called."""
        if key in self.recordings:
            return f"recording {self.recordings[key].about['data']}"
        about = self.tasks[key].about
        what = about.get("method") or f"{about['start']}, repeat {about['repeat'] + 1}"
        return f"{about['data']}: {about['solver']}, {what}, tolerance {about['tolerance']:g}"

    def run(self, progress: Progress | None = None) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Run what is missing, write tables and pictures, and return the summary and the runs."""
        options = self._options
        with sole_writer(self.path):
            recorded = run_tasks(
                self._directory,
                self.recordings,
                TaskWorkers(options.jobs, deadline=_RECORDING_DEADLINE),
                progress=progress,
            )
            for row in recorded.values():
                if row["status"] != "finished":
                    raise InvalidInputError(
                        f"{row['data']} could not be recorded: {row['status']}: {row['message']}"
                    )
            rows: dict[str, dict[str, Any]] = {}
            # Repeats lie apart: what else the machine does for a while slows one of them. Each
            # solver has workers of its own, which last for a repeat.
            for worker in product(range(options.repeats), options.solvers):
                tasks = {key: task for key, task in self.tasks.items() if _worker(task) == worker}
                workers = TaskWorkers(options.jobs, deadline=options.budget + _GRACE)
                rows |= run_tasks(
                    self._directory,
                    tasks,
                    workers,
                    progress=_after(progress, len(rows), self.tasks),
                )
            return self._write({row["data"]: row for row in recorded.values()}, rows)

    def _write(
        self, recorded: Mapping[str, Mapping[str, Any]], rows: Mapping[str, Mapping[str, Any]]
    ) -> tuple[pd.DataFrame, pd.DataFrame]:
        lines = {key: self._directory.stem(key).with_suffix(".parquet") for key in rows}
        programs = programs_frame(rows, lines, recorded, self._options.cap)
        frames = {
            "programs": programs,
            "summary": summary(programs, self._options),
            "runs": runs_frame(rows, recorded),
        }
        for name, frame in frames.items():
            write_text(self.path / f"{name}.csv", frame.to_csv(index=False))
            write_frame(self.path / f"{name}.parquet", frame)
        text = markdown(frames["summary"], frames["runs"], self._options)
        write_text(self.path / "bench.md", text)
        for name, draw in PICTURES.items():
            save_figure(self.path / f"{name}.png", draw(programs, self._options.cap))
        return frames["summary"], frames["runs"]


def _worker(task: Task) -> tuple[int, str]:
    """Return the repeat and the solver of a task; whole runs are in the first repeat."""
    return task.about.get("repeat", 0), task.about["solver"]


def _after(progress: Progress | None, before: int, tasks: Mapping[str, Task]) -> Progress | None:
    """Return what counts the tasks of one worker after those of the workers before it."""
    if progress is None:
        return None

    def shown(key: str, done: int, total: int, row: Mapping[str, Any] | None) -> None:
        del total  # counts the tasks of this worker alone
        progress(key, before + done, len(tasks), row)

    return shown


_OF_RUN = (
    *("objective", "iterations", "oracle_calls", "repair_distance", "seconds"),
    *("status", "message"),
)


def replay_task(
    path: Path, recorded: Path, solver: str, start: Start, tolerance: float, limits: BenchOptions
) -> dict[str, Any]:
    """Solve a recorded sequence again; `path` gets a parquet file with a line for each answer."""
    import pandas as pd  # on demand: it is slow to import

    programs = load_programs(recorded)
    firsts = _firsts(programs)
    spec = SolverSpec.parse(solver)
    options = spec.asking(tolerance)

    def replayed(some: list[RecordedProgram], how: Start) -> Iterator[Replayed]:
        return replay(some, spec.name, start=how, solver_opts=options, time_limit=limits.cap)

    lines: list[dict[str, Any]] = []
    with ignoring(category=Warning):  # the point is judged, not what solvers say of it
        list(replayed(programs[:1], "cold"))  # imports, and whatever else is done once
        begun = time.perf_counter()
        for number, answer in enumerate(replayed(programs, start)):
            about = {"index": number, "is_first": number in firsts}
            lines.append({**about, **_line(programs[number], answer, tolerance, limits.cap)})
            if time.perf_counter() - begun > limits.budget:
                break
    write_frame(Path(f"{path}.parquet"), pd.DataFrame(lines))
    return {"answers": len(lines)}


def _firsts(programs: Sequence[RecordedProgram]) -> list[int]:
    """Return the programs for which something is compiled that later ones use again."""
    places: dict[tuple[object, ...], list[int]] = {}
    for number, program in enumerate(programs):
        places.setdefault(program.structure, []).append(number)
    return [numbers[0] for numbers in places.values() if len(numbers) > 1]


def _line(
    program: RecordedProgram, replayed: Replayed, tolerance: float, cap: float
) -> dict[str, Any]:
    answer = replayed.answer
    stages = {f"{name}_seconds": value for name, value in asdict(replayed.seconds).items()}
    return {
        "program": program.kind,
        "variables": len(program.cost),
        "verdict": verdict(replayed, tolerance, cap),
        "solver_status": "" if answer is None else answer.status,
        "message": plain(replayed.failure),
        "infeasibility": replayed.infeasibility,
        "suboptimality": replayed.suboptimality,
        "residual": replayed.residual,
        "duality_gap": replayed.duality_gap,
        "iterations": None if answer is None else answer.iterations,
        "restarts": 0 if answer is None else answer.restarts,
        "seconds": replayed.seconds.total,
        **stages,
        "reported_seconds": None if answer is None else answer.reported_seconds,
    }


def run_task(
    _: Path,
    sequence: ProgramSequence,
    method: str,
    solver: str,
    tolerance: float,
    limits: BenchOptions,
) -> dict[str, Any]:
    """Solve a whole problem, its programs by a solver at a tolerance."""
    spec = SolverSpec.parse(solver)
    with ignoring(category=Warning):
        result = solve(
            sequence.problem(),
            method,
            solver=spec.name,
            solver_opts=spec.asking(tolerance) or None,
            max_iterations=limits.steps,
            time_limit=limits.budget,
            trace_every=0,
        )
    return {name: getattr(result, name) for name in _OF_RUN}
