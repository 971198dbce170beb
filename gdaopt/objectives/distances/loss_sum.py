"""A loss over all pairs of samples, at a metric and along a direction."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from gdaopt.linalg.directions import Direction
from gdaopt.objectives.distances.loss import BlockLoss, DistanceLoss
from gdaopt.objectives.pairs import Frame, KnownChanges, Pairs, PairSums, PairValues
from gdaopt.support.validation import FloatArray

__all__ = ["LossLine", "LossSum", "loss_sums"]

_MOST_PAIRS = 2**18  # that second derivatives are summed over
_SPARSE = 8  # where few pairs are curved, parts of this size are summed over at once


class LossSum:
    """``f(δ)`` over all pairs.

    Parameters
    ----------
    loss : DistanceLoss
        f.
    pairs : Pairs
        The pairs.
    distances : PairValues
        δ.
    keep : callable, optional
        Makes `PairValues` of a callable that returns an iterator over arrays. Where it is given,
        the coefficients are computed with the value and kept.
    """

    def __init__(
        self,
        loss: DistanceLoss,
        pairs: Pairs,
        distances: PairValues,
        keep: Callable[[Callable[[], Iterator[FloatArray]]], PairValues] | None = None,
    ) -> None:
        self.loss = loss
        self.pairs = pairs
        self.distances = distances
        self._kept = keep(self._compute) if keep is not None else None
        self._found: tuple[float, float] | None = None

    @property
    def coefficients(self) -> PairValues:
        """``∂f/∂δ``, block by block."""
        # Not kept, they are no attribute: that would be a cycle, which holds the distances until
        # the garbage collector comes by.
        return self._kept or PairValues(self._compute)

    def _compute(self) -> Iterator[FloatArray]:
        """Yield ``∂f/∂δ``; a complete pass knows the value."""
        value = magnitude = 0.0
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            for block, distances in zip(self.pairs.blocks(), self.distances, strict=True):
                at = self.loss.at(block, distances)
                value += at.value
                magnitude += at.magnitude
                yield at.coefficients()
        self._found = value, magnitude

    def _known(self) -> tuple[float, float]:
        if self._found is None:
            for _ in self.coefficients:
                pass
        assert self._found is not None
        return self._found

    @property
    def value(self) -> float:
        """The loss."""
        return self._known()[0]

    @property
    def magnitude(self) -> float:
        """What the round-off of the value is relative to."""
        return self._known()[1]

    def hessian(self, coordinates: FloatArray) -> FloatArray:
        """Return the second derivatives along atoms, shape (n, n).

        Of many pairs they are taken from a sample of the rows, always the same: Newton's method
        needs a model of the loss, and its gradient is exact.

        Parameters
        ----------
        coordinates : ndarray of shape (N, n)
            a: along atom k distances change by ``(a_r - a_c)_k²``.
        """
        values = np.ascontiguousarray(coordinates.T)
        total = np.zeros((len(values), len(values)))
        every, n_values = 1, len(values) // _SPARSE + 1
        if self.loss.curved_everywhere:
            every, n_values = max(1, self.pairs.n_pairs // _MOST_PAIRS), len(values)
        place, n_seen = 0, 0
        for block, distances in zip(self.pairs.blocks(), self.distances, strict=True):
            for part, rows in self.pairs.parts(block, n_values):
                place += 1
                if place % every:
                    continue
                n_seen += distances[rows].size
                at = self.loss.at(part, distances[rows])
                factors = at.factors(self.pairs.changes(part, values))
                total += factors @ factors.T
        total *= self.pairs.n_pairs / n_seen
        return total


class LossLine:
    """The loss along a direction: a `gdaopt.objectives.Line`.

    Parameters
    ----------
    direction : Direction
        D.
    start : LossSum
        The loss at γ = 0.
    rates : PairValues
        η: the distances are ``δ + γ η``.
    """

    def __init__(self, direction: Direction, start: LossSum, rates: PairValues) -> None:
        self.direction = direction
        self.rates = rates
        self._start = start

    def distances(self, gamma: float) -> Iterator[FloatArray]:
        """Yield the distances at ``M + γ D``."""
        for distance, rate in zip(self._start.distances, self.rates, strict=True):
            trial = rate * gamma
            trial += distance
            yield trial

    def _losses(self, gamma: float) -> Iterator[BlockLoss]:
        blocks = self._start.pairs.blocks()
        for block, distances in zip(blocks, self.distances(gamma), strict=True):
            yield self._start.loss.at(block, distances)

    def value(self, gamma: float) -> float:
        """Return ``Q(M + γ D)``."""
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            return sum(loss.value for loss in self._losses(gamma))

    def derivatives(self, gamma: float) -> tuple[float, float]:
        """Return the first and the second derivative by γ."""
        slope = curvature = 0.0
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            for loss, rate in zip(self._losses(gamma), self.rates, strict=True):
                factors = loss.factors(KnownChanges(rate[None]))
                curvature += float(np.vdot(factors, factors))
                slope += float(np.vdot(loss.coefficients(), rate))
        return slope, curvature


def loss_sums(loss: DistanceLoss, pairs: Pairs, frame: Frame) -> PairSums:
    """Return the value and the moments of a loss of a portion of the pairs, in one pass."""
    value = magnitude = 0.0

    def coefficients() -> Iterator[FloatArray]:
        nonlocal value, magnitude
        value = magnitude = 0.0
        for block, distances in zip(pairs.blocks(), pairs.distances(frame), strict=True):
            at = loss.at(block, distances)
            value += at.value
            magnitude += at.magnitude
            yield at.coefficients()

    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        moments = pairs.moments(coefficients)
    return PairSums(0.0, value, magnitude, moments)
