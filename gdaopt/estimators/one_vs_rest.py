"""One metric for each class against the rest, and what the classifiers say put together."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, _fit_context
from sklearn.utils._param_validation import HasMethods, StrOptions
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from gdaopt.errors import InvalidInputError
from gdaopt.estimators.labels import Mask, class_signal, fitted_clone, read_labels, takes_unlabelled
from gdaopt.estimators.learners import GraphMetricLearner
from gdaopt.estimators.metric_parameter import metric_space
from gdaopt.estimators.neighbors import MetricKNeighborsClassifier
from gdaopt.validation import FloatArray

__all__ = ["OneVsRestMetricClassifier", "binary_scores", "class_scores"]


class OneVsRestMetricClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Learn a metric for each class against the rest, and classify under each.

    For each class a clone of `learner` is fitted on "this class or not", and a clone of
    `classifier` on the same labels in that metric's coordinates; its real-valued answer z is
    positive where it says "this class". Two classes are one such problem.

    Parameters
    ----------
    learner : estimator, default=None
        Metric learner: with `get_mahalanobis_matrix`, `metric_` or `components_` after `fit`. None
        for `gdaopt.GraphMetricLearner`.
    classifier : estimator, default=None
        Any classifier of two classes with `decision_function` or `predict_proba`, for Euclidean
        distances: it is given samples in the metric's coordinates. None for
        `gdaopt.MetricKNeighborsClassifier`, five neighbours.
    aggregation : {"vote", "score"}, default="vote"
        By ``"vote"`` each z > 0 is a vote for its class and most votes win; ties, and samples
        without a vote, go to the first class in question. So it is in the published code of the
        paper's authors. By ``"score"`` the largest z wins.
    missing_label : object, default=-1
        What stands for "no label" in `y`, as in `gdaopt.GraphClassifier`. A learner or classifier
        that has this parameter, too, is fitted on all samples, any other on those with labels. Such
        a classifier answers in `label_distributions_`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, without `missing_label`.
    metrics_ : list of ndarray of shape (n_features, n_features)
        M for each class, or for the second of two.
    learners_, estimators_ : list of estimators
        The fitted learners and classifiers, in the same order.
    transduction_ : ndarray of shape (n_samples,)
        The label of each sample of `fit`: its own, or the one found. A classifier that sees
        unlabelled samples says it of all of them at once.
    n_features_in_ : int
        K.
    feature_names_in_ : ndarray of shape (n_features,)
        Where X has column names that are strings.

    See Also
    --------
    GraphMetricLearner : One metric for all classes together, a single convex problem.

    Notes
    -----
    Source: Yang, Cheung, Hu, *Graph Metric Learning via Gershgorin Disc Alignment* (ICASSP 2020),
    for "one against all"; the votes are those of its authors' later code, the scores this
    package's.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> classifier = OneVsRestMetricClassifier(aggregation="score").fit(X[::2], y[::2])
    >>> len(classifier.metrics_), round(classifier.score(X[1::2], y[1::2]), 2)
    (3, 0.95)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "learner": [HasMethods("fit"), None],
        "classifier": [
            HasMethods(["fit", "decision_function"]),
            HasMethods(["fit", "predict_proba"]),
            None,
        ],
        "aggregation": [StrOptions({"vote", "score"})],
        "missing_label": "no_validation",
    }

    def __init__(
        self,
        learner: Any = None,
        classifier: Any = None,
        *,
        aggregation: str = "vote",
        missing_label: Any = -1,
    ) -> None:
        self.learner = learner
        self.classifier = classifier
        self.aggregation = aggregation
        self.missing_label = missing_label

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any) -> Self:
        """Learn the metrics, and fit the classifiers.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples; dense.
        y : array-like of shape (n_samples,)
            Labels of at least two classes, and `missing_label` where there is none.

        Returns
        -------
        self

        Raises
        ------
        InvalidInputError
            For labels of a single class, for labels -1 and 1 while -1 is `missing_label`, and for a
            learner that learns no metric. It is a `ValueError`, which scikit-learn's checks raise.
        """
        X = validate_data(self, X, dtype=np.float64)
        self.classes_, codes, labelled = read_labels(y, self.missing_label)
        check_consistent_length(X, labelled)
        if len(self.classes_) < 2:
            raise InvalidInputError(
                f"y has 1 class, {self.classes_[0]!r}; one against the rest takes two or more"
            )
        learner = GraphMetricLearner() if self.learner is None else self.learner
        classifier = MetricKNeighborsClassifier() if self.classifier is None else self.classifier
        signals = class_signal(codes).astype(np.intp).T
        self._spaces = [metric_space(learner, X, labelled, signal) for signal in signals]
        self.metrics_ = [space.metric for space in self._spaces]
        self.learners_ = [space.learner for space in self._spaces]
        coordinates = [space.coordinates(X) for space in self._spaces]
        self.estimators_ = [
            fitted_clone(classifier, samples, signal, labelled)
            for samples, signal in zip(coordinates, signals, strict=True)
        ]
        self.transduction_ = np.empty(len(X), dtype=self.classes_.dtype)
        self.transduction_[labelled] = self.classes_[codes]
        if not labelled.all():
            answers = [
                binary_scores(estimator, samples, ~labelled)
                for estimator, samples in zip(self.estimators_, coordinates, strict=True)
            ]
            scores = class_scores(answers, self.aggregation)
            self.transduction_[~labelled] = self.classes_[scores.argmax(axis=1)]
        return self

    def decision_function(self, X: Any) -> FloatArray:
        """Return the votes or scores of the classes for new samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            z of each class or, by ``aggregation="vote"``, its sign, ±1. One number for two classes:
            positive for the second.
        """
        scores = self._scores(X)
        return scores[:, 1] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class of the most votes, or of the largest score.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.
        """
        scores = self._scores(X)
        labels: npt.NDArray[Any] = self.classes_[scores.argmax(axis=1)]
        return labels

    def _scores(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        answers = [
            _new_scores(estimator, space.coordinates(X))
            for estimator, space in zip(self.estimators_, self._spaces, strict=True)
        ]
        return class_scores(answers, self.aggregation)


def binary_scores(classifier: Any, X: FloatArray, unlabelled: Mask) -> FloatArray:
    """Return what a fitted classifier of labels 0 and 1 says of the unlabelled samples of its fit.

    Parameters
    ----------
    classifier : estimator
        From `fitted_clone`.
    X : ndarray of shape (n_samples, n_features)
        All samples, of which it has seen the labelled ones, or all.
    unlabelled : ndarray of bool, shape (n_samples,)
        Which have no label.

    Returns
    -------
    ndarray of shape (n_unlabelled,)
        z: positive for label 1.
    """
    if takes_unlabelled(classifier):
        shares: FloatArray = classifier.label_distributions_[unlabelled]
        return shares[:, 1] - shares[:, 0]
    return _new_scores(classifier, X[unlabelled])


def _new_scores(classifier: Any, X: FloatArray) -> FloatArray:
    """Return z for new samples."""
    scores: FloatArray
    if hasattr(classifier, "decision_function"):
        scores = classifier.decision_function(X)
    else:
        shares = classifier.predict_proba(X)
        scores = shares[:, 1] - shares[:, 0]
    return scores


def class_scores(answers: list[FloatArray], aggregation: str) -> FloatArray:
    """Return the score of each class; the first of the largest is a sample's class.

    Parameters
    ----------
    answers : list of ndarray of shape (n_samples,)
        z of each class, or of the second of two.
    aggregation : {"vote", "score"}
        See `OneVsRestMetricClassifier`.

    Returns
    -------
    ndarray of shape (n_samples, n_classes)

    Examples
    --------
    The first sample has votes for the first two classes, the second has none:

    >>> z = [np.array([0.2, -0.9]), np.array([0.8, -0.5]), np.array([-0.5, -0.1])]
    >>> class_scores(z, "vote").argmax(axis=1), class_scores(z, "score").argmax(axis=1)
    (array([0, 0]), array([1, 2]))
    """
    scores = np.column_stack([-answers[0], answers[0]] if len(answers) == 1 else answers)
    return np.where(scores > 0, 1.0, -1.0) if aggregation == "vote" else scores
