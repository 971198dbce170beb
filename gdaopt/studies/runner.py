"""A resumable runner: the cells of a study that are missing, each in a process of its own.

A crash of a solver or of the machine so loses what was under way and nothing else, and the peak
memory of a process is that of its cell. The processes write their rows themselves, so that a row
that is finished is kept whatever happens to the runner.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import connection
from threading import Timer
from typing import Any

from gdaopt.errors import GdaoptError
from gdaopt.processes import begin_worker, die_with
from gdaopt.studies.study_directory import StudyDirectory
from gdaopt.validation import integer, number

__all__ = ["Cell", "Progress", "run_cells"]

Progress = Callable[[str, int, int, Mapping[str, Any] | None], object]
"""Called with a cell's key, how many cells are done, how many there are, and the row: None when
the cell begins."""

_GRACE = 5.0  # seconds for a process to end once its row is written

# Of the machine and not of the cell, which may go well the next time.
_PASSING = (MemoryError, OSError)


@dataclass(frozen=True)
class Cell:
    """What to compute for a row.

    Attributes
    ----------
    function : callable
        Of a module, so that it can be pickled. Called with the path of the cell's further files
        without their ending (write ``f"{path}.npz"``), then `args`. Returns the row: plain values,
        whose ``status`` and ``message`` are ``"finished"`` and empty unless it says otherwise.
    args : tuple
        Its further arguments, pickled too.
    about : mapping
        What every row of the cell says, also of one that failed.
    """

    function: Callable[..., Mapping[str, Any]]
    args: tuple[Any, ...] = ()
    about: Mapping[str, Any] = field(default_factory=dict)


def run_cells(
    directory: StudyDirectory,
    cells: Mapping[str, Cell],
    *,
    jobs: int = 1,
    deadline: float | None = None,
    progress: Progress | None = None,
) -> dict[str, dict[str, Any]]:
    """Run the cells that are not finished in a directory.

    Parameters
    ----------
    directory : StudyDirectory
        Where the rows are.
    cells : mapping of str to Cell
        By their keys, see `gdaopt.studies.study_directory.cell_key`.
    jobs : int, optional
        How many to run at a time.
    deadline : float, optional
        Seconds after which the process of a cell is killed; the cell is then finished, with the
        status ``time_limit``.
    progress : callable, optional
        See `Progress`.

    Returns
    -------
    dict of str to dict
        The rows, in the order of the cells. An error of the cell's function makes a row with the
        status ``failed``: it would come again. A process that died, or that ran out of memory or
        disk, makes one with the status ``died``, which is not on disk: the cell is tried again the
        next time.

    Raises
    ------
    InvalidInputError
        For an unsafe key, before any work.
    KeyboardInterrupt
        Once the processes under way are ended. Finished rows stay.
    """
    integer("jobs", jobs, at_least=1)
    if deadline is not None:
        number("deadline", deadline, above=0)
    found = {key: directory.row(key) for key in cells}
    rows = {key: row for key, row in found.items() if row is not None}
    missing = deque(key for key in cells if key not in rows)
    running: list[_Worker] = []

    def report(key: str, row: Mapping[str, Any] | None) -> None:
        if progress is not None:
            progress(key, len(rows), len(cells), row)

    try:
        while missing or running:
            while missing and len(running) < jobs:
                key = missing.popleft()
                report(key, None)
                running.append(_Worker(directory, key, cells[key], deadline))
                running[-1].start()
            for worker in _ended(running):
                rows[worker.key] = worker.finish()
                running.remove(worker)
                report(worker.key, rows[worker.key])
    finally:
        for worker in running:
            worker.end()
        directory.clean()
    return {key: rows[key] for key in cells}


class _Worker:
    """The process of a cell, as its parent sees it."""

    def __init__(
        self, directory: StudyDirectory, key: str, cell: Cell, deadline: float | None
    ) -> None:
        context = multiprocessing.get_context("spawn")  # a fork would begin with our memory
        self.key = key
        self._directory, self._cell, self._deadline = directory, cell, deadline
        self._connection, self._its_end = context.Pipe()
        self._process = context.Process(target=_work, args=(os.getpid(), self._its_end))
        self._kill_at = float("inf")

    def start(self) -> None:
        """Start the process, and hand it its cell."""
        with _without_interrupts():
            self._process.start()
        self._its_end.close()
        if self._deadline is not None:
            self._kill_at = time.monotonic() + self._deadline
        # As arguments of the process, large ones would block us for ever if it died before it had
        # read them all; so an error tells, and its exit code says more.
        with suppress(ConnectionError):
            self._connection.send((self._directory, self.key, self._cell))

    @property
    def sentinel(self) -> int:
        """What becomes ready when the process ends."""
        return self._process.sentinel

    @property
    def seconds_left(self) -> float:
        """Seconds until it is to be killed."""
        return self._kill_at - time.monotonic()

    @property
    def is_over(self) -> bool:
        """Whether the process has ended, or has to."""
        return not self._process.is_alive() or self.seconds_left <= 0

    def finish(self) -> dict[str, Any]:
        """Return the row of a process that is over, which is killed if it goes on."""
        is_late = self._process.is_alive()
        self.end()
        row = self._directory.row(self.key)
        if row is None and is_late:
            self._directory.clear(self.key)
            message = f"killed after {self._deadline:g} s"
            row = {**self._cell.about, "status": "time_limit", "message": message}
            self._directory.write_row(self.key, row)
        return row or {**self._cell.about, "status": "died", "message": self._how_it_died()}

    def end(self) -> None:
        """End the process."""
        if self._process.pid is not None:  # an interrupt may come before there is one
            self._process.kill()
            self._process.join()

    def _how_it_died(self) -> str:
        """Return what the process said of its end, or how it ended."""
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


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Hold interrupts back while a process starts.

    It inherits that, and Ctrl-C, which all processes of a terminal get, does not meet it before it
    ignores interrupts.
    """
    if sys.platform == "win32":
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # with the first process, it would let interrupts through
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _work(parent: int, pipe: connection.Connection[Any, Any]) -> None:
    """Compute a cell and write its row: what the process does."""
    begin_worker(parent)
    die_with(parent)
    directory: StudyDirectory
    key: str
    cell: Cell
    directory, key, cell = pipe.recv()
    try:
        directory.clear(key)  # of an earlier try
        try:
            row = cell.function(directory.stem(key), *cell.args)
            row = {**cell.about, "status": "finished", "message": "", **row}
            directory.write_row(key, row)
        except _PASSING:
            raise
        except Exception as error:
            directory.write_row(key, {**cell.about, "status": "failed", **_described(error)})
    except _PASSING as error:
        pipe.send(f"{type(error).__name__}: {error}")
        sys.exit(1)
    # The row is all that is wanted: an orderly end waits for the cell's own processes and threads,
    # such as a pool's, and could wait for ever.
    end = Timer(_GRACE, os._exit, (0,))
    end.daemon = True
    end.start()


def _described(error: Exception) -> dict[str, str]:
    """Return an error for a row; one that is not the package's own is a bug and keeps its trace."""
    if isinstance(error, GdaoptError):
        return {"message": str(error)}
    shown = "".join(traceback.format_exception(error))
    return {"message": f"{type(error).__name__}: {error}", "traceback": shown}
