"""A metric matrix as the generalised Laplacian of a graph: weights, self-loops, connectivity.

An edge (i, j) has weight ``w_ij = -M_ij``; node i has a self-loop of weight ``Σ_j M_ij``, which may
be negative ("Definition: graph metric").
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from gdaopt.linalg.entries import Edges, IndexArray
from gdaopt.support.validation import FloatArray, as_symmetric, number

_EDGE_THRESHOLD = 1e-9  # in units of C/K: Frank–Wolfe steps shrink edges, never to zero


def edge_weights(metric: FloatArray) -> FloatArray:
    """Return the K×K matrix of edge weights ``w_ij = -M_ij``, with a zero diagonal.

    Examples
    --------
    >>> edge_weights(np.array([[2.0, -1.0], [-1.0, 3.0]]))
    array([[0., 1.],
           [1., 0.]])
    """
    weights: FloatArray = -as_symmetric("metric", metric)
    np.fill_diagonal(weights, 0.0)
    return weights + 0.0  # -0.0 becomes 0.0


def self_loops(metric: FloatArray) -> FloatArray:
    """Return the K self-loop weights ``M_ii - Σ_j w_ij``, the row sums of the metric matrix.

    Examples
    --------
    >>> self_loops(np.array([[2.0, -1.0], [-1.0, 3.0]]))
    array([1., 2.])
    """
    return np.asarray(as_symmetric("metric", metric).sum(axis=1))


def generalized_laplacian(weights: FloatArray, loops: FloatArray) -> FloatArray:
    """Return the metric matrix of a graph: the inverse of `edge_weights` and `self_loops`."""
    metric = edge_weights(weights)
    np.fill_diagonal(metric, loops - metric.sum(axis=1))
    return metric


def path_edges(size: int) -> Edges:
    """Return the edges of the path 0 – 1 – … – (K-1)."""
    nodes = np.arange(size)
    return nodes[:-1], nodes[1:]


def unit_laplacian(size: int, edges: Edges) -> FloatArray:
    """Return the Laplacian of a graph on K nodes with unit weights."""
    laplacian = np.zeros((size, size))
    laplacian[edges] = -1.0
    laplacian += laplacian.T
    np.fill_diagonal(laplacian, -laplacian.sum(axis=1) + 0.0)  # -0.0 becomes 0.0
    return laplacian


def spanning_forest(size: int, edges: Edges) -> Edges:
    """Return the edges i < j of a spanning forest, found depth first from the first nodes on.

    So the forest of a graph that contains the path 0 – 1 – … – (K-1) is that path.
    """
    from scipy.sparse.csgraph import depth_first_order  # on demand: few sets need it

    graph = csr_array((np.ones(len(edges[0])), edges), shape=(size, size))
    graph = csr_array(graph + graph.T)
    graph.sort_indices()  # neighbours are visited in this order
    is_new = np.ones(size, dtype=bool)
    forest: list[tuple[int, int]] = []
    for root in np.unique(edges[0]):
        if is_new[root]:
            nodes, before = depth_first_order(graph, root)
            is_new[nodes] = False
            forest += ((min(i, before[i]), max(i, before[i])) for i in nodes[1:].tolist())
    rows, columns = np.array(sorted(forest), dtype=np.intp).reshape(-1, 2).T
    return rows, columns


def edge_threshold(trace_bound: float, n_features: int) -> float:
    """Return the weight above which an edge of a metric counts: 1e-9 of C/K."""
    return _EDGE_THRESHOLD * trace_bound / n_features


def n_edges(metric: FloatArray, threshold: float) -> int:
    """Return the number of edges, of either sign, with a weight above `threshold`."""
    weights = np.abs(metric[np.triu_indices(len(metric), 1)])
    return int(np.count_nonzero(weights > threshold))


def n_components(metric: FloatArray, threshold: float) -> int:
    """Return the number of components of the graph of edges with weight above `threshold`.

    Examples
    --------
    >>> n_components(np.diag([1.0, 2.0, 3.0]), threshold=0.0)
    3
    """
    threshold = number("threshold", threshold)
    metric = as_symmetric("metric", metric)
    return len(components(metric < -threshold))


def components(adjacent: npt.NDArray[np.bool_]) -> list[list[int]]:
    """Return the vertices of each connected component, ascending; their sets are whole numbers."""
    packed = np.packbits(adjacent, axis=1, bitorder="little")
    neighbours = [int.from_bytes(row, "little") for row in packed]
    parts, unseen = [], (1 << len(adjacent)) - 1
    while unseen:
        vertices = []
        front = unseen & -unseen  # its lowest bit
        while front:
            unseen &= ~front
            reached = 0
            while front:
                lowest = front & -front
                front ^= lowest
                vertices.append(lowest.bit_length() - 1)
                reached |= neighbours[vertices[-1]]
            front = reached & unseen
        parts.append(sorted(vertices))
    return parts


def connected_features(metric: FloatArray) -> Iterator[npt.NDArray[np.intp]]:
    """Yield the features of each component of more than one, connected by entries ≠ 0."""
    for vertices in components(metric != 0):
        if len(vertices) > 1:
            yield np.array(vertices, dtype=np.intp)


def maximum_spanning_tree(metric: FloatArray) -> npt.NDArray[np.intp]:
    """Return the edges of a maximum spanning tree, one a row; a forest if there is no tree."""
    from scipy.sparse.csgraph import minimum_spanning_tree  # on demand: few methods need it

    metric = as_symmetric("metric", metric)
    # M's off-diagonals are the negative weights: the tree is their minimum spanning tree.
    tree = minimum_spanning_tree(csr_array(np.triu(metric, 1))).tocoo()
    edges = np.column_stack([np.minimum(tree.row, tree.col), np.maximum(tree.row, tree.col)])
    return edges[np.lexsort(edges.T[::-1])].astype(np.intp)


def component_labels(size: int, edges: Edges) -> IndexArray:
    """Return the number of the component that each of K nodes is in, from 0 on."""
    from scipy.sparse.csgraph import connected_components

    graph = csr_array((np.ones(len(edges[0])), edges), shape=(size, size))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.intp)


def labels_without_bridges(size: int, edges: Edges) -> IndexArray:
    """Return the number of the component that each of K nodes is in once all bridges are cut.

    A bridge is an edge in no cycle: it has ends of different numbers. A depth-first search directs
    the edges, those of its trees away from the root and all others back. Then the components are
    those of nodes between which directed paths lead both ways (Robbins 1939).
    """
    from scipy.sparse.csgraph import connected_components, depth_first_order

    rows, columns = edges
    _, roots = np.unique(component_labels(size, edges), return_index=True)
    # A node more, next to a root of each component, so that one search finds the whole forest.
    starts = np.append(rows, np.full(len(roots), size)), np.append(columns, roots)
    graph = csr_array((np.ones(len(starts[0])), starts), shape=(size + 1, size + 1))
    order, parents = depth_first_order(graph, size, directed=False)
    place = np.argsort(order)  # the place of each node in that order
    above, below = np.where(place[rows] < place[columns], [rows, columns], [columns, rows])
    ends = np.where(parents[below] == above, [above, below], [below, above])
    directed = csr_array((np.ones(len(rows)), tuple(ends)), shape=(size, size))
    return np.asarray(connected_components(directed, connection="strong")[1], dtype=np.intp)


def with_bridges(
    metric: FloatArray, variances: FloatArray, edges: Edges, covariance: FloatArray
) -> FloatArray:
    """Change a metric in place so that its inverse has the entries ``S_ij`` at bridges (i, j).

    They close no cycle with its graph ("Proposition: bridges"), and the diagonal of the inverse,
    the `variances`, stays.
    """
    for i, j in zip(*edges, strict=True):
        bridge((variances[i], variances[j]), covariance[i, j]).add_to(metric, i, j)
    return metric


class Bridge(NamedTuple):
    """``1 - S_ij² / (S_ii S_jj)``, and what an edge that joins two parts adds to a metric."""

    rest: float
    at_both: float
    at_i: float
    at_j: float

    def add_to(self, metric: FloatArray, i: int, j: int) -> None:
        """Change a metric in place."""
        metric[i, j] = metric[j, i] = self.at_both
        metric[i, i] += self.at_i
        metric[j, j] += self.at_j


def bridge(variances: tuple[float, float], entry: float) -> Bridge:
    """Return the bridge of variances ``S_ii, S_jj`` and an entry ``S_ij``; all is rounded once.

    Between nearly equal features a difference of floats would have no digits: here it is one of
    integers.
    """
    (a, of_a), (b, of_b), (c, of_c) = (
        float(number).as_integer_ratio() for number in (*variances, entry)
    )
    product, scale = a * b * of_c * of_c, of_a * of_b
    determinant = product - c * c * scale
    return Bridge(
        determinant / product,
        -(c * of_c * scale) / determinant,
        c * c * scale * of_a / (determinant * a),
        c * c * scale * of_b / (determinant * b),
    )
