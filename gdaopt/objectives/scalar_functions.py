"""Convex functions of one number, which losses of single distances are made of.

Each returns the values and the derivatives of an array of numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from gdaopt.objectives.protocol import Expression
from gdaopt.support.cvxpy_loading import cp
from gdaopt.support.validation import FloatArray

Values = tuple[FloatArray, FloatArray]
"""Values and first derivatives."""


class ScalarFunction(Protocol):
    """A convex function ψ of one number."""

    @property
    def max_curvature(self) -> float:
        """The largest second derivative, infinite where there is none."""

    @property
    def is_flat_beyond(self) -> bool:
        """Whether ψ is bent in an interval only."""

    def __call__(self, z: FloatArray) -> Values:
        """Return ``ψ(z)`` and ``ψ'(z)``."""

    def second(self, z: FloatArray) -> FloatArray:
        """Return ``ψ''(z)``."""

    def to_cvxpy(self, z: Expression) -> Expression:
        """Return ``ψ(z)`` for CVXPY, entry by entry."""


class Identity(ScalarFunction):
    """``z``."""

    max_curvature = 0.0
    is_flat_beyond = False

    def __call__(self, z: FloatArray) -> Values:
        return z, np.ones_like(z)

    def second(self, z: FloatArray) -> FloatArray:
        return np.zeros_like(z)

    def to_cvxpy(self, z: Expression) -> Expression:
        return z


class Logistic(ScalarFunction):
    """``log(1 + exp(z))``, which does not overflow."""

    max_curvature = 0.25
    is_flat_beyond = False

    def __call__(self, z: FloatArray) -> Values:
        small = np.exp(-np.abs(z))
        value = np.log1p(small)
        value += np.maximum(z, 0)
        first = np.where(z > 0, 1.0, small)
        small += 1
        first /= small
        return value, first

    def second(self, z: FloatArray) -> FloatArray:
        small = np.exp(-np.abs(z))
        curvature: FloatArray = small / (1 + small) ** 2
        return curvature

    def to_cvxpy(self, z: Expression) -> Expression:
        return cp.logistic(z)


@dataclass(frozen=True)
class SmoothHinge(ScalarFunction):
    """``max(0, z)`` with its kink smoothed over a width ω.

    It is 0 for z ≤ 0, ``z²/(2ω)`` up to ω, and ``z - ω/2`` above: never above ``max(0, z)``, and at
    most ω/2 below it.
    """

    width: float
    is_flat_beyond: ClassVar[bool] = True

    @property
    def max_curvature(self) -> float:
        return 1 / self.width

    def __call__(self, z: FloatArray) -> Values:
        bent = np.clip(z, 0, self.width)
        first = bent / self.width
        value = first * (np.maximum(z, 0) - bent / 2)
        return value, first

    def second(self, z: FloatArray) -> FloatArray:
        return np.where((z > 0) & (z < self.width), 1 / self.width, 0.0)

    def to_cvxpy(self, z: Expression) -> Expression:
        width: Any = self.width
        hinge: cp.Expression = cp.huber(cp.pos(z), width) / (2 * width)
        return hinge


class MinusRoot(ScalarFunction):
    """``-√z``, whose derivatives are infinite at z ≤ 0."""

    max_curvature = np.inf
    is_flat_beyond = False

    def __call__(self, z: FloatArray) -> Values:
        root = np.sqrt(np.maximum(z, 0))
        with np.errstate(divide="ignore"):
            return -root, -0.5 / root

    def second(self, z: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            curvature: FloatArray = 0.25 / np.maximum(z, 0) ** 1.5
        return curvature

    def to_cvxpy(self, z: Expression) -> Expression:
        root: cp.Expression = cp.sqrt(z)
        return -root
