"""Geometric mean metric learning: distances of similar pairs, and inverse ones of dissimilar."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import eigh, eigvalsh
from scipy.linalg.lapack import dpotrf

from gdaopt.errors import InvalidInputError
from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.magnitudes import norm
from gdaopt.linalg.spectrum import smallest_eigenvalue
from gdaopt.objectives.base import Objective
from gdaopt.objectives.matrix_point import FactoredPoint, semidefinite_bytes
from gdaopt.objectives.protocol import Expression, NewtonModel, Terms
from gdaopt.objectives.round_off import UNIT, RoundOff
from gdaopt.support.cvxpy_loading import cp
from gdaopt.support.validation import FloatArray, read_only, symmetric_matrix

_DEFINITE = 1e-8  # D with such eigenvalues is definite, relative to its largest entry
_ROUND_OFF = 1e-10  # a smallest eigenvalue that little below 0 is 0, relatively


class GMMLPoint(FactoredPoint):
    """The objective at a metric."""

    objective: GMML

    @cached_property
    def value(self) -> float:
        if self.factor is None:
            return math.inf
        similar = float(np.vdot(self.objective.similar, self.metric))
        return similar + float(np.vdot(self.inverse, self.objective.dissimilar))

    @cached_property
    def pulled(self) -> FloatArray:
        """``M⁻¹ D M⁻¹``."""
        pulled = self.inverse @ self.objective.dissimilar @ self.inverse
        return (pulled + pulled.T) / 2

    def gradient(self) -> FloatArray:
        """Return ``S - M⁻¹ D M⁻¹``."""
        return self.objective.similar - self.pulled

    def round_off(self) -> RoundOff:
        """Return how exact value and gradient are ("Lemma: round-off of the geometric mean")."""
        size, D, S = len(self.metric), self.objective.dissimilar, self.objective.similar
        if self.factor is None:
            return RoundOff(math.inf, np.zeros(size))
        inverse, sizes = self.inverse, np.abs(self.inverse)
        residual = np.eye(size) - self.metric @ inverse
        drift = abs(float(np.vdot(D @ inverse, residual.T)))
        noise = float(np.vdot(np.abs(D), sizes @ np.abs(self.metric) @ sizes))
        terms = float(np.abs(S * self.metric).sum()) + float(np.abs(inverse * D).sum())
        value = drift + 4 * (size + 4) * UNIT * noise + (size**2 + 8) * UNIT * terms
        # |D_ij|² ≤ D_ii D_jj, and of a matrix E ≥ 0 entry (i, j) is at most g_i g_j for the roots
        # g of its largest entries.
        of_product = sizes @ np.sqrt(np.maximum(np.diagonal(D), 0.0))
        rows = np.abs(S).max(axis=1)
        return RoundOff(value, np.sqrt(UNIT * (2 * (size + 4) * of_product**2 + 2 * rows)))

    def curvature(self, atoms: Atoms) -> FloatArray:
        """Return ``2 (u_k' M⁻¹ u_l) (u_k' M⁻¹ D M⁻¹ u_l)``."""
        inverse, pulled = (
            atoms.projected(atoms.projected(matrix).T) for matrix in (self.inverse, self.pulled)
        )
        return 2 * inverse * pulled

    @property
    def linear(self) -> FloatArray:
        return self.objective.similar

    def conjugate(self, dual: FloatArray) -> tuple[float, float]:
        """Return ``2 tr (L'DL)^½`` for ``W = LL'`` ("Proposition: dual certificate")."""
        factor, failed = dpotrf(dual, lower=1, clean=1)
        if failed:
            return -math.inf, 0.0
        D, size = self.objective.dissimilar, len(dual)
        # W's sums and its factor are off by at most (K + 2) u |L| |L'|, which moves no eigenvalue
        # by more than this norm, and neither do products and eigenvalues.
        sizes = np.abs(factor)
        products = norm(sizes.T @ np.abs(D) @ sizes)
        if not math.isfinite(products):
            return -math.inf, 0.0
        values = eigvalsh(factor.T @ D @ factor, check_finite=False)
        least = np.maximum(values - 8 * (size + 4) * UNIT * products, 0.0)
        value = 2 * float(np.sqrt(np.maximum(values, 0.0)).sum())
        return value, value - 2 * float(np.sqrt(least).sum())

    def newton_model(self, units: FloatArray, dtype: type) -> NewtonModel:
        """Return ``Y ↦ P Y R + R Y P`` with ``P = M⁻¹`` and ``R = M⁻¹ D M⁻¹``, and its inverse."""
        products = np.outer(units, units)
        exact = [self.inverse * products, self.pulled * products]
        of_inverse, of_pulled = (np.diagonal(matrix) for matrix in exact)
        inverse: Any = exact[0].astype(dtype)
        pulled: Any = exact[1].astype(dtype)
        # P = EE' and R = E diag(d) E', so that both are diagonal between E and its transpose.
        values, vectors = eigh(self.in_factor_coordinates(self.objective.dissimilar))
        assert self.factor is not None
        turned: Any = ((self.factor @ vectors) / units[:, None]).astype(dtype)
        sums: Any = np.add.outer(values, values).astype(dtype)

        def hessian(matrix: Any) -> Any:
            half = inverse @ matrix @ pulled
            return half + half.T

        return NewtonModel(
            hessian,
            lambda matrix: turned @ ((turned.T @ matrix @ turned) / sums) @ turned.T,
            np.outer(of_inverse, of_pulled)
            + np.outer(of_pulled, of_inverse)
            + 2 * exact[0] * exact[1],
        )

    def along(self, turned: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return λ, and the diagonal of ``L⁻¹ D L⁻ᵀ`` in the coordinates of its eigenvectors."""
        eigenvalues, vectors = eigh(turned, check_finite=False)
        weights = self.in_factor_coordinates(self.objective.dissimilar)
        return np.asarray(eigenvalues), ((weights @ vectors) * vectors).sum(axis=0)

    @staticmethod
    def terms(stretches: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return ``1/(1 + s) - 1`` and its derivatives."""
        inverse = 1 / (1 + stretches)
        return -stretches * inverse, -(inverse**2), 2 * inverse**3


class GMML(Objective):
    """Geometric mean metric learning: ``Q(M) = tr(M S) + tr(M⁻¹ D)``, infinite off M ≻ 0.

    For differences of similar pairs of samples in the rows of A and of dissimilar pairs in the rows
    of B, ``S = A'A`` and ``D = B'B``: similar pairs should be near under M, dissimilar ones under
    the inverse. Over all positive definite matrices the minimiser is the geometric mean of ``S⁻¹``
    and D (`gdaopt.estimators.baselines.GeometricMeanMetric`); choose a trace bound that does not
    bind. Over other sets there is no closed form.

    Parameters
    ----------
    S : array-like of shape (K, K)
        Symmetric.
    D : array-like of shape (K, K)
        Symmetric and positive semidefinite.

    Raises
    ------
    InvalidInputError
        For matrices of different sizes, or a D with a negative eigenvalue.

    Notes
    -----
    Source: Zadeh, Hosseini, Sra, *Geometric mean metric learning*, ICML 2016.

    Examples
    --------
    >>> import gdaopt as gda
    >>> gmml = GMML([[4.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 9.0]])
    >>> problem = gda.MetricProblem(gmml, gda.GraphMetrics(trace_bound=100.0))
    >>> gda.solve(problem, "certified").metric.round(4)
    array([[0.5, 0. ],
           [0. , 3. ]])
    """

    tested = True

    def __init__(self, S: Any, D: Any) -> None:
        similar = symmetric_matrix("S", S)
        dissimilar = symmetric_matrix("D", D, len(similar))
        smallest = smallest_eigenvalue(dissimilar)
        if smallest < -_ROUND_OFF * np.abs(dissimilar).max():
            raise InvalidInputError(
                f"D must be positive semidefinite, its smallest eigenvalue is {smallest:.6g}; pass "
                "a sum of products d d' of differences of samples"
            )
        # Round-off may have left eigenvalues below 0, with which Q would not be convex.
        raised = dissimilar + max(0.0, -smallest) * np.eye(len(dissimilar))
        self.similar, self.dissimilar = read_only(similar), read_only(raised)
        self.n_features = len(similar)
        # Along the null space of D a metric may become singular, at a finite value.
        self.barrier = smallest > _DEFINITE * np.abs(dissimilar).max()

    def at(self, metric: FloatArray) -> GMMLPoint:
        return GMMLPoint(self, symmetric_matrix("metric", metric, self.n_features))

    def first_metric(self, _feasible: Callable[[FloatArray], FloatArray], /) -> FloatArray:
        """Return the optimum over diagonal metrics, or the identity matrix if it has none."""
        of_similar, of_dissimilar = np.diagonal(self.similar), np.diagonal(self.dissimilar)
        if not (of_similar.min() > 0 and of_dissimilar.min() > 0):
            return np.eye(self.n_features)
        start: FloatArray = np.diag(np.sqrt(of_dissimilar / of_similar))
        return start

    def lipschitz(self, min_eigenvalue: float) -> float | None:
        """Return ``2 ‖D‖ / ρ³`` with the largest eigenvalue of D; None for ρ = 0."""
        if not min_eigenvalue > 0:
            return None
        return -2 * smallest_eigenvalue(-self.dissimilar) / min_eigenvalue**3

    def to_cvxpy(self, metric: Expression) -> Terms:
        values, vectors = eigh(self.dissimilar)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        # The trace of a product of one feature fails in CVXPY 1.8.
        return cp.sum(cp.multiply(self.similar, metric)) + cp.matrix_frac(root, metric), []

    def conic_bytes(self) -> float:
        return semidefinite_bytes(self.n_features)
