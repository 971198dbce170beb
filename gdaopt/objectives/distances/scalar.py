"""Convex functions of one number, which losses of single distances are made of.

Each returns the values, the first and the second derivatives of an array of numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from gdaopt.validation import FloatArray

__all__ = ["Identity", "Logistic", "MinusRoot", "ScalarFunction", "SmoothHinge", "Values"]

Values = tuple[FloatArray, FloatArray, FloatArray]
"""Values, first and second derivatives."""


class ScalarFunction(Protocol):
    """A convex function ψ of one number."""

    @property
    def max_curvature(self) -> float:
        """The largest second derivative, infinite where there is none."""

    def __call__(self, z: FloatArray) -> Values:
        """Return ``ψ(z)``, ``ψ'(z)`` and ``ψ''(z)``."""


@dataclass(frozen=True)
class Identity:
    """``z``."""

    max_curvature = 0.0

    def __call__(self, z: FloatArray) -> Values:
        """Return the three."""
        return z, np.ones_like(z), np.zeros_like(z)


@dataclass(frozen=True)
class Logistic:
    """``log(1 + exp(z))``.

    Examples
    --------
    >>> [values.round(3).tolist() for values in Logistic()(np.array([0.0, 800.0]))]
    [[0.693, 800.0], [0.5, 1.0], [0.25, 0.0]]
    """

    max_curvature = 0.25

    def __call__(self, z: FloatArray) -> Values:
        """Return the three."""
        small = np.exp(-np.abs(z))
        value = np.maximum(z, 0) + np.log1p(small)
        share = 1 / (1 + small)
        first = np.where(z > 0, share, small * share)
        return value, first, small * share * share


@dataclass(frozen=True)
class SmoothHinge:
    """``max(0, z)`` with its kink smoothed over a width ω.

    It is 0 for z ≤ 0, ``z²/(2ω)`` up to ω, and ``z - ω/2`` above: never above ``max(0, z)``, and at
    most ω/2 below it.

    Examples
    --------
    >>> [values.tolist() for values in SmoothHinge(0.5)(np.array([-1.0, 0.25, 2.0]))]
    [[0.0, 0.0625, 1.75], [0.0, 0.5, 1.0], [0.0, 2.0, 0.0]]
    """

    width: float

    @property
    def max_curvature(self) -> float:
        """``1/ω``."""
        return 1 / self.width

    def __call__(self, z: FloatArray) -> Values:
        """Return the three."""
        bent = np.clip(z, 0, self.width)
        first = bent / self.width
        value = first * (np.maximum(z, 0) - bent / 2)
        second = np.where((z > 0) & (z < self.width), 1 / self.width, 0.0)
        return value, first, second


@dataclass(frozen=True)
class MinusRoot:
    """``-√z``, whose derivatives are infinite at z ≤ 0.

    Examples
    --------
    >>> [float(values[0]) for values in MinusRoot()(np.array([4.0]))]
    [-2.0, -0.25, 0.03125]
    """

    max_curvature = np.inf

    def __call__(self, z: FloatArray) -> Values:
        """Return the three."""
        root = np.sqrt(np.maximum(z, 0))
        with np.errstate(divide="ignore"):
            first = -0.5 / root
            return -root, first, 0.25 / root**3
