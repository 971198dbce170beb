"""Directions, against their matrices written out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.directions import (
    AtomsDirection,
    ColumnDirection,
    DenseDirection,
    DiagonalDirection,
    Direction,
)
from gdaopt.support.validation import FloatArray
from tests.helpers import PROPERTY, generators, random_metric, random_symmetric

CHANGE = np.array([0.5, -1.0, 0.0, 0.25, 3.0])


U = np.array([0.3, -0.7])


FULL_U = np.array([0.1, -0.2, 0.3, 0.0, 0.7])


DENSE = random_symmetric(np.random.default_rng(7), 5)


def column_matrix() -> FloatArray:
    """Return ``e_2 change' + change e_2'`` written out."""
    return np.outer(np.eye(5)[2], CHANGE) + np.outer(CHANGE, np.eye(5)[2])


def two_sparse_matrix() -> FloatArray:
    """Return ``0.8 u u'`` for u on entries 3 and 1, written out."""
    u = np.zeros(5)
    u[[3, 1]] = U
    return 0.8 * np.outer(u, u)


DIRECTIONS = [
    pytest.param(DiagonalDirection(CHANGE), np.diag(CHANGE), id="diagonal"),
    pytest.param(DiagonalDirection(np.ones(5)), np.eye(5), id="full diagonal"),
    pytest.param(ColumnDirection(2, CHANGE), column_matrix(), id="column"),
    pytest.param(
        AtomsDirection(np.array([0.8]), Atoms(np.array([[3, 1]]), U[None])),
        two_sparse_matrix(),
        id="two-sparse",
    ),
    pytest.param(
        AtomsDirection(np.array([-2.0]), Atoms.of_vectors(FULL_U[None])),
        -2.0 * np.outer(FULL_U, FULL_U),
        id="rank one",
    ),
    pytest.param(DenseDirection(DENSE), DENSE, id="dense"),
]


@pytest.mark.parametrize(("direction", "matrix"), DIRECTIONS)
class TestDirections:
    def test_magnitude(self, direction: Direction, matrix: FloatArray) -> None:
        found = direction.magnitude().added_to(np.zeros((5, 5)), 1.0)
        np.testing.assert_allclose(found, np.abs(matrix), rtol=1e-15)

    def test_inner_product(
        self, direction: Direction, matrix: FloatArray, rng: np.random.Generator
    ) -> None:
        gradient = random_symmetric(rng, 5)
        assert direction.inner(gradient) == pytest.approx(np.trace(gradient @ matrix), rel=1e-13)

    def test_sum(self, direction: Direction, matrix: FloatArray, rng: np.random.Generator) -> None:
        metric = random_metric(rng, 5)
        before = metric.copy()
        moved = direction.added_to(metric, 0.37)
        np.testing.assert_allclose(moved, metric + 0.37 * matrix, rtol=0, atol=1e-15)
        np.testing.assert_array_equal(metric, before)

    def test_the_sum_is_exactly_symmetric(
        self, direction: Direction, matrix: FloatArray, rng: np.random.Generator
    ) -> None:
        metric = random_metric(rng, 5)
        for gamma in rng.uniform(0, 1, 20):
            metric = direction.added_to(metric, gamma)
            np.testing.assert_array_equal(metric, metric.T)

    def test_factors_give_the_quadratic_forms_of_pairs(
        self, direction: Direction, matrix: FloatArray, rng: np.random.Generator
    ) -> None:
        X = rng.standard_normal((6, 5))
        left, right = direction.factors(X)
        assert left.shape == right.shape
        differences = X[:, None] - X[None]
        forms = np.einsum("ijk,kl,ijl->ij", differences, matrix, differences)
        factored = ((left[:, None] - left[None]) * (right[:, None] - right[None])).sum(axis=2)
        np.testing.assert_allclose(factored, forms, rtol=0, atol=1e-13)

    def test_factors_are_one_column_or_give_a_symmetric_product(
        self, direction: Direction, matrix: FloatArray, rng: np.random.Generator
    ) -> None:
        X = rng.standard_normal((6, 5))
        left, right = direction.factors(X)
        if left.shape[1] > 1:
            np.testing.assert_allclose(left @ right.T, X @ matrix @ X.T, rtol=0, atol=1e-13)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(3)


@PROPERTY
@given(generators, st.sampled_from([1, 2, 5, 12]))
def test_norms_of_directions(rng: np.random.Generator, size: int) -> None:
    column = rng.standard_normal(size)
    column[0] = 0.0
    two_sparse = Atoms(rng.integers(size, size=(3, 2)), rng.standard_normal((3, 2)))
    for direction in (
        DiagonalDirection(rng.standard_normal(size)),
        ColumnDirection(0, column),
        AtomsDirection(rng.standard_normal(3), two_sparse),
        AtomsDirection(rng.standard_normal(2), Atoms.of_vectors(rng.standard_normal((2, size)))),
        DenseDirection(random_symmetric(rng, size)),
    ):
        dense = direction.added_to(np.zeros((size, size)), 1.0)
        assert direction.norm_squared() == pytest.approx(float((dense**2).sum()), rel=1e-12)
