"""Maximum likelihood of a Gaussian's precision matrix: the log-determinant objective."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import eigvalsh
from scipy.linalg.lapack import dpotrf, dtrtri

from gdaopt.errors import InvalidInputError
from gdaopt.linalg.atoms import Atoms, best_pairs, least_pair_price
from gdaopt.linalg.entries import Edges, all_edges
from gdaopt.linalg.laplacian import maximum_spanning_tree, with_bridges
from gdaopt.objectives.base import Objective
from gdaopt.objectives.matrix_point import FactoredPoint, semidefinite_bytes
from gdaopt.objectives.protocol import Expression, NewtonModel, Terms
from gdaopt.objectives.round_off import UNIT, RoundOff
from gdaopt.support.cvxpy_loading import cp
from gdaopt.support.validation import FloatArray, read_only, symmetric_matrix

_SMALL_DRIFT = 1e-8  # the square of such a drift of L'YL is round-off
_LARGEST_CORRELATION = 1 - 1e-10  # an edge of the first metric has at most that
_SMALLEST_VARIANCE = 1e-290  # under such edges: so the first metric is finite
_LARGEST_RESIDUAL = 0.5  # ‖L'YL - I‖, beyond which an inverse Y says nothing


class LogDetPoint(FactoredPoint):
    """The objective at a metric."""

    objective: LogDet

    @cached_property
    def value(self) -> float:
        if self.factor is None:
            return math.inf
        log_det = 2 * float(np.log(np.diagonal(self.factor)).sum())
        return float(np.vdot(self.objective.covariance, self.metric)) - log_det

    def gradient(self) -> FloatArray:
        """Return ``S - M⁻¹``."""
        return self.objective.covariance - self.inverse

    def round_off(self) -> RoundOff:
        """Return how exact value and gradient are ("Lemma: round-off of the log-determinant")."""
        covariance, inverse, factor = self.objective.covariance, self.inverse, self.factor
        if factor is None:
            return RoundOff(math.inf, np.zeros(len(self.metric)))
        size = len(factor)
        of_factor = np.abs(factor) @ np.abs(factor.T)
        condition = (size + 8) * UNIT * float(np.vdot(np.abs(inverse), of_factor))
        # Y need not be the exact inverse of M: any Y gives a tangent, a better one the nearer L'YL
        # is to I.
        residual = factor.T @ inverse @ factor - np.eye(size)
        noise = np.abs(factor.T) @ np.abs(inverse) @ np.abs(factor)
        distance = float(np.linalg.norm(residual) + 3 * size * UNIT * np.linalg.norm(noise))
        # So Y may be S - G for the gradient G as it was rounded, which is then exact, unless that
        # costs digits; `excess` makes up for entries of S that are larger than a covariance's.
        gradient = np.abs(self.gradient())
        rounded = np.abs(factor.T) @ gradient @ np.abs(factor)
        drift = 2 * UNIT * float(np.linalg.norm(rounded))
        errors = np.zeros(size)
        if drift <= _SMALL_DRIFT:
            distance += drift
        else:
            roots = np.sqrt(np.maximum(np.diagonal(covariance), 0)) + np.sqrt(np.diagonal(inverse))
            excess = float((gradient / np.outer(roots, roots)).max())
            errors = math.sqrt(UNIT * max(excess, 1.0)) * roots
        if not distance <= _LARGEST_RESIDUAL:
            return RoundOff(math.inf, np.zeros(size))
        logarithms = float(np.abs(np.log(np.diagonal(factor))).sum())
        terms = float(np.abs(covariance * self.metric).sum()) + 2 * logarithms + abs(self.value)
        return RoundOff((size**2 + 4) * UNIT * terms + condition + distance**2, errors)

    def curvature(self, atoms: Atoms) -> FloatArray:
        """Return ``(u_k' M⁻¹ u_l)²``."""
        projected = atoms.projected(self.inverse)
        return atoms.projected(projected.T) ** 2

    @property
    def linear(self) -> FloatArray:
        return self.objective.covariance

    def conjugate(self, dual: FloatArray) -> tuple[float, float]:
        """Return ``K + log det W`` ("Proposition: dual certificate")."""
        factor, failed = dpotrf(dual, lower=1, clean=1)
        if failed:
            return -math.inf, 0.0
        size, logarithms = len(dual), np.log(np.diagonal(factor))
        # The factor is that of W + E with |E_ij| at most (K + 8) u times the roots of W_ii W_jj.
        turned = np.abs(dtrtri(factor, lower=1)[0]) @ np.sqrt(np.diagonal(dual))
        rounded = (size + 8) * UNIT * float(turned @ turned)
        if not rounded <= _LARGEST_RESIDUAL:
            return -math.inf, 0.0
        sizes = size + 2 * float(np.abs(logarithms).sum())
        return size + 2 * float(logarithms.sum()), 2 * rounded + (size + 8) * UNIT * sizes

    def newton_model(self, units: FloatArray, dtype: type) -> NewtonModel:
        """Return ``Y ↦ M⁻¹ Y M⁻¹`` and its inverse ``Y ↦ M Y M``."""
        products = np.outer(units, units)
        exact = self.inverse * products
        diagonal = np.diagonal(exact)
        inverse: Any = exact.astype(dtype)
        metric: Any = (self.metric / products).astype(dtype)
        return NewtonModel(
            lambda matrix: inverse @ matrix @ inverse,
            lambda matrix: metric @ matrix @ metric,
            np.outer(diagonal, diagonal) + exact**2,
        )

    def along(self, turned: FloatArray) -> tuple[FloatArray, float]:
        return np.asarray(eigvalsh(turned, check_finite=False), dtype=np.float64), 1.0

    @staticmethod
    def terms(stretches: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return ``-log(1 + s)`` and its derivatives."""
        inverse = 1 / (1 + stretches)
        return -np.log1p(stretches), -inverse, inverse**2

    def scaled(self, factor: float) -> LogDetPoint:
        """Return the point at a multiple of M, without another factorisation."""
        point = LogDetPoint(self.objective, factor * self.metric)
        point.factor = None if self.factor is None else self.factor * math.sqrt(factor)
        point.inverse = self.inverse / factor
        return point


class LogDet(Objective):
    """Negative log-likelihood of a Gaussian: ``Q(M) = tr(S M) - log det M``, infinite off M ≻ 0.

    M is the precision matrix, S the samples' covariance matrix (divide by the number of samples).
    Over all positive definite matrices the minimiser is ``S⁻¹``; over `gdaopt.GraphMetrics` it is
    the maximum-likelihood estimate of a generalised Laplacian, that is of an attractive
    Gauss–Markov random field. For either, choose a trace bound that does not bind.

    Over graph metrics an ℓ1 penalty on the edges is linear, ``Σ_ij Λ_ij |M_ij| = -⟨Λ, M⟩`` for Λ
    with the diagonal 0. So ``LogDet(S - Λ)`` includes the penalty, with a weight of its own for
    each edge.

    Parameters
    ----------
    S : array-like of shape (K, K)
        Symmetric. It may have negative eigenvalues: the trace bound of every set of metrics keeps
        the objective bounded below ("Proposition: the log-determinant is bounded").

    Raises
    ------
    InvalidInputError
        For NaN or infinite values, or a matrix that is not symmetric.

    Notes
    -----
    Source: Egilmez, Pavez, Ortega, *Graph learning from data under Laplacian and structural
    constraints*, IEEE JSTSP 11(6), 2017. With ``S = I + η X'LX``, where L is the Laplacian of the
    graph of similar (1) and dissimilar (-1) pairs of samples, and one weight for all edges it is
    SDML: Qi, Tang, Zha, Chua, Zhang, *An efficient sparse metric learning in high-dimensional space
    via ℓ1-penalized log-determinant regularization*, ICML 2009.

    Examples
    --------
    >>> import gdaopt as gda
    >>> log_det = LogDet([[2.0, 0.0], [0.0, 0.5]])
    >>> problem = gda.MetricProblem(log_det, gda.DiagonalMetrics(trace_bound=100.0))
    >>> gda.solve(problem, "certified").metric.round(6)
    array([[0.5, 0. ],
           [0. , 2. ]])
    """

    barrier = True
    tested = True

    def __init__(self, S: Any) -> None:
        self.covariance = read_only(symmetric_matrix("S", S))
        self.n_features = len(self.covariance)

    def at(self, metric: FloatArray) -> LogDetPoint:
        return LogDetPoint(self, symmetric_matrix("metric", metric, self.n_features))

    def first_metric(self, feasible: Callable[[FloatArray], FloatArray]) -> FloatArray:
        """Return the optimum over a spanning forest of the largest correlations, or else I."""
        variances = np.diagonal(self.covariance)
        if not variances.min() > _SMALLEST_VARIANCE:
            return np.eye(self.n_features)
        roots = np.sqrt(variances)
        correlations = np.abs(feasible(-self.covariance)) / np.outer(roots, roots)
        rows, columns = maximum_spanning_tree(-correlations).T
        is_edge = correlations[rows, columns] <= _LARGEST_CORRELATION
        edges = rows[is_edge], columns[is_edge]
        return with_bridges(np.diag(1 / variances), variances, edges, self.covariance)

    def auto_trace_bound(self) -> float:
        """Return a bound of the optimum's trace over graph metrics (see ``largest_trace``)."""
        return largest_trace(self.covariance, all_edges(self.n_features))

    def lipschitz(self, min_eigenvalue: float) -> float | None:
        """Return ``1/ρ²``; None for ρ = 0."""
        return min_eigenvalue**-2 if min_eigenvalue > 0 else None

    def to_cvxpy(self, metric: Expression) -> Terms:
        # The trace of a product of one feature fails in CVXPY 1.8.
        return cp.sum(cp.multiply(self.covariance, metric)) - cp.log_det(metric), []

    def conic_bytes(self) -> float:
        return semidefinite_bytes(self.n_features)


def largest_trace(covariance: FloatArray, edges: Edges) -> float:
    """Return a bound by "Proposition: trace of the most likely metric", which must exist."""
    variances = np.diagonal(covariance)
    least = min(float(variances.min()), least_pair_price(covariance, edges))
    if least > 0:
        return len(covariance) / least
    why = f"feature {variances.argmin()} has no variance; leave it out"
    if variances.min() > 0:
        rows, columns, _ = best_pairs(covariance, 1, edges)
        why = (
            f"features {rows[0]} and {columns[0]} are perfectly correlated; leave one of them out, "
            "or penalise the edge between them"
        )
    raise InvalidInputError(f"the likelihood has no maximum over graph metrics: {why}")
