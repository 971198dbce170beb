"""The baseline that learns nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.estimator_checks import parametrize_with_checks

from gdaopt.estimators.baselines.euclidean import EuclideanMetric
from tests.estimators.cases import samples


@parametrize_with_checks([EuclideanMetric()])  # type: ignore[untyped-decorator]  # scikit-learn has no types
def test_scikit_learns_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def test_no_learning() -> None:
    X, codes = samples()
    np.testing.assert_array_equal(EuclideanMetric().fit(X, codes).metric_, np.eye(4))
    np.testing.assert_array_equal(EuclideanMetric().fit(0 * X, codes).transform(X), X)
