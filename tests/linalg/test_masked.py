"""Masked symmetric matrices, beside arrays."""

import numpy as np
import pytest
from hypothesis import given

from gdaopt.linalg.entries import entries_of, matrix_of, no_edges
from gdaopt.linalg.masked import (
    MaskedMatrix,
    inner,
    is_finite,
    largest_entry,
    like,
    magnitude_form,
    magnitude_inner,
    norm,
)
from tests.helpers import PROPERTY, generators, random_symmetric
from tests.linalg.test_entries import sizes, some_edges


@PROPERTY
@given(generators, sizes)
def test_masked_matrices_are_read_like_the_matrix(rng: np.random.Generator, size: int) -> None:
    edges = some_edges(rng, size)
    matrix = random_symmetric(rng, size)
    chosen = MaskedMatrix.of(matrix, edges)
    rows, columns = rng.integers(size, size=(2, 3, 7))
    in_mask = np.eye(size, dtype=bool)
    in_mask[edges] = in_mask[edges[::-1]] = True
    expected = np.where(in_mask[rows, columns], matrix[rows, columns], np.nan)
    np.testing.assert_array_equal(chosen[rows, columns], expected)
    assert len(chosen) == size
    np.testing.assert_array_equal(chosen.diagonal(), np.diagonal(matrix))
    sparse = matrix_of(entries_of(matrix, edges) * np.sign(rng.standard_normal()), size, edges)
    assert inner(chosen, MaskedMatrix.of(sparse, edges)) == pytest.approx(np.vdot(matrix, sparse))


def test_values_that_are_not_finite_are_seen() -> None:
    matrix = np.array([[1.0, np.inf, 2.0], [np.inf, 1.0, 2.0], [2.0, 2.0, 1.0]])
    assert is_finite(MaskedMatrix.of(matrix, (np.array([0]), np.array([2]))))
    assert not is_finite(MaskedMatrix.of(matrix, (np.array([0]), np.array([1]))))
    assert not is_finite(MaskedMatrix.of(np.diag([1.0, np.nan]), no_edges()))


@PROPERTY
@given(generators, sizes)
def test_entries_outside_of_the_mask_count_as_zeros(rng: np.random.Generator, size: int) -> None:
    edges, vector = some_edges(rng, size), rng.standard_normal(size)
    first, second = (
        matrix_of(entries_of(random_symmetric(rng, size), edges), size, edges) for _ in range(2)
    )
    one, other = MaskedMatrix.of(first, edges), like(MaskedMatrix.of(second, edges), second)
    assert inner(one, other) == pytest.approx(inner(first, second), abs=1e-12)
    assert norm(one) == pytest.approx(norm(first))
    assert largest_entry(one) == largest_entry(first)
    form = abs(vector) @ abs(first) @ abs(vector)
    for matrix in (one, first):
        assert magnitude_form(matrix, abs(vector)) == pytest.approx(form)
    for pair in ((one, other), (first, second)):
        assert magnitude_inner(*pair) == pytest.approx(np.vdot(abs(first), abs(second)))
    for chosen, whole in ((abs(one), abs(first)), (one + other, first + second)):
        np.testing.assert_array_equal(chosen.on_diagonal, np.diagonal(whole))
        np.testing.assert_array_equal(chosen.on_edges, whole[edges])
    np.testing.assert_array_equal((one - other).on_edges, (first - second)[edges])
    assert like(first, second) is second
