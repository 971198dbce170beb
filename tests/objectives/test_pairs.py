"""Pairs of samples: their digits, the tiles that they come in, and as CVXPY sees them."""

import cvxpy as cp
import numpy as np
import pytest

import gdaopt as gda
from gdaopt.linalg.directions import DenseDirection
from gdaopt.linalg.entries import pairs_of
from gdaopt.objectives.pairs import RectanglePairs, rectangles
from gdaopt.objectives.pairs.expressions import (
    _BYTES_PER_COEFFICIENT,
    distinct_differences,
    expression_bytes,
    squared_distances,
)
from gdaopt.objectives.pairs.pairs import Factors
from gdaopt.support.validation import FloatArray
from tests.objectives.cases import CASES, assert_near, make_tiles_small

N, K = 24, 3


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def test_weights_of_classes_take_no_memory_for_pairs() -> None:
    X = np.random.default_rng(0).standard_normal((N, K))
    z = np.repeat([1.0, -1.0], N // 2)
    glr = gda.GLR(X, z, sample_weight=np.where(z > 0, 3.0, 1.0))
    assert glr.pairs.log_weights is not None
    assert [tile.shape for tile in glr.pairs.log_weights] == [()]


@pytest.mark.parametrize("entries", [40, 2**17])
@pytest.mark.parametrize("far", [1.0, 1e3, 1e5, 1e7])
def test_near_samples_keep_their_digits_far_from_the_mean(
    far: float, entries: int, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two groups far apart, one of them of both classes: only pairs within that group count."""
    make_tiles_small(monkeypatch, entries)
    X = rng.integers(-8, 9, (N, K)) / 4
    X[: N // 2, 0] += 2.0 ** round(np.log2(far))  # differences are exact
    z = np.where(np.arange(N) % 2, 1.0, -1.0)
    z[N // 2 :] = 1.0
    metric = np.array([[0.5, -0.2, 0.0], [-0.2, 0.6, -0.1], [0.0, -0.1, 0.4]])
    left, right = np.nonzero(np.triu(z[:, None] != z, 1))
    d = X[left] - X[right]
    terms = 8 * np.exp(-np.einsum("pi,ij,pj->p", d, metric, d))
    point = gda.GLR(X, z).at(metric)
    assert point.value == pytest.approx(terms.sum(), rel=1e-11)
    gradient = -np.einsum("p,pi,pj->ij", terms, d, d)
    np.testing.assert_allclose(point.gradient(), gradient, rtol=1e-8, atol=1e-11 * terms.sum())
    diagonal = np.diagonal(gradient)
    np.testing.assert_allclose(np.diagonal(point.gradient()), diagonal, rtol=1e-9)
    change = np.array([[0.1, 0.1, 0.0], [0.1, -0.1, 0.2], [0.0, 0.2, 0.0]])
    rates = np.einsum("pi,ij,pj->p", d, change, d)
    slope = point.line(DenseDirection(change)).derivatives(0.0)[0]
    assert slope == pytest.approx(-terms @ rates, rel=1e-9)


M, L = 30, 4


@pytest.fixture
def near(monkeypatch: pytest.MonkeyPatch) -> FloatArray:
    """Return samples of which the last feature differs by 1e-6, but for the last sample."""
    make_tiles_small(monkeypatch, 5 * M)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((M, L))
    X[:, -1] *= 1e-6
    X[-1, -1] = 1.0
    return X


def coefficients(share: float, pairs: RectanglePairs) -> list[FloatArray]:
    """Return random coefficients, of which a share is not 0."""
    rng = np.random.default_rng(1)
    shapes = [tile.shape for tile in pairs.products(Factors.of(pairs.features, pairs.features))]
    return [rng.uniform(0.5, 1, shape) * (rng.random(shape) < share) for shape in shapes]


@pytest.mark.parametrize(
    ("share", "shared"), [(0.02, False), (0.15, False), (1.0, False), (0.15, True), (1.0, True)]
)
def test_sums_over_near_samples(share: float, shared: bool, near: FloatArray) -> None:
    """Each entry has nearly all of its digits, however the sums are taken.

    Tiles of samples that share features are summed about their mean.
    """
    X = near.copy()
    if shared:
        X[:, 0] = 0.1 + 1e5  # but for one sample, and in digits that are rounded
        X[M // 2, 0] += 1.0
        X[:, 1] += 1e5
    pairs = RectanglePairs.ordered(X)
    found = coefficients(share, pairs)
    differences = X[:, None] - X[None]
    expected = np.einsum("ij,ijk,ijl->kl", np.vstack(found), differences, differences)
    roots = np.sqrt(np.diagonal(expected))
    unit = np.outer(roots, roots)
    sums = pairs.scatter(found)
    edges = np.triu_indices(L, 1)
    entries = sums.entries(*pairs_of(L, edges))
    scatter = sums.dense
    np.testing.assert_array_equal(scatter, scatter.T)  # a gradient near 0 is nothing but round-off
    np.testing.assert_allclose(scatter / unit, expected / unit, atol=1e-9)
    np.testing.assert_allclose(entries[L:] / unit[edges], (expected / unit)[edges], atol=1e-9)
    for diagonal in (pairs.scatter_diagonal(found), entries[:L]):
        np.testing.assert_allclose(diagonal, np.diagonal(expected), rtol=1e-9)


def test_a_gradient_of_zero_is_no_loss_of_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    """At a minimum the coefficients of both signs cancel, for each feature in use.

    Differences of each pair take a hundred times as long as products of matrices.
    """

    monkeypatch.setattr(rectangles, "_near_factors", None)
    X = np.random.default_rng(0).standard_normal((M, L))
    pairs = RectanglePairs.ordered(X)
    differences = X[:, None] - X[None]
    (p,) = coefficients(1.0, pairs)
    pulled = p @ differences[:, :, 0].T ** 2  # how much each row of pairs adds to the first feature
    p[0] -= p[0] * np.trace(pulled) / pulled[0, 0]
    expected = np.einsum("ij,ijk,ijl->kl", p, differences, differences)
    assert abs(expected[0, 0]) < 1e-12 * np.trace(pulled)
    edges, scatter = np.triu_indices(L, 1), pairs.scatter([p])
    np.testing.assert_allclose(scatter.entries(*edges), expected[edges], atol=1e-10)
    np.testing.assert_allclose(scatter.dense, expected, atol=1e-10)


def test_the_number_of_coefficients_is_about_that_of_the_expression(
    rng: np.random.Generator,
) -> None:
    pairs = gda.GLR(rng.standard_normal((30, K)), rng.standard_normal(30)).pairs
    metric = cp.Variable((K, K), symmetric=True)
    left, right, _ = distinct_differences(pairs)
    expression, constraints = squared_distances(pairs.features, left, right, metric)
    problem = cp.Problem(cp.Minimize(cp.sum(cp.exp(-expression))), constraints)
    data, _, _ = problem.get_problem_data("CLARABEL")
    n_coefficients = expression_bytes(pairs) / _BYTES_PER_COEFFICIENT
    assert data["A"].nnz / 4 < n_coefficients < 4 * data["A"].nnz


@pytest.mark.parametrize("name", ["GLR, labels", "GLR, real", "MCML", "logistic"])
def test_a_gram_matrix_stands_for_features_whose_block_is_known(name: str) -> None:
    objective, few, others = CASES[name](), np.array([0, 2]), np.array([1, 3])
    block = np.array([[0.3, -0.1], [-0.1, 0.2]])
    metric = 0.5 * np.eye(len(few) + len(others))
    metric[np.ix_(few, few)] = block
    rest = objective.pairs.features[:, others]
    part = objective.of_features(few, 0.5 * rest @ rest.T)
    assert part.value(block) == pytest.approx(objective.value(metric), rel=1e-12)
    assert_near(part.gradient(block), objective.gradient(metric)[np.ix_(few, few)], 1e-11)
