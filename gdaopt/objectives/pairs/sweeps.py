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

from gdaopt.objectives.pairs.tiling import slices
from gdaopt.support.validation import FloatArray

__all__ = ["MANY_PAIRS", "Coefficients", "Frame", "Moments", "PairSums", "exponential"]

MANY_PAIRS = 2**17
"""With more pairs, objectives sweep them, and take second derivatives from a sample of them."""

_LARGEST_EXPONENT = 709.0  # exp of it is finite in float64

Coefficients = Callable[[], Iterator[FloatArray]]
"""Yields a number of each pair, block by block; where it is called again, it begins anew.

What it yields is overwritten. It is of no use when it goes on, so that the next block may take the
same memory.
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
        >>> moments = Moments(1.0, np.eye(1), np.ones(1))
        >>> ones, tens = PairSums(0.0, 1.0, 1.0, moments), PairSums(math.log(10), 1.0, 1.0, moments)
        >>> round(PairSums.added([ones, tens]).value, 12)
        11.0
        """
        shift = max(portion.shift for portion in portions)
        pairs = [(math.exp(portion.shift - shift), portion) for portion in portions]
        moments = Moments.none(len(portions[0].moments.sizes))
        for factor, portion in pairs:
            moments = moments.plus(portion.moments, factor)
        return cls(
            shift,
            sum(factor * portion.total for factor, portion in pairs),
            sum(factor * portion.magnitude for factor, portion in pairs),
            moments,
        )


def exponential(exponent: float) -> float:
    """Return its exponential, infinite where that overflows."""
    # Metrics far outside of the cone have distances below -709.
    return math.exp(exponent) if exponent < _LARGEST_EXPONENT else math.inf
