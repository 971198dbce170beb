"""The base classes of the metric learners, and of a learner of your own.

`BaseMetricLearner` lists the members that a subclass has to write. Its methods keep scikit-learn's
rules and have the same names as in the package metric-learn.
"""

from __future__ import annotations

from collections.abc import Callable
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
from sklearn.utils.validation import check_is_fitted

from gdaopt.errors import InvalidInputError
from gdaopt.estimators.components import components_of
from gdaopt.estimators.inputs import (
    Codes,
    check_classes,
    read_classes,
    read_labels,
    read_samples,
    read_tuples,
)
from gdaopt.linalg.samples import is_sparse
from gdaopt.scaling import feature_scales
from gdaopt.support.validation import FloatArray, finite_array, read_only


class BaseMetricLearner(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of all estimators that learn a metric matrix M from labelled samples.

    `fit` checks the parameters, the samples and the labels, sets ``classes_``, calls ``_learn``,
    and sets ``metric_`` and ``components_`` from the matrix that ``_learn`` returns.

    *A subclass must write:*

    ``_learn(self, X, codes)``
    Returns M, a float array of shape (K, K). It must be symmetric and positive semidefinite; `fit`
    does not check this. ``X`` is a finite float array of shape (N, K). ``codes`` is an integer
    array, the index of each label in ``self.classes_``, and -1 for a sample without one.

    *A subclass may write:*

    ``__init__`` By scikit-learn's rule it names every parameter and only stores it, unchanged,
    under the same name. A learner with a parameter `missing_label`, the value that stands for "no
    label", takes samples without labels, too. `fit` and the classifiers recognise such a learner by
    this parameter.

    ``_parameter_constraints`` The class's dict of the values that each parameter may have, in the
    form that scikit-learn uses; `fit` raises a `ValueError` for any other value.

    attributes that end with an underscore ``_learn`` sets them on ``self``, for all other results
    of the fit.

    A learner with a `fit` of its own has no ``_learn``. Its `fit` calls
    ``gdaopt.estimators.inputs.read_samples``, sets ``self.classes_``, then calls
    ``self._set_metric(M, X)``, and returns ``self``.

    Attributes
    ----------
    metric_ : ndarray of shape (n_features, n_features)
        M, symmetric and positive semidefinite, read-only. It and `components_` are sparse arrays if
        the learner makes no dense one, such as for a certified metric of more than 1,000 features.
    components_ : ndarray of shape (n_components, n_features)
        L with ``M = L'L``, read-only. If M is positive definite, L is Cholesky's factor, which is
        upper triangular: component i combines the features from i on. For a diagonal M, L is the
        diagonal matrix of the square roots of the weights.
    feature_importances_ : ndarray of shape (n_features,)
        The shares of the features in ``Σ_k M_kk s_k²``, where s are the standard deviations of the
        features: the part of the mean squared distance of two samples that each feature adds alone,
        without the parts of pairs of features. A constant feature has the share 0.
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
    >>> class WithinClassWhitening(BaseMetricLearner):
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
    missing_label: Any

    def _learn(self, X: FloatArray, codes: Codes) -> FloatArray:
        raise NotImplementedError(f"{type(self).__name__} has neither _learn nor a fit of its own")

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Learn the metric.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Labels, of at least two classes. Learners with a parameter `missing_label` also learn
            from samples without a label, which have this value in the place of one.

        Returns
        -------
        self

        Raises
        ------
        InvalidInputError
            For parameters, samples or labels that do not fit; it is a `ValueError`.
        """
        if "missing_label" in self.get_params(deep=False):
            X = read_samples(self, X)
            self.classes_, codes, labelled = read_labels(X, y, self.missing_label)
            check_classes(self.classes_)
            codes_of_all = np.full(len(labelled), -1)
            codes_of_all[labelled] = codes
        else:
            X, y = read_samples(self, X, y)
            self.classes_, codes_of_all = read_classes(y)
        with np.errstate(under="ignore"):
            self._set_metric(self._learn(X, codes_of_all), X)
        return self

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
            sparse if both X and `components_` are sparse.
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
            Pairs of samples; for a learner with a ``preprocessor`` also pairs of their indices, of
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
