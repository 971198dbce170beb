"""Time limits over all methods and objectives: at most one evaluation is begun after the limit.

The clock of these tests goes on by a second in each evaluation of the objective, and stands still
otherwise: what is measured is the number of evaluations.
"""

import math
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import gdaopt as gda
from gdaopt.linalg import projection, spectrum
from gdaopt.methods import conic, context
from gdaopt.objectives.log_det import LogDetPoint
from gdaopt.objectives.pairs import RectanglePairs
from gdaopt.sets import FeasibleSet
from gdaopt.support import deadline
from gdaopt.support.validation import FloatArray
from tests.methods.certified_cases import Nearest
from tests.methods.run_cases import WAYS, FakeTime, before_each

OBJECTIVES = ("glr", "log-det", "dense")
METHODS = [
    *(way for way in WAYS if not way.endswith(("SCS", "ECOS", ", CLARABEL", "floor"))),
    *("balanced", "certified, definite"),
]
OVER = {"balanced": gda.SDDMetrics, "certified, definite": gda.PositiveDefiniteMetrics}
SIZE = 5
LIMITS = (0.5, 4.5, 20.5, 80.5)


def problem(objective: str, feasible_set: type[Any] = gda.GraphMetrics) -> gda.MetricProblem:
    rng = np.random.default_rng(5)
    X = rng.standard_normal((40, SIZE)) @ rng.standard_normal((SIZE, SIZE)) / SIZE
    made: dict[str, Callable[[], Any]] = {
        "glr": lambda: gda.GLR(X, np.where(X[:, 0] + X[:, 1] ** 2 > 0.5, 1.0, -1.0)),
        "log-det": lambda: gda.LogDet(np.cov(X.T, bias=True)),
        "dense": lambda: Nearest(np.cov(X.T, bias=True) + 3 * np.eye(SIZE)),
    }
    return gda.MetricProblem(made[objective](), feasible_set(10.0, 1e-3))


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> FakeTime:
    """A clock that counts evaluations of the objective."""
    clock = FakeTime.of(monkeypatch, deadline, context)
    # A pass over the pairs for the value, one for a gradient.
    passes = ("products", "scatter", "samples")
    # A multiple of a log-determinant is no evaluation of its own.
    costs = [
        *((RectanglePairs, name, 0.5) for name in passes),
        *((Nearest, name, 0.5) for name in ("value", "gradient")),
        (LogDetPoint, "scaled", -1.0),
    ]
    for owner, name, cost in costs:
        before_each(monkeypatch, owner, name, lambda *_, cost=cost: clock.advance(cost))
    made = LogDetPoint.__init__

    def evaluated(point: LogDetPoint, *arguments: Any) -> None:
        made(point, *arguments)  # which asks for the time first
        clock.advance(1.0)

    monkeypatch.setattr(LogDetPoint, "__init__", evaluated)
    return clock


def solve(objective: str, way: str, **options: Any) -> gda.Result:
    method, more = WAYS.get(way, (way.removesuffix(", definite"), {}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # inexact answers of conic solvers
        of_all = problem(objective, OVER.get(way, gda.GraphMetrics))
        return gda.solve(of_all, method, tolerance=0, **(more | options))


@cache
def best(objective: str, feasible_set: FeasibleSet) -> float:
    """The optimum, from a run without a limit; over SDD metrics the best of all colours."""
    over = type(feasible_set)
    method = "balanced" if over is gda.SDDMetrics else "certified"
    return gda.solve(problem(objective, over), method, tolerance=1e-9).objective


@pytest.mark.covering(1, 2)
@pytest.mark.parametrize("every", [0, 1])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_at_most_one_evaluation_after_the_limit(
    objective: str, method: str, every: int, counted: FakeTime
) -> None:
    for limit in LIMITS:
        counted.now = 0.0
        states: list[gda.methods.State] = []
        result = solve(
            objective, method, time_limit=limit, trace_every=every, callback=states.append
        )
        # An objective of the user's is looked at once more after the end.
        if counted.now < limit or (result.status == "inaccurate" and result.seconds < limit):
            assert result.status != "time_limit"
            assert limit > LIMITS[0]  # the first evaluation alone takes longer
            continue
        # What is under way, and an evaluation: that of the end, or the rest of the first.
        assert counted.now <= limit + 1.0 + (1.0 if result.iterations else 3.0)
        if result.status != "converged":  # in that evaluation
            assert result.status == "time_limit"
            assert result.message == f"time_limit = {limit:g} s reached"
        assert result.feasible_set.violations(result.metric) == ()
        np.testing.assert_array_equal(result.metric, states[-1].metric)
        assert result.objective == states[-1].objective == result.trace[-1].objective
        assert result.iterations == states[-1].iteration == result.trace[-1].iteration
        if result.lower_bound is not None:
            optimum = best(objective, result.feasible_set)
            assert result.lower_bound <= optimum + 1e-9 * abs(optimum)


@pytest.mark.parametrize("method", ["certified", "certified, first order"])
def test_a_round_that_is_cut_is_not_lost(method: str, counted: FakeTime) -> None:
    """The first round takes many evaluations; what it has found by the limit is the result."""
    used: list[float] = []
    start = {"initial": problem("log-det").central_metric()}  # not where Newton steps end
    solve("log-det", method, max_iterations=1, callback=lambda _: used.append(counted.now), **start)
    counted.now = 0.0
    result = solve("log-det", method, time_limit=used[-1] - 1.5, **start)
    assert (result.status, result.iterations) == ("time_limit", 1)
    assert result.objective < result.trace[0].objective
    assert result.lower_bound is not None
    assert result.lower_bound <= best("log-det", result.feasible_set)


@pytest.mark.parametrize("feasible_set", [gda.GraphMetrics, gda.PositiveDefiniteMetrics])
@pytest.mark.parametrize("method", ["certified", "frank-wolfe"])
def test_after_the_limit_no_eigenvalues_of_many_features(
    method: str, feasible_set: type[Any], counted: FakeTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither for the trace, nor for the price of an atom: a bound of an earlier step holds, too.

    With thousands of features they take much longer than an evaluation.
    """
    begun: list[float] = []
    original = scipy.linalg.eigh

    def noted(*arguments: Any, **options: Any) -> Any:
        begun.append(counted.now)
        return original(*arguments, **options)

    monkeypatch.setattr(spectrum, "_seconds", lambda: 1e-9)
    monkeypatch.setattr(spectrum, "eigh", noted)
    monkeypatch.setattr(spectrum, "_LARGE", 1)
    monkeypatch.setattr(spectrum, "LARGEST_DENSE", 1)
    of_all = problem("glr", feasible_set)
    optimum = gda.solve(of_all, "certified", tolerance=1e-9).objective
    for limit in LIMITS[:3]:
        counted.now = 0.0
        begun.clear()
        result = gda.solve(of_all, method, tolerance=0, time_limit=limit)
        assert result.status == "time_limit"
        assert max(begun, default=0.0) < limit
        assert result.trace[-1].objective == result.objective
        assert (result.trace[-1].lambda_min is None) == bool(
            np.isnan(result.trace.left_ends[-1, 0])
        )
        if (
            result.iterations and result.trace[-1].seconds > limit
        ):  # the last step was completed after the limit
            assert result.trace[-1].lambda_min is None
        if result.lower_bound is not None:
            assert result.lower_bound <= optimum * (1 + 1e-9)
        path = gda.trace.Trace.from_arrays(result.trace.to_arrays())
        assert path == result.trace


def test_a_step_without_prices_is_the_last(
    counted: FakeTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where some time is left, but less than the prices would take."""
    monkeypatch.setattr(spectrum, "_LARGE", 2)
    monkeypatch.setattr(
        spectrum, "_seconds", lambda: 16.0 / spectrum._UNCACHED * (spectrum._TIMED / SIZE) ** 3
    )
    of_all = problem("glr", gda.PositiveDefiniteMetrics)
    gaps: list[float] = []
    result = gda.solve(
        of_all,
        "frank-wolfe",
        tolerance=0,
        time_limit=40.5,
        callback=lambda state: gaps.append(state.frank_wolfe_gap),
    )
    assert max(gaps[:-1]) < gaps[-1] == math.inf  # that of the step before is none of the last
    assert result.status == "time_limit"
    assert result.message == "time_limit = 40.5 s reached"
    assert 40.5 - 16.0 <= counted.now <= 40.5 - 16.0 + 4.0
    assert result.lower_bound is not None


def test_a_projection_is_cut(counted: FakeTime, monkeypatch: pytest.MonkeyPatch) -> None:
    """A projection takes tens of eigen-decompositions, here of two seconds each."""
    original = projection.project_spectrum

    def slow(*arguments: Any) -> FloatArray:
        counted.now += 2.0
        return original(*arguments)

    monkeypatch.setattr(projection, "project_spectrum", slow)
    for limit in (5.0, 20.0, 50.0, 100.0):
        counted.now = 0.0
        result = solve("glr", "projected-gradient", time_limit=limit)
        assert result.status == "time_limit"
        assert limit <= counted.now <= limit + 3.0
        assert result.metric in result.feasible_set


@pytest.mark.parametrize(
    ("n_samples", "options", "expected"),
    [
        (60, {"time_limit": 60.0}, True),
        (60, {}, False),
        (60, {"time_limit": 60.0, "isolate": False}, False),
        (20, {"time_limit": 60.0}, False),
        (20, {"isolate": True}, True),
    ],
)
def test_large_conic_programs_with_a_limit_are_solved_where_they_can_be_killed(
    n_samples: int, options: dict[str, Any], expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bool] = []

    def noting(*_: Any, isolate: bool, **__: Any) -> None:
        asked.append(isolate)
        raise gda.errors.SolverFailedError("not today")

    monkeypatch.setattr(conic, "solve_program", noting)
    rng = np.random.default_rng(0)
    glr = gda.GLR(rng.standard_normal((2 * n_samples, 10)), np.repeat([1.0, -1.0], n_samples))
    gda.solve(gda.MetricProblem(glr, gda.GraphMetrics(10.0)), "sdp", **options)
    assert asked == [expected]
