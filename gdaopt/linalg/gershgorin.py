"""Gershgorin discs of a metric matrix, raw and scaled, and their left-ends.

The similarity transform ``diag(s) M diag(s)^-1`` has M's eigenvalues, but other discs. The package
passes ``v = 1/s`` everywhere: when v is the first eigenvector of a connected M, all left-ends align
at its smallest eigenvalue ("Theorem: eigenvector alignment", Theorem 1 of the paper).

The paper has four errata. They are stated in ``docs/theory.md``, and each has a test:

- "Erratum 1: scalars are reciprocals": the numbers printed as scalars are v, not 1/v.
- "Erratum 2: one kept edge does not keep the graph connected": it can even be infeasible (see
  `gdaopt.methods.aligned`).
- "Erratum 3: bound of the path start": the path start is a metric only up to a bound on its edges
  (see `gdaopt.sets.GraphMetrics.start`).
- "Erratum 4: the smallest eigenvalue in Lemma 2": its proof shows λ_min > 0 where λ_min ≥ ρ is
  needed; and Lemma 1's proof assumes non-negative self-loops, which it does not need.
"""

from __future__ import annotations

import numpy as np

from gdaopt.support.validation import FloatArray, as_symmetric, positive_vector

__all__ = ["comparison_matrix", "discs", "left_ends"]


def discs(metric: FloatArray, v: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
    """Return centres and radii of the Gershgorin discs of ``diag(1/v) M diag(v)``.

    Parameters
    ----------
    metric : ndarray of shape (K, K)
        Any symmetric matrix.
    v : ndarray of shape (K,), optional
        Positive scaling vector; without it the discs of the matrix itself.

    Returns
    -------
    centres, radii : ndarray of shape (K,)
        ``M_ii`` and ``Σ_{j≠i} |M_ij| v_j / v_i``.

    Raises
    ------
    InvalidInputError
        For a matrix that is not symmetric, and a v that is not positive or of another length.

    Examples
    --------
    >>> M = np.array([[2.0, -2.0, -1.0], [-2.0, 5.0, -2.0], [-1.0, -2.0, 4.0]])
    >>> discs(M)
    (array([2., 5., 4.]), array([3., 4., 3.]))
    """
    metric = as_symmetric("metric", metric)
    if v is not None:
        v = positive_vector("v", v, len(metric))
    magnitudes = np.abs(metric)
    np.fill_diagonal(magnitudes, 0.0)
    radii = magnitudes.sum(axis=1) if v is None else (magnitudes @ v) / v
    return np.diagonal(metric).copy(), radii


def left_ends(metric: FloatArray, v: FloatArray | None = None) -> FloatArray:
    """Return the K left-ends, centre minus radius, of the (scaled) Gershgorin discs.

    Their minimum is a lower bound on the smallest eigenvalue, for every ``v > 0``.

    Examples
    --------
    >>> M = np.array([[2.0, -2.0, -1.0], [-2.0, 5.0, -2.0], [-1.0, -2.0, 4.0]])
    >>> left_ends(M)
    array([-1.,  1.,  1.])
    """
    centres, radii = discs(metric, v)
    return centres - radii


def comparison_matrix(matrix: FloatArray) -> FloatArray:
    """Return the matrix with off-diagonals ``-|M_ij|``, which has the same discs as M.

    Examples
    --------
    >>> comparison_matrix(np.array([[2.0, 1.0], [1.0, 3.0]]))
    array([[ 2., -1.],
           [-1.,  3.]])
    """
    comparison: FloatArray = -np.abs(matrix)
    np.fill_diagonal(comparison, np.diagonal(matrix))
    return comparison
