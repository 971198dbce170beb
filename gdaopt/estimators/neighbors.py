"""Classification by the nearest neighbours under a metric."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import _fit_context
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.validation import check_is_fitted

from gdaopt.estimators.inputs import read_labelled_samples
from gdaopt.estimators.metric_parameter import MetricClassifier
from gdaopt.support.validation import FloatArray


@dataclass(eq=False, repr=False, kw_only=True)
class MetricKNeighborsClassifier(MetricClassifier):
    """Classify samples by the vote of their nearest neighbours under a metric matrix.

    The samples are mapped to coordinates in which the Euclidean distance is the distance under the
    metric (``x ↦ Lx`` with ``M = L'L``). scikit-learn's `KNeighborsClassifier` does the rest there.

    Parameters
    ----------
    n_neighbors : int, default=5
        How many neighbours vote.
    weights : {"uniform", "distance"}, callable or None, default="uniform"
        Weight of a vote, as in `KNeighborsClassifier`.
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}, default="auto"
        How neighbours are searched for, as in `KNeighborsClassifier`.
    n_jobs : int, default=None
        Number of parallel searches, as in `KNeighborsClassifier`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The different labels, sorted.
    neighbors_ : KNeighborsClassifier
        The classifier that was fitted on the mapped samples.

    See Also
    --------
    GraphClassifier : Spreads labels over the graph of a metric.

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
            Samples, as a dense array.
        y : array-like of shape (n_samples,)
            Labels of the samples.

        Raises
        ------
        InvalidInputError
            If the metric is not symmetric, not positive semidefinite, or of another size. It is a
            subclass of `ValueError`, which scikit-learn's own checks raise.
        """
        X, y = read_labelled_samples(self, X, y)
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
        """Return the label with the most votes.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels. If votes are equal, the class that comes first in `classes_` wins.
        """
        coordinates = self._mapped(X)
        labels: npt.NDArray[Any] = self.neighbors_.predict(coordinates)
        return labels

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the share of the votes that each class gets.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Shares; each row sums to 1.
        """
        coordinates = self._mapped(X)
        shares: FloatArray = self.neighbors_.predict_proba(coordinates)
        return shares

    def kneighbors(
        self, X: Any = None, n_neighbors: int | None = None
    ) -> tuple[FloatArray, npt.NDArray[np.intp]]:
        """Return the nearest neighbours among the samples given to `fit`, with their distances.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), default=None
            Samples. None stands for the samples given to `fit`; none of them is then a neighbour of
            itself.
        n_neighbors : int, default=None
            How many neighbours to return. None stands for the parameter of the classifier.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_neighbors)
            Distances under the metric, in ascending order.
        indices : ndarray of int, shape (n_samples, n_neighbors)
            Indices of the neighbours among the samples given to `fit`.
        """
        check_is_fitted(self)
        coordinates = None if X is None else self._mapped(X)
        distances, indices = self.neighbors_.kneighbors(coordinates, n_neighbors)
        return distances, indices
