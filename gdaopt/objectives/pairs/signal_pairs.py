"""Pairs of samples that differ in a signal, with their weights."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from gdaopt.errors import InvalidInputError
from gdaopt.linalg.samples import Samples, as_samples
from gdaopt.objectives.pairs.base import Indices, Pairs
from gdaopt.objectives.pairs.listed_pairs import ListedPairs
from gdaopt.objectives.pairs.passes import Tile, classes_of, split_rectangle, triangle
from gdaopt.objectives.pairs.reading import (
    LARGEST_SPREAD,
    check_spread,
    read_pairs,
    read_weights,
)
from gdaopt.objectives.pairs.rectangles import MOST_LEVELS, RectanglePairs
from gdaopt.support.validation import FloatArray, finite_array

_LARGEST_WEIGHT = 1e100  # and its inverse is the smallest


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
    strata: Indices

    def __call__(self, tile: Tile) -> FloatArray:
        first, second = tile.rows.start, tile.columns.start
        rows = self.log_sample_weight[tile.rows]
        columns = self.log_sample_weight[tile.columns]
        if self.strata[first] == self.strata[second]:
            return self._of_signal(tile) + np.add.outer(rows, columns)
        # hypot does not underflow if the squares would.
        distance = math.hypot(*(self.signal[first] - self.signal[second]))
        log_weight = math.log(2) + 2 * math.log(distance)
        if (rows == rows[0]).all() and (columns == columns[0]).all():  # such as class weights
            return np.asarray(log_weight + (rows[0] + columns[0]))
        return np.asarray(log_weight + np.add.outer(rows, columns))

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
    return RectanglePairs(features, rectangles, order, log_weight=log_weight)


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
    weights = read_weights(sample_weight, len(signal))
    if not (weights.max() <= _LARGEST_WEIGHT and weights.min() >= 1 / _LARGEST_WEIGHT):
        raise InvalidInputError(
            f"sample_weight goes from {weights.min():.2g} to {weights.max():.2g}, and products of "
            "two weights leave floating point; pass weights of about 1"
        )
    if pairs is None:
        return signal_pairs(features, signal, weights)
    left, right = read_pairs(pairs, len(signal)).T
    # Signal by signal: the differences of all at once would take n·m numbers.
    squares = sum(((z[left] - z[right]) ** 2 for z in signal.T), start=np.zeros(len(left)))
    squares *= weights[left] * weights[right]
    listed = ListedPairs(features, left, right, 2 * squares)
    if not listed.n_pairs:
        raise InvalidInputError("pairs holds no two samples with different signals")
    return listed
