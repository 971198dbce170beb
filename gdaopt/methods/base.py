"""The base classes of all methods: the limits of a run, and the options of solvers."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

from gdaopt.backends.protocol import ANALYTIC
from gdaopt.certificate import Certificate
from gdaopt.certificate.tangent import nothing_to_certify
from gdaopt.errors import InvalidInputError
from gdaopt.methods.context import Change, Context, Ending
from gdaopt.objectives.protocol import Point
from gdaopt.problem import MetricProblem
from gdaopt.programs.base import ProgramOptions
from gdaopt.sets import FeasibleSet
from gdaopt.state import State
from gdaopt.support.resources import free_memory
from gdaopt.support.text import shortened
from gdaopt.support.validation import (
    FloatArray,
    check_name,
    flag,
    integer,
    number,
    read_only,
    store_checked,
    symmetric_matrix,
)
from gdaopt.trace import COLUMNS

_FEW_FEATURES = 2000  # K×K arrays of so many always fit
_ARRAYS = 6  # K×K, that methods hold at the same time

States = Generator[State, None, Ending]
"""The states of a run, the start first; it returns how the run ended."""

Demand = Literal["not convex", "linear constraints"]
"""What only some problems are or have, and only some methods take."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Method(ABC):
    """A method with its options. A subclass yields states; the driver (``Run``) does the rest.

    Parameters
    ----------
    tolerance : float, optional
        The relative tolerance of the stopping rules.
    absolute_tolerance : float, optional
        The run has *converged* when ``Q - lower_bound ≤ absolute_tolerance + tolerance·|Q|``. If Q
        is more than ten times the Frank–Wolfe gap in the middle of the set, ten times that gap
        takes the place of Q, because a constant in Q must not change the answer, unless the
        remaining gap is round-off. If the objective is not convex, the run is *stationary* when its
        Frank–Wolfe gap is that small.
    max_iterations : int, optional
        Most steps; no limit by default.
    time_limit : float, optional
        Seconds; no limit by default. The run ends at its last complete step. It overshoots by at
        most 10 %, or one evaluation.
    initial : array-like of shape (K, K), optional
        A member of the feasible set to start from.
    callback : callable, optional
        Called with the `State` at the start and after each step. It returns None (or True) to go
        on, False to end the run, or a `gdaopt.Change` for the next step.
    verbose : bool, optional
        Print a line for each round.
    on_interrupt : {"raise", "return"}, optional
        What to do on KeyboardInterrupt: let it pass, or return the current metric.
    trace_every : int, optional
        Steps between rows of the trace; 0 keeps the start and the end only.
    keep_iterates : bool, optional
        Keep the metric of each row in the trace.
    trace_columns : mapping of str to callable, optional
        Columns of your own in the trace, by their names: functions of the `State` that return a
        number, or NaN if there is none. Their time counts for the trace, not for the run.

    Attributes
    ----------
    name : str
        The name of the method in `gdaopt.solve`.
    takes : tuple of {"not convex", "linear constraints"}
        The problems that it takes beside convex ones without linear constraints. Every metric that
        it yields keeps the linear constraints.
    sets : tuple of classes
        The only kinds of feasible sets that it takes; none if it takes all.
    solver : str
        Who solves its programs; ``"analytic"`` if it has none to solve.
    """

    name: ClassVar[str]
    takes: ClassVar[tuple[Demand, ...]] = ("not convex",)
    sets: ClassVar[tuple[type[FeasibleSet], ...]] = ()
    solver = ANALYTIC  # an option of the methods that have programs to solve

    tolerance: float = 1e-6
    absolute_tolerance: float = 0.0
    max_iterations: int | None = None
    time_limit: float | None = None
    initial: FloatArray | None = None
    callback: Callable[[State], Change | bool | None] | None = None
    verbose: bool = False
    on_interrupt: str = "raise"
    trace_every: int = 1
    keep_iterates: bool = False
    trace_columns: Mapping[str, Callable[[State], Any]] | None = None

    def __post_init__(self) -> None:
        store_checked(self, number, "tolerance", "absolute_tolerance", at_least=0)
        store_checked(self, integer, "max_iterations", at_least=0)
        store_checked(self, number, "time_limit", above=0)
        if self.initial is not None:
            initial = read_only(symmetric_matrix("initial", self.initial))
            object.__setattr__(self, "initial", initial)
        if self.callback is not None and not callable(self.callback):
            raise InvalidInputError(f"callback must be callable, got {shortened(self.callback)}")
        check_name("on_interrupt", self.on_interrupt, ("raise", "return"))
        store_checked(self, integer, "trace_every", at_least=0)
        store_checked(self, flag, "verbose", "keep_iterates")
        if self.trace_columns is not None:
            _check_columns(self.trace_columns)

    def changed(self, change: Change) -> Self:
        """Return the method with the options that a callback wants; refuse those it lacks."""
        options = {name: value for name, value in vars(change).items() if value is not None}
        for name in options:
            check_name(f"option of method {self.name!r}:", name, self.__dataclass_fields__)
        if "solver" in options:
            options.setdefault("solver_opts", None)  # those before are of another solver
        return replace(self, **options)

    def check(self, problem: MetricProblem) -> None:
        """Raise InvalidInputError when the problem does not fit the method, and say which does."""
        objective, size, asks = problem.objective, problem.n_features, f"method {self.name!r}"
        too_large = ""
        if objective.is_sparse:
            too_large = "the samples are sparse; pass them as an array, such as by toarray()"
        elif size > _FEW_FEATURES and (need := 8.0 * _ARRAYS * size**2) > (free := free_memory()):
            too_large = (
                f"{_ARRAYS} of them would need {need / 1e9:.3g} GB for {size} features; the "
                f"{free / 1e9:.3g} GB of memory that are free are enough for "
                f"{math.isqrt(int(free / 8 / _ARRAYS))}"
            )
        if too_large:
            raise InvalidInputError(
                f"{asks} works with arrays of K×K numbers, and {too_large}; 'certified' makes none "
                "for losses of distances over sets of atoms of one or two features without linear "
                "constraints"
            )
        if not objective.convex and "not convex" not in self.takes:
            raise InvalidInputError(
                f"{asks} needs a convex objective, and {shortened(objective)} says that it is not "
                f"convex; methods that look for a stationary point: {_names_of('not convex')}"
            )
        if problem.rows is not None and "linear constraints" not in self.takes:
            raise InvalidInputError(
                f"{asks} cannot keep linear constraints, and the problem has some "
                f"({problem.rows.names[0]}, …); methods that keep them: "
                f"{_names_of('linear constraints')}"
            )
        # A set of the user's own that inherits from one of them may have fewer members.
        if self.sets and type(problem.feasible_set) not in self.sets:
            *names, last = (kind.__name__ for kind in self.sets)
            kinds = f"{', '.join(names)} or {last}" if names else last
            raise InvalidInputError(f"{asks} needs a set of {kinds}, got {problem.feasible_set!r}")

    @abstractmethod
    def states(self, problem: MetricProblem, context: Context) -> States:
        """Yield the start, then the state after each step; return how the run ended.

        The metric of every state is a member of the set that keeps the linear constraints. The
        driver ends a run that has converged or reached a limit, and fills in `State.timings`.
        """

    def initial_metric(self, problem: MetricProblem) -> FloatArray | None:
        """Return `initial`, made feasible; None without one. Refuse one that is no member."""
        if self.initial is None:
            return None
        metric = symmetric_matrix("initial", self.initial, problem.n_features)
        violations = problem.violations(metric)
        if violations:
            raise InvalidInputError(f"initial is not in the set: {'; '.join(violations)}")
        return problem.made_feasible(metric)

    def start_point(self, problem: MetricProblem) -> Point:
        """Return the objective at `initial`, or at the default start; check that it learns."""
        initial = self.initial_metric(problem)
        point = problem.objective.at(self.default_start(problem) if initial is None else initial)
        check_start(problem, point)
        return point

    def default_start(self, problem: MetricProblem) -> FloatArray:
        """Return where a run begins without `initial`: the middle of the set."""
        return problem.central_metric()

    def is_converged(self, problem: MetricProblem, state: State | Certificate) -> bool:
        """Say whether the certified gap, or else the Frank–Wolfe gap, is within the tolerances."""
        if not problem.objective.convex:
            return state.frank_wolfe_gap <= self.allowed_gap(state.objective)
        if state.lower_bound is None:
            return False
        gap = state.objective - state.lower_bound
        if gap > self.allowed_gap(state.objective):
            return False
        # If Q is large and flat, any metric is within a share of Q. What is left must also be
        # small beside what can be gained, or nothing but round-off.
        left = min(gap, state.frank_wolfe_gap + state.gap_round_off)
        is_round_off = left <= 2 * state.gap_round_off
        return is_round_off or left <= self.allowed_gap(problem.size_of(state.objective))

    def allowed_gap(self, size: float) -> float:
        """Return the gap that counts as zero, for an objective of some size."""
        return self.absolute_tolerance + self.tolerance * abs(size)


@dataclass(frozen=True, kw_only=True, eq=False)
class ProgramMethod(ProgramOptions, Method):
    """A method that solves programs.

    Parameters
    ----------
    solver : str, optional
        Any solver that CVXPY knows, in capitals or not, ``"highspy"`` for HiGHS without CVXPY,
        started hot, or ``"analytic"`` for the exact solution in closed form.
    solver_opts : mapping, optional
        Options of that solver.
    fallback : str or sequence of str, optional
        The solvers that take over a program if the solver fails, in order; the trace says which one
        solved it.
    isolate : bool, optional
        Solve in a worker process that is killed when the time limit is over. Its start takes a
        second or two of that limit. By default, large semidefinite programs with a time limit are
        solved there.
    **limits
        See `Method`.
    """

    def __post_init__(self) -> None:
        Method.__post_init__(self)
        ProgramOptions.__post_init__(self)


def _names_of(demand: Demand) -> str:
    """Return the names of methods that take what a problem demands, the user's own among them."""
    kinds: list[type[Any]] = [Method]
    for kind in kinds:  # also those that are added on the way
        kinds += kind.__subclasses__()
    return ", ".join(
        sorted(kind.name for kind in kinds if hasattr(kind, "name") and demand in kind.takes)
    )


def _check_columns(columns: Mapping[str, Callable[[State], Any]]) -> None:
    """Refuse columns of the trace that are no functions, or have names that are taken."""
    if not isinstance(columns, Mapping):
        raise InvalidInputError(
            f"trace_columns must map names to functions of a state, got {shortened(columns)}"
        )
    for name, column in columns.items():
        if not isinstance(name, str) or not callable(column):
            raise InvalidInputError(
                "trace_columns must map names to functions of a state, got "
                f"{shortened(column)} for {shortened(name)}"
            )
        if name in COLUMNS or name == "gap":
            raise InvalidInputError(f"trace_columns: {name!r} is taken; choose another name")


def check_start(problem: MetricProblem, point: Point) -> None:
    """Refuse a start at which the objective carries no information."""
    reason = nothing_to_certify(point, problem.feasible_set.family.gradient_at(point))
    if reason is not None:
        raise InvalidInputError(f"nothing to learn from at the start: {reason}")
