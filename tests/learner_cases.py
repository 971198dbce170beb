"""Learners, labelled samples, and what a fitted learner has to fulfil."""

from typing import Any

import numpy as np

import gdaopt as gda
from gdaopt.validation import FloatArray

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


def samples(n: int = 60, k: int = 4, classes: int = 3) -> tuple[FloatArray, Any]:
    """Return samples, and labels that the first features tell about."""
    rng = np.random.default_rng(n + k)
    codes = np.arange(n) % classes
    X = rng.standard_normal((n, k))
    X[:, :2] += 1.5 * np.column_stack([codes == 1, codes == 2])
    return X, codes


def certified_by_the_learner(learner: Any, X: FloatArray) -> bool:
    """Say whether the result's own certificate holds, and its metric is in the set."""
    feasible_set = SETS[type(learner)](learner.trace_bound_, learner.min_eigenvalue_)
    return (
        learner.result_.status == "converged"
        and learner.result_.relative_gap <= learner.tolerance
        and feasible_set.contains(learner.metric_)
        and bool(np.isfinite(learner.transform(X)).all())
    )
