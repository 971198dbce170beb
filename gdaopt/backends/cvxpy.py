"""The backend of CVXPY's solvers, and the one function that solves CVXPY problems.

The function reads times, statuses and errors of solvers. CVXPY is imported on the first call,
because the import loads all installed solvers.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gdaopt.backends.catalogue import entry_of
from gdaopt.backends.cvxpy_problem import LEAST_LIMIT, Ended, solve_here, solve_isolated
from gdaopt.backends.protocol import Answer, PreparedProgram, StageSeconds, Stopwatch, checked_point
from gdaopt.backends.tolerance_options import tolerance_options
from gdaopt.errors import InaccurateSolutionWarning, InfeasibleProblemError, SolverFailedError
from gdaopt.support.text import reason

if TYPE_CHECKING:
    import cvxpy as cp

__all__ = ["CvxpyBackend", "SolverReport", "solve_program"]

# The presolve of HiGHS 1.15 calls some feasible programs infeasible: those whose budget row is
# redundant up to round-off (compare issue 2511 of HiGHS). Without presolve HiGHS solves them, so
# that a program that it calls infeasible is solved once more with these options.
_SECOND_OPINION: dict[str, dict[str, Any]] = {"HIGHS": {"presolve": "off"}}

_TIME_LIMIT_OPTIONS = {
    "CLARABEL": "time_limit",
    "HIGHS": "time_limit",
    "SCS": "time_limit_secs",
    "OSQP": "time_limit",
}

# The share of a certified gap that a solver's tolerances have to be so that the answer reaches this
# gap. The gap grows linearly with the distance from the optimum, and the objective quadratically.
# An interior-point method, whose tolerance is one of the objective, hence needs about the square of
# a gap of 1e-6. ECOS would reach its limit of iterations with that, and reaches the gap with less.
# The tolerances of SCS are distances.
_SHARE_OF_GAP = {"CLARABEL": 1e-6, "ECOS": 1e-4, "SCS": 0.1}
_LEAST_ACCURACY = 1e-13  # smaller tolerances are lost in round-off


@dataclass(frozen=True)
class SolverReport:
    """How the solve of a problem ended; the answer is in the variables of the problem.

    Attributes
    ----------
    solver, status : str
        Name of the solver, and the status of CVXPY: ``"optimal"`` or ``"optimal_inaccurate"``.
    seconds : StageSeconds
        Wall time of the stages of the call; they add up to that of the whole call.
    reported_seconds : float or None
        The time that the solver reports of itself; None when it reports none.
    iterations : int or None
        Iterations of the solver, where it says how many.
    """

    solver: str
    status: str
    seconds: StageSeconds
    reported_seconds: float | None = None
    iterations: int | None = None


class CvxpyBackend:
    """Any solver of CVXPY, on the program's CVXPY problem, which CVXPY compiles once.

    Parameters
    ----------
    name : str
        Canonical name of the solver.
    options : mapping
        Options of the solver.
    isolate : bool
        Whether to solve in a worker process, which is killed when the time limit is over.
    hot : bool
        Whether the solver may start from the answer before, where CVXPY has a way to say so.
    """

    def __init__(
        self, name: str, options: Mapping[str, Any], *, isolate: bool = False, hot: bool = False
    ) -> None:
        self.name = name
        self._options = {"warm_start": hot, **options}
        self._isolate = isolate

    def minimize(
        self, program: PreparedProgram, watch: Stopwatch, time_limit: float | None
    ) -> Answer:
        """Return the solver's answer; see `gdaopt.backends.Backend`."""
        problem, variable = program.problem()
        watch.lap("write")
        report = solve_program(
            problem,
            self.name,
            solver_opts=self._options,
            time_limit=time_limit,
            isolate=self._isolate,
            name=program.name,
            watch=watch,
        )
        known = {
            constraint.label: np.asarray(constraint.dual_value, dtype=np.float64)
            for constraint in problem.constraints
            if constraint.label and _is_given(constraint)
        }
        return Answer(
            point=variable.value,
            status=report.status,
            multipliers=known or None,
            iterations=report.iterations,
            reported_seconds=report.reported_seconds,
        )


def _is_given(constraint: cp.Constraint) -> bool:
    """Say whether the multipliers of a constraint are numbers of its shape."""
    found = np.asarray(constraint.dual_value)
    return found.dtype.kind in "biuf" and found.shape == constraint.dual_variables[0].shape


def solve_program(
    problem: cp.Problem,
    solver: str,
    *,
    solver_opts: Mapping[str, Any] | None = None,
    time_limit: float | None = None,
    gap: float | None = None,
    isolate: bool = False,
    name: str = "program",
    watch: Stopwatch | None = None,
) -> SolverReport:
    """Solve a CVXPY problem and report how it went.

    Parameters
    ----------
    problem : cvxpy.Problem
        Its parameters have values.
    solver : str
        Canonical name of a CVXPY solver.
    solver_opts : mapping, optional
        Options of the solver; they take precedence over those that are set here.
    time_limit : float, optional
        Seconds; passed to solvers that have such an option.
    gap : float, optional
        The relative gap that a certificate of the answer has to reach. It sets the tolerances of
        the solvers whose options are known here. That certificate, and no warning, then says how
        accurate the answer is.
    isolate : bool, optional
        Whether to solve in a worker process, which is killed when the time limit is over. Solvers
        that print what no option silences, or cannot be loaded beside highspy, always are.
    name : str, optional
        Name of the problem in messages.
    watch : Stopwatch, optional
        Gets the laps of this call; by default a new one.

    Returns
    -------
    SolverReport

    Raises
    ------
    InfeasibleProblemError
        When the solver calls the problem infeasible.
    SolverFailedError
        When the solver raises, whose exception is chained; when it ends with any other status, or
        with a point that is no array of finite numbers of its shape.

    Examples
    --------
    >>> import cvxpy as cp
    >>> x = cp.Variable()
    >>> solve_program(cp.Problem(cp.Minimize(x), [x >= 2]), "HIGHS").status
    'optimal'
    """
    import cvxpy as cp

    start = time.perf_counter()
    clock = watch or Stopwatch()
    isolate = isolate or entry_of(solver).elsewhere

    def attempt(extra: Mapping[str, Any], left: float | None) -> Ended:
        options = _options(solver_opts, {**_tolerances(solver, gap), **extra})
        limit = _TIME_LIMIT_OPTIONS.get(solver)
        if left is None or limit is None or limit in options:  # the last: a limit of the user's
            limit = None
        else:
            options[limit] = max(left, LEAST_LIMIT)

        def call() -> Ended:
            if isolate:
                return solve_isolated(problem, solver, options, clock, limit, time_limit=left)
            return solve_here(problem, solver, options, clock, limit)

        return _guarded(call, solver, name)

    ended = attempt({}, time_limit)
    if ended.status == cp.INFEASIBLE and solver in _SECOND_OPINION:
        left = None if time_limit is None else time_limit - (time.perf_counter() - start)
        ended = attempt(_SECOND_OPINION[solver], left)
    status = ended.status
    if status in (cp.INFEASIBLE, cp.INFEASIBLE_INACCURATE):
        raise InfeasibleProblemError(f"{solver} calls the {name} {status}")
    if status not in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
        raise SolverFailedError(f"{solver} ended on the {name} with status {status!r}")
    if status == cp.OPTIMAL_INACCURATE and gap is None:
        warnings.warn(
            f"{solver} calls its answer to the {name} inaccurate",
            InaccurateSolutionWarning,
            stacklevel=2,
        )
    for variable in problem.variables():
        checked_point(variable.value, variable.shape, f"{solver} called the {name} {status}")
    clock.lap("unpack")
    return SolverReport(solver, status, clock.seconds, ended.reported_seconds, ended.iterations)


def _tolerances(solver: str, gap: float | None) -> dict[str, Any]:
    """Return the options under which a solver reaches a certified gap."""
    if gap is None or solver not in _SHARE_OF_GAP:
        return {}
    return tolerance_options(solver, max(_SHARE_OF_GAP[solver] * gap, _LEAST_ACCURACY))


def _options(given: Mapping[str, Any] | None, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a solve: those that the user gave, and defaults for all others."""
    # A warm start would make HiGHS skip its presolve, which alone solves these programs.
    options: dict[str, Any] = {"warm_start": False, **defaults}
    return options | dict(given or {})


def _guarded(call: Callable[[], Ended], solver: str, name: str) -> Ended:
    """Call a solver; when it raises, raise an error that names the solver and the problem."""
    try:
        return call()
    except BaseException as error:  # solvers raise errors of any kind
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise  # an interrupt; a panic of Clarabel, which is written in Rust, is caught
        raise SolverFailedError(f"{solver} failed on the {name}: {reason(error)}") from error
