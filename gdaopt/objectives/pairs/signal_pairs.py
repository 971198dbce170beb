"""Pairs of samples that differ in a signal, with their weights."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from gdaopt.linalg.entries import IndexArray
from gdaopt.linalg.samples import Samples
from gdaopt.objectives.pairs.pairs import Pairs, Tile
from gdaopt.objectives.pairs.rectangles import (
    MOST_LEVELS,
    RectanglePairs,
    classes_of,
    split_rectangle,
    triangle,
)
from gdaopt.support.validation import FloatArray


@dataclass(frozen=True, eq=False)
class SignalWeights:
    """The logarithms of the weights ``2 s_i s_j Σ_m (z_im - z_jm)²``: both orders of a pair count.

    Attributes
    ----------
    signal : ndarray of shape (N, m)
        z, sorted by its levels if these are few.
    log_sample_weight : ndarray of shape (N,)
        ``log s``.
    strata : ndarray of shape (N,)
        The level of each sample, so that each tile is between two levels; 0 if these are many.
    """

    signal: FloatArray
    log_sample_weight: FloatArray
    strata: IndexArray

    def __call__(self, pairs: Pairs) -> Iterator[FloatArray]:
        for tile in pairs.tiles:
            first, second = tile.rows.start, tile.columns.start
            rows = self.log_sample_weight[tile.rows]
            columns = self.log_sample_weight[tile.columns]
            if self.strata[first] == self.strata[second]:
                yield self._of_signal(tile) + np.add.outer(rows, columns)
                continue
            # hypot does not underflow if the squares would.
            distance = math.hypot(*(self.signal[first] - self.signal[second]))
            log_weight = math.log(2) + 2 * math.log(distance)
            if (rows == rows[0]).all() and (columns == columns[0]).all():  # such as class weights
                yield np.asarray(log_weight + (rows[0] + columns[0]))
            else:
                yield np.asarray(log_weight + np.add.outer(rows, columns))

    def _of_signal(self, tile: Tile) -> FloatArray:
        """Return the logarithms of ``2 Σ_m (z_im - z_jm)²`` for a tile in which they vary."""
        rows, columns = self.signal[tile.rows], self.signal[tile.columns]
        weights = np.zeros((len(rows), len(columns)))
        for a, b in zip(rows.T, columns.T, strict=True):
            difference = np.subtract.outer(a, b)
            difference *= difference
            weights += difference
        weights *= 2
        if tile.columns.start == tile.rows.start:
            weights[:, : len(rows)] /= 2  # the square on the diagonal holds both orders
        with np.errstate(divide="ignore"):
            return np.log(weights, out=weights)


def signal_pairs(
    features: Samples, signal: FloatArray, sample_weight: FloatArray
) -> RectanglePairs:
    """Return the pairs of samples that differ in a signal, with `SignalWeights`.

    They are rectangles between each two levels of the signal, or all pairs if it has many. Samples
    are sorted by few levels.
    """
    levels, level_of = np.unique(signal, axis=0, return_inverse=True)
    order = np.argsort(level_of.ravel(), kind="stable")
    strata = level_of.ravel()[order]
    rectangles: list[Tile] = []
    if len(levels) <= MOST_LEVELS:
        for first, second in combinations(classes_of(strata), 2):
            rectangles += split_rectangle(first, second)
    else:
        rectangles += triangle(slice(0, len(signal)))
        strata = np.zeros(len(signal), dtype=np.intp)
    log_weight = SignalWeights(signal[order], np.log(sample_weight[order]), strata)
    return RectanglePairs(features, rectangles, log_weight, order)
