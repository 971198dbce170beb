"""Colours of signed graphs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdaopt.methods.balanced import conflicts, rounded_colors
from gdaopt.support.validation import FloatArray
from tests.helpers import PROPERTY, generators, random_symmetric


def signed_graph(rng: np.random.Generator, colors: FloatArray, density: float) -> FloatArray:
    """Return a random matrix whose graph is balanced by given colours."""
    size = len(colors)
    magnitudes = np.abs(random_symmetric(rng, size)) * (rng.random((size, size)) < density)
    upper = np.triu(magnitudes, 1) * np.outer(colors, colors)
    return np.eye(size) - upper - upper.T


def weight_in_conflict(metric: FloatArray, colors: FloatArray) -> float:
    return float(np.abs(metric[conflicts(metric, colors)]).sum())


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
    found = rounded_colors(metric, known)
    for feature in np.flatnonzero(known == 0):
        other = found.copy()
        other[feature] *= -1
        assert weight_in_conflict(metric, other) >= weight_in_conflict(metric, found) - 1e-12


def test_most_conflicts_are_avoided_by_the_best_start() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        metric = random_symmetric(rng, 8)
        every = [1.0 - 2 * np.array(colors) for colors in np.ndindex(*(2,) * 8)]
        least = min(weight_in_conflict(metric, colors) for colors in every)
        found = rounded_colors(metric, np.zeros(8))
        assert weight_in_conflict(metric, found) == pytest.approx(least)


@pytest.mark.parametrize("color", [-1.0, 1.0])
def test_a_long_path_has_no_conflicts(color: float) -> None:
    """There no change of a single colour helps: the forest begins at what is known."""
    rng = np.random.default_rng(0)
    entries = rng.choice([-1.0, 1.0], 59) * rng.uniform(0.5, 1.0, 59)
    metric = 3 * np.eye(60) + np.diag(entries, 1) + np.diag(entries, -1)
    known = np.zeros(60)
    known[20] = color
    found = rounded_colors(metric, known)
    assert found[20] == color
    assert weight_in_conflict(metric, found) == 0


def test_a_guess_that_is_better_than_all_starts_is_taken() -> None:
    """On a grid with a tenth of its edges in conflict, whole regions would have to change."""
    rng, side = np.random.default_rng(1), 15
    grid = np.arange(side**2).reshape(side, side)
    ends = np.concatenate([grid[:, :-1].ravel(), grid[:-1].ravel()])
    others = np.concatenate([grid[:, 1:].ravel(), grid[1:].ravel()])
    colors = rng.choice([-1.0, 1.0], side**2)
    kept = np.where(rng.random(len(ends)) < 0.1, 1.0, -1.0)
    metric = np.zeros((side**2, side**2))
    metric[ends, others] = kept * rng.uniform(0.5, 1.0, len(ends)) * colors[ends] * colors[others]
    metric += metric.T
    alone = rounded_colors(metric, np.zeros(side**2))
    found = rounded_colors(metric, np.zeros(side**2), [colors])
    assert weight_in_conflict(metric, found) <= weight_in_conflict(metric, colors)
    assert weight_in_conflict(metric, found) < weight_in_conflict(metric, alone)
