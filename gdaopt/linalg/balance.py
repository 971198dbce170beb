"""Sparse matrices whose signs are balanced: the switching, and the first eigenvector after it.

A *switching* D has entries ±1. If no off-diagonal of DFD is positive, its first eigenvector is
positive, and aligns its discs.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array, eye_array
from scipy.sparse.csgraph import breadth_first_order
from scipy.sparse.linalg import splu

from gdaopt.linalg.entries import Edges, sparse_symmetric
from gdaopt.linalg.laplacian import component_labels
from gdaopt.support.validation import FloatArray

_MOST_STEPS = 30  # inverse iteration converges quadratically
_EIGENVALUE = 1e-12  # relative accuracy of inverse iteration
_SHIFT = 1e-13  # relative to the diagonal: the shifted matrix stays invertible


def find_switching(size: int, edges: Edges, signs: FloatArray) -> tuple[FloatArray, list[int]]:
    """Return D with entries ±1 for which no ``D_i D_j sign_ij`` is positive, or a cycle against it.

    The *double cover* has two copies of each node, i and n + i. A negative edge joins the copies of
    its ends on the same side, a positive one those on opposite sides. In a component without a D
    both copies of a node are connected; in all others D says on which side a node is.

    Parameters
    ----------
    size : int
        n, the number of nodes.
    edges : tuple of two ndarrays of shape (m,)
        The ends of each edge.
    signs : ndarray of shape (m,)
        +1 or -1 for each edge.

    Returns
    -------
    switching : ndarray of shape (n,)
        D; 0 at the nodes of components that have none.
    cycle : list of int
        The nodes of a cycle with an odd number of positive edges, which is called *frustrated*;
        empty if there is none.

    Examples
    --------
    >>> edges = np.array([0, 1, 0]), np.array([1, 2, 2])
    >>> find_switching(3, edges, np.array([1.0, 1.0, -1.0]))[0]
    array([ 1., -1.,  1.])
    >>> find_switching(3, edges, np.array([1.0, 1.0, 1.0]))[1]
    [0, 2, 1]
    """
    first, second = edges
    opposite = second + size * (signs > 0)
    cover = np.append(first, first + size), np.append(opposite, opposite + size) % (2 * size)
    labels = component_labels(2 * size, cover)
    switching = np.sign(labels[size:] - labels[:size]).astype(np.float64)
    if switching.all():
        return switching, []
    start = int(np.argmin(np.abs(switching)))
    graph = sparse_symmetric(np.zeros(2 * size), cover, np.ones(len(cover[0])))
    parents = breadth_first_order(graph, start)[1]
    path: list[int] = []
    node = start + size
    # The path from one copy to the other comes to some node again, on the other side.
    while node % size not in path:
        path.append(node % size)
        node = int(parents[node])
    return switching, path[path.index(node % size) :]


def first_eigenvector(matrix: csr_array, v: FloatArray | None = None) -> tuple[FloatArray, float]:
    """Return v > 0 whose least left-end is near λ_min of a matrix, and that left-end.

    The off-diagonals must not be positive. The left-end is a lower bound of λ_min for any v. This
    is Noda's iteration: inverse iteration shifted by the least left-end.

    References
    ----------
    Noda, *Note on the computation of the maximal eigenvalue of a non-negative irreducible matrix*,
    Numerische Mathematik 17 (1971).

    Examples
    --------
    >>> _, end = first_eigenvector(csr_array([[2.0, -1.0], [-1.0, 2.0]]), np.array([1.0, 0.5]))
    >>> round(end, 12)
    1.0
    """
    v = np.ones(matrix.shape[0]) if v is None else v
    scale = float(np.abs(matrix.diagonal()).max(initial=1e-300))
    identity = eye_array(len(v), format="csc")
    end = float(((matrix @ v) / v).min())
    for _ in range(_MOST_STEPS):
        solved = splu((matrix - (end - _SHIFT * scale) * identity).tocsc()).solve(v)
        if not (np.isfinite(solved).all() and solved.min() > 0):
            break  # singular to working precision
        solved /= solved.max()
        raised = float(((matrix @ solved) / solved).min())
        if raised - end <= _EIGENVALUE * scale:
            break
        v, end = solved, raised
    return v, end
