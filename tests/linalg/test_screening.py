"""Screened prices: the same pairs as from all entries of the gradient."""

import numpy as np
import pytest

from gdaopt.linalg import screening
from gdaopt.linalg.atoms import best_pairs
from gdaopt.linalg.entries import IndexArray, no_edges
from gdaopt.linalg.masked import largest_entry
from gdaopt.linalg.scatter import ScatterMatrix
from gdaopt.sets import TwoSparseAtoms
from gdaopt.support.validation import FloatArray
from tests.linalg.scatter_cases import KINDS, gradient

COLORS = ("graph", "free", "signed", "mixed")


def family(rng: np.random.Generator, colors: str, size: int) -> TwoSparseAtoms:
    """Return a family of atoms of some signs."""
    if colors == "graph":
        return TwoSparseAtoms()
    if colors == "free":
        return TwoSparseAtoms(colors=0.0)
    known = [-1, 1] if colors == "signed" else [-1, 0, 1]
    return TwoSparseAtoms(colors=rng.choice(known, size))


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


def test_few_pairs_are_looked_at() -> None:
    """Where some features are longer than the rest: of 20,000 features one pair in 100."""
    rng = np.random.default_rng(0)
    samples = rng.standard_normal((10, 20_000)) * np.linspace(1, 0.2, 20_000) ** 2
    screened = ScatterMatrix(samples, np.full((10, 10), 0.1) - np.eye(10), is_negative=True)
    found = TwoSparseAtoms().best_atoms(screened, 20)
    assert screened.n_priced < 20_000**2 / 2 / 100
    before = screened.n_priced
    again = TwoSparseAtoms().best_atoms(screened, 20)
    np.testing.assert_array_equal(again.prices, found.prices)
    assert screened.n_priced > before  # of another family nothing is known


def test_known_pairs_are_not_looked_for_again() -> None:
    rng = np.random.default_rng(0)
    samples = rng.standard_normal((10, 3000))
    screened = ScatterMatrix(samples, np.full((10, 10), 0.1) - np.eye(10), is_negative=True)
    atoms = TwoSparseAtoms()
    first = atoms.best_atoms(screened, 20)
    nearby = ScatterMatrix(samples, screened._laplacian * (1 + 1e-6), is_negative=True)
    nearby.screened = screened.screened
    second = atoms.best_atoms(nearby, 20)
    assert nearby.n_priced == 0
    np.testing.assert_allclose(second.prices, (1 + 1e-6) * first.prices, rtol=1e-12)


def test_all_that_is_better_than_the_worst_of_a_guess_is_found() -> None:
    rng = np.random.default_rng(1)
    screened = gradient(rng, "negative")
    atoms = TwoSparseAtoms()
    best = atoms.best_atoms(screened, 10)
    guess = best.atoms[2:4]
    found = atoms.best_atoms(screened, 10, guess)
    np.testing.assert_allclose(found.prices[:4], best.prices[:4], rtol=1e-12)
