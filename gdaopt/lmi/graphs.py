"""Sparse graphs with signs: matrices by edges, bridges, and whether every cycle is balanced."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components, depth_first_order

from gdaopt.support.validation import FloatArray

IntArray = npt.NDArray[np.intp]
BoolArray = npt.NDArray[np.bool_]


def symmetric(diagonal: npt.ArrayLike, edges: IntArray, values: npt.ArrayLike) -> csr_array:
    """Return a sparse symmetric matrix by its diagonal and the entries of its edges."""
    main, others = np.asarray(diagonal), np.asarray(values)
    nodes, (first, second) = np.arange(len(main)), edges.T
    places = np.concatenate([nodes, first, second]), np.concatenate([nodes, second, first])
    return csr_array((np.concatenate([main, others, others]), places), (len(main), len(main)))


def incidence(nodes: IntArray, n_nodes: int, weights: npt.ArrayLike = 1.0) -> csr_array:
    """Return the sparse n×m matrix that adds the number of each edge to that of a node."""
    count = len(nodes)
    numbers = np.broadcast_to(np.asarray(weights, dtype=np.float64), (count,))
    return csr_array((numbers, (nodes, np.arange(count))), shape=(n_nodes, count))


def find_bridges(n_nodes: int, edges: IntArray) -> BoolArray:
    """Say which edges lie in no cycle.

    A depth-first search directs the edges: those of its trees away from the root, all others back.
    Then an edge is a bridge if no directed cycle has both of its ends (Robbins 1939).
    """
    first, second = edges.T
    graph = symmetric(np.zeros(n_nodes), edges, np.ones(len(edges)))
    roots = np.unique(connected_components(graph, directed=False)[1], return_index=True)[1]
    # One more node, which has an edge with each root, lets one search find all trees.
    ends = np.concatenate([edges, np.column_stack([roots, np.full(len(roots), n_nodes)])])
    graph = symmetric(np.zeros(n_nodes + 1), ends, np.ones(len(ends)))
    order, parents = depth_first_order(graph, n_nodes)
    is_ordered = np.argsort(order)[first] < np.argsort(order)[second]
    early, late = np.where(is_ordered, [first, second], [second, first])
    tails, heads = np.where(parents[late] == early, [early, late], [late, early])
    directed = csr_array((np.ones(len(edges)), (tails, heads)), (n_nodes, n_nodes))
    labels = connected_components(directed, connection="strong")[1]
    is_bridge: BoolArray = labels[first] != labels[second]
    return is_bridge


def find_switching(
    n_nodes: int, edges: IntArray, signs: FloatArray
) -> tuple[FloatArray, list[int]]:
    """Return D with entries ±1 for which no ``D_i D_j sign_ij`` is positive, or a cycle against it.

    The *double cover* has two copies of each node, i and n + i. A negative edge joins the copies of
    its ends on the same side, a positive one those on opposite sides. In a component without a D
    both copies of a node are connected; in all others D says on which side a node is.

    Parameters
    ----------
    n_nodes : int
        The number of nodes.
    edges : ndarray of shape (m, 2)
        Pairs of nodes i < j.
    signs : ndarray of shape (m,)
        +1 or -1 for each edge.

    Returns
    -------
    switching : ndarray of shape (n_nodes,)
        D; 0 at the nodes of components that have none.
    cycle : list of int
        The nodes of a cycle with an odd number of positive edges, which is called *frustrated*;
        empty if there is none.

    Examples
    --------
    >>> edges = np.array([[0, 1], [1, 2], [0, 2]])
    >>> find_switching(3, edges, np.array([1.0, 1.0, -1.0]))[0]
    array([ 1., -1.,  1.])
    >>> find_switching(3, edges, np.array([1.0, 1.0, 1.0]))[1]
    [0, 1, 2]
    """
    size, (first, second) = 2 * n_nodes, edges.T
    opposite = second + n_nodes * (signs > 0)
    ends = np.stack([np.append(first, first + n_nodes), np.append(opposite, opposite + n_nodes)])
    cover = symmetric(np.zeros(size), ends.T % size, np.ones(2 * len(edges)))
    labels = connected_components(cover, directed=False)[1]
    switching = np.sign(labels[n_nodes:] - labels[:n_nodes]).astype(float)
    if switching.all():
        return switching, []
    start = int(np.argmin(np.abs(switching)))
    parents = breadth_first_order(cover, start)[1]
    path: list[int] = []
    node = start + n_nodes
    # The path from one copy to the other comes to some node again, on the other side.
    while node % n_nodes not in path:
        path.append(node % n_nodes)
        node = int(parents[node])
    return switching, path[path.index(node % n_nodes) :]
