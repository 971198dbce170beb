"""Atoms: the unit vectors u of the rank-one matrices ``uu'`` that metric matrices are made of.

Most have two entries at most, ``u = a e_i - b e_j`` ("Lemma: two-sparse extreme points"). For a
symmetric matrix G the least value of ``u'Gu`` over the vectors u of a pair (i, j) is its *price*:
the smaller eigenvalue of G's 2×2 block if ``G_ij > 0``,

    λ_ij = (G_ii + G_jj)/2 - √( ((G_ii - G_jj)/2)² + G_ij² ),

and the smaller diagonal entry otherwise ("Theorem: exact linear minimisation oracle").
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from gdaopt.linalg.entries import Edges, IndexArray, all_edges, as_edges
from gdaopt.linalg.gershgorin import left_ends
from gdaopt.linalg.magnitudes import largest_entry
from gdaopt.linalg.samples import Samples, columns_of, is_sparse
from gdaopt.support.validation import FloatArray, as_symmetric, positive_vector, read_only

_SPARSE = 2  # up to so many entries an atom, gathering them is faster than products of matrices
_ROUNDINGS = 16 * 2.0**-53  # round-off of a price, relative to its terms
_RUN_ENTRIES = 2**15  # entries that are priced at a time: the allocator keeps such arrays
_FEW_FEATURES = 100  # whose pairs are priced faster one by one than as rows of a matrix
_LISTED = 2**14  # pairs that are priced at a time
_LEAST_SCALE = 1e-8  # a share of the largest: replaces 0; any small positive number will do


@dataclass(frozen=True, eq=False)
class Atoms:
    """n unit vectors of K entries, each zero outside of a support of s indices.

    Attributes
    ----------
    support : ndarray of int, shape (n, s)
        Indices; an atom with fewer entries repeats one, with value 0.
    values : ndarray of shape (n, s)
        The entries there.

    Examples
    --------
    >>> atoms = Atoms(np.array([[0, 1], [2, 2]]), np.array([[0.6, -0.8], [1.0, 0.0]]))
    >>> atoms.dense(3)
    array([[ 0.6, -0.8,  0. ],
           [ 0. ,  0. ,  1. ]])
    >>> atoms.added_to(np.zeros((3, 3)), np.array([100.0, 2.0]))
    array([[ 36., -48.,   0.],
           [-48.,  64.,   0.],
           [  0.,   0.,   2.]])
    """

    support: npt.NDArray[np.intp]
    values: FloatArray

    @classmethod
    def of_vectors(cls, vectors: FloatArray) -> Atoms:
        """Return dense atoms, the rows of `vectors` of shape (n, K)."""
        return cls(np.broadcast_to(np.arange(vectors.shape[1]), vectors.shape), vectors)

    @classmethod
    def of_few_entries(cls, vectors: Any) -> Atoms:
        """Return the rows of an array or sparse array as two-sparse atoms, if none has more."""
        if is_sparse(vectors):
            first, last = vectors.indptr[:-1], vectors.indptr[1:] - 1
            of_last = np.where(last > first, vectors.data[last], 0.0)
            return cls(
                np.column_stack([vectors.indices[first], vectors.indices[last]]).astype(np.intp),
                np.column_stack([vectors.data[first], of_last]),
            )
        is_zero = vectors == 0
        if vectors.shape[1] < _SPARSE or ((~is_zero).sum(axis=1) > _SPARSE).any():
            return cls.of_vectors(vectors)
        support = np.argsort(is_zero, axis=1, kind="stable")[:, :_SPARSE]
        values = np.take_along_axis(vectors, support, axis=1)
        # The entry of another feature may be outside of a mask.
        return cls(np.where(values == 0, support[:, :1], support), values)

    @classmethod
    def of_features(cls, features: npt.NDArray[np.intp]) -> Atoms:
        """Return the unit vectors ``e_i`` of the given features, as two-sparse atoms."""
        values = np.zeros((len(features), 2))
        values[:, 0] = 1.0
        return cls(features[:, None].repeat(2, axis=1), values)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index: npt.NDArray[np.intp] | npt.NDArray[np.bool_] | slice) -> Atoms:
        return Atoms(self.support[index], self.values[index])

    def joined(self, others: Atoms) -> Atoms:
        """Return these atoms and then the others, dense if one kind is."""
        width, other_width = self.values.shape[1], others.values.shape[1]
        if width != other_width:
            size = max(width, other_width)
            return Atoms.of_vectors(np.concatenate([self.dense(size), others.dense(size)]))
        return Atoms(
            np.concatenate([self.support, others.support]),
            np.concatenate([self.values, others.values]),
        )

    @property
    def is_two_sparse(self) -> bool:
        """Whether supports are listed, of at most two features each."""
        return bool(self.values.shape[1] <= _SPARSE)

    def dense(self, n_features: int) -> FloatArray:
        """Return the vectors with all their entries, shape (n, K)."""
        if not self.is_two_sparse:
            return self.values
        vectors = np.zeros((len(self), n_features))
        np.add.at(vectors, (np.arange(len(self))[:, None], self.support), self.values)
        return vectors

    def sparse(self, n_features: int) -> csr_array:
        """Return the vectors as the rows of a sparse array, shape (n, K)."""
        rows, places = np.nonzero(self.values)
        index = rows, self.support[rows, places]
        return csr_array((self.values[rows, places], index), shape=(len(self), n_features))

    def projected(self, features: Samples) -> FloatArray:
        """Return ``X U``: the samples' coordinates along each atom, N×n for X of N×K."""
        if not self.is_two_sparse:
            return np.asarray(features @ self.values.T)
        coordinates = columns_of(features, self.support[:, 0])
        coordinates *= self.values[:, 0]
        for entry in range(1, self.values.shape[1]):
            coordinates += columns_of(features, self.support[:, entry]) * self.values[:, entry]
        return coordinates

    def products(self, others: Atoms) -> FloatArray:
        """Return ``u_k'v_l`` with n other atoms, shape (len(self), n)."""
        if not self.is_two_sparse:
            return others.projected(self.values)
        if not others.is_two_sparse:
            return self.projected(others.values).T
        total = np.zeros((len(self), len(others)))
        for i in range(self.values.shape[1]):
            for j in range(others.values.shape[1]):
                meets = np.equal.outer(self.support[:, i], others.support[:, j])
                total += meets * np.multiply.outer(self.values[:, i], others.values[:, j])
        return total

    def quadratic_forms(self, matrix: FloatArray) -> FloatArray:
        """Return ``u_k' G u_k`` for each atom, shape (n,), for a symmetric K×K matrix G."""
        forms: FloatArray = (self.products_on_support(matrix) * self.values).sum(axis=1)
        return forms

    def products_on_support(self, matrix: FloatArray) -> FloatArray:
        """Return the entries of ``G u_k`` on the support of each atom, of the shape of `values`."""
        if not self.is_two_sparse:
            return self.values @ matrix
        entries = matrix[self.support[:, :, None], self.support[:, None, :]]
        products: FloatArray = np.einsum("kfg,kg->kf", entries, self.values)
        return products

    def added_to(self, matrix: FloatArray, weights: FloatArray) -> FloatArray:
        """Return ``B + Σ_k w_k u_k u_k'`` for a K×K matrix B, exactly symmetric if B is."""
        if not self.is_two_sparse:
            root = self.values.T * np.sqrt(np.abs(weights))
            total: FloatArray = matrix + (root * np.sign(weights)) @ root.T
            return (total + total.T) / 2
        total = matrix.copy()
        places = self.support[:, :, None] * len(total) + self.support[:, None, :]
        entries = self.values[:, :, None] * self.values[:, None, :] * weights[:, None, None]
        # Atom by atom: the same order on both sides of the diagonal, for the same round-off.
        np.add.at(total.reshape(-1), places.ravel(), entries.ravel())
        return total


@dataclass(frozen=True, eq=False)
class ProjectedAtoms(Atoms):
    """Atoms that keep the coordinates along them of the samples that they have met."""

    _kept: dict[int, tuple[Samples, FloatArray]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, atoms: Atoms) -> ProjectedAtoms:
        """Return the same atoms, which keep their coordinates."""
        return atoms if isinstance(atoms, ProjectedAtoms) else cls(atoms.support, atoms.values)

    def projected(self, features: Samples) -> FloatArray:
        """Return ``X U``, read-only; it is computed once for each array of samples."""
        samples, coordinates = self._kept.get(id(features), (None, features))
        if samples is not features:  # the kept array is still there, so that its id is its own
            coordinates = read_only(super().projected(features))
            self._kept[id(features)] = features, coordinates
        return coordinates


# --- two-sparse atoms ---------------------------------------------------------------------------


def best_pairs(
    gradient: FloatArray, count: int, edges: Edges | None = None
) -> tuple[IndexArray, IndexArray, FloatArray]:
    """Return the pairs i < j with ``G_ij > 0`` of the least prices λ_ij, best first, and prices.

    Of an array only the diagonal and the upper triangle are read, and with `edges` only their
    entries, in O(K + n).
    """
    size = len(gradient)
    n_pairs = size * (size - 1) // 2
    if size > _FEW_FEATURES and (edges is None or len(edges[0]) == n_pairs):
        rows, columns, prices, unit = _price_by_runs(gradient, count)
    else:
        rows, columns = edges = all_edges(size) if edges is None else edges
        diagonal, entries = gradient.diagonal(), gradient[edges]
        unit = max(float(np.abs(diagonal).max()), float(np.abs(entries).max(initial=0.0))) or 1.0
        useful = entries > 0
        rows, columns, entries = rows[useful], columns[useful], entries[useful] / unit
        first, second = diagonal[rows] / (2 * unit), diagonal[columns] / (2 * unit)
        prices = first + second - np.sqrt((first - second) ** 2 + entries**2)
    least = _least(prices, count)  # ties in the order of pairs
    best = least[np.lexsort((columns[least], rows[least], prices[least]))]
    return rows[best], columns[best], prices[best] * unit


def _price_by_runs(
    gradient: FloatArray, count: int
) -> tuple[IndexArray, IndexArray, FloatArray, float]:
    """Return pairs with the best of all among them, their prices, and the unit of these.

    They are priced run by run of rows of the upper triangle.
    """
    size = len(gradient)
    # In units of the largest entry the squares can neither under- nor overflow.
    unit = largest_entry(gradient) or 1.0
    diagonal = np.diagonal(gradient) / (2 * unit)
    best_of_runs: list[tuple[IndexArray, IndexArray, FloatArray]] = []
    cutoff = np.inf
    step = max(1, _RUN_ENTRIES // size)
    for start in range(0, size, step):
        stop = min(start + step, size)
        entries = gradient[start:stop, start:]
        prices = np.subtract.outer(diagonal[start:stop], diagonal[start:])
        prices *= prices
        scaled = entries / unit
        prices += scaled * scaled
        np.sqrt(prices, out=prices)
        np.subtract(np.add.outer(diagonal[start:stop], diagonal[start:]), prices, out=prices)
        candidates = np.flatnonzero((prices < cutoff) & (entries > 0))
        rows, columns = np.divmod(candidates, prices.shape[1])
        above = columns > rows  # the triangle above the diagonal
        rows, columns, candidates = rows[above], columns[above], candidates[above]
        best = _least(prices.ravel()[candidates], count)
        best_of_runs.append(
            (rows[best] + start, columns[best] + start, prices.ravel()[candidates[best]])
        )
        if len(best) == count:
            cutoff = min(cutoff, float(best_of_runs[-1][2].max()))
    rows, columns, prices = (np.concatenate(parts) for parts in zip(*best_of_runs, strict=True))
    return rows, columns, prices, unit


def least_pair_price(gradient: FloatArray, edges: Edges) -> float:
    """Return a number that no price λ_ij of an edge with ``G_ij > 0`` is below, tight to round-off.

    If the mean m of both diagonal entries is positive, ``λ_ij = (G_ii G_jj - G_ij²) / (m + r)``
    with the root r has a smaller round-off than ``m - r``.
    """
    diagonal, entries, least = gradient.diagonal(), gradient[edges], math.inf
    useful = np.flatnonzero(entries > 0)
    for start in range(0, len(useful), _LISTED):
        part = useful[start : start + _LISTED]
        a, b, c = diagonal[edges[0][part]], diagonal[edges[1][part]], entries[part]
        mean = a / 2 + b / 2
        radius = np.hypot(a / 2 - b / 2, c)
        total = np.abs(mean) + radius
        # In units of the pair's own, so that no product under- or overflows.
        products, squares = (a / total) * b, (c / total) * c
        prices = np.where(mean > 0, products - squares, mean - radius)
        terms = np.where(mean > 0, np.abs(products) + squares, total)
        least = min(least, float((prices - _ROUNDINGS * terms).min()))
    return least


def pair_atoms(gradient: FloatArray, rows: IndexArray, columns: IndexArray) -> Atoms:
    """Return the minimisers ``u = a e_i ± b e_j`` of ``u'Gu`` for pairs with ``G_ij ≠ 0``.

    If i and j are the same feature, it is ``e_i``.
    """
    diagonal, is_single = gradient.diagonal(), rows == columns
    half = diagonal[rows] / 2 - diagonal[columns] / 2
    entries = gradient[rows, columns]
    off = np.where(is_single, 1.0, np.abs(entries))
    unit = np.maximum(np.abs(half), off)  # neither squares nor norms can then under- or overflow
    half, off = half / unit, off / unit
    radius = np.hypot(half, off)
    # Of the two rows of (G - λI)u = 0 the one without cancellation.
    first = np.where(half >= 0, off, radius - half)
    second = np.where(is_single, 0.0, np.where(half >= 0, half + radius, off))
    norm = np.hypot(first, second)
    values = np.array([first / norm, -np.copysign(second, entries) / norm])
    return Atoms(np.array([rows, columns]).T, values.T)


def dual_alignment(gradient: FloatArray, edges: Edges | None = None) -> FloatArray:
    """Return the scaling v under which the joint program finds the best vertex of the whole set.

    Parameters
    ----------
    gradient : ndarray of shape (K, K)
        G, symmetric.
    edges : tuple of two ndarrays of int, optional
        Rows and columns of the pairs that may have an edge; all pairs when left out.

    Returns
    -------
    ndarray of shape (K,)
        ``v_i = √(y + G_ii)``, scaled to the maximum 1, where -y is the smaller of 0 and the least
        price ("Proposition: dual alignment"). Entries of 0 are replaced by a small positive number.

    Examples
    --------
    >>> dual_alignment(np.array([[-2.0, 1.0], [1.0, -2.0]]))
    array([1., 1.])
    """
    gradient = as_symmetric("gradient", gradient)
    edges = None if edges is None else as_edges(edges, len(gradient))
    diagonal = gradient.diagonal()
    _, _, prices = best_pairs(gradient, 1, edges)
    least = min(0.0, float(diagonal.min()), float(prices.min(initial=0.0)))
    v = np.sqrt(np.maximum(diagonal - least, 0.0))
    largest = float(v.max())
    if largest == 0:
        return np.ones(len(v))
    scaled: FloatArray = np.maximum(v / largest, _LEAST_SCALE)
    return scaled


def decomposition(matrix: FloatArray, v: FloatArray) -> tuple[Atoms, FloatArray]:
    """Return a matrix as a sum of weighted two-sparse atoms.

    Parameters
    ----------
    matrix : ndarray of shape (K, K)
        N, symmetric.
    v : ndarray of shape (K,)
        Positive, under which no scaled left-end of N is negative, as by `align`.

    Returns
    -------
    atoms : Atoms
        ``e_i`` for each feature, then one atom for each edge ("Theorem: factor width two").
    weights : ndarray of shape (n,)
        The left-ends, and ``|N_ij| (v_j/v_i + v_i/v_j)``.

    Examples
    --------
    >>> N = np.array([[2.0, -1.0], [-1.0, 3.0]])
    >>> atoms, weights = decomposition(N, np.ones(2))
    >>> weights
    array([1., 2., 2.])
    >>> atoms.added_to(np.zeros((2, 2)), weights).round(12)
    array([[ 2., -1.],
           [-1.,  3.]])
    """
    matrix = as_symmetric("matrix", matrix)
    v = positive_vector("v", v, len(matrix))
    rows, columns = np.nonzero(np.triu(matrix, 1))
    ratio = v[columns] / v[rows]
    total = ratio + 1 / ratio
    entries = matrix[rows, columns]
    edges = Atoms(
        np.column_stack([rows, columns]),
        np.column_stack(
            [np.sqrt(ratio / total), np.copysign(np.sqrt(1 / (ratio * total)), entries)]
        ),
    )
    atoms = Atoms.of_features(np.arange(len(matrix))).joined(edges)
    return atoms, np.concatenate([left_ends(matrix, v), np.abs(entries) * total])


def _least(values: FloatArray, count: int) -> IndexArray:
    """Return the indices of the `count` smallest values, in any order."""
    if len(values) <= count:
        return np.arange(len(values))
    return np.argpartition(values, count - 1)[:count]
