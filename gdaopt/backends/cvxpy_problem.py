"""One solve of a CVXPY problem, in this process or in a worker, with the time of each stage.

The stages are CVXPY's own: `get_problem_data`, `solve_via_data` and `unpack_results`. They are the
same for all solvers, whether or not a solver reports a time of its own.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from gdaopt.backends.catalogue import entry_of
from gdaopt.backends.highs_banner import load_highspy
from gdaopt.backends.isolated import Held, call_in_worker
from gdaopt.backends.protocol import StageSeconds, Stopwatch
from gdaopt.support.warning_filters import ignoring

if TYPE_CHECKING:
    import cvxpy as cp

__all__ = ["LEAST_LIMIT", "Ended", "solve_here", "solve_isolated"]

LEAST_LIMIT = 0.01  # seconds: some solvers take 0 for no limit
_OF_CVXPY = ("gp", "enforce_dpp", "ignore_dpp", "verbose", "canon_backend")  # not of a solver

_pickled: WeakKeyDictionary[cp.Problem, bytes] = WeakKeyDictionary()
_held: Held[cp.Problem] = Held()  # filled in the worker only


@dataclass(frozen=True)
class Ended:
    """How a solve ended; the answer is in the problem's variables and constraints.

    Attributes
    ----------
    status : str
        The status that CVXPY gives the problem.
    reported_seconds : float or None
        The time that the solver reports for itself; None when it reports none.
    iterations : int or None
        Those that the solver reports.
    """

    status: str
    reported_seconds: float | None
    iterations: int | None


def solve_here(
    problem: cp.Problem,
    solver: str,
    options: Mapping[str, Any],
    watch: Stopwatch,
    limit: str | None = None,
) -> Ended:
    """Solve a CVXPY problem in this process.

    Parameters
    ----------
    problem : cvxpy.Problem
        Its parameters have values; its variables get theirs.
    solver : str
        Canonical name of a CVXPY solver.
    options : mapping
        Arguments of `cvxpy.Problem.solve`.
    watch : Stopwatch
        Gets a lap for each stage.
    limit : str, optional
        The option with the seconds that are left now; the solver gets what canonicalising leaves.
    """
    began = time.perf_counter()
    for variable in problem.variables():
        variable.save_value(None)  # otherwise a solve that does nothing would keep the last answer
    for constraint in problem.constraints:
        for dual in constraint.dual_variables:
            dual.save_value(None)
    own = dict(options)
    warm_start = own.pop("warm_start", True)
    of_cvxpy = {name: own.pop(name) for name in _OF_CVXPY if name in own}
    if solver == "HIGHS":
        load_highspy()  # before CVXPY makes models of it
    watch.lap("write")
    data, chain, inverse = problem.get_problem_data(solver, **of_cvxpy, solver_opts=own)
    watch.lap("canonicalize")
    if limit is not None:
        own[limit] = max(own[limit] - (time.perf_counter() - began), LEAST_LIMIT)
    verbose = of_cvxpy.get("verbose", False)
    solution = chain.solve_via_data(problem, data, warm_start, verbose, own)
    watch.lap("solve")
    # CVXPY warns of an inexact answer. The status says so too, and the caller reads that.
    with ignoring("Solution may be inaccurate"):
        problem.unpack_results(solution, chain, inverse)
    ended = _ended(problem)
    watch.lap("unpack")
    return ended


def _ended(problem: cp.Problem) -> Ended:
    """Return how the last solve of a problem ended."""
    stats = problem.solver_stats
    # Several solvers report no time or no iterations, some of them as 0, or as text.
    seconds = None if stats is None else stats.solve_time
    iterations = None if stats is None else stats.num_iters
    return Ended(
        str(problem.status),
        float(seconds) if seconds else None,
        int(iterations) if isinstance(iterations, int | float) else None,
    )


def solve_isolated(
    problem: cp.Problem,
    solver: str,
    options: Mapping[str, Any],
    watch: Stopwatch,
    limit: str | None = None,
    *,
    time_limit: float | None,
) -> Ended:
    """Solve a CVXPY problem in the worker process; variables and constraints get values here.

    The worker holds the compiled problem, so that solving it again compiles nothing there either.

    Parameters
    ----------
    problem, solver, options, watch, limit
        See `solve_here`, which the worker calls.
    time_limit : float or None
        Seconds after which the worker is killed; None for no limit.

    Raises
    ------
    SolverFailedError
        See `gdaopt.backends.isolated.call_in_worker`.
    """
    from cvxpy.lin_ops.lin_utils import ID_COUNTER

    if problem not in _pickled:
        # Pickle a new problem of the same parts: the old one may hold statistics of a solver, which
        # cannot be pickled.
        copy = type(problem)(problem.objective, problem.constraints)
        _pickled[problem] = pickle.dumps((copy, ID_COUNTER.count))
    values = [parameter.value for parameter in problem.parameters()]
    ended, found, duals, seconds = call_in_worker(
        _solve,
        _pickled[problem],
        values,
        solver,
        dict(options),
        limit,
        time_limit=time_limit,
        alone=entry_of(solver).alone,
    )
    watch.lap_elsewhere(seconds)
    for variable, value in zip(problem.variables(), found, strict=True):
        variable.save_value(value)
    for dual, value in zip(_dual_variables(problem), duals, strict=True):
        dual.save_value(value)
    watch.lap("unpack")
    return ended


def _solve(
    pickled: bytes, values: list[Any], solver: str, options: dict[str, Any], limit: str | None
) -> tuple[Ended, list[Any], list[Any], StageSeconds]:
    """Solve in the worker; return how it ended, the values of all variables, and the stages."""
    watch = Stopwatch()
    problem = _held.get(pickled, lambda: _unpickled(pickled))
    for parameter, value in zip(problem.parameters(), values, strict=True):
        parameter.value = value
    ended = solve_here(problem, solver, options, watch, limit)
    found = [variable.value for variable in problem.variables()]
    duals = [dual.value for dual in _dual_variables(problem)]
    watch.lap("unpack")
    return ended, found, duals, watch.seconds


def _unpickled(pickled: bytes) -> cp.Problem:
    """Return a problem from the process that pickled it."""
    from cvxpy.lin_ops.lin_utils import ID_COUNTER

    problem, count = pickle.loads(pickled)
    # A variable that compilation adds must not get the id of a variable of the problem.
    ID_COUNTER.count = max(ID_COUNTER.count, count)
    unpickled: cp.Problem = problem
    return unpickled


def _dual_variables(problem: cp.Problem) -> list[Any]:
    """Return the dual variables of all constraints, in order."""
    return [dual for constraint in problem.constraints for dual in constraint.dual_variables]
