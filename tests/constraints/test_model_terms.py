"""Objectives that are written in CVXPY's language: recognised, and nothing recognised wrongly."""

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import gdaopt as gda
from gdaopt.constraints.model import ObjectiveReader
from gdaopt.objectives import CvxpyObjective
from gdaopt.objectives.base import SumObjective
from gdaopt.objectives.quadratic import Quadratic
from gdaopt.support.cvxpy_internals import VERSION
from tests.helpers import random_symmetric

SIZE = 3
RNG = np.random.default_rng(0)
S = random_symmetric(RNG, SIZE)
GLR = gda.GLR(RNG.standard_normal((6, SIZE)), [1, 1, 1, -1, -1, -1])
M: Any = cp.Variable((SIZE, SIZE), symmetric=True)
FACTOR = cp.Parameter(nonneg=True, value=0.7)
UNSYMMETRIC = RNG.standard_normal((SIZE, SIZE))

Written = Callable[[], cp.Expression]

QUADRATIC: dict[str, Written] = {
    "linear": lambda: cp.sum(cp.multiply(S, M)),
    "trace": lambda: cp.trace(S @ M) / 2 - 3,
    "not symmetric": lambda: cp.sum(cp.multiply(UNSYMMETRIC, M)),
    "parameter times linear": lambda: FACTOR * cp.trace(M) + FACTOR,
    "sum of squares": lambda: cp.sum_squares(M),
    "distance": lambda: 0.3 * cp.sum_squares(2 * M - S),
    "square of a distance": lambda: cp.square(cp.norm(M - UNSYMMETRIC, "fro")) * 2,
    "squares of entries": lambda: cp.sum(cp.square(S - M)),
    "times zero": lambda: cp.trace(M) + 0 * cp.log_det(M) + 0 * cp.abs(M[0, 1]) - 0.0 * GLR(M),
    "sum times zero": lambda: cp.sum(cp.multiply(np.zeros((SIZE, SIZE)), cp.square(M))),
    "first power": lambda: cp.power(M[0, 0], 1) + cp.sum_squares(0 * cp.abs(M) + M),
    "several": lambda: FACTOR * (cp.sum_squares(M) + cp.trace(M)) + cp.sum_squares(M - S) / 4,
}
WITH_ATOMS: dict[str, Written] = {
    "atom": lambda: GLR(M),
    "multiple": lambda: 2 * GLR(M) / 4,
    "parameter": lambda: FACTOR * (GLR(M) + cp.trace(M)),
    "twice": lambda: 2 * GLR(M) - (-GLR(M) + 1),
    "sum of objectives": lambda: (GLR + 0.1 * gda.Ridge(SIZE))(M) + 1,
}
GENERAL: dict[str, Written] = {
    "another argument": lambda: GLR(2 * M),
    "inside of a function": lambda: cp.square(GLR(M)) + GLR(M),
    "some entries": lambda: cp.sum_squares(cp.diag(M)),
    "weighted squares": lambda: cp.sum_squares(cp.multiply(S, M)),
    "transposed product": lambda: cp.sum_squares(S @ M),
    "another norm": lambda: cp.norm(M - S, 2) + cp.norm1(M - S),
    "sum by columns": lambda: cp.sum(cp.norm(M - S, axis=0)),
    "divided by another number": lambda: cp.quad_over_lin(M, 3.0),
    "parameter inside": lambda: cp.exp(FACTOR * M[0, 1]) + FACTOR * cp.sum_squares(cp.diag(M)),
    "fourth power": lambda: cp.power(cp.norm(M, "fro"), 4),
}


@pytest.fixture(autouse=True)
def _value_is_kept() -> None:
    M.value = np.diag([1.0, 2.0, 3.0])


@pytest.mark.parametrize("name", [*QUADRATIC, *WITH_ATOMS, *GENERAL])
def test_the_objective_has_the_value_and_the_gradient_of_the_expression(name: str) -> None:
    expression = (QUADRATIC | WITH_ATOMS | GENERAL)[name]()
    objective = ObjectiveReader(expression, M).objective()
    assert isinstance(objective, Quadratic) == (name in QUADRATIC)
    kinds = [type(each) for each in getattr(objective, "objectives", (objective,))]
    assert kinds.count(CvxpyObjective) == (name in GENERAL)  # what is not recognised
    assert np.array_equal(M.value, np.diag([1.0, 2.0, 3.0]))  # a model that is read is not changed
    for seed in range(3):
        metric = random_symmetric(np.random.default_rng(seed), SIZE) + 4 * np.eye(SIZE)
        M.value = metric
        point = objective.at(metric)
        assert point.value == pytest.approx(expression.value, rel=1e-11, abs=1e-11)
        if name == "transposed product" and VERSION < (1, 8):
            continue  # CVXPY's own derivative is wrong
        by_cvxpy = expression.grad[M].toarray().reshape((SIZE, SIZE), order="F")
        expected = (by_cvxpy + by_cvxpy.T) / 2
        np.testing.assert_allclose(point.gradient(), expected, rtol=1e-9, atol=1e-11)


def test_what_is_recognised_is_evaluated_by_the_package() -> None:
    assert ObjectiveReader(GLR(M), M).objective() is GLR
    found = ObjectiveReader(FACTOR * GLR(M) + cp.sum_squares(M), M).objective()
    assert isinstance(found, SumObjective)
    assert found.objectives[0] is GLR
    assert found.factors == (0.7, 1.0)
    nothing = cp.Parameter(nonneg=True, value=0.0)  # what is times zero is left out
    assert isinstance(ObjectiveReader(nothing * GLR(M) + cp.trace(M), M).objective(), Quadratic)


def test_a_distance_is_known_by_its_square() -> None:
    found = ObjectiveReader(cp.norm(2 * M - S, "fro"), M).distance()
    assert found is not None
    metric = np.eye(SIZE)
    assert found.quadratic(1.0).value(metric) == pytest.approx(np.sum((2 * metric - S) ** 2))
    for other in (cp.norm(M - S), cp.norm1(M), cp.norm(cp.diag(M)), cp.norm(S @ M, "fro"), GLR(M)):
        assert ObjectiveReader(other, M).distance() is None


@pytest.mark.parametrize(
    ("written", "words"),
    [
        (lambda: -GLR(M), "negative multiple of a convex function"),
        (lambda: cp.trace(M) - 0.5 * GLR(M), r"has -0.5 times GLR"),
        (lambda: -cp.sum_squares(M), "cannot prove"),
        (lambda: cp.log_det(M), "cannot prove"),
        (lambda: cp.Parameter(name="left_open") * cp.sum_squares(M), "without a value: left_open"),
        (lambda: cp.trace(M) * cp.Parameter(name="left_open"), "without a value: left_open"),
    ],
)
def test_what_cannot_be_minimised_is_refused(written: Written, words: str) -> None:
    with pytest.raises(gda.errors.InvalidInputError, match=words):
        ObjectiveReader(written(), M).objective()


@pytest.mark.parametrize(
    ("written", "least"),
    [
        (lambda: 0 * cp.log_det(M), 0.0),
        (lambda: cp.square(0 * cp.abs(M[0, 1])), 0.0),
        (lambda: cp.trace(M) + 0 * cp.abs(M[0, 1]) - 0.0 * GLR(M), 0.3),
    ],
)
def test_a_term_times_zero_is_no_term(written: Written, least: float) -> None:
    row = M[0, 0] + 0 * cp.abs(M[0, 1]) <= 2
    members = gda.GraphMetrics(6.0, min_eigenvalue=0.1).of(M)
    problem = cp.Problem(cp.Minimize(written()), [row, *members])
    assert problem.solve(method="gdaopt") == pytest.approx(least, abs=1e-6)
    assert problem.status == "optimal"
    assert problem.solve(solver="CLARABEL") == pytest.approx(least, abs=1e-6)
