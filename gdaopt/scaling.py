"""The scale of features and of metrics: each rule once, by the name that options give it.

The trace bound C by the rule ``"auto"`` follows the scale of the features. Let D be the mean of
``d d'`` over the differences d of the pairs of samples that the objective sums over, by their
weights, so that ``⟨D, M⟩`` is their mean squared distance under M. Then

    C = min(4 / max_k D_kk, 200 / max_u u'Du),        ρ = C / (10 K),

where u are the atoms of the feasible set: with all of the trace on one feature the mean squared
distance is at most 4, and no metric of the set gives one above 200 ("Remark: the rule for the trace
bound"). The slope of log Q at M = 0 is -D, and this slope stands for D if an objective of convex
logarithm sums over no pairs. Other objectives have a rule of their own, by the trace beyond which
an isotropic metric costs more than it can gain ("Proposition: trace bounds of isotropic metrics").
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.sparse import csc_array

from gdaopt.errors import InvalidInputError
from gdaopt.linalg.samples import Samples, as_samples, divided, is_sparse
from gdaopt.objectives import Objective
from gdaopt.objectives.base import check_interface
from gdaopt.problem import MetricProblem
from gdaopt.sets import FeasibleSet
from gdaopt.support.resources import check_fits
from gdaopt.support.validation import FloatArray, check_instance, check_name, integer, number
from gdaopt.wide import has_many_features, slopes_at_zero

__all__ = ["auto_trace_bound", "scale_features"]

SCALES = {
    "unit": "z-scored and divided by √(2K)",
    "zscore": "z-scored",
    "none": "not scaled",
}
"""The scales of features by their names, and what texts say of features of that scale."""

TRACE_BOUNDS = {
    "K": "the number of features",
    "auto": "follows the scale of the features",
}
"""The rules for the trace bound C by their names, and what texts say of each."""

_DISTANCE = 4.0  # mean squared, with all of the trace on one feature
_MOST = 200.0  # mean squared distance under any metric of the set
_LEAST_SHARE = 0.1  # ρ as a share of C/K
_LARGEST = 1e140  # the largest distance at C = 1: the Hessian holds squares of such distances


def scale_features(X: Any, scale: str = "unit", reference: Any = None) -> Samples:
    """Return the features at a scale that the package's defaults expect.

    Parameters
    ----------
    X : array-like or sparse array of shape (N, K)
        One row a sample. Sparse samples stay sparse: nothing is subtracted from them, which
        changes no difference of samples.
    scale : {"unit", "zscore", "none"}
        ``"zscore"`` subtracts each column's mean and divides by its population standard deviation;
        a constant column becomes 0. ``"unit"``, the default, then divides by √(2K), so that the
        mean of ``‖x_i - x_j‖²`` over all i and j is 1. ``"none"`` leaves the values as they are.
    reference : array-like or sparse array of shape (n, K), optional
        The samples whose means and deviations are used; X by default.

    Returns
    -------
    ndarray or csr_array of shape (N, K)
        A new array.

    Raises
    ------
    InvalidInputError
        When X or the reference is not a matrix of finite numbers, or the scale is unknown.

    Examples
    --------
    >>> scale_features([[0, 5], [2, 5]])
    array([[-0.5,  0. ],
           [ 0.5,  0. ]])
    """
    check_name("scale", scale, SCALES)
    X = as_samples(X)
    if scale == "none":
        return X
    of = X
    if reference is not None:
        of = as_samples(reference, "reference")
        if of.shape[1] != X.shape[1]:
            raise InvalidInputError(
                f"reference has {of.shape[1]} columns and X has {X.shape[1]}; they must be as many"
            )
    if is_sparse(X):
        return divided(X, feature_scales(of, scale)[1])
    means, extent, deviation = _moments(of)
    z_scores: FloatArray = (X - means) / extent / deviation
    return z_scores / math.sqrt(2 * X.shape[1]) if scale == "unit" else z_scores


def feature_scales(X: Any, scale: str = "unit") -> tuple[FloatArray, FloatArray]:
    """Return means and spreads by which `scale_features` scales: ``(x - mean) / spread``.

    From sparse samples it does not subtract the means. The spread of a constant column is infinite.
    """
    check_name("scale", scale, SCALES)
    X = as_samples(X)
    if scale == "none":
        return np.zeros(X.shape[1]), np.ones(X.shape[1])
    means, extent, deviation = _moments(X)
    spreads = extent * deviation
    return means, spreads * math.sqrt(2 * X.shape[1]) if scale == "unit" else spreads


def _moments(X: Samples) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the means of columns, their ranges, and their standard deviations in these units."""
    if is_sparse(X):
        return _sparse_moments(X)
    # Divided by the range first, squares neither overflow nor vanish; ∞ turns constants into 0.
    extent = np.ptp(X, axis=0)
    extent = np.where(extent > 0, extent, np.inf)
    means = X.mean(axis=0)
    deviation = ((X - means) / extent).std(axis=0)
    return means, extent, np.where(deviation > 0, deviation, 1.0)


def _sparse_moments(X: Samples) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return what `_moments` does, if zeros are not stored."""
    from sklearn.utils.sparsefuncs import mean_variance_axis  # on demand: it takes a while

    columns = csc_array(X)
    columns.sum_duplicates()
    extent = (columns.max(axis=0) - columns.min(axis=0)).toarray().ravel()
    extent = np.where(extent > 0, extent, np.inf)
    variances = mean_variance_axis(divided(columns, extent), axis=0)[1]
    means = np.asarray(columns.mean(axis=0)).ravel()
    return means, extent, np.where(variances > 0, np.sqrt(variances), 1.0)


def auto_trace_bound(objective: Objective, feasible_set: FeasibleSet) -> float:
    """Return C by the rule "auto", for an objective over a set, of which only the atoms count.

    An InvalidInputError says that the objective has no rule, or that the samples of all pairs
    coincide, or nearly so, or are too far apart for floating-point numbers.

    Examples
    --------
    >>> import gdaopt as gda
    >>> auto_trace_bound(gda.GLR([[0.0, 7.0], [2.0, 7.0]], [0, 1]), gda.GraphMetrics(1.0))
    1.0
    """
    check_interface(objective)
    check_instance("feasible_set", feasible_set, FeasibleSet)
    bound = objective.auto_trace_bound()
    if bound is not None:
        if not 1 / _LARGEST < bound < _LARGEST:
            raise InvalidInputError(
                f"trace_bound='auto' would be {bound:.3g}, because samples are so far apart, or "
                "so near to each other, that numbers overflow; rescale the features"
            )
        return bound
    if not objective.log_convex:
        raise InvalidInputError(
            f"trace_bound='auto' is a rule of the objective, and {objective.name} has "
            "none; pass a number, or 'K'"
        )
    problem = MetricProblem(objective, feasible_set)
    if has_many_features(problem):
        value, slopes, price = slopes_at_zero(problem)
    else:
        size = objective.n_features
        check_fits(8.0 * size**2, f"a gradient of {size}×{size}", "take other metrics")
        start = objective.at(np.zeros((size, size)))
        value, slopes = start.value, np.diagonal(start.gradient())
        price = float(feasible_set.family.best_atoms(start.gradient()).prices[0])
    of_features, largest = -float(slopes.min()) / value, -price / value
    if not (of_features > 1 / _LARGEST and largest < _LARGEST):
        raise InvalidInputError(
            f"samples of different classes differ by {largest:.3g} in the square, of which "
            "trace_bound='auto' makes no bound; rescale the features, or drop constant ones"
        )
    return min(_DISTANCE / of_features, _MOST / largest)


def read_trace_bound(
    trace_bound: str | float, objective: Objective, feasible_set: FeasibleSet
) -> float:
    """Return C for the option `trace_bound`: a number, or the name of one of `TRACE_BOUNDS`."""
    check_interface(objective)
    if not isinstance(trace_bound, str):
        return number("trace_bound", trace_bound, above=0)
    check_name("trace bound (or a number):", trace_bound, TRACE_BOUNDS)
    if trace_bound == "auto":
        return auto_trace_bound(objective, feasible_set)
    return float(objective.n_features)


def auto_min_eigenvalue(trace_bound: float, n_features: int) -> float:
    """Return ρ, a tenth of C/K."""
    trace_bound = number("trace_bound", trace_bound, above=0)
    return _LEAST_SHARE * trace_bound / integer("n_features", n_features, at_least=1)
