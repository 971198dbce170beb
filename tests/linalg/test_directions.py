"""Directions, against their matrices written out."""

import numpy as np
import pytest

from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.directions import (
    AtomsDirection,
    ColumnDirection,
    DenseDirection,
    DiagonalDirection,
    Direction,
)
from gdaopt.support.validation import FloatArray
from tests.helpers import random_metric, random_symmetric

CHANGE = np.array([0.5, -1.0, 0.0, 0.25, 3.0])
DENSE = random_symmetric(np.random.default_rng(7), 5)
VECTORS = np.array(
    [[0.0, -0.7, 0.0, 0.3, 0.0], [0.0, 0.0, 0.6, 0.8, 0.0], [1.0, 0.0, 0.0, 0.0, 0.0]]
)
FULL = np.array([[0.1, -0.2, 0.3, 0.0, 0.7], [0.0, 0.5, 0.0, 0.0, 0.0]])

DIRECTIONS: dict[str, tuple[Direction, FloatArray]] = {
    "diagonal": (DiagonalDirection(CHANGE), np.diag(CHANGE)),
    "full diagonal": (DiagonalDirection(np.ones(5)), np.eye(5)),
    "column": (
        ColumnDirection(2, CHANGE),
        np.outer(np.eye(5)[2], CHANGE) + np.outer(CHANGE, np.eye(5)[2]),
    ),
    "two-sparse": (
        AtomsDirection(np.array([0.8, 0.5, 0.1]), Atoms.of_few_entries(VECTORS)),
        VECTORS.T @ np.diag([0.8, 0.5, 0.1]) @ VECTORS,
    ),
    "rank two": (
        AtomsDirection(np.array([-2.0, -0.5]), Atoms.of_vectors(FULL)),
        FULL.T @ np.diag([-2.0, -0.5]) @ FULL,
    ),
    "dense": (DenseDirection(DENSE), DENSE),
}


@pytest.mark.parametrize(("direction", "matrix"), DIRECTIONS.values(), ids=DIRECTIONS)
class TestDirections:
    def test_magnitude(self, direction: Direction, matrix: FloatArray) -> None:
        found = direction.magnitude().added_to(np.zeros((5, 5)), 1.0)
        np.testing.assert_allclose(found, np.abs(matrix), rtol=1e-15)

    def test_inner_product_and_norm(
        self, direction: Direction, matrix: FloatArray, rng: np.random.Generator
    ) -> None:
        gradient = random_symmetric(rng, 5)
        assert direction.norm_squared() == pytest.approx(float((matrix**2).sum()), rel=1e-12)
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
        if left.shape[1] > 1:
            np.testing.assert_allclose(left @ right.T, X @ matrix @ X.T, rtol=0, atol=1e-13)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(3)
