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
from gdaopt.objectives.glr import Exponentials
from gdaopt.objectives.pair_loss import thin
from gdaopt.objectives.pair_objective import draw_stratified
from gdaopt.objectives.pair_sums import PairSums, add_sums, chunk_sums, pair_sums
from gdaopt.objectives.pairs import rectangles
from gdaopt.objectives.pairs.base import Scatter
from gdaopt.objectives.pairs.signal_pairs import weighted_pairs
from gdaopt.support.validation import read_only
from tests.helpers import random_metric
from tests.master.cases import evaluate
from tests.objectives.cases import make_tiles_small


def test_a_first_tile_far_below_the_others_is_no_shift(monkeypatch: pytest.MonkeyPatch) -> None:
    make_tiles_small(monkeypatch, 1)
    features = np.array([[0.0], [40.0], [80.0], [80.0]])
    pairs = weighted_pairs(features, [1.0, 1.0, 1.0, -1.0])
    sums = chunk_sums(Exponentials(constant=1.0), pairs, np.eye(1))
    assert sums.log_value == pytest.approx(math.log(8))


def test_a_first_tile_may_vanish(monkeypatch: pytest.MonkeyPatch) -> None:
    make_tiles_small(monkeypatch, 1)
    pairs = weighted_pairs([[0.0], [1.0], [2.0]], [-1.0, -1.0, 1.0])
    distances = [read_only(np.array([[distance]])) for distance in (np.inf, 3.0)]
    assert len(list(pairs.tiles())) == len(distances)
    sums = pair_sums(Exponentials(constant=1.0), pairs, distances)
    assert sums.log_value == pytest.approx(-3.0)


def test_chunks_have_the_weights_of_their_own_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where those of all pairs are known before."""
    make_tiles_small(monkeypatch, 8)
    monkeypatch.setattr(rectangles, "_CHUNK", 8)
    X = np.random.default_rng(0).standard_normal((12, 2))
    glr = gda.GLR(X, np.arange(12) % 3, sample_weight=np.arange(1.0, 13.0))
    value = glr.value(np.eye(2))
    assert glr.pairs.log_weights is not None
    assert len(glr._chunks) > 2
    assert glr.sums(np.eye(2)).value == pytest.approx(value, rel=1e-12)


def test_sums_of_chunks_are_added_in_common_units() -> None:
    parts = [
        PairSums(shift, 1.0, Scatter.of(np.eye(2)), 1.0, np.ones(2)) for shift in (-1000.0, -999.0)
    ]
    sums = add_sums(parts)
    assert sums.log_value == pytest.approx(-999 + math.log1p(math.exp(-1)))
    np.testing.assert_allclose(sums.scatter.dense, (1 + math.exp(-1)) * np.eye(2))
    assert sums.weight == pytest.approx(1 + math.exp(-1))
    assert sums.value == 0.0
    assert replace(sums, shift=1000.0).value == math.inf


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


def test_points_stay_what_they_are_while_others_come_and_go(glr: gda.GLR) -> None:
    rng = np.random.default_rng(2)
    metrics = [random_metric(rng, 4) for _ in range(20)]
    kept = [(glr.at(metric), glr.value(metric)) for metric in metrics]
    for metric in metrics:
        glr.gradient(metric)
    for (point, value), metric in zip(kept, metrics, strict=True):
        assert point.value == value
        np.testing.assert_array_equal(point.gradient(), glr.gradient(metric))


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
