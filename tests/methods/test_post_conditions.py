"""The driver lets no state pass that breaks what all states must keep, whatever the method is."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import count, cycle, product
from types import SimpleNamespace
from typing import Any, ClassVar, cast

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.methods import METHODS, Context
from gdaopt.methods.base import States
from gdaopt.methods.context import Ending
from gdaopt.methods.post_conditions import PostConditions
from gdaopt.objectives.protocol import Point
from gdaopt.support.validation import FloatArray
from tests.certificate_cases import named_set
from tests.fuzz.objectives import OBJECTIVES as RANDOM
from tests.fuzz.objectives import objective_of
from tests.methods.certified_cases import Nearest
from tests.methods.run_cases import ALIGNED

K, C = 3, 3.0
X = np.random.default_rng(0).standard_normal((8, K)) / 2
TARGET = np.array([[2.0, -0.5, 0.0], [-0.5, 1.0, -0.2], [0.0, -0.2, 0.1]])
TRIPLETS = [[0, 2, 1], [1, 3, 0], [4, 6, 5]]
OBJECTIVES: dict[str, Callable[[], Any]] = {
    **{name: partial(objective_of, name, K, 1.0, np.random.default_rng(0)) for name in RANDOM},
    "TripletHinge": lambda: gda.TripletHinge(X, TRIPLETS),
    "LogisticTriplets": lambda: gda.LogisticTriplets(X, TRIPLETS),
    "DenseObjective": lambda: Nearest(TARGET),
}
SETS = ["diagonal", "graph", "positive definite", "signed", "sdd", "fixed path", "mask"]


@cache
def objective(name: str) -> Any:
    return OBJECTIVES[name]()


def feasible_set(name: str) -> gda.sets.FeasibleSet:
    if name == "mask":
        return gda.GraphMetrics(C, 0.01, edges=[[0, 1]])
    return named_set(name, K, C)


class Moved:
    """A point that says that it is elsewhere, or of another value."""

    def __init__(self, point: Point, **said: Any) -> None:
        self._point = point
        vars(self).update(said)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._point, name)


def at(state: gda.methods.State, metric: FloatArray) -> gda.methods.State:
    point: Any = Moved(state.point, metric=metric)
    return replace(state, point=point)


def of_value(state: gda.methods.State, value: float) -> gda.methods.State:
    point: Any = Moved(state.point, value=value)
    return replace(state, point=point)


FAULTS: dict[str, tuple[Callable[[gda.methods.State], gda.methods.State], str]] = {
    "trace": (lambda s: at(s, s.metric + C * np.eye(K)), "exceeds the bound 3|fixed part"),
    "eigenvalue": (lambda s: at(s, s.metric - C * np.eye(K)), "smallest eigenvalue .*-.* is below"),
    "not symmetric": (lambda s: at(s, s.metric + np.eye(K, k=1)), "is not symmetric"),
    "row": (lambda s: at(s, np.diag([2.0, 0.5, 0.5])), r"M\[0, 0\] <= 1.5: off by 0.5"),
    "NaN in the metric": (lambda s: at(s, math.nan * s.metric), "metric are not finite"),
    "NaN as value": (lambda s: of_value(s, math.nan), "the objective is nan"),
    "infinite value": (lambda s: of_value(s, math.inf), "the objective is inf"),
}
"""What is done to a state, and what the message has to say."""

CONTRADICTIONS: dict[str, Callable[[gda.methods.State], gda.methods.State]] = {
    "value below a bound": lambda s: of_value(s, -1e6 * (1 + abs(s.objective))),
    "bound above a value": lambda s: replace(s, lower_bound=2 * abs(s.objective) + 1),
}


def struck(
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    change: Callable[[gda.methods.State], gda.methods.State],
    step: int,
) -> None:
    """Let a method yield a state that has been changed as the given one."""
    original = METHODS[method].states

    def states(self: gda.methods.Method, problem: gda.MetricProblem, context: Context) -> States:
        steps = original(self, problem, context)
        for n in count():
            try:
                state = next(steps)
            except StopIteration as end:
                return cast(Ending, end.value)
            yield change(state) if n == step else state
        raise AssertionError

    monkeypatch.setattr(METHODS[method], "states", states)


def case(
    method: str, objective_name: str, set_name: str, with_row: bool
) -> tuple[gda.MetricProblem, dict[str, Any]]:
    """Return a problem and options for a method; with another set or objective if it needs one."""
    if method in ALIGNED and set_name != "mask":
        set_name = "graph"
    if method == "balanced":
        set_name = "sdd"
    if method == "socp" and set_name == "positive definite":
        set_name = "signed"
    if method == "projected-newton" and set_name == "sdd":  # whose members keep more than signs
        set_name = "signed"
    if method == "projected-newton":  # which needs a barrier
        objective_name = "LogDet"
    if with_row and set_name == "fixed path":  # whose members have larger diagonals
        set_name = "graph"
    options: dict[str, Any] = {"tolerance": 0.0, "max_iterations": 3}
    if method in (*ALIGNED, "sdp-frank-wolfe") and not with_row:
        options["solver"] = "analytic"
    rows: Any = (lambda M: [M[0, 0] <= C / 2]) if with_row else None
    return gda.MetricProblem(objective(objective_name), feasible_set(set_name), rows), options


EVERYWHERE = list(product([*FAULTS, *CONTRADICTIONS], sorted(METHODS)))


@pytest.mark.covering(1)
@pytest.mark.parametrize(
    ("fault", "method", "objective_name", "set_name"),
    [  # objectives and sets take turns
        (*where, objective_name, set_name)
        for where, objective_name, set_name in zip(EVERYWHERE, cycle(OBJECTIVES), cycle(SETS))
    ],
)
def test_a_state_that_is_not_in_order_ends_the_run(
    fault: str, method: str, objective_name: str, set_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_row = fault == "row"
    if with_row and "linear constraints" not in METHODS[method].takes:
        pytest.skip("the method refuses linear constraints")
    problem, options = case(method, objective_name, set_name, with_row)
    if fault in CONTRADICTIONS:
        match = r"below .* bound .*check_objective.*convex=False"
        struck(monkeypatch, method, CONTRADICTIONS[fault], 1)
        with pytest.raises(gda.errors.GdaoptError, match=match):
            gda.solve(problem, method, **options)
        struck(monkeypatch, method, CONTRADICTIONS["bound above a value"], 0)  # for those without
        with pytest.raises(gda.errors.GdaoptError, match=match):
            list(gda.iterate(problem, method, **options))
        return
    change, says = FAULTS[fault]
    struck(monkeypatch, method, change, 1)
    result = gda.solve(problem, method, **options)
    assert result.status == "left_domain"
    assert result.iterations == len(result.trace) - 1 == 0
    assert not problem.violations(result.metric)
    assert result.objective == pytest.approx(problem.objective.at(result.metric).value)
    assert result.message.startswith("step 1 left the domain of the problem: ")
    assert result.message.endswith("; the result is the best state, that after step 0")
    assert re.search(says, result.message)
    states = gda.iterate(problem, method, **options)
    next(states)
    with pytest.raises(gda.errors.LeftDomainError, match=says):
        next(states)


@pytest.mark.parametrize("fault", sorted(FAULTS.keys() - {"row"}))
@pytest.mark.parametrize("method", ["certified", "joint"])
def test_a_start_that_is_not_in_order(
    method: str, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem, options = case(method, "GLR", "graph", False)
    change, says = FAULTS[fault]
    struck(monkeypatch, method, change, 0)
    for given, error in (
        (None, gda.errors.LeftDomainError),
        (np.eye(K), gda.errors.InvalidInputError),
    ):
        with pytest.raises(error, match=says) as found:
            gda.solve(problem, method, initial=given, **options)
        assert type(found.value) is error
        with pytest.raises(error, match=says):
            next(gda.iterate(problem, method, initial=given, **options))


@pytest.mark.parametrize("fault", ["trace", "eigenvalue", "NaN as value"])
@pytest.mark.parametrize("trace_every", [0, 2, 100])
def test_states_without_a_row_of_the_trace(
    trace_every: int, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last state is always looked at, and the first of each round; the result is in order."""
    problem, options = case("frank-wolfe", "GLR", "graph", False)
    for step, most in ((3, 3), (K + 1, 4 * K)):
        with monkeypatch.context() as patch:
            struck(patch, "frank-wolfe", FAULTS[fault][0], step)
            options |= {"trace_every": trace_every, "max_iterations": most}
            result = gda.solve(problem, "frank-wolfe", **options)
        assert result.status == "left_domain"
        assert f"step {step} left the domain" in result.message
        assert result.iterations < step
        assert result.trace[-1].iteration == result.iterations
        assert not problem.violations(result.metric)
        assert result.objective == pytest.approx(problem.objective.at(result.metric).value)


def test_a_step_out_of_the_objectives_domain() -> None:
    """A full step leads to a vertex, which is singular; the run had stalled there, it said."""
    problem = gda.MetricProblem(gda.LogDet(np.eye(2)), gda.GraphMetrics(4.0, 0.0))
    result = gda.solve(problem, "joint", step="full", solver="analytic")
    assert result.status == "left_domain"
    assert result.message == (
        "step 1 left the domain of the problem: the objective is inf; "
        "the result is the best state, that after step 0"
    )


def states_at(
    problem: gda.MetricProblem, *metrics: FloatArray, per_round: int = 1
) -> list[gda.methods.State]:
    return [
        gda.methods.State(point=problem.objective.at(metric), iteration=n, round=n // per_round)
        for n, metric in enumerate(metrics)
    ]


def run_at(problem: gda.MetricProblem, state: gda.methods.State, lower_bound: float) -> Any:
    """Return a run that stands at a state, which is the first of a round."""
    return SimpleNamespace(
        problem=problem,
        state=state,
        method=gda.methods.Certified(),
        context=Context(),
        begins_round=True,
        claimed=(lower_bound, None),
    )


def started(
    problem: gda.MetricProblem, start: gda.methods.State, lower_bound: float = -np.inf
) -> PostConditions:
    """Return the post-conditions of a run that stands at a start."""
    conditions = PostConditions()
    conditions.started(run_at(problem, start, lower_bound))
    return conditions


def test_metrics_that_are_outside_of_the_set_by_round_off_may_be_below_the_optimum() -> None:
    """Each by what it is outside, and not by what another one is."""
    problem = gda.MetricProblem(gda.Linear(-np.eye(K)), gda.GraphMetrics(C))
    first, second, third = states_at(
        problem, *(C / K * share * np.eye(K) for share in (1.0, 1 + 2e-13, 1 + 8e-13))
    )
    conditions = started(problem, first, lower_bound=-C)
    for state in (second, third):
        conditions.stepped(run_at(problem, state, -C))
    assert conditions.last_checked is third
    assert third.objective < second.objective < -C
    with pytest.raises(gda.errors.GdaoptError, match="below the certified lower bound"):
        conditions.check_lower_bound(-C * (1 - 1e-12), None)


def test_the_largest_of_all_bounds_counts() -> None:
    problem = gda.MetricProblem(gda.Linear(-np.eye(K)), gda.GraphMetrics(C))
    first, second = states_at(problem, 0.3 * C / K * np.eye(K), 0.5 * C / K * np.eye(K))
    conditions = started(problem, first)
    for lower_bound in (-0.4 * C, -0.9 * C):  # the second is weaker
        conditions.check_lower_bound(lower_bound, None)
    with pytest.raises(gda.errors.GdaoptError, match="below the certified lower bound"):
        conditions.stepped(run_at(problem, second, -0.9 * C))


def test_what_counts_as_round_off_is_that_of_the_largest_bound() -> None:
    """Multipliers of rows that are large have a larger one than others."""
    problem = gda.MetricProblem(
        gda.Linear(np.diag([-1.0, 0.0])), gda.GraphMetrics(C), constraints=lambda M: [M[0, 0] <= 1]
    )
    first, second = states_at(problem, 0.5 * np.eye(2), np.diag([1.0, 0.5]))
    conditions = started(problem, first)
    conditions.stepped(run_at(problem, second, -np.inf))
    conditions.check_lower_bound(math.nextafter(-1.0, 0.0), np.zeros(1))
    conditions.check_lower_bound(-1.0 + 1e-8, np.array([1e9]))
    with pytest.raises(gda.errors.GdaoptError, match="below the certified lower bound"):
        conditions.check_lower_bound(-1.0 + 2e-8, np.ones(1))


def test_the_best_state_is_the_last_one_but_for_more_than_round_off() -> None:
    problem = gda.MetricProblem(Nearest(TARGET), gda.GraphMetrics(C))
    first, second, third = states_at(
        problem, np.eye(K), (1 - 8e-15) * np.eye(K), (1 - 1e-6) * np.eye(K)
    )
    conditions = started(problem, first)
    assert first.objective < second.objective < third.objective
    for state in (second, third):
        conditions.stepped(run_at(problem, state, -np.inf))
    assert conditions.best(second) is second
    assert conditions.best(third) is first


@pytest.mark.parametrize("every", [1, 0, 2])
@pytest.mark.parametrize(("most", "status"), [(3, "iteration_limit"), (None, "interrupted")])
def test_a_run_that_goes_up_returns_its_best_state(
    most: int | None, status: str, every: int
) -> None:
    """Open-loop steps of length 1 jump from vertex to vertex; the trace shows them all."""
    problem = gda.MetricProblem(Nearest(TARGET), gda.GraphMetrics(40.0))
    seen = list[gda.methods.State]()

    def callback(state: gda.methods.State) -> bool:
        seen.append(state)
        return state.iteration < 3

    initial = TARGET + 0.2 * np.eye(K)
    options: dict[str, Any] = {"step": "full", "max_iterations": most, "trace_every": every}
    result = gda.solve(problem, "frank-wolfe", initial=initial, callback=callback, **options)
    start, last = seen[0], seen[-1]
    assert start.objective < min(state.objective for state in seen[1:])
    assert (result.status, result.iterations, last.iteration) == (status, 3, 3)
    assert result.trace[-1].objective == last.objective
    assert result.objective == start.objective
    np.testing.assert_array_equal(result.metric, start.metric)
    assert result.lambda_min == result.trace[0].lambda_min
    assert result.message.endswith("; the result is the best state, that after step 0")
    assert "best state" not in gda.solve(problem, "certified", initial=initial).message


@dataclass(frozen=True, kw_only=True, eq=False)
class Visitor(gda.methods.Method):
    """A method of one's own that goes to given metrics, and then says what it says."""

    name: ClassVar[str] = "visitor"
    metrics: Any
    says: Any = "stalled"
    per_round: int = 1

    def states(self, problem: gda.MetricProblem, context: Context) -> States:
        yield from states_at(problem, *self.metrics, per_round=self.per_round)
        return self.says, "so it says"


def test_a_run_that_leaves_the_domain_within_a_round_ends_at_the_step_before() -> None:
    """Which was not checked in full at its time, and is then."""
    problem = gda.MetricProblem(Nearest(TARGET), gda.GraphMetrics(C))
    metrics = [np.eye(K), 0.9 * np.eye(K), 1e200 * np.eye(K)]  # whose squares overflow
    options: dict[str, Any] = {"metrics": metrics, "per_round": 5, "trace_every": 0}
    with np.errstate(over="ignore"):
        result = gda.solve(problem, Visitor(**options))
    assert (result.status, result.iterations) == ("left_domain", 1)
    assert result.trace[-1].objective == problem.objective.value(metrics[1])


def test_the_lower_bound_of_a_result_is_not_above_its_best_state() -> None:
    """Which is outside of the set by round-off, so that its value is below the optimum."""
    problem = gda.MetricProblem(gda.Linear(-np.eye(K)), gda.GraphMetrics(C))
    metrics = [C / K * share * np.eye(K) for share in (1 + 2e-13, 0.5)]
    result = gda.solve(problem, Visitor(metrics=metrics))
    assert result.objective < -C
    assert result.lower_bound == result.objective


def test_a_best_state_that_is_not_stationary_is_not_called_so() -> None:
    """The last one is a saddle point, of a larger value."""

    def concave(metric: FloatArray) -> tuple[float, FloatArray]:
        return -float(np.vdot(metric, metric)), -2 * metric

    objective = gda.FunctionObjective(concave, n_features=K, convex=False)
    problem = gda.MetricProblem(objective, gda.DiagonalMetrics(C, 0.0))
    metrics = [np.diag([0.8, 0.1, 0.1]) * C, C / K * np.eye(K)]
    saddle = gda.solve(problem, Visitor(metrics=metrics[1:], says="stationary"))
    assert saddle.status == "stationary"
    assert saddle.frank_wolfe_gap == pytest.approx(0, abs=1e-12)
    result = gda.solve(problem, Visitor(metrics=metrics, says="stationary"))
    np.testing.assert_array_equal(result.metric, metrics[0])
    assert result.status == "slow_progress"
    assert result.frank_wolfe_gap == pytest.approx(0.28 * C**2)
