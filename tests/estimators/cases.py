"""Samples with and without labels, the learners, and what a fitted learner has to fulfil."""

from typing import Any

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

import gdaopt as gda
from gdaopt.datasets import load
from gdaopt.support.validation import FloatArray

LEARNERS = [
    gda.GraphMetricLearner,
    gda.DiagonalMetricLearner,
    gda.PositiveDefiniteMetricLearner,
]
SETS = {
    gda.GraphMetricLearner: gda.GraphMetrics,
    gda.DiagonalMetricLearner: gda.DiagonalMetrics,
    gda.PositiveDefiniteMetricLearner: gda.PositiveDefiniteMetrics,
}

# A warning of SciPy about how scikit-learn 1.6 calls it.
SEARCHES = pytest.mark.filterwarnings("ignore:scipy.optimize:DeprecationWarning")


def wine_z_scores() -> tuple[FloatArray, Any]:
    """Return the z-scores of the wine data, and the names of the classes."""
    data = load("wine")
    return StandardScaler().fit_transform(data.features), data.labels


def samples(n: int = 60, k: int = 4, classes: int = 3) -> tuple[FloatArray, Any]:
    """Return samples, and labels that the first two features depend on."""
    rng = np.random.default_rng(n + k)
    codes = np.arange(n) % classes
    X = rng.standard_normal((n, k))
    X[:, :2] += 1.5 * np.column_stack([codes == 1, codes == 2])
    return X, codes


def halves(n: int = 40, size: int = 3, classes: int = 3) -> tuple[FloatArray, np.ndarray]:
    """Return overlapping blobs in which half of the samples have no label, which is -1."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % classes
    X = 0.6 * rng.standard_normal((n, size)) + 0.8 * y[:, None]
    return X, np.where(rng.permutation(n) < n // 2, y, -1)


def weights_of(X: FloatArray, metric: FloatArray) -> FloatArray:
    """Return the edge weights of the full graph, by their definition."""
    weights = np.array([[np.exp(-(a - b) @ metric @ (a - b)) for b in X] for a in X])
    np.fill_diagonal(weights, 0.0)
    return weights


def certified_by_the_learner(learner: Any, X: FloatArray) -> bool:
    """Say whether the result's own certificate holds, and its metric is in the set."""
    feasible_set = SETS[type(learner)](learner.trace_bound_, learner.min_eigenvalue_)
    return (
        learner.result_.status == "converged"
        and learner.result_.relative_gap <= learner.tolerance
        and feasible_set.contains(learner.result_.metric)
        and bool(np.isfinite(learner.transform(X)).all())
    )
