"""How squared distances of pairs of samples change along directions: what losses bend along."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from gdaopt.linalg.entries import IndexArray
from gdaopt.support.validation import FloatArray


class Changes(ABC):
    """How the distances of the pairs of a tile change along n directions, φ."""

    @abstractmethod
    def __call__(self, *indices: Any) -> FloatArray:
        """Return φ of pairs at given indices, or of all, n first; it may be overwritten."""

    @abstractmethod
    def row_sums(self, shares: FloatArray) -> FloatArray:
        """Return ``Σ_c s_rc φ_rc`` for a tile of whole rows r, of shape (n, rows)."""


@dataclass(frozen=True, eq=False)
class Rates(Changes):
    """The changes along one direction."""

    rates: FloatArray

    def __call__(self, *indices: Any) -> FloatArray:
        return self.rates[None][(slice(None), *indices)].copy()

    def row_sums(self, shares: FloatArray) -> FloatArray:
        sums: FloatArray = (shares * self.rates).sum(axis=1)[None]
        return sums


@dataclass(frozen=True, eq=False)
class SquaredChanges(Changes):
    """``φ_k = (a_r - a_c)_k²``, less optional means, with coordinates a along n atoms."""

    left: IndexArray
    right: IndexArray
    values: FloatArray  # a', atoms × samples
    means: FloatArray | None = None

    def __call__(self, *indices: Any) -> FloatArray:
        left, right = self.left, self.right
        if indices:
            left, right = (each[indices] for each in np.broadcast_arrays(left, right))
        changes = _differences(self.values.take(left, axis=1), self.values.take(right, axis=1))
        changes *= changes
        if self.means is not None:
            changes -= self.means.reshape(-1, *[1] * (changes.ndim - 1))
        return changes

    def row_sums(self, shares: FloatArray) -> FloatArray:
        rows, columns = (self.values.take(side.ravel(), axis=1) for side in (self.left, self.right))
        sums: FloatArray = (columns * columns) @ shares.T
        sums += rows * (rows * shares.sum(axis=1) - 2 * (columns @ shares.T))
        return sums


def _differences(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return ``left - right``, in the memory of `left` if it fits; the first axis are atoms.

    Each column less each row is ``left · 1 + 1 · (-right)``: as a product of matrices it is exact,
    too, and takes half as long.
    """
    if left.shape[2:] != (1,) or right.shape[1] != 1:
        return np.asarray(np.subtract(left, right, out=left if left.shape == right.shape else None))
    columns = np.concatenate([left, np.ones_like(left)], axis=2)
    product: FloatArray = columns @ np.concatenate([np.ones_like(right), -right], axis=1)
    return product
