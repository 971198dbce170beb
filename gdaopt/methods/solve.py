"""One `solve` over all methods: it runs a method until a rule ends the run, a limit or the user."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np

from gdaopt.certificate import certify_point
from gdaopt.errors import (
    InfeasibleProblemError,
    InvalidInputError,
    LeftDomainError,
    SolverFailedError,
    TimeLimitError,
)
from gdaopt.linalg.gershgorin import comparison_matrix
from gdaopt.linalg.laplacian import edge_threshold, n_components
from gdaopt.methods.alternating import Alternating
from gdaopt.methods.balanced import Balanced
from gdaopt.methods.base import Method
from gdaopt.methods.certified import Certified
from gdaopt.methods.conic import SecondOrder, Semidefinite, SemidefiniteFrankWolfe
from gdaopt.methods.frank_wolfe import FrankWolfe
from gdaopt.methods.joint import Joint
from gdaopt.methods.post_conditions import PostConditions
from gdaopt.methods.projected_gradient import ProjectedGradient
from gdaopt.methods.projected_newton import ProjectedNewton
from gdaopt.methods.state import Clock, RunEnded, State
from gdaopt.methods.tracer import Tracer
from gdaopt.problem import MetricProblem
from gdaopt.result import Result, Status
from gdaopt.support.deadline import unlimited
from gdaopt.support.resources import keep_freed_memory, single_threaded
from gdaopt.support.text import shortened
from gdaopt.support.validation import check_name, read_only
from gdaopt.support.warning_filters import arithmetic_unwarned

_ALL: tuple[type[Method], ...] = (
    Alternating,
    Joint,
    Certified,
    Balanced,
    FrankWolfe,
    Semidefinite,
    SecondOrder,
    SemidefiniteFrankWolfe,
    ProjectedGradient,
    ProjectedNewton,
)
METHODS: dict[str, type[Method]] = {method.name: method for method in _ALL}

_TO_THE_END = ("converged", "stationary", "stalled", "iteration_limit")  # with time to look back
_SMALL = 512**3  # multiplications of a matrix product or a decomposition: threads gain little


def make_method(method: str | Method | None, **options: Any) -> Method:
    """Return a method by its name, or an object; refuse what is unknown, naming the nearest.

    None is ``"certified"``, or ``"alternating"`` if a solver is named.
    """
    if method is None:
        method = Certified.name if options.get("solver") is None else Alternating.name
    if isinstance(method, Method):
        if options:
            raise TypeError(
                f"options {sorted(options)} go to the constructor of {type(method).__name__}, "
                "not to solve, when the method is an object"
            )
        return method
    if not isinstance(method, str):
        raise InvalidInputError(
            f"method must be a name or a method object, got {shortened(method)}"
        )
    check_name("method", method, METHODS)
    names = METHODS[method].__dataclass_fields__
    if "solver" not in names and options.get("solver", "") is None:
        del options["solver"]
    for option in options:
        if option in ("solver", "solver_opts") and "solver" not in names:
            raise InvalidInputError(
                f"unknown option of method {method!r}: {option!r}; it has no programs to solve: "
                "leave the solver out, or choose a method that solves a program in each step, such "
                "as 'alternating'"
            )
        check_name(f"option of method {method!r}:", option, names)
    return METHODS[method](**options)


def run(method: Method, problem: MetricProblem) -> Result:
    """Run a method until a rule ends the run, a limit or the user."""
    with calculating(problem.n_features**3):
        return _run(method, problem)


def _run(method: Method, problem: MetricProblem) -> Result:
    method.check(problem)
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
        conditions.claim(*tracer.claimed)
    solved_by = Counter[str]()
    status: Status
    try:
        with clock.paused():
            goes_on = _show(method, state, True)
        while True:
            _check_limits(method, problem, state, clock)
            if not goes_on:
                raise RunEnded("interrupted", f"by the callback after step {state.iteration}")
            with clock.limiting():
                following = _next(states)
            seconds = clock.seconds
            with clock.paused():
                begins = following.round != state.round
                conditions.check(following, in_full=begins or tracer.is_due(following))
                tracer.record(following, seconds)
                conditions.claim(*tracer.claimed)
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
            status = "time_limit"  # solvers get the remaining time, and fail when it is not enough
    except LeftDomainError as error:
        status, message = "left_domain", str(error)
    seconds = clock.seconds
    with clock.paused():
        try:
            conditions.check(state, in_full=True)
        except LeftDomainError as error:
            status, message, state = "left_domain", str(error), conditions.in_order
        trace = tracer.trace(state, seconds)
        conditions.claim(*tracer.claimed)
        if status in _TO_THE_END and not clock.is_over:
            conditions.check_end(state)
        best = conditions.best(state)
        stationary = tracer.frank_wolfe_gap  # methods that stall do not look at it
        if best is not state or status == "left_domain":
            message += f"; the result is the best state, that after step {best.iteration}"
        if best is not state and stationary is not None:
            stationary = certify_point(problem, best.point).frank_wolfe_gap
    may_be = status == "stalled" or (status == "stationary" and best is not state)
    if stationary is not None and may_be:
        is_stationary = stationary <= method.allowed_gap(best.objective)
        status = "stationary" if is_stationary else "stalled"
    lower_bound = min(tracer.lower_bound, best.objective)
    metric, feasible_set = best.metric, problem.feasible_set
    threshold = edge_threshold(feasible_set.trace_bound, problem.n_features)
    atoms = None if best.atoms is None else read_only(best.atoms.dense(len(metric)).copy())
    weights = None if best.weights is None else read_only(best.weights.copy())
    return Result(
        block=metric,
        feasible_set=feasible_set,
        objective=best.objective,
        status=status,
        message=message,
        # None rather than -inf, which JSON does not know.
        lower_bound=lower_bound if lower_bound > -math.inf else None,
        frank_wolfe_gap=stationary,
        components=n_components(comparison_matrix(metric), threshold),
        iterations=state.iteration,
        oracle_calls=state.oracle_calls,
        eigen_decompositions=state.eigen_decompositions,
        repair_distance=best.repair_distance,
        seconds=seconds,
        tracing_seconds=clock.paused_seconds,
        method=method.name,
        solver=method.solver_name,
        solved_by=dict(solved_by),
        trace=trace,
        atoms=atoms,
        weights=weights,
        colors=None if best.colors is None else read_only(best.colors.copy()),
        multipliers=tracer.multipliers,
        constraints=problem.members.names,
        constraint_violation=problem.members.violation(best.metric),
    )


def states_of(method: Method, problem: MetricProblem) -> Iterator[State]:
    """Yield the states of a run one by one, until it ends or reaches a limit."""
    method.check(problem)
    clock = Clock(method.time_limit)
    states = method.states(problem, clock)
    try:
        with unlimited(), calculating(problem.n_features**3):
            state = _next(states)
            conditions = PostConditions(problem, state, is_users=method.initial is not None)
            conditions.check_start()
        while True:
            yield state
            _check_limits(method, problem, state, clock)
            with clock.limiting(), calculating(problem.n_features**3):
                state = _next(states)
            with unlimited(), calculating(problem.n_features**3):
                conditions.check(state, in_full=True)
    except TimeLimitError:
        return
    except RunEnded as end:
        if end.status in _TO_THE_END:
            with unlimited(), calculating(problem.n_features**3):
                conditions.check_end(state)
        return


def _next(states: Iterator[State]) -> State:
    """Return the next state; end the run at the one before where there is none."""
    state = next(states, None)
    if state is None:
        raise RunEnded("stalled", "stopped: the method has no more steps to take")
    return state


def _check_limits(method: Method, problem: MetricProblem, state: State, clock: Clock) -> None:
    """Raise RunEnded or TimeLimitError when the run has converged or a limit is reached."""
    if method.is_converged(problem, state):
        if not problem.objective.convex:
            raise RunEnded(
                "stationary",
                f"a stationary point: its Frank–Wolfe gap is {state.frank_wolfe_gap:.3g}, within "
                "the tolerances; the objective is not convex, and has no lower bound",
            )
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


@contextmanager
def calculating(multiplications: int) -> Iterator[None]:
    """Set the context in which steps calculate: memory, threads, no warnings about numbers.

    Threads gain little where a product of matrices has few multiplications.
    """
    keep_freed_memory()
    threads = single_threaded() if multiplications <= _SMALL else nullcontext()
    with threads, arithmetic_unwarned():
        yield
