"""Graphs in pieces: components, bridges, and inverses that are put together at bridges.

A *bridge* is an edge without which its component falls apart. Where ``M_ij`` is a bridge of the
graph of M, the inverse of M follows from those of the two parts ("Proposition: bridges").
"""

from __future__ import annotations

import numpy as np

from gdaopt.linalg.entries import Edges, IndexArray
from gdaopt.support.validation import FloatArray


def component_labels(size: int, edges: Edges) -> IndexArray:
    """Return the number of the component that each of K nodes is in, from 0 on."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    graph = csr_array((np.ones(len(edges[0])), edges), shape=(size, size))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.intp)


def bridges(size: int, edges: Edges) -> Edges:
    """Return the edges without which the graph has more components; each edge is given once.

    An edge of a spanning forest is a bridge where no other edge leaves the subtree below it. After
    a search in depth all other edges lead from a node to one that it descends from: they are
    counted where they begin, and counted off where they end.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import depth_first_order  # on demand: few methods need it

    rows, columns = edges
    _, roots = np.unique(component_labels(size, edges), return_index=True)
    # A node more, next to a root of each component, so that one search finds the whole forest.
    starts = np.append(rows, np.full(len(roots), size)), np.append(columns, roots)
    graph = csr_array((np.ones(len(starts[0])), starts), shape=(size + 1, size + 1))
    order, parents = depth_first_order(graph, size, directed=False)
    place = np.argsort(order)  # of each node in that order
    others = (parents[rows] != columns) & (parents[columns] != rows)
    ends = np.sort([place[rows[others]], place[columns[others]]], axis=0)
    above, below = (np.bincount(places, minlength=size + 1) for places in ends)
    leaving = (below - above).tolist()  # the edges that leave a subtree, in the order of the search
    nodes = order[1:]
    for k, parent in zip(range(size, 0, -1), place[parents[nodes[::-1]]].tolist(), strict=True):
        leaving[parent] += leaving[k]
    found = nodes[(np.array(leaving[1:]) == 0) & (parents[nodes] != size)]
    pairs = np.sort(np.column_stack([found, parents[found]]), axis=1)
    pairs = pairs[np.lexsort(pairs.T[::-1])].astype(np.intp)
    return pairs[:, 0], pairs[:, 1]


def with_bridges(
    metric: FloatArray, variances: FloatArray, edges: Edges, covariance: FloatArray
) -> FloatArray:
    """Change a metric in place so that its inverse has the entries ``S_ij`` at bridges (i, j).

    The bridges close no cycle with the graph of the metric. `variances` is the diagonal of the
    inverse, which stays, and ``S_ij`` is below ``√(v_i v_j)``.
    """
    rows, columns = edges
    entries, of_rows, of_columns = covariance[edges], variances[rows], variances[columns]
    determinants = of_rows * of_columns - entries**2
    metric[rows, columns] = metric[columns, rows] = -entries / determinants
    np.add.at(metric, (rows, rows), entries**2 / determinants / of_rows)
    np.add.at(metric, (columns, columns), entries**2 / determinants / of_columns)
    return metric
