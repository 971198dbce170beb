"""Sums of exponentials over pairs of samples, and such a sum along a direction.

All sums are taken over ``exp(e - shift)``, with the largest exponent as the shift, so that the
logarithm of the sum and its derivatives do not underflow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import islice

import numpy as np

from gdaopt.linalg.directions import Direction
from gdaopt.objectives.pairs import (
    Frame,
    Moments,
    PairSums,
    PairValues,
    WeightedPairs,
    exponential,
)
from gdaopt.support.validation import FloatArray

__all__ = ["ExponentialLine", "ExponentialSum", "exponential_sums"]

_LARGEST_TOTAL = 1e130  # in units of the shift: then the products of the terms are finite, too


class ExponentialSum:
    """``Σ exp(e)`` over all pairs, such as those of ``e = log w_ij - δ_ij``.

    Parameters
    ----------
    exponents : PairValues
        e.
    pair_values : callable
        Makes `PairValues` of a callable that returns an iterator over arrays.

    Attributes
    ----------
    terms : PairValues
        ``exp(e - shift)``.
    """

    def __init__(
        self,
        exponents: PairValues,
        pair_values: Callable[[Callable[[], Iterator[FloatArray]]], PairValues],
    ) -> None:
        self.exponents = exponents
        self.terms = pair_values(self._compute_terms)

    def _compute_terms(self) -> Iterator[FloatArray]:
        for exponent in self.exponents:
            term = exponent - self.shift
            yield np.exp(term, out=term)

    @cached_property
    def shift(self) -> float:
        """The largest exponent."""
        return max(float(exponent.max()) for exponent in self.exponents)

    @cached_property
    def total(self) -> float:
        """The sum of the terms."""
        return sum(float(term.sum()) for term in self.terms)

    @cached_property
    def scale(self) -> float:
        """``exp(shift)``: the sum is this times `total`."""
        return exponential(self.shift)

    @property
    def value(self) -> float:
        """The sum."""
        return self.scale * self.total

    @property
    def log_value(self) -> float:
        """The logarithm of the sum."""
        return self.shift + math.log(self.total)


class ExponentialLine:
    """The sum along a direction, which changes the exponents linearly: a `Line`."""

    def __init__(self, direction: Direction, exponents: PairValues, rates: PairValues) -> None:
        self.direction = direction
        self.rates = rates  # η of each pair: δ(M + γD) = δ + γη
        self._exponents = exponents

    def exponents(self, gamma: float) -> Iterator[FloatArray]:
        """Yield the exponents ``log w - δ - γ η`` of each block at ``M + γ D``."""
        for exponent, rate in zip(self._exponents, self.rates, strict=True):
            trial = rate * -gamma
            trial += exponent
            yield trial

    def value(self, gamma: float) -> float:
        """Return ``Q(M + γ D)``; infinite where it overflows."""
        with np.errstate(over="ignore"):
            return sum(float(np.exp(trial, out=trial).sum()) for trial in self.exponents(gamma))

    def derivatives(self, gamma: float) -> tuple[float, float]:
        """Return the first and second derivative of ``Q(M + γ D)``; not finite where Q is not."""
        slope = curvature = 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            for trial, rate in zip(self.exponents(gamma), self.rates, strict=True):
                weighted = np.exp(trial, out=trial)
                weighted *= rate
                slope -= float(weighted.sum())
                curvature += float(np.vdot(weighted, rate))
        return slope, curvature

    def balance(self, gamma: float) -> tuple[float, float]:
        """Return h, by how much the slope's rising part outweighs its falling part, and h'.

        The slope is the sum of two parts, one for each sign of η. The logarithm of each part is
        nearly linear in γ, however many decades Q changes over, and so is the difference h of the
        logarithms. h is negative where Q falls. Where one part is missing or leaves floating point,
        h is infinite and h' is NaN.
        """
        rising = falling = rising_rate = falling_rate = 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            for trial, rate in zip(self.exponents(gamma), self.rates, strict=True):
                weighted = np.exp(trial, out=trial)
                weighted *= rate
                part = np.minimum(weighted, 0.0)
                rising -= float(part.sum())
                rising_rate += float(np.vdot(part, rate))
                np.maximum(weighted, 0.0, out=weighted)
                falling += float(weighted.sum())
                falling_rate += float(np.vdot(weighted, rate))
        if not (0 < rising < math.inf and 0 < falling < math.inf):
            return (math.inf if rising > 0 else -math.inf), math.nan
        return math.log(rising / falling), rising_rate / rising + falling_rate / falling


def exponential_sums(pairs: WeightedPairs, frame: Frame) -> PairSums:
    """Return ``Σ w_p exp(-δ_p)`` and its moments, in one pass over a portion of the pairs.

    The shift is the largest exponent of the first block, which is near to that of all; where it is
    not, a second pass has the right one.
    """
    for n_blocks in (1, None):
        exponents = islice(pairs.exponents(frame, 0.0), n_blocks)
        shift = max(float(exponent.max()) for exponent in exponents)
        if shift > -math.inf:
            moments = _shifted_moments(pairs, frame, shift)
            if moments.total <= _LARGEST_TOTAL:
                return PairSums(shift, moments.total, moments.total, moments)
    return PairSums(-math.inf, 0.0, 0.0, Moments.none(pairs.features.shape[1]))


def _shifted_moments(pairs: WeightedPairs, frame: Frame, shift: float) -> Moments:
    """Return the moments of ``w_p exp(-δ_p)`` in units of ``exp(shift)``."""

    def terms() -> Iterator[FloatArray]:
        for exponents in pairs.exponents(frame, shift):
            yield np.exp(exponents, out=exponents)

    with np.errstate(over="ignore", invalid="ignore"):  # the total tells
        return pairs.moments(terms)
