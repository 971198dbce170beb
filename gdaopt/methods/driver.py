"""The driver: runs a method within its limits, traces it, and turns its end into a result."""

from __future__ import annotations

import math
from collections.abc import Iterator

from gdaopt.errors import InfeasibleProblemError, SolverFailedError
from gdaopt.methods.base import Method
from gdaopt.methods.state import Clock, RunEnded, State
from gdaopt.methods.tracer import Tracer
from gdaopt.problem import MetricProblem
from gdaopt.result import Result, Status
from gdaopt.validation import read_only

__all__ = ["iterate", "run"]


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
    bounded = MetricProblem(problem.objective, method.lower_bounded_set(problem))
    tracer = Tracer(bounded, method.trace_every, method.keep_iterates)
    states = method.states(problem, clock)
    state = next(states)
    with clock.paused():
        tracer.record(state, clock.seconds)
    status: Status
    try:
        with clock.paused():
            goes_on = _show(method, state, True)
        while True:
            _check_limits(method, state, clock)
            if not goes_on:
                raise RunEnded("interrupted", f"by the callback after step {state.iteration}")
            following = _next_finite(states)
            with clock.paused():
                tracer.record(following, clock.seconds)
                begins, state = following.round != state.round, following
                goes_on = _show(method, state, begins)
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
    seconds = clock.seconds
    with clock.paused():
        trace = tracer.trace(state, seconds)
    # None rather than -inf, which JSON does not know.
    lower_bound, closed_lower_bound = (b if b > -math.inf else None for b in tracer.lower_bounds)
    atoms = None if state.atoms is None else read_only(state.atoms.dense(problem.n_features).copy())
    weights = None if state.weights is None else read_only(state.weights.copy())
    return Result(
        metric=state.metric,
        objective=state.objective,
        status=status,
        message=message,
        lower_bound=lower_bound,
        closed_lower_bound=closed_lower_bound,
        components=problem.feasible_set.n_components(state.metric),
        iterations=state.iteration,
        oracle_calls=state.oracle_calls,
        eigen_decompositions=state.eigen_decompositions,
        repair_distance=state.repair_distance,
        seconds=seconds,
        tracing_seconds=clock.paused_seconds,
        method=method.name,
        solver=method.solver_name,
        trace=trace,
        atoms=atoms,
        weights=weights,
    )


def iterate(method: Method, problem: MetricProblem) -> Iterator[State]:
    """Yield the states of a run one by one, until it ends or reaches a limit."""
    clock = Clock(method.time_limit)
    states = method.states(problem, clock)
    try:
        while True:
            state = _next_finite(states)
            yield state
            _check_limits(method, state, clock)
    except RunEnded:
        return


def _next_finite(states: Iterator[State]) -> State:
    """Return the next state; end the run at the one before when its objective is not finite."""
    state = next(states)
    if not math.isfinite(state.objective):
        raise RunEnded(
            "stalled", f"step {state.iteration} left the objective's domain (Q = {state.objective})"
        ) from None
    return state


def _check_limits(method: Method, state: State, clock: Clock) -> None:
    """Raise RunEnded when the run has converged or a limit is reached."""
    if method.is_converged(state):
        raise RunEnded("converged", "the certified gap is within the tolerances")
    if method.max_iterations is not None and state.iteration >= method.max_iterations:
        raise RunEnded("iteration_limit", f"max_iterations = {method.max_iterations} reached")
    if clock.left is not None and clock.left <= 0:
        raise RunEnded("time_limit", f"time_limit = {method.time_limit:g} s reached")


def _show(method: Method, state: State, begins_round: bool) -> bool:
    """Print a line and call back, where the method says so; say whether the run goes on."""
    if method.verbose and begins_round:
        print(
            f"round {state.round:>4}  step {state.iteration:>6}  objective {state.objective:.8g}",
            flush=True,
        )
    return method.callback is None or method.callback(state) is not False
