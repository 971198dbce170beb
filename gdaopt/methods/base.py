"""What all methods share: their limits, and what they record."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from gdaopt.errors import InvalidInputError, unknown_name
from gdaopt.methods.state import Clock, State
from gdaopt.objectives.protocol import Point
from gdaopt.problem import MetricProblem
from gdaopt.sets import FeasibleSet
from gdaopt.validation import FloatArray, integer, number, symmetric_matrix

__all__ = ["Method", "TakesSolver", "check_start"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Method(ABC):
    """A method with its options. Subclasses yield states; the driver does the rest.

    Parameters
    ----------
    tolerance : float, optional
        The relative tolerance of the stopping rules.
    absolute_tolerance : float, optional
        The run has *converged* when ``Q - lower_bound ≤ absolute_tolerance + tolerance·|Q|``.
    max_iterations : int, optional
        Most steps; no limit by default.
    time_limit : float, optional
        Seconds; no limit by default. Solvers that have such an option get what is left.
    initial : array-like of shape (K, K), optional
        A member of the feasible set to start from.
    callback : callable, optional
        Called with the `State` after each step; the run ends when it returns False.
    verbose : bool, optional
        Print a line for each round.
    on_interrupt : {"raise", "return"}, optional
        What to do on KeyboardInterrupt: let it pass, or return the current metric.
    trace_every : int, optional
        Steps between rows of the trace; 0 keeps the start and the end only. A row's times are those
        of all steps since the row before.
    keep_iterates : bool, optional
        Keep the metric of each row in the trace.
    """

    name: ClassVar[str]

    tolerance: float = 1e-6
    absolute_tolerance: float = 0.0
    max_iterations: int | None = None
    time_limit: float | None = None
    initial: FloatArray | None = None
    callback: Callable[[State], bool | None] | None = None
    verbose: bool = False
    on_interrupt: str = "raise"
    trace_every: int = 1
    keep_iterates: bool = False

    def __post_init__(self) -> None:
        number("tolerance", self.tolerance, at_least=0)
        number("absolute_tolerance", self.absolute_tolerance, at_least=0)
        if self.max_iterations is not None:
            integer("max_iterations", self.max_iterations, at_least=0)
        if self.time_limit is not None:
            number("time_limit", self.time_limit, above=0)
        if self.callback is not None and not callable(self.callback):
            raise InvalidInputError(f"callback must be callable, got {self.callback!r}")
        if self.on_interrupt not in ("raise", "return"):
            raise unknown_name("on_interrupt", self.on_interrupt, ("raise", "return"))
        integer("trace_every", self.trace_every, at_least=0)

    @property
    def solver_name(self) -> str:
        """Who solves the linear subproblems: nobody, where they have a closed form."""
        return "closed form"

    @property
    def solves_programs(self) -> bool:
        """Whether it takes a ``solver`` for programs of its own."""
        return False

    @abstractmethod
    def states(self, problem: MetricProblem, clock: Clock) -> Iterator[State]:
        """Yield the start, then the state after each step; end by raising `RunEnded`.

        Every state's metric is a member of the feasible set.
        """

    def initial_metric(self, problem: MetricProblem) -> FloatArray | None:
        """Return `initial`, checked and repaired into the set; None when there is none.

        Raises
        ------
        InvalidInputError
            When it is of the wrong size, or not a member of the set.
        """
        if self.initial is None:
            return None
        metric = symmetric_matrix("initial", self.initial, problem.n_features)
        violations = problem.feasible_set.violations(metric)
        if violations:
            raise InvalidInputError(f"initial is not in the set: {'; '.join(violations)}")
        return problem.feasible_set.repaired(metric)

    def is_converged(self, state: State) -> bool:
        """Say whether the certificate, where there is one, is within the tolerances."""
        if state.lower_bound is None:
            return False
        return state.objective - state.lower_bound <= self.allowed_gap(state.objective)

    def allowed_gap(self, objective: float) -> float:
        """Return the gap at which a run has converged."""
        return self.absolute_tolerance + self.tolerance * abs(objective)

    def lower_bounded_set(self, problem: MetricProblem) -> FeasibleSet:
        """Return the set over which lower bounds of the method's objective are taken.

        The closed one, unless the method stays in a smaller set.
        """
        return problem.feasible_set.closed


class TakesSolver:
    """What methods add that always solve programs: they are of a solver."""

    solver: str

    @property
    def solver_name(self) -> str:
        """Canonical name of the solver."""
        return self.solver

    @property
    def solves_programs(self) -> bool:
        """Whether it takes a solver: always."""
        return True


def check_start(point: Point) -> None:
    """Refuse a start at which the objective carries no information.

    Raises
    ------
    InvalidInputError
        With what to do.
    """
    vanished = point.vanished()
    if vanished is not None:
        raise InvalidInputError(f"nothing to learn from at the start: {vanished}")
