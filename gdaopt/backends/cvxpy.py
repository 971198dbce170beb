"""The backend of CVXPY's solvers, and the one function that solves CVXPY problems.

The function reads times, statuses and errors of solvers, in this process or in a worker. The stages
of a solve are CVXPY's own: `get_problem_data`, `solve_via_data` and `unpack_results`. They are the
same for all solvers, whether or not a solver reports a time of its own. CVXPY is imported on the
first call, because the import loads all installed solvers.
"""

from __future__ import annotations

import operator
import pickle
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from scipy.sparse import csr_array

from gdaopt.backends.arrays import LinearArrays
from gdaopt.backends.catalogue import entry_of, tolerance_options
from gdaopt.backends.isolated import Held, call_in_worker
from gdaopt.backends.options import COMPILATION, placed, side_by_side
from gdaopt.backends.protocol import (
    Answer,
    PreparedProgram,
    StageSeconds,
    Stopwatch,
    check_status,
    checked_point,
)
from gdaopt.errors import InaccurateSolutionWarning, SolverFailedError
from gdaopt.linalg.entries import IndexArray
from gdaopt.support.cvxpy_loading import cp, cvxpy_internals
from gdaopt.support.text import reason
from gdaopt.support.validation import FloatArray
from gdaopt.support.warning_filters import ignoring

_LEAST_ACCURACY = 1e-13  # smaller tolerances are lost in round-off

_LEAST_LIMIT = 0.01  # seconds: some solvers take 0 for no limit

_pickled: WeakKeyDictionary[cp.Problem, bytes] = WeakKeyDictionary()
_held: Held[cp.Problem] = Held()  # filled in the worker only


@dataclass(frozen=True)
class SolverReport:
    """How the solve of a problem ended: its variables have the answer."""

    solver: str
    status: str
    seconds: StageSeconds
    reported_seconds: float | None = None
    iterations: int | None = None


class CvxpyBackend:
    """Any solver of CVXPY, on the program's CVXPY problem, which CVXPY compiles once."""

    def __init__(
        self, name: str, options: Mapping[str, Any], *, isolate: bool = False, hot: bool = False
    ) -> None:
        self.name = name
        self._options = {"warm_start": hot, **options}
        self._isolate = isolate

    def minimize(
        self, program: PreparedProgram, watch: Stopwatch, time_limit: float | None
    ) -> Answer:
        """Return the solver's answer; see `gdaopt.backends.protocol.Backend`."""
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
            label: np.asarray(constraint.dual_value, dtype=np.float64)
            for constraint in problem.constraints
            if (label := cvxpy_internals.get_label(constraint)) and _is_given(constraint)
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
    """Solve a CVXPY problem, whose parameters have values, and report how it went.

    The user's options take precedence. A certificate of the answer has to reach the relative `gap`:
    it sets the tolerances of known solvers, and says, in the place of a warning, how accurate the
    answer is.
    """
    start = time.perf_counter()
    clock = watch or Stopwatch()
    given = side_by_side(solver, solver_opts or {})
    # A warm start would make HiGHS skip its presolve, which alone solves these programs.
    defaults: dict[str, Any] = {"warm_start": False}
    entry = entry_of(solver)
    if gap is not None and entry.share_of_gap:
        defaults |= tolerance_options(solver, max(entry.share_of_gap * gap, _LEAST_ACCURACY))
    report = _attempt(problem, solver, defaults | given, time_limit, isolate, name, clock)
    if report.status == cp.INFEASIBLE and entry.second_opinion:
        other = {**defaults, **entry.second_opinion, **given}
        left = None if time_limit is None else time_limit - (time.perf_counter() - start)
        report = _attempt(problem, solver, other, left, isolate, name, clock)
    status = report.status
    check_status(status, solver, name)
    if status == cp.OPTIMAL_INACCURATE and gap is None:
        warnings.warn(
            f"{solver} calls its answer to the {name} inaccurate",
            InaccurateSolutionWarning,
            stacklevel=2,
        )
    for variable in problem.variables():
        checked_point(variable.value, variable.shape, f"{solver} called the {name} {status}")
    clock.lap("unpack")
    return replace(report, seconds=clock.seconds)


def _attempt(
    problem: cp.Problem,
    solver: str,
    options: dict[str, Any],
    time_limit: float | None,
    isolate: bool,
    name: str,
    watch: Stopwatch,
) -> SolverReport:
    """Ask a solver once; raise an error that names the solver and the problem when it raises."""
    entry, limit = entry_of(solver), None
    if time_limit is not None and entry.time_limit and entry.time_limit not in options:
        limit = entry.time_limit  # else it has none, or the user's counts
        options[limit] = max(time_limit, _LEAST_LIMIT)
    try:
        if isolate or entry.loud or entry.alone:
            return _solve_isolated(problem, solver, options, watch, limit, time_limit)
        return _solve_here(problem, solver, options, watch, limit)
    except BaseException as error:  # solvers raise errors of any kind
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise  # an interrupt; a panic of Clarabel, which is written in Rust, is caught
        raise SolverFailedError(f"{solver} failed on the {name}: {reason(error)}") from error


def _solve_here(
    problem: cp.Problem,
    solver: str,
    options: Mapping[str, Any],
    watch: Stopwatch,
    limit: str | None = None,
) -> SolverReport:
    """Solve in this process; the option `limit` gets the seconds that canonicalising leaves."""
    began = time.perf_counter()
    for variable in (*problem.variables(), *_dual_variables(problem)):
        variable.save_value(None)  # otherwise a solve that does nothing would keep the last answer
    own = dict(options)
    warm_start = own.pop("warm_start", True)
    of_cvxpy = {name: own.pop(name) for name in COMPILATION if name in own}
    entry = entry_of(solver)
    if entry.before_solve is not None:
        entry.before_solve(own)
    own = placed(solver, own)
    watch.lap("write")
    data, chain, inverse = problem.get_problem_data(solver, **of_cvxpy, solver_opts=own)
    watch.lap("canonicalize")
    if limit is not None:
        where = own if limit in own else own[entry.inside]
        where[limit] = max(where[limit] - (time.perf_counter() - began), _LEAST_LIMIT)
    verbose = of_cvxpy.get("verbose", False)
    solution = chain.solve_via_data(problem, data, warm_start, verbose, own)
    watch.lap("solve")
    # CVXPY warns of an inexact answer. The status says so too, and the caller reads that.
    with ignoring("Solution may be inaccurate"):
        problem.unpack_results(solution, chain, inverse)
    watch.lap("unpack")
    return _report(problem, solver, watch)


def _report(problem: cp.Problem, solver: str, watch: Stopwatch) -> SolverReport:
    """Return how the last solve of a problem ended."""
    stats = problem.solver_stats
    # Several solvers report no time or no iterations, some of them as 0, or as text.
    seconds = None if stats is None else stats.solve_time
    iterations = None if stats is None else stats.num_iters
    return SolverReport(
        solver,
        str(problem.status),
        watch.seconds,
        float(seconds) if seconds else None,
        int(iterations) if isinstance(iterations, int | float) else None,
    )


def _solve_isolated(
    problem: cp.Problem,
    solver: str,
    options: Mapping[str, Any],
    watch: Stopwatch,
    limit: str | None,
    time_limit: float | None,
) -> SolverReport:
    """Solve in the worker, which holds the compiled problem; the values are set here."""
    if problem not in _pickled:
        # Pickle a new problem of the same parts: the old one may hold statistics of a solver, which
        # cannot be pickled.
        copy = type(problem)(problem.objective, problem.constraints)
        _pickled[problem] = pickle.dumps((copy, cvxpy_internals.ID_COUNTER.count))
    values = [parameter.value for parameter in problem.parameters()]
    report, found, duals = call_in_worker(
        _solve_in_worker,
        _pickled[problem],
        values,
        solver,
        dict(options),
        limit,
        time_limit=time_limit,
        alone=entry_of(solver).alone,
    )
    watch.lap_elsewhere(report.seconds)
    for variable, value in zip(problem.variables(), found, strict=True):
        variable.save_value(value)
    for dual, value in zip(_dual_variables(problem), duals, strict=True):
        dual.save_value(value)
    watch.lap("unpack")
    return report


def _solve_in_worker(
    pickled: bytes, values: list[Any], solver: str, options: dict[str, Any], limit: str | None
) -> tuple[SolverReport, list[Any], list[Any]]:
    """Solve in the worker; return how it ended, and the values of all variables and duals."""
    watch = Stopwatch()
    problem = _held.get(pickled, lambda: _unpickled(pickled))
    for parameter, value in zip(problem.parameters(), values, strict=True):
        parameter.value = value
    report = _solve_here(problem, solver, options, watch, limit)
    found = [variable.value for variable in problem.variables()]
    duals = [dual.value for dual in _dual_variables(problem)]
    watch.lap("unpack")
    return replace(report, seconds=watch.seconds), found, duals


def _unpickled(pickled: bytes) -> cp.Problem:
    """Return a problem from the process that pickled it."""
    problem, count = pickle.loads(pickled)
    # A variable that compilation adds must not get the id of a variable of the problem.
    cvxpy_internals.ID_COUNTER.count = max(cvxpy_internals.ID_COUNTER.count, count)
    unpickled: cp.Problem = problem
    return unpickled


def _dual_variables(problem: cp.Problem) -> list[Any]:
    return [dual for constraint in problem.constraints for dual in constraint.dual_variables]


# --- A linear program as a CVXPY problem ----------------------------------------------------------

# In the units of points, whose entries below upper bounds are at most 1.
_NONE = 1e6  # what has no bound is bounded there, since CVXPY takes no infinity
_FAR = 1e3  # upper bounds beyond are put there: interior-point solvers fail on far ones


@dataclass(frozen=True, eq=False)
class _Side:
    """Constraints of one name, on variables or on rows: ``≥`` or ``≤`` a bound, or ``=``."""

    name: str
    of_rows: bool
    index: IndexArray  # among the variables, or among the rows
    is_lower: bool
    is_equality: bool

    def bounds(self, arrays: LinearArrays) -> FloatArray:
        bounds = arrays.lower_bounds if self.is_lower else arrays.upper_bounds
        none = 0.0 if self.is_equality else _NONE  # such as of a row without coefficients
        first = arrays.pattern.size if self.of_rows else 0
        found = np.nan_to_num(bounds[first + self.index], posinf=none, neginf=-none)
        is_ours = bool(self.name) and not (self.of_rows or self.is_lower)
        return np.minimum(found, _FAR) if is_ours else found

    def constraint(self, values: cp.Expression, bounds: cp.Parameter) -> cp.Constraint:
        relation: Callable[..., cp.Constraint] = operator.ge if self.is_lower else operator.le
        relation = operator.eq if self.is_equality else relation
        found = relation(values, bounds)
        return cvxpy_internals.set_label(found, self.name) if self.name else found


class CompiledProblem:
    """The CVXPY problem of all programs that have their coefficients and bounds in the same places.

    Its parameters are ``cost``, ``coefficients``, and ``bounds: NAME`` for the constraints of each
    name, which is also their label.
    """

    def __init__(
        self, like: LinearArrays, cones: Callable[[cp.Variable], list[cp.Constraint]]
    ) -> None:
        pattern, count = like.pattern, len(like.coefficients)
        self.x = cp.Variable(pattern.size, name="x")
        self._cost = cp.Parameter(pattern.size, name="cost")
        ones, every = np.ones(count), np.arange(count)
        if count:
            factors = csr_array((ones, (every, pattern.columns)), shape=(count, pattern.size))
            self._coefficients = cp.Parameter(count, name="coefficients")
            terms = cp.multiply(self._coefficients, cp.Constant(factors, name="factors") @ self.x)
        sums = csr_array((ones, (pattern.row_indices, every)), shape=(pattern.n_rows, count))
        constraints = cones(self.x)
        self._bounds: list[tuple[_Side, cp.Parameter]] = []
        for side in _sides(like):
            values: cp.Expression
            if side.of_rows:
                values = cp.Constant(csr_array(sums[side.index]), name="sums") @ terms
            else:
                values = self.x if len(side.index) == pattern.size else self.x[side.index]
            bounds = cp.Parameter(len(side.index), name=f"bounds: {side.name}")
            constraints.append(side.constraint(values, bounds))
            self._bounds.append((side, bounds))
        self.problem = cp.Problem(cp.Minimize(self._cost @ self.x), constraints)
        self._assigned: FloatArray | None = None  # the bounds that the parameters have

    def assign(self, arrays: LinearArrays) -> None:
        """Give the parameters the numbers of a program."""
        self._cost.value = arrays.cost
        if arrays.lower_bounds is self._assigned:  # of the same polytope: most steps keep it
            return
        self._assigned = arrays.lower_bounds
        if len(arrays.coefficients):
            self._coefficients.value = arrays.coefficients
        for side, bounds in self._bounds:
            bounds.value = side.bounds(arrays)


def _sides(arrays: LinearArrays) -> Iterator[_Side]:
    """Yield the constraints by name; all that have bounds where the arrays name none."""
    size, n_rows = arrays.pattern.size, arrays.pattern.n_rows
    for part in arrays.parts:
        of_rows = part.kind == "rows"
        index = np.arange(n_rows if of_rows else size)[part.where]
        is_lower = part.kind == "lower" or part.is_lower
        if len(index):
            yield _Side(part.name, of_rows, index, is_lower, part.is_equality)
    if not arrays.parts:
        for name, chosen in arrays.sides.items():
            # Without coefficients the rows are no constraints.
            rows = chosen[size:] if len(arrays.coefficients) else np.zeros(0, dtype=bool)
            for of_rows, own in ((False, chosen[:size]), (True, rows)):
                if own.any():
                    index, label = np.flatnonzero(own), name if of_rows else ""
                    yield _Side(label, of_rows, index, name == "lower", name == "fixed")
