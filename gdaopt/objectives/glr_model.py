"""The graph Laplacian regulariser for CVXPY: squared distances of pairs, as solvers like them.

Written out, each pair costs a row of K(K+1)/2 coefficients, ``δ_ij = ⟨d_ij d_ij', M⟩``, and the
factorisations inside of a solver fill up with them. With ``y_i = M x_i`` as variables for the
samples of one side a pair costs a row of K + 2:

    δ_ij = x_i'y_i + x_j'M x_j - 2 x_j'y_i

Samples that are equal, and pairs of equal difference, are merged with their weights.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array

from gdaopt.objectives.weighted_pairs import WeightedPairs
from gdaopt.validation import FloatArray

if TYPE_CHECKING:
    import cvxpy as cp

__all__ = ["exponents", "n_coefficients"]

_SAME = 1e-11  # of the largest entry: differences closer than that are equal up to round-off


def exponents(
    pairs: WeightedPairs, metric: cp.Expression
) -> tuple[cp.Expression, list[cp.Constraint]]:
    """Return ``log w_p - δ_p(M)`` for all pairs p, and the constraints that define its variables.

    Parameters
    ----------
    pairs : WeightedPairs
        Of the samples.
    metric : cvxpy.Expression of shape (K, K)
        Symmetric and affine.

    Returns
    -------
    expression : cvxpy.Expression of shape (n,)
        Affine; Q is the sum of its exponentials.
    constraints : list of cvxpy.Constraint
        Equations.
    """
    import cvxpy as cp  # on demand: importing gdaopt loads no solver

    features, left, right, weights = _merged(pairs)
    # In units of the samples: solvers judge constraints by absolute tolerances.
    unit = float(np.abs(features).max()) or 1.0
    features, metric = features / unit, unit**2 * metric
    size = features.shape[1]
    own, row = np.unique(left, return_inverse=True)  # the samples i, each with its y_i
    others, column = np.unique(right, return_inverse=True)
    products = cp.Variable((len(own), size))
    squares = cp.Variable(len(own))  # x_i'y_i
    other_squares = cp.Variable(len(others))  # x_j'M x_j
    flat = cp.vec(products, order="C")
    rows, columns = np.triu_indices(size)
    forms = features[others][:, rows] * features[others][:, columns]
    forms[:, rows != columns] *= 2
    constraints = [
        products == features[own] @ metric,
        squares == _dot_products(np.arange(len(own)), features[own], len(own)) @ flat,
        other_squares == forms @ metric[rows, columns],
    ]
    mixed = _dot_products(row, 2 * features[right], len(own))
    distances = squares[row] + other_squares[column] - mixed @ flat
    return np.log(weights) - distances, constraints


def n_coefficients(pairs: WeightedPairs) -> int:
    """Return about how many coefficients `exponents` has, without merging anything."""
    n_samples, size = pairs.features.shape
    entries = size * (size + 1) // 2
    total: int = pairs.n_pairs * (size + 8) + n_samples * entries
    return total


def _merged(pairs: WeightedPairs) -> tuple[FloatArray, np.ndarray, np.ndarray, FloatArray]:
    """Return distinct samples, and index, index and weight of each pair that differs.

    The first indices are those of the side with fewer samples.
    """
    merged = pairs.merged()
    left, right, weights = merged.listed()
    differences = merged.features[left] - merged.features[right]
    lattice = np.round(differences / (_SAME * float(np.abs(differences).max(initial=0.0)) or 1.0))
    # d and -d are the same pair: the first entry that is not 0 is made positive.
    first = lattice[np.arange(len(lattice)), (lattice != 0).argmax(axis=1)]
    lattice *= np.where(first < 0, -1.0, 1.0)[:, None]
    _, chosen, group = np.unique(lattice + 0.0, axis=0, return_index=True, return_inverse=True)
    summed = np.zeros(len(chosen))
    np.add.at(summed, group.ravel(), weights)
    left, right = left[chosen], right[chosen]
    if len(np.unique(left)) > len(np.unique(right)):
        left, right = right, left
    return merged.features, left, right, summed


def _dot_products(positions: np.ndarray, factors: FloatArray, n_rows: int) -> csr_array:
    """Return the matrix that maps n_rows rows of length K, one after the other, to dot products.

    Its p-th row multiplies the row at ``positions[p]`` by ``factors[p]``.
    """
    n, size = factors.shape
    columns = positions[:, None] * size + np.arange(size)
    starts = np.arange(0, n * size + 1, size)
    return csr_array((factors.ravel(), columns.ravel(), starts), shape=(n, n_rows * size))
