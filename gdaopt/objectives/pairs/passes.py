"""Passes over all pairs of samples, and numbers of all pairs, kept or computed anew in each pass.

Each point of an objective holds a few arrays with one number a pair, and each step of a method
makes a new point. Fresh memory of this size comes from the system and costs a page fault every few
KB, which takes as long as the exponentials. So the memory of a point that is gone is lent to the
next by a buffer pool.

Where there are too many pairs to keep a number of each, one pass finds all that a value and a
gradient need. The pairs are split into chunks, which are visited side by side, in threads or on
other machines; what comes back of each is a few numbers, one for each feature, and one K×K matrix.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gdaopt.objectives.pairs.blocks import slices
from gdaopt.support.deadline import check_time
from gdaopt.support.validation import FloatArray, read_only

__all__ = [
    "MANY_PAIRS",
    "BufferPool",
    "Coefficients",
    "Moments",
    "PairSums",
    "PairValues",
    "TransformedSamples",
    "exponential",
    "less",
]


class BufferPool:
    """Arrays of one size, lent out until the last view of them is gone.

    Parameters
    ----------
    size : int
        How many numbers each array holds.
    most : int
        How many arrays are held ready at most.

    Examples
    --------
    >>> pool = BufferPool(size=4, most=2)
    >>> array = pool.lend()
    >>> address = array.ctypes.data
    >>> pool.lend().ctypes.data == address
    False
    >>> view = array[1:3]
    >>> del array, view
    >>> pool.lend().ctypes.data == address
    True
    """

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
    """The base of all views of a lent array: when the last view is gone, the loan ends."""

    def __init__(self, array: FloatArray, take_back: Callable[[FloatArray], None]) -> None:
        self._array = array
        self._take_back = take_back

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self._array.__array_interface__

    def __del__(self) -> None:
        self._take_back(self._array)


class PairValues:
    """One array for each block of pairs, either kept or computed anew in each pass.

    Parameters
    ----------
    compute : callable
        Returns an iterator over the arrays.
    pool : BufferPool, optional
        Where the arrays are kept after the first pass; without it they are not kept.

    Examples
    --------
    >>> values = PairValues(lambda: iter([np.zeros(2), np.ones(2)]), BufferPool(size=4, most=1))
    >>> [float(block.sum()) for block in values], [float(block.sum()) for block in values]
    ([0.0, 2.0], [0.0, 2.0])
    """

    def __init__(
        self, compute: Callable[[], Iterator[FloatArray]], pool: BufferPool | None = None
    ) -> None:
        self._blocks: Callable[[], Iterator[FloatArray]] | list[FloatArray] = compute
        self._pool = pool

    def __iter__(self) -> Iterator[FloatArray]:
        if self._pool is not None and not isinstance(self._blocks, list):
            # The callable that computed them is let go: it often refers back to its owner, and such
            # a cycle would hold the arrays until the garbage collector comes by.
            self._blocks = list(_stored(_timed(self._blocks()), self._pool.lend()))
        return _timed(iter(self._blocks) if isinstance(self._blocks, list) else self._blocks())


def _timed(blocks: Iterator[FloatArray]) -> Iterator[FloatArray]:
    """Yield the arrays as long as there is time."""
    for block in blocks:
        check_time()
        yield block


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

_LARGEST_EXPONENT = 709.0  # exp of it is finite in float64

Coefficients = Callable[[], Iterator[FloatArray]]
"""Yields a number of each pair, block by block; where it is called again, it begins anew.

What it yields is overwritten. It is of no use when it goes on, so that the next block may take the
same memory.
"""


@dataclass(frozen=True, eq=False)
class TransformedSamples:
    """The samples under a metric: factors whose products are the distances of pairs.

    Attributes
    ----------
    metric : ndarray of shape (K, K)
        M.
    rows : ndarray of shape (N, K + 2)
        ``-2 Mx``, ``x'Mx`` and 1 of each sample.
    columns : ndarray of shape (K + 2, N)
        ``x``, 1 and ``x'Mx`` of each.
    largest : float
        The largest sum of magnitudes that an ``x'Mx`` is the sum of.
    """

    metric: FloatArray
    rows: FloatArray
    columns: FloatArray
    largest: float

    @classmethod
    def of(cls, features: FloatArray, metric: FloatArray) -> TransformedSamples:
        """Return those of N×K samples."""
        n_samples, size = features.shape
        rows, columns = np.empty((n_samples, size + 2)), np.empty((size + 2, n_samples))
        columns[:size], columns[size], rows[:, size + 1] = features.T, 1.0, 1.0
        largest = 0.0
        for part in slices(n_samples):
            samples = features[part]
            products = samples @ metric
            rows[part, size] = columns[size + 1, part] = np.einsum("nf,nf->n", products, samples)
            np.multiply(products, -2, out=rows[part, :size])
            sizes = np.einsum("nf,nf->n", np.abs(products), np.abs(samples))
            largest = max(largest, float(sizes.max()))
        return cls(metric, rows, columns, largest)


@dataclass(frozen=True, eq=False)
class Moments:
    """The sums that a gradient and its round-off need.

    Attributes
    ----------
    total : float
        ``Σ_p c_p``.
    scatter : ndarray of shape (K, K)
        ``Σ_p c_p d_p d_p'`` (see `Pairs.scatter`).
    sizes : ndarray of shape (K,)
        What its round-off is relative to: `Pairs.squared_sizes` of the magnitudes of c.
    """

    total: float
    scatter: FloatArray
    sizes: FloatArray

    @classmethod
    def none(cls, n_features: int) -> Moments:
        """Return those of no pairs."""
        return cls(0.0, np.zeros((n_features, n_features)), np.zeros(n_features))

    def plus(self, other: Moments, factor: float) -> Moments:
        """Return these, and a factor times others."""
        return Moments(
            self.total + factor * other.total,
            self.scatter + factor * other.scatter,
            self.sizes + factor * other.sizes,
        )


@dataclass(frozen=True, eq=False)
class PairSums:
    """Value and moments at a metric, of all pairs or of a chunk of them.

    Attributes
    ----------
    shift : float
        All sums are in units of ``exp(shift)``, so that exponentials neither under- nor overflow.
    total : float
        The value.
    magnitude : float
        What the round-off of the value is relative to.
    moments : Moments
        Those of the coefficients ``∂Q/∂δ``, or of their magnitudes where all have one sign.
    """

    shift: float
    total: float
    magnitude: float
    moments: Moments

    @property
    def scale(self) -> float:
        """``exp(shift)``, infinite where that overflows."""
        return exponential(self.shift)

    @property
    def value(self) -> float:
        """The value in units of 1."""
        return self.scale * self.total

    @property
    def log_value(self) -> float:
        """The logarithm of the value, for sums of positive numbers."""
        return self.shift + math.log(self.total)

    @classmethod
    def added(cls, chunks: Sequence[PairSums]) -> PairSums:
        """Return the sums of all chunks together.

        Examples
        --------
        >>> moments = Moments(1.0, np.eye(1), np.ones(1))
        >>> ones, tens = PairSums(0.0, 1.0, 1.0, moments), PairSums(math.log(10), 1.0, 1.0, moments)
        >>> round(PairSums.added([ones, tens]).value, 12)
        11.0
        """
        shift = max(chunk.shift for chunk in chunks)
        pairs = [(math.exp(chunk.shift - shift), chunk) for chunk in chunks]
        moments = Moments.none(len(chunks[0].moments.sizes))
        for factor, chunk in pairs:
            moments = moments.plus(chunk.moments, factor)
        return cls(
            shift,
            sum(factor * chunk.total for factor, chunk in pairs),
            sum(factor * chunk.magnitude for factor, chunk in pairs),
            moments,
        )


def less(
    distances: Iterator[FloatArray], log_weights: Iterable[FloatArray]
) -> Iterator[FloatArray]:
    """Yield the distances less the logarithms of the weights, in the memory of the distances."""
    for distance, log_weight in zip(distances, log_weights, strict=False):
        yield np.subtract(distance, log_weight, out=distance)


def exponential(exponent: float) -> float:
    """Return its exponential, infinite where that overflows."""
    # Metrics far outside of the cone have distances below -709.
    return math.exp(exponent) if exponent < _LARGEST_EXPONENT else math.inf
