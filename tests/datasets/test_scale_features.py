"""How features are scaled."""

from __future__ import annotations

import numpy as np
import pytest

from gdaopt.datasets import scale_features
from gdaopt.errors import InvalidInputError


def test_zscore() -> None:
    X = np.random.default_rng(0).normal(3.0, [1.0, 10.0, 0.1], size=(50, 3))
    scaled = scale_features(X)
    expected = (X - X.mean(axis=0)) / X.std(axis=0) / np.sqrt(6)
    np.testing.assert_allclose(scaled, expected, rtol=1e-13, atol=1e-14)
    squares = ((scaled[:, None] - scaled) ** 2).sum(axis=2)
    assert squares.mean() == pytest.approx(1.0)


@pytest.mark.parametrize("factor", [1e-250, 1e-6, 1e6, 1e250])
def test_zscore_does_not_depend_on_units(factor: float) -> None:
    X = np.random.default_rng(1).normal(size=(20, 2))
    np.testing.assert_allclose(scale_features(factor * X), scale_features(X), rtol=1e-12)


def test_constant_columns_become_zero() -> None:
    # The mean of three times 0.1 is not 0.1: round-off must not pass for variation.
    scaled = scale_features([[0.1, 0.0], [0.1, 1.0], [0.1, 2.0]])
    np.testing.assert_array_equal(scaled[:, 0], 0.0)
    assert np.isfinite(scaled).all()


def test_none_returns_a_copy() -> None:
    X = np.array([[1.0, 2.0], [3.0, 5.0]])
    copy = scale_features(X, "none")
    np.testing.assert_array_equal(copy, X)
    assert not np.shares_memory(copy, X)


def test_refuses() -> None:
    with pytest.raises(InvalidInputError, match="did you mean 'zscore'"):
        scale_features([[1.0], [2.0]], "z-score")
    with pytest.raises(InvalidInputError, match="X holds nan"):
        scale_features([[1.0], [np.nan]])
