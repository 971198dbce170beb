"""What all metric learners share: scikit-learn's rules, and metric-learn's names."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import scipy.linalg
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_array,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from gdaopt.errors import InvalidInputError
from gdaopt.estimators.labels import Codes, Mask, read_labels
from gdaopt.validation import FloatArray, finite_array, read_only

__all__ = [
    "MahalanobisDistance",
    "MetricLearner",
    "SupervisedMetricLearner",
    "TransductiveMetricLearner",
    "components_of",
]


class MetricLearner(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):
    """Base of estimators that learn a metric matrix M from labelled samples: all but `fit`.

    That is in `SupervisedMetricLearner` and `TransductiveMetricLearner`. The methods and
    `components_` have the names that metric-learn gives them, so that a learner goes where
    metric-learn's go.

    Attributes
    ----------
    metric_ : ndarray of shape (n_features, n_features)
        M, symmetric and positive semidefinite, read-only.
    components_ : ndarray of shape (n_features, n_features)
        L with ``M = L'L``, read-only, upper triangular where M is definite: component i is made of
        the features from i on. For a diagonal M it is the square roots of the weights. All
        features count in it: ρ > 0 leaves no direction out.
    classes_ : ndarray of shape (n_classes,)
        The labels.
    n_features_in_ : int
        K.
    feature_names_in_ : ndarray of shape (n_features,)
        Where X has column names that are strings.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}

    def _set_classes(self, classes: npt.NDArray[Any]) -> None:
        if len(classes) < 2:
            (label,) = classes.tolist()
            raise InvalidInputError(
                f"y has 1 class, {label!r}; a metric is learned from two or more"
            )
        self.classes_ = classes

    def _set_metric(self, metric: FloatArray) -> None:
        self.metric_ = read_only(metric.copy())
        self.components_ = read_only(components_of(metric))

    def transform(self, X: Any) -> FloatArray:
        """Return the samples in coordinates whose Euclidean distance is the learned one.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            ``X @ components_.T``; `set_output` makes it a data frame.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        transformed: FloatArray = X @ self.components_.T
        return transformed

    def get_mahalanobis_matrix(self) -> FloatArray:
        """Return a copy of M, shape (n_features, n_features)."""
        check_is_fitted(self)
        return self.metric_.copy()

    def pair_distance(self, pairs: Any) -> FloatArray:
        """Return the learned distance of each pair of samples.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features)
            Pairs of samples.

        Returns
        -------
        ndarray of shape (n_pairs,)
            ``√((a - b)' M (a - b))``.

        Raises
        ------
        InvalidInputError
            For another shape.
        """
        check_is_fitted(self)
        pairs = check_array(
            pairs, dtype=np.float64, ensure_2d=False, allow_nd=True, input_name="pairs"
        )
        if pairs.ndim != 3 or pairs.shape[1:] != (2, self.n_features_in_):
            raise InvalidInputError(
                f"pairs has shape {pairs.shape}; pairs of samples with {self.n_features_in_} "
                f"features have shape (n_pairs, 2, {self.n_features_in_})"
            )
        distances: FloatArray = np.linalg.norm(
            (pairs[:, 0] - pairs[:, 1]) @ self.components_.T, axis=1
        )
        return distances

    def pair_score(self, pairs: Any) -> FloatArray:
        """Return minus the distance of each pair: larger for samples that are more alike.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features)
            Pairs of samples.

        Returns
        -------
        ndarray of shape (n_pairs,)
        """
        return -self.pair_distance(pairs)

    def get_metric(self) -> MahalanobisDistance:
        """Return the learned distance as a function of two vectors.

        It goes where scikit-learn takes a callable ``metric``. `transform` before an estimator with
        Euclidean distances gives the same, and is much faster.
        """
        check_is_fitted(self)
        return MahalanobisDistance(self.components_)

    @property
    def _n_features_out(self) -> int:
        """Number of components, for `get_feature_names_out`."""
        return len(self.components_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


class SupervisedMetricLearner(MetricLearner):
    """Base of learners of which each sample needs a label; a subclass writes `_learn`."""

    @abstractmethod
    def _learn(self, X: FloatArray, codes: Codes) -> FloatArray:
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


class TransductiveMetricLearner(MetricLearner):
    """Base of learners that also learn from samples without labels.

    A subclass writes `_learn`, and has the parameter `missing_label`: what stands for "no label"
    in `y`, as in `gdaopt.GraphClassifier`.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {"missing_label": "no_validation"}

    missing_label: Any

    @abstractmethod
    def _learn(self, X: FloatArray, codes: Codes, labelled: Mask) -> FloatArray:
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


@dataclass(frozen=True, eq=False)
class MahalanobisDistance:
    """The distance ``d(u, v) = ‖L(u - v)‖`` of vectors; it does not follow a later `fit`.

    Parameters
    ----------
    components : ndarray of shape (n_components, n_features)
        L.

    Examples
    --------
    >>> MahalanobisDistance(np.diag([1.0, 2.0]))([0.0, 0.0], [3.0, 2.0])
    5.0
    """

    components: FloatArray

    def __call__(self, u: Any, v: Any, squared: bool = False) -> float:
        """Return the distance of two vectors of shape (n_features,), or its square.

        Raises
        ------
        InvalidInputError
            For vectors of another length.
        """
        difference = finite_array("u", u, ndim=1) - finite_array("v", v, ndim=1)
        if len(difference) != self.components.shape[1]:
            raise InvalidInputError(
                f"vectors have {len(difference)} entries; the metric is of "
                f"{self.components.shape[1]} features"
            )
        mapped = self.components @ difference
        square = float(mapped @ mapped)
        return square if squared else float(np.sqrt(square))


def components_of(metric: FloatArray) -> FloatArray:
    """Return L with ``L'L = M``, shape (K, K): Cholesky's, or of eigenvectors where M is singular.

    Parameters
    ----------
    metric : ndarray of shape (K, K)
        M, positive semidefinite up to round-off.

    Examples
    --------
    >>> components_of(np.array([[4.0, -2.0], [-2.0, 10.0]]))
    array([[ 2., -1.],
           [ 0.,  3.]])
    """
    try:
        components: FloatArray = scipy.linalg.cholesky(metric)
    except scipy.linalg.LinAlgError:
        values, vectors = scipy.linalg.eigh(metric)
        components = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    return components
