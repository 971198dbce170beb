"""Solving in a worker process: it can be killed when it hangs, and this process survives a crash.

Each thread has a worker of its own, so that the end of one disturbs no other thread. The worker is
started by the thread's first call, is kept for later calls, and ends with the thread and with this
process. It keeps the compiled problems, so that solving one of them again compiles nothing there
either. What solvers print there is dropped.

A solver whose libraries clash with those of another is solved in a second worker, into which the
other cannot be loaded (`gdaopt.backends.catalogue.SolverEntry.alone`).
"""

from __future__ import annotations

import os
import pickle
import sys
import threading
import time
from collections.abc import Mapping
from concurrent.futures import BrokenExecutor, Future, wait
from contextlib import suppress
from multiprocessing.util import Finalize
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from gdaopt.backends.catalogue import entry_of
from gdaopt.backends.in_process import solve_in_process
from gdaopt.errors import SolverFailedError
from gdaopt.processes import begin_worker

if TYPE_CHECKING:
    import cvxpy as cp

__all__ = ["solve_isolated"]

_PROBLEMS_HELD = 8  # most problems that the worker keeps; a method solves one or two

_pickled: WeakKeyDictionary[cp.Problem, bytes] = WeakKeyDictionary()
_held: dict[bytes, cp.Problem] = {}  # filled in the worker only


def solve_isolated(
    problem: cp.Problem, solver: str, options: Mapping[str, Any], *, time_limit: float | None
) -> tuple[str, float | None]:
    """Solve a CVXPY problem in the worker process; its variables get their values here.

    Parameters
    ----------
    problem, solver, options
        See `gdaopt.backends.in_process.solve_in_process`, which the worker calls.
    time_limit : float or None
        Seconds after which the worker is killed; None for no limit.

    Returns
    -------
    status, solve_seconds
        See `gdaopt.backends.in_process.solve_in_process`.

    Raises
    ------
    SolverFailedError
        When the worker was killed at the limit, or died. Errors that the solver raises in the
        worker are raised here too, as RuntimeError when they cannot be pickled.
    """
    from cvxpy.lin_ops.lin_utils import ID_COUNTER

    start = time.perf_counter()
    alone = entry_of(solver).alone
    if problem not in _pickled:
        # Pickle a new problem of the same parts: the old one may hold statistics of a solver, which
        # cannot be pickled.
        copy = type(problem)(problem.objective, problem.constraints)
        _pickled[problem] = pickle.dumps((copy, ID_COUNTER.count))
    values = [parameter.value for parameter in problem.parameters()]
    try:
        answer = _submit(alone, _pickled[problem], values, solver, dict(options))
        # Passing the problem to the worker has taken time, too, and for a large one seconds.
        left = None if time_limit is None else time_limit - (time.perf_counter() - start)
        ended = wait([answer], None if left is None else max(left, 0.0)).done
    except BaseException:  # after an interrupt, nobody waits for the worker's answer
        _kill(alone)
        raise
    if not ended:
        _kill(alone)
        raise SolverFailedError(f"it was killed after {time_limit:.3g} s")
    try:
        status, found, seconds = answer.result()
    except BrokenExecutor as error:
        _kill(alone)
        raise SolverFailedError(f"it ended its worker process: {error}") from error
    for variable, value in zip(problem.variables(), found, strict=True):
        variable.save_value(value)
    return status, seconds


class _Worker:
    """A worker process, which ends with this object, and with the process that started it."""

    def __init__(self, alone: bool) -> None:
        from joblib.externals.loky import ProcessPoolExecutor  # slow to import; few runs need it

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
    for descriptor in (1, 2):  # those that solvers written in C print to
        os.dup2(nowhere, descriptor)
    os.close(nowhere)


class _OfThisThread(threading.local):
    """The workers of the thread that asks: that of most solvers, and that of solvers alone."""

    def __init__(self) -> None:
        self.workers: dict[bool, _Worker] = {}


_mine = _OfThisThread()


def _submit(alone: bool, *call: Any) -> Future[tuple[str, list[Any], float | None]]:
    """Pass a call to the worker; to a new worker when the last one has died."""
    try:
        answer: Future[tuple[str, list[Any], float | None]] = _worker(alone).pool.submit(
            _solve, *call
        )
    except BrokenExecutor:
        _kill(alone)
        answer = _worker(alone).pool.submit(_solve, *call)
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


def _solve(
    pickled: bytes, values: list[Any], solver: str, options: dict[str, Any]
) -> tuple[str, list[Any], float | None]:
    """Solve in the worker; return status, values of the variables and the solver's time."""
    from cvxpy.lin_ops.lin_utils import ID_COUNTER

    if pickled not in _held:
        if len(_held) >= _PROBLEMS_HELD:
            _held.pop(next(iter(_held)))
        _held[pickled], count = pickle.loads(pickled)
        # A variable that compilation adds must not get the id of a variable of the problem.
        ID_COUNTER.count = max(ID_COUNTER.count, count)
    problem = _held[pickled]
    for parameter, value in zip(problem.parameters(), values, strict=True):
        parameter.value = value
    try:
        status, seconds = solve_in_process(problem, solver, options)
    except BaseException as error:
        portable: Exception = RuntimeError(f"{type(error).__name__}: {error}")
        with suppress(Exception):  # an error that cannot be pickled would end the worker
            if isinstance(error, Exception) and pickle.loads(pickle.dumps(error)):
                portable = error
        raise portable from None
    return status, [variable.value for variable in problem.variables()], seconds
