"""Numbers of pairs, in memory that is lent and given back; sums of chunks; and subsamples."""

import gc
import math
import weakref
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gdaopt as gda
from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.directions import DiagonalDirection
from gdaopt.objectives import pair_point
from gdaopt.objectives.glr import Exponentials
from gdaopt.objectives.pair_loss import thin
from gdaopt.objectives.pair_objective import draw_stratified
from gdaopt.objectives.pair_sums import PairSums, add_sums, chunk_sums, pair_sums
from gdaopt.objectives.pairs.scatter import Scatter
from gdaopt.support.validation import read_only
from tests.master.cases import evaluate
from tests.objectives.cases import CASES, K, make_tiles_small


def test_a_first_tile_far_below_the_others_is_no_shift(monkeypatch: pytest.MonkeyPatch) -> None:
    make_tiles_small(monkeypatch, 1)
    features = np.array([[0.0], [40.0], [80.0], [80.0]])
    pairs = gda.GLR(features, [1.0, 1.0, 1.0, -1.0]).pairs
    sums = chunk_sums(Exponentials(constant=1.0), pairs, np.eye(1))
    assert sums.log_value == pytest.approx(math.log(8))


def test_a_first_tile_may_vanish(monkeypatch: pytest.MonkeyPatch) -> None:
    make_tiles_small(monkeypatch, 1)
    pairs = gda.GLR([[0.0], [1.0], [2.0]], [-1.0, -1.0, 1.0]).pairs
    distances = [read_only(np.array([[distance]])) for distance in (np.inf, 3.0)]
    assert len(pairs.tiles) == len(distances)
    sums = pair_sums(Exponentials(constant=1.0), pairs, distances)
    assert sums.log_value == pytest.approx(-3.0)


def test_chunks_have_the_weights_of_their_own_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where those of all pairs are known before."""
    make_tiles_small(monkeypatch, 8)
    monkeypatch.setattr("gdaopt.objectives.pairs.pairs._CHUNK", 8)
    X = np.random.default_rng(0).standard_normal((12, 2))
    glr = gda.GLR(X, np.arange(12) % 3, sample_weight=np.arange(1.0, 13.0))
    value = glr.value(np.eye(2))
    assert glr.pairs.log_weights is not None
    assert len(glr._chunks) > 2
    assert glr.sums(np.eye(2)).value == pytest.approx(value, rel=1e-12)


def test_sums_of_chunks_are_added_in_common_units() -> None:
    parts = [PairSums(shift, 1.0, Scatter.of(np.eye(2)), np.ones(3)) for shift in (-1000.0, -999.0)]
    sums = add_sums(parts)
    assert sums.log_value == pytest.approx(-999 + math.log1p(math.exp(-1)))
    np.testing.assert_allclose(sums.scatter.dense, (1 + math.exp(-1)) * np.eye(2))
    np.testing.assert_allclose(sums.degrees, 1 + math.exp(-1))
    assert sums.value == 0.0
    assert replace(sums, shift=1000.0).value == math.inf


@pytest.mark.parametrize("name", ["GLR, weights", "MCML", "logistic", "triplets, logistic"])
def test_sums_have_what_round_off_is_relative_to(name: str) -> None:
    """``Σ |c_p|`` and ``Σ |c_p| (y_r² + y_c²)`` ("Lemma: round-off of sums over pairs")."""
    point = CASES[name]().at(np.eye(K))
    pairs, shift, weight, squares = point.pairs, point.sums.shift, 0.0, np.zeros(K)
    sizes = (np.abs(pairs.features) + np.abs(pairs._centre) / 4) ** 2
    for tile, distances in zip(pairs.tiles, point.distances, strict=True):
        left, right = np.broadcast_arrays(*pairs.samples(tile))
        derivatives = np.abs(point.objective.loss.at(tile, distances + shift).first())
        weight += float(derivatives.sum())
        squares += np.tensordot(derivatives, sizes[left] + sizes[right], derivatives.ndim)
    assert point.sums.degrees.sum() == pytest.approx(2 * weight)
    np.testing.assert_allclose(pairs.squares(point.sums.degrees), squares)


@pytest.fixture
def no_garbage_collector() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.fixture(params=["labels", "real"])
def glr(request: pytest.FixtureRequest) -> gda.GLR:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 4)) / np.sqrt(2 * 4)
    return gda.GLR(X, np.sign(X[:, 0]) if request.param == "labels" else X[:, 0])


def test_points_are_gone_at_once(glr: gda.GLR, no_garbage_collector: None) -> None:
    point = glr.at(np.eye(4))
    direction = DiagonalDirection(np.ones(4))
    assert point.value > 0
    assert point.line(direction).value(0.5) > 0
    moved = point.line(direction).at(0.5)
    assert moved.gradient().any()
    assert moved.curvature(Atoms.of_features(np.arange(2))).any()
    gone = weakref.ref(point), weakref.ref(moved)
    del point, moved
    assert [ref() for ref in gone] == [None, None]


@given(st.lists(st.integers(1, 60), min_size=1, max_size=6), st.integers(1, 100))
def test_samples_have_their_share_of_each_stratum(counts: list[int], size: int) -> None:
    strata = np.repeat(np.arange(len(counts)), counts)
    chosen, meant = draw_stratified(strata, size)
    assert (np.diff(chosen) > 0).all()
    np.testing.assert_allclose(np.bincount(strata[chosen], meant), counts)
    for stratum, count in enumerate(counts):
        n_taken = int((strata[chosen] == stratum).sum())
        assert min(2, count) <= n_taken <= count
        assert n_taken <= max(2, size * count / len(strata) + 1)


@pytest.mark.parametrize(
    ("n", "expected"),
    [(100, 0), (3999, 0), (4000, 1000), (15_999, 1000), (16_000, 4000), (65_000, 16_000)],
)
def test_sizes_of_samples(n: int, expected: int) -> None:
    signal = np.resize([1.0, -1.0], n)
    found = gda.GLR(np.arange(n)[:, None], signal).subsample()
    assert (0 if found is None else len(found.pairs.features)) == expected


@pytest.mark.parametrize("kind", [gda.MCML, gda.NCA])
def test_a_small_class_has_its_weight_in_a_subsample(kind: type[gda.MCML | gda.NCA]) -> None:
    """It has two samples there at least, which stand for fewer than others do."""
    classes = np.repeat([0, 1, 2], [3000, 997, 3])
    X = np.random.default_rng(6).standard_normal((4000, 2))
    sample = kind(X, classes, sample_weight=1.0 + classes).subsample()
    assert sample is not None
    weights = np.bincount(sample.loss.codes, sample.loss.weights)  # type: ignore[attr-defined]
    expected = np.bincount(classes) * [1.0, 2.0, 3.0]
    np.testing.assert_allclose(weights, expected / expected.sum())


def test_terms_that_are_left_are_right_in_the_mean() -> None:
    terms = np.random.default_rng(7).random(200_000) ** 8
    few = thin(terms, float(terms.sum()) / 320, np.random.default_rng(0))
    left = few > 0
    assert 200 < np.count_nonzero(left) <= 400
    assert few.sum() == pytest.approx(terms.sum(), rel=0.2)
    assert (few[left] >= terms[left]).all()


@pytest.mark.parametrize("log", [True, False])
def test_second_derivatives_are_nearly_those_of_all(
    log: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(1)
    X, z = rng.standard_normal((1200, 4)), np.where(np.arange(1200) % 3, 1.0, -1.0)
    atoms, weights = Atoms.of_features(np.arange(4)), np.array([0.5, 0.2, 0.1, 0.3])
    exact = evaluate(gda.GLR(X, z).at(np.eye(4)), atoms, weights, log=log)
    all_of_them = exact.hessian()[:-1, :-1]
    monkeypatch.setattr("gdaopt.objectives.pair_objective.MANY_PAIRS", 1000)
    glr = gda.GLR(X, z)
    assert glr.estimates_curvature
    found = evaluate(glr.at(np.eye(4)), atoms, weights, log=log)
    assert found.value == pytest.approx(exact.value, rel=1e-12)
    np.testing.assert_allclose(found.gradient, exact.gradient, rtol=1e-10)
    ratios = np.linalg.eigvals(np.linalg.solve(all_of_them, found.hessian()[:-1, :-1])).real
    assert 0.4 < ratios.min() <= ratios.max() < 2.5


def test_second_derivatives_of_some_parts_stand_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    logistic = gda.LogisticPairs(rng.standard_normal((300, 3)), rng.integers(0, 2, 300))
    atoms = Atoms.of_features(np.arange(3))
    exact = logistic.at(np.eye(3)).curvature(atoms)
    monkeypatch.setattr("gdaopt.objectives.pairs.pairs._PART_ENTRIES", 2000)
    monkeypatch.setattr(pair_point, "_MOST_PAIRS", logistic.pairs.n_pairs // 5)
    few = logistic.at(np.eye(3)).curvature(atoms)
    assert (few != exact).all()
    np.testing.assert_allclose(few, exact, rtol=0.2)
