"""Entries of matrices, directions between metrics, bridges of graphs."""

from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdaopt.errors import InvalidInputError
from gdaopt.linalg import directions
from gdaopt.linalg.atoms import Atoms
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
from gdaopt.linalg.laplacian import labels_without_bridges
from gdaopt.support.validation import FloatArray
from tests.helpers import PROPERTY, generators, random_metric, random_symmetric

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
    found = neighbors(size, edges)
    assert len(found) == size
    for column, others in enumerate(found):
        linked = np.flatnonzero((metric[:, column] != 0) & (np.arange(size) != column))
        np.testing.assert_array_equal(others, linked)


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


# --- Directions, against their matrices written out ----------------------------------------------


CHANGE = np.array([0.5, -1.0, 0.0, 0.25, 3.0])
DENSE = random_symmetric(np.random.default_rng(7), 5)
VECTORS = np.array(
    [[0.0, -0.7, 0.0, 0.3, 0.0], [0.0, 0.0, 0.6, 0.8, 0.0], [1.0, 0.0, 0.0, 0.0, 0.0]]
)
FULL = np.array([[0.1, -0.2, 0.3, 0.0, 0.7], [0.0, 0.5, 0.0, 0.0, 0.0]])

DIRECTIONS: dict[str, tuple[directions.Direction, FloatArray]] = {
    "diagonal": (directions.DiagonalDirection(CHANGE), np.diag(CHANGE)),
    "full diagonal": (directions.DiagonalDirection(np.ones(5)), np.eye(5)),
    "column": (
        directions.ColumnDirection(2, CHANGE),
        np.outer(np.eye(5)[2], CHANGE) + np.outer(CHANGE, np.eye(5)[2]),
    ),
    "two-sparse": (
        directions.AtomsDirection(np.array([0.8, 0.5, 0.1]), Atoms.of_few_entries(VECTORS)),
        VECTORS.T @ np.diag([0.8, 0.5, 0.1]) @ VECTORS,
    ),
    "rank two": (
        directions.AtomsDirection(np.array([-2.0, -0.5]), Atoms.of_vectors(FULL)),
        FULL.T @ np.diag([-2.0, -0.5]) @ FULL,
    ),
    "dense": (directions.DenseDirection(DENSE), DENSE),
}


@pytest.mark.parametrize("name", DIRECTIONS)
def test_directions_are_their_matrices(name: str, rng: np.random.Generator) -> None:
    direction, matrix = DIRECTIONS[name]
    metric, gradient = random_metric(rng, 5), random_symmetric(rng, 5)
    assert direction.norm_squared() == pytest.approx(float((matrix**2).sum()), rel=1e-12)
    assert direction.inner(gradient) == pytest.approx(np.trace(gradient @ matrix), rel=1e-13)
    before = metric.copy()
    for gamma in (0.37, *rng.uniform(0, 1, 20)):
        moved = direction.added_to(metric, gamma)
        np.testing.assert_allclose(moved, metric + gamma * matrix, rtol=0, atol=1e-15)
        np.testing.assert_array_equal(moved, moved.T)
    np.testing.assert_array_equal(metric, before)
    # Factors give the quadratic forms of pairs.
    X = rng.standard_normal((6, 5))
    left, right = direction.factors(X)
    assert left.shape == right.shape
    differences = X[:, None] - X[None]
    forms = np.einsum("ijk,kl,ijl->ij", differences, matrix, differences)
    factored = ((left[:, None] - left[None]) * (right[:, None] - right[None])).sum(axis=2)
    np.testing.assert_allclose(factored, forms, rtol=0, atol=1e-13)
    if left.shape[1] > 1:
        np.testing.assert_allclose(left @ right.T, X @ matrix @ X.T, rtol=0, atol=1e-13)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(3)


# --- Bridges against networkx --------------------------------------------------------------------


def random_edges(rng: np.random.Generator, size: int, density: float) -> Edges:
    rows, columns = np.triu_indices(size, 1)
    kept = rng.random(len(rows)) < density
    order = rng.permutation(np.flatnonzero(kept))
    return rows[order], columns[order]


@PROPERTY
@given(rng=generators, size=st.integers(1, 30), degree=st.floats(0, 4))
def test_bridges_are_those_of_networkx(rng: np.random.Generator, size: int, degree: float) -> None:
    edges = random_edges(rng, size, degree / size)
    graph: Any = nx.Graph(zip(*(ends.tolist() for ends in edges), strict=True))
    expected = sorted(tuple(sorted(edge)) for edge in nx.bridges(graph))
    labels = labels_without_bridges(size, edges)
    found = sorted(pair for pair in map(tuple, np.stack(edges, axis=1)) if np.ptp(labels[[*pair]]))
    assert found == expected
