"""Directions: the structured changes of a metric matrix that methods step along.

A method never hands a K×K matrix to an objective when it changes a diagonal or a column. It hands
over a `Direction`, which computes three things from its symmetric matrix D: the inner product with
a gradient, the sum ``M + γ D``, and a factorisation that turns the quadratic forms of all pairs of
samples into products of two small matrices:

    (x_i - x_j)' D (x_i - x_j) = Σ_f (a_if - a_jf)(b_if - b_jf),   A = factor(X), B = factor(X)

Everything that an objective of distances needs follows from the factors, for every kind of
direction alike; a new kind costs one class here and nothing elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from gdaopt.linalg.atoms import Atoms
from gdaopt.support.validation import FloatArray, read_only

__all__ = [
    "AtomsDirection",
    "ColumnDirection",
    "DeferredMatrix",
    "DenseDirection",
    "DiagonalDirection",
    "Direction",
]


class Direction(Protocol):
    """A symmetric K×K matrix D in a structured form."""

    def inner(self, matrix: FloatArray) -> float:
        """Return ``⟨matrix, D⟩ = trace(matrix' D)`` for a symmetric K×K matrix."""

    def norm_squared(self) -> float:
        """Return ``‖D‖²`` (Frobenius)."""

    def added_to(self, metric: FloatArray, gamma: float) -> FloatArray:
        """Return ``metric + gamma · D`` as a new, exactly symmetric matrix."""

    def magnitude(self) -> Direction:
        """Return a direction with all numbers made positive: at least ``|D|``, entry by entry."""

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

    def magnitude(self) -> DiagonalDirection:
        return DiagonalDirection(np.abs(self.change))

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

    def magnitude(self) -> ColumnDirection:
        return ColumnDirection(self.column, np.abs(self.change))

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

    def magnitude(self) -> AtomsDirection:
        return AtomsDirection(np.abs(self.change), self.atoms.magnitude())

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

    def magnitude(self) -> DenseDirection:
        return DenseDirection(np.abs(self.matrix))

    def factors(self, features: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ``X`` and ``X D``."""
        return features, features @ self.matrix


class DeferredMatrix:
    """A K×K matrix that is made when it is first asked for, such as a metric after a step."""

    def __init__(self, make: Callable[[], FloatArray]) -> None:
        self._make: Callable[[], FloatArray] | None = make
        self._matrix: FloatArray | None = None

    def dense(self) -> FloatArray:
        """Return the matrix, read-only."""
        make = self._make
        if make is not None:
            self._matrix = read_only(make())
            self._make = None  # with all that the matrix was made of; other threads have theirs
        assert self._matrix is not None
        return self._matrix

    def moved(self, direction: Direction, gamma: float) -> DeferredMatrix:
        """Return the matrix plus ``gamma · D``."""
        return DeferredMatrix(lambda: direction.added_to(self.dense(), gamma))
