"""What all methods share: their limits, and the driver that turns their steps into a result."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from gdaopt.errors import (
    InfeasibleProblemError,
    InvalidInputError,
    SolverFailedError,
    unknown_name,
)
from gdaopt.methods.state import Clock, RunEnded, State
from gdaopt.methods.tracer import Tracer
from gdaopt.problem import MetricProblem
from gdaopt.result import Result, Status
from gdaopt.validation import FloatArray, integer, number, symmetric_matrix

__all__ = ["Method", "run"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Method(ABC):
    """A method with its options. Subclasses yield states; `run` does the rest.

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

    @property
    @abstractmethod
    def solver_name(self) -> str:
        """Who solves the programs."""

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
        allowed = self.absolute_tolerance + self.tolerance * abs(state.objective)
        return state.objective - state.lower_bound <= allowed


def run(method: Method, problem: MetricProblem) -> Result:
    """Run a method to its end, or to the first limit.

    Raises
    ------
    InvalidInputError
        Before any work, when the objective carries no information at the start.
    KeyboardInterrupt
        Unless the method says ``on_interrupt="return"``.
    """
    clock = Clock(method.time_limit)
    tracer = Tracer(problem.n_features)
    states = method.states(problem, clock)
    state = next(states)
    with clock.paused():
        tracer.record(state, clock.seconds)
    status: Status
    try:
        while True:
            with clock.paused():
                _report(method, tracer)
                goes_on = method.callback is None or method.callback(state) is not False
            _check_limits(method, state, clock, goes_on)
            following = _next_finite(states)
            with clock.paused():
                tracer.record(following, clock.seconds)
            state = following  # only now, so that an interrupt leaves state and trace at one step
    except RunEnded as end:
        status, message = end.status, end.message
    except KeyboardInterrupt:
        if method.on_interrupt == "raise":
            raise
        status, message = "interrupted", f"by the user after step {state.iteration}"
    except (SolverFailedError, InfeasibleProblemError) as error:
        status, message = "solver_failed", f"after step {state.iteration}: {error}"
        if isinstance(error, SolverFailedError) and clock.left is not None and clock.left <= 0:
            status = "time_limit"  # solvers are given what is left, and fail when it is not enough
    return Result(
        metric=state.metric,
        objective=state.objective,
        status=status,
        message=message,
        lower_bound=state.lower_bound,
        components=problem.feasible_set.n_components(state.metric),
        iterations=state.iteration,
        oracle_calls=state.oracle_calls,
        seconds=clock.seconds,
        method=method.name,
        solver=method.solver_name,
        trace=tracer.trace(),
    )


def _next_finite(states: Iterator[State]) -> State:
    """Return the next state; end the run at the one before when its objective is not finite."""
    state = next(states)
    if not math.isfinite(state.objective):
        raise RunEnded(
            "stalled", f"step {state.iteration} left the objective's domain (Q = {state.objective})"
        ) from None
    return state


def _check_limits(method: Method, state: State, clock: Clock, goes_on: bool) -> None:
    """Raise RunEnded when the run has converged or a limit is reached."""
    if method.is_converged(state):
        raise RunEnded("converged", "the certified gap is within the tolerances")
    if not goes_on:
        raise RunEnded("interrupted", f"by the callback after step {state.iteration}")
    if method.max_iterations is not None and state.iteration >= method.max_iterations:
        raise RunEnded("iteration_limit", f"max_iterations = {method.max_iterations} reached")
    if clock.left is not None and clock.left <= 0:
        raise RunEnded("time_limit", f"time_limit = {method.time_limit:g} s reached")


def _report(method: Method, tracer: Tracer) -> None:
    """Print a line when a round begins, if the method is verbose."""
    if method.verbose and tracer.begins_round:
        row = tracer.last
        print(
            f"round {row.round:>4}  step {row.iteration:>6}  objective {row.objective:.8g}  "
            f"lambda_min {row.lambda_min:.3g}  {row.seconds:.1f} s",
            flush=True,
        )
