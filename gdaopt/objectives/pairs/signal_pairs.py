"""All pairs of samples that differ in a signal, in rectangular blocks.

A sum over all pairs (i, j) of samples is never written out as N² differences. The pairs are split
into rectangles ``rows × columns`` of the (sorted, centred) samples, small enough to stay in the
processor's cache, and quadratic forms of the differences become products of matrices:

    Σ_f (a_r - a_c)(b_r - b_c) = a_r·b_r + a_c·b_c - 2 a_r·b_c      (A B' symmetric)

The signal decides which rectangles there are. If it takes few values, they lie between each two of
its levels (two labels need the N₊×N₋ block only); a real-valued signal needs all pairs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import repeat

import numpy as np
import numpy.typing as npt

from gdaopt.deadline import check_time
from gdaopt.linalg.entries import Edges
from gdaopt.linalg.known_entries import KnownEntries, paired_sums
from gdaopt.validation import FloatArray, read_only

__all__ = ["SignalPairs"]

_BLOCK_ENTRIES = 2**16  # half a MB of float64: a block and its temporaries stay in cache
_MOMENT_ENTRIES = 2**18  # 2 MB: what a covariance is summed from at a time
_NEGLIGIBLE = 1e-20  # of the largest coefficient, times 1 to 1e8 pairs: below round-off of the sum
_FEW_DIGITS = 1e-5  # what is left of a sum of squares when most of it cancels
_LARGEST_SIZE = 1e6  # of a product of a sample: with larger ones the three terms lose digits
_MOST_LEVELS = 16  # beyond, rectangles between levels get too small to be worth their overhead


@dataclass(frozen=True)
class _Rectangle:
    """The pairs of samples `rows` × `columns`, both contiguous, with one weight or many."""

    rows: slice
    columns: slice
    log_weight: float | None  # without the sample weights; None where it varies within the block


class SignalPairs:
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
    n_pairs : int
        Number of pairs evaluated.
    """

    def __init__(
        self, features: FloatArray, signal: FloatArray, sample_weight: FloatArray | None = None
    ) -> None:
        levels, level_of = np.unique(signal, axis=0, return_inverse=True)
        order = np.argsort(level_of.ravel(), kind="stable")
        offsets = features - features[0]  # first, so that a constant feature becomes 0 exactly
        centre = offsets.mean(axis=0)
        self.features = read_only(np.ascontiguousarray((offsets - centre)[order]))
        # Of sums of sixteen and more roundings relative to X only four are relative to the centre.
        self._squares = (np.abs(self.features) + np.abs(centre) / 4) ** 2
        self.signal = read_only(np.ascontiguousarray(signal[order]))
        weight = np.ones(len(signal)) if sample_weight is None else sample_weight[order]
        self.sample_weight = read_only(weight)
        if len(levels) <= _MOST_LEVELS:
            bounds = np.searchsorted(level_of.ravel()[order], np.arange(len(levels) + 1))
            self._rectangles = list(_level_rectangles(levels, bounds))
        else:
            self._rectangles = list(_triangle_rectangles(len(signal)))
        self.n_pairs = sum(
            (block.rows.stop - block.rows.start) * (block.columns.stop - block.columns.start)
            for block in self._rectangles
        )

    def products(self, left: FloatArray, right: FloatArray) -> Iterator[FloatArray]:
        """Yield ``Σ_f (a_rf - a_cf)(b_rf - b_cf)`` for each rectangle (see `WeightedPairs`)."""
        sizes = np.einsum("nf,nf->n", np.abs(left), np.abs(right))
        if left.shape[1] == 1 or sizes.max() > _LARGEST_SIZE:
            for block in self._blocks():
                products = map(_outer_differences, repeat(block), left.T, right.T)
                yield reduce(np.add, products)
            return
        # One product of matrices gives all three terms.
        own = np.einsum("nf,nf->n", left, right)[:, None]
        ones = np.ones_like(own)
        rows = np.hstack([left, own, ones])
        columns = np.hstack([-2 * right, ones, own])
        for block in self._blocks():
            yield rows[block.rows] @ columns[block.columns].T

    def log_weights(self) -> Iterator[FloatArray]:
        """Yield the logarithms of the weights of each block; -inf for a pair of equal signals.

        A block whose weights are all the same is an array without dimensions.
        """
        log_sample_weight = np.log(self.sample_weight)
        for block in self._blocks():
            rows, columns = log_sample_weight[block.rows], log_sample_weight[block.columns]
            if (rows == rows[0]).all() and (columns == columns[0]).all():  # such as class weights
                rows, columns = rows[:1], columns[:1]
                shape: tuple[int, ...] = ()
            else:
                shape = (len(rows), len(columns))
            if block.log_weight is None:
                yield self._log_signal_weights(block) + np.add.outer(rows, columns)
            else:
                yield (block.log_weight + np.add.outer(rows, columns)).reshape(shape)

    def _log_signal_weights(self, block: _Rectangle) -> FloatArray:
        """Return the logarithms of ``2 Σ_m (z_im - z_jm)²`` for a block where they vary."""
        rows, columns = self.signal[block.rows], self.signal[block.columns]
        weights = np.zeros((len(rows), len(columns)))
        for a, b in zip(rows.T, columns.T, strict=True):
            difference = np.subtract.outer(a, b)
            difference *= difference
            weights += difference
        weights *= 2
        weights[:, : len(rows)] /= 2  # the square on the diagonal holds both orders
        with np.errstate(divide="ignore"):
            return np.log(weights, out=weights)

    def scatter(self, coefficients: Iterable[FloatArray]) -> FloatArray:
        """Return ``Σ p_rc (x_r - x_c)(x_r - x_c)'`` over all pairs, shape (K, K)."""
        near: list[FloatArray] = []  # their sum, if there are any

        def add_near(rows: FloatArray, columns: FloatArray, p: FloatArray) -> None:
            near[:] = [sum(near, _scattered(rows, columns, p))]

        half = self.features.T @ self._half_scatter(coefficients, add_near)
        total: FloatArray = half + half.T
        return sum(near, total)

    def scatter_entries(self, coefficients: Iterable[FloatArray], edges: Edges) -> KnownEntries:
        """Return the diagonal and some entries of `scatter`, in O(pairs K + N n) for n of them."""
        diagonal, entries = np.zeros(self.features.shape[1]), np.zeros(len(edges[0]))

        def add_near(rows: FloatArray, columns: FloatArray, p: FloatArray) -> None:
            for differences, weighted in _weighted_differences(rows, columns, p):
                np.add(diagonal, np.einsum("pk,pk->k", differences, weighted), out=diagonal)
                np.add(entries, paired_sums(differences, weighted, edges), out=entries)

        half = self._half_scatter(coefficients, add_near)
        diagonal += 2 * np.einsum("nk,nk->k", self.features, half)
        entries += paired_sums(self.features, half, edges)
        entries += paired_sums(half, self.features, edges)
        return KnownEntries(diagonal, entries, edges)

    def _half_scatter(
        self,
        coefficients: Iterable[FloatArray],
        add_near: Callable[[FloatArray, FloatArray, FloatArray], None],
    ) -> FloatArray:
        """Return Y, of shape (N, K), with ``X'Y + Y'X = scatter``: no K×K matrix is needed.

        Blocks of samples that are near each other, whose digits would cancel, are not part of it:
        `add_near` gets the rows, columns and coefficients of each.
        """
        # X' diag(d) X - X'PX - X'P'X, where P is the matrix of the coefficients.
        degrees = np.zeros(len(self.features))
        products = np.zeros_like(self.features)
        for block, p in zip(self._blocks(), coefficients, strict=True):
            rows, columns = self.features[block.rows], self.features[block.columns]
            of_rows, of_columns, product = p.sum(axis=1), p.sum(axis=0), p @ columns
            squares = of_rows @ rows**2 + of_columns @ columns**2
            if _cancel(squares, 2 * np.einsum("rk,rk->k", rows, product)).any():
                add_near(rows, columns, p)
                continue
            degrees[block.rows] += of_rows
            degrees[block.columns] += of_columns
            products[block.rows] += product
        half: FloatArray = self.features * (degrees / 2)[:, None] - products
        return half

    def squared_sizes(self, coefficients: Iterable[FloatArray]) -> FloatArray:
        """Return what the round-off of `scatter` is relative to (see `WeightedPairs`)."""
        degrees = np.zeros(len(self.features))
        for block, p in zip(self._blocks(), coefficients, strict=True):
            degrees[block.rows] += p.sum(axis=1)
            degrees[block.columns] += p.sum(axis=0)
        sizes: FloatArray = degrees @ self._squares
        return sizes

    @property
    def scatter_roundings(self) -> int:
        """How many roundings in a row an entry of `scatter` takes: two sums over the samples."""
        return 2 * len(self.features) + 16

    @property
    def weight_roundings(self) -> float:
        """By how many u a weight can be off, beside the round-off of its own logarithm."""
        # A sum of logarithms, each of which can be larger than the sum.
        largest = float(np.abs(np.log(self.sample_weight)).max())
        return int(self.signal.shape[1]) + 8 + 32 * largest

    def scatter_diagonal(
        self, coefficients: Iterable[FloatArray], coordinates: FloatArray | None = None
    ) -> FloatArray:
        """Return ``Σ p_rc (a_r - a_c)²``, shape (n,): the diagonal of `scatter` if a is X."""
        values = self.features if coordinates is None else coordinates
        diagonal = np.zeros(values.shape[1])
        for block, p in zip(self._blocks(), coefficients, strict=True):
            rows, columns = values[block.rows], values[block.columns]
            squares = p.sum(axis=1) @ rows**2 + p.sum(axis=0) @ columns**2
            products = 2 * np.einsum("rk,rk->k", rows, p @ columns)
            for k in np.flatnonzero(_cancel(squares, products)):
                differences = np.subtract.outer(rows[:, k], columns[:, k])
                squares[k], products[k] = np.vdot(p, differences**2), 0.0
            diagonal += squares
            diagonal -= products
        return diagonal

    def covariance(
        self, coefficients: Iterable[FloatArray], coordinates: FloatArray, means: FloatArray
    ) -> FloatArray:
        """Return ``Σ p_rc (φ_k - m_k)(φ_l - m_l)`` with ``φ_k = (a_r - a_c)_k²``, shape (n, n)."""
        values = np.ascontiguousarray(coordinates.T)
        size = len(values)
        total = np.zeros((size, size))
        for block, p in zip(self._blocks(), coefficients, strict=True):
            columns = values[:, block.columns]
            step = max(1, _MOMENT_ENTRIES // columns.size)
            for start in range(0, len(p), step):
                check_time()
                part = p[start : start + step]
                rows = values[:, block.rows][:, start : start + step]
                counts = part > _NEGLIGIBLE
                if counts.all():
                    centred = (rows[:, :, None] - columns[:, None, :]).reshape(size, -1)
                else:  # under a metric of large trace most pairs are far apart, with p about 0
                    r, c = np.nonzero(counts)
                    centred = rows[:, r] - columns[:, c]
                centred *= centred
                centred -= means[:, None]
                centred *= np.sqrt(part[counts])
                total += centred @ centred.T
        return total

    def scatter_column(self, coefficients: Iterable[FloatArray], column: int) -> FloatArray:
        """Return one column of `scatter`, shape (K,), in O(pairs + N K)."""
        feature = self.features[:, column]
        product = np.zeros(len(feature))  # graph Laplacian of the coefficients times the feature
        for block, p in zip(self._blocks(), coefficients, strict=True):
            rows, columns = feature[block.rows], feature[block.columns]
            product[block.rows] += p.sum(axis=1) * rows - p @ columns
            product[block.columns] += p.sum(axis=0) * columns - rows @ p
        result: FloatArray = product @ self.features
        return result

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
        for block, log_weight in zip(self._blocks(), self.log_weights(), strict=True):
            rows = np.arange(block.rows.start, block.rows.stop)
            columns = np.arange(block.columns.start, block.columns.stop)
            weight = np.broadcast_to(np.exp(log_weight), (len(rows), len(columns)))
            row, column = np.nonzero(weight)
            left.append(rows[row])
            right.append(columns[column])
            weights.append(weight[row, column])
        return np.concatenate(left), np.concatenate(right), np.concatenate(weights)

    def _blocks(self) -> Iterator[_Rectangle]:
        for block in self._rectangles:
            check_time()
            yield block


def _cancel(squares: FloatArray, products: FloatArray) -> npt.NDArray[np.bool_]:
    """Say which differences of sums of squares and of products have few digits left."""
    return np.abs(squares - products) < _FEW_DIGITS * np.abs(squares)


def _scattered(rows: FloatArray, columns: FloatArray, p: FloatArray) -> FloatArray:
    """Return ``Σ p_rc (x_r - x_c)(x_r - x_c)'`` of a block from the differences themselves."""
    size = rows.shape[1]
    total = np.zeros((size, size))
    step = max(1, _MOMENT_ENTRIES // columns.size)
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        differences = rows[part, None, :] - columns
        # A product for each row: as few roundings in a row as the sums over samples take.
        total += (differences.transpose(0, 2, 1) @ (differences * p[part, :, None])).sum(axis=0)
    return total


def _weighted_differences(
    rows: FloatArray, columns: FloatArray, p: FloatArray
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield the differences of the pairs of a block, and these times the coefficients."""
    size = rows.shape[1]
    step = max(1, _MOMENT_ENTRIES // columns.size)
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        differences = rows[part, None, :] - columns
        weighted = differences * p[part, :, None]
        yield differences.reshape(-1, size), weighted.reshape(-1, size)


def _outer_differences(block: _Rectangle, a: FloatArray, b: FloatArray) -> FloatArray:
    """Return ``(a_r - a_c)(b_r - b_c)`` for the pairs of a block."""
    product = np.subtract.outer(a[block.rows], a[block.columns])
    product *= np.subtract.outer(b[block.rows], b[block.columns])
    return product


def _chunks(rows: int, columns: int) -> Iterator[tuple[int, int]]:
    """Yield bounds of runs of rows, so that a run times `columns` stays small."""
    step = max(1, _BLOCK_ENTRIES // max(columns, 1))
    for start in range(0, rows, step):
        yield start, min(start + step, rows)


def _level_rectangles(levels: FloatArray, bounds: np.ndarray) -> Iterator[_Rectangle]:
    """Yield rectangles between each two levels of the signal."""
    for a in range(len(levels)):
        for b in range(a + 1, len(levels)):
            # hypot does not underflow where the squares would
            log_weight = math.log(2) + 2 * math.log(math.hypot(*(levels[a] - levels[b])))
            columns = slice(int(bounds[b]), int(bounds[b + 1]))
            first, last = int(bounds[a]), int(bounds[a + 1])
            for start, stop in _chunks(last - first, columns.stop - columns.start):
                yield _Rectangle(slice(first + start, first + stop), columns, log_weight)


def _triangle_rectangles(n_samples: int) -> Iterator[_Rectangle]:
    """Yield runs of rows against all samples from the run's first on."""
    for start, stop in _chunks(n_samples, n_samples):
        yield _Rectangle(slice(start, stop), slice(start, n_samples), None)
