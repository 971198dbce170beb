"""The active set: atoms and their weights."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdaopt.linalg.atoms import Atoms
from gdaopt.master.active_set import ActiveSet
from tests.helpers import PROPERTY, generators
from tests.master.cases import random_atoms


class TestActiveSet:
    @PROPERTY
    @given(generators, st.sampled_from([2, 5]), st.floats(0, 1))
    def test_on_the_way_to_another(self, rng: np.random.Generator, size: int, share: float) -> None:
        start = ActiveSet(self.sparse(rng, size), rng.random(6))
        end = ActiveSet(start.atoms[3:].joined(self.sparse(rng, size)), rng.random(9))
        between = start.on_the_way(end, share)
        zero = np.zeros((size, size))
        matrices = [one.atoms.added_to(zero, one.weights) for one in (start, end, between)]
        expected = (1 - share) * matrices[0] + share * matrices[1]
        np.testing.assert_allclose(matrices[2], expected, atol=1e-6)
        assert between.total == pytest.approx((1 - share) * start.total + share * end.total)
        assert len(between) <= 12  # the three atoms of both are not there twice

    @staticmethod
    def sparse(rng: np.random.Generator, size: int) -> Atoms:
        """Return atoms of two entries, some of one; K = 1 has only one."""
        support = rng.integers(0, size, (6, 2))
        angle = rng.uniform(0, 2 * np.pi, 6)
        values = np.column_stack([np.cos(angle), np.sin(angle)])
        values[support[:, 0] == support[:, 1]] = [1.0, 0.0]
        return Atoms(support, values)

    @PROPERTY
    @given(generators, st.sampled_from([2, 5, 40]), st.booleans())
    def test_the_nearest_is_the_nearest(
        self, rng: np.random.Generator, size: int, sparse: bool
    ) -> None:
        def draw() -> Atoms:
            return self.sparse(rng, size) if sparse else random_atoms(rng, 6, size)

        own, others = draw(), draw()
        nearest, distance = ActiveSet(own, np.ones(6)).nearest(others)
        u, v = own.dense(size), others.dense(size)
        away = np.minimum(
            np.linalg.norm(v[:, None] - u, axis=2), np.linalg.norm(v[:, None] + u, axis=2)
        )
        np.testing.assert_allclose(distance, away.min(axis=1), atol=1e-7)
        np.testing.assert_allclose(away[np.arange(6), nearest], away.min(axis=1), atol=1e-7)

    @pytest.mark.parametrize(("angle", "joins"), [(1e-6, True), (1e-9, False)])
    def test_atoms_a_hair_apart_are_one(self, angle: float, joins: bool) -> None:
        active_set = ActiveSet(Atoms(np.array([[0, 1]]), np.array([[0.6, -0.8]])), np.array([2.0]))
        rotated = np.array([[0.6 * np.cos(angle) + 0.8 * np.sin(angle), 0.0]])
        rotated[0, 1] = -0.8 * np.cos(angle) + 0.6 * np.sin(angle)
        assert len(active_set.with_new(Atoms(np.array([[0, 1]]), rotated))) == 1 + joins
