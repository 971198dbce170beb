"""One pass over all pairs at a metric, which finds all that a value and a gradient need.

Where there are too many pairs to keep a number of each, every pass computes the distances anew. A
sweep is one pass instead of one for each sum. The pairs are split into portions, which are swept
side by side, in threads or on other machines; what comes back of each is a few numbers, one for
each feature, and one K×K matrix.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gdaopt.objectives.pairs.blocks import Block
from gdaopt.validation import FloatArray

__all__ = ["MANY_PAIRS", "Coefficients", "Frame", "Moments", "PairSums", "exponential"]

MANY_PAIRS = 2**20
"""With more pairs, objectives sweep them, and take second derivatives from a sample of them."""

_LARGEST_EXPONENT = 709.0  # exp of it is finite in float64

Coefficients = Callable[[Iterator[tuple[Block, FloatArray]]], Iterator[FloatArray]]
"""Takes the blocks with the distances of their pairs, and yields a number of each pair.

It may overwrite the distances, and what it yields is used before it goes on. Where it is called
again, it begins anew.
"""


@dataclass(frozen=True, eq=False)
class Frame:
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
    def of(cls, features: FloatArray, metric: FloatArray) -> Frame:
        """Return the frame of N×K samples."""
        n_samples, size = features.shape
        rows, columns = np.empty((n_samples, size + 2)), np.empty((size + 2, n_samples))
        products = features @ metric
        own = np.einsum("nf,nf->n", products, features)
        np.multiply(products, -2, out=rows[:, :size])
        rows[:, size], rows[:, size + 1] = own, 1.0
        columns[:size], columns[size], columns[size + 1] = features.T, 1.0, own
        largest = float(np.einsum("nf,nf->n", np.abs(products), np.abs(features)).max())
        return cls(metric, rows, columns, largest)


@dataclass(frozen=True, eq=False)
class Moments:
    """The sums that a gradient and its round-off need.

    Attributes
    ----------
    scatter : ndarray of shape (K, K)
        ``Σ_p c_p d_p d_p'`` (see `Pairs.scatter`).
    sizes : ndarray of shape (K,)
        What its round-off is relative to: `Pairs.squared_sizes` of the magnitudes of c.
    """

    scatter: FloatArray
    sizes: FloatArray


@dataclass(frozen=True, eq=False)
class PairSums:
    """Value and moments at a metric, of all pairs or of a portion of them.

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
    def added(cls, portions: Sequence[PairSums]) -> PairSums:
        """Return the sums of all portions together.

        Examples
        --------
        >>> moments = Moments(np.eye(1), np.ones(1))
        >>> ones, tens = PairSums(0.0, 1.0, 1.0, moments), PairSums(math.log(10), 1.0, 1.0, moments)
        >>> round(PairSums.added([ones, tens]).value, 12)
        11.0
        """
        shift = max(portion.shift for portion in portions)
        pairs = [(math.exp(portion.shift - shift), portion) for portion in portions]
        size = len(portions[0].moments.sizes)
        scatter, sizes = np.zeros((size, size)), np.zeros(size)
        for factor, portion in pairs:
            scatter += factor * portion.moments.scatter
            sizes += factor * portion.moments.sizes
        return cls(
            shift,
            sum(factor * portion.total for factor, portion in pairs),
            sum(factor * portion.magnitude for factor, portion in pairs),
            Moments(scatter, sizes),
        )


def exponential(exponent: float) -> float:
    """Return its exponential, infinite where that overflows."""
    # Metrics far outside of the cone have distances below -709.
    return math.exp(exponent) if exponent < _LARGEST_EXPONENT else math.inf
