"""Gradients without their K×K entries."""

from typing import Any

import numpy as np
import pytest

from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.masked import largest_entry
from tests.linalg.scatter_cases import KINDS, gradient


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
