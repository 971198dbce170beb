"""Pairs of samples in rectangular tiles: quadratic forms are products of matrices.

``Σ_f (a_r - a_c)(b_r - b_c) = a_r·b_r + a_c·b_c - 2 a_r·b_c`` if A B' is symmetric.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from itertools import pairwise

import numpy as np

from gdaopt.linalg.entries import IndexArray
from gdaopt.linalg.samples import Samples
from gdaopt.objectives.pairs.pairs import Factors, Pairs, Tile
from gdaopt.objectives.pairs.scatter import Scatter
from gdaopt.support.validation import FloatArray

MOST_LEVELS = 16
"""With more levels, rectangles between them get too small to be worth their overhead."""

_TILE_ENTRIES = 2**17  # 1 MB of float64: a tile and its temporaries stay in cache
_TILE_COLUMNS = 1000  # a power of two would put all rows into the same few places of the cache
_FEWEST_ROWS = 32  # whole rows, be they long
_FEW_DIGITS = 1e-5  # the share of a sum of squares that remains when most of it cancels


def classes_of(codes: IndexArray) -> list[slice]:
    """Return the samples of each class; the codes of the classes ascend."""
    bounds = np.flatnonzero(np.diff(codes, prepend=-1, append=codes[-1] + 1)).tolist()
    return list(map(slice, bounds[:-1], bounds[1:]))


def own_classes(tile: Tile, classes: list[slice]) -> Iterator[tuple[slice, slice]]:
    """Yield rows of a tile, from 0 on, and the columns of their class."""
    first, last = tile.rows.start, tile.rows.stop
    for members in classes:
        if members.start < last and members.stop > first:
            yield slice(max(members.start - first, 0), min(last, members.stop) - first), members


def split_rectangle(rows: slice, columns: slice) -> Iterator[Tile]:
    """Yield tiles that have all pairs of some rows and columns once, columns by columns."""
    width = columns.stop - columns.start
    most = max(_TILE_COLUMNS, _TILE_ENTRIES // (rows.stop - rows.start))
    n_parts = -(-width // most)
    bounds = (columns.start + width * np.arange(n_parts + 1) // n_parts).tolist()
    step = max(1, _TILE_ENTRIES // -(-width // n_parts))
    for first, last in pairwise(bounds):
        for start in range(rows.start, rows.stop, step):
            yield Tile(slice(start, min(start + step, rows.stop)), slice(first, last))


def triangle(samples: slice) -> Iterator[Tile]:
    """Yield tiles of all pairs of some samples; those on the diagonal have both orders."""
    step = max(1, _TILE_ENTRIES // min(samples.stop - samples.start, _TILE_COLUMNS))
    for start in range(samples.start, samples.stop, step):
        rows = slice(start, min(start + step, samples.stop))
        yield from split_rectangle(rows, slice(start, samples.stop))


def runs(n_rows: int, n_columns: int) -> Iterator[Tile]:
    """Yield tiles of whole rows."""
    step = max(_FEWEST_ROWS, _TILE_ENTRIES // n_columns)
    for start in range(0, n_rows, step):
        yield Tile(slice(start, min(start + step, n_rows)), slice(0, n_columns))


class RectanglePairs(Pairs):
    """The pairs of samples of some rectangles, each pair in one order or in two."""

    @classmethod
    def ordered(cls, features: Samples, order: IndexArray | None = None) -> RectanglePairs:
        """Return all ordered pairs: the rows of the tiles are samples, each against all."""
        tiles = list(runs(features.shape[0], features.shape[0]))
        return cls(features, tiles, order=order, orders=2)

    @classmethod
    def by_class(cls, features: Samples, codes: IndexArray) -> RectanglePairs:
        """Return all pairs of samples of sorted classes; few tiles mix pairs of one and of two."""
        members = classes_of(codes)
        if len(members) > MOST_LEVELS:
            return cls(features, list(triangle(slice(0, features.shape[0]))))
        rectangles: list[Tile] = []
        for samples in members:
            rectangles += triangle(samples)
            if samples.stop < len(codes):
                rectangles += split_rectangle(samples, slice(samples.stop, len(codes)))
        return cls(features, rectangles)

    def samples(self, tile: Tile) -> tuple[IndexArray, IndexArray]:
        rows, columns = tile
        left, right = np.arange(rows.start, rows.stop), np.arange(columns.start, columns.stop)
        return left[:, None], right[None]

    def products(self, factors: Factors) -> Iterator[FloatArray]:
        for tile in self.tiles:
            if factors.matrices is None:
                yield _exact_products(factors, tile)
            else:  # one product of matrices gives all three terms
                rows, columns = factors.matrices
                yield rows[tile.rows] @ columns[:, tile.columns]

    def scatter(
        self, coefficients: Iterable[FloatArray], degrees: FloatArray | None = None
    ) -> Scatter:
        # X' diag(d) X - X'PX - X'P'X, where P is the matrix of the coefficients.
        n_samples, size = self.features.shape
        counted, half, rest = np.zeros(n_samples), np.zeros((n_samples, size)), None
        for tile, p in zip(self.tiles, coefficients, strict=True):
            rows, columns = self.features[tile.rows], self.features[tile.columns]
            margins, product = _margins(p), p @ columns
            if degrees is not None:
                degrees[tile.rows] += margins[0]
                degrees[tile.columns] += margins[1]
            if _lose_digits(rows, columns, p, margins, product):
                if rest is None:
                    rest = np.zeros((size, size))
                for left, right in _near_factors(rows, columns, p):
                    rest += left.T @ right
                continue
            counted[tile.rows] += margins[0]
            counted[tile.columns] += margins[1]
            half[tile.rows] -= product
        half += self.features * (counted / 2)[:, None]
        return Scatter(self.features, half, None if rest is None else (rest + rest.T) / 2)

    def _subtract(self, weights: FloatArray, tile: Tile, p: FloatArray) -> None:
        weights[tile.rows, tile.columns] -= p

    def add_degrees(self, degrees: FloatArray, tile: Tile, p: FloatArray) -> None:
        of_rows, of_columns = _margins(p)
        degrees[tile.rows] += of_rows
        degrees[tile.columns] += of_columns

    @property
    def longest_sum(self) -> int:
        # Two sums over the samples, and in coefficients of ordered pairs there may be a third.
        return (1 + self.orders) * int(self.features.shape[0])


def _exact_products(factors: Factors, tile: Tile) -> FloatArray:
    """Return the products of the differences of a tile, feature by feature."""
    products = (
        np.subtract.outer(a[tile.rows], a[tile.columns])
        * np.subtract.outer(b[tile.rows], b[tile.columns])
        for a, b in zip(factors.left.T, factors.right.T, strict=True)
    )
    return np.asarray(reduce(np.add, products))


def _margins(p: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the sums of rows and of columns, by BLAS, which is quicker than `numpy.sum`."""
    return p @ np.ones(p.shape[1]), np.ones(len(p)) @ p


def _places(p: FloatArray) -> tuple[IndexArray, IndexArray]:
    """Return rows and columns of the entries that are not 0, faster than `numpy.nonzero`."""
    row, column = np.divmod(np.flatnonzero(p != 0), p.shape[1])
    return row, column


def _lose_digits(
    rows: FloatArray,
    columns: FloatArray,
    p: FloatArray,
    margins: tuple[FloatArray, FloatArray],
    product: FloatArray,
) -> bool:
    """Say whether a feature's squares cancel, by the magnitudes of the coefficients.

    The product is ``Σ_c p_rc x_c``.
    """
    squares = margins[0] @ rows**2 + margins[1] @ columns**2
    left = squares - 2 * np.einsum("rk,rk->k", rows, product)
    if not (np.abs(left) < _FEW_DIGITS * np.abs(squares)).any():
        return False
    if p.min() >= 0:
        return True
    p = np.abs(p)
    return _lose_digits(rows, columns, p, _margins(p), p @ columns)


def _near_factors(
    rows: FloatArray, columns: FloatArray, p: FloatArray
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield A and B with ``Σ A'B = Σ p_rc (x_r - x_c)(x_r - x_c)'`` for samples near each other.

    Less the mean of the tile, digits cancel less often; else the differences are written out.
    """
    rows, columns = rows - rows[0], columns - rows[0]  # exactly 0 if all are the same
    mean = (rows.sum(axis=0) + columns.sum(axis=0)) / (len(rows) + len(columns))
    rows, columns = rows - mean, columns - mean
    margins, product = _margins(p), p @ columns
    if not _lose_digits(rows, columns, p, margins, product):
        yield rows, rows * margins[0][:, None] - product
        yield columns, columns * margins[1][:, None] - p.T @ rows
        return
    row, column = _places(p)
    # As many pairs at a time as there are columns: sums over samples have as many roundings.
    for start in range(0, len(row), len(columns)):
        r, c = row[start : start + len(columns)], column[start : start + len(columns)]
        differences = rows[r] - columns[c]
        yield differences, differences * p[r, c, None]
