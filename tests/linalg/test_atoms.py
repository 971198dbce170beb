"""Atoms, against the vectors written out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gdaopt.linalg.atoms import Atoms
from tests.helpers import random_symmetric

SIZE = 5


def two_sparse(rng: np.random.Generator, n_atoms: int) -> Atoms:
    """Return unit vectors, among them such that name an index twice, as `e_i` do."""
    support = rng.integers(0, SIZE, (n_atoms, 2))
    values = rng.standard_normal((n_atoms, 2))
    values[support[:, 0] == support[:, 1], 1] = 0
    return Atoms(support, values / np.linalg.norm(values, axis=1)[:, None])


def dense(rng: np.random.Generator, n_atoms: int) -> Atoms:
    return Atoms.of_vectors(rng.standard_normal((n_atoms, SIZE)))


@pytest.mark.parametrize("draw", [two_sparse, dense])
class TestAtoms:
    """Whatever is computed from supports is what the vectors written out give."""

    @pytest.fixture
    def rng(self) -> np.random.Generator:
        return np.random.default_rng(0)

    def test_dense(self, draw: Callable[..., Atoms], rng: np.random.Generator) -> None:
        atoms = draw(rng, 30)
        expected = np.zeros((30, SIZE))
        for vector, support, values in zip(expected, atoms.support, atoms.values, strict=True):
            for i, value in zip(support, values, strict=True):
                vector[i] += value
        np.testing.assert_array_equal(atoms.dense(SIZE), expected)

    def test_products(self, draw: Callable[..., Atoms], rng: np.random.Generator) -> None:
        atoms, others, features = draw(rng, 30), draw(rng, 7), rng.standard_normal((11, SIZE))
        matrix, u = random_symmetric(rng, SIZE), atoms.dense(SIZE)
        kinds = two_sparse(rng, 4), dense(rng, 4)
        for found, expected in (
            (atoms.projected(features), features @ u.T),
            (atoms.products(others), u @ others.dense(SIZE).T),
            *((atoms.products(of_kind), u @ of_kind.dense(SIZE).T) for of_kind in kinds),
            (atoms.quadratic_forms(matrix), np.diagonal(u @ matrix @ u.T)),
        ):
            assert found.shape == expected.shape
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)

    def test_sums(self, draw: Callable[..., Atoms], rng: np.random.Generator) -> None:
        atoms, weights = draw(rng, 30), rng.standard_normal(30)
        matrix = random_symmetric(rng, SIZE)
        before = matrix.copy()
        total = atoms.added_to(matrix, weights)
        u = atoms.dense(SIZE)
        np.testing.assert_allclose(total, matrix + u.T @ np.diag(weights) @ u, rtol=0, atol=1e-13)
        np.testing.assert_array_equal(matrix, before)

    def test_sums_are_exactly_symmetric(
        self, draw: Callable[..., Atoms], rng: np.random.Generator
    ) -> None:
        total = draw(rng, 30).added_to(random_symmetric(rng, SIZE), rng.random(30))
        np.testing.assert_array_equal(total, total.T)

    def test_lists(self, draw: Callable[..., Atoms], rng: np.random.Generator) -> None:
        atoms, others = draw(rng, 4), draw(rng, 3)
        joined = atoms.joined(others)
        assert len(joined) == 7
        vectors = np.concatenate([atoms.dense(SIZE), others.dense(SIZE)])
        np.testing.assert_array_equal(joined.dense(SIZE), vectors)
        for index in (slice(2, 5), np.array([6, 0]), vectors[:, 0] > 0):
            np.testing.assert_array_equal(joined[index].dense(SIZE), vectors[index])

    def test_none(self, draw: Callable[..., Atoms], rng: np.random.Generator) -> None:
        none, matrix = draw(rng, 4)[:0], random_symmetric(rng, SIZE)
        assert none.dense(SIZE).shape == (0, SIZE)
        assert none.quadratic_forms(matrix).shape == (0,)
        assert none.products(draw(rng, 4)).shape == (0, 4)
        np.testing.assert_array_equal(none.added_to(matrix, np.zeros(0)), matrix)
