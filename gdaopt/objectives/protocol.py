"""What methods see of an objective: its points, and its lines.

Both take structured directions and atoms (`gdaopt.linalg`), so that neither a step in one column
nor a step in the weights of atoms ever costs a K×K gradient.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.directions import Direction
from gdaopt.linalg.entries import IndexArray
from gdaopt.objectives.round_off import RoundOff, assumed_round_off
from gdaopt.support.cvxpy_loading import cp
from gdaopt.support.validation import FloatArray

Expression: TypeAlias = "cp.Expression"
"""An expression of CVXPY; importing gdaopt does not load it."""

Terms: TypeAlias = "tuple[cp.Expression, list[cp.Constraint]]"
"""An expression, and the constraints on its own variables; often there are none."""


class Line(Protocol):
    """The convex function ``φ(γ) = Q(M + γ D)`` of a step length γ.

    Exact steps are found on its `balance`. If the slope of a line changes by decades, its balance
    can differ from the slope.
    """

    direction: Direction
    has_balance: bool = False

    def balance(self, gamma: float) -> tuple[float, float]:
        """Return a number of the sign of ``φ'(γ)``, and its derivative by γ.

        If the line `has_balance`, the number is h with ``φ' = (e^h - 1) f``, where f > 0 does not
        rise with γ: h is nearly linear where φ' is not. Else it is φ' itself.
        """
        return self.derivatives(gamma)

    @abstractmethod
    def value(self, gamma: float) -> float:
        """Return ``φ(γ)``; infinite outside of Q's domain."""

    @abstractmethod
    def derivatives(self, gamma: float) -> tuple[float, float]:
        """Return ``φ'(γ)`` and ``φ''(γ)``; the second is NaN if it is not known."""

    @abstractmethod
    def at(self, gamma: float) -> Point:
        """Return the point at ``M + γ D``."""


class Derivatives(Protocol):
    """A function at a metric M, with its derivatives by the weights of atoms at w = 0."""

    @property
    @abstractmethod
    def value(self) -> float:
        """The value at M."""

    @abstractmethod
    def slopes(self, atoms: Atoms) -> FloatArray:
        """Return the derivatives ``u_k' G u_k``, shape (n,), where G is the gradient."""

    @abstractmethod
    def curvature(self, atoms: Atoms) -> FloatArray:
        """Return the second derivatives, shape (n, n)."""


class Point(Derivatives, Protocol):
    """An objective at one metric matrix.

    Attributes
    ----------
    metric : ndarray of shape (K, K)
        The metric matrix, read-only.
    """

    metric: FloatArray

    @abstractmethod
    def gradient(self) -> FloatArray:
        """Return ``∇Q(M)``, symmetric K×K: ``dQ = ⟨∇Q, dM⟩``."""

    @abstractmethod
    def gradient_entries(self, rows: IndexArray, columns: IndexArray) -> FloatArray:
        """Return entries (i, j) of ``∇Q(M)``, for n rows i and as many columns j."""

    @abstractmethod
    def line(self, direction: Direction) -> Line:
        """Return Q restricted to ``M + γ D``."""

    @abstractmethod
    def degenerate_reason(self) -> str | None:
        """Say why the value or the gradient carries no information, and what to do; else None."""

    def round_off(self) -> RoundOff:
        """Return how exact value and gradient are: lower bounds are lowered by that much."""
        return assumed_round_off(self)

    def logarithm(self) -> Derivatives:
        """Return ``log Q`` at M, for objectives with `Objective.log_convex`."""
        return Logarithm(self)


@dataclass(frozen=True, eq=False)
class Logarithm(Derivatives):
    """``log Q`` from Q itself, -inf if Q is not positive."""

    of: Derivatives

    @property
    def value(self) -> float:
        return math.log(self.of.value) if self.of.value > 0 else -math.inf

    def slopes(self, atoms: Atoms) -> FloatArray:
        return self.of.slopes(atoms) / self.of.value

    def curvature(self, atoms: Atoms) -> FloatArray:
        slopes = self.slopes(atoms)
        curvature: FloatArray = self.of.curvature(atoms) / self.of.value
        return curvature - np.outer(slopes, slopes)


@dataclass(frozen=True, eq=False)
class NewtonModel:
    """The second derivatives of an objective at a metric, if features have units t of their own.

    A direction D is ``diag(t) Y diag(t)``, and so is the metric. The `hessian` maps a symmetric Y
    to ``∇²Q[Y]``, and `inverse` is its inverse or an approximation that is positive definite. The
    matrix `of_entries` has half the second derivative by the entries (i, j) and (j, i) together.
    """

    hessian: Callable[[Any], Any]
    inverse: Callable[[Any], Any]
    of_entries: FloatArray


class BarrierPoint(Point, Protocol):
    """A point of an objective with `Objective.barrier`: ``Q(M) = ⟨S, M⟩ + φ(M)``."""

    @property
    @abstractmethod
    def linear(self) -> FloatArray:
        """S."""

    @abstractmethod
    def conjugate(self, dual: FloatArray) -> tuple[float, float]:
        """Return ``min ⟨W, M⟩ + φ(M)`` over all M, and how far rounding can have raised it.

        W, the dual, is symmetric; if it is not positive definite, the minimum is -inf.
        """

    @abstractmethod
    def newton_model(self, units: FloatArray, dtype: type) -> NewtonModel:
        """Return the second derivatives in units t > 0, shape (K,), in numbers of a type."""


def minimised(point: Point, log_convex: bool) -> Derivatives:
    """Return the function that methods minimise at a point: log Q if it is convex, else Q."""
    return point.logarithm() if log_convex else point
