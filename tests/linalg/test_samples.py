"""Dense and sparse samples alike."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from gdaopt.linalg import samples
from gdaopt.linalg.masked import MaskedMatrix
from gdaopt.linalg.samples import (
    by_columns,
    columns_of,
    gram_matrix,
    paired_sums,
    products_of,
    squared_columns,
)

RNG = np.random.default_rng(0)
X = np.where(RNG.random((7, 30)) < 0.3, RNG.standard_normal((7, 30)), 0.0)


@pytest.fixture(params=[np.asarray, lambda x: by_columns(csr_array(x))], ids=["dense", "sparse"])
def features(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(samples, "_RUN_ENTRIES", 7 * 4)  # several runs
    make: Callable[[Any], Any] = request.param
    return make(X)


def test_sums_over_features(features: Any) -> None:
    pairs = np.array([[0, 4], [3, 9], [3, 28]])
    diagonal, entries = RNG.random(30), RNG.standard_normal(3)
    metric = MaskedMatrix(diagonal, entries, (pairs[:, 0], pairs[:, 1]))
    gram = gram_matrix(features, metric)
    np.testing.assert_allclose(gram, X @ metric.dense() @ X.T, atol=1e-14)
    np.testing.assert_array_equal(gram, gram.T)
    weights = RNG.random(7)
    np.testing.assert_allclose(
        squared_columns(features, weights, np.zeros(30)), weights @ X**2, atol=1e-14
    )


def test_columns_and_their_products(features: Any) -> None:
    index = np.array([5, 2, 2, 29])
    np.testing.assert_array_equal(columns_of(features, index), X[:, index])
    matrix = RNG.standard_normal((7, 7))
    matrix += matrix.T
    found = products_of(matrix, features[:, index])
    assert isinstance(found, np.ndarray)
    np.testing.assert_allclose(found, matrix @ X[:, index], atol=1e-14)


def test_paired_sums_are_entries_of_the_product(features: Any) -> None:
    right, pairs = RNG.standard_normal((7, 5)), np.array([[0, 4], [29, 1], [12, 1], [3, 0], [8, 2]])
    sums = paired_sums(features, right, (pairs[:, 0], pairs[:, 1]))
    np.testing.assert_allclose(sums, (X.T @ right)[pairs[:, 0], pairs[:, 1]], atol=1e-14)


def test_sparse_samples_are_without_stored_zeros_and_duplicates() -> None:
    doubled = csr_array(([1.0, 2.0, 0.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 3))
    found = by_columns(doubled)
    assert found.nnz == 1
    np.testing.assert_array_equal(found.toarray(), [[0, 3, 0], [0, 0, 0]])
