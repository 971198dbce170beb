"""Passes over all pairs of samples, block by block, and numbers of all pairs.

A block and its temporaries are to stay in the processor's cache. Where there are too many pairs to
keep their numbers, one pass finds all that a value and a gradient need: the pairs are split into
chunks, which threads or other machines compute at the same time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from itertools import pairwise
from operator import add, mul
from typing import Any

import numpy as np
import numpy.typing as npt

from gdaopt.support.validation import FloatArray, read_only

_BLOCK_ENTRIES = 2**17  # 1 MB of float64: a block stays in cache
_BLOCK_COLUMNS = 1000  # a power of two would put all rows into the same few places of the cache
_FEWEST_ROWS = 32  # of whole rows, be they long


@dataclass(frozen=True)
class Block:
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
    return [slice(start, stop) for start, stop in pairwise(bounds)]


def own_classes(block: Block, classes: list[slice]) -> Iterator[tuple[slice, slice]]:
    """Yield rows of a block, from 0 on, and the columns of their class."""
    first, last = block.rows.start, block.rows.stop
    for members in classes:
        if members.start < last and members.stop > first:
            yield slice(max(members.start - first, 0), min(last, members.stop) - first), members


def tiles(rows: slice, columns: slice) -> Iterator[Block]:
    """Yield blocks that have all pairs of some rows and columns once, columns by columns."""
    width = columns.stop - columns.start
    most = max(_BLOCK_COLUMNS, _BLOCK_ENTRIES // (rows.stop - rows.start))
    n_parts = -(-width // most)
    bounds = (columns.start + width * np.arange(n_parts + 1) // n_parts).tolist()
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


class PairValues:
    """One array for each block of pairs: kept after the first pass, or computed in each."""

    def __init__(self, compute: Callable[[], Iterator[FloatArray]], is_kept: bool) -> None:
        self._blocks: Callable[[], Iterator[FloatArray]] | list[FloatArray] = compute
        self._is_kept = is_kept

    def __iter__(self) -> Iterator[FloatArray]:
        if not isinstance(self._blocks, list):
            if not self._is_kept:
                return self._blocks()
            # The callable is let go: it often refers back to its owner, and such a cycle would hold
            # the arrays until the garbage collector comes by.
            self._blocks = list(map(read_only, self._blocks()))
        return iter(self._blocks)


MANY_PAIRS = 2**17
"""With more pairs, an evaluation is one pass, and second derivatives come from a subsample."""

_LARGEST_SIZE = 1e6  # of a product of a sample: with larger ones the three terms lose digits
_LARGEST_EXPONENT = 709.0  # exp of it is finite in float64


@dataclass(frozen=True, eq=False)
class TransformedSamples:
    """Factors a and b of samples, and matrices whose product is ``Σ_f (a_rf - a_cf)(b_rf - b_cf)``.

    The matrices have ``-2a``, ``a·b`` and 1 of a sample in a row, and ``b``, 1 and ``a·b`` in a
    column. Large terms `cancel`.
    """

    left: FloatArray
    right: FloatArray
    rows: FloatArray
    columns: FloatArray
    cancel: bool

    @classmethod
    def of(cls, left: FloatArray, right: FloatArray) -> TransformedSamples:
        """Return the matrices of two factors of shape (N, F)."""
        n_samples, size = left.shape
        rows, of_columns = np.empty((2, n_samples, size + 2))
        columns = of_columns.T  # BLAS takes samples in rows on both sides
        columns[:size], columns[size], rows[:, size + 1] = right.T, 1.0, 1.0
        largest = 0.0
        for part in slices(n_samples):
            a, b = left[part], right[part]
            rows[part, size] = columns[size + 1, part] = np.einsum("nf,nf->n", a, b)
            np.multiply(a, -2, out=rows[part, :size])
            sizes = np.einsum("nf,nf->n", np.abs(a), np.abs(b))
            largest = max(largest, float(sizes.max()))
        return cls(left, right, rows, columns, largest > _LARGEST_SIZE)


@dataclass(frozen=True, eq=False)
class Total:
    """A sum over pairs, in units of ``exp(shift)``."""

    shift: float
    scaled: float

    @cached_property
    def scale(self) -> float:
        """``exp(shift)``, infinite where that overflows."""
        return exponential(self.shift)

    @cached_property
    def value(self) -> float:
        """The sum in units of 1."""
        return self.scale * self.scaled

    @cached_property
    def log_value(self) -> float:
        """The logarithm of the sum, -inf where it is 0."""
        return self.shift + math.log(self.scaled) if self.scaled > 0 else -math.inf


@dataclass(frozen=True, eq=False)
class Sizes:
    """What the round-off of sums over pairs p = (r, c) is relative to, for numbers m ≥ 0 of pairs.

    The `weight` is ``Σ_p m_p``, and `squares` are ``Σ_p m_p (y_rk² + y_ck²)`` for each feature k, y
    the sizes of the samples ("Lemma: round-off of sums over pairs").
    """

    weight: float
    squares: FloatArray

    def __add__(self, other: Sizes) -> Sizes:
        return Sizes(self.weight + other.weight, self.squares + other.squares)

    def __rmul__(self, factor: float) -> Sizes:
        return Sizes(factor * self.weight, factor * self.squares)


@dataclass(frozen=True, eq=False)
class PairSums:
    """What one pass finds at a metric, of all pairs or of a chunk of them, in one unit.

    These are the `scatter` of the coefficients ``∂Q/∂δ``, or of their magnitudes where all have one
    sign, and the sizes of their magnitudes.
    """

    total: Total
    scatter: FloatArray
    sizes: Sizes

    @classmethod
    def added(cls, chunks: Sequence[PairSums]) -> PairSums:
        """Return the sums of all chunks together, in the largest of their units."""
        shift = max(chunk.total.shift for chunk in chunks)
        factors = [  # 1 also where the shifts are -inf, since all terms vanish
            math.exp(chunk.total.shift - shift) if chunk.total.shift < shift else 1.0
            for chunk in chunks
        ]

        def added(number: Callable[[PairSums], Any]) -> Any:
            return reduce(add, map(mul, factors, map(number, chunks)))

        total = Total(shift, added(lambda sums: sums.total.scaled))
        return cls(total, added(lambda sums: sums.scatter), added(lambda sums: sums.sizes))


def exponential(exponent: float) -> float:
    """Return its exponential, infinite where that overflows."""
    # Metrics far outside of the cone have distances below -709.
    return math.exp(exponent) if exponent < _LARGEST_EXPONENT else math.inf
