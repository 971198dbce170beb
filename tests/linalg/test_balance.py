"""Colours of signed graphs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdaopt.linalg.balance import conflicts, rounded_colors
from gdaopt.support.validation import FloatArray
from tests.helpers import PROPERTY, generators, random_symmetric


def signed_graph(rng: np.random.Generator, colors: FloatArray, density: float) -> FloatArray:
    """Return a random matrix whose graph is balanced by given colours."""
    size = len(colors)
    magnitudes = np.abs(random_symmetric(rng, size)) * (rng.random((size, size)) < density)
    upper = np.triu(magnitudes, 1) * np.outer(colors, colors)
    return np.eye(size) - upper - upper.T


@PROPERTY
@given(generators, st.integers(1, 12), st.sampled_from([0.2, 0.6, 1.0]))
def test_a_balanced_graph_has_no_conflicts(
    rng: np.random.Generator, size: int, density: float
) -> None:
    """Also where some of its colours are known."""
    colors = rng.choice([-1.0, 1.0], size)
    metric = signed_graph(rng, colors, density)
    for known in (np.zeros(size), np.where(rng.random(size) < 0.5, colors, 0.0), colors):
        found = rounded_colors(metric, known)
        assert set(found) <= {1.0, -1.0}
        assert ((known == 0) | (known == found)).all()
        assert len(conflicts(metric, found)[0]) == 0


@pytest.mark.parametrize("seed", range(20))
def test_no_single_change_lowers_the_weight_in_conflict(seed: int) -> None:
    rng = np.random.default_rng(seed)
    metric = random_symmetric(rng, 9)
    known = rng.choice([-1.0, 0.0, 0.0, 0.0, 1.0], 9)

    def weight(colors: FloatArray) -> float:
        return float(np.abs(metric[conflicts(metric, colors)]).sum())

    found = rounded_colors(metric, known)
    for feature in np.flatnonzero(known == 0):
        other = found.copy()
        other[feature] *= -1
        assert weight(other) >= weight(found) - 1e-12
    assert weight(rounded_colors(metric, known, [found])) <= weight(found) + 1e-12


def test_most_conflicts_are_avoided_by_the_best_start() -> None:
    """A guess without conflicts is found again, whatever the forest says."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        metric = random_symmetric(rng, 5)
        every = [np.array(colors) for colors in np.ndindex(2, 2, 2, 2, 2)]
        every = [1.0 - 2 * colors for colors in every]
        least = min(np.abs(metric[conflicts(metric, colors)]).sum() for colors in every)
        found = rounded_colors(metric, np.zeros(5))
        assert np.abs(metric[conflicts(metric, found)]).sum() == pytest.approx(least)
