"""A resumable runner: it has the tasks of a study computed that are missing.

A row that is finished is on disk, whatever happens to the runner. `TaskWorkers` says where tasks
are computed. A worker of this machine writes the other files of a task where they belong; a worker
of a Dask cluster need not have the file system of the runner, which writes what comes back with the
row.
"""

from __future__ import annotations

import json
import pickle
import tempfile
import traceback
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping
from concurrent.futures import Future
from contextlib import closing
from dataclasses import dataclass, field
from operator import methodcaller
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Generic, TypeAlias, TypeVar

from gdaopt.errors import GdaoptError
from gdaopt.studies.study_directory import StudyDirectory
from gdaopt.studies.task_workers import TaskWorkers, cannot_run, gdaopt_version
from gdaopt.support.files import write_atomically
from gdaopt.support.processes import WorkerEndedError

Progress = Callable[[str, int, int, Mapping[str, Any] | None], object]
"""A function that is called with a task's key, how many tasks are done, how many there are, and the
row. The row is None when the task is begun."""

PASSING = (MemoryError, OSError)
"""Errors of the machine and not of the task: the task may succeed the next time."""

_Answer: TypeAlias = "tuple[dict[str, Any], dict[str, bytes]] | str"
"""What a worker returns: the row and files that it could not write, or what the task died of."""

_Outcome: TypeAlias = "Future[_Answer]"


@dataclass(frozen=True)
class Task:
    """What to compute for a row.

    `function` is called with the path of the task's further files without their ending, then with
    `args`; its row may have a ``status`` and a ``message``. It writes files of these `endings`, in
    the study's directory at `stem`, or else beside its row. `about` is in each row, also of a
    failure.
    """

    function: Callable[..., Mapping[str, Any]]
    args: tuple[Any, ...] = ()
    about: Mapping[str, Any] = field(default_factory=dict)
    endings: tuple[str, ...] = ()
    stem: str | None = None

    def path(self, directory: StudyDirectory, key: str) -> Path:
        """Return the path of the task's files without their ending."""
        return directory.stem(key) if self.stem is None else directory.path / self.stem

    def files(self, path: Path) -> list[Path]:
        """Return the files of the task that are there."""
        return [file for end in self.endings if (file := Path(f"{path}{end}")).is_file()]

    def clear(self, path: Path) -> None:
        """Remove the files of the task, such as those that a try has left that died."""
        for file in self.files(path):
            file.unlink(missing_ok=True)

    def call(self, path: Path) -> dict[str, Any]:
        """Return the row as it reads from disk."""
        row = {"status": "finished", "message": "", **self.function(path, *self.args)}
        plain: dict[str, Any] = json.loads(json.dumps({**self.about, **row}, allow_nan=False))
        return plain

    def compute(self, path: Path) -> dict[str, Any]:
        """Return the row; raise errors of `PASSING`, record others."""
        try:
            return self.call(path)
        except PASSING:
            raise
        except Exception as error:
            row = {**self.about, "status": "failed", "message": str(error)}
            if not isinstance(error, GdaoptError):
                row["message"] = f"{type(error).__name__}: {error}"
                row["traceback"] = "".join(traceback.format_exception(error))
            return row

    def make_died_row(self, message: str) -> dict[str, Any]:
        """Return the row of a task that is to be tried again the next time: not for the disk."""
        return {**self.about, "status": "died", "message": message}


ValueT = TypeVar("ValueT")


class Study(ABC, Generic[ValueT]):
    """What studies share: tasks by key, and the directory of their rows."""

    tasks: dict[str, Task]
    _directory: StudyDirectory

    @property
    def path(self) -> Path:
        """The directory."""
        return self._directory.path

    @property
    def done(self) -> list[str]:
        """The keys of the tasks that are finished on disk."""
        return list(self._directory.rows(self.tasks))

    @abstractmethod
    def label(self, key: str) -> str:
        """Return what a task is called."""

    @abstractmethod
    def run(self, progress: Progress | None = None) -> ValueT:
        """Run what is missing, write tables and pictures, and return what the study finds."""


def run_here(
    directory: StudyDirectory, tasks: Mapping[str, Task], progress: Progress
) -> dict[str, dict[str, Any]]:
    """Run the tasks that are not finished one after the other in this process; return all rows.

    An error ends it. So does a row that was ``interrupted``, which is the last one then; it is on
    disk, and its task is not finished.
    """
    rows = directory.rows(tasks)
    try:
        for key, task in tasks.items():
            if key in rows:
                continue
            progress(key, len(rows), len(tasks), None)
            path = task.path(directory, key)
            rows[key] = task.call(path)
            directory.write_row(key, rows[key], task.files(path))
            progress(key, len(rows), len(tasks), rows[key])
            if rows[key]["status"] == "interrupted":
                break
    finally:
        directory.clean()
    return {key: rows[key] for key in tasks if key in rows}


def run_tasks(
    directory: StudyDirectory,
    tasks: Mapping[str, Task],
    workers: TaskWorkers,
    *,
    progress: Progress | None = None,
) -> dict[str, dict[str, Any]]:
    """Run the tasks that are not finished in a directory, and return all rows in their order.

    An error of a task makes a row ``failed``, which is kept. A task whose process was killed is
    tried again, alone, at the end; one that died twice, or for want of memory or disk, makes a row
    ``died``, which is not on disk.
    """
    rows = directory.rows(tasks)
    missing = [key for key in tasks if key not in rows]

    def report(key: str, row: Mapping[str, Any] | None) -> None:
        if progress is not None:
            progress(key, len(rows), len(tasks), row)

    # If the worker of a cluster dies, all the tasks that it was given are suspects.
    suspects: list[str] = []
    try:
        for keys, jobs, at_a_time in (
            (missing, workers.jobs, workers.at_a_time),
            (suspects, 1, 1),
        ):
            outcomes = _outcomes(directory, tasks, keys, workers, jobs, at_a_time, report)
            with closing(outcomes):
                for key, future in outcomes:
                    killed = _how_it_died(future)
                    if killed is None:
                        rows[key] = _write_outcome(directory, key, tasks[key], future)
                    elif keys is suspects:
                        rows[key] = tasks[key].make_died_row(killed)
                    else:
                        suspects.append(key)
                        continue
                    report(key, rows[key])
    finally:
        directory.clean()
    return {key: rows[key] for key in tasks}


def _outcomes(
    directory: StudyDirectory,
    tasks: Mapping[str, Task],
    keys: Iterable[str],
    workers: TaskWorkers,
    jobs: int,
    at_a_time: int,
    report: Callable[[str, None], object],
) -> Generator[tuple[str, _Outcome], None, None]:
    waiting = deque(keys)
    ended: SimpleQueue[_Outcome] = SimpleQueue()
    under_way: dict[_Outcome, str] = {}
    if not waiting:
        return
    with workers.start(jobs) as executor:
        while under_way or waiting:
            while waiting and len(under_way) < at_a_time:
                key = waiting.popleft()
                report(key, None)
                task = tasks[key]
                path = task.path(directory, key).absolute()
                task.clear(path)
                if workers.scheduler is None:
                    future = executor.submit(_compute, task, path)
                else:
                    # Dask would leave arrays where they lie in a message, at addresses that change
                    # from run to run, and with them the last bits of products.
                    pickled = pickle.dumps(task)
                    future = executor.submit(_compute_far, gdaopt_version(), pickled, path.name)
                under_way[future] = key
                future.add_done_callback(ended.put)
            future = ended.get()
            yield under_way.pop(future), future


def _compute(task: Task, path: Path) -> _Answer:
    """Compute a task on a worker."""
    try:
        return task.compute(path), {}
    except PASSING as error:
        return f"{type(error).__name__}: {error}"
    except SystemExit as error:  # which the worker would hand to us
        return f"its process ended with exit code {error.code}"


def _compute_far(version: str, pickled: bytes, name: str) -> _Answer:
    """Compute a task on a worker that has no folder for its files, which come back as they are."""
    from threadpoolctl import threadpool_limits

    if version != gdaopt_version():
        raise GdaoptError(f"gdaopt is {gdaopt_version()} there and {version} here")
    with threadpool_limits(1), tempfile.TemporaryDirectory() as folder:
        task: Task = pickle.loads(pickled)
        path = Path(folder) / name
        answer = _compute(task, path)
        if isinstance(answer, str):
            return answer
        return answer[0], {file.name: file.read_bytes() for file in task.files(path)}


def _write_outcome(
    directory: StudyDirectory, key: str, task: Task, future: _Outcome
) -> dict[str, Any]:
    """Write what a worker has returned, unless its task has died, and return the row."""
    path = task.path(directory, key)
    try:
        answer = future.result()
    except WorkerEndedError as error:  # at the deadline: it would come again
        task.clear(path)
        answer = {**task.about, "status": "time_limit", "message": str(error)}, {}
    except MemoryError as error:
        return task.make_died_row(f"{type(error).__name__}: {error}")
    except Exception as error:  # an error of the workers: `_compute` returns the errors of tasks
        raise cannot_run(error) from error
    if isinstance(answer, str):
        return task.make_died_row(answer)
    row, contents = answer
    try:
        for name, content in contents.items():
            write_atomically(path.with_name(name), methodcaller("write", content))
        directory.write_row(key, row, task.files(path))
    except PASSING as error:
        return task.make_died_row(f"{type(error).__name__}: {error}")
    return row


def _how_it_died(future: _Outcome) -> str | None:
    """Return how the process ended that had a task; None if none did, but at the deadline."""
    error = future.exception()
    if isinstance(error, WorkerEndedError) and not error.is_late:
        return str(error)
    # An error of Dask, by name: so it need not be imported.
    is_killed = type(error).__name__ == "KilledWorker"
    return "its process was killed, as happens when memory runs out" if is_killed else None
