"""Samples with and without labels, the learners, and what a fitted learner has to fulfil."""

import warnings
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

import gdaopt as gda
from gdaopt.datasets import load
from gdaopt.errors import InvalidInputError
from gdaopt.estimators import baselines
from gdaopt.support.validation import FloatArray

SETS: dict[Any, Any] = {
    gda.GraphMetricLearner: gda.GraphMetrics,
    gda.DiagonalMetricLearner: gda.DiagonalMetrics,
    gda.PositiveDefiniteMetricLearner: gda.PositiveDefiniteMetrics,
}
LEARNERS: list[Any] = [*SETS]
TRANSDUCTIVE = [
    baselines.HarmonicEntropyWeights,
    baselines.JointClassifierWeights,
    baselines.AlternatingClassifierWeights,
]

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


def clouds(n: int) -> tuple[FloatArray, Any]:
    """Return classes of two clouds each, across from each other, in two of six features."""
    X = np.random.default_rng(0).standard_normal((n, 6))
    y = (X[:, 0] > 0) ^ (X[:, 1] > 0)
    X[:, :2] += np.sign(X[:, :2])
    return X, y


def refused(message: str) -> AbstractContextManager[pytest.ExceptionInfo[InvalidInputError]]:
    """Expect that bad input is refused in these words."""
    return pytest.raises(InvalidInputError, match=message)


def halves(n: int = 40, size: int = 3, classes: int = 3) -> tuple[FloatArray, Any]:
    """Return samples of which a half has no label, which is -1."""
    X, y = samples(n, size, classes)
    return X, np.where(np.random.default_rng(0).permutation(n) < n // 2, y, -1)


def certified_by_the_learner(learner: Any, X: FloatArray) -> bool:
    """Say whether the result's own certificate holds, and its metric is in the set."""
    feasible_set = SETS[type(learner)](learner.trace_bound_, learner.min_eigenvalue_)
    result = learner.result_
    if result.frank_wolfe_gap is None:
        ends = result.status == "converged" and result.relative_gap <= learner.tolerance
    else:  # the objective is not convex
        ends = result.frank_wolfe_gap <= learner.tolerance * abs(result.objective)
    return (
        ends
        and learner.result_.metric in feasible_set
        and bool(np.isfinite(learner.transform(X)).all())
    )


def soundly_fitted(learner: Any, X: FloatArray, y: Any) -> Any:
    """Fit a learner of any kind, which may reach a limit, and check what holds for every fit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        learner.fit(X, y)
    metric = learner.metric_
    assert np.isfinite(metric).all()
    assert np.isfinite(learner.transform(X)).all()
    np.testing.assert_array_equal(metric, metric.T)
    assert np.trace(metric) > 0
    units = np.sqrt(np.maximum(np.diagonal(metric), 1e-300))
    assert np.linalg.eigvalsh(metric / units / units[:, None])[0] >= -1e-9
    if type(learner) in SETS:
        assert certified_by_the_learner(learner, X)
    values = getattr(learner, "entropy_", getattr(learner, "objective_", np.zeros(1)))
    assert np.isfinite(values).all()
    if isinstance(learner, baselines.AlternatingClassifierWeights):
        assert (values[:, 1] <= values[:, 0]).all()  # whatever the labels, of one round each
    else:
        assert (np.diff(values) <= 0).all()
    if isinstance(learner, baselines.FeatureGraphLearning):
        assert metric in gda.PositiveDefiniteMetrics(learner.trace_bound_, 0.0)
    return learner


# --- Samples with and without labels for the learners of the literature --------------------------


CLASSES_AND_LABELS = [
    pytest.param(classes, some, id=f"{classes} classes, {'some' if some else 'all'} labelled")
    for classes in (2, 3)
    for some in (True, False)
]
"""Parameters of tests: how many classes, and whether some or all samples have labels."""
