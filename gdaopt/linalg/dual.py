"""Dual alignment: the scaling that the gradient asks for (DESIGN section 4)."""

from __future__ import annotations

import numpy as np

from gdaopt.linalg.pairs import best_pairs
from gdaopt.validation import FloatArray

__all__ = ["dual_alignment"]

_SMALLEST = 1e-8  # of the largest entry: stands for 0, where any positive number does


def dual_alignment(gradient: FloatArray) -> FloatArray:
    """Return the scaling v under which the joint program finds the best vertex of the whole set.

    Parameters
    ----------
    gradient : ndarray of shape (K, K)
        G, symmetric.

    Returns
    -------
    ndarray of shape (K,)
        ``v_i = √(y + G_ii)``, with maximum 1, where -y is the least value per unit of trace of
        ``⟨G, uu'⟩/‖u‖²`` over ``u = a e_i - b e_j``, ``a, b ≥ 0``, and 0.

    Notes
    -----
    Dual feasibility of y says ``(y + G_ii)(y + G_jj) ≥ G_ij²`` wherever ``G_ij > 0``: no edge
    has a negative price under this v once the best vertex has been paid for. Zeros of v, where a
    diagonal vertex is best, are replaced by a small positive number.

    Examples
    --------
    >>> dual_alignment(np.array([[-2.0, 1.0], [1.0, -2.0]]))
    array([1., 1.])
    """
    diagonal = np.diagonal(gradient)
    _, _, prices = best_pairs(gradient, count=1)
    least = min(0.0, float(diagonal.min()), float(prices.min(initial=0.0)))
    v = np.sqrt(np.maximum(diagonal - least, 0.0))
    largest = float(v.max())
    if largest == 0:
        return np.ones(len(v))
    scaled: FloatArray = np.maximum(v / largest, _SMALLEST)
    return scaled
