"""Convex functions of one number with two derivatives: losses of distances are made of them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gdaopt.errors import InvalidInputError
from gdaopt.objectives.protocol import Expression
from gdaopt.support.cvxpy_loading import cp
from gdaopt.support.validation import FloatArray, check_name

_FARTHEST = 1e150  # an argument of a function; its square is finite
_HALVINGS = 60  # nothing is left of an interval

Values = tuple[FloatArray, FloatArray]
"""Values and first derivatives."""


class ScalarFunction(ABC):
    """A convex function ψ of one number with two derivatives, for `PairLoss`.

    Attributes
    ----------
    max_curvature : float
        The largest second derivative, infinite if there is none or it is not known.
    curvature_is_local : bool
        Whether ψ is bent in an interval only.
    tested : bool
        Whether the derivatives have been tested, as in `Objective`.
    """

    max_curvature: float = math.inf
    curvature_is_local: bool = False
    tested: bool = False

    @abstractmethod
    def __call__(self, z: FloatArray) -> Values:
        """Return ``ψ(z)`` and ``ψ'(z)``, entry by entry."""

    @abstractmethod
    def second(self, z: FloatArray) -> FloatArray:
        """Return ``ψ''(z)``."""

    def to_cvxpy(self, _z: Expression, /) -> Expression:
        """Return ``ψ(z)`` for CVXPY, entry by entry; write it for the conic methods."""
        raise InvalidInputError(
            f"{type(self).__name__} has no CVXPY expression; define to_cvxpy(z), or take a method "
            "that needs none, such as 'certified'"
        )

    def reach(self, value: float) -> float:
        """Return a number from which on ψ is at least a value."""

        def is_enough(z: float) -> bool:
            return bool(self(np.array(z))[0] >= value)

        low, high = 0.0, 1.0
        while not is_enough(high) and high < _FARTHEST:
            low, high = high, 2 * high
        if not is_enough(high):
            raise InvalidInputError(
                f"{type(self).__name__} does not reach {value:.3g}, so that trace_bound='auto' has "
                "no value; pass a number, or 'K'"
            )
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if is_enough(middle) else (middle, high)
        return high


class Identity(ScalarFunction):
    """``z``."""

    max_curvature = 0.0

    def __call__(self, z: FloatArray) -> Values:
        return z, np.ones_like(z)

    def second(self, z: FloatArray) -> FloatArray:
        return np.zeros_like(z)

    def to_cvxpy(self, z: Expression) -> Expression:
        return z


class Logistic(ScalarFunction):
    """``log(1 + exp(z))``, which does not overflow."""

    max_curvature = 0.25
    tested = True

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

    def reach(self, value: float) -> float:
        return value


class SquaredHinge(ScalarFunction):
    """``max(0, z)²``."""

    max_curvature = 2.0
    tested = True

    def __call__(self, z: FloatArray) -> Values:
        positive = np.maximum(z, 0.0)
        return positive**2, 2 * positive

    def second(self, z: FloatArray) -> FloatArray:
        return np.where(z > 0, 2.0, 0.0)

    def to_cvxpy(self, z: Expression) -> Expression:
        square: cp.Expression = cp.square(cp.pos(z))
        return square


@dataclass(frozen=True)
class SmoothHinge(ScalarFunction):
    """0 for z ≤ 0, ``z²/(2ω)`` up to the width ω, and ``z - ω/2`` above."""

    width: float
    curvature_is_local = True
    tested = True

    @property
    def max_curvature(self) -> float:  # type: ignore[override]  # it is read only
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

    def reach(self, value: float) -> float:
        return value + self.width / 2


FUNCTIONS: dict[str, Callable[[], ScalarFunction]] = {
    "hinge": lambda: SmoothHinge(0.2),
    "squared-hinge": SquaredHinge,
    "logistic": Logistic,
}
"""The functions of `PairLoss` and `TripletLoss` by their names."""


def scalar_function(function: str | ScalarFunction) -> ScalarFunction:
    """Return a function, or the one with this name; refuse others."""
    if isinstance(function, ScalarFunction):
        return function
    check_name("function (or a gdaopt.objectives.ScalarFunction):", function, FUNCTIONS)
    return FUNCTIONS[function]()


class MinusRoot(ScalarFunction):
    """``-√z``, whose derivatives are infinite at z ≤ 0."""

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
