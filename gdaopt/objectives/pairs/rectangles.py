"""Pairs of samples in rectangular blocks.

Sums over pairs of samples are never written out as N² differences. The pairs are split into
rectangles ``rows × columns`` of the centred samples, small enough to stay in the processor's cache,
and quadratic forms of the differences become products of matrices:

    Σ_f (a_r - a_c)(b_r - b_c) = a_r·b_r + a_c·b_c - 2 a_r·b_c      (A B' symmetric)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise, repeat
from typing import Self

import numpy as np
import numpy.typing as npt

from gdaopt.linalg.entries import Edges
from gdaopt.linalg.masked import MaskedMatrix, paired_sums
from gdaopt.objectives.pairs.blocks import Block, OuterChanges, runs, slices, tiles, triangle
from gdaopt.objectives.pairs.passes import Coefficients, Moments, TransformedSamples, less
from gdaopt.support.deadline import check_time
from gdaopt.support.validation import FloatArray, read_only

__all__ = ["MOST_LEVELS", "RectanglePairs"]

MOST_LEVELS = 16
"""With more levels, rectangles between them get too small to be worth their overhead."""

_MOMENT_ENTRIES = 2**18  # 2 MB: what a covariance is summed from at a time
_SPARSE = 0.25  # of the pairs of a block: with less that count, these are gathered
_VERY_SPARSE = 0.03  # with less, differences cost less than products of matrices
_FEW_DIGITS = 1e-5  # what is left of a sum of squares when most of it cancels
_LARGEST_SIZE = 1e6  # of a product of a sample: with larger ones the three terms lose digits
_CHUNK = 2**21  # pairs: a pass over a chunk takes long beside what it costs to begin one
_MOST_CHUNKS = 64
_NO_WEIGHT = np.zeros(())


class RectanglePairs:
    """The pairs of samples of some rectangles: a `Pairs`.

    Parameters
    ----------
    features : ndarray of shape (N, K)
        Samples.
    rectangles : sequence of Block
        Which rows and columns are paired, in blocks such as those of `tiling`.
    order : ndarray of int, shape (N,), optional
        The order in which the samples are kept, and to which the rectangles refer.
    orders : int, optional
        In how many orders the rectangles have each pair: 1 or 2.

    Attributes
    ----------
    features : ndarray of shape (N, K)
        The samples in that order, centred: differences stay, cancellation shrinks.
    n_pairs : int
        Number of pairs evaluated.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> pairs = RectanglePairs(X, [Block(slice(0, 1), slice(1, 3))])
    >>> [distances.tolist() for distances in pairs.products(X, X)]
    [[[1.0, 9.0]]]
    """

    def __init__(
        self,
        features: FloatArray,
        rectangles: Sequence[Block],
        order: npt.NDArray[np.intp] | None = None,
        orders: int = 1,
    ) -> None:
        offsets = features - features[0]  # first, so that a constant feature becomes 0 exactly
        centre = offsets.mean(axis=0)
        kept = slice(None) if order is None else order
        self.features = read_only(np.ascontiguousarray((offsets - centre)[kept]))
        # Of sums of sixteen and more roundings relative to X only four are relative to the centre.
        self._squares = (np.abs(self.features) + np.abs(centre) / 4) ** 2
        self._rectangles = rectangles
        self.orders = orders
        self.n_pairs = sum(map(_n_entries, rectangles))

    @classmethod
    def ordered(
        cls, features: FloatArray, order: npt.NDArray[np.intp] | None = None
    ) -> RectanglePairs:
        """Return all ordered pairs: the rows of the blocks are samples, each against all."""
        return cls(features, list(runs(len(features), len(features))), order, orders=2)

    @classmethod
    def by_class(cls, features: FloatArray, codes: npt.NDArray[np.intp]) -> RectanglePairs:
        """Return all pairs of samples of sorted classes; few blocks mix pairs of one and of two.

        Squares on the diagonal hold both orders of a pair, and samples with themselves.
        """
        bounds = np.flatnonzero(np.diff(codes, prepend=-1, append=codes[-1] + 1)).tolist()
        if len(bounds) - 1 > MOST_LEVELS:
            return cls(features, list(triangle(slice(0, len(features)))))
        rectangles: list[Block] = []
        for first, last in pairwise(bounds):
            rectangles += triangle(slice(first, last))
            if last < len(codes):
                rectangles += tiles(slice(first, last), slice(last, len(codes)))
        return cls(features, rectangles)

    def products(self, left: FloatArray, right: FloatArray) -> Iterator[FloatArray]:
        """Yield ``Σ_f (a_rf - a_cf)(b_rf - b_cf)`` for each rectangle (see `Pairs`)."""
        sizes = np.einsum("nf,nf->n", np.abs(left), np.abs(right))
        if left.shape[1] == 1 or sizes.max() > _LARGEST_SIZE:
            for block in self.blocks():
                products = map(_outer_differences, repeat(block), left.T, right.T)
                yield reduce(np.add, products)
            return
        # One product of matrices gives all three terms.
        n_samples, size = left.shape
        rows, columns = np.empty((2, n_samples, size + 2))
        rows[:, :size] = left
        rows[:, size] = columns[:, size + 1] = np.einsum("nf,nf->n", left, right)
        rows[:, size + 1] = columns[:, size] = 1.0
        np.multiply(right, -2, out=columns[:, :size])
        for block in self.blocks():
            yield rows[block.rows] @ columns[block.columns].T

    def scatter(self, coefficients: Iterable[FloatArray]) -> FloatArray:
        """Return ``Σ p_rc (x_r - x_c)(x_r - x_c)'`` over all pairs, shape (K, K)."""
        near: list[FloatArray] = []  # their sum, if there are any

        def add_near(rows: FloatArray, columns: FloatArray, p: FloatArray) -> None:
            near[:] = [sum(near, _scattered(rows, columns, p))]

        half = self.features.T @ self._half_scatter(coefficients, add_near)
        half += sum(near) / 2  # of products that BLAS does not round alike on both sides
        total: FloatArray = half + half.T
        return total

    def transformed(self, metric: FloatArray) -> TransformedSamples:
        """Return what the passes over all chunks at a metric share."""
        return TransformedSamples.of(self.features, metric)

    def log_weights(self) -> Iterator[FloatArray] | None:
        """Return None: all pairs have the weight 1."""
        return None

    @property
    def weight_roundings(self) -> float:
        """By how many u a weight can be off."""
        return 0.0

    def distances(self, samples: TransformedSamples) -> Iterator[FloatArray]:
        """Yield the squared distances of each rectangle, less the logarithms of the weights.

        Each array is overwritten by the next.
        """
        log_weights = self.log_weights() or repeat(_NO_WEIGHT)
        if samples.largest > _LARGEST_SIZE:
            distances = self.products(self.features @ samples.metric, self.features)
            yield from less(distances, log_weights)
            return
        for (block, out), log_weight in zip(self._stores(), log_weights, strict=False):
            rows = samples.rows[block.rows]
            if log_weight.ndim:
                np.matmul(rows, samples.columns[:, block.columns], out=out)
                yield np.subtract(out, log_weight, out=out)
            else:
                if log_weight:
                    rows = rows.copy()
                    rows[:, -2] -= log_weight  # where the columns are 1
                yield np.matmul(rows, samples.columns[:, block.columns], out=out)

    def _stores(self) -> Iterator[tuple[Block, FloatArray]]:
        """Yield the rectangles with an array for each, always in the same memory."""
        store = np.empty(max(map(_n_entries, self._rectangles)))
        for block in self.blocks():
            n_rows = block.rows.stop - block.rows.start
            yield block, store[: _n_entries(block)].reshape(n_rows, -1)

    def moments(self, coefficients: Coefficients, are_magnitudes: bool = False) -> Moments:
        """Return the sum, `scatter` and `squared_sizes` of coefficients, in one pass.

        In a chunk whose digits cancel the coefficients are computed twice.
        """
        size = self.features.shape[1]
        degrees, magnitudes = np.zeros((2, len(self.features)))
        products = np.zeros((size, size))
        total = 0.0
        for block, p in zip(self.blocks(), coefficients(), strict=True):
            products += self.features[block.rows].T @ (p @ self.features[block.columns])
            of_rows, of_columns = p @ np.ones(p.shape[1]), np.ones(len(p)) @ p
            total += float(of_rows.sum())
            degrees[block.rows] += of_rows
            degrees[block.columns] += of_columns
            if not are_magnitudes and p.min() < 0:
                np.abs(p, out=p)
                of_rows, of_columns = p @ np.ones(p.shape[1]), np.ones(len(p)) @ p
            magnitudes[block.rows] += of_rows
            magnitudes[block.columns] += of_columns
        sizes: FloatArray = magnitudes @ self._squares
        squares = self._weighted_squares(degrees)
        if _cancel(np.diagonal(squares), 2 * np.diagonal(products)).any():
            return Moments(total, self.scatter(coefficients()), sizes)
        half = squares / 2 - products
        return Moments(total, half + half.T, sizes)

    def _weighted_squares(self, weights: FloatArray) -> FloatArray:
        """Return ``Σ_n w_n x_n x_n'``, shape (K, K)."""
        size = self.features.shape[1]
        total = np.zeros((size, size))
        for samples in slices(len(weights)):
            of_samples = weights[samples]
            if of_samples.any():
                part = self.features[samples]
                total += part.T @ (part * of_samples[:, None])
        return total

    def chunks(self) -> Sequence[Self]:
        """Return the pairs in chunks of about the same size, in order."""
        n_chunks = min(max(1, self.n_pairs // _CHUNK), _MOST_CHUNKS, len(self._rectangles))
        ends = np.cumsum([_n_entries(block) for block in self._rectangles])
        shares = np.arange(1, n_chunks) * (self.n_pairs / n_chunks)
        bounds = [0, *np.searchsorted(ends, shares).tolist(), len(ends)]
        return [
            self._chosen(range(first, last)) for first, last in pairwise(bounds) if first < last
        ]

    def _chosen(self, places: Sequence[int]) -> Self:
        """Return the pairs of some of the rectangles."""
        found = copy(self)
        found._rectangles = [self._rectangles[place] for place in places]
        found.n_pairs = sum(map(_n_entries, found._rectangles))
        return found

    def scatter_entries(self, coefficients: Iterable[FloatArray], edges: Edges) -> MaskedMatrix:
        """Return the diagonal and some entries of `scatter`, in O(pairs K + N n) for n of them."""
        diagonal, entries = np.zeros(self.features.shape[1]), np.zeros(len(edges[0]))

        def add_near(rows: FloatArray, columns: FloatArray, p: FloatArray) -> None:
            factors = _factors_about_the_mean(rows, columns, p)
            exact = _weighted_differences(rows, columns, p)
            for left, right in exact if factors is None else factors:
                np.add(diagonal, np.einsum("pk,pk->k", left, right), out=diagonal)
                np.add(entries, paired_sums(left, right, edges), out=entries)

        half = self._half_scatter(coefficients, add_near)
        diagonal += 2 * np.einsum("nk,nk->k", self.features, half)
        entries += paired_sums(self.features, half, edges)
        entries += paired_sums(half, self.features, edges)
        return MaskedMatrix(diagonal, entries, edges)

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
        for block, p in zip(self.blocks(), coefficients, strict=True):
            rows, columns = self.features[block.rows], self.features[block.columns]
            sums = _sums(columns, p)
            if sums.lose_digits(rows, columns, p):
                add_near(rows, columns, p)
                continue
            degrees[block.rows] += sums.of_rows
            degrees[block.columns] += sums.of_columns
            products[block.rows] += sums.product
        half: FloatArray = self.features * (degrees / 2)[:, None] - products
        return half

    def squared_sizes(self, coefficients: Iterable[FloatArray]) -> FloatArray:
        """Return what the round-off of `scatter` is relative to (see `Pairs`)."""
        degrees = np.zeros(len(self.features))
        for block, p in zip(self.blocks(), coefficients, strict=True):
            degrees[block.rows] += p.sum(axis=1)
            degrees[block.columns] += p.sum(axis=0)
        sizes: FloatArray = degrees @ self._squares
        return sizes

    @property
    def scatter_roundings(self) -> int:
        """The error-growth factor of an entry of `scatter`: two sums over the samples."""
        return 2 * len(self.features) + 16

    def scatter_diagonal(
        self, coefficients: Iterable[FloatArray], coordinates: FloatArray | None = None
    ) -> FloatArray:
        """Return ``Σ p_rc (a_r - a_c)²``, shape (n,): the diagonal of `scatter` if a is X."""
        values = self.features if coordinates is None else coordinates
        diagonal = np.zeros(values.shape[1])
        for block, p in zip(self.blocks(), coefficients, strict=True):
            rows, columns = values[block.rows], values[block.columns]
            if np.count_nonzero(p) < _VERY_SPARSE * p.size:
                row, column = np.nonzero(p)
                diagonal += p[row, column] @ (rows[row] - columns[column]) ** 2
                continue
            squares = p.sum(axis=1) @ rows**2 + p.sum(axis=0) @ columns**2
            products = 2 * np.einsum("rk,rk->k", rows, p @ columns)
            cancel = np.flatnonzero(_cancel(squares, products))
            if len(cancel):
                row, column = np.nonzero(p)
                counts = p[row, column]
            for k in cancel:
                squares[k], products[k] = counts @ (rows[row, k] - columns[column, k]) ** 2, 0.0
            diagonal += squares
            diagonal -= products
        return diagonal

    def scatter_column(self, coefficients: Iterable[FloatArray], column: int) -> FloatArray:
        """Return one column of `scatter`, shape (K,), in O(pairs + N K)."""
        feature = self.features[:, column]
        product = np.zeros(len(feature))  # graph Laplacian of the coefficients times the feature
        for block, p in zip(self.blocks(), coefficients, strict=True):
            rows, columns = feature[block.rows], feature[block.columns]
            product[block.rows] += p.sum(axis=1) * rows - p @ columns
            product[block.columns] += p.sum(axis=0) * columns - rows @ p
        result: FloatArray = product @ self.features
        return result

    def blocks(self) -> Iterator[Block]:
        """Yield the rectangles, as long as there is time."""
        for block in self._rectangles:
            check_time()
            yield block

    def parts(self, block: Block, n_values: int) -> Iterator[tuple[Block, slice]]:
        """Yield runs of rows of a block (see `Pairs`)."""
        rows, columns = block.rows, block.columns
        step = max(1, _MOMENT_ENTRIES // (n_values * (columns.stop - columns.start)))
        for start in range(0, rows.stop - rows.start, step):
            stop = min(rows.start + start + step, rows.stop)
            check_time()
            yield Block(slice(rows.start + start, stop), columns), slice(start, start + step)

    def changes(self, block: Block, values: FloatArray) -> OuterChanges:
        """Return ``(a_r - a_c)²`` for the pairs of a block (see `Pairs`)."""
        return OuterChanges(values[:, block.rows], values[:, block.columns])


def _n_entries(block: Block) -> int:
    """Return how many pairs a block has."""
    rows, columns = block.rows, block.columns
    return int(rows.stop - rows.start) * int(columns.stop - columns.start)


def _cancel(squares: FloatArray, products: FloatArray) -> npt.NDArray[np.bool_]:
    """Say which differences of sums of squares and of products have few digits left."""
    return np.abs(squares - products) < _FEW_DIGITS * np.abs(squares)


@dataclass(frozen=True, eq=False)
class _Sums:
    """What the scatter of a block is made of.

    Attributes
    ----------
    of_rows, of_columns : ndarray of shape (R,) and (C,)
        The sums of the coefficients.
    product : ndarray of shape (R, K)
        ``Σ_c p_rc x_c``.
    """

    of_rows: FloatArray
    of_columns: FloatArray
    product: FloatArray

    def lose_digits(self, rows: FloatArray, columns: FloatArray, p: FloatArray) -> bool:
        """Say whether samples are so near each other that a feature's squares cancel.

        Where coefficients have both signs, sums of differences are small at a minimum, too, without
        loss of digits. So the magnitudes of the coefficients decide.
        """
        squares = self.of_rows @ rows**2 + self.of_columns @ columns**2
        if not _cancel(squares, 2 * np.einsum("rk,rk->k", rows, self.product)).any():
            return False
        if p.min() >= 0:
            return True
        magnitudes = np.abs(p)
        return _sums(columns, magnitudes).lose_digits(rows, columns, magnitudes)


def _sums(columns: FloatArray, p: FloatArray) -> _Sums:
    """Return the sums of a block."""
    return _Sums(p.sum(axis=1), p.sum(axis=0), p @ columns)


def _factors_about_the_mean(
    rows: FloatArray, columns: FloatArray, p: FloatArray
) -> list[tuple[FloatArray, FloatArray]] | None:
    """Return matrices with ``Σ A'B = Σ p_rc (x_r - x_c)(x_r - x_c)'``; None where digits cancel.

    Samples less a vector have the same differences. Less the mean of the block, a feature that is
    the same in all of them is 0, and of the others the digits cancel less often.
    """
    rows, columns = rows - rows[0], columns - rows[0]  # exactly 0 where all are the same
    mean = (rows.sum(axis=0) + columns.sum(axis=0)) / (len(rows) + len(columns))
    rows, columns = rows - mean, columns - mean
    sums = _sums(columns, p)
    if sums.lose_digits(rows, columns, p):
        return None
    return [
        (rows, rows * sums.of_rows[:, None] - sums.product),
        (columns, columns * sums.of_columns[:, None] - p.T @ rows),
    ]


def _scattered(rows: FloatArray, columns: FloatArray, p: FloatArray) -> FloatArray:
    """Return ``Σ p_rc (x_r - x_c)(x_r - x_c)'`` of a block whose samples are near each other."""
    factors = _factors_about_the_mean(rows, columns, p)
    if factors is not None:
        return np.add(*(left.T @ right for left, right in factors))
    size = rows.shape[1]
    total = np.zeros((size, size))
    if np.count_nonzero(p) < _SPARSE * p.size:
        row, column = np.nonzero(p)
        for start in range(0, len(row), len(columns)):
            part = slice(start, start + len(columns))
            differences = rows[row[part]] - columns[column[part]]
            total += differences.T @ (differences * p[row[part], column[part], None])
        return total
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


def _outer_differences(block: Block, a: FloatArray, b: FloatArray) -> FloatArray:
    """Return ``(a_r - a_c)(b_r - b_c)`` for the pairs of a block."""
    product = np.subtract.outer(a[block.rows], a[block.columns])
    product *= np.subtract.outer(b[block.rows], b[block.columns])
    return product
