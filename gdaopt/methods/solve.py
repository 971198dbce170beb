"""All methods by name, and what `gdaopt.solve` and `gdaopt.iterate` make of a run."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from gdaopt.certificate import certify_point
from gdaopt.errors import InvalidInputError
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
from gdaopt.methods.run import Proof, Run, calculating, list_listeners
from gdaopt.methods.tracer import Tracer
from gdaopt.objectives.protocol import Point
from gdaopt.problem import MetricProblem
from gdaopt.result import Result
from gdaopt.state import State
from gdaopt.status import MADE_NO_PROGRESS
from gdaopt.support.text import shortened
from gdaopt.support.validation import check_name, read_only

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
_CUT_SHORT = ("failed", "interrupted", "time_limit")  # runs that must not go on computing
METHODS: dict[str, type[Method]] = {method.name: method for method in _ALL}


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


def run(method: Method, problem: MetricProblem) -> tuple[Result, Point]:
    """Run a method until a rule ends the run, a limit or the user.

    Beside the result, the objective at its metric is returned: who asks for the gradient there
    needs no second evaluation.
    """
    conditions = PostConditions()
    tracer = Tracer(keep_iterates=method.keep_iterates, columns=method.trace_columns or {})
    with calculating(problem.n_features**3):
        steps = Run(method, problem, [conditions, tracer, *list_listeners(method)])
        try:
            for _ in steps:
                pass
            with steps.context.paused():
                steps.prove()
                conditions.check_lower_bound(*steps.claimed)
        except Exception as error:
            steps.ending = "failed", f"after step {steps.state.iteration}: {error!r}"
            vars(error)["result"] = _result(steps, conditions.best(steps.state), tracer)
            raise
        best = conditions.best(steps.state)
        return _result(steps, best, tracer), best.point


def find_end(method: Method, problem: MetricProblem) -> State:
    """Return the last state of a run that is not recorded, nor checked beyond its own bounds."""
    with calculating(problem.n_features**3):
        steps = Run(replace(method, trace_every=0), problem, list_listeners(method))
        for _ in steps:
            pass
    return steps.state


def run_stepwise(method: Method, problem: MetricProblem) -> Iterator[State]:
    """Yield the states of a run one by one, until it ends or reaches a limit."""
    # Whoever takes the states gets none that has not been checked in full.
    steps = Run(replace(method, trace_every=1), problem, [PostConditions()])
    yield from steps
    if steps.error is not None:
        raise steps.error


def _result(run: Run, best: State, tracer: Tracer) -> Result:
    """Put together what a run has reached: its best state, its end and its trace."""
    assert run.ending is not None
    status, message = run.ending
    state, problem, method = run.state, run.problem, run.method
    proof = Proof(-math.inf, None, None) if status == "failed" else run.prove()
    if best is not state or status == "left_domain":
        message += f"; the result is the best state, that after step {best.iteration}"
    stationary = proof.frank_wolfe_gap  # which methods that stop do not look at
    if stationary is not None:
        if best is not state:
            stationary = certify_point(problem, best.point).frank_wolfe_gap
        if stationary <= method.allowed_gap(best.objective):
            status = "stationary" if status in MADE_NO_PROGRESS else status
        elif status == "stationary" and best is not state:
            status = "slow_progress"
    lower_bound = min(proof.lower_bound, best.objective)
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
        seconds=run.context.seconds,
        tracing_seconds=run.context.paused_seconds,
        method=method.name,
        solver=method.solver,
        solved_by=dict(tracer.solved_by),
        trace=tracer.trace,
        atoms=atoms,
        weights=weights,
        colors=None if best.colors is None else read_only(best.colors.copy()),
        multipliers=tracer.multipliers,
        constraints=problem.members.names,
        central_objective=None if status in _CUT_SHORT else problem.central_objective(),
        constraint_violation=problem.members.violation(best.metric),
    )
