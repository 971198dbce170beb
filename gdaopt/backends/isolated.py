"""Solving in a worker process, which can be killed when it hangs and may die without us.

It is started on the first call, kept for the next ones, and ends with this process. It holds
compiled problems, so that a re-solve compiles nothing there either.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import warnings
from collections.abc import Mapping
from concurrent.futures import BrokenExecutor, Future, wait
from contextlib import suppress
from multiprocessing.util import Finalize
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from gdaopt.errors import SolverFailedError
from gdaopt.processes import begin_worker

if TYPE_CHECKING:
    import cvxpy as cp
    from joblib.externals.loky import ProcessPoolExecutor

__all__ = ["solve_isolated"]

_PROBLEMS_HELD = 8  # by the worker: a method has one or two

_executor: ProcessPoolExecutor | None = None
_owner = 0  # the process that started the executor: in a fork of it, it does not work
_pickled: WeakKeyDictionary[cp.Problem, bytes] = WeakKeyDictionary()
_held: dict[bytes, cp.Problem] = {}  # in the worker


def solve_isolated(
    problem: cp.Problem, solver: str, options: Mapping[str, Any], *, time_limit: float | None
) -> tuple[str, float | None]:
    """Solve a CVXPY problem in the worker process; its variables get their values here.

    Parameters
    ----------
    problem, solver, options : see `gdaopt.backends.cvxpy.solve_here`, which the worker calls
    time_limit : float or None
        Seconds after which the worker is killed; None waits for ever.

    Raises
    ------
    SolverFailedError
        When the worker was killed at the limit, or died. Errors of the solver arrive as they are,
        or as RuntimeError when they cannot be pickled.
    """
    from cvxpy.lin_ops.lin_utils import ID_COUNTER

    if problem not in _pickled:
        # A new problem of the same parts: the old one may hold a solver's unpicklable statistics.
        anew = type(problem)(problem.objective, problem.constraints)
        _pickled[problem] = pickle.dumps((anew, ID_COUNTER.count))
    values = [parameter.value for parameter in problem.parameters()]
    try:
        answer = _submit(_pickled[problem], values, solver, dict(options))
        ended = wait([answer], time_limit).done
    except BaseException:  # an interrupt: nobody waits for what the worker is doing
        _kill()
        raise
    if not ended:
        _kill()
        raise SolverFailedError(f"it was killed after {time_limit:.3g} s")
    try:
        status, found, seconds = answer.result()
    except BrokenExecutor as error:
        _kill()
        raise SolverFailedError(f"it took its worker process down: {error}") from error
    for variable, value in zip(problem.variables(), found, strict=True):
        variable.save_value(value)
    return status, seconds


def _submit(*call: Any) -> Future[tuple[str, list[Any], float | None]]:
    """Hand a call to the worker, or to a new one when it died since the last call."""
    try:
        answer: Future[tuple[str, list[Any], float | None]] = _worker().submit(_solve, *call)
    except BrokenExecutor:
        _kill()
        answer = _worker().submit(_solve, *call)
    return answer


def _worker() -> ProcessPoolExecutor:
    """Return the pool of one worker, started if there is none."""
    from joblib.externals.loky import ProcessPoolExecutor  # on demand: few runs need it

    global _executor, _owner
    if _executor is None or _owner != os.getpid():
        _owner = os.getpid()
        _executor = ProcessPoolExecutor(max_workers=1, initializer=begin_worker, initargs=(_owner,))
        if multiprocessing.parent_process() is not None:
            # A process of multiprocessing waits for its children before loky would end the worker.
            Finalize(None, _kill, exitpriority=0)
    return _executor


def _kill() -> None:
    """Kill the worker; the next call starts another."""
    global _executor
    executor, _executor = _executor, None  # first, so that a second interrupt leaves no ruin
    if executor is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # loky's, where neither psutil nor pgrep is installed
            executor.shutdown(wait=True, kill_workers=True)


def _solve(
    pickled: bytes, values: list[Any], solver: str, options: dict[str, Any]
) -> tuple[str, list[Any], float | None]:
    """Solve in the worker; return status, variables' values and the solver's time."""
    from cvxpy.lin_ops.lin_utils import ID_COUNTER

    from gdaopt.backends.cvxpy import solve_here

    if pickled not in _held:
        if len(_held) >= _PROBLEMS_HELD:
            _held.pop(next(iter(_held)))
        _held[pickled], count = pickle.loads(pickled)
        # Variables that compilation adds must not get the id of one that came with the problem.
        ID_COUNTER.count = max(ID_COUNTER.count, count)
    problem = _held[pickled]
    for parameter, value in zip(problem.parameters(), values, strict=True):
        parameter.value = value
    try:
        status, seconds = solve_here(problem, solver, options)
    except BaseException as error:
        portable: Exception = RuntimeError(f"{type(error).__name__}: {error}")
        with suppress(Exception):  # what cannot be pickled would take the worker down
            if isinstance(error, Exception) and pickle.loads(pickle.dumps(error)):
                portable = error
        raise portable from None
    return status, [variable.value for variable in problem.variables()], seconds
