"""Floors of edges that keep a graph connected, for columns and for the joint program alike."""

from __future__ import annotations

import numpy as np

from gdaopt.linalg.laplacian import maximum_spanning_tree
from gdaopt.validation import FloatArray

__all__ = ["tree_floors"]


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
