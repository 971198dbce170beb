"""Pairs of samples in rectangular blocks: quadratic forms are products of matrices.

``Σ_f (a_r - a_c)(b_r - b_c) = a_r·b_r + a_c·b_c - 2 a_r·b_c`` where A B' is symmetric.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import Self

import numpy as np
import numpy.typing as npt

from gdaopt.linalg.samples import paired_sums
from gdaopt.objectives.pairs.base import Indices, Pairs, less
from gdaopt.objectives.pairs.passes import (
    Block,
    TransformedSamples,
    classes_of,
    runs,
    tiles,
    triangle,
)
from gdaopt.support.deadline import check_time
from gdaopt.support.validation import FloatArray

MOST_LEVELS = 16
"""With more levels, rectangles between them get too small to be worth their overhead."""

_MOMENT_ENTRIES = 2**18  # 2 MB: what a covariance is summed from at a time
_VERY_SPARSE = 0.03  # with less, differences cost less than products of matrices
_FEW_DIGITS = 1e-5  # the share of a sum of squares that remains when most of it cancels
_CHUNK = 2**21  # pairs: a pass over a chunk takes much longer than to begin one
_MOST_CHUNKS = 64


class RectanglePairs(Pairs):
    """The pairs of samples of some rectangles, each pair in one order or in two."""

    def __init__(
        self,
        features: FloatArray,
        rectangles: Sequence[Block],
        order: Indices | None = None,
        orders: int = 1,
    ) -> None:
        super().__init__(features, order)
        self._rectangles = rectangles
        self.orders = orders
        self.n_pairs = sum(map(_n_entries, rectangles))

    @classmethod
    def ordered(cls, features: FloatArray, order: Indices | None = None) -> RectanglePairs:
        """Return all ordered pairs: the rows of the blocks are samples, each against all."""
        return cls(features, list(runs(features.shape[0], features.shape[0])), order, orders=2)

    @classmethod
    def by_class(cls, features: FloatArray, codes: Indices) -> RectanglePairs:
        """Return all pairs of samples of sorted classes; few blocks mix pairs of one and of two."""
        members = classes_of(codes)
        if len(members) > MOST_LEVELS:
            return cls(features, list(triangle(slice(0, features.shape[0]))))
        rectangles: list[Block] = []
        for samples in members:
            rectangles += triangle(samples)
            if samples.stop < len(codes):
                rectangles += tiles(samples, slice(samples.stop, len(codes)))
        return cls(features, rectangles)

    def blocks(self) -> Iterator[Block]:
        for block in self._rectangles:
            check_time()
            yield block

    def samples(self, block: Block) -> tuple[Indices, Indices]:
        rows, columns = (np.arange(side.start, side.stop) for side in (block.rows, block.columns))
        return rows[:, None], columns[None]

    def parts(self, block: Block, n_values: int) -> Iterator[tuple[Block, slice]]:
        rows, columns = block.rows, block.columns
        step = max(1, _MOMENT_ENTRIES // (n_values * (columns.stop - columns.start)))
        for start in range(0, rows.stop - rows.start, step):
            stop = min(rows.start + start + step, rows.stop)
            check_time()
            yield Block(slice(rows.start + start, stop), columns), slice(start, start + step)

    def chunks(self) -> Sequence[Self]:
        n_chunks = min(max(1, self.n_pairs // _CHUNK), _MOST_CHUNKS, len(self._rectangles))
        ends = np.cumsum([_n_entries(block) for block in self._rectangles])
        shares = np.arange(1, n_chunks) * (self.n_pairs / n_chunks)
        bounds = [0, *np.searchsorted(ends, shares).tolist(), len(ends)]
        return [
            self._chosen(range(first, last)) for first, last in pairwise(bounds) if first < last
        ]

    def _chosen(self, places: Sequence[int]) -> Self:
        found = copy(self)
        found._rectangles = [self._rectangles[place] for place in places]
        found.n_pairs = sum(map(_n_entries, found._rectangles))
        return found

    def products(self, left: FloatArray, right: FloatArray) -> Iterator[FloatArray]:
        samples = TransformedSamples.of(left, right)
        if samples.cancel or left.shape[1] == 1:
            yield from self._exact_products(samples)
            return
        # One product of matrices gives all three terms.
        for block in self.blocks():
            yield samples.rows[block.rows] @ samples.columns[:, block.columns]

    def _exact_products(self, samples: TransformedSamples) -> Iterator[FloatArray]:
        for block in self.blocks():
            products = (
                np.subtract.outer(a[block.rows], a[block.columns])
                * np.subtract.outer(b[block.rows], b[block.columns])
                for a, b in zip(samples.left.T, samples.right.T, strict=True)
            )
            yield reduce(np.add, products)

    def distances(self, samples: TransformedSamples) -> Iterator[FloatArray]:
        log_weights = self.log_weights()
        if samples.cancel:
            yield from less(self._exact_products(samples), log_weights)
            return
        store = np.empty(max(map(_n_entries, self._rectangles)))
        for block in self.blocks():
            rows, columns = samples.rows[block.rows], samples.columns[:, block.columns]
            out = store[: _n_entries(block)].reshape(len(rows), -1)
            log_weight = next(log_weights) if log_weights else None
            if log_weight is not None and not log_weight.ndim:
                rows = rows.copy()
                rows[:, -2] -= log_weight  # where the columns are 1
            np.matmul(rows, columns, out=out)
            if log_weight is not None and log_weight.ndim:
                out -= log_weight
            yield out

    def scatter(
        self, coefficients: Iterable[FloatArray], degrees: FloatArray | None = None
    ) -> FloatArray:
        near = np.zeros((self.features.shape[1], self.features.shape[1]))

        def add_near(left: FloatArray, right: FloatArray) -> None:
            np.add(near, left.T @ right, out=near)

        half: FloatArray = self.features.T @ self._half_scatter(coefficients, add_near, degrees)
        half += near / 2  # of products that BLAS does not round alike on both sides
        return half + half.T

    def scatter_entries(
        self, coefficients: Iterable[FloatArray], rows: Indices, columns: Indices
    ) -> FloatArray:
        used, place = np.unique(columns, return_inverse=True)
        if 2 * len(used) < self.features.shape[1]:
            products = self._laplacian_products(coefficients, self.features[:, used])
            return paired_sums(self.features, products, (rows, place))
        entries = np.zeros(len(rows))

        def add_near(left: FloatArray, right: FloatArray) -> None:
            np.add(entries, paired_sums(left, right, (rows, columns)), out=entries)

        half = self._half_scatter(coefficients, add_near)
        entries += paired_sums(self.features, half, (rows, columns))
        entries += paired_sums(half, self.features, (rows, columns))
        return entries

    def _half_scatter(
        self,
        coefficients: Iterable[FloatArray],
        add_near: Callable[[FloatArray, FloatArray], None],
        all_degrees: FloatArray | None = None,
    ) -> FloatArray:
        """Return Y, of shape (N, K), with ``X'Y + Y'X = scatter``: no K×K matrix is needed.

        Of blocks whose digits would cancel `add_near` gets matrices, whose ``A'B`` add up to them.
        """
        # X' diag(d) X - X'PX - X'P'X, where P is the matrix of the coefficients.
        degrees = np.zeros(self.features.shape[0])
        products = np.zeros_like(self.features)
        for block, p in zip(self.blocks(), coefficients, strict=True):
            rows, columns = self.features[block.rows], self.features[block.columns]
            sums = _sums(columns, p)
            if all_degrees is not None:
                all_degrees[block.rows] += sums.of_rows
                all_degrees[block.columns] += sums.of_columns
            if sums.lose_digits(rows, columns, p):
                for factors in _near_factors(rows, columns, p):
                    add_near(*factors)
                continue
            degrees[block.rows] += sums.of_rows
            degrees[block.columns] += sums.of_columns
            products[block.rows] += sums.product
        half: FloatArray = self.features * (degrees / 2)[:, None] - products
        return half

    def _subtract(self, weights: FloatArray, block: Block, p: FloatArray) -> None:
        weights[block.rows, block.columns] -= p

    def add_degrees(self, degrees: FloatArray, block: Block, p: FloatArray) -> None:
        of_rows, of_columns = _margins(p)
        degrees[block.rows] += of_rows
        degrees[block.columns] += of_columns

    @property
    def longest_sum(self) -> int:
        # Two sums over the samples, and in coefficients of ordered pairs there may be a third.
        return (1 + self.orders) * int(self.features.shape[0])

    def squared_sums(self, coefficients: Iterable[FloatArray], values: FloatArray) -> FloatArray:
        diagonal = np.zeros(values.shape[1])
        for block, p in zip(self.blocks(), coefficients, strict=True):
            rows, columns = values[block.rows], values[block.columns]
            if np.count_nonzero(p != 0) < _VERY_SPARSE * p.size:  # of booleans it is quick
                row, column = _places(p)
                diagonal += p[row, column] @ (rows[row] - columns[column]) ** 2
                continue
            of_rows, of_columns = _margins(p)
            squares = of_rows @ rows**2 + of_columns @ columns**2
            products = 2 * np.einsum("rk,rk->k", rows, p @ columns)
            cancel = _cancel(squares, products)
            if np.count_nonzero(cancel):
                row, column = _places(p)
                for k in np.flatnonzero(cancel):
                    differences = rows[row, k] - columns[column, k]
                    squares[k], products[k] = p[row, column] @ differences**2, 0.0
            diagonal += squares
            diagonal -= products
        return diagonal

    def _laplacian_products(
        self, coefficients: Iterable[FloatArray], values: FloatArray
    ) -> FloatArray:
        """Return the Laplacian of the coefficients times values of samples, shape (N, n)."""
        products = np.zeros_like(values)
        for block, p in zip(self.blocks(), coefficients, strict=True):
            rows, columns = values[block.rows], values[block.columns]
            of_rows, of_columns = _margins(p)
            products[block.rows] += of_rows[:, None] * rows - p @ columns
            products[block.columns] += of_columns[:, None] * columns - p.T @ rows
        return products


def _n_entries(block: Block) -> int:
    rows, columns = block.rows, block.columns
    return int(rows.stop - rows.start) * int(columns.stop - columns.start)


def _margins(p: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the sums of rows and of columns, by BLAS, which is quicker than `numpy.sum`."""
    return p @ np.ones(p.shape[1]), np.ones(len(p)) @ p


def _places(p: FloatArray) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return rows and columns of the entries that are not 0, faster than `numpy.nonzero`."""
    row, column = np.divmod(np.flatnonzero(p != 0), p.shape[1])
    return row, column


def _cancel(squares: FloatArray, products: FloatArray) -> npt.NDArray[np.bool_]:
    """Say which differences of sums of squares and of products have few digits left."""
    return np.abs(squares - products) < _FEW_DIGITS * np.abs(squares)


@dataclass(frozen=True, eq=False)
class _Sums:
    """Sums of the coefficients of a block, and ``Σ_c p_rc x_c``: its scatter is made of them."""

    of_rows: FloatArray
    of_columns: FloatArray
    product: FloatArray

    def lose_digits(self, rows: FloatArray, columns: FloatArray, p: FloatArray) -> bool:
        """Say whether a feature's squares cancel, by the magnitudes of the coefficients."""
        squares = self.of_rows @ rows**2 + self.of_columns @ columns**2
        if not _cancel(squares, 2 * np.einsum("rk,rk->k", rows, self.product)).any():
            return False
        if p.min() >= 0:
            return True
        magnitudes = np.abs(p)
        return _sums(columns, magnitudes).lose_digits(rows, columns, magnitudes)


def _sums(columns: FloatArray, p: FloatArray) -> _Sums:
    return _Sums(*_margins(p), p @ columns)


def _near_factors(
    rows: FloatArray, columns: FloatArray, p: FloatArray
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield A and B with ``Σ A'B = Σ p_rc (x_r - x_c)(x_r - x_c)'`` for samples near each other.

    Less the mean of the block, digits cancel less often; else the differences are written out.
    """
    rows, columns = rows - rows[0], columns - rows[0]  # exactly 0 where all are the same
    mean = (rows.sum(axis=0) + columns.sum(axis=0)) / (len(rows) + len(columns))
    rows, columns = rows - mean, columns - mean
    sums = _sums(columns, p)
    if not sums.lose_digits(rows, columns, p):
        yield rows, rows * sums.of_rows[:, None] - sums.product
        yield columns, columns * sums.of_columns[:, None] - p.T @ rows
        return
    row, column = _places(p)
    # As many pairs at a time as there are columns: sums over samples have as many roundings.
    for start in range(0, len(row), len(columns)):
        r, c = row[start : start + len(columns)], column[start : start + len(columns)]
        differences = rows[r] - columns[c]
        yield differences, differences * p[r, c, None]
