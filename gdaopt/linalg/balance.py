"""Balanced signed graphs: colours ±1 of the nodes that go with the signs of the edges.

An entry ``M_ij < 0`` is a positive edge, which nodes of the same colour may have; ``M_ij > 0`` is a
negative edge, between nodes of different colours. A graph for which there are such colours is
*balanced* (Harary, 1953).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gdaopt.linalg.entries import Edges, neighbors
from gdaopt.linalg.laplacian import maximum_spanning_tree
from gdaopt.support.validation import FloatArray

_STARTS = 8  # at random, of the local search


def conflicts(metric: FloatArray, colors: FloatArray) -> Edges:
    """Return the pairs i < j whose entry has the wrong sign for their colours."""
    rows, columns = np.nonzero(np.triu(metric, 1))
    wrong = colors[rows] * colors[columns] * metric[rows, columns] > 0
    return rows[wrong], columns[wrong]


def rounded_colors(
    metric: FloatArray, known: FloatArray, guesses: Sequence[FloatArray] = ()
) -> FloatArray:
    """Return colours for which little weight of the edges is in conflict, by a local search.

    Known colours are kept (0 for a feature without one), so that a balanced graph has no conflict
    where they allow it. The search starts from the guesses, a maximum spanning forest, and random
    colours.
    """
    rows, columns = np.nonzero(np.triu(metric, 1))
    nodes, ends = np.unique(np.concatenate([rows, columns]), return_inverse=True)
    colors = np.where(known, known, 1.0)
    if not len(nodes):
        return colors
    # One more node, of colour 1, is tied to all whose colour is known: these keep it.
    size, fixed = len(nodes), np.append(known[nodes], 1.0)
    weights = np.zeros((size + 1, size + 1))
    starts, stops = ends[: len(rows)], ends[len(rows) :]
    weights[starts, stops] = weights[stops, starts] = -metric[rows, columns]
    heaviest = 1 + np.abs(weights).sum()
    weights[size, :size] = weights[:size, size] = heaviest * fixed[:size]
    rng = np.random.default_rng(0)
    tried = [_along_forest(weights), *(np.append(guess[nodes], 1.0) for guess in guesses)]
    tried += [rng.choice([-1.0, 1.0], size + 1) for _ in range(_STARTS)]
    found = [_improved(weights, np.where(fixed, fixed, start)) for start in tried]
    best = max(found, key=lambda each: float(each @ weights @ each))  # the first of the best
    colors[nodes] = best[:size]
    return colors


def _along_forest(weights: FloatArray) -> FloatArray:
    """Return the colours that no edge of a maximum spanning forest conflicts with."""
    size = len(weights)
    forest = maximum_spanning_tree(-np.abs(weights))
    neighbors_of = neighbors(size, (forest[:, 0], forest[:, 1]))
    colors = np.zeros(size)
    for root in range(size)[::-1]:  # the node of known colour first
        front = [] if colors[root] else [root]
        colors[root] = colors[root] or 1.0
        while front:
            node = front.pop()
            new = [other for other in neighbors_of[node] if not colors[other]]
            colors[new] = colors[node] * np.sign(weights[node, new])
            front += new
    return colors


def _improved(weights: FloatArray, colors: FloatArray) -> FloatArray:
    """Change single colours, the worst first, as long as that lowers the weight in conflict."""
    colors = colors.copy()
    agreement = colors * (weights @ colors)  # of each node with its neighbours
    round_off = 1e-12 * float(np.abs(weights).sum(axis=1).max())
    while True:
        worst = int(agreement.argmin())
        if not agreement[worst] < -round_off:
            return colors
        change = 2 * weights[worst] * colors[worst] * colors
        colors[worst] = -colors[worst]
        agreement[worst] = -agreement[worst]
        change[worst] = 0.0
        agreement -= change
