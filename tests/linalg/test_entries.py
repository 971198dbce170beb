"""The entries of a metric as a vector, for the edges that it may have."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdaopt.errors import InvalidInputError
from gdaopt.linalg.entries import (
    Edges,
    all_edges,
    as_edges,
    entries_of,
    matrix_of,
    neighbors,
    no_edges,
    placement,
)
from tests.helpers import PROPERTY, generators

sizes = st.sampled_from([1, 2, 3, 5, 12])


def some_edges(rng: np.random.Generator, size: int) -> Edges:
    """Return none, a few or all of the pairs."""
    rows, columns = all_edges(size)
    kept = rng.random(len(rows)) < rng.choice([0.0, 0.3, 1.0])
    return rows[kept], columns[kept]


@PROPERTY
@given(generators, sizes)
def test_entries_are_inverse_to_the_matrix(rng: np.random.Generator, size: int) -> None:
    edges = some_edges(rng, size)
    entries = rng.standard_normal(size + len(edges[0]))
    metric = matrix_of(entries, size, edges)
    np.testing.assert_array_equal(metric, metric.T)
    assert np.count_nonzero(metric) == size + 2 * len(edges[0])
    np.testing.assert_array_equal(entries_of(metric, edges), entries)
    placed = (placement(size, edges) @ entries).reshape(size, size)
    np.testing.assert_array_equal(placed, metric)


@PROPERTY
@given(generators, sizes)
def test_entries_of_either_sign_are_two(rng: np.random.Generator, size: int) -> None:
    """The part of each sign of a pair, of which one is 0; in a matrix the two add up."""
    rows, columns = some_edges(rng, size)
    twice = np.tile(rows, 2), np.tile(columns, 2)
    signs = np.repeat([1.0, -1.0], len(rows))
    entries = rng.uniform(1.0, 2.0, size + 2 * len(rows))
    metric = matrix_of(entries, size, twice, signs)
    positive, negative = np.split(entries[size:], 2)
    np.testing.assert_allclose(metric[rows, columns], positive - negative)
    found = entries_of(metric, twice, signs)
    np.testing.assert_array_equal(matrix_of(found, size, twice, signs), metric)
    assert found[size:].min(initial=0.0) >= 0
    assert (np.minimum(*np.split(found[size:], 2)) == 0).all()


@PROPERTY
@given(generators, sizes)
def test_neighbors_are_the_columns_of_the_matrix(rng: np.random.Generator, size: int) -> None:
    edges = some_edges(rng, size)
    metric = matrix_of(np.ones(size + len(edges[0])), size, edges)
    found = neighbors(size, edges)
    assert len(found) == size
    for column, others in enumerate(found):
        np.testing.assert_array_equal(others, np.flatnonzero(metric[:, column] < 0))


@pytest.mark.parametrize(
    "edges",
    [([1], [1]), ([2], [1]), ([-1], [1]), ([0], [3]), ([0.5], [1]), ([0, 1], [2]), None, "01"],
    ids=str,
)
def test_edges_that_are_no_pairs_are_refused(edges: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"two arrays of indices i < j .* n_features = 3"):
        as_edges(edges, 3)


def test_edges_come_row_by_row() -> None:
    metric = np.array([[9.0, -1, -2, -3], [-1, 8, -4, -5], [-2, -4, 7, -6], [-3, -5, -6, 6]])
    np.testing.assert_array_equal(entries_of(metric, all_edges(4)), [9, 8, 7, 6, 1, 2, 3, 4, 5, 6])
    np.testing.assert_array_equal(entries_of(metric, no_edges()), [9, 8, 7, 6])
