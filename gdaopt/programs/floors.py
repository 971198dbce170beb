"""Floors of edges that keep a graph connected, for the column and the joint program.

With an edge floor ε the edges of weight ≥ ε connect all features ("Definition: edge floor"). The
paper keeps the entry of the column that was largest before, index ζ, at ε. That rule does not keep
the graph connected ("Erratum 2: one kept edge does not keep the graph connected"), and it is
infeasible when an earlier column has left less than ε for that entry. Keeping ``min(ε, weight)`` on
the edges of a maximum spanning tree is always feasible and never disconnects
("Lemma: spanning tree floors").
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gdaopt.linalg.entries import IndexArray
from gdaopt.linalg.laplacian import maximum_spanning_tree
from gdaopt.support.validation import FloatArray

__all__ = ["CONNECTIVITY", "tree_floor", "tree_floors", "zeta_floor"]


def tree_floors(metric: FloatArray, edge_floor: float) -> FloatArray:
    """Return ``min(ε, weight)`` on the edges of a maximum spanning tree, 0 elsewhere, K×K.

    Examples
    --------
    >>> M = np.array([[3.0, -2.0, -1.0], [-2.0, 3.0, -0.5], [-1.0, -0.5, 3.0]])
    >>> tree_floors(M, edge_floor=1.5)
    array([[0. , 1.5, 1. ],
           [1.5, 0. , 0. ],
           [1. , 0. , 0. ]])
    """
    floors = np.zeros_like(metric)
    if edge_floor > 0:
        rows, columns = maximum_spanning_tree(metric).T
        floors[rows, columns] = np.minimum(edge_floor, -metric[rows, columns])
    symmetric: FloatArray = floors + floors.T
    return symmetric


def tree_floor(
    metric: FloatArray, column: int, others: IndexArray, edge_floor: float
) -> FloatArray:
    """Return the entries of a column of `tree_floors`.

    Parameters
    ----------
    metric : ndarray of shape (K, K)
        A connected metric.
    column : int
        c.
    others : ndarray of int, shape (n,)
        The neighbours j of c.
    edge_floor : float
        ε.

    Returns
    -------
    ndarray of shape (n,)
        ``min(ε, weight)`` where the edge (c, j) is in the tree, else 0.

    Examples
    --------
    >>> M = np.array([[3.0, -2.0, -1.0], [-2.0, 3.0, -0.5], [-1.0, -0.5, 3.0]])
    >>> tree_floor(M, column=0, others=np.array([1, 2]), edge_floor=1.5)
    array([1.5, 1. ])
    """
    floor: FloatArray = tree_floors(metric, edge_floor)[others, column]
    return floor


def zeta_floor(
    metric: FloatArray, column: int, others: IndexArray, edge_floor: float
) -> FloatArray:
    """Return the paper's floors: ε on the column's largest entry, index ζ.

    Examples
    --------
    >>> M = np.array([[3.0, -2.0, -1.0], [-2.0, 3.0, -0.5], [-1.0, -0.5, 3.0]])
    >>> zeta_floor(M, column=0, others=np.array([1, 2]), edge_floor=1.5)
    array([1.5, 0. ])
    """
    floor = np.zeros(len(others))
    floor[(-metric[others, column]).argmax()] = edge_floor
    return floor


CONNECTIVITY: dict[str, Callable[[FloatArray, int, IndexArray, float], FloatArray]] = {
    "tree": tree_floor,
    "zeta": zeta_floor,
}
"""The rules for the floors of a column, by name."""
