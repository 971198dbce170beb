"""Points of objectives that are evaluated at the K×K metric, not at distances of samples."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, Generic, Self, TypeVar

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky, solve_triangular

from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.directions import Direction
from gdaopt.linalg.entries import Edges
from gdaopt.linalg.masked import MaskedMatrix
from gdaopt.objectives.sums import Summable
from gdaopt.support.validation import FloatArray, read_only, symmetric_matrix

__all__ = ["FactoredPoint", "MatrixObjective", "MatrixPoint", "semidefinite_bytes"]

_BYTES_PER_ENTRY = 25  # of the squared number of a semidefinite matrix's entries; CLARABEL, K = 60


class MatrixPoint(ABC):
    """An objective at one metric: everything comes from the dense gradient.

    A subclass writes the value, the gradient, the curvature and the line.

    Parameters
    ----------
    objective : object
        The objective.
    metric : ndarray of shape (K, K)
        M, which becomes read-only.
    """

    def __init__(self, objective: Any, metric: FloatArray) -> None:
        self.objective = objective
        self.metric = read_only(metric)

    @property
    @abstractmethod
    def value(self) -> float:
        """``Q(M)``, infinite outside of Q's domain."""

    @abstractmethod
    def gradient(self) -> FloatArray:
        """Return ``∇Q(M)``, symmetric K×K."""

    @abstractmethod
    def curvature(self, atoms: Atoms) -> FloatArray:
        """Return ``∇²Q(M)[u_k u_k', u_l u_l']``, shape (n, n)."""

    def gradient_diagonal(self) -> FloatArray:
        """Return the diagonal of the gradient."""
        return np.diagonal(self.gradient()).copy()

    def gradient_column(self, column: int) -> FloatArray:
        """Return one column of the gradient."""
        return self.gradient()[:, column].copy()

    def gradient_entries(self, edges: Edges) -> MaskedMatrix:
        """Return the gradient's diagonal and its entries of edges."""
        return MaskedMatrix.of(self.gradient(), edges)

    def slopes(self, atoms: Atoms) -> FloatArray:
        """Return ``u_k' ∇Q u_k``."""
        return atoms.quadratic_forms(self.gradient())

    def moved(self, direction: Direction, gamma: float) -> Self:
        """Return the point at ``M + γ D``."""
        return type(self)(self.objective, direction.added_to(self.metric, gamma))

    def vanished(self) -> str | None:
        """Say where the value is not finite."""
        return None if math.isfinite(self.value) else f"the objective is {self.value}"


PointT = TypeVar("PointT", bound=MatrixPoint)


class MatrixObjective(Summable, ABC, Generic[PointT]):
    """Base of the package's own objectives of the matrix.

    A subclass writes its points, its CVXPY expression and its Lipschitz constant.
    """

    log_convex = False
    tested = True
    point: type[PointT]
    """The class of its points."""

    @property
    @abstractmethod
    def n_features(self) -> int:
        """K, the size of the metric matrices."""

    def at(self, metric: FloatArray) -> PointT:
        """Return the point at a symmetric K×K matrix."""
        return self.point(self, symmetric_matrix("metric", metric, self.n_features))

    def value(self, metric: FloatArray) -> float:
        """Return ``Q(M)``, infinite outside of Q's domain."""
        return self.at(metric).value

    def gradient(self, metric: FloatArray) -> FloatArray:
        """Return ``∇Q(M)``, symmetric K×K."""
        return self.at(metric).gradient()


class FactoredPoint(MatrixPoint):
    """A point of an objective that is finite for positive definite metrics only.

    It needs the Cholesky factor of the metric and its inverse, and along a direction the
    eigenvalues of the direction in the coordinates of that factor.
    """

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

    def direction_in_factor_coordinates(self, direction: Direction) -> FloatArray:
        """Return ``L⁻¹ D L⁻ᵀ``: its eigenvalues say where the line leaves the cone."""
        return self.in_factor_coordinates(direction.added_to(np.zeros_like(self.metric), 1.0))

    def vanished(self) -> str | None:
        """Say where the objective is infinite."""
        if self.factor is None:
            return "the metric is not positive definite, so that the objective is not finite"
        return None


def semidefinite_bytes(n_features: int) -> float:
    """Return an estimate of the memory of an expression with a 2K×2K semidefinite matrix."""
    size = 2 * n_features
    return _BYTES_PER_ENTRY * (size * (size + 1) / 2) ** 2
