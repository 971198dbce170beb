"""Metric learners that see samples without labels, too; and who is given them."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import _fit_context, clone
from sklearn.utils.validation import check_consistent_length, validate_data

from gdaopt.estimators.base import MetricLearner
from gdaopt.estimators.labels import read_labels
from gdaopt.validation import FloatArray

__all__ = ["TransductiveMetricLearner", "fitted_clone", "takes_unlabelled"]


class TransductiveMetricLearner(MetricLearner):
    """Base of learners that also learn from samples without labels.

    A subclass writes `_learn`, and has the parameter `missing_label`: what stands for "no label"
    in `y`, as in `gdaopt.GraphClassifier`.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {"missing_label": "no_validation"}

    missing_label: Any

    @abstractmethod
    def _learn(
        self, X: FloatArray, codes: npt.NDArray[np.intp], labelled: npt.NDArray[np.bool_]
    ) -> FloatArray:
        """Return the metric for samples (N×K), of which some are labelled.

        `codes` holds the indices in `classes_` of those labels, in the order of the samples.
        """

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Learn the metric.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            All samples; dense.
        y : array-like of shape (n_samples,)
            Their labels, of at least two classes, and `missing_label` where there is none.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For a bad parameter, for labels of a single class, for labels -1 and 1 while -1 is
            `missing_label`, and for samples that are not finite, or too few, or that no metric
            tells apart. `gdaopt.InvalidInputError` is one.
        TypeError
            For sparse samples.
        """
        X = validate_data(self, X, dtype=np.float64)
        classes, codes, labelled = read_labels(y, self.missing_label)
        check_consistent_length(X, labelled)
        self._set_classes(classes)
        self._set_metric(self._learn(X, codes, labelled))
        return self


def takes_unlabelled(estimator: Any) -> bool:
    """Say whether an estimator's `fit` takes samples without labels: has `missing_label`."""
    return "missing_label" in estimator.get_params(deep=False)


def fitted_clone(
    estimator: Any, X: FloatArray, labels: npt.NDArray[Any], labelled: npt.NDArray[np.bool_]
) -> Any:
    """Fit a clone of an estimator: on all samples if it takes those without labels.

    The clone gets None as its `missing_label`, which is no label whatever the labels are. Any other
    estimator is fitted on the labelled samples.

    Parameters
    ----------
    estimator : estimator
        Learner or classifier.
    X : ndarray of shape (n_samples, n_features)
        All samples.
    labels : ndarray of shape (n_labelled,)
        Labels of those that have one.
    labelled : ndarray of bool, shape (n_samples,)
        Which those are.

    Returns
    -------
    estimator
        The clone.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> X, labelled = np.array([[0.0], [1.0], [5.0]]), np.array([True, False, True])
    >>> fitted_clone(KNeighborsClassifier(1), X, np.array(["a", "b"]), labelled).n_samples_fit_
    2
    """
    copy = clone(estimator)
    if not takes_unlabelled(copy):
        return copy.fit(X[labelled], labels)
    y = np.full(len(X), None, dtype=object)
    y[labelled] = labels
    return copy.set_params(missing_label=None).fit(X, y)
