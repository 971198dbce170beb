"""Passes over all pairs of samples, tile by tile, and numbers of all pairs.

A tile and its temporaries are to stay in the processor's cache. If there are too many pairs to
keep their numbers, one pass finds all that a value and a gradient need: the pairs are split into
chunks, which threads or other machines compute at the same time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from gdaopt.support.validation import FloatArray, read_only

_TILE_ENTRIES = 2**17  # 1 MB of float64: a tile stays in cache
_TILE_COLUMNS = 1000  # a power of two would put all rows into the same few places of the cache
_FEWEST_ROWS = 32  # whole rows, be they long


@dataclass(frozen=True)
class Tile:
    """A rectangle ``rows × columns`` of pairs, or `rows` of a list of them and no columns."""

    rows: slice
    columns: slice = field(default_factory=lambda: slice(0, 0))

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and of columns."""
        return self.rows.stop - self.rows.start, self.columns.stop - self.columns.start


def classes_of(codes: npt.NDArray[np.intp]) -> list[slice]:
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


MOST_KEPT = 2**22
"""With more pairs, the logarithms of their weights are computed in each pass."""

ONE = np.zeros(())
"""The logarithm of a weight of 1."""


@dataclass(eq=False)
class PairValues:
    """One array for each tile of pairs: kept after the first pass, or computed in each."""

    tiles: Callable[[], Iterator[FloatArray]] | list[FloatArray]
    is_kept: bool

    def __iter__(self) -> Iterator[FloatArray]:
        if not isinstance(self.tiles, list):
            if not self.is_kept:
                return self.tiles()
            # The callable is let go: it often refers back to its owner, and such a cycle would hold
            # the arrays until the garbage collector comes by.
            self.tiles = list(map(read_only, self.tiles()))
        return iter(self.tiles)


MANY_PAIRS = 2**17
"""With more pairs, an evaluation is one pass, and second derivatives come from a subsample."""

_LARGEST_SIZE = 1e6  # with a larger product of a sample the three terms lose digits


@dataclass(frozen=True, eq=False)
class Factors:
    """Factors a and b of samples, and matrices whose product is ``Σ_f (a_rf - a_cf)(b_rf - b_cf)``.

    Either F is 1, or ``a @ b.T`` is symmetric. The matrices have ``-2a``, ``a·b`` and 1 of a sample
    in a row, and ``b``, 1 and ``a·b`` in a column. There are none if F is 1, or if large terms
    would cancel.
    """

    left: FloatArray
    right: FloatArray
    matrices: tuple[FloatArray, FloatArray] | None

    @classmethod
    def of(cls, left: FloatArray, right: FloatArray) -> Factors:
        """Return the matrices of two factors of shape (N, F)."""
        n_samples, size = left.shape
        if size == 1:
            return cls(left, right, None)
        rows, of_columns = np.empty((2, n_samples, size + 2))
        columns = of_columns.T  # BLAS takes samples in rows on both sides
        columns[:size], columns[size], rows[:, size + 1] = right.T, 1.0, 1.0
        largest = 0.0
        for start in range(0, n_samples, _TILE_COLUMNS):  # rows of features stay in cache
            part = slice(start, start + _TILE_COLUMNS)
            a, b = left[part], right[part]
            rows[part, size] = columns[size + 1, part] = np.einsum("nf,nf->n", a, b)
            np.multiply(a, -2, out=rows[part, :size])
            sizes = np.einsum("nf,nf->n", np.abs(a), np.abs(b))
            largest = max(largest, float(sizes.max()))
        return cls(left, right, None if largest > _LARGEST_SIZE else (rows, columns))
