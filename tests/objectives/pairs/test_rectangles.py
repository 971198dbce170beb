"""Pairs of samples in rectangles: sums where few pairs count, and where digits cancel."""

from __future__ import annotations

import numpy as np
import pytest

from gdaopt.objectives.pairs import RectanglePairs, rectangles
from gdaopt.support.validation import FloatArray
from tests.objectives.pairs.cases import make_blocks_small

N, K = 30, 4


@pytest.fixture
def near(monkeypatch: pytest.MonkeyPatch) -> FloatArray:
    """Return samples of which the last feature differs by 1e-6, but for the last sample."""
    make_blocks_small(monkeypatch, 5 * N)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, K))
    X[:, -1] *= 1e-6
    X[-1, -1] = 1.0
    return X


def coefficients(share: float, pairs: RectanglePairs) -> list[FloatArray]:
    """Return random coefficients, of which a share is not 0."""
    rng = np.random.default_rng(1)
    shapes = [block.shape for block in pairs.products(pairs.features, pairs.features)]
    return [rng.uniform(0.5, 1, shape) * (rng.random(shape) < share) for shape in shapes]


@pytest.mark.parametrize("share", [0.02, 0.15, 1.0])
def test_sums_over_near_samples(share: float, near: FloatArray) -> None:
    """Each entry has nearly all of its digits, however the sums are taken."""
    pairs = RectanglePairs.ordered(near)
    found = coefficients(share, pairs)
    differences = near[:, None] - near[None]
    expected = np.einsum("ij,ijk,ijl->kl", np.vstack(found), differences, differences)
    roots = np.sqrt(np.diagonal(expected))
    unit = np.outer(roots, roots)
    scatter = pairs.scatter(found)
    np.testing.assert_array_equal(scatter, scatter.T)  # a gradient near 0 is nothing but round-off
    np.testing.assert_allclose(scatter / unit, expected / unit, atol=1e-9)
    diagonal = pairs.scatter_diagonal(found)
    np.testing.assert_allclose(diagonal, np.diagonal(expected), rtol=1e-9)


@pytest.mark.parametrize("share", [0.15, 1.0])
def test_features_that_nearly_all_samples_share(share: float, near: FloatArray) -> None:
    """Blocks of such samples are summed about their mean: all digits, and no sum of each pair."""
    X = near.copy()
    X[:, 0] = 0.1 + 1e5  # but for one sample, and in digits that are rounded
    X[N // 2, 0] += 1.0
    X[:, 1] += 1e5
    pairs = RectanglePairs.ordered(X)
    found = coefficients(share, pairs)
    differences = X[:, None] - X[None]
    expected = np.einsum("ij,ijk,ijl->kl", np.vstack(found), differences, differences)
    roots = np.sqrt(np.diagonal(expected))
    unit = np.outer(roots, roots)
    scatter = pairs.scatter(found)
    np.testing.assert_array_equal(scatter, scatter.T)
    np.testing.assert_allclose(scatter / unit, expected / unit, atol=1e-9)
    edges = np.triu_indices(K, 1)
    entries = pairs.scatter_entries(found, edges)
    np.testing.assert_allclose(entries.on_diagonal, np.diagonal(expected), rtol=1e-9)
    np.testing.assert_allclose(entries.on_edges / unit[edges], (expected / unit)[edges], atol=1e-9)


def test_a_gradient_of_zero_is_no_loss_of_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    """At a minimum the coefficients of both signs cancel, for each feature in use.

    Differences of each pair take a hundred times as long as products of matrices.
    """

    def refuse(*_: FloatArray) -> None:
        raise AssertionError("these samples are not near each other")

    monkeypatch.setattr(rectangles, "_near_factors", refuse)
    X = np.random.default_rng(0).standard_normal((N, K))
    pairs = RectanglePairs.ordered(X)
    differences = X[:, None] - X[None]
    (p,) = coefficients(1.0, pairs)
    pulled = p @ differences[:, :, 0].T ** 2  # how much each row of pairs adds to the first feature
    p[0] -= p[0] * np.trace(pulled) / pulled[0, 0]
    expected = np.einsum("ij,ijk,ijl->kl", p, differences, differences)
    assert abs(expected[0, 0]) < 1e-12 * np.trace(pulled)
    np.testing.assert_allclose(pairs.scatter([p]), expected, atol=1e-10)
    edges = np.triu_indices(K, 1)
    entries = pairs.scatter_entries([p], edges)
    np.testing.assert_allclose(entries.on_edges, expected[edges], atol=1e-10)


@pytest.mark.parametrize("n_classes", [2, 5, 20])
def test_pairs_by_class_are_all_pairs(n_classes: int, near: FloatArray) -> None:
    codes = np.sort(np.arange(N) % n_classes)
    pairs = RectanglePairs.by_class(near, codes)
    met = np.zeros((N, N), dtype=int)
    for block in pairs.blocks():
        met[block.rows, block.columns] += 1
        is_mixed = block.columns.start < block.rows.stop
        if n_classes <= rectangles.MOST_LEVELS and not is_mixed:
            same = np.equal.outer(codes[block.rows], codes[block.columns])
            assert same.all() or not same.any()
    assert (np.triu(met, 1) == np.triu(np.ones((N, N), dtype=int), 1)).all()
