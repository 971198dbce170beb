"""The driver: runs a method, ends the run when a rule says so, and makes a result of it.

A run ends in one of these ways:

* **converged**: the certified gap is within the tolerances (`Method.is_converged`);
* **stationary**: so is the Frank–Wolfe gap of an objective that is not convex;
* **iteration_limit**, **time_limit**: a limit of the method is reached;
* **interrupted**: by the callback, or by the user where the method says ``on_interrupt="return"``;
* **stalled**: going on would not help. Either the objective no longer changes (`StallRule`), or the
  certified gap no longer shrinks (`Patience`), or the objective carries no information any more
  (`LowerBound`);
* **left_domain**: a state is outside of the set, breaks a linear constraint or has no finite
  objective (`gdaopt.methods.post_conditions`); the result is the last state that was in order;
* **solver_failed**, or what else a method says when it raises `RunEnded` itself.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import numpy as np

from gdaopt.certificate import Certificate
from gdaopt.errors import (
    InfeasibleProblemError,
    LeftDomainError,
    SolverFailedError,
    TimeLimitError,
)
from gdaopt.methods.base import Method
from gdaopt.methods.post_conditions import PostConditions
from gdaopt.methods.state import Clock, RunEnded, State
from gdaopt.methods.tracer import Tracer
from gdaopt.objectives.protocol import Point
from gdaopt.problem import MetricProblem
from gdaopt.result import Result, Status
from gdaopt.support.deadline import unlimited
from gdaopt.support.validation import read_only
from gdaopt.support.warning_filters import underflow_ignored
from gdaopt.support.workers import single_threaded

__all__ = ["LowerBound", "Patience", "StallRule", "iterate", "run"]

_TO_THE_END = ("converged", "stationary", "stalled", "iteration_limit")  # with time to look back
_NOTHING = 1e-6  # of the gap: an objective that is smaller can have an optimum of 0
_FEW_FEATURES = 512  # with no more, threads gain little in a decomposition or a block of pairs


class StallRule:
    """Ends a run when the last rounds together changed the objective by no more than a tolerance.

    The tolerance is a share of the objective's size at the start of these rounds: of ``|Q|``, or of
    ``Σ_ij |∇Q(M)_ij M_ij|`` where that is larger. Where Q tends to 0, ``|Q|`` alone would ask for
    ever smaller changes, and a method that gets closer by a share that shrinks with each round
    would never end. Objectives with a convex logarithm have no other size than ``|Q|``, and tend to
    0 by decades until they underflow.

    Parameters
    ----------
    start : Point
        The objective at the start.
    tolerance : float
        As a share of the objective's size before those rounds.
    rounds : int
        How many rounds are looked at together. Single rounds of some methods gain more and less in
        turns.
    rises_count : bool
        Whether a rise of the objective is a change, too: open-loop steps may raise it and go on.
    log_convex : bool
        Whether log Q is convex (`gdaopt.objectives.protocol.Objective.log_convex`).
    """

    def __init__(
        self,
        start: Point,
        tolerance: float,
        *,
        rounds: int = 1,
        rises_count: bool = False,
        log_convex: bool = False,
    ) -> None:
        self._points = deque([start], maxlen=rounds + 1)
        self._tolerance = tolerance
        self._rises_count = rises_count
        self._log_convex = log_convex

    def check(self, point: Point) -> None:
        """Take the objective after a round; raise `RunEnded` when the run has stalled."""
        self._points.append(point)
        before, rounds = self._points[0], len(self._points) - 1
        decrease = before.value - point.value
        change = abs(decrease) if self._rises_count else decrease
        if len(self._points) < (self._points.maxlen or 0):
            return
        if change <= self._tolerance * self._size(before):
            last = "the last round" if rounds == 1 else f"the last {rounds} rounds"
            message = (
                f"stopped: {last} lowered the objective by {max(decrease, 0.0):.3g}, at most the "
                f"tolerance of {self._tolerance:g} of its size"
            )
            raise RunEnded("stalled", point.vanished() or message)

    def _size(self, point: Point) -> float:
        """Return what changes of the objective are small or large against."""
        if self._log_convex:
            return abs(point.value)
        return max(abs(point.value), float(np.abs(point.gradient() * point.metric).sum()))


class Patience:
    """Ends a run when the certified gap has not become smaller for a number of steps.

    Parameters
    ----------
    gap : float
        The certified gap at the start.
    most : int
        The number of steps.
    steps : str
        What the method calls them.
    """

    def __init__(self, gap: float, most: int, steps: str) -> None:
        self._least = gap
        self._most = most
        self._steps = steps
        self._waited = 0

    def check(self, gap: float, round_off: float, objective: float) -> None:
        """Take the certified gap after a step; raise `RunEnded` when the patience is over.

        Parameters
        ----------
        gap : float
            The gap.
        round_off : float
            How much of it can be round-off, such as `LowerBound.round_off`.
        objective : float
            Q after the step.
        """
        self._waited = 0 if gap < self._least else self._waited + 1
        self._least = min(self._least, gap)
        if self._waited >= self._most:
            more = ""
            if round_off >= self._least / 2:  # as where the optimum is 0, of which a share is 0
                more = (
                    "; up to that the objective is at its minimum, and with an absolute_tolerance "
                    "as large as the gap the run is converged"
                )
            elif abs(objective) <= _NOTHING * self._least:
                more = (
                    f"; the objective is {objective:.3g}, next to nothing beside that gap: where "
                    "the optimum is 0, a share of it is 0 too, and only an absolute_tolerance can "
                    "be met"
                )
            raise RunEnded(
                "stalled",
                f"stopped: the last {self._most} {self._steps} did not lower the certified gap of "
                f"{self._least:.3g}, of which {round_off:.3g} is what the certificate allows for "
                f"round-off{more}",
            )


class LowerBound:
    """The largest certified lower bound of a run so far.

    Attributes
    ----------
    value : float
        -inf before the first certificate.
    multipliers : ndarray of shape (m,) or None
        Those of the last certificate, for a problem with linear constraints.
    round_off : float
        How much of the gap to it can be round-off.
    frank_wolfe_gap : float or None
        That of the last certificate, where the objective is not convex.
    """

    def __init__(self) -> None:
        self.value = -math.inf
        self.round_off = 0.0
        self.frank_wolfe_gap: float | None = None

    def gap(self, objective: float) -> float:
        """Return the gap that a run wants to close: to the bound, or to a stationary point."""
        return objective - self.value if self.frank_wolfe_gap is None else self.frank_wolfe_gap

    def add(self, certificate: Certificate) -> float:
        """Take the certificate of a member of the set; return the largest bound so far.

        Raises
        ------
        RunEnded
            When there is nothing to certify any more, since the objective underflows.

        Notes
        -----
        The driver compares the values and the bounds of all states (`PostConditions`).
        """
        if certificate.reason and not math.isinf(certificate.round_off):
            raise RunEnded("stalled", certificate.reason)  # else other points may have a bound
        if certificate.lower_bound >= self.value:
            self.value, self.round_off = certificate.lower_bound, certificate.round_off
        self.value = min(self.value, certificate.objective)  # of a member, but for round-off
        self.multipliers = certificate.multipliers
        self.frank_wolfe_gap = certificate.frank_wolfe_gap
        return self.value


def run(method: Method, problem: MetricProblem) -> Result:
    """Run a method until it ends.

    Raises
    ------
    InvalidInputError
        Before any work, when the objective carries no information at the start, or its gradient is
        wrong there.
    GdaoptError
        When the start is not in order, or the run contradicts its own lower bounds.
    KeyboardInterrupt
        Unless the method says ``on_interrupt="return"``.
    """
    method.check(problem)
    with _threads_of(problem):
        return _run(method, problem)


@contextmanager
def _threads_of(problem: MetricProblem) -> Iterator[None]:
    """Set the context in which steps calculate."""
    threads = single_threaded() if problem.n_features <= _FEW_FEATURES else nullcontext()
    with threads, underflow_ignored():
        yield


def _run(method: Method, problem: MetricProblem) -> Result:
    """Run a method that has been checked."""
    clock = Clock(method.time_limit)
    tracer = Tracer(problem, clock, method.trace_every, method.keep_iterates)
    states = method.states(problem, clock)
    with unlimited():  # without a start there would be nothing to return
        state = next(states)
    seconds = clock.seconds
    with clock.paused():
        conditions = PostConditions(problem, state, is_users=method.initial is not None)
        if not clock.is_over:
            conditions.check_start()
        tracer.record(state, seconds)
        conditions.claim(tracer.lower_bound, tracer.multipliers)
    solved_by = Counter[str]()
    status: Status
    try:
        with clock.paused():
            goes_on = _show(method, state, True)
        while True:
            _check_limits(method, state, clock)
            if not goes_on:
                raise RunEnded("interrupted", f"by the callback after step {state.iteration}")
            with clock.limiting():
                following = _next(states)
            seconds = clock.seconds
            with clock.paused():
                begins = following.round != state.round
                conditions.check(following, in_full=begins or tracer.is_due(following))
                tracer.record(following, seconds)
                conditions.claim(tracer.lower_bound, tracer.multipliers)
                state = following
                solved_by.update([state.solver] if state.solver else [])
                goes_on = _show(method, state, begins)
    except RunEnded as end:
        status, message = end.status, end.message
    except TimeLimitError as error:
        status, message = "time_limit", str(error)
    except KeyboardInterrupt:
        if method.on_interrupt == "raise":
            raise
        status, message = "interrupted", f"by the user after step {state.iteration}"
    except (SolverFailedError, InfeasibleProblemError) as error:
        status, message = "solver_failed", f"after step {state.iteration}: {error}"
        if isinstance(error, SolverFailedError) and clock.is_over:
            status = "time_limit"  # solvers are given what is left, and fail when it is not enough
    except LeftDomainError as error:
        status, message = "left_domain", str(error)
    seconds = clock.seconds
    with clock.paused():
        try:
            conditions.check(state, in_full=True)
        except LeftDomainError as error:
            status, message, state = "left_domain", str(error), conditions.in_order
        if status == "left_domain":
            message += f"; the result is that of step {state.iteration}"
        trace = tracer.trace(state, seconds)
        conditions.claim(tracer.lower_bound, tracer.multipliers)
        if status in _TO_THE_END and not clock.is_over:
            conditions.check_end(state)
        message += conditions.rise(state)
    stationary = tracer.frank_wolfe_gap  # methods that stall do not look at it
    if status == "stalled" and stationary is not None:
        status = "stationary" if stationary <= method.allowed_gap(state.objective) else status
    atoms = None if state.atoms is None else read_only(state.atoms.dense(problem.n_features).copy())
    weights = None if state.weights is None else read_only(state.weights.copy())
    return Result(
        metric=state.metric,
        feasible_set=problem.feasible_set,
        objective=state.objective,
        status=status,
        message=message,
        # None rather than -inf, which JSON does not know.
        lower_bound=tracer.lower_bound if tracer.lower_bound > -math.inf else None,
        frank_wolfe_gap=tracer.frank_wolfe_gap,
        components=problem.feasible_set.n_components(state.metric),
        iterations=state.iteration,
        oracle_calls=state.oracle_calls,
        eigen_decompositions=state.eigen_decompositions,
        repair_distance=state.repair_distance,
        seconds=seconds,
        tracing_seconds=clock.paused_seconds,
        method=method.name,
        solver=method.solver_name,
        solved_by=dict(solved_by),
        trace=trace,
        atoms=atoms,
        weights=weights,
        multipliers=tracer.multipliers,
        constraints=() if problem.rows is None else problem.rows.names,
        constraint_violation=None if problem.rows is None else problem.violation(state.metric),
    )


def iterate(method: Method, problem: MetricProblem) -> Iterator[State]:
    """Yield the states of a run one by one, until it ends or reaches a limit."""
    method.check(problem)
    clock = Clock(method.time_limit)
    states = method.states(problem, clock)
    try:
        with unlimited(), _threads_of(problem):
            state = _next(states)
            conditions = PostConditions(problem, state, is_users=method.initial is not None)
            conditions.check_start()
        while True:
            yield state
            _check_limits(method, state, clock)
            with clock.limiting(), _threads_of(problem):
                state = _next(states)
            with unlimited(), _threads_of(problem):
                conditions.check(state, in_full=True)
    except TimeLimitError:
        return
    except RunEnded as end:
        if end.status in _TO_THE_END:
            with unlimited(), _threads_of(problem):
                conditions.check_end(state)
        return


def _next(states: Iterator[State]) -> State:
    """Return the next state; end the run at the one before where there is none."""
    state = next(states, None)
    if state is None:
        raise RunEnded("stalled", "stopped: the method has no more steps to take")
    return state


def _check_limits(method: Method, state: State, clock: Clock) -> None:
    """Raise RunEnded or TimeLimitError when the run has converged or a limit is reached."""
    if method.is_converged(state):
        if state.frank_wolfe_gap is not None:
            raise RunEnded("stationary", "the Frank–Wolfe gap is within the tolerances")
        raise RunEnded("converged", "the certified gap is within the tolerances")
    if method.max_iterations is not None and state.iteration >= method.max_iterations:
        raise RunEnded("iteration_limit", f"max_iterations = {method.max_iterations} reached")
    clock.check()


def _show(method: Method, state: State, begins_round: bool) -> bool:
    """Print a line and call back, where the method says so; say whether the run goes on."""
    if method.verbose and begins_round:
        print(
            f"round {state.round:>4}  step {state.iteration:>6}  objective {state.objective:.8g}",
            flush=True,
        )
    answer = None if method.callback is None else method.callback(state)
    return not (isinstance(answer, bool | np.bool_) and not answer)
