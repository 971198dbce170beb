"""Objectives and membership a second time: by their definitions, in NumPy's longest floats.

Of the package only the numbers are used that define a problem.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

import gdaopt as gda
from gdaopt.sets import FeasibleSet
from gdaopt.support.validation import FloatArray
from tests.fuzz.problems import Ingredients

__all__ = ["Bounds", "Number", "Reference", "cholesky", "inverse"]

LongArray = npt.NDArray[np.longdouble]

EPS = float(np.finfo(np.longdouble).eps)

ROUND_OFF = 1e-9  # what rounding may do to a value, as a share of the terms that cancel in it
ROUNDINGS = 64 * float(np.finfo(np.float64).eps)  # of samples, in their own size
TINY = 1e-300  # below, float64 loses digits
_SHARES = (0.0, *(EPS * 4.0 ** np.arange(math.log(1 / EPS, 4))), 1.0)


@dataclass(frozen=True)
class Number:
    """A value, and what a computation of the same in float64 can be asked for."""

    value: float
    error: float  # by how much the value itself may be wrong
    terms: float  # the sum of the terms that cancel in it
    sensitivity: float = 0.0  # to changes of the centred samples, each by its own size
    squares: float = 0.0  # what it would be made of by squares of samples, not by differences

    @property
    def allowance(self) -> float:
        """How far the same computation in float64 may be from this one."""
        return ROUND_OFF * self.terms + ROUNDINGS * self.sensitivity + self.error + TINY


@dataclass(frozen=True)
class Bounds:
    """The conditions of a set."""

    fixed: FloatArray  # what every member contains beside ρI
    signs: FloatArray  # of the off-diagonals beyond it; 0: they vanish, NaN: they are free
    trace_bound: float
    min_eigenvalue: float
    is_sdd: bool  # the comparison matrix has to be positive semidefinite, not only the matrix

    @classmethod
    def of(cls, feasible_set: FeasibleSet, size: int) -> Bounds:
        """Return the conditions that the fields of a set mean."""
        kinds = {"diagonal": 0.0, "definite": math.nan, "sdd": math.nan}
        colors = np.array(getattr(feasible_set, "colors", None) or np.ones(size), dtype=np.float64)
        edges = np.diag(np.full(size - 1, getattr(feasible_set, "path_weight", 0.0)), 1)
        edges += edges.T
        return cls(
            fixed=(np.diag(edges.sum(axis=1)) - edges) * np.outer(colors, colors),
            signs=kinds.get(feasible_set.name, -1.0) * np.outer(colors, colors),
            trace_bound=feasible_set.trace_bound,
            min_eigenvalue=feasible_set.min_eigenvalue,
            is_sdd=feasible_set.name == "sdd",
        )

    def in_cone(self, above: Any) -> Any:
        """Return the matrix that has to be positive semidefinite."""
        if not self.is_sdd:
            return above
        return np.where(np.eye(len(above), dtype=bool), above, -abs(above))

    def base(self) -> FloatArray:
        """Return what every member contains."""
        base: FloatArray = self.fixed + self.min_eigenvalue * np.eye(len(self.fixed))
        return base

    def excess(self, metric: FloatArray) -> dict[str, float]:
        """Return by how much each condition is broken, as a share of C; 0 where it holds."""
        above, off = metric - self.fixed, ~np.eye(len(metric), dtype=bool)
        entries, signs = above[off], self.signs[off]
        broken = {
            "symmetry": float(np.abs(metric - metric.T).max()),
            "signs": float(np.max(-signs * entries, initial=0.0, where=~np.isnan(signs))),
            "zeros": float(np.max(np.abs(entries), initial=0.0, where=signs == 0)),
            "trace": float(np.trace(metric)) - self.trace_bound,
            "eigenvalue": self.min_eigenvalue - float(np.linalg.eigvalsh(self.in_cone(above))[0]),
        }
        return {name: max(0.0, value) / self.trace_bound for name, value in broken.items()}

    def inside(self, metric: FloatArray) -> LongArray:
        """Return the member of the set next to a metric that breaks conditions by round-off.

        Entries of the wrong sign become 0. Then the metric is moved towards the middle of the set:
        as far as the trace asks for, and until a Cholesky factor proves the smallest eigenvalue.
        """
        identity = np.eye(len(metric), dtype=np.longdouble)
        fixed = self.fixed + self.min_eigenvalue * identity
        above = (metric.astype(np.longdouble) + metric.T) / 2 - fixed
        wrong = (identity == 0) & ((self.signs == 0) | (self.signs * above < 0))
        above = np.where(wrong, 0, above)
        budget = self.trace_bound - np.trace(fixed)
        middle = budget / (2 * len(metric)) * identity
        over = max(np.trace(above) - budget, np.longdouble(0))
        inside: LongArray = middle
        for share in _SHARES:
            share = max(share, over / (over + budget / 2))
            inside = (1 - share) * above + share * middle
            if cholesky(self.in_cone(inside)) is not None:
                break
        member: LongArray = inside + fixed
        return member


class Reference:
    """The objective of a problem, from its data."""

    def __init__(self, ingredients: Ingredients) -> None:
        self._ingredients = ingredients
        self._trace_bound = ingredients.feasible_set().trace_bound
        self.is_glr = ingredients.objective == "GLR"

    def at(self, metric: FloatArray | LongArray) -> Number:
        """Return the objective at a metric."""
        long = metric.astype(np.longdouble)
        return self._regulariser(long) if self.is_glr else self._log_det(long)

    def steepest(self, metric: FloatArray) -> float:
        """Return the largest entry on the gradient's diagonal."""
        long = metric.astype(np.longdouble)
        if not self.is_glr:
            factor = cholesky(long)
            inverted = math.inf if factor is None else inverse(factor)
            return float(np.diagonal(abs(self._covariance - inverted)).max())
        d, weights, _ = self._pairs
        parts = weights * np.exp(-(d @ long * d).sum(axis=1))
        return float((parts @ d**2).max(initial=0.0))

    def log_gradient(self, metric: FloatArray) -> FloatArray:
        """Return the gradient of the regulariser's logarithm, which does not underflow."""
        d, weights, _ = self._pairs
        exponents = np.log(weights) - (d @ metric.astype(np.longdouble) * d).sum(axis=1)
        parts = np.exp(exponents - exponents.max())
        gradient = -(d.T * (parts / parts.sum())) @ d
        symmetric: FloatArray = ((gradient + gradient.T) / 2).astype(np.float64)
        return symmetric

    @cached_property
    def _pairs(self) -> tuple[LongArray, LongArray, LongArray]:
        """The differences of the pairs, their weights in both orders, and the samples' sizes."""
        X, z = (array.astype(np.longdouble) for array in self._ingredients.samples())
        pairs, weight = self._ingredients.pairs(), self._ingredients.sample_weight()
        if pairs is None:
            pairs = np.argwhere(np.triu(np.ones((len(X), len(X))), 1))
        left, right = pairs.T
        weights = 2 * ((z[left] - z[right]) ** 2).sum(axis=1)
        if weight is not None:
            weights = weights * weight[left] * weight[right]
        sizes = abs(X - X.mean(axis=0))
        counts = weights > 0
        left, right = left[counts], right[counts]
        return X[left] - X[right], weights[counts], sizes[left] + sizes[right]

    def _regulariser(self, metric: LongArray) -> Number:
        d, weights, sizes = self._pairs
        parts, rates = weights * np.exp(-(d @ metric * d).sum(axis=1)), abs(d) @ abs(metric)
        terms = float((parts * (1 + (rates * abs(d)).sum(axis=1))).sum())
        sensitivity = 2 * float((parts * (rates * sizes).sum(axis=1)).sum())
        error = (len(metric) ** 2 + 10) * EPS * terms
        distances = float((parts * (sizes @ abs(metric) * sizes).sum(axis=1)).sum())
        squares = distances + self._trace_bound * float((parts @ sizes**2).max())
        return Number(float(parts.sum()), error, terms, sensitivity, squares)

    @cached_property
    def _covariance(self) -> LongArray:
        objective = self._ingredients.problem().objective
        assert isinstance(objective, gda.LogDet)
        return objective.covariance.astype(np.longdouble)

    def _log_det(self, metric: LongArray) -> Number:
        factor = cholesky(metric)
        if factor is None:
            return Number(math.inf, 0.0, math.inf)
        products, logarithms = self._covariance * metric, 2 * np.log(np.diagonal(factor))
        condition = (abs(inverse(factor)) * (abs(factor) @ abs(factor.T))).sum()
        terms = float(abs(products).sum() + abs(logarithms).sum() + condition)
        value = float(products.sum() - logarithms.sum())
        return Number(value, (len(metric) ** 2 + 10) * EPS * terms, terms)


def cholesky(matrix: Any) -> Any:
    """Return the lower Cholesky factor; None where the matrix is not positive definite."""
    lower = np.zeros_like(matrix)
    for i in range(len(matrix)):
        column = matrix[i:, i] - lower[i:, :i] @ lower[i, :i]
        if not column[0] > 0:
            return None
        lower[i:, i] = column / np.sqrt(column[0])
    return lower


def inverse(lower: Any) -> Any:
    """Return the inverse of the matrix that has this lower Cholesky factor."""
    half = np.eye(len(lower), dtype=lower.dtype)
    for i in range(len(lower)):
        half[i] = (half[i] - lower[i, :i] @ half[:i]) / lower[i, i]
    return half.T @ half
