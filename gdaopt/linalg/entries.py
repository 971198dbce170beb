"""The entries of a metric as a vector: K diagonal entries, then edge weights ``y_ij = -M_ij``.

Which pairs of features have an entry is said by *edges*: two arrays of indices, the rows i and the
columns j of the pairs, i < j, row by row. All other off-diagonals of the metric are 0.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from gdaopt.errors import InvalidInputError
from gdaopt.support.resources import check_fits
from gdaopt.support.text import shortened
from gdaopt.support.validation import FloatArray, as_symmetric, as_vector, integer, read_only

IndexArray = npt.NDArray[np.intp]
"""An array of indices."""

Edges = tuple[IndexArray, IndexArray]
"""The rows and the columns of edges i < j, row by row."""


@cache
def all_edges(n_features: int) -> Edges:
    """Return all pairs of features."""
    rows, columns = np.triu_indices(n_features, 1)
    rows.flags.writeable = columns.flags.writeable = False
    return rows, columns


def as_edges(value: Any, n_features: int) -> Edges:
    """Return two arrays of indices as edges of K features; refuse anything else."""
    try:
        rows, columns = (np.asarray(part) for part in value)
        is_right = rows.ndim == 1 and rows.shape == columns.shape
        is_right &= all(part.dtype.kind in "iu" for part in (rows, columns) if part.size)
        is_right &= bool((rows >= 0).all() and (rows < columns).all())
        is_right &= bool((columns < n_features).all())
    except (TypeError, ValueError):
        is_right = False
    if not is_right:
        raise InvalidInputError(
            "edges must be two arrays of indices i < j of as many edges, below "
            f"n_features = {n_features}; got {shortened(value)}"
        )
    return rows.astype(np.intp, copy=False), columns.astype(np.intp, copy=False)


def no_edges() -> Edges:
    """Return the edges of a diagonal matrix: none."""
    return np.zeros(0, np.intp), np.zeros(0, np.intp)


def pairs_of(n_features: int, edges: Edges) -> Edges:
    """Return i and j of all entries: the diagonal, where they are the same, then the edges."""
    diagonal = np.arange(n_features)
    return np.concatenate([diagonal, edges[0]]), np.concatenate([diagonal, edges[1]])


def entries_of(
    metric: FloatArray, edges: Edges | None = None, signs: FloatArray | None = None
) -> FloatArray:
    """Return the entries of a metric as a vector: the diagonal, then the edge weights ``-M_ij``.

    A linear function ⟨G, M⟩ costs ``G_ii`` and ``-2 G_ij``: an edge stands in M twice.

    Parameters
    ----------
    metric : ndarray of shape (K, K)
        Symmetric.
    edges : tuple of two ndarrays of int, shape (n,), optional
        Rows i and columns j of the edges, i < j; all pairs, row by row, when left out.
    signs : ndarray of shape (n,), optional
        ±1 for each edge, of the part of its entry that is returned, as a number ≥ 0. All are -1
        when left out.

    Returns
    -------
    ndarray of shape (K + n,)

    Examples
    --------
    >>> entries_of(np.array([[2.0, -1.0], [-1.0, 3.0]]))
    array([2., 3., 1.])
    """
    metric = as_symmetric("metric", metric)
    size = len(metric)
    edges = all_edges(size) if edges is None else as_edges(edges, size)
    weights = -metric[edges]
    if signs is not None:
        weights = np.maximum(as_vector("signs", signs, len(weights)) * metric[edges], 0.0)
    return np.concatenate([np.diagonal(metric), weights])


def matrix_of(
    entries: FloatArray,
    n_features: int,
    edges: Edges | None = None,
    signs: FloatArray | None = None,
) -> FloatArray:
    """Return the symmetric K×K matrix of a diagonal and edge weights: the inverse of `entries_of`.

    If there are `signs`, the weights of a pair times their signs are added up.

    Examples
    --------
    >>> matrix_of(np.array([2.0, 3.0, 1.0]), 2)
    array([[ 2., -1.],
           [-1.,  3.]])
    """
    n_features = integer("n_features", n_features, at_least=1)
    edges = all_edges(n_features) if edges is None else as_edges(edges, n_features)
    entries = as_vector("entries", entries, n_features + len(edges[0]))
    matrix = np.zeros((n_features, n_features))
    if signs is None:
        matrix[edges] = -entries[n_features:]
    else:
        weights = as_vector("signs", signs, len(edges[0])) * entries[n_features:]
        np.add.at(matrix, edges, weights)
    matrix += matrix.T
    np.fill_diagonal(matrix, entries[:n_features])
    return matrix


def placement(n_features: int, edges: Edges) -> csr_array:
    """Return the matrix that puts a vector of entries into a K×K matrix, row by row."""
    rows, columns = edges
    n_entries = n_features + len(rows)
    sources = np.arange(n_entries)
    places = [
        np.arange(n_features) * (n_features + 1),
        rows * n_features + columns,
        columns * n_features + rows,
    ]
    values = np.repeat([1.0, -1.0], [n_features, 2 * len(rows)])
    index = (np.concatenate(places), np.concatenate([sources, sources[n_features:]]))
    return csr_array((values, index), shape=(n_features * n_features, n_entries))


def incidence(nodes: IndexArray, size: int, weights: FloatArray | float = 1.0) -> csr_array:
    """Return the sparse n×m matrix that adds the number of each edge to that of a node."""
    numbers = np.zeros(len(nodes)) + weights
    return csr_array((numbers, (nodes, np.arange(len(nodes)))), shape=(size, len(nodes)))


def neighbors(n_features: int, edges: Edges) -> list[IndexArray]:
    """Return for each feature its neighbours, the features it has an edge with, ascending."""
    rows, columns = edges
    starts, ends = np.concatenate([rows, columns]), np.concatenate([columns, rows])
    order = np.lexsort((ends, starts))
    counts = np.bincount(starts, minlength=n_features)
    return np.split(ends[order], np.cumsum(counts)[:-1])


def block_of(metric: csr_array, least: float) -> tuple[IndexArray, FloatArray]:
    """Return the features at which a sparse metric is not ρI, and its block of them.

    ρ is the `least` eigenvalue. There is one feature at least, and both arrays are read-only.
    """
    entries = metric.tocoo()
    rows, columns = entries.coords
    is_edge = (rows != columns) & (entries.data != 0)
    differs = metric.diagonal() != least
    differs[rows[is_edge]] = True
    features = np.flatnonzero(differs) if differs.any() else np.array([0])
    size = len(features)
    check_fits(8.0 * size**2, f"the {size}×{size} block of a metric", "it takes more memory")
    block: FloatArray = metric[features][:, features].toarray()
    return read_only(features.astype(np.intp)), read_only(block)


def sparse_symmetric(diagonal: FloatArray, edges: Edges, entries: FloatArray) -> csr_array:
    """Return a sparse symmetric matrix with all of its diagonal."""
    (rows, columns), places = edges, np.arange(len(diagonal))
    index = (
        np.concatenate([places, rows, columns]),
        np.concatenate([places, columns, rows]),
    )
    values = np.concatenate([diagonal, entries, entries])
    return csr_array((values, index), shape=(len(diagonal), len(diagonal)))
