"""Solving in a worker process: it can be killed when it hangs, and this process survives a crash.

Each thread has a worker of its own, so that the end of one disturbs no other thread. The worker is
started by the thread's first call, is kept for later calls, and ends with the thread and with this
process. What backends compile there is held for later calls (`Held`). What solvers print there is
dropped.

A solver whose libraries clash with another solver's is called in a second worker, into which the
other solver cannot be loaded (`gdaopt.backends.catalogue.SolverEntry.alone`).
"""

from __future__ import annotations

import os
import pickle
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Future, wait
from contextlib import suppress
from typing import Any, Generic, TypeVar

from gdaopt.errors import SolverFailedError
from gdaopt.support.workers import begin_worker

__all__ = ["Held", "call_in_worker"]

_MOST_HELD = 8  # things of a kind that a worker keeps; a method solves one or two programs

ValueT = TypeVar("ValueT")


def call_in_worker(
    function: Callable[..., ValueT],
    *arguments: Any,
    time_limit: float | None,
    alone: bool = False,
) -> ValueT:
    """Call a function in the worker process of this thread.

    Parameters
    ----------
    function : callable
        Of a module: the worker finds it by its name.
    *arguments
        They are pickled, and so is the result.
    time_limit : float or None
        Seconds after which the worker is killed; None for no limit.
    alone : bool, optional
        Whether to call it in the second worker.

    Raises
    ------
    SolverFailedError
        When the worker was killed at the limit, or died. Errors that the function raises in the
        worker are raised here too, as RuntimeError when they cannot be pickled.

    Examples
    --------
    >>> call_in_worker(divmod, 7, 2, time_limit=None)
    (3, 1)
    """
    start = time.perf_counter()
    try:
        answer = _submit(alone, function, *arguments)
        # Passing the arguments to the worker has taken time, too, and for large ones seconds.
        left = None if time_limit is None else time_limit - (time.perf_counter() - start)
        ended = wait([answer], None if left is None else max(left, 0.0)).done
    except BaseException:  # after an interrupt, nobody waits for the worker's answer
        _kill(alone)
        raise
    if not ended:
        _kill(alone)
        raise SolverFailedError(f"it was killed after {time_limit:.3g} s")
    try:
        value: ValueT = answer.result()
    except BrokenExecutor as error:
        _kill(alone)
        raise SolverFailedError(f"it ended its worker process: {error}") from error
    return value


class Held(Generic[ValueT]):
    """What a worker keeps between calls, by a key; the oldest of too many is forgotten."""

    def __init__(self) -> None:
        self._values: dict[bytes, ValueT] = {}

    def get(self, key: bytes, make: Callable[[], ValueT]) -> ValueT:
        """Return what there is for a key; make it when there is nothing."""
        if key not in self._values:
            if len(self._values) >= _MOST_HELD:
                self._values.pop(next(iter(self._values)))
            self._values[key] = make()
        return self._values[key]


class _Worker:
    """A worker process, which ends with this object, and with the process that started it."""

    def __init__(self, alone: bool) -> None:
        # Slow to import, and few runs need it.
        from multiprocessing.util import Finalize

        from joblib.externals.loky import ProcessPoolExecutor

        self.owner = os.getpid()  # a fork of this process cannot use the worker
        self.pool = ProcessPoolExecutor(
            max_workers=1, initializer=_begin, initargs=(self.owner, alone)
        )
        # A thread that ends waits for nobody. A process of multiprocessing waits at its end for its
        # children, and loky would end them only after that.
        Finalize(
            self, self.pool.shutdown, kwargs={"wait": False, "kill_workers": True}, exitpriority=0
        )


def _begin(parent: int, alone: bool) -> None:
    """Prepare a new worker process."""
    begin_worker(parent)
    if alone:
        # ortools has a libhighs of its own: of two libraries of this name, the one that is loaded
        # first serves both packages, and lacks functions of the other.
        sys.modules["highspy"] = None  # type: ignore[assignment]  # its import fails, as if absent
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for descriptor in (1, 2):  # to which solvers written in C print
        os.dup2(nowhere, descriptor)
    os.close(nowhere)


class _OfThisThread(threading.local):
    """The two workers of this thread: one for most solvers, and one for solvers that run alone."""

    def __init__(self) -> None:
        self.workers: dict[bool, _Worker] = {}


_mine = _OfThisThread()


def _submit(alone: bool, function: Callable[..., ValueT], *arguments: Any) -> Future[ValueT]:
    """Pass a call to the worker; to a new worker when the last one has died."""
    try:
        answer: Future[ValueT] = _worker(alone).pool.submit(_portable, function, *arguments)
    except BrokenExecutor:
        _kill(alone)
        answer = _worker(alone).pool.submit(_portable, function, *arguments)
    return answer


def _worker(alone: bool = False) -> _Worker:
    """Return a worker of this thread; start it when there is none."""
    worker = _mine.workers.get(alone)
    if worker is None or worker.owner != os.getpid():
        worker = _mine.workers[alone] = _Worker(alone)
    return worker


def _kill(alone: bool = False) -> None:
    """Kill a worker of this thread; the next call starts another one."""
    # The worker is forgotten first: a second interrupt must not leave a half-killed one behind.
    worker = _mine.workers.pop(alone, None)
    if worker is not None:
        worker.pool.shutdown(wait=True, kill_workers=True)


def _portable(function: Callable[..., ValueT], *arguments: Any) -> ValueT:
    """Call a function in the worker; raise its errors as ones that can be passed on."""
    try:
        return function(*arguments)
    except BaseException as error:
        portable: Exception = RuntimeError(f"{type(error).__name__}: {error}")
        with suppress(Exception):  # an error that cannot be pickled would end the worker
            if isinstance(error, Exception) and pickle.loads(pickle.dumps(error)):
                portable = error
        raise portable from None
