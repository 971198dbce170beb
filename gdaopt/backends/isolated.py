"""Solving in a worker process, which can be killed when it hangs and may die without us.

The worker is started on the first call, kept for the next ones, and ends with this process. It
holds compiled problems, so that a re-solve compiles nothing there either.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from concurrent.futures import BrokenExecutor
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from gdaopt.errors import SolverFailedError

if TYPE_CHECKING:
    import cvxpy as cp
    from joblib.externals.loky import ProcessPoolExecutor

__all__ = ["solve_isolated"]

_PROBLEMS_HELD = 8  # by the worker: a method has one or two

_executor: ProcessPoolExecutor | None = None
_pickled: WeakKeyDictionary[cp.Problem, bytes] = WeakKeyDictionary()
_held: dict[bytes, cp.Problem] = {}  # in the worker


def solve_isolated(
    problem: cp.Problem, solver: str, options: Mapping[str, Any], *, time_limit: float | None
) -> tuple[str, float | None]:
    """Solve a CVXPY problem in the worker process; its variables get their values here.

    Parameters
    ----------
    problem : cvxpy.Problem
        Its parameters have values.
    solver : str
        Canonical name.
    options : mapping
        For `cvxpy.Problem.solve`.
    time_limit : float or None
        Seconds after which the worker is killed; None waits for ever.

    Returns
    -------
    status : str
        CVXPY's.
    solve_seconds : float or None
        The solver's own time.

    Raises
    ------
    SolverFailedError
        When the worker was killed at the limit, or died.
    Exception
        Whatever the solver raised in the worker.
    """
    if problem not in _pickled:
        # A new problem of the same parts: the old one may hold a solver's unpicklable statistics.
        _pickled[problem] = pickle.dumps(type(problem)(problem.objective, problem.constraints))
    values = [parameter.value for parameter in problem.parameters()]
    try:
        answer = _worker().submit(_solve, _pickled[problem], values, solver, dict(options))
        status, found, seconds = answer.result(time_limit)
    except TimeoutError as error:
        _kill()
        raise SolverFailedError(f"{solver} was killed after {time_limit:.3g} s") from error
    except BrokenExecutor as error:
        _kill()
        raise SolverFailedError(f"{solver} took its worker process down: {error}") from error
    except KeyboardInterrupt:
        _kill()
        raise
    for variable, value in zip(problem.variables(), found, strict=True):
        variable.save_value(value)
    return status, seconds


def _worker() -> ProcessPoolExecutor:
    """Return the pool of one worker, started if there is none."""
    from joblib.externals.loky import ProcessPoolExecutor  # on demand: few runs need it

    global _executor
    if _executor is None:
        _executor = ProcessPoolExecutor(max_workers=1)
    return _executor


def _kill() -> None:
    """Kill the worker; the next call starts another."""
    global _executor
    if _executor is not None:
        _executor.shutdown(wait=True, kill_workers=True)
    _executor = None


def _solve(
    pickled: bytes, values: list[Any], solver: str, options: dict[str, Any]
) -> tuple[str, list[Any], float | None]:
    """Solve in the worker; return status, variables' values and the solver's time."""
    if pickled not in _held:
        if len(_held) >= _PROBLEMS_HELD:
            _held.pop(next(iter(_held)))
        _held[pickled] = pickle.loads(pickled)
    problem = _held[pickled]
    for parameter, value in zip(problem.parameters(), values, strict=True):
        parameter.value = value
    problem.solve(solver=solver, **options)
    stats = problem.solver_stats
    found = [variable.value for variable in problem.variables()]
    return str(problem.status), found, None if stats is None else stats.solve_time
