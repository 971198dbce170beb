"""Objectives of one's own: from a value and a gradient, or from one function."""

import math
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import gdaopt as gda
from gdaopt.errors import InvalidInputError
from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.directions import DiagonalDirection
from gdaopt.methods.steps import Exact
from gdaopt.support.validation import FloatArray
from tests.objectives.cases import K, Opaque, assert_near

SIZE = 3
TARGET = np.array([[3.0, -1.0, 0.0], [-1.0, 2.0, 0.5], [0.0, 0.5, 1.0]])


def test_without_an_expression() -> None:
    with pytest.raises(InvalidInputError, match="Opaque has no CVXPY expression; def"):
        Opaque(np.eye(K)).to_cvxpy(cp.Constant(np.eye(K)))
    with pytest.raises(InvalidInputError, match="define log_to_cvxpy"):
        Opaque(np.eye(K)).log_to_cvxpy(cp.Constant(np.eye(K)))


def test_a_line_knows_no_curvature() -> None:
    line = Opaque(np.eye(2)).at(np.diag([1.0, 4.0])).line(DiagonalDirection(np.array([0.0, -3.0])))
    assert math.isnan(line.derivatives(0.5)[1])
    assert Exact().size(line, 0) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("size", [1.0, 1e-9])
def test_curvature_at_the_edge_of_the_domain(size: float) -> None:
    """Differences of gradients are taken on the side where there are some."""

    class Edge(Opaque):
        def gradient(self, metric: FloatArray) -> FloatArray:
            inside = metric[0, 0] <= size
            return super().gradient(metric) if inside else np.full_like(metric, np.nan)

    atoms = Atoms.of_features(np.arange(2))
    curvature = Edge(np.eye(2)).at(np.diag([size, size])).curvature(atoms)
    assert_near(curvature, np.eye(2) / size**2, 1e-4)


NO_NUMBERS: list[Any] = ["a", "1.5", b"1.5", np.str_("1.5"), np.datetime64(1, "s"), None, 1j]


@pytest.mark.parametrize("wrong", [*NO_NUMBERS, [1.0, 2.0]])
def test_values_and_gradients_that_are_no_numbers(wrong: Any) -> None:
    class Wrong(gda.DenseObjective):
        def value(self, metric: np.ndarray) -> float:
            return wrong  # type: ignore[no-any-return]

        def gradient(self, metric: np.ndarray) -> np.ndarray:
            return np.full((2, 2), wrong) if not isinstance(wrong, list) else np.array(wrong)

    point = Wrong(2).at(np.eye(2))
    with pytest.raises(InvalidInputError, match=r"value returned .* must return a number"):
        point.value  # noqa: B018
    with pytest.raises(InvalidInputError, match=r"gradient returned .* must return an array"):
        point.gradient()


SET = gda.GraphMetrics(4.0, 0.1)


def nearest(metric: FloatArray) -> tuple[float, FloatArray]:
    return float(np.sum((metric - TARGET) ** 2)) / 2, metric - TARGET


def test_the_function_is_called_once_a_metric() -> None:
    calls: list[FloatArray] = []

    def counted(metric: FloatArray) -> tuple[float, FloatArray]:
        calls.append(metric)
        return nearest(metric)

    point = gda.FunctionObjective(counted, n_features=SIZE).at(2 * np.eye(SIZE))
    assert len(calls) == 1  # the check
    point.value, point.gradient(), point.gradient_entries(np.array([0]), np.array([1]))
    assert len(calls) == 2


def test_gradients_become_symmetric() -> None:
    """Those of ``sum_ij D_ij M_ij`` by its entries need not be."""
    slope = np.triu(np.ones((SIZE, SIZE)))
    objective = gda.FunctionObjective(lambda M: (np.vdot(slope, M), slope), n_features=SIZE)
    np.testing.assert_array_equal(objective.gradient(np.eye(SIZE)), (slope + slope.T) / 2)
    gda.check_objective(objective)


def test_conic_methods_need_an_expression() -> None:
    without, given = (
        gda.MetricProblem(gda.FunctionObjective(nearest, SIZE, expression=expression), SET)
        for expression in (None, lambda M: cp.sum_squares(M - TARGET) / 2)
    )
    with pytest.raises(InvalidInputError, match="expression= to a FunctionObjective"):
        gda.solve(without, "sdp")
    exact = gda.solve(given, "certified").objective
    assert gda.solve(given, "sdp").objective == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda M: (math.nan, M), "returns NaN in the value at the identity matrix"),
        (lambda M: (1.0, M * math.nan), "returns NaN in the gradient at the identity matrix"),
        (lambda M: (1.0, M[0]), "as its gradient, returned .* must return an array of shape"),
        (lambda M: (M, M), "as its value, returned .* must return a number"),
        *((lambda M, x=x: (x, M), "returned .*; it must return a number") for x in NO_NUMBERS),
        (lambda M: M, "must return the pair of the value and the gradient"),
        (lambda M: None, "must return the pair of the value and the gradient, got None"),
        (lambda M: (1.0, M.astype(str)), "as its gradient, returned .*; it must return an array"),
        (lambda M: (1.0, M * 1j), "as its gradient, returned .*; it must return an array"),
        (lambda M: ("a" * 10_000, M), "as its value, returned .{,60}; it must return a number$"),
        (np.ndarray, "value_and_gradient must be a function of the metric"),
        (3.0, "value_and_gradient must be a function of the metric, such as .*, got 3.0"),
    ],
)
def test_wrong_functions_are_refused(function: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        gda.FunctionObjective(function, n_features=SIZE)
