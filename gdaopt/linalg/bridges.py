"""Graphs in pieces: bridges, spanning forests, and inverses that are put together at bridges.

A *bridge* is an edge without which its component falls apart. Where ``M_ij`` is a bridge of the
graph of M, the inverse of M follows from those of the two parts ("Proposition: bridges").
"""

from __future__ import annotations

import numpy as np

from gdaopt.linalg.entries import Edges, IndexArray
from gdaopt.support.validation import FloatArray

__all__ = ["bridges", "component_labels", "largest_forest", "with_bridges"]


def component_labels(size: int, edges: Edges) -> IndexArray:
    """Return the number of the component that each of K nodes is in, from 0 on."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    graph = csr_array((np.ones(len(edges[0])), edges), shape=(size, size))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.intp)


def bridges(size: int, edges: Edges) -> Edges:
    """Return the edges without which the graph has more components.

    Parameters
    ----------
    size : int
        K, the number of nodes.
    edges : tuple of two ndarrays of int
        Rows and columns of the graph's edges, each once.

    Notes
    -----
    An edge of a spanning forest is a bridge where no other edge leaves the subtree below it. In
    preorder a subtree is an interval, so the least and the largest neighbour of its nodes tell
    (Tarjan, *A note on finding the bridges of a graph*, 1974).

    Examples
    --------
    >>> triangle_and_tail = np.array([0, 0, 1, 2]), np.array([1, 2, 2, 3])
    >>> bridges(4, triangle_and_tail)
    (array([2]), array([3]))
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order  # on demand: few methods need it

    _, roots = np.unique(component_labels(size, edges), return_index=True)
    # A node more, next to a root of each component, so that one search finds the whole forest.
    starts = np.append(edges[0], np.full(len(roots), size)), np.append(edges[1], roots)
    graph = csr_array((np.ones(len(starts[0])), starts), shape=(size + 1, size + 1))
    found, before = breadth_first_order(graph, size, directed=False)
    order, parents = found[1:].tolist(), before[:size]
    parents[roots] = roots
    sizes = np.ones(size, dtype=np.intp)
    for node in reversed(order):
        if parents[node] != node:
            sizes[parents[node]] += sizes[node]
    number, following = np.zeros(size, dtype=np.intp), np.zeros(size, dtype=np.intp)
    next_root = 0
    for node in order:
        if parents[node] == node:
            number[node], next_root = next_root, next_root + sizes[node]
        else:
            number[node] = following[parents[node]]
            following[parents[node]] += sizes[node]
        following[node] = number[node] + 1
    least, largest = number.copy(), number.copy()
    rows, columns = edges
    others = (parents[rows] != columns) & (parents[columns] != rows)
    for here, there in ((rows[others], columns[others]), (columns[others], rows[others])):
        np.minimum.at(least, here, number[there])
        np.maximum.at(largest, here, number[there])
    for node in reversed(order):
        least[parents[node]] = min(least[parents[node]], least[node])
        largest[parents[node]] = max(largest[parents[node]], largest[node])
    nodes = np.arange(size)
    below = (least >= number) & (largest < number + sizes) & (parents != nodes)
    ends = np.sort(np.column_stack([nodes[below], parents[below]]), axis=1)
    ends = ends[np.lexsort(ends.T[::-1])].astype(np.intp)
    return ends[:, 0], ends[:, 1]


def largest_forest(matrix: FloatArray, variances: FloatArray) -> Edges:
    """Return the spanning forest of the largest correlations ``|A_ij| / √(v_i v_j)``.

    Parameters
    ----------
    matrix : ndarray of shape (K, K)
        A, symmetric; only entries other than 0 are edges, and the diagonal does not matter.
    variances : ndarray of shape (K,)
        v > 0.

    Examples
    --------
    >>> A = np.array([[1.0, 0.5, 0.2], [0.5, 1.0, 0.4], [0.2, 0.4, 1.0]])
    >>> largest_forest(A, np.ones(3))
    (array([0, 1]), array([1, 2]))
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    roots = np.sqrt(variances)
    lengths = -np.abs(np.triu(matrix, 1)) / roots / roots[:, None]
    tree = minimum_spanning_tree(csr_array(lengths)).tocoo()
    return tree.row.astype(np.intp), tree.col.astype(np.intp)


def with_bridges(
    metric: FloatArray, variances: FloatArray, edges: Edges, covariance: FloatArray
) -> FloatArray:
    """Return the metric with bridges across which the inverse has given entries.

    Parameters
    ----------
    metric : ndarray of shape (K, K)
        M, positive definite, which is changed in place.
    variances : ndarray of shape (K,)
        The diagonal of ``M⁻¹``, which stays.
    edges : tuple of two ndarrays of int
        Rows and columns of the bridges: together with the graph of M they close no cycle.
    covariance : ndarray of shape (K, K)
        The inverse becomes ``S_ij`` at the bridges (i, j), which must be below ``√(v_i v_j)``.

    Examples
    --------
    >>> S = np.array([[1.0, 0.6], [0.6, 2.0]])
    >>> edge = np.array([0]), np.array([1])
    >>> np.linalg.inv(with_bridges(np.diag([1.0, 0.5]), np.array([1.0, 2.0]), edge, S)).round(12)
    array([[1. , 0.6],
           [0.6, 2. ]])
    """
    rows, columns = edges
    entries, of_rows, of_columns = covariance[edges], variances[rows], variances[columns]
    determinants = of_rows * of_columns - entries**2
    metric[rows, columns] = metric[columns, rows] = -entries / determinants
    np.add.at(metric, (rows, rows), entries**2 / determinants / of_rows)
    np.add.at(metric, (columns, columns), entries**2 / determinants / of_columns)
    return metric
