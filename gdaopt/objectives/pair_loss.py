"""Losses of squared distances, over all pairs of samples: at a metric, and along a direction.

A loss can be evaluated on any rows of a block alone, and needs no samples. Where pairs have weights
w, it gets ``δ - log w`` in place of a distance δ: ``w exp(-δ) = exp(-(δ - log w))``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Iterator
from itertools import islice
from typing import Self

import numpy as np
from scipy.linalg.blas import dgemm

from gdaopt.objectives.pairs.base import Changes, Pairs, SquaredChanges
from gdaopt.objectives.pairs.passes import (
    Block,
    PairSums,
    Sizes,
    Total,
    TransformedSamples,
)
from gdaopt.support.validation import FloatArray

NEGLIGIBLE = 1e-9
"""Second derivatives hardly change a Newton step by this share of the largest in a block."""

_FEW_ROWS = 8  # for so few, BLAS multiplies two matrices faster than one by its own transpose
_LARGEST_TOTAL = 1e130  # in units of the shift: then the products of the terms are finite, too


class BlockLoss(ABC):
    """A loss f at the distances δ of one block, or of some of its rows."""

    @property
    @abstractmethod
    def value(self) -> float:
        """``f(δ)``."""

    @abstractmethod
    def coefficients(self) -> FloatArray:
        """Return ``∂f/∂δ`` times the sign of the loss; this object is of no use afterwards."""

    def factors(self, changes: Changes) -> FloatArray:
        """Return F, of shape (n, m), such that `curvature` is ``F F'``; only convex losses can."""
        raise NotImplementedError

    def curvature(self, changes: SquaredChanges) -> FloatArray:
        """Return the second derivatives along n directions, of shape (n, n)."""
        factors = self.factors(changes)
        if len(factors) <= _FEW_ROWS:
            return np.asarray(dgemm(1.0, factors.T, factors.T, trans_a=1))
        return factors @ factors.T

    def bend(self, rates: FloatArray) -> float:
        """Return the second derivative along one direction, in which δ changes by `rates`."""
        factors = self.factors(lambda *indices: rates[None][(slice(None), *indices)].copy())
        return float(factors[0] @ factors[0])


class DistanceLoss(ABC):
    """A function of the squared distances of pairs; subclass it for one of your own.

    Attributes
    ----------
    constant : float
        t, the largest number that is added to a distance, such as a threshold: no term of a value
        is larger than a few ``|c| (t + |δ|)`` with the derivative c, but for terms that are all of
        the sign of the value ("Lemma: round-off of sums over pairs").
    cancelled : ndarray of shape (N,) or None
        Of each sample, what terms of the derivatives by distances add up to before they cancel
        each other, apart from what is left; None where none do.
    sign : float
        -1.0 where no derivative is positive; `BlockLoss.coefficients` are then their magnitudes.
    convex : bool
        Whether f is convex.
    curvature_is_local : bool
        Whether only pairs of some distances have second derivatives, so that a few rows of pairs
        are no fair sample.
    is_exponential : bool
        Whether the loss is a sum of exponentials ``exp(-δ)``. Value, derivatives and second
        derivatives are then the same terms, and the logarithm of the sum is convex, too.
    shift : float
        The logarithm of the unit that the loss is in, in which nothing underflows.
    """

    constant: float = 0.0
    cancelled: FloatArray | None = None
    sign: float = 1.0
    convex: bool = True
    curvature_is_local: bool = False
    is_exponential: bool = False
    shift: float = 0.0

    @abstractmethod
    def at(self, block: Block, distances: FloatArray) -> BlockLoss:
        """Return the loss at the distances of a block; a writeable array may be overwritten."""

    def again(self, block: Block, numbers: FloatArray) -> BlockLoss:
        """Return the loss, given the distances, or the coefficients where `is_exponential`."""
        return self.at(block, numbers)

    def shifted(self, _distances: Iterable[FloatArray], /) -> Self:
        """Return the loss in the unit in which sums at some distances are taken."""
        return self


def thinned(terms: FloatArray, least: float, rng: np.random.Generator) -> FloatArray:
    """Return terms ≥ 0 where small ones are 0 or `least`, so that sums are right in the mean."""
    is_kept = rng.random(terms.shape) * least < terms
    return np.where(is_kept, np.maximum(terms, least), 0.0)


def loss_sums(loss: DistanceLoss, pairs: Pairs, samples: TransformedSamples) -> PairSums:
    """Return the value and the moments of a loss over a chunk of the pairs, in one pass."""
    for n_blocks in (1, None):
        with np.errstate(over="ignore", invalid="ignore"):
            shifted = loss.shifted(islice(pairs.distances(samples), n_blocks))
        if shifted.shift == -math.inf:  # all terms vanish
            continue
        sums = _shifted_sums(shifted, pairs, samples)
        if not loss.is_exponential or sums.total.scaled <= _LARGEST_TOTAL:
            return sums
    size = pairs.features.shape[1]
    nothing = Sizes(0.0, np.zeros(size))
    return PairSums(Total(-math.inf, 0.0), np.zeros((size, size)), nothing)


def _shifted_sums(loss: DistanceLoss, pairs: Pairs, samples: TransformedSamples) -> PairSums:
    total, degrees = Total(loss.shift, 0.0), np.zeros(pairs.features.shape[0])

    def coefficients() -> Iterator[FloatArray]:
        nonlocal total
        total = yield from coefficients_of(loss, pairs, pairs.distances(samples))

    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        if loss.sign < 0:  # then they are magnitudes
            scatter = pairs.scatter(coefficients(), degrees)
        else:
            scatter = pairs.scatter(counted(degrees, loss, pairs, coefficients()))
        return PairSums(total, scatter, pairs.sizes(degrees))


def coefficients_of(
    loss: DistanceLoss, pairs: Pairs, distances: Iterable[FloatArray]
) -> Generator[FloatArray, None, Total]:
    """Yield the coefficients of each block, and return the total of all blocks."""
    value = 0.0
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        for block, of_block in zip(pairs.blocks(), distances, strict=True):
            at = loss.at(block, of_block)
            value += at.value
            yield at.coefficients()
    return Total(loss.shift, value)


def counted(
    degrees: FloatArray, loss: DistanceLoss, pairs: Pairs, coefficients: Iterable[FloatArray]
) -> Iterator[FloatArray]:
    """Yield the coefficients, and add their magnitudes to the degrees of samples, shape (N,)."""
    for block, p in zip(pairs.blocks(), coefficients, strict=True):
        pairs.add_degrees(degrees, block, p if loss.sign < 0 else np.abs(p))
        yield p
