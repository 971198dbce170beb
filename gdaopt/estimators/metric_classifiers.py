"""Estimators within estimators: learners and pipelines as the `metric` of a classifier, clones."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import scipy.linalg
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context, clone
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.validation import check_array, check_is_fitted

from gdaopt.errors import InvalidInputError
from gdaopt.estimators.components import components_of
from gdaopt.estimators.inputs import Mask, read_samples
from gdaopt.support.extras import cli_extra
from gdaopt.support.text import shortened
from gdaopt.support.validation import FloatArray, read_only, symmetric_matrix

_NEGATIVE = 1e-10  # share of the trace that an eigenvalue may be below 0, as in the feasible sets


@dataclass(eq=False, repr=False, kw_only=True)
class MetricClassifier(ClassifierMixin, BaseEstimator):
    """Base of classifiers by distances under a metric, see `GraphClassifier`."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "metric": [None, "array-like", HasMethods("fit")]
    }

    metric: Any = None

    def _enter_space(self, X: FloatArray, labelled: Mask, labels: npt.NDArray[Any]) -> FloatArray:
        """Set the metric, and return the coordinates of the samples of `fit` under it."""
        names = getattr(self, "feature_names_in_", None)
        self._space = MetricSpace(self.metric, X, labelled, labels, names)
        self.metric_, self.metric_learner_ = self._space.metric, self._space.learner
        return self._space.coordinates(X)

    def _map(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        return self._space.coordinates(read_samples(self, X, reset=False))


class MetricSpace:
    """Coordinates, around the mean, in which the Euclidean distance is that under a metric.

    They are made by the parameter `metric` of classifiers; of a learner a clone is fitted
    (`fit_clone`). A pipeline's M acts on what its steps before the learner return.
    """

    def __init__(
        self,
        metric: Any,
        X: FloatArray,
        labelled: Mask,
        labels: npt.NDArray[Any],
        names: Any = None,
    ) -> None:
        self.learner: Any = None
        self._before: Pipeline | None = None
        self._names = names  # the features', which learners may ask for; None if there are none
        if hasattr(metric, "fit"):
            self.learner = fit_clone(metric, self._name_features(X), labels, labelled)
            metric = _learned_matrix(last_step(self.learner))
            self._before = self.learner[:-1] if isinstance(self.learner, Pipeline) else None
        X = self._transform(X)
        checked = symmetric_matrix(
            "metric", np.eye(X.shape[1]) if metric is None else metric, X.shape[1]
        )
        smallest = float(scipy.linalg.eigvalsh(checked, subset_by_index=[0, 0])[0])
        if smallest < -_NEGATIVE * max(float(np.trace(checked)), 0.0):
            raise InvalidInputError(
                f"metric is not positive semidefinite: its smallest eigenvalue is {smallest:g}, "
                f"with trace {np.trace(checked):g}"
            )
        self.metric = read_only(checked)
        self._components = read_only(components_of(checked))
        self._centre = X.mean(axis=0)

    def coordinates(self, X: FloatArray) -> FloatArray:
        """Return ``(X - centre) L'``, shape (n_samples, K), for samples as `fit` was given them."""
        coordinates: FloatArray = (self._transform(X) - self._centre) @ self._components.T
        return coordinates

    def _name_features(self, X: FloatArray) -> Any:
        if self._names is None:
            return X
        with cli_extra("a pipeline that knows features by names"):
            import pandas as pd

        return pd.DataFrame(X, columns=self._names)

    def _transform(self, X: FloatArray) -> FloatArray:
        if self._before is not None:
            X = check_array(self._before.transform(self._name_features(X)), dtype=np.float64)
        return X


def _learned_matrix(learner: Any) -> Any:
    if hasattr(learner, "get_mahalanobis_matrix"):
        return learner.get_mahalanobis_matrix()
    if hasattr(learner, "metric_"):
        return learner.metric_
    if hasattr(learner, "components_"):
        return learner.components_.T @ learner.components_
    raise InvalidInputError(
        f"metric={shortened(learner)} learns no metric: after fit it has none of "
        "get_mahalanobis_matrix, metric_ and components_"
    )


def last_step(estimator: Any) -> Any:
    """Return the last step of a pipeline, and any other estimator itself."""
    while isinstance(estimator, Pipeline):
        estimator = estimator.steps[-1][1]
    return estimator


def takes_unlabelled(estimator: Any) -> bool:
    """Say whether an estimator, or the last step of a pipeline, takes samples without labels."""
    return "missing_label" in last_step(estimator).get_params(deep=False)


def fit_clone(estimator: Any, X: Any, labels: npt.NDArray[Any], labelled: Mask) -> Any:
    """Fit a clone: with ``missing_label=None`` on all samples, if it takes those without labels."""
    copy = clone(estimator)
    if not takes_unlabelled(copy):
        return copy.fit(X[labelled], labels)
    y = np.full(len(X), None, dtype=object)
    y[labelled] = labels
    last_step(copy).set_params(missing_label=None)
    return copy.fit(X, y)


@dataclass(eq=False, repr=False, kw_only=True)
class MetricKNeighborsClassifier(MetricClassifier):
    """Classify samples by the vote of their nearest neighbours under a metric matrix.

    The samples are mapped to coordinates in which the Euclidean distance is the distance under the
    metric (``x ↦ Lx`` with ``M = L'L``). There scikit-learn's ``KNeighborsClassifier`` does the
    rest.

    Parameters
    ----------
    n_neighbors, weights, algorithm, n_jobs
        As of scikit-learn's ``KNeighborsClassifier``.
    metric : array-like of shape (n_features, n_features) or estimator, default=None
        M, or a learner of it, as of `gdaopt.GraphClassifier`.

    Attributes
    ----------
    metric_, metric_learner_, n_features_in_, feature_names_in_
        As of `gdaopt.GraphClassifier`.
    classes_ : ndarray of shape (n_classes,)
        The different labels, sorted.
    neighbors_ : KNeighborsClassifier
        The classifier that was fitted on the mapped samples.

    See Also
    --------
    GraphClassifier : Spreads labels over the graph of a metric.

    Notes
    -----
    With a learner it does the same as scikit-learn's ``make_pipeline(learner,
    KNeighborsClassifier())``, which can pass `sample_weight` to the learner, too. But the pipeline
    takes no matrix and no learner without ``transform``, and has no `kneighbors` for samples in the
    original features.

    Examples
    --------
    >>> X, y = [[0.0, 9.0], [1.0, 0.0], [2.0, 9.0], [3.0, 0.0]], ["a", "a", "b", "b"]
    >>> new = [[0.6, 5.0], [2.9, 9.0]]
    >>> MetricKNeighborsClassifier(1, metric=[[1, 0], [0, 0]]).fit(X, y).predict(new).tolist()
    ['a', 'b']
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **MetricClassifier._parameter_constraints,
        **{
            name: KNeighborsClassifier._parameter_constraints[name]
            for name in ("n_neighbors", "weights", "algorithm", "n_jobs")
        },
    }

    n_neighbors: int = field(default=5, kw_only=False)
    weights: Any = "uniform"
    algorithm: str = "auto"
    n_jobs: int | None = None

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any) -> Self:
        """Store the samples; if `metric` is a learner, fit a clone of it first.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Labels.

        Returns
        -------
        self

        Raises
        ------
        InvalidInputError
            For parameters, samples or labels that do not fit; it is a `ValueError`.
        """
        X, y = read_samples(self, X, y)
        coordinates = self._enter_space(X, np.full(len(X), True), y)
        self.neighbors_ = KNeighborsClassifier(
            self.n_neighbors,
            weights=self.weights,
            algorithm=self.algorithm,
            n_jobs=self.n_jobs,
        ).fit(coordinates, y)
        self.classes_ = self.neighbors_.classes_
        return self

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the label with the most votes; of equal ones, the first in `classes_` wins.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        coordinates = self._map(X)
        labels: npt.NDArray[Any] = self.neighbors_.predict(coordinates)
        return labels

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the share of the votes that each class gets.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Shares, of which each row sums to 1.
        """
        coordinates = self._map(X)
        shares: FloatArray = self.neighbors_.predict_proba(coordinates)
        return shares

    def kneighbors(
        self, X: Any = None, n_neighbors: int | None = None
    ) -> tuple[FloatArray, npt.NDArray[np.intp]]:
        """Return the nearest neighbours among the samples given to `fit`, with their distances.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), default=None
            Samples; by default those given to `fit`, and then no sample is its own neighbour.
        n_neighbors : int, default=None
            How many neighbours to return, by default as many as vote.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_neighbors)
            Distances under the metric, in ascending order.
        indices : ndarray of int, shape (n_samples, n_neighbors)
            Indices of the neighbours among the samples given to `fit`.
        """
        check_is_fitted(self)
        coordinates = None if X is None else self._map(X)
        distances, indices = self.neighbors_.kneighbors(coordinates, n_neighbors)
        return distances, indices
