"""The Euclidean distance as a metric learner that learns nothing."""

from __future__ import annotations

import numpy as np

from gdaopt.estimators.base import SupervisedMetricLearner
from gdaopt.estimators.inputs import Codes
from gdaopt.support.validation import FloatArray


class EuclideanMetric(SupervisedMetricLearner):
    """The identity matrix, to compare learned metrics with.

    It takes the place of a learner in a study. The labels are checked but not used.

    Attributes
    ----------
    metric_ : ndarray of shape (n_features, n_features)
        The identity.

    Examples
    --------
    >>> learner = EuclideanMetric().fit([[0.0, 3.0], [4.0, 0.0]], ["a", "b"])
    >>> learner.pair_distance([[[0.0, 3.0], [4.0, 0.0]]])
    array([5.])
    """

    def _learn(self, X: FloatArray, codes: Codes) -> FloatArray:  # noqa: ARG002 (labels are not used)
        return np.eye(X.shape[1])
