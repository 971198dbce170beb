"""A metric from triplets of samples: the first is nearer to the second than to the third."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import _fit_context
from sklearn.utils import Tags
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from gdaopt.estimators.parameters import called
from gdaopt.estimators.tuple_learner import TupleLearner
from gdaopt.estimators.tuples import read_tuples
from gdaopt.objectives import LogisticTriplets, Objective, TripletHinge
from gdaopt.sets import FeasibleSet
from gdaopt.support.validation import FloatArray

__all__ = ["TripletMetricLearner"]

_OBJECTIVES: dict[str, Callable[..., Objective]] = {
    "triplet-hinge": TripletHinge,
    "logistic-triplets": LogisticTriplets,
}


class TripletMetricLearner(TupleLearner):
    """Learn a metric from triplets: the first sample is to be nearer to the second than the third.

    The learner has the conventions of metric-learn's triplet learners. It minimises a loss of the
    triplets over graph metrics, diagonal metrics or positive definite metrics. The problem is
    convex, and ``result_`` holds a certificate of how far the learned metric can be from the
    optimum.

    Parameters
    ----------
    objective : {"triplet-hinge", "logistic-triplets"} or callable
        What to minimise: `gdaopt.TripletHinge`, by default, or `gdaopt.LogisticTriplets`; or a
        function that returns another `gdaopt.objectives.Objective`. The function is called with
        samples, of shape (N, K), and the triplets as indices of three of them, of shape (n, 3).
    feasible_set, preprocessor
        See `PairMetricLearner`.
    method, solver, trace_bound, min_eigenvalue, scale
        See `GraphMetricLearner`. Standard deviations are those of the samples of all triplets.
    tolerance, max_iterations, time_limit, verbose
        See `GraphMetricLearner`.

    Attributes
    ----------
    classes_ : ndarray
        ``[-1, 1]``: triplets in the wrong order and in the right one.
    metric_, components_, n_features_in_
        See `gdaopt.estimators.MetricLearner`.
    result_, n_iter_, trace_bound_, min_eigenvalue_, scale_, graph_
        See `GraphMetricLearner`.

    See Also
    --------
    PairMetricLearner : Learns from similar and dissimilar pairs.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [0.1, 2.0], [1.0, 0.1], [1.1, 2.1], [0.0, 1.0]])
    >>> learner = TripletMetricLearner(preprocessor=X).fit([[0, 1, 2], [2, 3, 0], [3, 2, 1]])
    >>> learner.predict([[1, 4, 3], [4, 3, 1]])
    array([ 1, -1])
    >>> learner.score(X[[[0, 1, 3], [1, 4, 2]]])
    1.0
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TupleLearner._parameter_constraints,
        "objective": [StrOptions(set(_OBJECTIVES)), callable],
    }

    def __init__(
        self,
        objective: str | Callable[..., Objective] = "triplet-hinge",
        *,
        feasible_set: str | Callable[[float, float], FeasibleSet] = "graph",
        preprocessor: Any = None,
        method: str = "certified",
        solver: str | None = None,
        trace_bound: str | float = "auto",
        min_eigenvalue: str | float = "auto",
        scale: str = "auto",
        tolerance: float = 1e-4,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(
            objective,
            feasible_set=feasible_set,
            preprocessor=preprocessor,
            method=method,
            solver=solver,
            trace_bound=trace_bound,
            min_eigenvalue=min_eigenvalue,
            scale=scale,
            tolerance=tolerance,
            max_iterations=max_iterations,
            time_limit=time_limit,
            verbose=verbose,
        )

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, triplets: Any, y: Any = None) -> Self:  # noqa: ARG002 (for searches)
        """Learn the metric.

        Parameters
        ----------
        triplets : array-like of shape (n_triplets, 3, n_features), or (n_triplets, 3)
            Triplets of samples, or of their indices with a preprocessor. The first sample is to be
            nearer to the second than to the third.
        y : object, optional
            Not used: triplets have no labels.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter is invalid, or if the triplets are of another shape or not finite.
        """
        self.classes_ = np.array([-1, 1])
        self._learn(read_tuples("triplets", triplets, 3, self.preprocessor))
        return self

    def _made(
        self,
        samples: FloatArray,
        places: npt.NDArray[np.intp],
        labels: Any,  # noqa: ARG002 (there are none)
    ) -> Objective:
        if callable(self.objective):
            found: Objective = called("objective", self.objective, samples, places)
            return found
        return _OBJECTIVES[self.objective](samples, places)

    def decision_function(self, triplets: Any) -> FloatArray:
        """Return by how much the third sample is farther from the first than the second is.

        Parameters
        ----------
        triplets : array-like of shape (n_triplets, 3, n_features), or (n_triplets, 3)
            Triplets.

        Returns
        -------
        ndarray of shape (n_triplets,)
            Differences of distances, positive for triplets in the right order.
        """
        check_is_fitted(self)
        samples = read_tuples("triplets", triplets, 3, self.preprocessor, self.n_features_in_)
        return self.pair_distance(samples[:, [0, 2]]) - self.pair_distance(samples[:, :2])

    def predict(self, triplets: Any) -> npt.NDArray[np.intp]:
        """Return 1 for triplets in the right order, and -1 for other triplets.

        Parameters
        ----------
        triplets : array-like of shape (n_triplets, 3, n_features), or (n_triplets, 3)
            Triplets.

        Returns
        -------
        ndarray of int, shape (n_triplets,)
        """
        return np.where(self.decision_function(triplets) > 0, 1, -1)

    def score(
        self,
        triplets: Any,
        y: Any = None,  # noqa: ARG002 (for searches)
        sample_weight: Any = None,
    ) -> float:
        """Return the share of triplets in the right order.

        Parameters
        ----------
        triplets : array-like of shape (n_triplets, 3, n_features), or (n_triplets, 3)
            Triplets.
        y : object, optional
            Not used.
        sample_weight : array-like of shape (n_triplets,), optional
            Weights of the triplets.

        Returns
        -------
        float
        """
        return float(np.average(self.predict(triplets) == 1, weights=sample_weight))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags
