"""Metric learners that see labelled samples only."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import _fit_context
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from gdaopt.estimators.base import MetricLearner
from gdaopt.validation import FloatArray

__all__ = ["SupervisedMetricLearner"]


class SupervisedMetricLearner(MetricLearner):
    """Base of learners of which each sample needs a label; a subclass writes `_learn`."""

    @abstractmethod
    def _learn(self, X: FloatArray, codes: npt.NDArray[np.intp]) -> FloatArray:
        """Return the metric for samples (N×K) and the indices of their labels in `classes_`."""

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Learn the metric.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples; dense.
        y : array-like of shape (n_samples,)
            Labels, of at least two classes.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For a bad parameter, for labels of a single class, and for samples that are not finite,
            or too few, or that no metric tells apart. `gdaopt.InvalidInputError` is one.
        TypeError
            For sparse samples.
        """
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        self._set_classes(classes)
        self._set_metric(self._learn(X, codes))
        return self
