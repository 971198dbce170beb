"""Directions: the structured changes of a metric matrix that methods step along.

Objectives of distances see a direction D by factors of the quadratic forms of all pairs of samples:

    (x_i - x_j)' D (x_i - x_j) = Σ_f (a_if - a_jf)(b_if - b_jf),   A = factor(X), B = factor(X)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.masked import MaskedMatrix, Symmetric, dense
from gdaopt.linalg.samples import Samples, gram_matrix
from gdaopt.support.validation import FloatArray, read_only

_RUN_ATOMS = 4096  # whose coordinates are summed over at a time


class Direction(Protocol):
    """A symmetric K×K matrix D in a structured form."""

    def inner(self, matrix: FloatArray) -> float:
        """Return ``⟨matrix, D⟩ = trace(matrix' D)`` for a symmetric K×K matrix."""

    def norm_squared(self) -> float:
        """Return ``‖D‖²`` (Frobenius)."""

    def added_to(self, metric: FloatArray, gamma: float) -> FloatArray:
        """Return ``metric + gamma · D`` as a new, exactly symmetric matrix."""

    def factors(self, features: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return A, B, each N×F, for features X of N×K: ``d' D d = Σ_f (Δa)_f (Δb)_f``.

        Either F is 1, or ``A B' = X D X'`` is symmetric.
        """


@dataclass(frozen=True, eq=False)
class DiagonalDirection(Direction):
    """``D = diag(change)``, `change` of shape (K,)."""

    change: FloatArray

    def inner(self, matrix: FloatArray) -> float:
        return float(np.diagonal(matrix) @ self.change)

    def norm_squared(self) -> float:
        return float(self.change @ self.change)

    def added_to(self, metric: FloatArray, gamma: float) -> FloatArray:
        moved = metric.copy()
        moved.flat[:: len(moved) + 1] += gamma * self.change
        return moved

    def factors(self, features: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ``X`` and ``X · change``, restricted to the features that change."""
        used = np.flatnonzero(self.change)
        selected = features if len(used) == len(self.change) else features[:, used]
        return selected, selected * self.change[used]


@dataclass(frozen=True, eq=False)
class ColumnDirection(Direction):
    """``D = e_c change' + change e_c'``: column and row c change, the diagonal does not."""

    column: int
    change: FloatArray  # shape (K,), zero at `column`

    def inner(self, matrix: FloatArray) -> float:
        return float(2 * (matrix[:, self.column] @ self.change))

    def norm_squared(self) -> float:
        return float(2 * (self.change @ self.change))

    def added_to(self, metric: FloatArray, gamma: float) -> FloatArray:
        moved = metric.copy()
        moved[:, self.column] += gamma * self.change
        moved[self.column, :] = moved[:, self.column]
        return moved

    def factors(self, features: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ``2 x_c`` and ``X · change``, one column each."""
        return 2 * features[:, [self.column]], (features @ self.change)[:, None]


@dataclass(frozen=True, eq=False)
class AtomsDirection(Direction):
    """``D = Σ_k c_k u_k u_k'``: the weights of a few atoms change."""

    change: FloatArray  # shape (n,): c
    atoms: Atoms

    def inner(self, matrix: FloatArray) -> float:
        return float(self.change @ self.atoms.quadratic_forms(matrix))

    def norm_squared(self) -> float:
        """Return ``‖D‖² = Σ_kl c_k c_l (u_k'u_l)²``."""
        return float(self.change @ self.atoms.products(self.atoms) ** 2 @ self.change)

    def added_to(self, metric: Any, gamma: float) -> Any:
        return self.atoms.added_to(metric, gamma * self.change)

    def factors(self, features: Samples) -> tuple[FloatArray, FloatArray]:
        """Return ``X U diag(c)`` and ``X U``; of very many atoms ``X D X'`` and the identity."""
        n_samples = features.shape[0]
        if len(self.atoms) <= max(n_samples, _RUN_ATOMS):
            projected = self.atoms.projected(features)
            return projected * self.change, projected
        gram = np.zeros((n_samples, n_samples))
        for start in range(0, len(self.atoms), _RUN_ATOMS):
            run = slice(start, start + _RUN_ATOMS)
            projected = self.atoms[run].projected(features)
            gram += (projected * self.change[run]) @ projected.T
        return (gram + gram.T) / 2, np.eye(n_samples)


@dataclass(frozen=True, eq=False)
class DenseDirection(Direction):
    """Any symmetric matrix."""

    matrix: FloatArray

    def inner(self, matrix: FloatArray) -> float:
        return float(np.vdot(matrix, self.matrix))

    def norm_squared(self) -> float:
        return float(np.vdot(self.matrix, self.matrix))

    def added_to(self, metric: FloatArray, gamma: float) -> FloatArray:
        return np.asarray(metric + gamma * self.matrix)

    def factors(self, features: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ``X`` and ``X D``."""
        return features, features @ self.matrix


@dataclass(frozen=True, eq=False)
class SparseDirection(Direction):
    """A matrix that is 0 but for its diagonal and a few edges."""

    matrix: MaskedMatrix

    def inner(self, matrix: FloatArray) -> float:
        on_edges = 2 * float(self.matrix.on_edges @ matrix[self.matrix.edges])
        return float(self.matrix.on_diagonal @ matrix.diagonal()) + on_edges

    def norm_squared(self) -> float:
        return self.matrix.norm() ** 2

    def added_to(self, metric: Any, gamma: float) -> Any:
        scaled = gamma * self.matrix
        return metric + (scaled if isinstance(metric, MaskedMatrix) else scaled.dense())

    def factors(self, features: Samples) -> tuple[FloatArray, FloatArray]:
        """Return ``X D X'`` and the identity."""
        return gram_matrix(features, self.matrix), np.eye(features.shape[0])


def direction_of(matrix: Symmetric) -> SparseDirection | DenseDirection:
    """Return a symmetric matrix as a direction."""
    if isinstance(matrix, MaskedMatrix):
        return SparseDirection(matrix)
    return DenseDirection(dense(matrix))


class DeferredMatrix:
    """A K×K matrix that is made when it is first asked for, such as a metric after a step."""

    def __init__(self, make: Callable[[], Symmetric]) -> None:
        self._make: Callable[[], Symmetric] | None = make
        self._matrix: Symmetric | None = None

    def known(self) -> Symmetric:
        """Return the matrix as it was made; arrays are read-only."""
        make = self._make
        if make is not None:
            matrix = make()
            self._matrix = read_only(matrix) if isinstance(matrix, np.ndarray) else matrix
            self._make = None  # with all that the matrix was made of; other threads have theirs
        assert self._matrix is not None
        return self._matrix

    def dense(self) -> FloatArray:
        """Return the matrix as an array, read-only."""
        return read_only(dense(self.known()))

    def moved(self, direction: Direction, gamma: float) -> DeferredMatrix:
        """Return the matrix plus ``gamma · D``."""
        is_sparse = isinstance(direction, AtomsDirection | SparseDirection)

        def make() -> Symmetric:
            metric: Any = self.known() if is_sparse else self.dense()
            return direction.added_to(metric, gamma)

        return DeferredMatrix(make)
