"""Gradients of which only the entries at the edges of a mask are known, and functions of gradients.

The functions take arrays and masked matrices alike ("Proposition: masks of edges").
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg.lapack import dlange

from gdaopt.errors import InvalidInputError
from gdaopt.linalg.entries import Edges, IndexArray
from gdaopt.support import validation
from gdaopt.support.validation import FloatArray

_SUM_ENTRIES = 2**18  # entries gathered at a time: 2 MB


@dataclass(frozen=True, eq=False)
class MaskedMatrix:
    """A symmetric K×K matrix that has only its diagonal and the entries of a mask of edges i < j.

    Entries outside of the mask are read as NaN; sums and norms count them as 0.
    """

    on_diagonal: FloatArray
    on_edges: FloatArray
    edges: Edges

    __array_ufunc__ = None  # NumPy's numbers leave products with it to it

    @classmethod
    def of(cls, matrix: FloatArray, edges: Edges) -> MaskedMatrix:
        """Return the diagonal of a matrix and its entries at the edges, as a masked matrix."""
        return cls(np.diagonal(matrix).copy(), matrix[edges], edges)

    def __len__(self) -> int:
        return len(self.on_diagonal)

    def diagonal(self) -> FloatArray:
        """Return the diagonal, shape (K,)."""
        return self.on_diagonal

    def __getitem__(self, index: Edges) -> FloatArray:
        """Return the entries of some rows and columns, given as two arrays of the same shape."""
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
        """Return the sum with a matrix under the same mask."""
        return MaskedMatrix(
            self.on_diagonal + other.on_diagonal, self.on_edges + other.on_edges, self.edges
        )

    def is_finite(self) -> bool:
        """Say whether all entries are finite."""
        return all(map(validation.is_finite, (self.on_diagonal, self.on_edges)))

    def largest_entry(self) -> float:
        """Return the largest magnitude of an entry."""
        on_edges = float(np.abs(self.on_edges).max(initial=0.0))
        return max(float(np.abs(self.on_diagonal).max()), on_edges)

    def norm(self) -> float:
        """Return the Frobenius norm."""
        off_diagonal = math.sqrt(2) * _lapack_norm(self.on_edges[:, None])
        return math.hypot(_lapack_norm(self.on_diagonal[:, None]), off_diagonal)


Gradient = FloatArray | MaskedMatrix
"""All of a symmetric K×K matrix, or what a mask leaves of it."""


def like(gradient: Gradient, matrix: FloatArray) -> Any:
    """Return a matrix under the mask of a gradient, all of it where there is none."""
    if isinstance(gradient, MaskedMatrix):
        return MaskedMatrix.of(matrix, gradient.edges)
    return matrix


def n_terms(matrix: Gradient) -> int:
    """Return how many entries sums over a matrix have."""
    if isinstance(matrix, MaskedMatrix):
        return len(matrix) + 2 * len(matrix.on_edges)
    return len(matrix) ** 2


def is_finite(matrix: Gradient) -> bool:
    """Say whether all entries are finite."""
    if isinstance(matrix, MaskedMatrix):
        return matrix.is_finite()
    return validation.is_finite(matrix)


def check_finite(gradient: Gradient) -> None:
    """Refuse a gradient that is not finite, by which atoms cannot be priced."""
    if is_finite(gradient):
        return
    if isinstance(gradient, np.ndarray):
        validation.finite_array("gradient", gradient, ndim=2)  # raises, and says where
    raise InvalidInputError("gradient holds values that are not finite")


def inner(first: Gradient, second: Gradient) -> float:
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


def largest_entry(matrix: Gradient) -> float:
    """Return the largest magnitude of an entry."""
    if isinstance(matrix, MaskedMatrix):
        return matrix.largest_entry()
    return max(float(matrix.max()), -float(matrix.min()))


def magnitude_inner(first: Any, second: Any) -> float:
    """Return ``⟨|G|, |H|⟩``, of two arrays or of two matrices under the same mask."""
    if isinstance(first, MaskedMatrix):
        return inner(abs(first), abs(second))
    runs = _row_runs(first)
    return sum(float(np.vdot(np.abs(first[run]), np.abs(second[run]))) for run in runs)


def magnitude_form(matrix: Any, vector: FloatArray) -> float:
    """Return ``v'|G|v``; entries outside of a mask count as 0."""
    if isinstance(matrix, MaskedMatrix):
        rows, columns = matrix.edges
        off_diagonal = float(np.abs(matrix.on_edges) @ (vector[rows] * vector[columns]))
        return float(np.abs(matrix.on_diagonal) @ vector**2) + 2 * off_diagonal
    runs = _row_runs(matrix)
    return sum(float(vector[run] @ (np.abs(matrix[run]) @ vector)) for run in runs)


def _row_runs(matrix: FloatArray) -> Iterator[slice]:
    """Yield runs of rows that stay in cache: an array of magnitudes would leave it."""
    step = max(1, _SUM_ENTRIES // len(matrix))
    for start in range(0, len(matrix), step):
        yield slice(start, start + step)
