"""Objectives by CVXPY expressions: CVXPY's own derivatives and optimum, and what is refused."""

import math
from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import gdaopt as gda
from gdaopt.objectives.expression import ExpressionTree
from gdaopt.support.cvxpy_internals import VERSION, models
from gdaopt.support.validation import FloatArray
from tests.certificate_cases import covariance
from tests.helpers import random_metric, random_symmetric

K = 4
RNG = np.random.default_rng(0)
D = RNG.standard_normal((30, K)) / 2
A, S = random_symmetric(RNG, K), covariance(K)
Expression = Callable[[Any], Any]


def forms(M: Any) -> Any:
    """Return the squared distances of pairs of samples: ``d'Md`` of each row d."""
    return cp.sum(cp.multiply(D @ M, D), axis=1)


def twice(part: Any) -> Any:
    return cp.exp(part / 5) + 2 * part


SMOOTH: dict[str, Expression] = {
    "linear": lambda M: cp.trace(A @ M),
    "log det": lambda M: cp.trace(S @ M) - cp.log_det(M),
    "sum of squares": lambda M: cp.sum_squares(M - A) / 3,
    "norm": lambda M: cp.norm(M - 5 * A),
    "huber": lambda M: cp.sum(cp.huber(3 * forms(M) - 3)),
    "log sum exp": lambda M: cp.log_sum_exp(1 - forms(M)),
    "largest eigenvalue": lambda M: cp.lambda_max(M + A),
    "matrix fraction": lambda M: cp.matrix_frac(D[:2].T, M),
    "trace of the inverse": lambda M: cp.tr_inv(M + np.eye(K)),
    "quadratic form": lambda M: cp.quad_form(cp.diag(M) - D[0], S),
    "logistic": lambda M: cp.sum(cp.logistic(forms(M) - 1)) / 30,
    "entropy": lambda M: -cp.sum(cp.entr(cp.diag(M))),
    "geometric mean": lambda M: cp.trace(M) - cp.geo_mean(cp.diag(M)),
    "composition": lambda M: cp.square(cp.pos(cp.log_sum_exp(3 * cp.diag(M)) + 2)) - cp.log_det(M),
    "exponential of hubers": lambda M: cp.sum(cp.exp(cp.huber(forms(M)) / 9)) + 0.1 * cp.norm(M),
    "inverses of roots": lambda M: cp.sum(cp.inv_pos(cp.sqrt(cp.diag(M)))) + cp.trace(M),
    "sum of the largest": lambda M: cp.sum_largest(forms(M), 3) + cp.quad_over_lin(M[0], M[1, 1]),
    "nuclear norm": lambda M: cp.normNuc(M - 3 * A),
    "a part that occurs twice": lambda M: twice(cp.log_sum_exp(cp.diag(M))),
    "affine atoms of others": lambda M: cp.sum(
        cp.hstack([cp.exp(M[0, 1]), cp.square(M[1, 1])])[::-1]
    ),
    "columns and transposes": lambda M: cp.sum_squares(A[:2] @ M.T[:, 1:]) + cp.max(M + A),
    "constants inside": lambda M: cp.matrix_frac(cp.Constant(A[0]), M + 2 * np.eye(K)),
    "parts times zero": lambda M: cp.square(0 * cp.log_det(M) + cp.power(M[0, 0], 1) - 1),
    "first power": lambda M: cp.exp(cp.power(M[0, 0], 1) / 5) + cp.exp(cp.power(M[1, 1], 1)),
    "two by two": lambda M: cp.sum(cp.square(cp.reshape(M[0], (2, 2), order="C") @ A[:2, :2])),
}


M = cp.Variable((K, K), symmetric=True)


@pytest.mark.parametrize("name", SMOOTH)
def test_values_and_derivatives_are_cvxpys_and_tangents_are_below(name: str) -> None:
    """Also at kinks, and lowered by no more than what a certificate can bear."""
    objective = gda.CvxpyObjective(SMOOTH[name], n_features=K)
    gda.check_objective(objective)
    expression, constraints = objective.to_cvxpy(M)
    assert not constraints
    mended = {kind for version, kind, _ in models._MENDED if version > VERSION}
    rng = np.random.default_rng(1)
    for _ in range(5):
        M.value = random_metric(rng, K)
        point, tape = objective.at(M.value), objective.tree.at(M.value)
        assert tape.value == pytest.approx(np.asarray(expression.value).item(), rel=1e-12)
        if not mended.intersection(expression.atoms()):
            found = np.asarray(expression.grad[M].todense()).reshape(K, K, order="F")
            symmetric = (found + found.T) / 2
            np.testing.assert_allclose(tape.gradient(), symmetric, rtol=1e-9, atol=1e-10)
        # What a certificate takes for the size of the terms is not below what they add up to.
        assert (tape.gradient(sizes=True) >= np.abs(tape.gradient()) * (1 - 1e-12)).all()
        stated = point.round_off()
        assert 0 < stated.value <= 1e-9 * (1 + abs(point.value))
        for step in (1e-8, 1.0):
            change = step * (random_metric(rng, K) - point.metric)
            tangent = point.value + float(np.vdot(point.gradient(), change))
            assert objective.value(point.metric + change) >= tangent - stated.value


def test_terms_that_cancel_keep_their_size() -> None:
    tape = ExpressionTree(1e8 * cp.square(M[0, 0]) - 2e8 * M[0, 0], M).at(np.eye(K))
    assert tape.gradient()[0, 0] == 0
    assert tape.gradient(sizes=True)[0, 0] == pytest.approx(4e8)


def test_what_the_matrix_does_not_change() -> None:
    assert ExpressionTree(0 * M[0, 0] + 1, M).is_constant
    assert not ExpressionTree(M[0, 0] + 1, M).is_constant
    assert not ExpressionTree(cp.square(M[0, 0]), M).is_constant


def test_atoms_without_a_derivative() -> None:
    with pytest.raises(
        gda.errors.InvalidInputError, match="no derivative of von_neumann_entr; write"
    ):
        ExpressionTree(cp.square(M[0, 0]) - cp.von_neumann_entr(M), M)


@pytest.mark.parametrize(
    ("expression", "outside"),
    [
        (SMOOTH["log det"], -np.eye(K)),
        (SMOOTH["log det"], np.zeros((K, K))),
        (SMOOTH["matrix fraction"], np.diag([1.0, 1.0, 1.0, -1.0])),
        (SMOOTH["matrix fraction"], np.diag([1.0, 1.0, 1.0, 0.0])),
        (SMOOTH["entropy"], np.diag([1.0, 1.0, 1.0, -1e-3])),
        (SMOOTH["inverses of roots"], np.zeros((K, K))),
        (SMOOTH["trace of the inverse"], -2 * np.eye(K)),
        (lambda M: -cp.sqrt(M[0, 0]), -np.eye(K)),
        (lambda M: cp.matrix_frac(A[0], M - 2 * np.eye(K)), np.eye(K)),
        (lambda M: cp.exp(cp.inv_pos(M[1, 1] - 1)), np.eye(K)),
        (lambda M: cp.sum(cp.exp(M)), 1e4 * np.eye(K)),
    ],
)
def test_outside_of_the_domain(expression: Expression, outside: FloatArray) -> None:
    objective = gda.CvxpyObjective(expression, n_features=K)
    point = objective.at(outside)
    assert point.value == math.inf
    assert np.isnan(point.gradient()).all()
    assert np.isnan(objective.tree.at(outside).gradient(sizes=True)).all()
    assert point.degenerate_reason() is not None


def test_a_start_outside_of_the_domain() -> None:
    objective = gda.CvxpyObjective(lambda M: SMOOTH["log det"](M - 10 * np.eye(K)), n_features=K)
    with pytest.raises(gda.errors.InvalidInputError, match="nothing to learn from at the start"):
        gda.solve(gda.MetricProblem(objective, gda.GraphMetrics(2.0 * K)), "certified")


X = cp.Variable((2, 2))
BAD: list[tuple[Any, str]] = [
    (lambda M: M, r"must return a scalar, got .* of shape \(4, 4\); add its entries up"),
    (lambda M: cp.log_det(M), "cannot prove that log_det.* is convex .*its curvature is concave"),
    (lambda M: M[0, 0] * M[1, 1], "cannot prove that .* is convex .*curvature is unknown"),
    (lambda M: cp.Constant(3.0), "must depend on the metric, and 3.0 does not"),
    (lambda M: 0 * M[0, 0], "must depend on the metric, and 0.0 . M.* does not"),
    (lambda M: 0 * cp.log_det(M), "must depend on the metric, and 0.0 . log_det.* does not"),
    (lambda M: 1j * M[0, 0], "must be real, and .* is complex"),
    (lambda M: cp.trace(M) + cp.sum(X), r"must depend on the metric alone, .* variable\(s\) var"),
    (lambda M: cp.Parameter(name="p") * cp.trace(M), r"has the parameter\(s\) p; use numbers"),
    (lambda M: -cp.von_neumann_entr(M), "CVXPY knows no derivative of von_neumann_entr"),
    (lambda M: float(M[0, 0]), r"expression fails on a 4×4 CVXPY variable \(TypeError"),
    (lambda M: np.eye(3) @ M, r"expression fails on a 4×4 CVXPY variable \(ValueError"),
    (lambda M: None, "must return a CVXPY expression, got None"),
    (lambda M: 3.0, "must return a CVXPY expression, got 3.0"),
    (lambda: None, "expression fails on a 4×4"),
    (cp.trace(X), r"expression is the CVXPY expression .*; pass a function that makes it"),
    (cp.Variable, "expression must be a function of the metric, such as lambda M"),
    ("trace", "expression must be a function of the metric, such as .*, got 'trace'"),
    (None, "expression must be a function of the metric"),
]


@pytest.mark.parametrize(("expression", "message"), BAD)
def test_what_is_no_objective_is_refused(expression: Any, message: str) -> None:
    with pytest.raises(gda.errors.InvalidInputError, match=message):
        gda.CvxpyObjective(expression, n_features=K)


@pytest.mark.parametrize("atom", [cp.sqrt, cp.entr])
@pytest.mark.parametrize("outer", [cp.square, cp.sum])
def test_a_part_times_zero_has_no_derivatives(atom: Any, outer: Any) -> None:
    """These atoms have none at 0, where expressions are taken apart."""
    objective = gda.CvxpyObjective(lambda M: outer(M[0, 0] - 0 * atom(M[0, 1])), 2)
    slope = 4.0 if outer is cp.square else 1.0
    found = objective.gradient(np.array([[2.0, 0.5], [0.5, 2.0]]))
    np.testing.assert_array_equal(found, np.diag([slope, 0.0]))
