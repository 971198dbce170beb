"""Screened prices: the same pairs as from all entries of the gradient."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csc_array, csr_array

import gdaopt as gda
from gdaopt.linalg import samples
from gdaopt.linalg.atoms import best_pairs, pair_atoms
from gdaopt.linalg.entries import IndexArray, no_edges
from gdaopt.linalg.samples import (
    by_columns,
    column_forms,
    columns_of,
    paired_sums,
    products_of,
    squared_columns,
)
from gdaopt.sets import FeasibleSet
from gdaopt.support.validation import FloatArray
from gdaopt.wide import pricing, scatter, screening
from gdaopt.wide.scatter import ScatterMatrix
from tests.helpers import random_symmetric
from tests.methods.run_cases import before_each

KINDS = ("negative", "both", "duplicates", "zeros", "ties", "scales", "sparse")
COLORS = ("graph", "free", "signed", "mixed")


def gradient(rng: np.random.Generator, kind: str, most: int = 60) -> ScatterMatrix:
    """Return a gradient of random samples, of a kind that is hard to screen."""
    n_samples, size = int(rng.integers(2, 12)), int(rng.integers(2, most + 1))
    samples = rng.standard_normal((n_samples, size))
    weights = rng.exponential(size=(n_samples, n_samples))
    if kind == "both":
        weights -= rng.exponential(size=weights.shape)
    elif kind == "duplicates":
        samples = samples[:, rng.integers(0, max(1, size // 4), size)]
    elif kind == "zeros":
        samples[:, rng.random(size) < 0.5] = 0.0
    elif kind == "ties":
        samples = rng.integers(-1, 2, samples.shape).astype(np.float64)
    elif kind == "scales":
        samples *= 10.0 ** rng.uniform(-8, 8, size)
    elif kind == "sparse":
        samples[rng.random(samples.shape) < 0.7] = 0.0
    weights = np.triu(weights, 1)
    weights += weights.T
    laplacian = np.diag(weights.sum(axis=1)) - weights
    features = csc_array(samples) if kind == "sparse" else samples
    return ScatterMatrix(features, -laplacian, kind != "both")


def metrics(rng: np.random.Generator, colors: str, size: int) -> FeasibleSet:
    """Return a set of metrics with entries of some signs."""
    bound = float(size)
    if colors == "graph":
        return gda.GraphMetrics(bound)
    if colors == "free":
        return gda.SDDMetrics(bound)
    if colors == "signed":
        return gda.SignedGraphMetrics(rng.choice([-1, 1], size).tolist(), bound)
    return gda.SDDMetrics(bound, colors=rng.choice([-1, 0, 1], size).tolist())


def array_of(scatter: ScatterMatrix) -> FloatArray:
    """Return all entries of a gradient."""
    samples: Any = scatter.samples  # dense or sparse
    samples = csr_array(samples).toarray()
    found = samples.T @ scatter._laplacian @ samples
    array: FloatArray = (found + found.T) / 2
    return array


def identity(entries: FloatArray, _rows: IndexArray, _columns: IndexArray) -> FloatArray:
    return entries


@pytest.fixture(params=[(2, 3, 2), (192, 512, 256)], ids=["small blocks", "blocks"])
def blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also with blocks so small that there are many, and bounds of prices without eigenvalues."""
    for name, value in zip(("_TOP", "_ROWS", "_COLUMNS"), request.param, strict=True):
        monkeypatch.setattr(screening, name, value)
    if request.param[0] == 2:
        monkeypatch.setattr(scatter, "_MOST_DECOMPOSED", 1)


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("colors", COLORS)
def test_the_least_prices_are_those_of_all_atoms(kind: str, colors: str) -> None:
    """Over 200 random gradients, with ties, zero columns, duplicates and positive parts."""
    for seed in range(4):
        rng = np.random.default_rng([seed, KINDS.index(kind), COLORS.index(colors)])
        screened = gradient(rng, kind)
        feasible_set = metrics(rng, colors, len(screened))
        dense, count = array_of(screened), int(rng.integers(1, 12))
        expected = feasible_set.family.best_atoms(dense, count)
        search = pricing.Pricing(screened.samples, feasible_set, kind != "both", count)
        found = search.best(screened._laplacian, no_edges())
        # Round-off of a price is relative to the entries of its own pair.
        sizes = np.abs(expected.atoms.quadratic_forms(np.abs(dense) + 0.0))
        slack = 1e-12 * np.maximum(np.abs(expected.prices), sizes) + 1e-15 * screened.largest_entry
        assert len(found.prices) == len(expected.prices)
        assert (np.abs(found.prices - expected.prices) <= slack).all()
        prices = pair_atoms(dense, *found.features).quadratic_forms(dense)
        assert (np.abs(prices - found.prices) <= 1e-14 * screened.largest_entry).all()


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize("kind", ["negative", "both", "ties"])
@pytest.mark.parametrize("length", [1e-3, 0.1, 10.0])
def test_what_is_kept_finds_the_best_pairs_of_the_next_gradient(kind: str, length: float) -> None:
    """However far the next gradient is; and nearby it looks at few pairs again."""
    for seed in range(20):
        rng = np.random.default_rng([seed, int(length * 1000)])
        first = gradient(rng, kind)
        change = rng.standard_normal(first._laplacian.shape)
        change -= change.mean(axis=0)
        change -= change.mean(axis=1)[:, None]
        scale = length * float(np.abs(first._laplacian).max())
        moved = first._laplacian + scale * (change + change.T)
        second = ScatterMatrix(first.samples, moved)
        _, known = screening.best_screened(first, 5, no_edges(), identity, np.inf)
        again, _ = screening.best_screened(second, 5, no_edges(), identity, np.inf, known)
        expected = best_pairs(array_of(second), 5)
        singles = np.sort(second.diagonal)[:5]
        counts = expected[2] < (singles[-1] if len(singles) == 5 else np.inf)
        slack = 1e-12 * second.largest_entry
        np.testing.assert_allclose(again[2][: counts.sum()], expected[2][counts], atol=slack)


@pytest.mark.parametrize("scale", [1e-60, 1e-25, 1e25, 1e60])
@pytest.mark.parametrize("kind", ["negative", "both"])
def test_any_units(kind: str, scale: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Single precision ends at 1e-45 and at 1e38."""
    monkeypatch.setattr(screening, "_TOP", 2)
    for seed in range(5):
        usual = gradient(np.random.default_rng(seed), kind)
        other = ScatterMatrix(usual.samples, scale * usual._laplacian, kind == "negative")
        (*expected, prices), _ = screening.best_screened(usual, 5, no_edges(), identity, np.inf)
        (*found, scaled), _ = screening.best_screened(other, 5, no_edges(), identity, np.inf)
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_allclose(scaled, scale * prices, rtol=1e-9)


@pytest.mark.parametrize("size", [1e-7, 1e-6, 1e-5])
def test_entries_that_cancel_in_single_precision(
    size: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``G_ij = a_i a_j - b_i b_j``, with a and b that differ by so little."""
    monkeypatch.setattr(screening, "_TOP", 2)
    monkeypatch.setattr(screening, "_MANY", 1.0)  # else a block of many candidates is computed
    for seed in range(10):
        rng = np.random.default_rng(seed)
        samples = 1 + size * rng.standard_normal((2, 60))
        found = ScatterMatrix(samples, np.diag([1.0, -1.0]))
        (*_, prices), _ = screening.best_screened(found, 5, no_edges(), identity, np.inf)
        expected = best_pairs(array_of(found), 5)[2]
        assert prices[0] < -size / 2
        np.testing.assert_allclose(prices, expected[: len(prices)], atol=1e-14)


@pytest.mark.parametrize("n_samples", [2, 100, 1000])
@pytest.mark.parametrize("value", [1.1, 1 + 0.9 * 2.0**-24])
def test_sums_in_single_precision_are_off_by_no_more_than_stated(
    n_samples: int, value: float
) -> None:
    """Of many samples alike, whose roundings go the same way: of a thousand by 56 roundings."""
    samples = np.full((n_samples, 3), value)
    screen = screening._Screen(ScatterMatrix(samples, -np.eye(n_samples), True), np.arange(3))
    entries, error = screen.tile(slice(0, 3), slice(0, 3))
    exact = -n_samples * value**2 / screen.unit**2
    assert np.abs(entries.astype(np.float64) - exact).max() <= error


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize("most_kept", [4, 20, 2**17])
@pytest.mark.parametrize("kind", ["negative", "both", "ties"])
def test_all_pairs_below_the_level_are_known(
    kind: str, most_kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where there are more of them than are kept."""
    monkeypatch.setattr(screening, "_MOST_KEPT", most_kept)
    for seed in range(10):
        found = gradient(np.random.default_rng(seed), kind)
        _, known = screening.best_screened(found, 2, no_edges(), identity, np.inf)
        dense = array_of(found)
        pairs = {tuple(pair) for pair in np.column_stack(known.pairs).tolist()}
        rows, columns, prices = best_pairs(dense, len(dense) ** 2)
        below = prices < known.level - 1e-12 * found.largest_entry
        assert pairs.issuperset(zip(rows[below].tolist(), columns[below].tolist(), strict=True))


def test_a_level_is_known_up_to_round_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if prices had been off by 6e-6: now the pair (2, 3) is the best by half as much."""
    monkeypatch.setattr(screening, "_ROUNDINGS", 1e-6)
    monkeypatch.setattr(screening, "_TOP", 2)
    first = np.zeros((8, 8))
    first[0, 1], first[2, 3] = 1.0, 0.9
    first += first.T
    change = -(0.1 + 3e-6) * np.array([[0.5, -0.5], [-0.5, 0.5]])  # along the pair's own atom
    second = first.copy()
    second[2:4, 2:4] += change
    samples, pair = np.eye(8), (np.array([0]), np.array([1]))
    known = screening.Screened(ScatterMatrix(samples, first), -0.9 + 6e-6, pair)
    moved = ScatterMatrix(samples, second)
    (row, column, price), _ = screening.best_screened(moved, 1, no_edges(), identity, 0.0, known)
    assert (row[0], column[0]) == (2, 3)
    assert price[0] == pytest.approx(-1 - 3e-6, abs=1e-12)


def test_few_pairs_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where some features are longer than the rest: of 20,000 features one pair in 100."""
    seen: list[ScatterMatrix] = []
    before_each(monkeypatch, screening, "best_screened", lambda scatter, *_: seen.append(scatter))
    monkeypatch.setattr(pricing, "best_screened", screening.best_screened)
    rng = np.random.default_rng(0)
    samples = rng.standard_normal((10, 20_000)) * np.linspace(1, 0.2, 20_000) ** 2
    laplacian = np.full((10, 10), 0.1) - np.eye(10)
    search = pricing.Pricing(samples, gda.GraphMetrics(20_000.0), is_negative=True, count=20)
    found = search.best(laplacian, no_edges())
    assert 0 < seen[0].n_priced < 20_000**2 / 2 / 100
    second = search.best(laplacian * (1 + 1e-6), no_edges())
    assert seen[1].n_priced == 0  # known pairs are not looked for again
    np.testing.assert_allclose(second.prices, (1 + 1e-6) * found.prices, rtol=1e-12)


# --- Dense and sparse samples alike --------------------------------------------------------------


RNG = np.random.default_rng(0)
X = np.where(RNG.random((7, 30)) < 0.3, RNG.standard_normal((7, 30)), 0.0)


@pytest.fixture(params=[np.asarray, lambda x: by_columns(csr_array(x))], ids=["dense", "sparse"])
def features(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(samples, "_RUN_ENTRIES", 7 * 4)  # several runs
    make: Callable[[Any], Any] = request.param
    return make(X)


def test_sums_and_products_of_columns(features: Any) -> None:
    rng, index = np.random.default_rng(1), np.array([5, 2, 2, 29])
    pairs = np.array([0, 3, 3, 12, 29]), np.array([4, 9, 28, 1, 1])
    weights = rng.random(7)
    squared = squared_columns(features, weights, np.zeros(30))
    np.testing.assert_allclose(squared, weights @ X**2, atol=1e-14)
    np.testing.assert_array_equal(columns_of(features, index), X[:, index])
    matrix = random_symmetric(rng, 7)
    found = products_of(matrix, features[:, index])
    assert isinstance(found, np.ndarray)
    forms = np.diagonal(X.T @ matrix @ X)
    np.testing.assert_allclose(column_forms(matrix, features), forms, atol=1e-13)
    np.testing.assert_allclose(found, matrix @ X[:, index], atol=1e-14)
    right = rng.standard_normal((7, 5))
    backwards = pairs[1], pairs[0] % 5
    sums = paired_sums(features, right, backwards)
    np.testing.assert_allclose(sums, (X.T @ right)[backwards], atol=1e-14)


def test_sparse_samples_are_without_stored_zeros_and_duplicates() -> None:
    doubled = csr_array(([1.0, 2.0, 0.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 3))
    found = by_columns(doubled)
    assert found.nnz == 1
    np.testing.assert_array_equal(found.toarray(), [[0, 3, 0], [0, 0, 0]])


# --- Gradients without their K×K entries ---------------------------------------------------------


@pytest.mark.parametrize("kind", ["negative", "sparse"])
def test_each_column_meets_the_weights_once_for_a_list_of_pairs(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With many samples one product of a column costs far more than an entry does."""
    found = gradient(np.random.default_rng(5), kind, most=12)
    rows, columns = np.nonzero(~np.eye(len(found), dtype=bool))
    expected, widths = array_of(found)[rows, columns], []
    products = found.products

    def counted(samples: Any) -> Any:
        widths.append(samples.shape[1])
        return products(samples)

    monkeypatch.setattr(found, "products", counted)
    np.testing.assert_allclose(found[rows, columns], expected, atol=1e-13 * found.largest_entry)
    assert sum(widths) <= len(found)
