"""The one place where a CVXPY problem is solved: time, status and faults are read here.

Problems go through `cvxpy.Problem.solve` itself, so that patched and subclassed problems work.
CVXPY is imported on the first call: importing it loads every solver that is installed.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from gdaopt.backends.isolated import solve_isolated
from gdaopt.errors import InaccurateSolutionWarning, InfeasibleProblemError, SolverFailedError

if TYPE_CHECKING:
    import cvxpy as cp

__all__ = ["SolverReport", "solve_program"]

# The presolve of HiGHS (1.15; compare its issue 2511) calls some feasible programs infeasible whose
# budget row is redundant up to round-off. Without presolve they are solved, so that a verdict of
# infeasibility is asked for twice.
_SECOND_OPINION: dict[str, dict[str, Any]] = {"HIGHS": {"presolve": "off"}}

_TIME_LIMIT_OPTIONS = {
    "CLARABEL": "time_limit",
    "HIGHS": "time_limit",
    "SCS": "time_limit_secs",
    "OSQP": "time_limit",
}

# What a solver calls its tolerances, and which share of a certified gap they have to be for the
# answer to get there. The gap is linear in the distance from the optimum, the objective quadratic,
# so that interior-point methods need about the square of a gap of 1e-6; ECOS, which would run into
# its limit of iterations, gets there with less. SCS judges distances itself.
_ACCURACY_OPTIONS = {
    "CLARABEL": (("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-6),
    "ECOS": (("abstol", "reltol", "feastol"), 1e-4),
    "SCS": (("eps_abs", "eps_rel"), 0.1),
}
_LEAST_ACCURACY = 1e-13  # below, solvers run into round-off


@dataclass(frozen=True)
class SolverReport:
    """How a solver ended on one problem, whose variables hold the answer.

    Attributes
    ----------
    solver, status : str
        Name and CVXPY status: ``"optimal"`` or ``"optimal_inaccurate"``.
    build_seconds : float or None
        Wall time of the call minus the solver's own; None when the solver does not report its own.
    solve_seconds : float
        The solver's own time where it reports one, else the wall time of the call.
    """

    solver: str
    status: str
    build_seconds: float | None
    solve_seconds: float


def solve_program(
    problem: cp.Problem,
    solver: str,
    *,
    solver_opts: Mapping[str, Any] | None = None,
    time_limit: float | None = None,
    gap: float | None = None,
    isolate: bool = False,
    name: str = "program",
) -> SolverReport:
    """Solve a CVXPY problem and report how it went.

    Parameters
    ----------
    problem : cvxpy.Problem
        Its parameters have values.
    solver : str
        Canonical name of a CVXPY solver.
    solver_opts : mapping, optional
        Passed to the solver; they go before what is set here.
    time_limit : float, optional
        Seconds, handed to the solvers that have such an option.
    gap : float, optional
        The relative gap that a certificate of the answer shall show: sets the tolerances of the
        solvers whose options are known here.
    isolate : bool, optional
        Solve in a worker process that is killed when the time limit is over.
    name : str, optional
        What to call the problem in messages.

    Returns
    -------
    SolverReport

    Raises
    ------
    InfeasibleProblemError
        When the solver calls the problem infeasible.
    SolverFailedError
        When the solver raises, or ends with any other status; the vendor's exception is chained.

    Examples
    --------
    >>> import cvxpy as cp
    >>> x = cp.Variable()
    >>> solve_program(cp.Problem(cp.Minimize(x), [x >= 2]), "HIGHS").status
    'optimal'
    """
    import cvxpy as cp

    start = time.perf_counter()

    def attempt(ours: Mapping[str, Any], left: float | None) -> tuple[str, float | None]:
        call = partial(solve_isolated, time_limit=left) if isolate else solve_here
        options = _options(solver, solver_opts, left, {**_tolerances(solver, gap), **ours})
        return _guarded(call, problem, solver, options, name)

    status, own = attempt({}, time_limit)
    if status == cp.INFEASIBLE and solver in _SECOND_OPINION:
        left = None if time_limit is None else time_limit - (time.perf_counter() - start)
        status, own = attempt(_SECOND_OPINION[solver], left)
    seconds = time.perf_counter() - start
    if status in (cp.INFEASIBLE, cp.INFEASIBLE_INACCURATE):
        raise InfeasibleProblemError(f"{solver} calls the {name} {status}")
    if status not in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
        raise SolverFailedError(f"{solver} ended on the {name} with status {status!r}")
    if status == cp.OPTIMAL_INACCURATE:
        warnings.warn(
            f"{solver} calls its answer to the {name} inaccurate",
            InaccurateSolutionWarning,
            stacklevel=2,
        )
    if not own or own > seconds:  # several solvers report nothing, or 0
        return SolverReport(solver, status, None, seconds)
    return SolverReport(solver, status, seconds - own, own)


def solve_here(
    problem: cp.Problem, solver: str, options: Mapping[str, Any]
) -> tuple[str, float | None]:
    """Solve a CVXPY problem in this process.

    Parameters
    ----------
    problem : cvxpy.Problem
        Its parameters have values; its variables get theirs.
    solver : str
        Canonical name.
    options : mapping
        For `cvxpy.Problem.solve`.

    Returns
    -------
    status : str
        CVXPY's.
    solve_seconds : float or None
        The solver's own time.
    """
    for variable in problem.variables():
        variable.save_value(None)  # else a solve that does nothing would leave the last answer
    with warnings.catch_warnings():
        # CVXPY's word for an inexact answer; the status says it too, and the caller acts on it.
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")
        problem.solve(solver=solver, **options)
    stats = problem.solver_stats
    return str(problem.status), None if stats is None else stats.solve_time


def _tolerances(solver: str, gap: float | None) -> dict[str, float]:
    """Return the options that ask a solver for a certified gap."""
    if gap is None or solver not in _ACCURACY_OPTIONS:
        return {}
    names, share = _ACCURACY_OPTIONS[solver]
    return dict.fromkeys(names, max(share * gap, _LEAST_ACCURACY))


def _options(
    solver: str,
    given: Mapping[str, Any] | None,
    time_limit: float | None,
    ours: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the options of a solve: ours, unless the user's say otherwise."""
    # A warm start makes HiGHS skip the presolve that solves these programs outright.
    options: dict[str, Any] = {"warm_start": False, **ours}
    if time_limit is not None and solver in _TIME_LIMIT_OPTIONS:
        options[_TIME_LIMIT_OPTIONS[solver]] = max(time_limit, 0.01)
    return options | dict(given or {})


def _guarded(
    call: Callable[[cp.Problem, str, Mapping[str, Any]], tuple[str, float | None]],
    problem: cp.Problem,
    solver: str,
    options: Mapping[str, Any],
    name: str,
) -> tuple[str, float | None]:
    """Call a solver, and say which one failed on what when it raises."""
    try:
        return call(problem, solver, options)
    except BaseException as error:  # solvers raise errors of any kind
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise  # an interrupt; a panic of Clarabel (Rust) is no Exception either
        reason = " ".join(str(error).split()) or type(error).__name__
        raise SolverFailedError(f"{solver} failed on the {name}: {reason}") from error
