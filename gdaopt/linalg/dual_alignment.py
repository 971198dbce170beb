"""Dual alignment: the scaling v that belongs to a gradient ("Proposition: dual alignment")."""

from __future__ import annotations

import numpy as np

from gdaopt.linalg.entries import Edges, as_edges
from gdaopt.linalg.known_entries import KnownEntries, Symmetric
from gdaopt.linalg.two_sparse import best_pairs
from gdaopt.support.validation import FloatArray, as_symmetric

__all__ = ["dual_alignment"]

_SMALLEST = 1e-8  # of the largest entry: replaces 0, for which any small positive number will do


def dual_alignment(gradient: Symmetric, edges: Edges | None = None) -> FloatArray:
    """Return the scaling v under which the joint program finds the best vertex of the whole set.

    Parameters
    ----------
    gradient : ndarray of shape (K, K), or KnownEntries of the edges
        G, symmetric.
    edges : tuple of two ndarrays of int, optional
        Rows and columns of the pairs that may have an edge; all pairs when left out.

    Returns
    -------
    ndarray of shape (K,)
        ``v_i = √(y + G_ii)``, scaled to the maximum 1. Here -y is the smaller of 0 and the least
        value of ``u'Gu`` over the unit vectors e_i, and ``u = a e_i - b e_j`` with ``a, b ≥ 0`` for
        the pairs that may have an edge.

    Notes
    -----
    Dual feasibility of y says ``(y + G_ii)(y + G_jj) ≥ G_ij²`` wherever ``G_ij > 0``: with the
    multiplier y of the trace bound, no edge has a negative reduced cost under this v. v is 0 where
    a diagonal vertex is best; such entries are replaced by a small positive number.

    Examples
    --------
    >>> dual_alignment(np.array([[-2.0, 1.0], [1.0, -2.0]]))
    array([1., 1.])
    """
    if not isinstance(gradient, KnownEntries):
        gradient = as_symmetric("gradient", gradient)
        edges = None if edges is None else as_edges(edges, len(gradient))
    diagonal = gradient.diagonal()
    _, _, prices = best_pairs(gradient, 1, edges)
    least = min(0.0, float(diagonal.min()), float(prices.min(initial=0.0)))
    v = np.sqrt(np.maximum(diagonal - least, 0.0))
    largest = float(v.max())
    if largest == 0:
        return np.ones(len(v))
    scaled: FloatArray = np.maximum(v / largest, _SMALLEST)
    return scaled
