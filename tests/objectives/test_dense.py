"""Objectives of one's own, from a value and a gradient alone."""

from __future__ import annotations

import math
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import gdaopt as gda
from gdaopt.linalg.directions import (
    DenseDirection,
)
from gdaopt.methods.steps import Exact
from tests.helpers import random_metric
from tests.objectives.cases import K, LogDet


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(1)


class TestSeam:
    def test_a_users_objective(self, rng: np.random.Generator) -> None:
        factor = rng.standard_normal((K, 9))
        gda.check_objective(LogDet(np.asarray(factor @ factor.T / 9)))

    def test_an_optimum_through_the_seam(self, rng: np.random.Generator) -> None:
        target = random_metric(rng, K)
        problem = gda.MetricProblem(
            LogDet(np.linalg.inv(target).astype(np.float64)), gda.GraphMetrics(2 * K, 1e-6)
        )
        result = gda.solve(problem, "alternating", solver="analytic", tolerance=1e-7)
        assert result.objective == pytest.approx(K - np.linalg.slogdet(target)[1], abs=1e-4)

    @pytest.mark.parametrize("size", [1, 2, 5])
    def test_glr_passes(self, size: int, rng: np.random.Generator) -> None:
        gda.check_objective(gda.GLR(rng.standard_normal((9, size)), rng.standard_normal(9)))

    def test_a_users_objective_has_no_expression_by_default(self) -> None:
        with pytest.raises(
            gda.errors.InvalidInputError, match="LogDet has no CVXPY expression; define"
        ):
            LogDet(np.eye(K)).to_cvxpy(cp.Constant(np.eye(K)))
        with pytest.raises(gda.errors.InvalidInputError, match="define log_expression"):
            LogDet(np.eye(K)).log_to_cvxpy(cp.Constant(np.eye(K)))


def test_a_line_of_an_objective_of_ones_own() -> None:
    """The dense fall-back knows no curvature."""

    class Square(gda.DenseObjective):
        def value(self, metric: np.ndarray) -> float:
            return float(((metric - np.eye(2)) ** 2).sum())

        def gradient(self, metric: np.ndarray) -> np.ndarray:
            return 2 * (metric - np.eye(2))

    line = Square(2).at(np.zeros((2, 2))).line(DenseDirection(4 * np.eye(2)))
    assert math.isnan(line.derivatives(0.5)[1])
    assert Exact().size(line, 0) == pytest.approx(0.25, abs=1e-12)


@pytest.mark.parametrize("wrong", ["1.5", b"1.5", None, 1j, np.datetime64(1, "s"), [1.0, 2.0]])
def test_values_and_gradients_that_are_no_numbers(wrong: Any) -> None:
    class Wrong(gda.DenseObjective):
        def value(self, metric: np.ndarray) -> float:
            return wrong  # type: ignore[no-any-return]

        def gradient(self, metric: np.ndarray) -> np.ndarray:
            return np.full((2, 2), wrong) if not isinstance(wrong, list) else np.array(wrong)

    point = Wrong(2).at(np.eye(2))
    with pytest.raises(
        gda.errors.InvalidInputError, match=r"value returned .* must return a number"
    ):
        point.value  # noqa: B018
    with pytest.raises(
        gda.errors.InvalidInputError, match=r"gradient returned .* must return an array"
    ):
        point.gradient()
