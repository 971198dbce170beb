"""Expressions that are taken apart once: against CVXPY's own values and derivatives."""

from __future__ import annotations

import math
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import gdaopt as gda
from gdaopt.objectives.expression import ExpressionTree
from gdaopt.support.validation import FloatArray
from tests.helpers import random_metric, random_symmetric

K = 4
A = random_symmetric(np.random.default_rng(0), K)
M = cp.Variable((K, K), symmetric=True)
SHARED = cp.log_sum_exp(cp.diag(M))

EXPRESSIONS: dict[str, Any] = {
    "affine": cp.trace(A @ M) + 3,
    "a part that occurs twice": cp.exp(SHARED / 5) + 2 * SHARED,
    "affine atoms of others": cp.sum(cp.hstack([cp.exp(M[0, 1]), cp.square(M[1, 1])])[::-1]),
    "columns and transposes": cp.sum_squares(A[:2] @ M.T[:, 1:]) + cp.max(M + A),
    "constants inside": cp.matrix_frac(cp.Constant(A[0]), M + 2 * cp.Constant(np.eye(K))),
    "quadratic form": cp.quad_form(M[0] - A[1], np.eye(K)),
    "two by two": cp.sum(cp.square(cp.reshape(M[0], (2, 2), order="C") @ A[:2, :2])),
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_cvxpys_values_and_gradients(name: str) -> None:
    expression = EXPRESSIONS[name]
    tree, rng = ExpressionTree(expression, M), np.random.default_rng(1)
    for _ in range(3):
        matrix = random_metric(rng, K)
        tape = tree.at(matrix)
        M.value = matrix
        assert tape.value == pytest.approx(float(np.asarray(expression.value).item()), rel=1e-13)
        found = np.asarray(expression.grad[M].todense()).reshape(K, K, order="F")
        expected: FloatArray = (found + found.T) / 2
        np.testing.assert_allclose(tape.gradient(), expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_sizes_are_those_of_the_terms(name: str) -> None:
    tape = ExpressionTree(EXPRESSIONS[name], M).at(random_metric(np.random.default_rng(2), K))
    assert (tape.gradient(sizes=True) >= np.abs(tape.gradient()) * (1 - 1e-12)).all()


def test_terms_that_cancel_keep_their_size() -> None:
    tape = ExpressionTree(1e8 * cp.square(M[0, 0]) - 2e8 * M[0, 0], M).at(np.eye(K))
    assert tape.gradient()[0, 0] == 0
    assert tape.gradient(sizes=True)[0, 0] == pytest.approx(4e8)


@pytest.mark.parametrize(
    ("expression", "outside"),
    [
        (-cp.log_det(M), -np.eye(K)),
        (-cp.sqrt(M[0, 0]), -np.eye(K)),
        (cp.matrix_frac(A[0], M - 2 * np.eye(K)), np.eye(K)),
        (cp.exp(cp.inv_pos(M[1, 1] - 1)), np.eye(K)),
        (cp.sum(cp.exp(M)), 1e4 * np.eye(K)),
    ],
)
def test_outside_of_the_domain(expression: Any, outside: FloatArray) -> None:
    tape = ExpressionTree(expression, M).at(outside)
    assert tape.value == math.inf
    assert np.isnan(tape.gradient()).all()
    assert np.isnan(tape.gradient(sizes=True)).all()


def test_what_the_matrix_does_not_change() -> None:
    assert ExpressionTree(0 * M[0, 0] + 1, M).is_constant
    assert not ExpressionTree(M[0, 0] + 1, M).is_constant
    assert not ExpressionTree(cp.square(M[0, 0]), M).is_constant


def test_atoms_without_a_derivative() -> None:
    with pytest.raises(
        gda.errors.InvalidInputError, match="no derivative of von_neumann_entr; write"
    ):
        ExpressionTree(cp.square(M[0, 0]) - cp.von_neumann_entr(M), M)
