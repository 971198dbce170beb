"""Points of objectives that are evaluated at the K×K metric, not at distances of samples."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky, solve_triangular

from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.directions import Direction
from gdaopt.linalg.entries import IndexArray
from gdaopt.objectives.protocol import BarrierPoint, Line, Point
from gdaopt.support.deadline import check_time
from gdaopt.support.validation import FloatArray, read_only

_BYTES_PER_ENTRY = 25  # times the squared number of entries; CLARABEL, K = 60


class MatrixPoint(Point, ABC):
    """An objective at a metric, which becomes read-only; all comes from the dense gradient.

    A subclass writes the value, the gradient, the curvature and the line. When the time is up, no
    point is made (see `gdaopt.support.deadline`), so that loops of evaluations need not check it.
    """

    def __init__(self, objective: Any, metric: FloatArray) -> None:
        check_time()
        self.objective = objective
        self.metric = read_only(metric)

    def gradient_entries(self, rows: IndexArray, columns: IndexArray) -> FloatArray:
        return self.gradient()[rows, columns]

    def slopes(self, atoms: Atoms) -> FloatArray:
        return atoms.quadratic_forms(self.gradient())

    def degenerate_reason(self) -> str | None:
        return None if math.isfinite(self.value) else f"the objective is {self.value}"


class MatrixLine(Line, ABC):
    """The objective of a `MatrixPoint` along a direction."""

    def __init__(self, point: MatrixPoint, direction: Direction) -> None:
        self.point = point
        self.direction = direction

    def at(self, gamma: float) -> MatrixPoint:
        point = self.point
        return type(point)(point.objective, self.direction.added_to(point.metric, gamma))


class FactoredPoint(MatrixPoint, BarrierPoint):
    """A point of an objective that is finite for positive definite metrics only."""

    @cached_property
    def factor(self) -> FloatArray | None:
        """The lower Cholesky factor of the metric, None if it is not positive definite."""
        try:
            factor: FloatArray = cholesky(self.metric, lower=True, check_finite=False)
        except LinAlgError:
            return None
        return factor

    @cached_property
    def inverse(self) -> FloatArray:
        """``M⁻¹``, NaN if the metric is not positive definite."""
        if self.factor is None:
            return np.full_like(self.metric, math.nan)
        inverse = cho_solve((self.factor, True), np.eye(len(self.metric)), check_finite=False)
        return (inverse + inverse.T) / 2

    def in_factor_coordinates(self, matrix: FloatArray) -> FloatArray:
        """Return ``L⁻¹ A L⁻ᵀ`` for a symmetric A, NaN if there is no factor L."""
        if self.factor is None:
            return np.full_like(matrix, math.nan)
        half = solve_triangular(self.factor, matrix, lower=True, check_finite=False)
        whole = solve_triangular(self.factor, half.T, lower=True, check_finite=False)
        return (whole + whole.T) / 2

    def degenerate_reason(self) -> str | None:
        if self.factor is None:
            return "the metric is not positive definite, so that the objective is not finite"
        return None

    @abstractmethod
    def along(self, turned: FloatArray) -> tuple[FloatArray, FloatArray | float]:
        """Return the eigenvalues λ of a direction in these coordinates, and weights of terms."""

    @staticmethod
    @abstractmethod
    def terms(stretches: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the terms that a line adds up at all ``s = γ λ``, and two derivatives by s."""

    def line(self, direction: Direction) -> FactoredLine:
        return FactoredLine(self, direction)


class FactoredLine(MatrixLine):
    """``φ(γ) = φ(0) + γ ⟨A, D⟩ + Σ_i w_i t(γ λ_i)`` for a linear part A, along D.

    λ are the eigenvalues of D in the coordinates of the metric's factor L, NaN without one: a trial
    step costs O(K), and leaves the cone if some ``γ λ_i ≤ -1``.
    """

    point: FactoredPoint

    @cached_property
    def _slope(self) -> float:
        return self.direction.inner(self.point.linear)

    @cached_property
    def _spectrum(self) -> tuple[FloatArray, FloatArray | float]:
        """The eigenvalues and the weights."""
        point = self.point
        if point.factor is None:
            return np.full(len(point.metric), math.nan), 1.0
        change = self.direction.added_to(np.zeros_like(point.metric), 1.0)
        return point.along(point.in_factor_coordinates(change))

    def value(self, gamma: float) -> float:
        eigenvalues, weights = self._spectrum
        stretches = gamma * eigenvalues
        if not stretches.min() > -1:
            return math.inf
        terms, _, _ = self.point.terms(stretches)
        return self.point.value + gamma * self._slope + float((weights * terms).sum())

    def derivatives(self, gamma: float) -> tuple[float, float]:
        eigenvalues, weights = self._spectrum
        stretches = gamma * eigenvalues
        if not stretches.min() > -1:
            return math.inf, math.inf
        _, first, second = self.point.terms(stretches)
        rates = weights * eigenvalues
        return self._slope + float(rates @ first), float((rates * eigenvalues) @ second)


def semidefinite_bytes(n_features: int) -> float:
    """Return the estimated memory of an expression of CVXPY with a 2K×2K semidefinite matrix."""
    size = 2 * n_features
    return _BYTES_PER_ENTRY * (size * (size + 1) / 2) ** 2
