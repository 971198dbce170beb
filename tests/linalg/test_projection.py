"""Projections on a simplex, a cone and their intersections: against CVXPY and by properties."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdaopt.linalg import projection
from gdaopt.linalg.projection import (
    Projection,
    project_on_bounded_sum,
    project_on_intersection,
    project_on_simplex,
)
from gdaopt.support.validation import FloatArray
from tests.helpers import generators, properties, random_symmetric


@properties(200)
@given(generators, st.integers(1, 40), st.floats(-12, 25), st.floats(-12, 12), st.booleans())
def test_the_simplex_at_any_scale(
    rng: np.random.Generator, size: int, spread: float, total: float, ties: bool
) -> None:
    """The optimum: entries are the point's less one number, where they are positive."""
    most = 10.0**total
    point = rng.standard_normal(size)
    point = (np.round(point) if ties else point) * 10.0**spread
    nearest = project_on_simplex(point, most)
    unit = max(most, float(np.abs(point).max()))
    assert nearest.min() >= 0
    assert nearest.sum() == pytest.approx(most, rel=1e-12)
    shift = (point - nearest)[nearest > 0]
    assert np.ptp(shift) <= 1e-13 * size * unit
    assert (point[nearest == 0] <= shift.max() + 1e-13 * size * unit).all()
    bounded = project_on_bounded_sum(point, most)
    expected = np.maximum(point, 0) if np.maximum(point, 0).sum() <= most else nearest
    np.testing.assert_array_equal(bounded, expected)


@pytest.mark.parametrize("seed", range(3))
def test_restarts_save_half_of_the_decompositions(seed: int) -> None:
    matrix = 10 * random_symmetric(np.random.default_rng(seed), 12)

    def without_positive_edges(found: FloatArray) -> FloatArray:
        return np.where(np.eye(12) > 0, found, np.minimum(found, 0))

    found = project_on_intersection(matrix, without_positive_edges, 1e-9)
    assert found.apart <= 1e-9
    assert found.eigen_decompositions <= 100  # 140 and more without


def test_gives_up_on_an_empty_intersection(monkeypatch: pytest.MonkeyPatch) -> None:
    """And says how far apart cone and polyhedron are."""
    monkeypatch.setattr(projection, "_MOST_ITERATIONS", 50)

    def below(matrix: FloatArray) -> FloatArray:
        return np.minimum(matrix, -np.eye(2))

    found: Projection = project_on_intersection(np.eye(2), below, 1e-9)
    assert found.eigen_decompositions == 50
    assert found.apart >= np.sqrt(2)
