"""A metric from pairs of samples that are known to be similar or dissimilar."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import _fit_context
from sklearn.metrics import roc_auc_score
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from gdaopt.errors import InvalidInputError
from gdaopt.estimators.parameters import called
from gdaopt.estimators.threshold import STRATEGIES, best_threshold
from gdaopt.estimators.tuple_learner import TupleLearner
from gdaopt.estimators.tuples import read_tuples
from gdaopt.objectives import LogisticPairs, Objective, PairHinge
from gdaopt.sets import FeasibleSet
from gdaopt.support.text import shortened
from gdaopt.support.validation import FloatArray, check_name, number, refuse_masked

__all__ = ["PairMetricLearner"]

_OBJECTIVES: dict[str, Callable[..., Objective]] = {
    "logistic-pairs": LogisticPairs,
    "pair-hinge": PairHinge,
}


class PairMetricLearner(TupleLearner):
    """Learn a metric from pairs of samples that are known to be similar or dissimilar.

    The learner has the conventions of metric-learn's pair learners: labels of pairs are 1 and -1,
    pairs are samples or, with a `preprocessor`, their indices, and a threshold turns distances into
    predictions. It minimises a loss of the pairs over graph metrics, diagonal metrics or positive
    definite metrics. The problem is convex, and ``result_`` holds a certificate of how far the
    learned metric can be from the optimum.

    Parameters
    ----------
    objective : {"logistic-pairs", "pair-hinge"} or callable
        What to minimise: `gdaopt.LogisticPairs`, by default, or `gdaopt.PairHinge`; or a function
        that returns another `gdaopt.objectives.Objective`. The function is called with samples, of
        shape (N, K), the pairs as indices of two of them, of shape (n, 2), and an array that says
        which pairs are similar, of shape (n,).
    feasible_set : {"graph", "diagonal", "definite"} or callable
        The metrics to choose from: `gdaopt.GraphMetrics`, `gdaopt.DiagonalMetrics` or
        `gdaopt.PositiveDefiniteMetrics`; or a function of the trace bound and of the smallest
        eigenvalue allowed that returns a set.
    preprocessor : array-like of shape (n_samples, n_features) or callable, optional
        What pairs of indices refer to: the samples, or a function of an array of indices that
        returns their samples. Indices for a function may be of any kind, such as names of files.
    method, solver, trace_bound, min_eigenvalue, scale
        See `GraphMetricLearner`. Standard deviations are those of the samples of all pairs.
    tolerance, max_iterations, time_limit, verbose
        See `GraphMetricLearner`.

    Attributes
    ----------
    threshold_ : float
        The largest distance at which a pair is predicted to be similar.
    classes_ : ndarray
        ``[-1, 1]``, dissimilar and similar.
    metric_, components_, n_features_in_
        See `gdaopt.estimators.MetricLearner`.
    result_, n_iter_, trace_bound_, min_eigenvalue_, scale_, graph_
        See `GraphMetricLearner`.

    See Also
    --------
    TripletMetricLearner : Learns from comparisons.
    GraphMetricLearner : Learns from labelled samples.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [0.1, 2.0], [1.0, 0.1], [1.1, 2.1], [0.0, 1.0]])
    >>> pairs, y = [[0, 1], [2, 3], [0, 2], [1, 3], [2, 4]], [1, 1, -1, -1, -1]
    >>> learner = PairMetricLearner(preprocessor=X).fit(pairs, y)
    >>> learner.predict([[0, 4], [3, 4]])
    array([ 1, -1])
    >>> learner.score(X[pairs], y)
    1.0
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TupleLearner._parameter_constraints,
        "objective": [StrOptions(set(_OBJECTIVES)), callable],
    }

    def __init__(
        self,
        objective: str | Callable[..., Objective] = "logistic-pairs",
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
    def fit(self, pairs: Any, y: Any, calibration_params: Mapping[str, Any] | None = None) -> Self:
        """Learn the metric, and choose the threshold by the same pairs.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features), or (n_pairs, 2) with a preprocessor
            Pairs of samples, or of their indices.
        y : array-like of shape (n_pairs,)
            1 for similar pairs, -1 for dissimilar ones.
        calibration_params : dict, optional
            Arguments of `calibrate_threshold` beside the pairs; by default it looks for the highest
            accuracy.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter is invalid, if the pairs are of another shape or not finite, or if the
            labels are others than 1 and -1, or only one of these.
        """
        calibration = _checked_calibration(
            **_checked_names({} if calibration_params is None else calibration_params)
        )
        samples, similar = self._read(pairs, y)
        self.classes_ = np.array([-1, 1])
        self._learn(samples, similar)
        self.threshold_ = best_threshold(self.pair_distance(samples), similar, **calibration)
        return self

    def _read(
        self, pairs: Any, y: Any, n_features: int | None = None
    ) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
        """Return the samples of pairs, and which pairs are similar."""
        samples = read_tuples("pairs", pairs, 2, self.preprocessor, n_features)
        if y is None:
            raise InvalidInputError("requires y to be passed, but the target y is None")
        refuse_masked("y", y)
        labels = column_or_1d(y)
        check_consistent_length(samples, labels)
        if not np.isin(labels, (-1, 1)).all():
            raise InvalidInputError(
                f"y must be 1 for similar pairs and -1 for dissimilar ones, got {shortened(y)}"
            )
        return samples, labels == 1

    def _made(
        self, samples: FloatArray, places: npt.NDArray[np.intp], labels: npt.NDArray[np.bool_]
    ) -> Objective:
        if callable(self.objective):
            found: Objective = called("objective", self.objective, samples, places, labels)
            return found
        return _OBJECTIVES[self.objective](samples, pairs=places, similar=labels)

    def decision_function(self, pairs: Any) -> FloatArray:
        """Return minus the learned distance of each pair, which is larger for closer samples.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features), or (n_pairs, 2) with a preprocessor
            Pairs.

        Returns
        -------
        ndarray of shape (n_pairs,)
        """
        return self.pair_score(pairs)

    def predict(self, pairs: Any) -> npt.NDArray[np.intp]:
        """Return 1 for pairs whose distance is at most ``threshold_``, and -1 for other pairs.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features), or (n_pairs, 2) with a preprocessor
            Pairs.

        Returns
        -------
        ndarray of int, shape (n_pairs,)
        """
        return np.where(self.pair_distance(pairs) <= self.threshold_, 1, -1)

    def score(
        self,
        pairs: Any,
        y: Any,
        sample_weight: Any = None,
    ) -> float:
        """Return the area under the ROC curve of the distances: 1 if similar pairs are the closest.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features), or (n_pairs, 2) with a preprocessor
            Pairs.
        y : array-like of shape (n_pairs,)
            1 for similar pairs, -1 for dissimilar ones.
        sample_weight : array-like of shape (n_pairs,), optional
            Weights of the pairs.

        Returns
        -------
        float
        """
        check_is_fitted(self)
        samples, similar = self._read(pairs, y, self.n_features_in_)
        scores = self.decision_function(samples)
        return float(roc_auc_score(similar, scores, sample_weight=sample_weight))

    def set_threshold(self, threshold: float) -> Self:
        """Set ``threshold_``, the largest distance at which a pair is predicted to be similar.

        Parameters
        ----------
        threshold : float
            The distance.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        self.threshold_ = number("threshold", threshold)
        return self

    def calibrate_threshold(
        self,
        pairs: Any,
        y: Any,
        strategy: str = "accuracy",
        min_rate: float | None = None,
        beta: float = 1.0,
    ) -> Self:
        """Choose ``threshold_`` by other pairs than the pairs of `fit`.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features), or (n_pairs, 2) with a preprocessor
            Pairs.
        y : array-like of shape (n_pairs,)
            1 for similar pairs, -1 for dissimilar ones; both occur.
        strategy : {"accuracy", "f_beta", "max_tpr", "max_tnr"}, optional
            What the threshold is the best for: the most right predictions; the largest F-score of
            similar pairs; the largest true positive rate with a true negative rate of at least
            `min_rate`; the largest true negative rate with a true positive rate of at least
            `min_rate`.
        min_rate : float, optional
            From 0 to 1, for the last two strategies.
        beta : float, optional
            β of the F-score, positive.

        Returns
        -------
        self

        Raises
        ------
        InvalidInputError
            For a bad argument, or pairs of one kind only.
        """
        check_is_fitted(self)
        calibration = _checked_calibration(strategy, min_rate, beta)
        samples, similar = self._read(pairs, y, self.n_features_in_)
        self.threshold_ = best_threshold(self.pair_distance(samples), similar, **calibration)
        return self


def _checked_names(calibration_params: Any) -> dict[str, Any]:
    """Return `calibration_params` as a dict, or raise an error."""
    if not isinstance(calibration_params, Mapping):
        raise InvalidInputError(
            f"calibration_params must be a dict, got {shortened(calibration_params)}"
        )
    for name in calibration_params:
        check_name("calibration parameter", name, ("strategy", "min_rate", "beta"))
    return dict(calibration_params)


def _checked_calibration(
    strategy: str = "accuracy", min_rate: float | None = None, beta: float = 1.0
) -> dict[str, Any]:
    """Return the arguments of `best_threshold`, or raise an error."""
    check_name("strategy", strategy, STRATEGIES)
    if strategy in ("max_tpr", "max_tnr") and not (
        isinstance(min_rate, Real) and 0 <= float(min_rate) <= 1
    ):
        raise InvalidInputError(
            f"strategy={strategy!r} needs min_rate, a number from 0 to 1, got {min_rate}"
        )
    return {"strategy": strategy, "min_rate": min_rate, "beta": number("beta", beta, above=0)}
