"""Pairs of samples that differ in a signal, with their weights."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np

from gdaopt.errors import InvalidInputError
from gdaopt.linalg.samples import Samples, as_samples
from gdaopt.objectives.pairs.base import Pairs
from gdaopt.objectives.pairs.listed_pairs import ListedPairs
from gdaopt.objectives.pairs.passes import Block, tiles, triangle
from gdaopt.objectives.pairs.reading import (
    LARGEST_SPREAD,
    check_spread,
    checked_pairs,
    checked_weights,
)
from gdaopt.objectives.pairs.rectangles import MOST_LEVELS, RectanglePairs
from gdaopt.support.validation import FloatArray, finite_array, read_only

_LARGEST_WEIGHT = 1e100  # of a sample, as is its inverse


class SignalPairs(RectanglePairs):
    """The pairs of samples that differ in a signal, with weight ``2 s_i s_j Σ_m (z_im - z_jm)²``.

    They are rectangles between each two levels of the signal, or all pairs where it has many. The
    factor 2 counts both orders of a pair. Samples are sorted by `strata`, the few levels.
    """

    def __init__(
        self, features: Samples, signal: FloatArray, sample_weight: FloatArray | None = None
    ) -> None:
        levels, level_of = np.unique(signal, axis=0, return_inverse=True)
        order = np.argsort(level_of.ravel(), kind="stable")
        self.strata = level_of.ravel()[order]
        # Without the sample weights; None where they vary within the block.
        self._block_log_weights: list[float | None]
        if len(levels) <= MOST_LEVELS:
            bounds = np.searchsorted(self.strata, np.arange(len(levels) + 1))
            rectangles, self._block_log_weights = _level_rectangles(levels, bounds)
        else:
            rectangles = list(triangle(slice(0, len(signal))))
            self._block_log_weights = [None] * len(rectangles)
            self.strata = np.zeros(len(signal), dtype=np.intp)
        super().__init__(features, rectangles, order)
        self.signal = read_only(np.ascontiguousarray(signal[order]))
        weight = np.ones(len(signal)) if sample_weight is None else sample_weight[order]
        self.sample_weight = read_only(weight)

    def _own_log_weights(self) -> Iterator[FloatArray]:
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

    def log_weight_size(self) -> float:
        # A sum of logarithms, each of which can be larger than the sum.
        of_samples = 2 * float(np.abs(np.log(self.sample_weight)).max())
        return super().log_weight_size() + of_samples

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


def _level_rectangles(
    levels: FloatArray, bounds: np.ndarray
) -> tuple[list[Block], list[float | None]]:
    """Return rectangles between each two levels of the signal, and the logarithms of weights."""
    rectangles: list[Block] = []
    log_weights: list[float | None] = []
    samples = list(map(slice, bounds[:-1].tolist(), bounds[1:].tolist()))
    for a in range(len(levels)):
        for b in range(a + 1, len(levels)):
            rectangles += tiles(samples[a], samples[b])
            # hypot does not underflow where the squares would
            log_weight = math.log(2) + 2 * math.log(math.hypot(*(levels[a] - levels[b])))
            log_weights += [log_weight] * (len(rectangles) - len(log_weights))
    return rectangles, log_weights


def weighted_pairs(X: Any, z: Any, sample_weight: Any = None, pairs: Any = None) -> Pairs:
    """Return the pairs of `gdaopt.GLR`, with its arguments and errors."""
    features = as_samples(X)
    signal = finite_array("z", z, ndim=(1, 2), is_data=True)
    if features.shape[0] != len(signal):
        raise InvalidInputError(
            f"X has {features.shape[0]} samples and z has {len(signal)}; they must be as many"
        )
    if features.shape[0] < 2:
        raise InvalidInputError("X has 1 sample; pairs need at least 2")
    signal = signal.reshape(len(signal), -1)
    if (signal == signal[0]).all():
        raise InvalidInputError(
            f"z is {signal[0].squeeze().tolist()} for all {len(signal)} samples; "
            "the signal must take at least two values"
        )
    check_spread("X", features, least=0.0)
    check_spread("z", signal, least=1 / LARGEST_SPREAD)
    weights = None if sample_weight is None else checked_weights(sample_weight, len(signal))
    if weights is not None and not (
        weights.max() <= _LARGEST_WEIGHT and weights.min() >= 1 / _LARGEST_WEIGHT
    ):
        raise InvalidInputError(
            f"sample_weight goes from {weights.min():.2g} to {weights.max():.2g}, and products of "
            "two weights leave floating point; pass weights of about 1"
        )
    if pairs is None:
        return SignalPairs(features, signal, weights)
    left, right = checked_pairs(pairs, len(signal)).T
    # Signal by signal: the differences of all at once would take n·m numbers.
    squares = sum(((z[left] - z[right]) ** 2 for z in signal.T), start=np.zeros(len(left)))
    if weights is not None:
        squares *= weights[left] * weights[right]
    listed = ListedPairs(features, left, right, 2 * squares)
    if not listed.n_pairs:
        raise InvalidInputError("pairs holds no two samples with different signals")
    return listed
