"""Each task in a process of its own, so that no task depends on earlier tasks.

A crash of a solver or of the machine loses the tasks under way and nothing else, and the peak
memory of a process is the memory of its task. The processes write their rows themselves, so that a
row that is finished is kept whatever happens to the runner.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Generator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import connection
from threading import Timer
from typing import Any

from gdaopt.studies.runner import PASSING, Task
from gdaopt.studies.study_directory import StudyDirectory
from gdaopt.support.validation import store_integer, store_number
from gdaopt.support.workers import begin_worker, die_with, without_interrupts

__all__ = ["ProcessPerTask"]

_GRACE = 5.0  # seconds for a process to end once its row is written


@dataclass(frozen=True)
class ProcessPerTask:
    """An `gdaopt.studies.runner.Executor` that starts a process for each task, in 1 to 2 s.

    Attributes
    ----------
    jobs : int
        How many tasks to run at a time.
    deadline : float or None
        Seconds after which the process of a task is killed; the task is then finished, with the
        status ``time_limit``.

    Examples
    --------
    >>> ProcessPerTask(jobs=0)
    Traceback (most recent call last):
    gdaopt.errors.InvalidInputError: jobs must be at least 1, got 0
    """

    jobs: int = 1
    deadline: float | None = None

    def __post_init__(self) -> None:
        store_integer(self, "jobs", at_least=1)
        if self.deadline is not None:
            store_number(self, "deadline", above=0)

    def run(
        self, directory: StudyDirectory, tasks: Mapping[str, Task], begun: Callable[[str], object]
    ) -> Generator[tuple[str, dict[str, Any]], None, None]:
        """Yield the key and the row of each task as it ends.

        See `gdaopt.studies.runner.Executor`; `begun` is called before a task's process starts.
        """
        missing = deque(tasks)
        running: list[_Worker] = []
        try:
            while missing or running:
                while missing and len(running) < self.jobs:
                    key = missing.popleft()
                    begun(key)
                    running.append(_Worker(directory, key, tasks[key], self.deadline))
                    running[-1].start()
                for worker in _ended(running):
                    row = worker.finish()
                    running.remove(worker)
                    yield worker.key, row
        finally:
            for worker in running:
                worker.end()


class _Worker:
    """The process of a task, as its parent sees it."""

    def __init__(
        self, directory: StudyDirectory, key: str, task: Task, deadline: float | None
    ) -> None:
        context = multiprocessing.get_context("spawn")  # a fork would begin with our memory
        self.key = key
        self._directory, self._task, self._deadline = directory, task, deadline
        self._connection, self._its_end = context.Pipe()
        self._process = context.Process(target=_work, args=(os.getpid(), self._its_end))
        self._kill_at = float("inf")

    def start(self) -> None:
        """Start the process, and hand it its task."""
        with without_interrupts():
            self._process.start()
        self._its_end.close()
        if self._deadline is not None:
            self._kill_at = time.monotonic() + self._deadline
        # Large arguments of the process would block us for ever if it died before it had read them
        # all. A pipe raises an error then; the exit code, read later, says more.
        with suppress(ConnectionError):
            self._connection.send((self._directory, self.key, self._task))

    @property
    def sentinel(self) -> int:
        """The handle that becomes ready when the process ends."""
        return self._process.sentinel

    @property
    def seconds_left(self) -> float:
        """Seconds until the process is to be killed."""
        return self._kill_at - time.monotonic()

    @property
    def is_over(self) -> bool:
        """Whether the process has ended, or has to."""
        return not self._process.is_alive() or self.seconds_left <= 0

    def finish(self) -> dict[str, Any]:
        """Return the row of a process that has ended; kill one that is late."""
        is_late = self._process.is_alive()
        self.end()
        row = self._directory.row(self.key)
        if row is None and is_late:
            self._directory.clear(self.key)
            message = f"killed after {self._deadline:g} s"
            row = {**self._task.about, "status": "time_limit", "message": message}
            self._directory.write_row(self.key, row)
        return row or self._task.died(self._how_it_died())

    def end(self) -> None:
        """End the process."""
        if self._process.pid is not None:  # an interrupt may come before there is one
            self._process.kill()
            self._process.join()

    def _how_it_died(self) -> str:
        """Return the error that the process sent before its end, or else how it ended."""
        with suppress(EOFError, ConnectionError):
            if self._connection.poll():
                return str(self._connection.recv())
        return _how(self._process.exitcode or 0)


def _ended(workers: list[_Worker]) -> list[_Worker]:
    """Wait until some workers are over, and return them."""
    over = [worker for worker in workers if worker.is_over]
    if not over:
        left = min(worker.seconds_left for worker in workers)
        sentinels = [worker.sentinel for worker in workers]
        connection.wait(sentinels, None if left == float("inf") else max(left, 0.0))
        over = [worker for worker in workers if worker.is_over]
    return over


def _how(exit_code: int) -> str:
    """Return how a process ended.

    Examples
    --------
    >>> _how(3), _how(-11)
    ('its process ended with exit code 3', 'its process was killed by SIGSEGV')
    """
    if exit_code >= 0:
        return f"its process ended with exit code {exit_code}"
    try:
        name = signal.Signals(-exit_code).name
    except ValueError:  # a real-time signal
        name = f"signal {-exit_code}"
    hint = ", as happens when memory runs out" if name == "SIGKILL" else ""
    return f"its process was killed by {name}{hint}"


def _work(parent: int, pipe: connection.Connection[Any, Any]) -> None:
    """Compute a task and write its row: what the process does."""
    begin_worker(parent)
    die_with(parent)
    directory: StudyDirectory
    key: str
    task: Task
    directory, key, task = pipe.recv()
    try:
        directory.clear(key)  # of an earlier try
        directory.write_row(key, task.compute(directory.stem(key)))
    except PASSING as error:
        pipe.send(f"{type(error).__name__}: {error}")
        sys.exit(1)
    # An orderly end waits for the task's own processes and threads, such as a pool's, and could
    # wait for ever; but the row, which is all that is needed, is written.
    end = Timer(_GRACE, os._exit, (0,))
    end.daemon = True
    end.start()
