"""Solving in a worker process: it can be killed when it hangs, and this process survives a crash.

Each thread has a worker of its own, which is kept for later calls, and ends with the thread and
with this process. What solvers print there is dropped. A solver whose libraries clash with another
solver's is called in a second worker (`gdaopt.backends.catalogue.SolverEntry.alone`).
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from gdaopt.errors import SolverFailedError
from gdaopt.support.processes import WorkerEndedError, WorkerProcess

_MOST_HELD = 8  # things of a kind that a worker keeps; a method solves one or two programs

ValueT = TypeVar("ValueT")


def call_in_worker(
    function: Callable[..., ValueT],
    *arguments: Any,
    time_limit: float | None,
    alone: bool = False,
) -> ValueT:
    """Call a function in a worker of this thread; one that ended is a SolverFailedError."""
    try:
        return _worker(alone).call(function, *arguments, time_limit=time_limit)
    except WorkerEndedError as error:
        how = f"it was {error}" if error.is_late else f"it ended its worker process: {error}"
        raise SolverFailedError(how) from error


class Held(Generic[ValueT]):
    """What a worker keeps between calls, by a key; the oldest of too many is forgotten."""

    def __init__(self) -> None:
        self._values: dict[object, ValueT] = {}

    def get(self, key: object, make: Callable[[], ValueT]) -> ValueT:
        """Return what there is for a key; make it when there is nothing."""
        if key not in self._values:
            if len(self._values) >= _MOST_HELD:
                self._values.pop(next(iter(self._values)))
            self._values[key] = make()
        return self._values[key]


class _OfThisThread(threading.local):
    """The two workers of this thread: one for most solvers, and one for solvers that run alone."""

    def __init__(self) -> None:
        self.workers: dict[bool, WorkerProcess] = {}


_mine = _OfThisThread()


def _worker(alone: bool = False) -> WorkerProcess:
    """Return a worker of this thread; start it when there is none."""
    worker = _mine.workers.get(alone)
    if worker is None or not worker.is_usable:
        worker = _mine.workers[alone] = WorkerProcess(is_silent=True)
        if alone:
            worker.call(_hide_highspy)
    return worker


def _hide_highspy() -> None:
    """Have no other solver loaded."""
    # ortools has a libhighs of its own: of two libraries of this name, the one that is loaded
    # first serves both packages, and lacks functions of the other.
    sys.modules["highspy"] = None  # type: ignore[assignment]  # its import fails, as if absent
