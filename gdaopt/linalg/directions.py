"""Directions: the structured changes of a metric matrix that methods step along.

Objectives of distances see a direction D by factors of the quadratic forms of all pairs of samples:

    (x_i - x_j)' D (x_i - x_j) = Σ_f (a_if - a_jf)(b_if - b_jf),   A = factor(X), B = factor(X)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from gdaopt.linalg.atoms import Atoms
from gdaopt.support.validation import FloatArray


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

    def added_to(self, metric: FloatArray, gamma: float) -> FloatArray:
        return self.atoms.added_to(metric, gamma * self.change)

    def factors(self, features: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ``X U diag(c)`` and ``X U``."""
        projected = self.atoms.projected(features)
        return projected * self.change, projected


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
