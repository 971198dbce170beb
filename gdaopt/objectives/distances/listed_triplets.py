"""The loss of single triplets: a pull on a near sample, and a push on a far one."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from gdaopt.objectives.distances.loss import NEGLIGIBLE
from gdaopt.objectives.distances.scalar import ScalarFunction
from gdaopt.objectives.pairs import Block, Changes
from gdaopt.support.validation import FloatArray

__all__ = ["ListedTriplets"]


class ListedTriplets:
    """``Σ (a x + b ψ(m + x - y))`` over triplets: a `DistanceLoss`.

    The distances come one after the other: x to the near sample and y to the far one of the first
    triplet, and so on.

    Parameters
    ----------
    pull, push : float
        a ≥ 0 and b > 0.
    margin : float
        m.
    function : ScalarFunction
        ψ, which does not fall.
    """

    value_roundings = 32.0
    coefficient_roundings = 16.0

    def __init__(self, pull: float, push: float, margin: float, function: ScalarFunction) -> None:
        self.pull = pull
        self.push = push
        self.margin = margin
        self.function = function
        self.curved_everywhere = not function.is_flat_beyond

    def offsets(self, block: Block) -> None:
        """Return None: of one distance all terms have the same sign."""

    def at(self, block: Block, distances: FloatArray) -> _Triplets:  # noqa: ARG002 (of all)
        """Return the loss at the distances of whole triplets."""
        return _Triplets(self, distances)


class _Triplets:
    """The loss at distances: a `BlockLoss`."""

    def __init__(self, loss: ListedTriplets, distances: FloatArray) -> None:
        self._loss = loss
        self._near, self._far = distances[0::2], distances[1::2]
        self._z = loss.margin + self._near - self._far
        self._values, self._first = loss.function(self._z)

    @cached_property
    def value(self) -> float:
        loss = self._loss
        return loss.pull * float(self._near.sum()) + loss.push * float(self._values.sum())

    @property
    def magnitude(self) -> float:
        sizes = self._loss.margin + np.abs(self._near) + np.abs(self._far)
        pushed = np.abs(self._values).sum() + self._first @ sizes
        return self._loss.pull * float(np.abs(self._near).sum()) + self._loss.push * float(pushed)

    def coefficients(self) -> FloatArray:
        coefficients = np.empty(2 * len(self._z))
        pushed = self._loss.push * self._first
        coefficients[0::2] = self._loss.pull + pushed
        coefficients[1::2] = -pushed
        return coefficients

    def factors(self, changes: Changes) -> FloatArray:
        """Return ``√(b ψ'') (φ_x - φ_y)``: the Hessian has rank one."""
        second = self._loss.function.second(self._z)
        curved = np.flatnonzero(second > NEGLIGIBLE * second.max(initial=0.0))
        factors: FloatArray = changes.at(2 * curved)
        factors -= changes.at(2 * curved + 1)
        factors *= np.sqrt(self._loss.push * second[curved])
        return factors
