"""A resumable runner: it finds the tasks of a study that are missing, and has them computed.

An executor decides where they are computed: each in a process of its own
(`gdaopt.studies.process_per_task`), or many by the same workers (`gdaopt.studies.worker_pool`). A
row that is finished is on disk, whatever happens to the runner.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from gdaopt.errors import GdaoptError
from gdaopt.studies.study_directory import StudyDirectory

__all__ = ["PASSING", "Executor", "Progress", "Task", "run_tasks"]

Progress = Callable[[str, int, int, Mapping[str, Any] | None], object]
"""A function that is called with a task's key, how many tasks are done, how many there are, and the
row. The row is None when the task begins, which not every executor can tell."""

PASSING = (MemoryError, OSError)
"""Errors of the machine and not of the task: the task may succeed the next time."""


@dataclass(frozen=True)
class Task:
    """What to compute for a row.

    Attributes
    ----------
    function : callable
        A function of a module, so that it can be pickled. It is called with the path of the task's
        further files without their ending (write ``f"{path}.npz"``), then with `args`. It returns
        the row: plain values, whose ``status`` and ``message`` are ``"finished"`` and empty unless
        the function gives others.
    args : tuple
        The function's further arguments, pickled too.
    about : mapping
        What identifies the task: part of each of its rows, also where the task failed.

    Examples
    --------
    >>> Task(lambda path, base: {"power": base**3}, (2,), {"base": 2}).compute(Path("unused"))
    {'base': 2, 'status': 'finished', 'message': '', 'power': 8}
    """

    function: Callable[..., Mapping[str, Any]]
    args: tuple[Any, ...] = ()
    about: Mapping[str, Any] = field(default_factory=dict)

    def compute(self, path: Path) -> dict[str, Any]:
        """Return the row, as it reads from disk; one with the status ``failed`` for an error.

        Parameters
        ----------
        path : pathlib.Path
            The path of the task's further files, without their ending.

        Raises
        ------
        MemoryError, OSError
            The task is to be tried again (`PASSING`).
        """
        try:
            row = {"status": "finished", "message": "", **self.function(path, *self.args)}
            plain: dict[str, Any] = json.loads(json.dumps({**self.about, **row}, allow_nan=False))
            return plain
        except PASSING:
            raise
        except Exception as error:
            return {**self.about, "status": "failed", **_described(error)}

    def died(self, message: str) -> dict[str, Any]:
        """Return the row of a task that is to be tried again the next time: not for the disk."""
        return {**self.about, "status": "died", "message": message}


class Executor(Protocol):
    """Where tasks are computed."""

    def run(
        self,
        directory: StudyDirectory,
        tasks: Mapping[str, Task],
        begun: Callable[[str], object],
        /,
    ) -> Generator[tuple[str, dict[str, Any]], None, None]:
        """Yield the key and the row of each task as it ends, in any order.

        Parameters
        ----------
        directory : StudyDirectory
            Where a row is written before it is yielded, unless its status is ``died``.
        tasks : mapping of str to Task
            The tasks to compute: at least one.
        begun : callable
            Called with the key of a task that begins, where the executor can tell.
        """
        ...  # closing the generator ends the processes at work


def run_tasks(
    directory: StudyDirectory,
    tasks: Mapping[str, Task],
    executor: Executor,
    *,
    progress: Progress | None = None,
) -> dict[str, dict[str, Any]]:
    """Run the tasks that are not finished in a directory.

    Parameters
    ----------
    directory : StudyDirectory
        Where the rows are. The caller is its `gdaopt.studies.directory_lock.sole_writer`.
    tasks : mapping of str to Task
        By their keys, see `gdaopt.studies.study_directory.task_key`.
    executor : Executor
        Where they are computed.
    progress : callable, optional
        See `Progress`.

    Returns
    -------
    dict of str to dict
        The rows, in the order of the tasks. An error of the task's function makes a row with the
        status ``failed``, which is kept: the error would come again. A process that died, or that
        ran out of memory or disk, makes a row with the status ``died``, which is not on disk: the
        task is tried again the next time.

    Raises
    ------
    InvalidInputError
        For an unsafe key, before any work.
    KeyboardInterrupt
        Once the processes under way are ended. Finished rows stay.
    """
    found = {key: directory.row(key) for key in tasks}
    rows = {key: row for key, row in found.items() if row is not None}
    missing = {key: task for key, task in tasks.items() if key not in rows}

    def report(key: str, row: Mapping[str, Any] | None) -> None:
        if progress is not None:
            progress(key, len(rows), len(tasks), row)

    try:
        if missing:
            with closing(executor.run(directory, missing, lambda key: report(key, None))) as ended:
                for key, row in ended:
                    rows[key] = row
                    report(key, row)
    finally:
        directory.clean()
    return {key: rows[key] for key in tasks}


def _described(error: Exception) -> dict[str, str]:
    """Return an error for a row, with its traceback where it is not one of the package's own."""
    if isinstance(error, GdaoptError):
        return {"message": str(error)}
    shown = "".join(traceback.format_exception(error))
    return {"message": f"{type(error).__name__}: {error}", "traceback": shown}
