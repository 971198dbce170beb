"""Objectives and certificates in 50 digits, for whatever was computed in float64.

All numbers are `mpmath` numbers in NumPy arrays of objects: a float becomes one without any error.
"""

from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt

import gdaopt as gda
from gdaopt.sets import FeasibleSet
from gdaopt.support.validation import FloatArray

mpmath.mp.dps = 50

Exact = npt.NDArray[np.object_]


def exact(values: Any) -> Exact:
    """Return floats as exact numbers, and exact numbers as they are."""
    array = np.asarray(values)
    if array.dtype == object:
        return array
    array = array.astype(np.float64)
    numbers = np.empty(array.shape, dtype=object)
    numbers.ravel()[:] = [mpmath.mpf(float(value)) for value in array.ravel()]
    return numbers


def eigenvalues(matrix: Exact) -> list[Any]:
    """Return the eigenvalues of a symmetric matrix, ascending."""
    return sorted(mpmath.eigsy(mpmath.matrix(matrix.tolist()), eigvals_only=True))


class ExactGLR:
    """The regulariser, of all pairs or of those of a list; z is a matrix."""

    log_convex = True

    def __init__(
        self, X: FloatArray, z: FloatArray, sample_weight: FloatArray, pairs: Any = None
    ) -> None:
        left, right = np.triu_indices(len(X), 1) if pairs is None else np.array(pairs).T
        x, y, s = exact(X), exact(z), exact(sample_weight)
        self.differences = x[left] - x[right]
        self.weights = 2 * s[left] * s[right] * ((y[left] - y[right]) ** 2).sum(axis=1)

    def at(self, metric: Exact) -> tuple[Any, Exact]:
        """Return the value and the gradient."""
        d = self.differences
        distances = ((d @ metric) * d).sum(axis=1)
        terms = self.weights * np.array([mpmath.exp(-distance) for distance in distances])
        return terms.sum(), -(d.T * terms) @ d


class ExactLogDet:
    """The log-determinant objective."""

    log_convex = False

    def __init__(self, S: FloatArray) -> None:
        self.covariance = exact(S)

    def at(self, metric: Exact) -> tuple[Any, Exact]:
        """Return the value and the gradient."""
        return self.tangent(metric, inverse(metric))

    def tangent(self, metric: Exact, slope: Exact) -> tuple[Any, Exact]:
        """Return, at a metric, the value and the gradient of the tangent of gradient ``S - Y``.

        It touches the objective at ``Y⁻¹``: Y is the inverse of the metric but for round-off.
        """
        gradient = self.covariance - slope
        log_det = mpmath.log(mpmath.det(mpmath.matrix(slope.tolist())))
        return len(metric) + log_det + (gradient * metric).sum(), gradient


def factor(matrix: Exact) -> Exact:
    """Return the lower Cholesky factor; ValueError where the matrix is not positive definite."""
    rest, columns = matrix, []
    for k in range(len(matrix)):
        if not rest[k, k] > 0:
            raise ValueError
        columns.append(rest[:, k] / mpmath.sqrt(rest[k, k]))
        rest = rest - np.outer(columns[k], columns[k])
        rest[: k + 1] = rest[:, : k + 1] = mpmath.mpf(0)
    return np.array(columns, dtype=object).T


def log_det(matrix: Exact) -> Any:
    """Return the logarithm of the determinant; -inf where the matrix is not positive definite."""
    try:
        return 2 * sum(mpmath.log(each) for each in np.diagonal(factor(matrix)))
    except ValueError:
        return -mpmath.inf


def likelihood(S: Any, metric: Any) -> Any:
    """Return ``⟨S, M⟩ - log det M``; infinite where the metric is not positive definite."""
    M = exact(metric)
    return (exact(S) * M).sum() - log_det(M)


def optimum_of_forest(S: Any, edges: list[tuple[int, int]]) -> Any:
    """Return the least likelihood over graph metrics of a forest ("Proposition: bridges")."""
    exact_S = exact(S)
    parts = [1 + mpmath.log(variance) for variance in np.diagonal(exact_S)]
    parts += [
        mpmath.log(1 - exact_S[i, j] ** 2 / (exact_S[i, i] * exact_S[j, j]))
        for i, j in edges
        if exact_S[i, j] > 0
    ]
    return sum(parts)


def inverse(matrix: Exact) -> Exact:
    """Return the inverse."""
    found = mpmath.matrix(matrix.tolist()) ** -1
    return np.array(found.tolist(), dtype=object).reshape(matrix.shape)


def base_and_budget(feasible_set: FeasibleSet, size: int) -> tuple[Exact, Any]:
    """Return B and τ."""
    base = exact(feasible_set.base(size))
    for i in range(size):  # the only entries that are rounded
        edges = (abs(base[i, j]) for j in range(size) if j != i)
        base[i, i] = sum(edges, mpmath.mpf(feasible_set.min_eigenvalue))
    return base, mpmath.mpf(feasible_set.trace_bound) - np.trace(base)


def least_price(feasible_set: FeasibleSet, gradient: Exact) -> Any:
    """Return the least price of all atoms ("Proposition: one oracle for all sets")."""
    size = len(gradient)
    diagonal = [gradient[i, i] for i in range(size)]
    if isinstance(feasible_set, gda.DiagonalMetrics):
        return min(diagonal)
    if isinstance(feasible_set, gda.PositiveDefiniteMetrics):
        return eigenvalues(gradient)[0]
    is_sdd = isinstance(feasible_set, gda.SDDMetrics)
    colors = getattr(feasible_set, "colors", None) or [0 if is_sdd else 1] * size
    prices = list(diagonal)
    for i in range(size):
        for j in range(i):
            sign = int(colors[i] * colors[j])
            if sign * gradient[i, j] > 0 or sign == 0:
                half, middle = (diagonal[i] - diagonal[j]) / 2, (diagonal[i] + diagonal[j]) / 2
                prices.append(middle - mpmath.sqrt(half**2 + gradient[i, j] ** 2))
    return min(prices)


def lower_bound(
    feasible_set: FeasibleSet, metric: Exact, value: Any, gradient: Exact, log_convex: bool
) -> Any:
    """Return the bound of the certificate at a metric, from the value and the gradient there."""
    base, budget = base_and_budget(feasible_set, len(metric))
    least = budget * min(mpmath.mpf(0), least_price(feasible_set, gradient))
    gap = (gradient * (metric - base)).sum() - least
    return value * mpmath.exp(-gap / value) if log_convex else value - gap


def member(feasible_set: FeasibleSet, result: gda.Result) -> Exact:
    """Return the member of the set that is next to the metric of a result of `certified`."""
    assert result.atoms is not None
    assert result.weights is not None
    base, budget = base_and_budget(feasible_set, result.atoms.shape[1])
    atoms = exact(result.atoms)
    above = (atoms.T * exact(result.weights)) @ atoms
    total = np.trace(above)
    found: Exact = base + above * (budget / total if total > budget else mpmath.mpf(1))
    return found
