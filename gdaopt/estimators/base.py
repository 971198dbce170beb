"""The base classes of the metric learners, and of a learner of your own.

`BaseMetricLearner` lists the members that a subclass has to write. Its methods keep scikit-learn's
rules and have the same names as in the package metric-learn.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.utils import Tags
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from gdaopt.errors import InvalidInputError
from gdaopt.estimators.components import components_of
from gdaopt.estimators.inputs import (
    Codes,
    Mask,
    check_classes,
    read_classes,
    read_labels,
    read_samples,
    read_tuples,
)
from gdaopt.linalg.samples import is_sparse
from gdaopt.scaling import feature_scales
from gdaopt.support.validation import FloatArray, finite_array, read_only
from gdaopt.support.warning_filters import underflow_ignored


class BaseMetricLearner(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):
    """Base of all estimators that learn a metric matrix M from labelled samples.

    `fit` is in its two subclasses, from which a learner of your own inherits:
    `SupervisedMetricLearner`, where every sample needs a label, and `TransductiveMetricLearner`.
    There `fit` checks the parameters, the samples and the labels, sets ``classes_``, calls
    ``_learn``, and sets ``metric_`` and ``components_`` from the matrix that ``_learn`` returns.

    *A subclass must write:*

    ``_learn(self, X, codes)``, or ``_learn(self, X, codes, labelled)`` if it is transductive
    Returns M, a float array of shape (K, K). It must be symmetric and positive semidefinite; `fit`
    does not check this. ``X`` is a finite float array of shape (N, K). ``codes`` is an integer
    array, the index of each label in ``self.classes_``. ``labelled`` is a boolean array of shape
    (N,) that says which samples have a label; ``codes`` then has one entry for each labelled
    sample, in their order.

    *A subclass may write:*

    ``__init__`` By scikit-learn's rule it names every parameter and only stores it, unchanged,
    under the same name. A transductive learner has the parameter `missing_label`, too.
    ``_parameter_constraints`` The class's dict of the values that each parameter may have, in the
    form that scikit-learn uses; `fit` raises a `ValueError` for any other value. A transductive
    learner extends ``TransductiveMetricLearner._parameter_constraints``. attributes that end with
    an underscore ``_learn`` sets them on ``self``, for whatever else the fit has found.

    A learner with a `fit` of its own inherits from `BaseMetricLearner` itself. Its `fit` calls
    `gdaopt.estimators.inputs.read_samples`, sets ``self.classes_``, then calls
    ``self._set_metric(M, X)``, and returns ``self``.

    Attributes
    ----------
    metric_ : ndarray of shape (n_features, n_features)
        M, symmetric and positive semidefinite, read-only. It and `components_` are sparse arrays
        where the learner makes no dense one, as of a certified metric of more than 1,000 features.
    components_ : ndarray of shape (n_components, n_features)
        L with ``M = L'L``, read-only. Where M is positive definite, L is Cholesky's factor, which
        is upper triangular: component i combines the features from i on. For a diagonal M, L is
        the diagonal matrix of the square roots of the weights.
    feature_importances_ : ndarray of shape (n_features,)
        The shares of the features in ``Σ_k M_kk s_k²``, where s are the standard deviations of the
        features: what each adds, on average, to the squared distance of two samples beside what
        pairs of features add together. A constant feature has the share 0.
    classes_ : ndarray of shape (n_classes,)
        The different labels, sorted.
    n_features_in_ : int
        K, the number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        The column names of X, if `fit` was given a data frame whose column names are strings.

    Examples
    --------
    A learner whose M is the inverse of the covariance matrix within the classes:

    >>> from sklearn.datasets import load_iris
    >>> class WithinClassWhitening(SupervisedMetricLearner):
    ...     def _learn(self, X, codes):
    ...         means = np.array([X[codes == c].mean(axis=0) for c in range(len(self.classes_))])
    ...         return np.linalg.inv(np.cov((X - means[codes]).T))
    >>> X, y = load_iris(return_X_y=True)
    >>> WithinClassWhitening().fit(X, y).transform(X).shape
    (150, 4)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {}
    n_features_in_: int
    metric_: Any
    components_: Any

    def _set_metric(self, metric: Any, X: FloatArray, components: Any = None) -> None:
        """Set the attributes of a metric; of its components if they are not all of them."""
        components = components_of(metric) if components is None else components
        if is_sparse(metric):
            self.metric_, self.components_ = metric, components
        else:
            self.metric_ = read_only(metric.copy())
            self.components_ = read_only(components)
        spreads = feature_scales(X, "zscore")[1]
        spreads = np.where(np.isfinite(spreads), spreads, 0.0)  # 0 for constants
        lengths = np.sqrt(np.maximum(metric.diagonal(), 0.0)) * spreads
        shares = (lengths / (lengths.max() or 1.0)) ** 2
        self.feature_importances_ = read_only(shares / (shares.sum() or 1.0))

    def transform(self, X: Any) -> Any:
        """Map samples to coordinates in which the Euclidean distance is the learned distance.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            ``X @ components_.T``, or a data frame after ``set_output(transform="pandas")``. It is
            sparse where both X and `components_` are.
        """
        check_is_fitted(self)
        X = read_samples(self, X, reset=False)
        return X @ self.components_.T

    def get_mahalanobis_matrix(self) -> FloatArray:
        """Return a copy of M, shape (n_features, n_features)."""
        check_is_fitted(self)
        matrix: FloatArray = self.metric_.copy()
        return matrix

    def pair_distance(self, pairs: Any) -> FloatArray:
        """Return the learned distance ``√((a - b)' M (a - b))`` of each pair of samples.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features)
            Pairs of samples; of a learner with a `preprocessor` also pairs of their indices, of
            shape (n_pairs, 2).

        Returns
        -------
        ndarray of shape (n_pairs,)
        """
        check_is_fitted(self)
        samples = self._read_pairs(pairs)
        distances: FloatArray = np.linalg.norm(
            (samples[:, 0] - samples[:, 1]) @ self.components_.T, axis=1
        )
        return distances

    def _read_pairs(self, pairs: Any) -> FloatArray:
        return read_tuples("pairs", pairs, 2, n_features=self.n_features_in_)

    def pair_score(self, pairs: Any) -> FloatArray:
        """Return ``-pair_distance(pairs)``, which is larger for closer samples.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features)
            As of `pair_distance`.

        Returns
        -------
        ndarray of shape (n_pairs,)
        """
        return -self.pair_distance(pairs)

    def get_metric(self) -> Callable[..., float]:
        """Return the learned distance as a function of two vectors.

        scikit-learn's estimators with a parameter ``metric`` take such a function. An estimator
        with Euclidean distances after `transform` gives the same result and is much faster.

        Returns
        -------
        callable
            The function ``d(u, v) = ‖L(u - v)‖``, or its square with ``squared=True``. It stays the
            same when the learner is fitted again.
        """
        check_is_fitted(self)
        return partial(_distance, self.components_)

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


class SupervisedMetricLearner(BaseMetricLearner):
    """Base of learners that need a label of every sample (see `BaseMetricLearner`)."""

    @abstractmethod
    def _learn(self, X: FloatArray, codes: Codes) -> FloatArray:
        """Return M for samples of shape (N, K) and, for each, the index in `classes_`."""

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Learn the metric.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Labels, of at least two classes.

        Returns
        -------
        self

        Raises
        ------
        InvalidInputError
            For parameters, samples or labels that do not fit; it is a `ValueError`.
        """
        X, y = read_samples(self, X, y)
        self.classes_, codes = read_classes(y)
        self._set_metric(self._learn(X, codes), X)
        return self


@dataclass(eq=False, repr=False, kw_only=True)
class TransductiveMetricLearner(BaseMetricLearner):
    """Base of learners that also learn from samples without labels (see `BaseMetricLearner`).

    By their parameter `missing_label` the classifiers recognise learners that take such samples.

    Parameters
    ----------
    missing_label : object, default=-1
        The value that stands for "no label" in `y`, as in scikit-learn's `LabelPropagation`. None,
        NaN and pandas' NA all mean missing values. It never stands for a class: the labels -1 and 1
        alone are refused under -1. If -1 is a class, choose another value, such as None.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {"missing_label": "no_validation"}

    missing_label: Any = -1

    @abstractmethod
    def _learn(self, X: FloatArray, codes: Codes, labelled: Mask) -> FloatArray:
        """Return M; `codes` has the classes of the labelled samples of X, in their order."""

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Learn the metric from all samples, with and without labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Labels, of at least two classes; `missing_label` for samples without one.

        Returns
        -------
        self

        Raises
        ------
        InvalidInputError
            For parameters, samples or labels that do not fit; it is a `ValueError`.
        """
        X = read_samples(self, X)
        self.classes_, codes, labelled = read_labels(y, self.missing_label)
        check_consistent_length(X, labelled)
        check_classes(self.classes_)
        with underflow_ignored():
            self._set_metric(self._learn(X, codes, labelled), X)
        return self


def _distance(components: FloatArray, u: Any, v: Any, squared: bool = False) -> float:
    difference = finite_array("u", u, ndim=1) - finite_array("v", v, ndim=1)
    if len(difference) != components.shape[1]:
        raise InvalidInputError(
            f"vectors have {len(difference)} entries, but the metric has "
            f"{components.shape[1]} features"
        )
    mapped = components @ difference
    square = float(mapped @ mapped)
    return square if squared else float(np.sqrt(square))
