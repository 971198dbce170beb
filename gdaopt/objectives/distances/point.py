"""An objective of distances at one metric."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property

import numpy as np

from gdaopt.linalg.directions import DenseDirection, Direction
from gdaopt.linalg.entries import Edges
from gdaopt.linalg.known_entries import KnownEntries
from gdaopt.objectives.distance_round_off import DistanceRoundOff
from gdaopt.objectives.distances.loss_sum import LossLine, LossSum
from gdaopt.objectives.distances.pair_loss import PairLoss
from gdaopt.objectives.pairs import PairSums, PairValues
from gdaopt.objectives.round_off import UNIT, RoundOff
from gdaopt.support.validation import FloatArray, read_only

__all__ = ["DistancePoint"]

_GATHERING = 16  # what an entry of a product of matrices costs alone, in units of one in the whole
_MOVES_BEFORE_REFRESH = 64  # updates add up round-off; after so many, distances are computed anew
_SUM_ROUNDINGS = 64  # in a row: NumPy adds up an array of 2^17 numbers in pairs of parts


class DistancePoint:
    """An objective of distances at one metric: a `gdaopt.objectives.Point`.

    Parameters
    ----------
    pair_loss : PairLoss
        The loss and its pairs.
    metric : ndarray of shape (K, K)
        M.
    distances : PairValues, optional
        δ at M, where they are known already.
    round_off : DistanceRoundOff, optional
        How exact those are.
    moves : int, optional
        By how many steps they have been updated.
    """

    def __init__(
        self,
        pair_loss: PairLoss,
        metric: FloatArray,
        distances: PairValues | None = None,
        round_off: DistanceRoundOff | None = None,
        moves: int = 0,
    ) -> None:
        self.pair_loss = pair_loss
        self.metric = read_only(metric)
        self._pairs = pair_loss.pairs
        known = distances or pair_loss.pair_values(self._compute_distances)
        self.loss = LossSum(pair_loss.loss, self._pairs, known, pair_loss.pair_values)
        self._is_swept = distances is None and (
            pair_loss.has_many_pairs or not pair_loss.keeps_pairs
        )
        self._round_off = round_off
        self._moves = moves
        self._last_line: LossLine | None = None
        self._last_width = 0

    def _compute_distances(self) -> Iterator[FloatArray]:
        return self._pairs.products(*DenseDirection(self.metric).factors(self._pairs.features))

    @cached_property
    def _swept(self) -> PairSums | None:
        """The sums of one pass over all pairs, where their numbers are too many."""
        return self.pair_loss.swept(self.metric) if self._is_swept else None

    @property
    def value(self) -> float:
        """``Q(M)``."""
        return self.loss.value if self._swept is None else self._swept.value

    @property
    def log_value(self) -> float:
        """NaN: ``log Q`` is not convex."""
        return math.nan

    @cached_property
    def _gradient(self) -> FloatArray:
        with np.errstate(over="ignore", invalid="ignore"):  # certificates report the overflow
            if self._swept is not None:
                return read_only(self._swept.moments.scatter)
            return read_only(self._pairs.scatter(self.loss.coefficients))

    def gradient(self) -> FloatArray:
        """Return ``∇Q(M)``, shape (K, K), read-only."""
        return self._gradient

    def gradient_diagonal(self) -> FloatArray:
        """Return the diagonal of the gradient, shape (K,)."""
        return self._pairs.scatter_diagonal(self.loss.coefficients)

    def gradient_column(self, column: int) -> FloatArray:
        """Return one column of the gradient, shape (K,)."""
        return self._pairs.scatter_column(self.loss.coefficients, column)

    def gradient_entries(self, edges: Edges) -> KnownEntries:
        """Return the gradient's diagonal and its entries of edges, without the others if few."""
        size = len(self.metric)
        is_known = "_gradient" in vars(self) or self._is_swept
        if is_known or _GATHERING * (size + len(edges[0])) >= size**2:
            return KnownEntries.of(self._gradient, edges)
        with np.errstate(over="ignore", invalid="ignore"):  # certificates report the overflow
            return self._pairs.scatter_entries(self.loss.coefficients, edges)

    def line(self, direction: Direction) -> LossLine:
        """Return Q restricted to ``M + γ D``: a trial step costs one loss per pair."""
        if self._last_line is None or self._last_line.direction is not direction:
            factors = direction.factors(self._pairs.features)
            self._last_width = factors[0].shape[1]
            rates = self.pair_loss.pair_values(lambda: self._pairs.products(*factors))
            self._last_line = LossLine(direction, self.loss, rates)
        return self._last_line

    def moved(self, direction: Direction, gamma: float) -> DistancePoint:
        """Return the point at ``M + γ D``, with the distances updated along the line."""
        metric = direction.added_to(self.metric, gamma)
        if not self.pair_loss.keeps_pairs or self._moves >= _MOVES_BEFORE_REFRESH:
            return DistancePoint(self.pair_loss, metric)
        line = self.line(direction)
        distances = self.pair_loss.pair_values(lambda: line.distances(gamma))
        round_off = self.distance_round_off.moved(direction, gamma, self._last_width)
        return DistancePoint(self.pair_loss, metric, distances, round_off, self._moves + 1)

    @property
    def distance_round_off(self) -> DistanceRoundOff:
        """How exact the distances are that the loss was computed from."""
        return self._round_off or DistanceRoundOff.of_metric(self.metric)

    @cached_property
    def _sizes(self) -> FloatArray:
        """``Σ |c_rc| (x_rk² + x_ck²)``, shape (K,), for the derivatives c by the distances."""
        with np.errstate(over="ignore", invalid="ignore"):
            if self._swept is not None:
                return self._swept.moments.sizes
            return self._pairs.squared_sizes(np.abs(c) for c in self.loss.coefficients)

    def round_off(self) -> RoundOff:
        """Return how exact value and gradient are ("Lemma: round-off of losses of distances")."""
        loss, pairs = self.pair_loss.loss, self._pairs
        magnitude = (self._swept or self.loss).magnitude
        with np.errstate(over="ignore", invalid="ignore"):
            lengths = np.sqrt(self._sizes)
            of_distances = 2 * self.distance_round_off.form(lengths)
            relative = loss.value_roundings + _SUM_ROUNDINGS + self.pair_loss.n_blocks
            of_scatter = pairs.scatter_roundings * self._sizes
            of_loss = loss.coefficient_roundings * (self._sizes + self.pair_loss.offset_sizes)
            return RoundOff(
                UNIT * (relative * magnitude + of_distances),
                np.sqrt(2 * UNIT * (of_scatter + of_loss)),
            )

    def vanished(self) -> str | None:
        """Say where the value or the gradient is not finite."""
        if not math.isfinite(self.value):
            return f"the objective is {self.value}: the metric is far outside of the cone"
        if not np.isfinite(self._sizes).all():
            return (
                "the gradient of the objective is not finite: the distance of two samples is 0 "
                "under this metric, though they differ; start from a positive definite metric"
            )
        return None
