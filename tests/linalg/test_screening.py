"""Screened prices: the same pairs as from all entries of the gradient."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csc_array, csr_array

from gdaopt.linalg import samples, screening
from gdaopt.linalg.atoms import Atoms, best_pairs
from gdaopt.linalg.entries import IndexArray, no_edges
from gdaopt.linalg.masked import largest_entry
from gdaopt.linalg.samples import (
    by_columns,
    column_forms,
    columns_of,
    paired_sums,
    products_of,
    squared_columns,
)
from gdaopt.linalg.scatter import ScatterMatrix
from gdaopt.sets import TwoSparseAtoms
from gdaopt.support.validation import FloatArray
from tests.helpers import random_symmetric

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


def family(rng: np.random.Generator, colors: str, size: int) -> TwoSparseAtoms:
    """Return a family of atoms of some signs."""
    if colors == "graph":
        return TwoSparseAtoms((-1,))
    if colors == "free":
        return TwoSparseAtoms((-1, 1))
    known = [-1, 1] if colors == "signed" else [-1, 0, 1]
    return TwoSparseAtoms((-1, 1), colors=rng.choice(known, size))


def identity(entries: FloatArray, _rows: IndexArray, _columns: IndexArray) -> FloatArray:
    return entries


@pytest.fixture(params=[(2, 3, 2), (192, 512, 256)], ids=["small blocks", "blocks"])
def blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also with blocks so small that there are many."""
    for name, value in zip(("_TOP", "_ROWS", "_COLUMNS"), request.param, strict=True):
        monkeypatch.setattr(screening, name, value)


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("colors", COLORS)
@pytest.mark.parametrize("seed", range(4))
def test_the_best_atoms_are_those_of_all_prices(kind: str, colors: str, seed: int) -> None:
    """Over 200 random gradients, with ties, zero columns, duplicates and positive parts."""
    rng = np.random.default_rng([seed, KINDS.index(kind), COLORS.index(colors)])
    screened = gradient(rng, kind)
    atoms = family(rng, colors, len(screened))
    dense, count = screened.dense(), int(rng.integers(1, 12))
    expected = atoms.best_atoms(dense, count)
    found = atoms.best_atoms(screened, count)
    # Round-off of a price is relative to the entries of its own pair.
    sizes = np.abs(expected.atoms.quadratic_forms(np.abs(dense) + 0.0))
    slack = 1e-12 * np.maximum(np.abs(expected.prices), sizes) + 1e-15 * largest_entry(screened)
    assert len(found.prices) == len(expected.prices)
    assert (np.abs(found.prices - expected.prices) <= slack).all()
    prices = found.atoms.quadratic_forms(dense)
    assert (np.abs(prices - found.prices) <= 1e-14 * largest_entry(screened)).all()
    # Where no other pair has nearly the same price the atoms are the same.
    gaps = np.diff(expected.prices)
    apart = np.minimum(np.append(gaps, 0.0), np.append(np.inf, gaps)) > 1e-9 * abs(
        expected.prices[0]
    )
    mine, theirs = found.atoms.dense(len(dense)), expected.atoms.dense(len(dense))
    cosines = np.abs((mine * theirs).sum(axis=1))
    assert (cosines[apart] >= 1 - 1e-9).all()


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
        expected = best_pairs(second.dense(), 5)
        singles = np.sort(second.diagonal())[:5]
        counts = expected[2] < (singles[-1] if len(singles) == 5 else np.inf)
        slack = 1e-12 * largest_entry(second)
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
        expected = best_pairs(found.dense(), 5)[2]
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
    entries, error = screen.block(slice(0, 3), slice(0, 3))
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
        dense = found.dense()
        pairs = {tuple(pair) for pair in np.column_stack(known.pairs).tolist()}
        rows, columns, prices = best_pairs(dense, len(dense) ** 2)
        below = prices < known.level - 1e-12 * largest_entry(found)
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


def test_few_pairs_are_looked_at() -> None:
    """Where some features are longer than the rest: of 20,000 features one pair in 100."""
    rng = np.random.default_rng(0)
    samples = rng.standard_normal((10, 20_000)) * np.linspace(1, 0.2, 20_000) ** 2
    laplacian = np.full((10, 10), 0.1) - np.eye(10)
    screened, atoms = ScatterMatrix(samples, laplacian, is_negative=True), TwoSparseAtoms((-1,))
    found = atoms.best_atoms(screened, 20)
    before = screened.n_priced
    assert before < 20_000**2 / 2 / 100
    again = TwoSparseAtoms((-1,)).best_atoms(screened, 20)
    np.testing.assert_array_equal(again.prices, found.prices)
    assert screened.n_priced > before  # of another family nothing is known
    nearby = ScatterMatrix(samples, laplacian * (1 + 1e-6), is_negative=True)
    nearby.screened = screened.screened
    second = atoms.best_atoms(nearby, 20)
    assert nearby.n_priced == 0  # known pairs are not looked for again
    np.testing.assert_allclose(second.prices, (1 + 1e-6) * found.prices, rtol=1e-12)


def test_all_that_is_better_than_the_worst_of_a_guess_is_found() -> None:
    rng = np.random.default_rng(1)
    screened = gradient(rng, "negative")
    atoms = TwoSparseAtoms((-1,))
    best = atoms.best_atoms(screened, 10)
    guess = best.atoms[2:4]
    found = atoms.best_atoms(screened, 10, guess)
    np.testing.assert_allclose(found.prices[:4], best.prices[:4], rtol=1e-12)


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


@pytest.mark.parametrize("kind", KINDS)
def test_a_scatter_matrix_is_read_like_its_array(kind: str) -> None:
    rng = np.random.default_rng(3)
    screened = gradient(rng, kind, most=12)
    dense = screened.dense()
    scale = largest_entry(screened)
    np.testing.assert_allclose(screened.diagonal(), np.diagonal(dense), atol=1e-14 * scale)
    rows, columns = rng.integers(0, len(dense), (2, 4, 5))
    np.testing.assert_allclose(screened[rows, columns], dense[rows, columns], atol=1e-14 * scale)
    assert scale >= largest_entry(dense)
    atoms = Atoms.of_features(np.arange(len(dense)))
    np.testing.assert_array_equal(atoms.quadratic_forms(screened), screened.diagonal())
    bounds = screened.least_eigenvalues
    for i in range(len(dense)):
        for j in range(i):
            block = dense[np.ix_([i, j], [i, j])]
            assert np.linalg.eigvalsh(block)[0] >= -bounds[i] - bounds[j] - 1e-13 * scale


@pytest.mark.parametrize("kind", ["negative", "sparse"])
def test_each_column_meets_the_weights_once_for_a_list_of_pairs(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With many samples one product of a column costs far more than an entry does."""
    found = gradient(np.random.default_rng(5), kind, most=12)
    rows, columns = np.nonzero(~np.eye(len(found), dtype=bool))
    expected, widths = found.dense()[rows, columns], []
    products = found.products

    def counted(samples: Any) -> Any:
        widths.append(samples.shape[1])
        return products(samples)

    monkeypatch.setattr(found, "products", counted)
    np.testing.assert_allclose(found[rows, columns], expected, atol=1e-13 * largest_entry(found))
    assert sum(widths) <= len(found)
