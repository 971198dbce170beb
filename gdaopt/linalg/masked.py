"""Masked symmetric matrices, such as gradients: the diagonal and the entries of a mask of edges.

The oracle, the certificate and the programs of a set read the diagonal of a gradient and its
entries at the edges of the set ("Proposition: masks of edges"). Where the mask has few edges, only
these entries are computed. The functions below take a `MaskedMatrix` or an array.
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
from gdaopt.support import validation
from gdaopt.support.validation import FloatArray

__all__ = [
    "MaskedMatrix",
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

_SUM_ENTRIES = 2**18  # entries gathered at a time: 2 MB


@dataclass(frozen=True, eq=False)
class MaskedMatrix:
    """A symmetric K×K matrix that has only its diagonal and the entries of a mask of edges.

    It is read like an array: by `len`, `diagonal`, and a pair of arrays of indices. Entries outside
    of the mask are read as NaN; sums and norms count them as 0.

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
    >>> masked = MaskedMatrix.of(matrix, (np.array([0, 1]), np.array([1, 2])))
    >>> masked[np.array([2, 1, 1]), np.array([1, 0, 1])]
    array([6., 4., 2.])
    """

    on_diagonal: FloatArray
    on_edges: FloatArray
    edges: Edges

    __array_ufunc__ = None  # so that NumPy's numbers leave products to `__rmul__`

    @classmethod
    def of(cls, matrix: FloatArray, edges: Edges) -> MaskedMatrix:
        """Return the diagonal of a matrix and its entries at the edges, as a masked matrix."""
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
        entries = np.append(self.on_edges, np.nan)  # NaN also beyond the last edge
        is_edge = np.append(self._keys, -1)[found] == low * len(self) + high
        values: FloatArray = np.where(is_edge, entries[found], np.nan)
        return np.where(low == high, self.on_diagonal[low], values)

    @cached_property
    def _keys(self) -> IndexArray:
        """The places of the edges, ascending."""
        rows, columns = self.edges
        return rows * len(self) + columns

    def __rmul__(self, factor: float) -> MaskedMatrix:
        return MaskedMatrix(factor * self.on_diagonal, factor * self.on_edges, self.edges)

    def __abs__(self) -> MaskedMatrix:
        return MaskedMatrix(np.abs(self.on_diagonal), np.abs(self.on_edges), self.edges)

    def __add__(self, other: MaskedMatrix) -> MaskedMatrix:
        return MaskedMatrix(
            self.on_diagonal + other.on_diagonal, self.on_edges + other.on_edges, self.edges
        )

    def __sub__(self, other: MaskedMatrix) -> MaskedMatrix:
        return MaskedMatrix(
            self.on_diagonal - other.on_diagonal, self.on_edges - other.on_edges, self.edges
        )


Symmetric = FloatArray | MaskedMatrix
"""A symmetric matrix: an array, or masked."""


def like(pattern: Symmetric, matrix: FloatArray) -> Any:
    """Return a matrix under the mask of another one; where that one is an array, the matrix."""
    return MaskedMatrix.of(matrix, pattern.edges) if isinstance(pattern, MaskedMatrix) else matrix


def is_finite(matrix: Symmetric) -> bool:
    """Say whether all entries are finite."""
    if isinstance(matrix, MaskedMatrix):
        return all(map(validation.is_finite, (matrix.on_diagonal, matrix.on_edges)))
    return validation.is_finite(matrix)


def inner(first: Symmetric, second: Symmetric) -> float:
    """Return ``⟨G, H⟩``, of two arrays or of two matrices under the same mask."""
    if isinstance(first, MaskedMatrix) and isinstance(second, MaskedMatrix):
        off_diagonal = float(first.on_edges @ second.on_edges)
        return float(first.on_diagonal @ second.on_diagonal) + 2 * off_diagonal
    return float(np.vdot(first, second))  # type: ignore[arg-type]  # both are arrays


def norm(matrix: Symmetric) -> float:
    """Return the Frobenius norm; squares neither under- nor overflow."""
    if isinstance(matrix, MaskedMatrix):
        off_diagonal = math.sqrt(2) * _lapack_norm(matrix.on_edges[:, None])
        return math.hypot(_lapack_norm(matrix.on_diagonal[:, None]), off_diagonal)
    return _lapack_norm(matrix)


def _lapack_norm(matrix: FloatArray) -> float:
    """Return the Frobenius norm; LAPACK scales, and needs no second array."""
    return float(dlange("F", matrix.T)) if matrix.size else 0.0  # type: ignore[call-arg]


def largest_entry(matrix: Symmetric) -> float:
    """Return the largest magnitude of an entry."""
    if isinstance(matrix, MaskedMatrix):
        on_edges = float(np.abs(matrix.on_edges).max(initial=0.0))
        return max(float(np.abs(matrix.on_diagonal).max()), on_edges)
    return max(float(matrix.max()), -float(matrix.min()))


def magnitude_inner(first: Symmetric, second: Symmetric) -> float:
    """Return ``⟨|G|, |H|⟩``, of two arrays or of two matrices under the same mask."""
    if isinstance(first, MaskedMatrix) and isinstance(second, MaskedMatrix):
        return inner(abs(first), abs(second))
    first, second = cast(FloatArray, first), cast(FloatArray, second)
    blocks = _row_blocks(first)
    return sum(float(np.vdot(np.abs(first[rows]), np.abs(second[rows]))) for rows in blocks)


def magnitude_form(matrix: Symmetric, vector: FloatArray) -> float:
    """Return ``v'|G|v``; entries outside of a mask count as 0."""
    if isinstance(matrix, MaskedMatrix):
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
    """Return ``Σ_n left_ni right_nj`` for the edges (i, j): entries of a product of matrices."""
    rows, columns = edges
    sums = np.empty(len(rows))
    step = max(1, _SUM_ENTRIES // len(left))
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        sums[part] = np.einsum("nk,nk->k", left[:, rows[part]], right[:, columns[part]])
    return sums
