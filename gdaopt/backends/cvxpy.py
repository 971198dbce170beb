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
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from gdaopt.backends.arrays import LinearArrays
from gdaopt.backends.catalogue import entry_of, tolerance_options
from gdaopt.backends.highspy import load_highspy, use_threads
from gdaopt.backends.isolated import Held, call_in_worker
from gdaopt.backends.options import COMPILATION, place_options, side_by_side
from gdaopt.backends.protocol import (
    Answer,
    LinearProgram,
    Stopwatch,
    check_status,
    checked_point,
)
from gdaopt.errors import InaccurateSolutionWarning, SolverFailedError
from gdaopt.support.cvxpy_loading import cp, cvxpy_internals
from gdaopt.support.text import reason
from gdaopt.support.validation import FloatArray
from gdaopt.support.warning_filters import ignoring

_LEAST_ACCURACY = 1e-13  # smaller tolerances are lost in round-off

_LEAST_LIMIT = 0.01  # seconds: some solvers take 0 for no limit

_pickled: WeakKeyDictionary[cp.Problem, bytes] = WeakKeyDictionary()
_held: Held[cp.Problem] = Held()  # filled in the worker only


class CvxpyBackend:
    """Any solver of CVXPY: a CVXPY problem for each pattern of arrays, which is compiled once."""

    def __init__(
        self, name: str, options: Mapping[str, Any], *, isolate: bool = False, hot: bool = False
    ) -> None:
        self.name = name
        self._options = {"warm_start": hot, **options}
        self._isolate = isolate
        self._compiled: dict[object, CompiledProblem] = {}

    def compiled(self, arrays: LinearArrays) -> CompiledProblem:
        """Return the CVXPY problem of a pattern, with the numbers of arrays in its parameters."""
        key = arrays.pattern.key, arrays.cones
        if key not in self._compiled:
            self._compiled[key] = CompiledProblem(arrays)
        self._compiled[key].assign(arrays)
        return self._compiled[key]

    def minimize(
        self, program: LinearProgram, cost: FloatArray, watch: Stopwatch, time_limit: float | None
    ) -> Answer:
        """Return the solver's answer; see `gdaopt.backends.protocol.Backend`."""
        compiled = self.compiled(program.arrays(cost))
        watch.lap("write")
        answer = solve_program(
            compiled.problem,
            self.name,
            solver_opts=self._options,
            time_limit=time_limit,
            isolate=self._isolate,
            name=program.name,
            watch=watch,
        )
        return replace(answer, point=np.asarray(compiled.x.value), row_duals=compiled.row_duals())


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
) -> Answer:
    """Solve a CVXPY problem, whose parameters have values: its variables then have the answer.

    The user's options take precedence. A certificate of the answer has to reach the relative `gap`:
    it sets the tolerances of known solvers, and says, in the place of a warning, how accurate the
    answer is.
    """
    start = time.perf_counter()
    clock, entry = watch or Stopwatch(), entry_of(solver)
    # A warm start would make HiGHS skip its presolve, which alone solves these programs.
    defaults: dict[str, Any] = {"warm_start": False}
    if gap is not None and entry.share_of_gap:
        defaults |= tolerance_options(solver, max(entry.share_of_gap * gap, _LEAST_ACCURACY))
    user_options, left = side_by_side(solver, solver_opts or {}), time_limit
    attempts: list[Mapping[str, Any]] = [{}]
    if entry.second_opinion:
        attempts.append(entry.second_opinion)
    for attempt in attempts:
        options, limit_option = {**defaults, **attempt, **user_options}, None
        if left is not None and entry.time_limit and entry.time_limit not in options:
            limit_option = entry.time_limit  # else it has none, or the user's counts
            options[limit_option] = max(left, _LEAST_LIMIT)
        try:
            if isolate or entry.alone:
                answer = _solve_isolated(problem, solver, options, clock, limit_option, left)
            else:
                answer = _solve_here(problem, solver, options, clock, limit_option)
        except BaseException as error:  # solvers raise errors of any kind
            if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
                raise  # an interrupt; a panic of Clarabel, which is written in Rust, is caught
            raise SolverFailedError(f"{solver} failed on the {name}: {reason(error)}") from error
        if answer.status != cp.INFEASIBLE:
            break
        left = None if time_limit is None else time_limit - (time.perf_counter() - start)
    status = answer.status
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
    return replace(answer, seconds=clock.seconds)


def _solve_here(
    problem: cp.Problem,
    solver: str,
    options: Mapping[str, Any],
    watch: Stopwatch,
    limit_option: str | None = None,
) -> Answer:
    """Solve in this process, and return how it ended.

    The option `limit_option` gets the seconds that canonicalising leaves.
    """
    began = time.perf_counter()
    # Otherwise a solve that does nothing would keep the last answer.
    for variable in problem.variables():
        variable.save_value(None)
    for constraint in problem.constraints:
        for dual in constraint.dual_variables:
            dual.save_value(None)
    inner = dict(options)
    warm_start = inner.pop("warm_start", True)
    of_cvxpy = {name: inner.pop(name) for name in COMPILATION if name in inner}
    entry = entry_of(solver)
    if entry.package == "highspy":
        load_highspy()  # before CVXPY makes models of it
        use_threads(inner.get(entry.threads, 0))
    inner = place_options(solver, inner)
    watch.lap("write")
    data, chain, inverse = problem.get_problem_data(solver, **of_cvxpy, solver_opts=inner)
    watch.lap("canonicalize")
    if limit_option is not None:
        place = inner if limit_option in inner else inner[entry.inside]
        place[limit_option] = max(place[limit_option] - (time.perf_counter() - began), _LEAST_LIMIT)
    verbose = of_cvxpy.get("verbose", False)
    solution = chain.solve_via_data(problem, data, warm_start, verbose, inner)
    watch.lap("solve")
    # CVXPY warns of an inexact answer. The status says so too, and the caller reads that.
    with ignoring("Solution may be inaccurate"):
        problem.unpack_results(solution, chain, inverse)
    stats = problem.solver_stats
    # Several solvers report no time or no iterations, some of them as 0, or as text.
    seconds = None if stats is None else stats.solve_time
    iterations = None if stats is None else stats.num_iters
    watch.lap("unpack")
    return Answer(
        solver=solver,
        point=np.zeros(0),  # the variables hold it
        status=str(problem.status),
        reported_seconds=float(seconds) if seconds else None,
        iterations=int(iterations) if isinstance(iterations, int | float) else None,
    )


def _solve_isolated(
    problem: cp.Problem,
    solver: str,
    options: Mapping[str, Any],
    watch: Stopwatch,
    limit_option: str | None,
    time_limit: float | None,
) -> Answer:
    """Solve in the worker, which holds the compiled problem; the values are set here."""
    if problem not in _pickled:
        # Pickle a new problem of the same parts: the old one may hold statistics of a solver, which
        # cannot be pickled.
        copy = type(problem)(problem.objective, problem.constraints)
        _pickled[problem] = pickle.dumps((copy, cvxpy_internals.ID_COUNTER.count))
    values = [parameter.value for parameter in problem.parameters()]
    answer, variables, duals = call_in_worker(
        _solve_in_worker,
        _pickled[problem],
        values,
        solver,
        dict(options),
        limit_option,
        time_limit=time_limit,
        alone=entry_of(solver).alone,
    )
    watch.lap_elsewhere(answer.seconds)
    for variable, value in zip(problem.variables(), variables, strict=True):
        variable.save_value(value)
    for dual, value in zip(_dual_variables(problem), duals, strict=True):
        dual.save_value(value)
    watch.lap("unpack")
    return answer


def _solve_in_worker(
    pickled: bytes,
    values: list[Any],
    solver: str,
    options: dict[str, Any],
    limit_option: str | None,
) -> tuple[Answer, list[Any], list[Any]]:
    """Solve in the worker; return how it ended, and the values of all variables and duals."""
    watch = Stopwatch()
    problem = _held.get(pickled, lambda: _unpickle(pickled))
    for parameter, value in zip(problem.parameters(), values, strict=True):
        parameter.value = value
    answer = _solve_here(problem, solver, options, watch, limit_option)
    variables = [variable.value for variable in problem.variables()]
    duals = [dual.value for dual in _dual_variables(problem)]
    watch.lap("unpack")
    return replace(answer, seconds=watch.seconds), variables, duals


def _unpickle(pickled: bytes) -> cp.Problem:
    """Return a problem from the process that pickled it."""
    problem, count = pickle.loads(pickled)
    # A variable that compilation adds must not get the id of a variable of the problem.
    cvxpy_internals.ID_COUNTER.count = max(cvxpy_internals.ID_COUNTER.count, count)
    unpickled: cp.Problem = problem
    return unpickled


def _dual_variables(problem: cp.Problem) -> list[Any]:
    return [dual for constraint in problem.constraints for dual in constraint.dual_variables]


# --- A linear program as a CVXPY problem ----------------------------------------------------------


class CompiledProblem:
    """The CVXPY problem of all programs of one pattern, with their numbers as its parameters."""

    def __init__(self, like: LinearArrays) -> None:
        pattern, count = like.pattern, len(like.coefficients)
        size = pattern.size
        self.x = cp.Variable(size, name="x")
        self._cost = cp.Parameter(size, name="cost")
        self._coefficients = cp.Parameter(count, name="coefficients") if count else None
        constraints = [] if like.cones is None else like.cones(self.x)
        if count:  # the value of a row is a sum of terms, one for each coefficient
            ones, every = np.ones(count), np.arange(count)
            factors = csr_array((ones, (every, pattern.columns)), shape=(count, size))
            products = cp.Constant(factors, name="factors") @ self.x
            terms = cp.multiply(self._coefficients, products)
            sums = csr_array((ones, (pattern.row_indices, every)), shape=(pattern.n_rows, count))
        self._sides: list[_Side] = []
        for name in ("lower", "upper", "fixed"):
            mask = getattr(pattern, f"is_{name}" if name == "fixed" else f"has_{name}")
            # Without coefficients the rows are no constraints.
            of_rows = np.flatnonzero(mask[size:]) if count else np.zeros(0, np.intp)
            for what, index in (("variables", np.flatnonzero(mask[:size])), ("rows", of_rows)):
                if not len(index):
                    continue
                bounds = cp.Parameter(len(index), name=f"{name} of {what}")
                values: cp.Expression = self.x
                if what == "rows":
                    values = cp.Constant(csr_array(sums[index]), name="sums") @ terms
                elif len(index) < size:
                    values = self.x[index]
                constraint = _RELATIONS[name](values, bounds)
                place = index if what == "variables" else size + index
                self._sides.append(_Side(name, place, bounds, constraint))
                constraints.append(constraint)
        self._shape = pattern.n_rows, size
        self.problem = cp.Problem(cp.Minimize(self._cost @ self.x), constraints)
        self._assigned: tuple[FloatArray | None, ...] = (None, None, None)

    def assign(self, arrays: LinearArrays) -> None:
        """Give the parameters the numbers of a program."""
        self._cost.value = arrays.cost
        numbers = arrays.lower_bounds, arrays.upper_bounds, arrays.coefficients
        if all(map(operator.is_, numbers, self._assigned)):  # most steps keep the polytope
            return
        self._assigned = numbers
        if self._coefficients is not None:
            self._coefficients.value = arrays.coefficients
        for side in self._sides:
            bounds = arrays.upper_bounds if side.name == "upper" else arrays.lower_bounds
            side.bounds.value = bounds[side.places]

    def row_duals(self) -> FloatArray | None:
        """Return the duals of the rows; None if the solver gives no numbers of their shape."""
        n_rows, size = self._shape
        duals = np.zeros(n_rows)
        for side in self._sides:
            if side.places[0] < size:
                continue
            values = np.asarray(side.constraint.dual_value)
            if values.dtype.kind not in "biuf" or values.shape != side.places.shape:
                return None
            duals[side.places - size] += values if side.name == "lower" else -values
        return duals


class _Side(NamedTuple):
    """Constraints of one kind, on variables or on rows."""

    name: str  # "lower", "upper" or "fixed"
    places: npt.NDArray[np.intp]  # among all bounds
    bounds: cp.Parameter
    constraint: cp.Constraint


_RELATIONS: dict[str, Callable[..., cp.Constraint]] = {
    "lower": operator.ge,
    "upper": operator.le,
    "fixed": operator.eq,
}
