"""The one driver: it steps a method, minds tolerance, limits and errors, and tells listeners.

A method is a generator of states that returns how it ended. `gdaopt.solve` exhausts a `Run`, and
`gdaopt.iterate` hands it out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from gdaopt.certificate import certify_point
from gdaopt.errors import (
    DisconnectedError,
    EdgeFloorError,
    GdaoptError,
    InfeasibleProblemError,
    InvalidInputError,
    LeftDomainError,
    RoundOffError,
    SolverFailedError,
    SolverNotFoundError,
    TimeLimitError,
)
from gdaopt.methods.base import Method
from gdaopt.methods.context import Change, Context, Ending
from gdaopt.problem import MetricProblem
from gdaopt.state import State
from gdaopt.status import Status
from gdaopt.support.deadline import unlimited
from gdaopt.support.resources import keep_freed_memory, single_threaded
from gdaopt.support.text import shortened
from gdaopt.support.validation import FloatArray
from gdaopt.trace import relative_gap

_STATUSES: dict[type[GdaoptError], Status] = {
    TimeLimitError: "time_limit",
    RoundOffError: "stalled",
    DisconnectedError: "disconnected",
    EdgeFloorError: "infeasible",
}
_SMALL = 512**3  # multiplications of a matrix product or a decomposition: threads gain little


class Listener:
    """Who hears of a run, between its steps; subclasses write what they want to hear."""

    def started(self, run: Run) -> None:
        """Hear that the run stands at its start; errors go to the caller."""

    def stepped(self, run: Run) -> Change | bool | None:  # noqa: ARG002
        """Hear of a state, the start first; return what to change, or False to end the run."""
        return None

    def ended(self, run: Run) -> None:
        """Hear that the run has an `ending`; it may `go_back`."""


class Proof(NamedTuple):
    """What is proven at a state: the largest lower bound so far, and what belongs to the metric."""

    lower_bound: float
    multipliers: FloatArray | None
    frank_wolfe_gap: float | None  # None for convex objectives, which have a bound


class Run:
    """One run of a method on a problem: iterate over its states, then read the rest.

    Attributes
    ----------
    method : Method
        The method, with the options that a listener has changed.
    state : State
        The last state.
    begins_round, is_due : bool
        Whether it is the first one of a round, and whether the trace has a row of it: of the start,
        and of every n-th step.
    ending : Ending or None
        How the run ended.
    error : GdaoptError or None
        What ended it, if that was an error of a solver or of a domain.
    multipliers : Multipliers
        The search for multipliers of the linear constraints that make bounds tight.
    claimed : tuple of float and ndarray or None
        The largest lower bound that the method or a listener has found, with its multipliers.
    """

    def __init__(
        self, method: Method, problem: MetricProblem, listeners: Sequence[Listener]
    ) -> None:
        method.check(problem)
        self.problem = problem
        self.method = method
        self.context = Context(method, method.time_limit)
        self.ending: Ending | None = None
        self.error: GdaoptError | None = None
        self.claimed: tuple[float, FloatArray | None] = (-math.inf, None)
        self._listeners = listeners
        self._states = method.states(problem, self.context)
        self.multipliers = problem.members.multipliers()
        self._proven: tuple[State, Proof] | None = None
        self.begins_round = self.is_due = self._goes_on = True
        with unlimited(), calculating(problem.n_features**3):  # without a start nothing is left
            self.state = replace(next(self._states), timings=self.context.laps())
            with self.context.paused():
                for listener in listeners:
                    listener.started(self)

    def __iter__(self) -> Iterator[State]:
        """Yield the start, then the state after each step, until the run has ended."""
        action: Callable[[], Ending | None] = self._tell  # it stands at the start
        while self.ending is None:
            before = self.state
            with calculating(self.problem.n_features**3):
                try:
                    self.ending = action()
                except (TimeLimitError, RoundOffError, DisconnectedError, EdgeFloorError) as error:
                    self.ending = _STATUSES[type(error)], str(error)
                except KeyboardInterrupt:
                    if self.method.on_interrupt == "raise":
                        raise
                    self.ending = "interrupted", f"by the user after step {self.state.iteration}"
                except LeftDomainError as error:
                    self.go_back(before, str(error))
                    self.error = error
                except (SolverFailedError, SolverNotFoundError, InfeasibleProblemError) as error:
                    message = f"after step {self.state.iteration}: {error}"
                    if isinstance(error, SolverFailedError) and self.context.is_over:
                        self.ending = "time_limit", message  # it got what was left, and needed more
                    else:
                        self.ending, self.error = ("solver_failed", message), error
                if self.ending is not None:
                    with self.context.paused():
                        for listener in self._listeners:
                            listener.ended(self)
                    return
            yield self.state
            action = self._step

    def go_back(self, state: State, why: str) -> None:
        """Let the run end at an earlier state, because it has left the domain of the problem."""
        self.state, self.ending = state, ("left_domain", why)

    def _step(self) -> Ending | None:
        """Take a step, and tell the listeners; return how the run has ended, if it has."""
        method, state = self.method, self.state
        if method.is_converged(self.problem, state):
            if self.problem.objective.convex:
                return "converged", "the certified gap is within the tolerances"
            return (
                "stationary",
                f"a stationary point: its Frank–Wolfe gap is {state.frank_wolfe_gap:.3g}, within "
                "the tolerances; the objective is not convex, and has no lower bound",
            )
        if method.max_iterations is not None and state.iteration >= method.max_iterations:
            return "iteration_limit", f"max_iterations = {method.max_iterations} reached"
        if not self._goes_on:
            return "interrupted", f"by the callback after step {state.iteration}"
        with self.context.limited():
            try:
                following = next(self._states)
            except StopIteration as end:
                ending: Ending | None = end.value
                return ending or ("slow_progress", "stopped: the method has no more steps to take")
        self.begins_round = following.round != state.round
        every = method.trace_every
        self.is_due = bool(every and following.iteration % every == 0)
        self.state = replace(following, timings=self.context.laps())
        self._tell()
        return None

    def _tell(self) -> None:
        """Tell the listeners of the state, and do what they ask for."""
        with self.context.paused():
            for listener in self._listeners:
                answer = listener.stepped(self)
                if isinstance(answer, Change):
                    self.method = self.method.changed(answer)
                    self.context.take_method(self.method)
                elif isinstance(answer, bool | np.bool_):
                    self._goes_on = self._goes_on and bool(answer)
                elif answer is not None:
                    raise InvalidInputError(
                        f"callback returned {shortened(answer)}; it has to return None to go on, "
                        "False to end the run, or a gdaopt.Change for the next step"
                    )

    def prove(self) -> Proof:
        """Return what is proven at the state, once for all listeners, and claim its lower bound.

        A state is certified for that if its method has not done so, or if Q is below its bound.
        """
        state, problem = self.state, self.problem
        if self._proven is not None and self._proven[0] is state:
            return self._proven[1]
        bound = -math.inf if state.lower_bound is None else state.lower_bound
        multipliers, gap, is_lost = state.multipliers, None, False
        if bound > self.claimed[0]:
            self.claimed = bound, multipliers
        if not problem.objective.convex and state.frank_wolfe_gap < math.inf:
            gap = state.frank_wolfe_gap  # by the method
        elif not -math.inf < bound <= state.objective:
            # At a point of its own: listeners must not do computations in place of the method.
            point = state.point if self.context.is_over else problem.objective.at(state.metric)
            with suppress(TimeLimitError):  # an earlier bound holds as well
                tight = self.multipliers.tight(point)
                certificate = certify_point(problem, point, multipliers=tight)
                bound, multipliers = certificate.lower_bound, certificate.multipliers
                is_lost = bool(certificate.reason) and not math.isinf(certificate.round_off)
                if bound > self.claimed[0]:
                    self.claimed = bound, multipliers
                if not problem.objective.convex:
                    gap = certificate.frank_wolfe_gap
        least = -math.inf if is_lost else min(self.claimed[0], state.objective)
        self._proven = state, Proof(least, multipliers, gap)
        return self._proven[1]


class Printer(Listener):
    """Says in a line for each round how far the run is."""

    def __init__(self, say: Callable[[str], object]) -> None:
        self._say = say

    def stepped(self, run: Run) -> None:
        """Say the state that a round begins with."""
        if not run.begins_round:
            return
        state = run.state
        line = f"round {state.round:>4}  step {state.iteration:>6}  objective {state.objective:.8g}"
        if state.lower_bound is not None and math.isfinite(state.lower_bound):
            line += f"  gap {relative_gap(state.objective, state.lower_bound):.1e}"
        self._say(line)


_watchers: ContextVar[tuple[Listener, ...]] = ContextVar("gdaopt_watchers", default=())


@contextmanager
def watched(say: Callable[[str], object]) -> Iterator[None]:
    """Say how far the runs are that begin in the block, also those inside of estimators."""
    token = _watchers.set((Printer(say),))
    try:
        yield
    finally:
        _watchers.reset(token)


def list_listeners(method: Method) -> list[Listener]:
    """Return who else hears of a run: its printer, its callback, and who watches from outside."""
    printer = [Printer(partial(print, flush=True))] if method.verbose else []
    caller = [] if method.callback is None else [Caller(method.callback)]
    return [*printer, *caller, *_watchers.get()]


class Caller(Listener):
    """Asks a callback of the user about each state."""

    def __init__(self, callback: Callable[[State], Change | bool | None]) -> None:
        self._callback = callback

    def stepped(self, run: Run) -> Change | bool | None:
        """Return what the callback returns."""
        return self._callback(run.state)


@contextmanager
def calculating(multiplications: int) -> Iterator[None]:
    """Set the context in which steps calculate: memory, threads, no warnings about numbers.

    Threads gain little if a product of matrices has few multiplications.
    """
    keep_freed_memory()
    threads = single_threaded() if multiplications <= _SMALL else nullcontext()
    with threads, np.errstate(all="ignore"):
        yield
