"""Metrics from pairs of samples, similar or dissimilar, and from triplets, which are compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.metrics import roc_auc_score
from sklearn.utils import Tags
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from gdaopt.errors import InvalidInputError
from gdaopt.estimators.inputs import Mask, called, read_tuples, read_weights
from gdaopt.estimators.solving import SolvingLearner, deadline_of, warn_of_result
from gdaopt.objectives import LogisticPairs, LogisticTriplets, Objective, PairHinge, TripletHinge
from gdaopt.objectives.base import check_interface
from gdaopt.support.deadline import until
from gdaopt.support.text import shortened
from gdaopt.support.validation import FloatArray, check_name, number, refuse_masked

_STRATEGIES = ("accuracy", "f_beta", "max_tpr", "max_tnr")


@dataclass(eq=False, repr=False, kw_only=True)
class _TupleLearner(ClassifierMixin, SolvingLearner):
    """What learners of tuples share."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **SolvingLearner._parameter_constraints,
        "preprocessor": [None, "array-like", callable],
    }

    _size: ClassVar[int]  # how many samples a tuple has
    _objectives: ClassVar[dict[str, Callable[..., Objective]]]  # the default first

    objective: str | Callable[..., Objective] | None = field(default=None, kw_only=False)
    preprocessor: Any = None

    def _learn_from(self, tuples: FloatArray, *labels: Mask) -> None:
        """Learn from tuples of samples, of shape (n, size, K), and from their labels if any."""
        self.classes_ = np.array([-1, 1])
        self.n_features_in_ = tuples.shape[2]
        X = tuples.reshape(-1, self.n_features_in_)
        places = np.arange(len(X)).reshape(-1, self._size)
        with until(deadline_of(self.time_limit)):
            scaled = self._standardise(X)
            make = self._given_objective
            if isinstance(make, str):
                objective = self._objectives[make](scaled, places, *labels)
            else:
                objective = called("objective", make, scaled, places, *labels)
            check_interface(objective)
            self._solve(X, objective, partial(self._make_set, scaled, None))

    @property
    def _given_objective(self) -> str | Callable[..., Objective]:
        return next(iter(self._objectives)) if self.objective is None else self.objective

    def _read_pairs(self, pairs: Any) -> FloatArray:
        return read_tuples("pairs", pairs, 2, self.preprocessor, self.n_features_in_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        return tags


def _of_pairs(make: Callable[..., Objective]) -> Callable[..., Objective]:
    """Return an objective of pairs as a function of samples, pairs and which are similar."""
    return lambda X, pairs, similar: make(X, pairs=pairs, similar=similar)


class PairMetricLearner(_TupleLearner):
    """Learn a metric from pairs of samples that are known to be similar or dissimilar.

    The learner has the conventions of metric-learn's pair learners: labels of pairs are 1 and -1,
    pairs are samples or, with a `preprocessor`, their indices, and a threshold turns distances into
    predictions. It minimises a convex loss of the pairs over graph metrics or another set.

    Parameters
    ----------
    objective : {"logistic-pairs", "pair-hinge"} or callable, optional
        What to minimise: `gdaopt.LogisticPairs`, by default, or `gdaopt.PairHinge`; or a function
        that returns another `gdaopt.objectives.Objective` from samples, of shape (N, K), the pairs
        as indices, of shape (n, 2), and which pairs are similar, of shape (n,).
    preprocessor : array-like of shape (n_samples, n_features) or callable, optional
        What tuples of indices refer to: the samples, or a function of an array of indices that
        returns their samples. Indices for a function may be of any kind, such as names of files.
    metrics, edges, edge_floor, trace_bound, min_eigenvalue, scale, n_components
        The set and the units, as of `MetricLearner`. There are no classes for ``"signed"``.
    method, solver, tolerance, max_iterations, time_limit, verbose
        The run, as of `MetricLearner`.

    Attributes
    ----------
    threshold_ : float
        The largest distance at which a pair is predicted to be similar.
    classes_ : ndarray
        ``[-1, 1]``, dissimilar and similar.
    metric_, components_, feature_importances_, result_, scale_, n_iter_, trace_bound_
        As of `MetricLearner`.
    min_eigenvalue_, graph_, n_features_in_
        As of `MetricLearner`.

    See Also
    --------
    TripletMetricLearner : Learns from comparisons.
    MetricLearner : Learns from labelled samples.

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

    _size = 2
    _objectives: ClassVar[dict[str, Callable[..., Objective]]] = {
        "logistic-pairs": _of_pairs(LogisticPairs),
        "pair-hinge": _of_pairs(PairHinge),
    }
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **_TupleLearner._parameter_constraints,
        "objective": [StrOptions(set(_objectives)), callable, None],
    }

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, pairs: Any, y: Any, calibration_params: Mapping[str, Any] | None = None) -> Self:
        """Learn the metric, and choose the threshold with the same pairs.

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
        InvalidInputError
            For parameters, tuples or labels that do not fit; it is a `ValueError`.
        """
        calibration: Any = {} if calibration_params is None else calibration_params
        if not isinstance(calibration, Mapping):
            raise InvalidInputError(
                f"calibration_params must be a dict, got {shortened(calibration)}"
            )
        for name in calibration:
            check_name("calibration parameter", name, ("strategy", "min_rate", "beta"))
        goodness = _goodness(**calibration)
        samples, similar = self._read(pairs, y)
        self._learn_from(samples, similar)
        warn_of_result(self, self.result_, self.tolerance, self._given_objective, self._objectives)
        self.threshold_ = _best_threshold(self.pair_distance(samples), similar, goodness)
        return self

    def _read(self, pairs: Any, y: Any, n_features: int | None = None) -> tuple[FloatArray, Mask]:
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

    decision_function = SolvingLearner.pair_score

    def predict(self, pairs: Any) -> npt.NDArray[np.intp]:
        """Return 1 for pairs whose distance is at most ``threshold_``, and -1 for other pairs.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features), or (n_pairs, 2) with a preprocessor
            Pairs of samples, or of their indices.

        Returns
        -------
        ndarray of shape (n_pairs,)
        """
        return np.where(self.pair_distance(pairs) <= self.threshold_, 1, -1)

    def score(self, pairs: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the area under the ROC curve of the distances: 1 if similar pairs are the closest.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features), or (n_pairs, 2) with a preprocessor
            Pairs of samples, or of their indices.
        y : array-like of shape (n_pairs,)
            1 for similar pairs, -1 for dissimilar ones.
        sample_weight : array-like of shape (n_pairs,), optional
            Weights of the pairs; 0 leaves one out.

        Returns
        -------
        float
        """
        check_is_fitted(self)
        samples, similar = self._read(pairs, y, self.n_features_in_)
        scores = self.decision_function(samples)
        weights = read_weights(sample_weight, len(samples))
        return float(roc_auc_score(similar, scores, sample_weight=weights))

    def set_threshold(self, threshold: float) -> Self:
        """Set ``threshold_``.

        Parameters
        ----------
        threshold : float
            The largest distance at which a pair is predicted to be similar.

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
        """Choose ``threshold_`` with other pairs than those of `fit`.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features), or (n_pairs, 2) with a preprocessor
            Pairs of samples, or of their indices.
        y : array-like of shape (n_pairs,)
            1 for similar pairs, -1 for dissimilar ones; both occur.
        strategy : {"accuracy", "f_beta", "max_tpr", "max_tnr"}, optional
            The criterion of the best threshold: the most right predictions; the largest F-score of
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
        """
        check_is_fitted(self)
        goodness = _goodness(strategy, min_rate, beta)
        samples, similar = self._read(pairs, y, self.n_features_in_)
        self.threshold_ = _best_threshold(self.pair_distance(samples), similar, goodness)
        return self


Goodness = Callable[[FloatArray, FloatArray], FloatArray]
"""How good thresholds are, from the numbers of pairs, right and wrong, that they call similar."""


def _goodness(
    strategy: str = "accuracy", min_rate: float | None = None, beta: float = 1.0
) -> Goodness:
    """Return the function of a strategy of `PairMetricLearner.calibrate_threshold`."""
    check_name("strategy", strategy, _STRATEGIES)
    if strategy in ("max_tpr", "max_tnr") and not (
        isinstance(min_rate, Real) and 0 <= float(min_rate) <= 1
    ):
        raise InvalidInputError(
            f"strategy={strategy!r} needs min_rate, a number from 0 to 1, got {min_rate}"
        )
    square = number("beta", beta, above=0) ** 2
    return {
        "accuracy": lambda right, wrong: right - wrong,
        "f_beta": lambda right, wrong: (1 + square) * right / (right + wrong + square * right[-1]),
        "max_tpr": lambda right, wrong: np.where(
            wrong[-1] - wrong >= min_rate * wrong[-1], right, -1.0
        ),
        "max_tnr": lambda right, wrong: np.where(right >= min_rate * right[-1], -wrong, -np.inf),
    }[strategy]


def _best_threshold(distances: FloatArray, similar: Mask, goodness: Goodness) -> float:
    """Return a threshold between two distances; of several that are as good, the smallest."""
    if similar.all() or not similar.any():
        raise InvalidInputError(
            f"all {len(similar)} pairs are {'similar' if similar.all() else 'dissimilar'}; a "
            "threshold needs pairs of both kinds"
        )
    distinct, places = np.unique(distances, return_inverse=True)
    # With the threshold k, the pairs at the k smallest distances are called similar.
    right = np.concatenate([[0], np.cumsum(np.bincount(places, weights=similar))])
    wrong = np.concatenate([[0], np.cumsum(np.bincount(places, weights=~similar))])
    thresholds = np.concatenate(
        [[distinct[0] - 1], (distinct[:-1] + distinct[1:]) / 2, [distinct[-1]]]
    )
    return float(thresholds[goodness(right, wrong).argmax()])


class TripletMetricLearner(_TupleLearner):
    """Learn a metric from triplets: the first sample is to be nearer to the second than the third.

    The learner has the conventions of metric-learn's triplet learners. It minimises a convex loss
    of the triplets over graph metrics or another set.

    Parameters
    ----------
    objective : {"triplet-hinge", "logistic-triplets"} or callable, optional
        What to minimise: `gdaopt.TripletHinge`, by default, or `gdaopt.LogisticTriplets`; or a
        function that returns another `gdaopt.objectives.Objective` from samples, of shape (N, K),
        and the triplets as indices, of shape (n, 3).
    preprocessor : array-like of shape (n_samples, n_features) or callable, optional
        What tuples of indices refer to: the samples, or a function of an array of indices that
        returns their samples. Indices for a function may be of any kind, such as names of files.
    metrics, edges, edge_floor, trace_bound, min_eigenvalue, scale, n_components
        The set and the units, as of `MetricLearner`. There are no classes for ``"signed"``.
    method, solver, tolerance, max_iterations, time_limit, verbose
        The run, as of `MetricLearner`.

    Attributes
    ----------
    classes_ : ndarray
        ``[-1, 1]``: triplets in the wrong order and in the right one.
    metric_, components_, feature_importances_, result_, scale_, n_iter_, trace_bound_
        As of `MetricLearner`.
    min_eigenvalue_, graph_, n_features_in_
        As of `MetricLearner`.

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

    _size = 3
    _objectives: ClassVar[dict[str, Callable[..., Objective]]] = {
        "triplet-hinge": TripletHinge,
        "logistic-triplets": LogisticTriplets,
    }
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **_TupleLearner._parameter_constraints,
        "objective": [StrOptions(set(_objectives)), callable, None],
    }

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, triplets: Any, y: Any = None) -> Self:  # noqa: ARG002 (for searches)
        """Learn the metric: the first sample of a triplet is to be nearer to the second.

        Parameters
        ----------
        triplets : array-like of shape (n_triplets, 3, n_features) or (n_triplets, 3)
            Triplets of samples; with a preprocessor also of their indices.
        y : object, optional
            Not used: triplets have no labels.

        Returns
        -------
        self

        Raises
        ------
        InvalidInputError
            For parameters, tuples or labels that do not fit; it is a `ValueError`.
        """
        self._learn_from(read_tuples("triplets", triplets, 3, self.preprocessor))
        warn_of_result(self, self.result_, self.tolerance, self._given_objective, self._objectives)
        return self

    def decision_function(self, triplets: Any) -> FloatArray:
        """Return how much farther the third sample is from the first than the second one is.

        Parameters
        ----------
        triplets : array-like of shape (n_triplets, 3, n_features) or (n_triplets, 3)
            Triplets of samples; with a preprocessor also of their indices.

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
        triplets : array-like of shape (n_triplets, 3, n_features) or (n_triplets, 3)
            Triplets of samples; with a preprocessor also of their indices.

        Returns
        -------
        ndarray of shape (n_triplets,)
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
        triplets : array-like of shape (n_triplets, 3, n_features) or (n_triplets, 3)
            Triplets of samples; with a preprocessor also of their indices.
        y : object, optional
            Not used.
        sample_weight : array-like of shape (n_triplets,), optional
            Weights of the triplets; 0 leaves one out.

        Returns
        -------
        float
        """
        right = self.predict(triplets) == 1
        return float(np.average(right, weights=read_weights(sample_weight, len(right))))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags
