"""Symmetric matrices that are no arrays, and the functions that take them and arrays alike.

They are gradients of which only the diagonal and the entries at the edges of a mask are computed
("Proposition: masks of edges"), and metrics of many features ("Proposition: screened prices").
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg.lapack import dlange
from scipy.sparse import csr_array

from gdaopt.errors import InvalidInputError
from gdaopt.linalg.entries import Edges, IndexArray, no_edges
from gdaopt.support import validation
from gdaopt.support.resources import check_fits
from gdaopt.support.validation import FloatArray

_SUM_ENTRIES = 2**18  # entries gathered at a time: 2 MB


class ImplicitMatrix:  # no ABC, of which isinstance takes ten times as long
    """A symmetric K×K matrix that is read like an array, and is none."""

    __array_ufunc__ = None  # NumPy's numbers leave products with it to it

    @abstractmethod
    def __len__(self) -> int:
        """Return K."""

    @abstractmethod
    def diagonal(self) -> FloatArray:
        """Return the diagonal, shape (K,)."""

    @abstractmethod
    def __getitem__(self, index: Edges) -> FloatArray:
        """Return the entries of some rows and columns, given as two arrays of the same shape."""

    @abstractmethod
    def dense(self) -> FloatArray:
        """Return the matrix as an array, if there is memory for it."""

    @abstractmethod
    def is_finite(self) -> bool:
        """Say whether all entries are finite."""

    @abstractmethod
    def largest_entry(self) -> float:
        """Return a number that no magnitude of an entry is above; it may be somewhat larger."""

    def under(self, edges: Edges) -> MaskedMatrix:
        """Return the diagonal and the entries at some edges, as a masked matrix."""
        return MaskedMatrix(self.diagonal(), self[edges], edges)


@dataclass(frozen=True, eq=False)
class MaskedMatrix(ImplicitMatrix):
    """A symmetric K×K matrix that has only its diagonal and the entries of a mask of edges i < j.

    Entries outside of the mask are read as NaN; sums, norms and arrays count them as 0.
    """

    on_diagonal: FloatArray
    on_edges: FloatArray
    edges: Edges

    @classmethod
    def of(cls, matrix: FloatArray, edges: Edges) -> MaskedMatrix:
        """Return the diagonal of a matrix and its entries at the edges, as a masked matrix."""
        return cls(np.diagonal(matrix).copy(), matrix[edges], edges)

    @classmethod
    def of_diagonal(cls, diagonal: FloatArray) -> MaskedMatrix:
        """Return a diagonal matrix."""
        return cls(diagonal, np.zeros(0), no_edges())

    def __len__(self) -> int:
        return len(self.on_diagonal)

    def diagonal(self) -> FloatArray:
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
        if other.edges is not self.edges:
            return self.plus(*other.edges, other.on_edges, other.on_diagonal)
        return MaskedMatrix(
            self.on_diagonal + other.on_diagonal, self.on_edges + other.on_edges, self.edges
        )

    def __sub__(self, other: MaskedMatrix) -> MaskedMatrix:
        return self + -1.0 * other

    def congruent(self, scales: FloatArray) -> MaskedMatrix:
        """Return ``D M D`` for a diagonal matrix D."""
        rows, columns = self.edges
        on_edges = self.on_edges * scales[rows] * scales[columns]
        return MaskedMatrix(self.on_diagonal * scales**2, on_edges, self.edges)

    def plus(
        self, rows: IndexArray, columns: IndexArray, entries: FloatArray, diagonal: FloatArray
    ) -> MaskedMatrix:
        """Return the sum with a diagonal and entries at pairs i < j, in any order, also twice."""
        added = rows * len(self) + columns
        keys, places = np.unique(np.concatenate([self._keys, added]), return_inverse=True)
        values = np.concatenate([self.on_edges, entries])
        on_edges: FloatArray = np.bincount(places, values, len(keys)).astype(np.float64)
        edges = (keys // len(self)).astype(np.intp), (keys % len(self)).astype(np.intp)
        return MaskedMatrix(self.on_diagonal + diagonal, on_edges, edges)

    def dense(self) -> FloatArray:
        size = len(self)
        check_fits(8.0 * size**2, f"a dense {size}×{size} matrix", "its sparse form has all of it")
        matrix = np.zeros((size, size))
        matrix[self.edges] = self.on_edges
        matrix += matrix.T
        np.fill_diagonal(matrix, self.on_diagonal)
        return matrix

    def sparse(self) -> csr_array:
        """Return the matrix as a sparse one, with all of its diagonal."""
        (rows, columns), diagonal = self.edges, np.arange(len(self))
        index = (
            np.concatenate([diagonal, rows, columns]),
            np.concatenate([diagonal, columns, rows]),
        )
        values = np.concatenate([self.on_diagonal, self.on_edges, self.on_edges])
        return csr_array((values, index), shape=(len(self), len(self)))

    @classmethod
    def of_sparse(cls, name: str, matrix: Any, size: int) -> MaskedMatrix:
        """Return a sparse matrix as a masked one; refuse what is not symmetric, K×K and finite."""
        found: Any = csr_array(matrix).astype(np.float64)
        if found.shape != (size, size):
            raise InvalidInputError(f"{name} must be {size}×{size}, got {found.shape}")
        if not np.isfinite(found.data).all() or (found != found.T).nnz:
            raise InvalidInputError(f"{name} must be symmetric, and all entries finite")
        found = found.tocoo()
        rows, columns = found.coords
        above = rows < columns
        empty = cls.of_diagonal(matrix.diagonal().astype(np.float64))
        return empty.plus(rows[above], columns[above], found.data[above], np.zeros(size))

    def is_finite(self) -> bool:
        return all(map(validation.is_finite, (self.on_diagonal, self.on_edges)))

    def largest_entry(self) -> float:
        on_edges = float(np.abs(self.on_edges).max(initial=0.0))
        return max(float(np.abs(self.on_diagonal).max()), on_edges)

    def norm(self) -> float:
        """Return the Frobenius norm."""
        off_diagonal = math.sqrt(2) * _lapack_norm(self.on_edges[:, None])
        return math.hypot(_lapack_norm(self.on_diagonal[:, None]), off_diagonal)


Symmetric = FloatArray | ImplicitMatrix
"""A symmetric matrix: an array, or none."""


def like(pattern: Symmetric, matrix: Symmetric) -> Any:
    """Return a matrix under the mask of another one; where that one is an array, the matrix."""
    if not isinstance(pattern, MaskedMatrix) or isinstance(matrix, ImplicitMatrix):
        return matrix
    return MaskedMatrix.of(matrix, pattern.edges)


def dense(matrix: Symmetric) -> FloatArray:
    """Return a matrix as an array."""
    return matrix.dense() if isinstance(matrix, ImplicitMatrix) else matrix


def trace(matrix: Symmetric) -> float:
    """Return the sum of the diagonal."""
    return float(matrix.diagonal().sum())


def n_terms(matrix: Symmetric) -> int:
    """Return how many entries sums over a matrix have."""
    if isinstance(matrix, MaskedMatrix):
        return len(matrix) + 2 * len(matrix.on_edges)
    return len(matrix) ** 2


def connected_part(matrix: MaskedMatrix) -> tuple[IndexArray, FloatArray]:
    """Return the features with an entry ≠ 0 off the diagonal, and the block of these."""
    used = matrix.on_edges != 0
    rows, columns = matrix.edges[0][used], matrix.edges[1][used]
    index, places = np.unique(np.concatenate([rows, columns]), return_inverse=True)
    block = np.zeros((len(index), len(index)))
    block[places[: len(rows)], places[len(rows) :]] = matrix.on_edges[used]
    block += block.T
    np.fill_diagonal(block, matrix.on_diagonal[index])
    return index, block


def is_finite(matrix: Symmetric) -> bool:
    """Say whether all entries are finite."""
    if isinstance(matrix, ImplicitMatrix):
        return matrix.is_finite()
    return validation.is_finite(matrix)


def check_finite(gradient: Symmetric) -> None:
    """Refuse a gradient that is not finite, by which atoms cannot be priced."""
    if is_finite(gradient):
        return
    if isinstance(gradient, np.ndarray):
        validation.finite_array("gradient", gradient, ndim=2)  # raises, and says where
    raise InvalidInputError("gradient holds values that are not finite")


def inner(first: Symmetric, second: Symmetric) -> float:
    """Return ``⟨G, H⟩``, of two arrays or of two matrices under the same mask."""
    if isinstance(first, MaskedMatrix) and isinstance(second, MaskedMatrix):
        off_diagonal = float(first.on_edges @ second.on_edges)
        return float(first.on_diagonal @ second.on_diagonal) + 2 * off_diagonal
    return float(np.vdot(first, second))  # type: ignore[arg-type]  # both are arrays


def norm(matrix: FloatArray | MaskedMatrix) -> float:
    """Return the Frobenius norm; squares neither under- nor overflow."""
    return matrix.norm() if isinstance(matrix, MaskedMatrix) else _lapack_norm(matrix)


def _lapack_norm(matrix: FloatArray) -> float:
    """Return the Frobenius norm; LAPACK scales, and needs no second array."""
    return float(dlange("F", matrix.T)) if matrix.size else 0.0  # type: ignore[call-arg]


def largest_entry(matrix: Symmetric) -> float:
    """Return the largest magnitude of an entry."""
    if isinstance(matrix, ImplicitMatrix):
        return matrix.largest_entry()
    return max(float(matrix.max()), -float(matrix.min()))


def magnitude_inner(first: Any, second: Any) -> float:
    """Return ``⟨|G|, |H|⟩``, of two arrays or of two matrices under the same mask."""
    if isinstance(first, MaskedMatrix):
        return inner(abs(first), abs(second))
    blocks = _row_blocks(first)
    return sum(float(np.vdot(np.abs(first[rows]), np.abs(second[rows]))) for rows in blocks)


def magnitude_form(matrix: Any, vector: FloatArray) -> float:
    """Return ``v'|G|v``; entries outside of a mask count as 0."""
    if isinstance(matrix, MaskedMatrix):
        rows, columns = matrix.edges
        off_diagonal = float(np.abs(matrix.on_edges) @ (vector[rows] * vector[columns]))
        return float(np.abs(matrix.on_diagonal) @ vector**2) + 2 * off_diagonal
    blocks = _row_blocks(matrix)
    return sum(float(vector[rows] @ (np.abs(matrix[rows]) @ vector)) for rows in blocks)


def _row_blocks(matrix: FloatArray) -> Iterator[slice]:
    """Yield runs of rows that stay in cache: an array of magnitudes would leave it."""
    step = max(1, _SUM_ENTRIES // len(matrix))
    for start in range(0, len(matrix), step):
        yield slice(start, start + step)
