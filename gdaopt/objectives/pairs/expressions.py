"""Squared distances of pairs of samples as CVXPY expressions, sparse as solvers like them.

Written out, each pair costs a row of K(K+1)/2 coefficients. With ``y_i = M x_i`` as variables for
the samples of one side it costs a row of K + 2:

    δ_ij = x_i'y_i + x_j'M x_j - 2 x_j'y_i
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from gdaopt.linalg.entries import IndexArray
from gdaopt.objectives.pairs.pairs import Pairs
from gdaopt.objectives.protocol import Expression, Terms
from gdaopt.support.cvxpy_loading import cp
from gdaopt.support.validation import FloatArray

_BYTES_PER_COEFFICIENT = 350  # in CVXPY and CLARABEL; 2 500 to 18 000 pairs, K = 10 to 50
_SAME = 1e-11  # relative: differences closer than that are equal up to round-off


def distinct_differences(pairs: Pairs) -> tuple[IndexArray, IndexArray, FloatArray]:
    """Return one pair for each distinct difference, with the weights of all such pairs added up."""
    left, right, weights = pairs.list_pairs()
    _, first, place = np.unique(pairs.features, axis=0, return_index=True, return_inverse=True)
    merged = first[place.ravel()]  # the first of the samples that coincide
    left, right = merged[left], merged[right]
    differences = pairs.features[left] - pairs.features[right]
    lattice = np.round(differences / (_SAME * float(np.abs(differences).max(initial=0.0)) or 1.0))
    # d and -d are the same pair: the first entry that is not 0 is made positive.
    first = lattice[np.arange(len(lattice)), (lattice != 0).argmax(axis=1)]
    lattice *= np.where(first < 0, -1.0, 1.0)[:, None]
    _, chosen, group = np.unique(lattice + 0.0, axis=0, return_index=True, return_inverse=True)
    summed: FloatArray = np.bincount(group.ravel(), weights).astype(np.float64)
    left, right = left[chosen], right[chosen]
    if len(np.unique(left)) > len(np.unique(right)):
        left, right = right, left
    return left, right, summed


def squared_distances(
    features: FloatArray, left: IndexArray, right: IndexArray, metric: Expression
) -> Terms:
    """Return ``δ_p(M)`` for all pairs p of samples, and constraints on its own variables."""
    # In units of the samples: solvers judge constraints by absolute tolerances.
    unit = float(np.abs(features).max()) or 1.0
    features, metric = features / unit, unit**2 * metric
    size = features.shape[1]
    firsts, row = np.unique(left, return_inverse=True)  # the samples i, each with its y_i
    seconds, column = np.unique(right, return_inverse=True)
    products = cp.Variable((len(firsts), size))
    squares = cp.Variable(len(firsts))  # x_i'y_i
    other_squares = cp.Variable(len(seconds))  # x_j'M x_j
    flat = cp.vec(products, order="C")
    rows, columns = np.triu_indices(size)
    forms = features[seconds][:, rows] * features[seconds][:, columns]
    forms[:, rows != columns] *= 2
    constraints = [
        products == features[firsts] @ metric,
        squares == _dot_products(np.arange(len(firsts)), features[firsts], len(firsts)) @ flat,
        other_squares == forms @ metric[rows, columns],
    ]
    mixed = _dot_products(row, 2 * features[right], len(firsts))
    return squares[row] + other_squares[column] - mixed @ flat, constraints


def all_distances(
    features: FloatArray, metric: Expression
) -> tuple[Expression, IndexArray, list[cp.Constraint]]:
    """Return the squared distances of all pairs i < j, the N×N places of pairs, and constraints."""
    left, right = np.triu_indices(features.shape[0], 1)
    distances, constraints = squared_distances(features, left, right, metric)
    places = np.zeros((features.shape[0], features.shape[0]), dtype=np.intp)
    places[left, right] = places[right, left] = np.arange(len(left))
    return distances, places, constraints


def expression_bytes(pairs: Pairs) -> float:
    """Return an estimate of the bytes that `squared_distances` and losses take in a solver."""
    n_samples, size = pairs.features.shape
    n_coefficients = pairs.n_pairs * (size + 8) + n_samples * (size * (size + 1) // 2)
    return float(_BYTES_PER_COEFFICIENT * n_coefficients)


def _dot_products(positions: np.ndarray, factors: FloatArray, n_rows: int) -> csr_array:
    """Return the matrix that maps n_rows rows of length K, one after the other, to dot products.

    Its p-th row multiplies the row at ``positions[p]`` by ``factors[p]``.
    """
    n, size = factors.shape
    columns = positions[:, None] * size + np.arange(size)
    starts = np.arange(0, n * size + 1, size)
    return csr_array((factors.ravel(), columns.ravel(), starts), shape=(n, n_rows * size))
