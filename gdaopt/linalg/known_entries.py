"""Symmetric matrices of which not all entries are known, such as gradients under a mask of edges.

What the oracle, the certificate and the programs of a set ask of a gradient are its diagonal and
the entries of the set's edges ("Proposition: masks of edges"). Where these are few, the others need
not be computed. The functions below take arrays as well, all of whose entries are known.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
from scipy.linalg.lapack import dlange

from gdaopt.linalg.entries import Edges, IndexArray
from gdaopt.support.validation import FloatArray

__all__ = [
    "KnownEntries",
    "Symmetric",
    "inner",
    "is_finite",
    "largest_entry",
    "like",
    "magnitude_form",
    "magnitude_inner",
    "norm",
    "paired_sums",
]

_SUM_ENTRIES = 2**18  # 2 MB: what is gathered at a time


@dataclass(frozen=True, eq=False)
class KnownEntries:
    """A symmetric K×K matrix of which no more is known than the diagonal and the entries of edges.

    Where nothing else is asked of a gradient, all K² entries need not be computed. It is read like
    an array: by `len`, `diagonal`, and a pair of arrays of indices.

    Attributes
    ----------
    on_diagonal : ndarray of shape (K,)
        The diagonal.
    on_edges : ndarray of shape (n,)
        The entries (i, j) of the edges.
    edges : tuple of two ndarrays of int, shape (n,)
        Rows i and columns j.

    Examples
    --------
    >>> matrix = np.array([[1.0, 4.0, 5.0], [4.0, 2.0, 6.0], [5.0, 6.0, 3.0]])
    >>> known = KnownEntries.of(matrix, (np.array([0, 1]), np.array([1, 2])))
    >>> known[np.array([2, 1, 1]), np.array([1, 0, 1])]
    array([6., 4., 2.])
    """

    on_diagonal: FloatArray
    on_edges: FloatArray
    edges: Edges

    @classmethod
    def of(cls, matrix: FloatArray, edges: Edges) -> KnownEntries:
        """Return the entries of a matrix, of which the others are forgotten."""
        return cls(np.diagonal(matrix).copy(), matrix[edges], edges)

    def __len__(self) -> int:
        return len(self.on_diagonal)

    def diagonal(self) -> FloatArray:
        """Return the diagonal."""
        return self.on_diagonal

    def __getitem__(self, index: Edges) -> FloatArray:
        if index is self.edges:
            return self.on_edges
        low, high = np.minimum(*index), np.maximum(*index)
        found = np.searchsorted(self._keys, low * len(self) + high)
        known = np.append(self.on_edges, np.nan)  # also beyond the last edge
        is_edge = np.append(self._keys, -1)[found] == low * len(self) + high
        values: FloatArray = np.where(is_edge, known[found], np.nan)
        return np.where(low == high, self.on_diagonal[low], values)

    @cached_property
    def _keys(self) -> IndexArray:
        """The places of the edges, ascending."""
        rows, columns = self.edges
        return rows * len(self) + columns

    def scaled(self, factor: float) -> KnownEntries:
        """Return the matrix times a number."""
        return KnownEntries(factor * self.on_diagonal, factor * self.on_edges, self.edges)

    def congruent(self, factors: FloatArray) -> KnownEntries:
        """Return ``diag(f) G diag(f)``."""
        rows, columns = self.edges
        on_edges = self.on_edges * factors[rows] * factors[columns]
        return KnownEntries(self.on_diagonal * factors**2, on_edges, self.edges)

    def __abs__(self) -> KnownEntries:
        return KnownEntries(np.abs(self.on_diagonal), np.abs(self.on_edges), self.edges)

    def __add__(self, other: KnownEntries) -> KnownEntries:
        return KnownEntries(
            self.on_diagonal + other.on_diagonal, self.on_edges + other.on_edges, self.edges
        )

    def __sub__(self, other: KnownEntries) -> KnownEntries:
        return KnownEntries(
            self.on_diagonal - other.on_diagonal, self.on_edges - other.on_edges, self.edges
        )


Symmetric = FloatArray | KnownEntries
"""A symmetric matrix, of which perhaps not all entries are known."""


def like(known: Symmetric, matrix: FloatArray) -> Any:
    """Return those entries of a matrix that are known of another one."""
    return KnownEntries.of(matrix, known.edges) if isinstance(known, KnownEntries) else matrix


def is_finite(matrix: Symmetric) -> bool:
    """Say whether all that is known is finite; for an array by its sum, where that tells."""
    if isinstance(matrix, KnownEntries):
        return bool(np.isfinite(matrix.on_diagonal).all() and np.isfinite(matrix.on_edges).all())
    with np.errstate(over="ignore", invalid="ignore"):
        return math.isfinite(float(matrix.sum())) or bool(np.isfinite(matrix).all())


def inner(first: Symmetric, second: Symmetric) -> float:
    """Return ``⟨G, H⟩``; entries that are not known, of the same edges, count as 0.

    Examples
    --------
    >>> matrix = np.array([[1.0, 4.0, 5.0], [4.0, 2.0, 6.0], [5.0, 6.0, 3.0]])
    >>> known = KnownEntries.of(matrix, (np.array([0]), np.array([1])))
    >>> inner(matrix, matrix), inner(known, known)
    (168.0, 46.0)
    """
    if isinstance(first, KnownEntries) and isinstance(second, KnownEntries):
        off_diagonal = float(first.on_edges @ second.on_edges)
        return float(first.on_diagonal @ second.on_diagonal) + 2 * off_diagonal
    return float(np.vdot(first, second))  # type: ignore[arg-type]  # both are arrays


def norm(matrix: Symmetric) -> float:
    """Return the Frobenius norm, of what is known; squares neither under- nor overflow."""
    if isinstance(matrix, KnownEntries):
        off_diagonal = math.sqrt(2) * _lapack_norm(matrix.on_edges[:, None])
        return math.hypot(_lapack_norm(matrix.on_diagonal[:, None]), off_diagonal)
    return _lapack_norm(matrix)


def _lapack_norm(matrix: FloatArray) -> float:
    """Return the Frobenius norm; LAPACK scales, and needs no second array."""
    return float(dlange("F", matrix.T)) if matrix.size else 0.0  # type: ignore[call-arg]


def largest_entry(matrix: Symmetric) -> float:
    """Return the largest magnitude of an entry that is known."""
    if isinstance(matrix, KnownEntries):
        on_edges = float(np.abs(matrix.on_edges).max(initial=0.0))
        return max(float(np.abs(matrix.on_diagonal).max()), on_edges)
    return max(float(matrix.max()), -float(matrix.min()))


def magnitude_inner(first: Symmetric, second: Symmetric) -> float:
    """Return ``⟨|G|, |H|⟩``; entries that are not known, of the same edges, count as 0."""
    if isinstance(first, KnownEntries) and isinstance(second, KnownEntries):
        return inner(abs(first), abs(second))
    first, second = cast(FloatArray, first), cast(FloatArray, second)
    blocks = _row_blocks(first)
    return sum(float(np.vdot(np.abs(first[rows]), np.abs(second[rows]))) for rows in blocks)


def magnitude_form(matrix: Symmetric, vector: FloatArray) -> float:
    """Return ``v'|G|v``; entries that are not known count as 0.

    Examples
    --------
    >>> magnitude_form(np.array([[1.0, -2.0], [-2.0, 3.0]]), np.array([1.0, 2.0]))
    21.0
    """
    if isinstance(matrix, KnownEntries):
        rows, columns = matrix.edges
        off_diagonal = float(np.abs(matrix.on_edges) @ (vector[rows] * vector[columns]))
        return float(np.abs(matrix.on_diagonal) @ vector**2) + 2 * off_diagonal
    return sum(
        float(vector[rows] @ (np.abs(matrix[rows]) @ vector)) for rows in _row_blocks(matrix)
    )


def _row_blocks(matrix: FloatArray) -> Iterator[slice]:
    """Yield runs of rows that stay in cache: an array of magnitudes would leave it."""
    step = max(1, _SUM_ENTRIES // len(matrix))
    for start in range(0, len(matrix), step):
        yield slice(start, start + step)


def paired_sums(left: FloatArray, right: FloatArray, edges: Edges) -> FloatArray:
    """Return ``Σ_n left_ni right_nj`` for the edges (i, j): entries of a product of matrices.

    Examples
    --------
    >>> paired_sums(np.eye(2), np.array([[1.0, 2.0], [3.0, 4.0]]), (np.array([0]), np.array([1])))
    array([2.])
    """
    rows, columns = edges
    sums = np.empty(len(rows))
    step = max(1, _SUM_ENTRIES // len(left))
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        sums[part] = np.einsum("nk,nk->k", left[:, rows[part]], right[:, columns[part]])
    return sums
