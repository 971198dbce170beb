"""Signed graphs: bridges, and whether every cycle is balanced."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from gdaopt.lmi.model import BoolArray, IntArray
from gdaopt.support.validation import FloatArray

_SEED = 0


def list_forest(n_nodes: int, edges: IntArray) -> list[tuple[int, int, int]]:
    """Return a spanning forest: each node after its parent, with both and the edge between them.

    Roots have the parent -1 and the edge -1.
    """
    count = len(edges)
    graph: Any = csr_array((np.ones(count), edges.T), shape=(n_nodes, n_nodes))
    roots = np.unique(connected_components(graph, directed=False)[1], return_index=True)[1]
    # One more node, which has an edge with each root, lets one search find all trees.
    ends = np.concatenate([edges, np.column_stack([roots, np.full(len(roots), n_nodes)])])
    graph = csr_array((np.ones(len(ends)), ends.T), shape=(n_nodes + 1, n_nodes + 1))
    order, parents = breadth_first_order(graph, n_nodes, directed=False)
    number_of = {pair: number for number, pair in enumerate(map(tuple, edges.tolist()))}
    forest = []
    for node, parent in zip(order[1:].tolist(), parents[order[1:]].tolist(), strict=True):
        if parent == n_nodes:
            forest.append((node, -1, -1))
        else:
            forest.append((node, parent, number_of[min(node, parent), max(node, parent)]))
    return forest


def find_bridges(n_nodes: int, edges: IntArray) -> BoolArray:
    """Say which edges lie in no cycle.

    Each edge outside of a spanning forest gets a random label of 63 bits. An edge of the forest
    splits its tree in two, and is a bridge if no other edge joins the two parts. Then the exclusive
    or of the labels of all such edges is 0; it is 0 by chance with a probability of 2⁻⁶³.
    """
    forest = list_forest(n_nodes, edges)
    labels = np.random.default_rng(_SEED).integers(1, 2**63 - 1, len(edges))
    labels[[edge for _, _, edge in forest if edge >= 0]] = 0
    crossing = np.zeros(n_nodes, dtype=np.int64)
    np.bitwise_xor.at(crossing, edges, labels[:, None])
    below = crossing.tolist()
    is_bridge = np.zeros(len(edges), dtype=bool)
    for node, parent, edge in reversed(forest):
        if edge >= 0:
            is_bridge[edge] = not below[node]
            below[parent] ^= below[node]
    return is_bridge


def find_switching(
    n_nodes: int, edges: IntArray, signs: FloatArray
) -> tuple[FloatArray, list[int]]:
    """Return D with entries ±1 for which no ``D_i D_j sign_ij`` is positive, or a cycle against it.

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
        D; where there is none, it is right on a spanning forest.
    cycle : list of int
        The nodes of a cycle with an odd number of positive edges, which is called *frustrated*;
        empty if there is none.

    Examples
    --------
    >>> edges = np.array([[0, 1], [1, 2], [0, 2]])
    >>> find_switching(3, edges, np.array([1.0, 1.0, -1.0]))[0]
    array([ 1., -1.,  1.])
    >>> find_switching(3, edges, np.array([1.0, 1.0, 1.0]))[1]
    [1, 0, 2]
    """
    switching, parents = np.ones(n_nodes), np.full(n_nodes, -1)
    for node, parent, edge in list_forest(n_nodes, edges):
        if edge >= 0:
            parents[node], switching[node] = parent, -signs[edge] * switching[parent]
    products = signs * switching[edges[:, 0]] * switching[edges[:, 1]]
    against = np.flatnonzero(products > 0)
    if not len(against):
        return switching, []
    return switching, _cycle(parents.tolist(), *edges[against[0]].tolist())


def _cycle(parents: list[int], first: int, second: int) -> list[int]:
    """Return the path in a forest between two nodes of one tree."""
    above = [first]
    while parents[above[-1]] >= 0:
        above.append(parents[above[-1]])
    path = [second]
    while path[-1] not in above:
        path.append(parents[path[-1]])
    return above[: above.index(path[-1])] + path[::-1]
