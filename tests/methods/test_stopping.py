"""When runs end: the bounds that they have found so far, and what is left to be gained."""

import math
from types import SimpleNamespace
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import gdaopt as gda
from gdaopt.certificate import Certificate
from gdaopt.methods.stopping import LowerBound, Patience, StallRule
from gdaopt.objectives.quadratic import Quadratic


def test_the_best_bound_is_kept_and_is_below_all_values() -> None:
    """A metric that is a member but for round-off may have a value below a bound."""
    bound = LowerBound()
    for value, lower_bound, expected in (
        (3.0, -math.inf, -math.inf),
        (3.0, 1.0, 1.0),
        (2.5, 0.5, 1.0),
        (2.0, 1.5, 1.5),
        (1.5 - 1e-15, 1.0, 1.5 - 1e-15),
        (1.6, 1.5, 1.5),
    ):
        certificate = Certificate(value, lower_bound, "linear")
        assert bound.add(certificate) == expected
        assert bound.gap == value - expected >= 0


@pytest.mark.parametrize(("round_off", "status"), [(0.3, "stalled"), (0.2, "slow_progress")])
def test_a_run_whose_gap_stays_has_stalled_if_half_of_it_is_round_off(
    round_off: float, status: str
) -> None:
    bound, point = LowerBound(), SimpleNamespace(value=1.0)
    bound.add(Certificate(1.0, 0.5, "linear", round_off=round_off))
    patience, last = Patience(bound, 2, "steps"), None
    for _ in range(2):
        assert last is None
        last = patience.check(point)
    assert last is not None
    assert last[0] == status


@pytest.mark.parametrize("rises_count", [False, True])
def test_a_rise_is_no_progress_but_of_open_loop_steps(rises_count: bool) -> None:
    problem = gda.MetricProblem(gda.Ridge(2), gda.GraphMetrics(4.0))
    lower, higher = (problem.objective.at(share * np.eye(2)) for share in (1.0, 1.5))
    options: dict[str, Any] = {"tolerance": 1e-3, "rises_count": rises_count}
    assert (StallRule(problem, lower, **options).check(higher) is None) is rises_count
    assert StallRule(problem, higher, **options).check(lower) is None


# --- Values that are large and flat ---------------------------------------------------------------

SIZE = 8
TARGET = np.diag(np.linspace(0.2, 0.9, SIZE)) - 0.02
X = np.vstack([np.eye(SIZE), 1.5 - np.eye(SIZE)])


def nearest(constant: float) -> gda.objectives.Objective:
    return gda.CvxpyObjective(lambda M: cp.sum_squares(M - TARGET) + constant, SIZE)


def nearest_by_function(constant: float) -> gda.objectives.Objective:
    return gda.FunctionObjective(
        lambda M: (float(((M - TARGET) ** 2).sum()) + constant, 2 * (M - TARGET)), SIZE
    )


def likelihood(constant: float) -> gda.objectives.Objective:
    return gda.LogDet(TARGET + np.eye(SIZE)) + Quadratic(np.zeros((SIZE, SIZE)), 0.0, constant)


def hinges(constant: float) -> gda.objectives.Objective:
    distances = gda.PairHinge(X, [1] * SIZE + [-1] * SIZE)
    return distances + gda.Ridge(SIZE) + Quadratic(np.zeros((SIZE, SIZE)), 0.0, constant)


FLAT = {
    "squares": nearest,
    "a function": nearest_by_function,
    "likelihood": likelihood,
    "hinges": hinges,
}


@pytest.mark.covering(2)
@pytest.mark.parametrize("method", ["certified", "projected-gradient", "sdp"])
@pytest.mark.parametrize("name", FLAT)
@pytest.mark.parametrize("constant", [1e4, -1e8, 1e10])
def test_a_constant_changes_no_answer(name: str, method: str, constant: float) -> None:
    if method == "sdp" and name == "a function":
        pytest.skip("it has no CVXPY expression")
    metrics = gda.GraphMetrics(4.0, 1e-3)
    without = gda.MetricProblem(FLAT[name](0.0), metrics)
    optimum = gda.solve(without, "certified", tolerance=1e-9, absolute_tolerance=1e-9)
    shifted = gda.MetricProblem(FLAT[name](constant), metrics)
    result = gda.solve(shifted, method)
    gained = without.objective.value(without.central_metric()) - optimum.objective
    above = without.objective.value(result.metric) - optimum.objective
    # What the values' own digits leave, where the run says that it cannot tell more.
    left = 0.0 if result.status == "converged" else 2e-13 * abs(constant)
    assert above <= 1e-4 * gained + left
    assert result.status == "converged" or method != "certified" or constant == 1e10


@pytest.mark.parametrize("method", ["alternating", "frank-wolfe"])
def test_a_constant_does_not_stop_methods_that_stall(method: str) -> None:
    metrics = gda.GraphMetrics(4.0, 1e-3)
    optimum = gda.solve(gda.MetricProblem(nearest(0.0), metrics)).objective
    problem = gda.MetricProblem(nearest_by_function(1e8), metrics)
    start = problem.objective.value(problem.central_metric())
    result = gda.solve(problem, method)
    assert result.status in ("block_minimum", "slow_progress")
    assert result.objective - 1e8 - optimum <= 0.01 * (start - 1e8 - optimum)


def test_a_run_that_begins_at_the_optimum_has_converged() -> None:
    """Nothing can be gained in the middle of the set, and the gap there is round-off."""
    problem = gda.MetricProblem(
        gda.FunctionObjective(
            lambda M: (float(((M - np.eye(3)) ** 2).sum()) + 7.0, 2 * (M - np.eye(3))), 3
        ),
        gda.GraphMetrics(3.0),
    )
    result = gda.solve(problem)
    assert (result.status, result.iterations) == ("converged", 0)
    np.testing.assert_allclose(result.metric, np.eye(3), atol=1e-12)


def test_another_objective_has_another_size() -> None:
    problem = gda.MetricProblem(nearest(0.0), gda.GraphMetrics(4.0))
    known = problem.centre.gap
    other = problem.with_objective(100 * nearest(0.0))
    assert other.centre.gap == pytest.approx(100 * known)
    assert problem.size_of(1e9) == pytest.approx(10 * known)
