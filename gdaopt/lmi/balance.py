"""Signed graphs: bridges, and whether every cycle is balanced."""

from __future__ import annotations

import numpy as np

from gdaopt.lmi.model import BoolArray, IntArray
from gdaopt.support.validation import FloatArray


def list_neighbours(n_nodes: int, edges: IntArray) -> list[list[tuple[int, int]]]:
    """Return, for each node, the nodes that it has an edge with, and the number of that edge."""
    neighbours: list[list[tuple[int, int]]] = [[] for _ in range(n_nodes)]
    for number, (i, j) in enumerate(edges.tolist()):
        neighbours[i].append((j, number))
        neighbours[j].append((i, number))
    return neighbours


def find_bridges(n_nodes: int, edges: IntArray) -> BoolArray:
    """Say which edges lie in no cycle (Tarjan's lowest reachable nodes)."""
    neighbours = list_neighbours(n_nodes, edges)
    order, lowest = [-1] * n_nodes, [0] * n_nodes
    is_bridge = np.zeros(len(edges), dtype=bool)
    count = 0
    for root in range(n_nodes):
        if order[root] >= 0:
            continue
        order[root] = lowest[root] = count
        count += 1
        path = [(root, -1, iter(neighbours[root]))]  # a node, the edge that led to it, what is left
        while path:
            node, edge, left = path[-1]
            for neighbour, number in left:
                if number == edge:
                    continue
                if order[neighbour] >= 0:
                    lowest[node] = min(lowest[node], order[neighbour])
                    continue
                order[neighbour] = lowest[neighbour] = count
                count += 1
                path.append((neighbour, number, iter(neighbours[neighbour])))
                break
            else:
                path.pop()
                if path:
                    parent = path[-1][0]
                    lowest[parent] = min(lowest[parent], lowest[node])
                    is_bridge[edge] = lowest[node] > order[parent]
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
        Pairs of nodes.
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
    neighbours = list_neighbours(n_nodes, edges)
    switching, parents = np.zeros(n_nodes), [-1] * n_nodes
    for root in range(n_nodes):
        if switching[root]:
            continue
        switching[root] = 1.0
        queue = [root]
        for node in queue:
            for neighbour, number in neighbours[node]:
                if not switching[neighbour]:
                    switching[neighbour] = -signs[number] * switching[node]
                    parents[neighbour] = node
                    queue.append(neighbour)
    products = signs * switching[edges[:, 0]] * switching[edges[:, 1]]
    against = np.flatnonzero(products > 0)
    if not len(against):
        return switching, []
    return switching, _cycle(parents, *edges[against[0]].tolist())


def _cycle(parents: list[int], first: int, second: int) -> list[int]:
    """Return the path in a forest between two nodes of one tree."""
    above = [first]
    while parents[above[-1]] >= 0:
        above.append(parents[above[-1]])
    path = [second]
    while path[-1] not in above:
        path.append(parents[path[-1]])
    return above[: above.index(path[-1])] + path[::-1]
