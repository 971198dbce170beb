"""Losses of squared distances, over all pairs of samples: at a metric, and along a direction.

A loss can be evaluated on any rows of a block alone, and needs no samples. Where pairs have weights
w, it gets ``δ - log w`` in place of a distance δ: ``w exp(-δ) = exp(-(δ - log w))``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator
from functools import cached_property, partial
from itertools import islice
from typing import Self

import numpy as np
from scipy.linalg.blas import dgemm

from gdaopt.linalg.directions import Direction
from gdaopt.objectives.pairs.base import Changes, Pairs, SquaredChanges
from gdaopt.objectives.pairs.passes import (
    Block,
    PairSums,
    PairValues,
    Sizes,
    Total,
    TransformedSamples,
    exponential,
)
from gdaopt.objectives.protocol import Line
from gdaopt.support.validation import FloatArray

NEGLIGIBLE = 1e-9
"""Second derivatives hardly change a Newton step by this share of the largest in a block."""

_MOST_PAIRS = 2**18  # that second derivatives are summed over
_SPARSE = 8  # where few pairs are curved, parts of this size are summed over at once
_CURVATURE_PAIRS = 32, 256  # of a subsample for each atom, at least and at most
_PAIRS_SHARE = 1 / 256  # of all pairs, in between
_FEW_ROWS = 8  # for so few, BLAS multiplies two matrices faster than one by its own transpose
_LARGEST_TOTAL = 1e130  # in units of the shift: then the products of the terms are finite, too

KeepValues = Callable[[Callable[[], Iterator[FloatArray]]], PairValues]
"""Makes `PairValues` of a callable that returns an iterator over arrays."""


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

    def line(self, direction: Direction, start: LossSum, rates: PairValues) -> LossLine:
        """Return the loss along a direction."""
        return LossLine(direction, start, rates)


class LossSum:
    """``f(δ)`` over all pairs, and coefficients ``∂f/∂δ`` times its sign, both in its unit."""

    def __init__(
        self, loss: DistanceLoss, pairs: Pairs, distances: PairValues, keep: KeepValues
    ) -> None:
        self.pairs = pairs
        self.distances = distances
        self.coefficients = keep(self._compute)
        self._loss = loss
        self._total: Total | None = None

    @cached_property
    def loss(self) -> DistanceLoss:
        """The loss in the unit of the coefficients."""
        return self._loss.shifted(self.distances)

    @property
    def scale(self) -> float:
        """``exp(shift)``, infinite where that overflows."""
        return exponential(self.loss.shift)

    def _compute(self) -> Iterator[FloatArray]:
        self._total = yield from _coefficients(self.loss, self.pairs, self.distances)

    @property
    def total(self) -> Total:
        """The value of the loss, which a complete pass over the coefficients knows."""
        if self._total is None:
            for _ in self.coefficients:
                pass
        assert self._total is not None
        return self._total

    @cached_property
    def degrees(self) -> FloatArray:
        """What the coefficients' magnitudes of the pairs of each sample add up to, shape (N,)."""
        degrees = np.zeros(self.pairs.features.shape[0])
        with np.errstate(over="ignore", invalid="ignore"):
            for _ in _counted(degrees, self._loss, self.pairs, self.coefficients):
                pass
        return degrees

    @cached_property
    def sizes(self) -> Sizes:
        """The sizes of the coefficients' magnitudes."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self.pairs.sizes(self.degrees)

    def slopes(self, coordinates: FloatArray) -> FloatArray:
        """Return the derivatives by the weights of n atoms, for coordinates of shape (N, n)."""
        with np.errstate(over="ignore", invalid="ignore"):  # such steps are shortened
            return self.loss.sign * self.pairs.squared_sums(self.coefficients, coordinates)

    @np.errstate(over="ignore", divide="ignore", invalid="ignore")  # such steps are shortened
    def curvature(
        self, coordinates: FloatArray, means: FloatArray | None = None, n_represented: int = 0
    ) -> FloatArray:
        """Return the second derivatives by the weights of n atoms in units of ``exp(shift)``.

        Of many pairs they are taken from some rows or some terms, always the same. The means, of
        shape (n,), are first subtracted from the changes of all distances.
        """
        values = np.ascontiguousarray(coordinates.T)
        size, loss, pairs = len(values), self.loss, self.pairs
        total = np.zeros((size, size))
        if not size:
            return total
        least = 0.0
        if n_represented and loss.is_exponential:
            fewest, most = (size * n_pairs for n_pairs in _CURVATURE_PAIRS)
            least = self.total.scaled / min(max(fewest, _PAIRS_SHARE * n_represented), most)
        every, n_values = 1, size // _SPARSE + 1
        if not loss.curvature_is_local:
            every, n_values = 1 if least else max(1, pairs.n_pairs // _MOST_PAIRS), size
        place, n_seen = 0, 0
        thin = partial(thinned, least=least, rng=np.random.default_rng(0)) if least else None
        known = self.coefficients if loss.is_exponential else self.distances
        for block, numbers in zip(pairs.blocks(), known, strict=True):
            for part, rows in pairs.parts(block, n_values):
                place += 1
                if place % every:
                    continue
                of_part = numbers[rows]
                n_seen += of_part.size
                at = loss.again(part, thin(of_part) if thin else of_part)
                total += at.curvature(pairs.changes(part, values, means))
        total *= pairs.n_pairs / n_seen
        return total


def thinned(terms: FloatArray, least: float, rng: np.random.Generator) -> FloatArray:
    """Return terms ≥ 0 where small ones are 0 or `least`, so that sums are right in the mean."""
    is_kept = rng.random(terms.shape) * least < terms
    return np.where(is_kept, np.maximum(terms, least), 0.0)


class LossLine(Line):
    """The loss along a direction, along which the distances are ``δ + γ η`` with the rates η."""

    def __init__(self, direction: Direction, start: LossSum, rates: PairValues) -> None:
        self.direction, self.rates, self.start = direction, rates, start

    @property
    def scale(self) -> float:
        """The unit of `losses`."""
        return self.start.scale

    def distances(self, gamma: float) -> Iterator[FloatArray]:
        """Yield the distances at ``M + γ D``."""
        for distance, rate in zip(self.start.distances, self.rates, strict=True):
            trial = rate * gamma
            trial += distance
            yield trial

    def losses(self, gamma: float) -> Iterator[BlockLoss]:
        """Yield the loss of each block at ``M + γ D``."""
        blocks = self.start.pairs.blocks()
        for block, distances in zip(blocks, self.distances(gamma), strict=True):
            yield self.start.loss.at(block, distances)

    def value(self, gamma: float) -> float:
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            return self.scale * sum(loss.value for loss in self.losses(gamma))

    def derivatives(self, gamma: float) -> tuple[float, float]:
        slope = bend = 0.0
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            for loss, rate in zip(self.losses(gamma), self.rates, strict=True):
                bend += loss.bend(rate)
                slope += float(np.vdot(loss.coefficients(), rate))
            return self.start.loss.sign * self.scale * slope, self.scale * bend


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
        total = yield from _coefficients(loss, pairs, pairs.distances(samples))

    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        if loss.sign < 0:  # then they are magnitudes
            scatter = pairs.scatter(coefficients(), degrees)
        else:
            scatter = pairs.scatter(_counted(degrees, loss, pairs, coefficients()))
        return PairSums(total, scatter, pairs.sizes(degrees))


def _coefficients(
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


def _counted(
    degrees: FloatArray, loss: DistanceLoss, pairs: Pairs, coefficients: Iterable[FloatArray]
) -> Iterator[FloatArray]:
    """Yield the coefficients, and add their magnitudes to the degrees of samples, shape (N,)."""
    for block, p in zip(pairs.blocks(), coefficients, strict=True):
        pairs.add_degrees(degrees, block, p if loss.sign < 0 else np.abs(p))
        yield p
