"""Gershgorin discs and their left-ends."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import eigvalsh

from gdaopt.linalg.gershgorin import discs, left_ends
from tests.helpers import PROPERTY, generators, random_metric, random_symmetric

sizes = st.integers(1, 12)


class TestGershgorin:
    @PROPERTY
    @given(rng=generators, size=sizes)
    def test_discs_of_the_scaled_matrix(self, rng: np.random.Generator, size: int) -> None:
        matrix = random_symmetric(rng, size)
        v = 10 ** rng.uniform(-2, 2, size)
        similar = np.diag(1 / v) @ matrix @ np.diag(v)
        for scaling, expected in ((None, matrix), (v, similar)):
            centres, radii = discs(matrix, scaling)
            rows = [
                sum(abs(row[j]) for j in range(size) if j != i) for i, row in enumerate(expected)
            ]
            np.testing.assert_allclose(centres, np.diagonal(matrix), rtol=0)
            np.testing.assert_allclose(radii, rows, rtol=1e-13, atol=0)
            np.testing.assert_allclose(left_ends(matrix, scaling), centres - radii, rtol=0)

    @PROPERTY
    @given(rng=generators, size=sizes)
    def test_the_least_left_end_bounds_the_smallest_eigenvalue(
        self, rng: np.random.Generator, size: int
    ) -> None:
        matrix = random_symmetric(rng, size)
        v = 10 ** rng.uniform(-2, 2, size)
        assert left_ends(matrix, v).min() <= eigvalsh(matrix)[0] + 1e-13 * size

    @PROPERTY
    @given(rng=generators, size=sizes)
    def test_left_ends_of_a_metric_are_one_product(
        self, rng: np.random.Generator, size: int
    ) -> None:
        metric = random_metric(rng, size, density=0.5)
        v = rng.uniform(0.1, 1, size)
        np.testing.assert_allclose(left_ends(metric, v), metric @ v / v, rtol=0, atol=1e-13 * size)
