"""The loss of LSML: squared hinges of differences of distances, over quadruplets of samples."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from gdaopt.objectives.pairs import Block, Changes
from gdaopt.support.validation import FloatArray

__all__ = ["Quadruplets"]


class Quadruplets:
    """``w Σ (√x - √y)²`` over the pairs of distances with x > y: a `DistanceLoss`.

    The distances come one after the other: x and y of the first quadruplet, and so on.

    Parameters
    ----------
    weight : float
        w.
    """

    curved_everywhere = False
    value_roundings = 24.0
    coefficient_roundings = 16.0

    def __init__(self, weight: float) -> None:
        self._weight = weight

    def offsets(self, block: Block) -> None:
        """Return None: the derivatives are exact relative to themselves."""

    def at(self, block: Block, distances: FloatArray) -> _Violated:  # noqa: ARG002 (of all)
        """Return the loss at the distances of whole quadruplets."""
        return _Violated(self._weight, distances)


class _Violated:
    """The loss of the quadruplets with x > y: a `BlockLoss`."""

    def __init__(self, weight: float, distances: FloatArray) -> None:
        self._weight = weight
        self._size = len(distances)
        near, far = np.maximum(distances[0::2], 0), np.maximum(distances[1::2], 0)
        self._first = 2 * np.flatnonzero(near > far)  # where x is; y comes next
        self._x, self._y = near[self._first // 2], far[self._first // 2]

    @cached_property
    def value(self) -> float:
        return self._weight * float(((np.sqrt(self._x) - np.sqrt(self._y)) ** 2).sum())

    @property
    def magnitude(self) -> float:
        return self._weight * float((2 * self._x).sum())

    def coefficients(self) -> FloatArray:
        coefficients = np.zeros(self._size)
        ratio = np.sqrt(self._y / self._x)
        of_near = self._weight * (1 - ratio)
        coefficients[self._first] = of_near
        coefficients[self._first + 1] = -of_near / ratio
        return coefficients

    def factors(self, changes: Changes) -> FloatArray:
        """Return ``√(w/2) (y^¼ x^-¾ φ_x - x^¼ y^-¾ φ_y)``: the Hessian has rank one."""
        x, y = self._x**0.25, self._y**0.25
        factors: FloatArray = changes.at(self._first) * (y / x**3)
        factors -= changes.at(self._first + 1) * (x / y**3)
        factors *= np.sqrt(self._weight / 2)
        return factors
