"""Blocks of pairs, and how rectangles are split into them.

A block and its temporaries are to stay in the processor's cache. It should not have few rows:
products of matrices would spend most of their time on moving the columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Block:
    """A part of the pairs of samples: a rectangle ``rows × columns``.

    Of a list of pairs, `rows` are entries of the list, and `columns` is empty.
    """

    rows: slice
    columns: slice = field(default_factory=lambda: slice(0, 0))

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and of columns."""
        return self.rows.stop - self.rows.start, self.columns.stop - self.columns.start


def classes_of(codes: npt.NDArray[np.intp]) -> list[slice]:
    """Return the samples of each class; the codes of the classes ascend."""
    bounds = np.flatnonzero(np.diff(codes, prepend=-1, append=codes[-1] + 1)).tolist()
    return [slice(start, stop) for start, stop in pairwise(bounds)]


def own_classes(block: Block, classes: list[slice]) -> Iterator[tuple[slice, slice]]:
    """Yield rows of a block, from 0 on, and the columns of their class."""
    first, last = block.rows.start, block.rows.stop
    for members in classes:
        if members.start < last and members.stop > first:
            yield slice(max(members.start - first, 0), min(last, members.stop) - first), members


_BLOCK_ENTRIES = 2**17  # 1 MB of float64: a block stays in cache
_BLOCK_COLUMNS = 1000  # a power of two would put all rows into the same few places of the cache
_FEWEST_ROWS = 32  # of whole rows, be they long


def tiles(rows: slice, columns: slice) -> Iterator[Block]:
    """Yield blocks that have all pairs of some rows and columns once, columns by columns."""
    width = columns.stop - columns.start
    most = max(_BLOCK_COLUMNS, _BLOCK_ENTRIES // (rows.stop - rows.start))
    n_parts = -(-width // most)
    bounds = [columns.start + width * part // n_parts for part in range(n_parts + 1)]
    step = _fitting(-(-width // n_parts))
    for first, last in pairwise(bounds):
        for start in range(rows.start, rows.stop, step):
            yield Block(slice(start, min(start + step, rows.stop)), slice(first, last))


def triangle(samples: slice) -> Iterator[Block]:
    """Yield blocks of all pairs of some samples; those on the diagonal have both orders."""
    step = _fitting(min(samples.stop - samples.start, _BLOCK_COLUMNS))
    for start in range(samples.start, samples.stop, step):
        rows = slice(start, min(start + step, samples.stop))
        yield from tiles(rows, slice(start, samples.stop))


def runs(n_rows: int, n_columns: int) -> Iterator[Block]:
    """Yield blocks of whole rows."""
    step = max(_FEWEST_ROWS, _fitting(n_columns))
    for start in range(0, n_rows, step):
        yield Block(slice(start, min(start + step, n_rows)), slice(0, n_columns))


def slices(n_samples: int) -> Iterator[slice]:
    """Yield runs of samples whose rows of features stay in cache."""
    for start in range(0, n_samples, _BLOCK_COLUMNS):
        yield slice(start, min(start + _BLOCK_COLUMNS, n_samples))


def _fitting(n_columns: int) -> int:
    """Return how many rows a block of n columns has."""
    return max(1, _BLOCK_ENTRIES // n_columns)
