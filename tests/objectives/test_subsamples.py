"""Subsamples, and second derivatives from them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gdaopt as gda
from gdaopt.linalg.atoms import Atoms
from gdaopt.master import MasterPoint
from gdaopt.objectives.pair_loss import _Thinning
from gdaopt.objectives.pair_objective import stratified


@given(
    st.lists(st.integers(1, 60), min_size=1, max_size=6),
    st.integers(1, 100),
)
def test_samples_have_their_share_of_each_stratum(counts: list[int], size: int) -> None:
    strata = np.repeat(np.arange(len(counts)), counts)
    chosen, meant = stratified(strata, size)
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
    few = _Thinning(float(terms.sum()), 10, 1)(terms)
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
    atoms, weights, base = (
        Atoms.of_features(np.arange(4)),
        np.array([0.5, 0.2, 0.1, 0.3]),
        np.eye(4),
    )
    exact = MasterPoint(gda.GLR(X, z).at(base), atoms, weights, log)
    all_of_them = exact.hessian()
    monkeypatch.setattr("gdaopt.objectives.pair_objective.MANY_PAIRS", 1000)
    found = MasterPoint(gda.GLR(X, z).at(base), atoms, weights, log)
    assert found.point.estimates_curvature
    assert found.value == pytest.approx(exact.value, rel=1e-12)
    np.testing.assert_allclose(found.gradient(), exact.gradient(), rtol=1e-10)
    ratios = np.linalg.eigvals(np.linalg.solve(all_of_them, found.hessian())).real
    assert 0.4 < ratios.min() <= ratios.max() < 2.5
