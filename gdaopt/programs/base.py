"""The LP subproblem of a Frank–Wolfe step: a polytope that knows itself, and a program over it.

A *polytope* holds the data, writes them as arrays, solves the program in closed form and makes
points feasible. A `Program` hands the arrays, or a CVXPY problem made of them, to any backend
("Remark: inexact solvers and scaled costs").
When a solver is named, ``"analytic"`` never takes its place.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np

from gdaopt.backends import Answer, LinearArrays, StageSeconds, Stopwatch
from gdaopt.backends.cvxpy import CompiledProblem
from gdaopt.backends.protocol import ANALYTIC, Backend, checked_point
from gdaopt.backends.registry import check_solver_options, find_backend, make_backend
from gdaopt.errors import InfeasibleProblemError, InvalidInputError, SolverFailedError
from gdaopt.support.cvxpy_loading import cp
from gdaopt.support.deadline import check_time
from gdaopt.support.text import shortened
from gdaopt.support.validation import FloatArray, flag, is_finite, options_mapping, store_checked

_FARTHEST = 0.1  # of the unit: a point farther outside is a wrong answer, not an inexact one
_LARGEST_GAIN = 1e3  # in the units of solvers: HiGHS' absolute tolerance of 1e-7 is 1e-10 of it


@dataclass(frozen=True, kw_only=True)
class ProgramOptions:
    """Who solves a program, and how; `cone` is what solvers need where it is not linear."""

    solver: str = "HIGHS"
    solver_opts: Mapping[str, Any] | None = None
    fallback: str | Sequence[str] = ()
    isolate: bool = False
    cone: str | None = None

    def __post_init__(self) -> None:
        options = options_mapping("solver_opts", self.solver_opts)
        store(self, solver=find_backend(self.solver, self.cone), solver_opts=options)
        fallback = (self.fallback,) if isinstance(self.fallback, str) else self.fallback
        if not isinstance(fallback, Sequence):
            raise InvalidInputError(
                f"fallback must be names of solvers, got {shortened(self.fallback)}; such as "
                "['CLARABEL', 'analytic']"
            )
        store(self, fallback=tuple(find_backend(name, self.cone) for name in fallback))
        store_checked(self, flag, "isolate")
        check_solver_options(self.solver, options)

    def backends(self) -> tuple[Backend, ...]:
        """Return new backends: the backend of the solver, then the fall-backs."""
        return (
            make_backend(self.solver, self.solver_opts, isolate=self.isolate),
            *(make_backend(name, isolate=self.isolate) for name in self.fallback),
        )


def store(owner: object, **values: Any) -> None:
    """Set fields of a frozen dataclass, in its ``__post_init__``."""
    for name, value in values.items():
        object.__setattr__(owner, name, value)


class Polytope(Protocol):
    """A polytope of a linear program, which it writes as arrays and solves in closed form."""

    only_gains_matter: ClassVar[bool] = False
    """Whether each entry has a lower bound of its own that it leaves for a negative cost only. How
    large a positive cost is does then not matter, and it is cut off: left large, it would make the
    negative ones look like 0 to a solver."""

    is_scaled: ClassVar[bool] = True
    """Whether solvers see the program in units; else as it is."""

    current: FloatArray
    """A point known to be inside: the iterate."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What messages call the program over it."""

    @property
    def is_linear(self) -> bool:
        """Whether the arrays are all of it; else there are `cones`."""
        return True

    @property
    @abstractmethod
    def unit(self) -> float | FloatArray:
        """The size of its points or of each entry, ≥ 0: solvers see them divided by it."""

    @abstractmethod
    def arrays(self, cost: FloatArray, /) -> LinearArrays:
        """Return the program as arrays; all polytopes of a kind and size share the pattern."""

    @abstractmethod
    def row_scales(self) -> FloatArray:
        """Return the factors of the rows, shape (m,), by which solvers see numbers of about 1."""

    @abstractmethod
    def minimize(self, cost: FloatArray, /) -> FloatArray:
        """Return a point of smallest ``cost · x``, in closed form."""

    def row_multipliers(self, _cost: FloatArray, /) -> Mapping[str, FloatArray]:
        """Return the multipliers of rows in closed form; 0 for a row that is not named."""
        return {}

    @abstractmethod
    def made_feasible(self, point: FloatArray, /) -> FloatArray:
        """Return a point inside, moved from `point` in proportion to how far it is outside."""

    def cones(self, _x: cp.Variable, /) -> list[cp.Constraint]:
        """Return what the arrays leave out, in the units of solvers; it is a constant."""
        return []


@dataclass(frozen=True, eq=False)
class ProgramSolution:
    """The answer to a program.

    Attributes
    ----------
    point : ndarray
        Inside the polytope.
    value : float
        ``cost · point``.
    repair_distance : float
        Largest entry of the change that brought the solver's point back into the polytope.
    solver, status : str
        Who solved it and how it ended.
    iterations, reported_seconds : int and float, or None
        Of the solver, where it reports them of itself.
    restarts : int
        How often the solver was asked again from the start, because its answer was wrong.
    """

    point: FloatArray
    value: float
    repair_distance: float
    solver: str
    status: str
    reported_seconds: float | None
    iterations: int | None
    restarts: int
    _multipliers: Callable[[], dict[str, FloatArray] | None]
    _watch: Stopwatch

    def __post_init__(self) -> None:
        # The last lap of the call: to make this object takes some of its time, too.
        self._watch.lap("unpack")

    @cached_property
    def seconds(self) -> StageSeconds:
        """Wall time of the stages of the call, failed attempts included."""
        return self._watch.seconds

    @cached_property
    def duals(self) -> dict[str, FloatArray] | None:
        """The multipliers of the constraints by name, in the units of the cost and the polytope.

        Each is λ ≥ 0: the least value falls by about λ when the constraint is loosened by 1; for an
        equality ``a·x = b``, of either sign, when b rises by 1. The names are ``"budget"``,
        ``"rows"`` (``M v ≥ ρ v``, row by row), ``"floors"``, and the labels of linear constraints
        of one's own, as they were written. None when the solver gives none.
        """
        return self._multipliers()


class Program:
    """A linear program, compiled once and solved for many costs and polytopes of a kind and size.

    Parameters
    ----------
    solver : str, optional
        Any solver that CVXPY knows, in any case; ``"highspy"`` for HiGHS without CVXPY, started
        hot; or ``"analytic"`` for the exact solution in closed form.

    Examples
    --------
    >>> from gdaopt.programs import DiagonalPolytope
    >>> program = Program("HIGHS")
    >>> polytope = DiagonalPolytope(np.array([1.0, 1.0]), trace_bound=5.0)
    >>> program.solve(np.array([-1.0, -2.0]), polytope).point
    array([1., 4.])
    """

    def __init__(self, solver: str | ProgramOptions = "HIGHS") -> None:
        self.options = (
            solver if isinstance(solver, ProgramOptions) else ProgramOptions(solver=solver)
        )
        self._last: tuple[Polytope, LinearArrays] | None = None
        self._compiled: CompiledProblem | None = None

    @cached_property
    def _backends(self) -> tuple[Backend, ...]:
        return self.options.backends()

    def use(self, options: ProgramOptions) -> None:
        """Let the solver of other options solve it from now on; what was compiled stays."""
        if options is not self.options:
            self.options = options
            self.__dict__.pop("_backends", None)

    def _in_units(self, cost: FloatArray, polytope: Polytope) -> LinearArrays:
        """Return the arrays of a polytope in its units, with costs that are in them."""
        if self._last is not None and self._last[0] is polytope:  # most steps keep the polytope
            return self._last[1].with_cost(cost)
        arrays = polytope.arrays(cost)
        if polytope.is_scaled:
            arrays = arrays.in_units(polytope.unit, polytope.row_scales(), cost)
        self._last = polytope, arrays
        return arrays

    def _problem(self, arrays: LinearArrays, polytope: Polytope) -> tuple[cp.Problem, cp.Variable]:
        """Return the CVXPY problem with the numbers of arrays in its parameters."""
        if self._compiled is None:
            self._compiled = CompiledProblem(arrays, polytope.cones)
        self._compiled.assign(arrays)
        return self._compiled.problem, self._compiled.x

    def prepared(self, cost: FloatArray, polytope: Polytope) -> Prepared:
        """Return the program with its numbers, as backends take it."""
        return Prepared(self, cost, polytope)

    def solve(
        self, cost: FloatArray, polytope: Polytope, time_limit: float | None = None
    ) -> ProgramSolution:
        """Minimise ``cost · x`` over a polytope.

        Parameters
        ----------
        cost : ndarray of shape (size,)
            Costs of any magnitude; where all that can move are 0, the answer is the current point.
        polytope : DiagonalPolytope, ColumnPolytope or JointPolytope
            Of this program's kind and size.
        time_limit : float, optional
            Seconds left, for solvers that have such an option.

        Returns
        -------
        ProgramSolution

        Raises
        ------
        InvalidInputError
            When the cost is not finite.
        InfeasibleProblemError, SolverFailedError
            When all solvers failed, or returned a point that is NaN or far outside of the polytope:
            the first one's error.
        """
        watch = Stopwatch()
        if not is_finite(cost):
            bad = cost[~np.isfinite(cost)][0]
            raise InvalidInputError(f"the cost of the {polytope.name} holds {bad}")
        start = time.perf_counter()
        prepared = self.prepared(cost, polytope)
        if not (cost.any() if self.options.solver == ANALYTIC else prepared.moves):
            answer = Answer(point=polytope.current, is_exact=True)
            watch.lap("solve")
            return self._solution(ANALYTIC, answer, cost, polytope, watch)
        failures: list[InfeasibleProblemError | SolverFailedError] = []
        for backend in self._backends:
            check_time()
            left = None if time_limit is None else time_limit - (time.perf_counter() - start)
            try:
                answer = backend.minimize(prepared, watch, left)
                solution = self._solution(backend.name, answer, cost, polytope, watch)
            except (InfeasibleProblemError, SolverFailedError) as error:
                failures.append(error)
                continue
            if failures:
                reasons = "; ".join(str(failure) for failure in failures)
                return replace(solution, status=f"{solution.status}, after: {reasons}")
            return solution
        raise self._advised(failures[0]) from failures[0].__cause__

    def _advised(
        self, failure: InfeasibleProblemError | SolverFailedError
    ) -> InfeasibleProblemError | SolverFailedError:
        given = self.options.solver_opts
        other = "CLARABEL" if self.options.cone else ANALYTIC
        return type(failure)(
            f"{failure}; let another solver take over, such as by fallback={other!r}, or try other "
            f"solver_opts{f' than {dict(given)}' if given else ''}"
        )

    def _solution(
        self,
        solver: str,
        answer: Answer,
        cost: FloatArray,
        polytope: Polytope,
        watch: Stopwatch,
    ) -> ProgramSolution:
        """Bring an answer back into the polytope; refuse one that is far outside."""
        whose = f"{solver} called the {polytope.name} {answer.status}"
        point, moved = checked_point(answer.point, cost.shape, whose), 0.0
        if not answer.is_exact:
            unit = polytope.unit
            found = unit * point
            point = polytope.made_feasible(found)
            moves = np.abs(point - found)
            moved = float(np.maximum.reduce(moves))
            if moved > 0 and np.count_nonzero(moves > _FARTHEST * unit):
                raise SolverFailedError(
                    f"{whose} and returned a point outside of the polytope by {moved:.3g}, more "
                    "than inexact solvers are off by"
                )
        value = float(cost @ point)
        status = f"{answer.status}, asked again" if answer.restarts else answer.status
        return ProgramSolution(
            point,
            value,
            moved,
            solver,
            status,
            answer.reported_seconds,
            answer.iterations,
            answer.restarts,
            lambda: self._duals(answer, cost, polytope),
            watch,
        )

    def _duals(
        self, answer: Answer, cost: FloatArray, polytope: Polytope
    ) -> dict[str, FloatArray] | None:
        """Return the multipliers of all constraints in the user's units."""
        arrays = polytope.arrays(cost)
        rows: Mapping[str, FloatArray] = {}
        if answer.is_exact:
            rows = polytope.row_multipliers(cost) if cost.any() else {}
        elif answer.multipliers is None:
            return None
        else:
            row_scales = polytope.row_scales()
            scale = _scaled(cost * polytope.unit, polytope)[1]
            rows = {
                part.name: answer.multipliers[part.name] * row_scales[part.where] / scale
                for part in arrays.parts
                if part.kind == "rows" and part.name in answer.multipliers
            }
        return arrays.multipliers(rows)


def _scaled(costs: FloatArray, polytope: Polytope) -> tuple[FloatArray, float]:
    """Return costs of a size that solvers can judge, with the same optimal points; and a scale.

    Their tolerances for reduced costs are absolute: at 1e-7 HiGHS answers with any vertex. Costs
    that are not cut off are multiplied by the scale.
    """
    if not polytope.is_scaled:
        return costs, 1.0
    gain = -float(costs.min()) if polytope.only_gains_matter else 0.0
    if gain <= 0:
        largest = float(np.abs(costs).max())
        return costs / largest, 1 / largest
    scaled: FloatArray = _LARGEST_GAIN * np.minimum(costs / gain, 1.0)
    return scaled, _LARGEST_GAIN / gain


@dataclass(eq=False)
class Prepared:
    """A program with a cost and a polytope (see `gdaopt.backends.protocol.PreparedProgram`)."""

    program: Program
    cost: FloatArray
    polytope: Polytope

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.polytope.name

    @property
    def moves(self) -> bool:
        """Whether some entry that can move has a cost: else all points are optimal."""
        return bool(np.count_nonzero(self._cost_in_units))

    def closed_form(self) -> Answer:
        """Return the exact answer."""
        return Answer(point=self.polytope.minimize(self.cost), is_exact=True)

    def problem(self) -> tuple[cp.Problem, cp.Variable]:
        """Return the CVXPY problem with these numbers in its parameters, and its variable."""
        return self.program._problem(self._arrays(), self.polytope)

    def arrays(self) -> LinearArrays:
        """Return the arrays, in units in which the numbers are about 1."""
        if not self.polytope.is_linear:
            raise InvalidInputError(f"the {self.name} is not linear: arrays are not all of it")
        return self._arrays()

    def _arrays(self) -> LinearArrays:
        costs = _scaled(self._cost_in_units, self.polytope)[0]
        return self.program._in_units(costs, self.polytope)

    @cached_property
    def _cost_in_units(self) -> FloatArray:
        return self.cost * self.polytope.unit


# --- Who looks on --------------------------------------------------------------------------------

Observer = Callable[[FloatArray, Polytope, FloatArray, FloatArray], object]
"""A function of a program that a run has solved: its costs, what it was solved over, where the run
was, and the answer."""

_observer: ContextVar[Observer | None] = ContextVar("gdaopt_observer", default=None)


@contextmanager
def observed(observer: Observer) -> Iterator[None]:
    """Have a function called with each program that a run solves inside."""
    token = _observer.set(observer)
    try:
        yield
    finally:
        _observer.reset(token)


def observe(cost: FloatArray, polytope: Polytope, at: FloatArray, found: FloatArray) -> None:
    """Show a program that a run has solved to who looks on, if anyone does: see `Observer`."""
    observer = _observer.get()
    if observer is not None:
        observer(cost, polytope, at, found)
