"""Points of objectives that are finite for positive definite metrics only.

They need the Cholesky factor of the metric and its inverse, and along a direction the eigenvalues
of the direction in the coordinates of that factor.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky, solve_triangular

from gdaopt.linalg.directions import Direction
from gdaopt.linalg.entries import Edges
from gdaopt.linalg.known_entries import KnownEntries
from gdaopt.support.validation import FloatArray, read_only

__all__ = ["FactoredPoint", "semidefinite_bytes"]

_BYTES_PER_ENTRY = 25  # of the squared number of a semidefinite matrix's entries; CLARABEL, K = 60


def semidefinite_bytes(n_features: int) -> float:
    """Return an estimate of the memory of an expression with a 2K×2K semidefinite matrix."""
    size = 2 * n_features
    return _BYTES_PER_ENTRY * (size * (size + 1) / 2) ** 2


class FactoredPoint(ABC):
    """What points share that factorise the metric; subclasses know value and gradient.

    Parameters
    ----------
    metric : ndarray of shape (K, K)
        M.
    """

    def __init__(self, metric: FloatArray) -> None:
        self.metric = read_only(metric)

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
        symmetric: FloatArray = (inverse + inverse.T) / 2
        return symmetric

    @property
    def log_value(self) -> float:
        """NaN: ``log Q`` is not convex, or Q may be negative."""
        return math.nan

    @abstractmethod
    def gradient(self) -> FloatArray:
        """Return ``∇Q(M)``."""

    def gradient_diagonal(self) -> FloatArray:
        """Return the diagonal of the gradient."""
        return np.diagonal(self.gradient()).copy()

    def gradient_column(self, column: int) -> FloatArray:
        """Return one column of the gradient."""
        return self.gradient()[:, column]

    def gradient_entries(self, edges: Edges) -> KnownEntries:
        """Return the gradient's diagonal and its entries of edges."""
        return KnownEntries.of(self.gradient(), edges)

    def in_factor_coordinates(self, matrix: FloatArray) -> FloatArray:
        """Return ``L⁻¹ A L⁻ᵀ`` for a symmetric A, NaN where there is no factor L."""
        if self.factor is None:
            return np.full_like(matrix, math.nan)
        half = solve_triangular(self.factor, matrix, lower=True, check_finite=False)
        whole = solve_triangular(self.factor, half.T, lower=True, check_finite=False)
        symmetric: FloatArray = (whole + whole.T) / 2
        return symmetric

    def direction_in_factor_coordinates(self, direction: Direction) -> FloatArray:
        """Return ``L⁻¹ D L⁻ᵀ``: its eigenvalues say where the line leaves the cone."""
        return self.in_factor_coordinates(direction.added_to(np.zeros_like(self.metric), 1.0))

    def vanished(self) -> str | None:
        """Say where the objective is infinite."""
        if self.factor is None:
            return "the metric is not positive definite, so that the objective is not finite"
        return None
