"""Passes over all pairs of samples, and numbers of all pairs, kept or computed anew in each pass.

Fresh memory for a number of each pair costs a page fault every few KB, which takes as long as the
exponentials. So a buffer pool lends the memory of a point that is gone to the next one.

Where there are too many pairs for that, one pass finds all that a value and a gradient need. The
pairs are split into chunks, which threads or other machines compute at the same time; the result of
a chunk is a few numbers, one for each feature, and one K×K matrix.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gdaopt.objectives.pairs.blocks import slices
from gdaopt.support.validation import FloatArray, read_only


class BufferPool:
    """Arrays of one size, lent out until the last view of them is gone; some are held ready."""

    def __init__(self, size: int, most: int) -> None:
        self._size = size
        self._most = most
        self._free: list[FloatArray] = []

    def lend(self) -> FloatArray:
        """Return an array that nobody else uses; its content is arbitrary."""
        free = self._free
        return np.asarray(_Buffer(free.pop() if free else np.empty(self._size), self._take_back))

    def _take_back(self, array: FloatArray) -> None:
        if len(self._free) < self._most:
            self._free.append(array)

    def __reduce__(self) -> tuple[type[BufferPool], tuple[int, int]]:
        return BufferPool, (self._size, self._most)  # copies start without arrays


class _Buffer:
    """The base of all views of a lent array, which goes back to the pool with the last view."""

    def __init__(self, array: FloatArray, take_back: Callable[[FloatArray], None]) -> None:
        self._array = array
        self._take_back = take_back

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self._array.__array_interface__

    def __del__(self) -> None:
        self._take_back(self._array)


class PairValues:
    """One array for each block of pairs: kept after the first pass if there is a pool, else not.

    A callable returns an iterator over the arrays.
    """

    def __init__(
        self, compute: Callable[[], Iterator[FloatArray]], pool: BufferPool | None = None
    ) -> None:
        self._blocks: Callable[[], Iterator[FloatArray]] | list[FloatArray] = compute
        self._pool = pool

    def __iter__(self) -> Iterator[FloatArray]:
        if not isinstance(self._blocks, list):
            if self._pool is None:
                return self._blocks()
            # The callable that computed them is let go: it often refers back to its owner, and such
            # a cycle would hold the arrays until the garbage collector comes by.
            self._blocks = list(_stored(self._blocks(), self._pool.lend()))
        return iter(self._blocks)


def _stored(blocks: Iterator[FloatArray], store: FloatArray) -> Iterator[FloatArray]:
    """Yield read-only copies of arrays, one after the other in a large one."""
    start = 0
    for block in blocks:
        copy = store[start : start + block.size].reshape(block.shape)
        copy[...] = block
        start += block.size
        yield read_only(copy)


MANY_PAIRS = 2**17
"""With more pairs, an evaluation is one pass, and second derivatives come from a subsample."""

_LARGEST_SIZE = 1e6  # of a product of a sample: with larger ones the three terms lose digits
_LARGEST_EXPONENT = 709.0  # exp of it is finite in float64


@dataclass(frozen=True, eq=False)
class TransformedSamples:
    """Factors a and b of samples, and matrices whose product is ``Σ_f (a_rf - a_cf)(b_rf - b_cf)``.

    The matrices have ``-2a``, ``a·b`` and 1 of a sample in a row, and ``b``, 1 and ``a·b`` in a
    column. The three terms `cancel` where they are so large that digits would be lost.
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
    """A sum over pairs, and the magnitude that its round-off is relative to.

    Both are in units of ``exp(shift)``, so that exponentials neither under- nor overflow.
    """

    shift: float
    scaled: float
    magnitude: float

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
class PairSums:
    """What one pass finds at a metric, of all pairs or of a chunk of them.

    In the unit of the total these are the `scatter` of the coefficients ``∂Q/∂δ``, or of their
    magnitudes where all have one sign, and the `Pairs.squared_sizes` of their magnitudes.
    """

    total: Total
    scatter: FloatArray
    sizes: FloatArray

    @classmethod
    def added(cls, chunks: Sequence[PairSums]) -> PairSums:
        """Return the sums of all chunks together, in the largest of their units."""
        shift = max(chunk.total.shift for chunk in chunks)
        factors = [  # 1 also where the shifts are -inf, since all terms vanish
            math.exp(chunk.total.shift - shift) if chunk.total.shift < shift else 1.0
            for chunk in chunks
        ]

        def added(number: Callable[[PairSums], Any]) -> Any:
            return sum(
                factor * number(chunk) for factor, chunk in zip(factors, chunks, strict=True)
            )

        total = Total(
            shift, added(lambda sums: sums.total.scaled), added(lambda sums: sums.total.magnitude)
        )
        return cls(total, added(lambda sums: sums.scatter), added(lambda sums: sums.sizes))


def exponential(exponent: float) -> float:
    """Return its exponential, infinite where that overflows."""
    # Metrics far outside of the cone have distances below -709.
    return math.exp(exponent) if exponent < _LARGEST_EXPONENT else math.inf
