"""One `solve` over all methods: it runs a method until a rule ends the run, a limit or the user."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from gdaopt.certificate import certify_point
from gdaopt.errors import (
    InfeasibleProblemError,
    InvalidInputError,
    LeftDomainError,
    SolverFailedError,
    TimeLimitError,
)
from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.gershgorin import comparison_matrix
from gdaopt.linalg.laplacian import edge_threshold, n_components
from gdaopt.linalg.masked import MaskedMatrix, Symmetric
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
from gdaopt.result import Result, Status, block_of
from gdaopt.support.deadline import unlimited
from gdaopt.support.resources import keep_freed_memory, single_threaded
from gdaopt.support.text import shortened
from gdaopt.support.validation import FloatArray, check_instance, check_name, read_only
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


def solve(
    problem: MetricProblem,
    method: str | Method | None = None,
    **options: Any,
) -> Result:
    """Solve a problem.

    Parameters
    ----------
    problem : MetricProblem
        Objective and feasible set.
    method : str or Method, optional
        A name, or an object of the class in `gdaopt.methods`, which lists the options:
        ``"certified"`` (`Certified`, the optimum with a proof), ``"balanced"`` (`Balanced`),
        ``"alternating"`` (`Alternating`, the paper's method), ``"joint"`` (`Joint`),
        ``"frank-wolfe"`` (`FrankWolfe`), ``"sdp-frank-wolfe"`` (`SemidefiniteFrankWolfe`),
        ``"sdp"`` (`Semidefinite`), ``"socp"`` (`SecondOrder`), ``"projected-gradient"``
        (`ProjectedGradient`) and ``"projected-newton"`` (`ProjectedNewton`). By default it is
        ``"certified"``, or ``"alternating"`` where the options name a `solver`.
    **options
        Options of the named method; with an object they belong in its constructor.

    Returns
    -------
    Result

    Raises
    ------
    TypeError
        For options beside a method object.
    InvalidInputError
        For a bad option, or a problem whose objective carries no information at the start; for an
        objective of one's own whose gradient is wrong.
    GdaoptError
        When a value is below a lower bound, so that the gradient of the objective is wrong or the
        objective is not convex.
    SolverNotFoundError
        When the solver does not work here.

    Examples
    --------
    >>> import gdaopt as gda
    >>> glr = gda.GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
    >>> problem = gda.MetricProblem(glr, gda.GraphMetrics(trace_bound=4.0))
    >>> result = gda.solve(problem, "alternating", solver="HIGHS")
    >>> result.objective < result.trace[0].objective
    True
    """
    check_instance("problem", problem, MetricProblem)
    chosen = make_method(method, **options)
    from gdaopt.wide import solve as wide
    from gdaopt.wide.features import has_many_features

    if isinstance(chosen, Certified) and chosen.initial is None and has_many_features(problem):
        with _calculating(problem):
            return wide.solve(problem, chosen)
    return run_method(chosen, problem)


def run_method(method, problem):
    with _calculating(problem):
        return _run(method, problem)


def iterate_method(method, problem):
    return _states(method, problem)


def iterate(
    problem: MetricProblem, method: str | Method | None = None, **options: Any
) -> Iterator[State]:
    """Yield the state of a run after each step, for teaching and for loops of one's own.

    Parameters
    ----------
    problem, method, **options
        As for `solve`; callbacks, traces and interrupts are the caller's own business here.

    Yields
    ------
    State
        The start, then the state after each step, until the run ends or reaches a limit.

    Raises
    ------
    TypeError, InvalidInputError, SolverNotFoundError
        As `solve`.
    LeftDomainError, SolverFailedError, InfeasibleProblemError
        When a step leads outside of the set, the linear constraints or the objective's domain, or a
        program cannot be solved; `solve` returns the metric before it instead.

    Examples
    --------
    >>> import gdaopt as gda
    >>> glr = gda.GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
    >>> problem = gda.MetricProblem(glr, gda.GraphMetrics(trace_bound=4.0))
    >>> for state in gda.iterate(problem, "alternating", solver="analytic", max_iterations=2):
    ...     print(state.iteration, state.phase, round(state.objective, 3))
    0 start 1.085
    1 diagonal 0.538
    2 diagonal 0.538
    """
    check_instance("problem", problem, MetricProblem)
    return _states(make_method(method, **options), problem)


def make_method(method: str | Method | None, **options: Any) -> Method:
    """Return a method by its name, or an object; refuse what is unknown, naming the nearest.

    None is ``"certified"``, or ``"alternating"`` where a solver is named: the former has programs
    to solve only where its own option `pricing` says so.
    """
    if method is None:
        has_programs = options.get("solver") is not None and "pricing" not in options
        method = Alternating.name if has_programs else Certified.name
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
    known = METHODS[method].__dataclass_fields__
    for option in options:
        check_name(f"option of method {method!r}:", option, known)
    return METHODS[method](**options)


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
    metric, feasible_set = best.known_metric, problem.feasible_set
    features, block = None, metric
    if isinstance(metric, MaskedMatrix):
        features, block = block_of(metric.sparse(), feasible_set.min_eigenvalue)
    threshold = edge_threshold(feasible_set.trace_bound, problem.n_features)
    atoms = None if best.atoms is None else _array_of(best.atoms, metric)
    weights = None if best.weights is None else read_only(best.weights.copy())
    return Result(
        block=block,
        features=features,
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
        constraints=() if problem.rows is None else problem.rows.names,
        constraint_violation=None if problem.rows is None else problem.rows.violation(best.metric),
    )


def _array_of(atoms: Atoms, metric: Symmetric) -> FloatArray | csr_array:
    """Return atoms as an array, beside a metric that is none as a sparse one."""
    if isinstance(metric, MaskedMatrix):
        return atoms.sparse(len(metric))
    return read_only(atoms.dense(len(metric)).copy())


def _states(method: Method, problem: MetricProblem) -> Iterator[State]:
    """Yield the states of a run one by one, until it ends or reaches a limit."""
    method.check(problem)
    clock = Clock(method.time_limit)
    states = method.states(problem, clock)
    try:
        with unlimited(), _calculating(problem):
            state = _next(states)
            conditions = PostConditions(problem, state, is_users=method.initial is not None)
            conditions.check_start()
        while True:
            yield state
            _check_limits(method, problem, state, clock)
            with clock.limiting(), _calculating(problem):
                state = _next(states)
            with unlimited(), _calculating(problem):
                conditions.check(state, in_full=True)
    except TimeLimitError:
        return
    except RunEnded as end:
        if end.status in _TO_THE_END:
            with unlimited(), _calculating(problem):
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
def _calculating(problem: MetricProblem) -> Iterator[None]:
    """Set the context in which steps calculate: memory, threads, no warnings about numbers."""
    keep_freed_memory()
    # Many features meet in products of N×N and N×K numbers, others in those of K×K.
    size = problem.n_features
    rows = problem.objective.n_samples if problem.is_wide else size
    threads = single_threaded() if rows**2 * size <= _SMALL else nullcontext()
    with threads, arithmetic_unwarned():
        yield
