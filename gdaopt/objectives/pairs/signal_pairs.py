"""All pairs of samples that differ in a signal, in rectangular blocks.

The signal decides which rectangles there are (see `gdaopt.objectives.pairs.rectangles`). If it
takes few values, they lie between each two of its levels (two labels need the N₊×N₋ block only); a
real-valued signal needs all pairs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Self

import numpy as np
import numpy.typing as npt

from gdaopt.objectives.pairs.blocks import Block, tiles, triangle
from gdaopt.objectives.pairs.rectangles import MOST_LEVELS, RectanglePairs
from gdaopt.support.validation import FloatArray, read_only

__all__ = ["SignalPairs"]


class SignalPairs(RectanglePairs):
    """The pairs of samples that differ in a signal, with weight ``2 s_i s_j Σ_m (z_im - z_jm)²``.

    A `WeightedPairs`. The factor 2 stands for the two orders of a pair: each pair is met once, or
    twice with half of the weight in the squares on the diagonal of a real-valued signal's pairs.

    Parameters
    ----------
    features : ndarray of shape (N, K)
        Samples.
    signal : ndarray of shape (N, m)
        Signals.
    sample_weight : ndarray of shape (N,), optional
        s, positive; all 1 when left out.

    Attributes
    ----------
    features : ndarray of shape (N, K)
        The samples, sorted by the signal and centred: differences stay, cancellation shrinks.
    strata : ndarray of int, shape (N,)
        The level of each sample's signal; all the same where the signal has many levels.
    n_pairs : int
        Number of pairs evaluated.
    """

    def __init__(
        self, features: FloatArray, signal: FloatArray, sample_weight: FloatArray | None = None
    ) -> None:
        levels, level_of = np.unique(signal, axis=0, return_inverse=True)
        order = np.argsort(level_of.ravel(), kind="stable")
        # Without the sample weights; None where they vary within the block.
        self._block_log_weights: list[float | None]
        if len(levels) <= MOST_LEVELS:
            bounds = np.searchsorted(level_of.ravel()[order], np.arange(len(levels) + 1))
            between = list(_level_rectangles(levels, bounds))
            rectangles = [block for block, _ in between]
            self._block_log_weights = [log_weight for _, log_weight in between]
        else:
            rectangles = list(triangle(slice(0, len(signal))))
            self._block_log_weights = [None] * len(rectangles)
        super().__init__(features, rectangles, order)
        self.strata = (
            np.sort(level_of.ravel())
            if len(levels) <= MOST_LEVELS
            else np.zeros(len(signal), dtype=np.intp)
        )
        self.signal = read_only(np.ascontiguousarray(signal[order]))
        weight = np.ones(len(signal)) if sample_weight is None else sample_weight[order]
        self.sample_weight = read_only(weight)

    def log_weights(self) -> Iterator[FloatArray]:
        """Yield the logarithms of the weights of each block; -inf for a pair of equal signals.

        A block whose weights are all the same is an array without dimensions.
        """
        log_sample_weight = np.log(self.sample_weight)
        for block, log_weight in zip(self.blocks(), self._block_log_weights, strict=True):
            rows, columns = log_sample_weight[block.rows], log_sample_weight[block.columns]
            if (rows == rows[0]).all() and (columns == columns[0]).all():  # such as class weights
                rows, columns = rows[:1], columns[:1]
                shape: tuple[int, ...] = ()
            else:
                shape = (len(rows), len(columns))
            if log_weight is None:
                yield self._log_signal_weights(block) + np.add.outer(rows, columns)
            else:
                yield (log_weight + np.add.outer(rows, columns)).reshape(shape)

    def _log_signal_weights(self, block: Block) -> FloatArray:
        """Return the logarithms of ``2 Σ_m (z_im - z_jm)²`` for a block where they vary."""
        rows, columns = self.signal[block.rows], self.signal[block.columns]
        weights = np.zeros((len(rows), len(columns)))
        for a, b in zip(rows.T, columns.T, strict=True):
            difference = np.subtract.outer(a, b)
            difference *= difference
            weights += difference
        weights *= 2
        if block.columns.start == block.rows.start:
            weights[:, : len(rows)] /= 2  # the square on the diagonal holds both orders
        with np.errstate(divide="ignore"):
            return np.log(weights, out=weights)

    def _chosen(self, places: Sequence[int]) -> Self:
        found = super()._chosen(places)
        found._block_log_weights = [self._block_log_weights[place] for place in places]
        return found

    @property
    def weight_roundings(self) -> float:
        """By how many u a weight can be off, beside the round-off of its own logarithm."""
        # A sum of logarithms, each of which can be larger than the sum.
        largest = float(np.abs(np.log(self.sample_weight)).max())
        return int(self.signal.shape[1]) + 8 + 32 * largest

    def merged(self) -> SignalPairs:
        """Return the pairs of the distinct samples: those that coincide add up their weights."""
        signal_and_features = np.hstack([self.signal, self.features])
        distinct, group = np.unique(signal_and_features, axis=0, return_inverse=True)
        weights = np.bincount(group.ravel(), self.sample_weight).astype(np.float64)
        n_signals = self.signal.shape[1]
        return SignalPairs(distinct[:, n_signals:], distinct[:, :n_signals], weights)

    def listed(self) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], FloatArray]:
        """Return the indices of both samples of each pair of positive weight, and the weights."""
        left, right, weights = [], [], []
        for block, log_weight in zip(self.blocks(), self.log_weights(), strict=True):
            rows = np.arange(block.rows.start, block.rows.stop)
            columns = np.arange(block.columns.start, block.columns.stop)
            weight = np.broadcast_to(np.exp(log_weight), (len(rows), len(columns)))
            row, column = np.nonzero(weight)
            left.append(rows[row])
            right.append(columns[column])
            weights.append(weight[row, column])
        return np.concatenate(left), np.concatenate(right), np.concatenate(weights)


def _level_rectangles(levels: FloatArray, bounds: np.ndarray) -> Iterator[tuple[Block, float]]:
    """Yield rectangles between each two levels of the signal, and the logarithms of weights."""
    for a in range(len(levels)):
        for b in range(a + 1, len(levels)):
            # hypot does not underflow where the squares would
            log_weight = math.log(2) + 2 * math.log(math.hypot(*(levels[a] - levels[b])))
            rows, columns = (slice(int(bounds[k]), int(bounds[k + 1])) for k in (a, b))
            for block in tiles(rows, columns):
                yield block, log_weight
