"""Linear and quadratic objectives, most often terms of a sum: the ridge and linear functions."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.directions import Direction
from gdaopt.objectives.base import Objective
from gdaopt.objectives.matrix_point import MatrixLine, MatrixPoint
from gdaopt.objectives.protocol import Expression, Terms
from gdaopt.objectives.round_off import UNIT, RoundOff
from gdaopt.support.cvxpy_loading import cp
from gdaopt.support.resources import check_fits
from gdaopt.support.validation import FloatArray, integer, read_only, symmetric_matrix

_ARRAYS = 4  # K×K: the linear part, a metric, its gradient, and what they are made of


class QuadraticPoint(MatrixPoint):
    """The objective at a metric."""

    objective: Quadratic

    @cached_property
    def value(self) -> float:
        linear = float(np.vdot(self.objective.linear, self.metric)) + self.objective.constant
        bend = self.objective.bend
        # If there is no bend, the squares may overflow.
        return linear + bend / 2 * float(np.vdot(self.metric, self.metric)) if bend else linear

    def gradient(self) -> FloatArray:
        return self.objective.linear + self.objective.bend * self.metric

    def round_off(self) -> RoundOff:
        """Return the round-off of the sums: the gradient is A or M itself, without round-off."""
        terms = float(np.abs(self.objective.linear * self.metric).sum()) + abs(self.value)
        terms += 2 * abs(self.objective.constant)
        return RoundOff((self.metric.size + 8) * UNIT * terms, np.zeros(len(self.metric)))

    def curvature(self, atoms: Atoms) -> FloatArray:
        """Return ``c (u_k'u_l)²``."""
        return self.objective.bend * atoms.products(atoms) ** 2

    def line(self, direction: Direction) -> QuadraticLine:
        return QuadraticLine(self, direction)


class QuadraticLine(MatrixLine):
    """The objective along a direction."""

    def __init__(self, point: QuadraticPoint, direction: Direction) -> None:
        super().__init__(point, direction)
        self._value = point.value
        self._slope = direction.inner(point.gradient())
        self._bend = point.objective.bend * direction.norm_squared()

    def value(self, gamma: float) -> float:
        return self._value + gamma * (self._slope + gamma / 2 * self._bend)

    def derivatives(self, gamma: float) -> tuple[float, float]:
        return self._slope + gamma * self._bend, self._bend


class Quadratic(Objective):
    """``Q(M) = ⟨A, M⟩ + (c/2) ‖M‖² + d`` for a symmetric A, bend c ≥ 0 and constant d."""

    tested = True

    def __init__(self, linear: FloatArray, bend: float, constant: float = 0.0) -> None:
        self.linear = read_only(linear)
        self.bend = bend
        self.n_features = len(linear)
        self.constant = constant

    def at(self, metric: FloatArray) -> QuadraticPoint:
        return QuadraticPoint(self, symmetric_matrix("metric", metric, self.n_features))

    def lipschitz(self, _min_eigenvalue: float, /) -> float:
        return self.bend

    def to_cvxpy(self, metric: Expression) -> Terms:
        linear = cp.sum(cp.multiply(self.linear, metric)) + self.constant
        return (linear + self.bend / 2 * cp.sum_squares(metric) if self.bend else linear), []


class Ridge(Quadratic):
    """Half of the squared Frobenius norm: ``Q(M) = ½ ‖M‖² = ½ Σ_ij M_ij²``.

    It keeps metrics small and spreads them out.

    Parameters
    ----------
    n_features : int
        K, the size of the metric matrices.

    Examples
    --------
    >>> Ridge(2).value(np.array([[2.0, -1.0], [-1.0, 2.0]]))
    5.0
    >>> 0.1 * Ridge(2)
    0.1 * Ridge
    """

    def __init__(self, n_features: int) -> None:
        size = integer("n_features", n_features, at_least=1)
        super().__init__(np.zeros((size, size)), 1.0)


class NoLearning(Quadratic):
    """``½ ‖M - I‖² + K/2``: its optimum is the Euclidean metric, or the multiple of it in the set.

    Learners choose between it and other objectives of samples and labels, which it ignores.
    """

    # Learners ask signatures who takes weights.
    def __init__(self, X: Any, _y: Any, *, sample_weight: Any = None) -> None:  # noqa: ARG002
        size = np.shape(X)[1]
        what, remedy = f"the objective 'none' of {size} features", "leave it out"
        check_fits(8.0 * _ARRAYS * size**2, what, remedy)
        super().__init__(-np.eye(size), 1.0, size)

    def auto_trace_bound(self) -> float:
        """Return K, the trace of the identity."""
        return float(self.n_features)


class Linear(Quadratic):
    """A linear function of the metric: ``Q(M) = ⟨A, M⟩ = Σ_ij A_ij M_ij``.

    If the rows of D are differences of pairs of samples, ``A = D'D`` gives the sum of their squared
    distances.

    Parameters
    ----------
    A : array-like of shape (K, K)
        Symmetric.

    Raises
    ------
    InvalidInputError
        For NaN or infinite values, or a matrix that is not symmetric.

    Examples
    --------
    >>> Linear([[1.0, 0.0], [0.0, 3.0]]).value(np.eye(2))
    4.0
    """

    def __init__(self, A: Any) -> None:
        super().__init__(symmetric_matrix("A", A), 0.0)
