"""The ridge and linear objectives: formulas, CVXPY, and the projection that they amount to."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

import gdaopt as gda
from gdaopt.support.validation import FloatArray
from tests.helpers import random_metric, random_symmetric
from tests.objectives.cases import K, directions


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(1)


def test_values(rng: np.random.Generator) -> None:
    A, metric = random_symmetric(rng, K), random_metric(rng, K)
    linear, ridge = gda.Linear(A), gda.Ridge(K)
    assert linear.value(metric) == pytest.approx(float(np.trace(A @ metric)))
    np.testing.assert_array_equal(linear.gradient(metric), A)
    assert ridge.value(metric) == pytest.approx(float((metric**2).sum()) / 2)
    np.testing.assert_array_equal(ridge.gradient(metric), metric)
    assert (linear.lipschitz(0.0), ridge.lipschitz(0.0)) == (0.0, 1.0)
    for objective in (linear, ridge):
        gda.check_objective(objective)
        expression, constraints = objective.to_cvxpy(cp.Constant(metric))
        assert not constraints
        assert expression.value == pytest.approx(objective.value(metric))


def test_the_nearest_metric() -> None:
    """``½‖M - T‖² = ½‖M‖² - ⟨T, M⟩ + …``: the projection of T onto the set."""
    target: FloatArray = np.array([[3.0, -1.0, 2.0], [-1.0, 2.0, -0.5], [2.0, -0.5, 1.0]])
    feasible_set = gda.GraphMetrics(4.0, 0.1)
    problem = gda.MetricProblem(gda.Ridge(3) + gda.Linear(-target), feasible_set)
    result = gda.solve(problem, "certified", tolerance=1e-12)
    nearest = feasible_set.projected(target, accuracy=1e-10).point
    np.testing.assert_allclose(result.metric, nearest, atol=1e-6)


def test_lines_are_parabolas(rng: np.random.Generator) -> None:
    point = (gda.Ridge(K)).at(random_metric(rng, K))
    for direction in directions(rng):
        line = point.line(direction)
        slope, bend = line.derivatives(0.0)
        assert bend == pytest.approx(direction.norm_squared())
        np.testing.assert_allclose(line.derivatives(0.5), (slope + bend / 2, bend), rtol=1e-12)
        assert line.value(0.5) == pytest.approx(point.moved(direction, 0.5).value, rel=1e-12)


def test_there_is_no_logarithm_and_no_infinity() -> None:
    point = gda.Ridge(2).at(1e200 * np.eye(2))
    assert point.vanished() == "the objective is inf"
    assert gda.Ridge(2).at(np.zeros((2, 2))).vanished() is None
