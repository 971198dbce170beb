"""Points of objectives that are evaluated at the K×K metric, not at distances of samples."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky, eigh, eigvalsh, solve_triangular

from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.directions import Direction
from gdaopt.linalg.entries import IndexArray
from gdaopt.objectives.protocol import BarrierPoint, Line, Point
from gdaopt.support.deadline import check_time
from gdaopt.support.validation import FloatArray, read_only

_BYTES_PER_ENTRY = 25  # of the squared number of a semidefinite matrix's entries; CLARABEL, K = 60


class MatrixPoint(Point, ABC):
    """An objective at a metric, which becomes read-only: all is computed of the dense gradient.

    A subclass writes the value, the gradient, the curvature and the line. No point is made when the
    time is up (see `gdaopt.support.deadline`), so that loops of evaluations need not ask for it.
    """

    def __init__(self, objective: Any, metric: FloatArray) -> None:
        check_time()
        self.objective = objective
        self._metric = read_only(metric)

    @property
    def metric(self) -> FloatArray:
        return self._metric

    def gradient_entries(self, rows: IndexArray, columns: IndexArray) -> FloatArray:
        return self.gradient()[rows, columns]

    def slopes(self, atoms: Atoms) -> FloatArray:
        return atoms.quadratic_forms(self.gradient())

    def degenerate_reason(self) -> str | None:
        return None if math.isfinite(self.value) else f"the objective is {self.value}"


class MatrixLine(Line, ABC):
    """The objective of a `MatrixPoint` along a direction."""

    def __init__(self, start: MatrixPoint, direction: Direction) -> None:
        self.start = start
        self.direction = direction

    def at(self, gamma: float) -> MatrixPoint:
        start = self.start
        return type(start)(start.objective, self.direction.added_to(start.metric, gamma))


class FactoredPoint(MatrixPoint, BarrierPoint):
    """A point of an objective that is finite for positive definite metrics only."""

    @cached_property
    def factor(self) -> FloatArray | None:
        """The lower Cholesky factor of the metric, None where it is not positive definite."""
        try:
            factor: FloatArray = cholesky(self.metric, lower=True, check_finite=False)
        except LinAlgError:
            return None
        return factor

    @cached_property
    def inverse(self) -> FloatArray:
        """``M⁻¹``, NaN where the metric is not positive definite."""
        if self.factor is None:
            return np.full_like(self.metric, math.nan)
        inverse = cho_solve((self.factor, True), np.eye(len(self.metric)), check_finite=False)
        return (inverse + inverse.T) / 2

    def in_factor_coordinates(self, matrix: FloatArray) -> FloatArray:
        """Return ``L⁻¹ A L⁻ᵀ`` for a symmetric A, NaN where there is no factor L."""
        if self.factor is None:
            return np.full_like(matrix, math.nan)
        half = solve_triangular(self.factor, matrix, lower=True, check_finite=False)
        whole = solve_triangular(self.factor, half.T, lower=True, check_finite=False)
        return (whole + whole.T) / 2

    def degenerate_reason(self) -> str | None:
        if self.factor is None:
            return "the metric is not positive definite, so that the objective is not finite"
        return None


class FactoredLine(MatrixLine):
    """The objective of a `FactoredPoint` along D: ``φ(0) + γ ⟨A, D⟩`` and terms of ``γ λ_i``.

    λ are the eigenvalues of D in the coordinates of the metric's factor L, NaN without one: a trial
    step costs O(K), and leaves the cone where ``γ λ_i ≤ -1``. The weights are the diagonal of
    ``L⁻¹ W L⁻ᵀ`` for a matrix W, in the coordinates of the eigenvectors of λ.
    """

    start: FactoredPoint

    def __init__(
        self, start: FactoredPoint, direction: Direction, weights: FloatArray | None = None
    ) -> None:
        super().__init__(start, direction)
        self._matrix = weights

    @cached_property
    def _slope(self) -> float:
        return self.direction.inner(self.start.linear)

    @cached_property
    def _decomposed(self) -> tuple[FloatArray, FloatArray]:
        """The eigenvalues and the weights."""
        start = self.start
        nothing = np.full(len(start.metric), math.nan)
        if start.factor is None:
            return nothing, nothing
        change = self.direction.added_to(np.zeros_like(start.metric), 1.0)
        turned = start.in_factor_coordinates(change)
        if self._matrix is None:
            return np.asarray(eigvalsh(turned, check_finite=False), dtype=np.float64), nothing
        found, vectors = eigh(turned, check_finite=False)
        weights = start.in_factor_coordinates(self._matrix)
        return np.asarray(found), ((weights @ vectors) * vectors).sum(axis=0)

    @property
    def _eigenvalues(self) -> FloatArray:
        return self._decomposed[0]

    @property
    def _weights(self) -> FloatArray:
        return self._decomposed[1]

    def value(self, gamma: float) -> float:
        stretches = gamma * self._eigenvalues
        if not stretches.min() > -1:
            return math.inf
        return self.start.value + gamma * self._slope + self._change(stretches)

    def derivatives(self, gamma: float) -> tuple[float, float]:
        stretches = gamma * self._eigenvalues
        if not stretches.min() > -1:
            return math.inf, math.inf
        slope, curvature = self._rates(stretches)
        return self._slope + slope, curvature

    @abstractmethod
    def _change(self, stretches: FloatArray) -> float:
        """Return the change of the terms, given all ``γ λ_i``."""

    @abstractmethod
    def _rates(self, stretches: FloatArray) -> tuple[float, float]:
        """Return the first and the second derivative of the terms."""


def semidefinite_bytes(n_features: int) -> float:
    """Return the estimated memory of an expression of CVXPY with a 2K×2K semidefinite matrix."""
    size = 2 * n_features
    return _BYTES_PER_ENTRY * (size * (size + 1) / 2) ** 2
