"""The ridge and linear objectives: the projection that they amount to, and their limits."""

from __future__ import annotations

import numpy as np

import gdaopt as gda
from gdaopt.linalg.directions import DiagonalDirection
from gdaopt.support.validation import FloatArray


def test_the_nearest_metric() -> None:
    """``½‖M - T‖² = ½‖M‖² - ⟨T, M⟩ + …``: the projection of T onto the set."""
    target: FloatArray = np.array([[3.0, -1.0, 2.0], [-1.0, 2.0, -0.5], [2.0, -0.5, 1.0]])
    feasible_set = gda.GraphMetrics(4.0, 0.1)
    problem = gda.MetricProblem(gda.Ridge(3) + gda.Linear(-target), feasible_set)
    result = gda.solve(problem, "certified", tolerance=1e-12)
    nearest = feasible_set.projected(target, accuracy=1e-10).point
    np.testing.assert_allclose(result.metric, nearest, atol=1e-6)


def test_lines_are_parabolas() -> None:
    line = gda.Ridge(2).at(np.eye(2)).line(DiagonalDirection(np.array([1.0, 2.0])))
    assert [line.derivatives(gamma) for gamma in (0.0, 0.5)] == [(3.0, 5.0), (5.5, 5.0)]
    assert (gda.Linear(np.eye(2)).lipschitz(0.0), gda.Ridge(2).lipschitz(0.0)) == (0.0, 1.0)


def test_there_is_no_logarithm_and_no_infinity() -> None:
    point = gda.Ridge(2).at(1e200 * np.eye(2))
    assert point.vanished() == "the objective is inf"
    assert gda.Ridge(2).at(np.zeros((2, 2))).vanished() is None
