"""One metric and one classifier for each class against the rest, and how their answers combine."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, _fit_context
from sklearn.utils._param_validation import HasMethods, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from gdaopt.errors import InvalidInputError
from gdaopt.estimators.inputs import Mask, class_signal, read_labels, read_samples
from gdaopt.estimators.metric_classifiers import (
    MetricKNeighborsClassifier,
    MetricSpace,
    fit_clone,
    last_step,
    takes_unlabelled,
)
from gdaopt.estimators.metric_learner import GraphMetricLearner
from gdaopt.support.text import shortened
from gdaopt.support.validation import FloatArray


@dataclass(eq=False, repr=False, kw_only=True)
class OneVsRestMetricClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Learn a metric for each class against the rest, and classify under each.

    For each class, clones of `learner` and `classifier` are fitted on the labels "this class" and
    "not this class", the classifier in coordinates in which the Euclidean distance is the learned
    one. The classifier's answer for a sample is a real number z, positive if the sample belongs to
    this class. Two classes need only one such problem.

    Parameters
    ----------
    learner : estimator, default=None
        A metric learner, as `gdaopt.GraphClassifier` takes it. None stands for
        ``GraphMetricLearner("glr")``, because "the rest" may be groups apart from each other, and
        ``"mcml"`` would pull these together across this class.
    classifier : estimator, default=None
        Any classifier of two classes with `decision_function` or `predict_proba`, by Euclidean
        distances. None stands for `gdaopt.estimators.MetricKNeighborsClassifier`.
    aggregation : {"vote", "score"}, default="vote"
        With ``"vote"``, as in the published code of the paper's authors, each z > 0 is a vote for
        its class. If several classes have a vote, or none has, the first one wins. With
        ``"score"``, the largest z wins.
    missing_label : object, default=-1
        The value that stands for "no label" in `y`, see `GraphClassifier`. A learner or
        classifier that has this parameter, too, is fitted on all samples.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The different labels, sorted, without `missing_label`.
    metrics_ : list of ndarray of shape (n_features, n_features)
        M for each class; for two classes, M of the only problem.
    learners_, estimators_ : list of estimators
        The fitted learners and classifiers, in the same order.
    transduction_ : ndarray of shape (n_samples,)
        The label of each sample given to `fit`: the given label, or the predicted one.
    n_features_in_, feature_names_in_ : int and ndarray of shape (n_features,)
        K, and the column names of X, if `fit` was given a data frame whose names are strings.

    See Also
    --------
    GraphMetricLearner : Learns one metric for all classes by a single convex problem.

    Notes
    -----
    "One against all" is from Yang, Cheung, Hu, *Graph Metric Learning via Gershgorin Disc
    Alignment* (ICASSP 2020). The votes are from later code of the same authors. The scores are
    those of scikit-learn's ``OneVsRestClassifier(make_pipeline(learner, classifier))``, but that
    pipeline takes no samples without labels and no learner without ``transform``, and has no votes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> classifier = OneVsRestMetricClassifier(aggregation="score").fit(X[::2], y[::2])
    >>> len(classifier.metrics_), round(classifier.score(X[1::2], y[1::2]), 2)
    (3, 0.93)
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

    learner: Any = field(default=None, kw_only=False)
    classifier: Any = field(default=None, kw_only=False)
    aggregation: str = "vote"
    missing_label: Any = -1

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any) -> Self:
        """Learn the metrics, and fit the classifiers, from all samples, with and without labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Labels; `missing_label` for samples without one.

        Returns
        -------
        self

        Raises
        ------
        InvalidInputError
            For parameters, samples or labels that do not fit; it is a `ValueError`.
        """
        X = read_samples(self, X)
        self.classes_, codes, labelled = read_labels(X, y, self.missing_label)
        if len(self.classes_) < 2:
            raise InvalidInputError(
                f"y has 1 class, {shortened(self.classes_[0].item())}; one against the rest needs "
                "two classes"
            )
        learner = GraphMetricLearner("glr") if self.learner is None else self.learner
        classifier = MetricKNeighborsClassifier() if self.classifier is None else self.classifier
        names = getattr(self, "feature_names_in_", None)
        signals = class_signal(codes).astype(np.intp).T
        self._spaces, self.estimators_, answers = [], [], []
        for signal in signals:
            space = MetricSpace(learner, X, labelled, signal, names)
            samples = space.coordinates(X)
            estimator = fit_clone(classifier, samples, signal, labelled)
            self._spaces.append(space)
            self.estimators_.append(estimator)
            if not labelled.all():
                answers.append(binary_scores(estimator, samples, ~labelled))
        self.metrics_ = [space.metric for space in self._spaces]
        self.learners_ = [space.learner for space in self._spaces]
        self.transduction_ = np.empty(len(X), dtype=self.classes_.dtype)
        self.transduction_[labelled] = self.classes_[codes]
        if answers:
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
            z of each class, or its sign ±1 with ``aggregation="vote"``. For two classes there is
            one number, which is positive for the second class.
        """
        scores = self._scores(X)
        return scores[:, 1] if len(self.classes_) == 2 else scores

    @available_if(lambda self: self.classifier is None or hasattr(self.classifier, "predict_proba"))
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probabilities of the classes for new samples.

        They are the probabilities that the classifiers give to each class against the rest, divided
        by their sum. If no classifier gives a sample to its class, all classes have the same
        probability. With ``aggregation="vote"`` the class of a sample need not be the class of the
        largest one.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Shares, of which each row sums to 1.
        """
        shares = np.column_stack([each.predict_proba(Z)[:, 1] for each, Z in self._map(X)])
        if len(self.classes_) == 2:
            return np.column_stack([1 - shares, shares])
        total = shares.sum(axis=1, keepdims=True)
        shares[total[:, 0] == 0] = 1.0
        probabilities: FloatArray = shares / shares.sum(axis=1, keepdims=True)
        return probabilities

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class that has a vote, or the class with the largest score.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        scores = self._scores(X)
        labels: npt.NDArray[Any] = self.classes_[scores.argmax(axis=1)]
        return labels

    def _scores(self, X: Any) -> FloatArray:
        return class_scores([_new_scores(*each) for each in self._map(X)], self.aggregation)

    def _map(self, X: Any) -> list[tuple[Any, FloatArray]]:
        """Return the classifier of each problem, and new samples in its coordinates."""
        check_is_fitted(self)
        X = read_samples(self, X, reset=False)
        coordinates = (space.coordinates(X) for space in self._spaces)
        return list(zip(self.estimators_, coordinates, strict=True))


def binary_scores(classifier: Any, X: FloatArray, unlabelled: Mask) -> FloatArray:
    """Return the answers z of a classifier of labels 0 and 1 for those samples without a label."""
    if takes_unlabelled(classifier):
        shares: FloatArray = last_step(classifier).label_distributions_[unlabelled]
        return shares[:, 1] - shares[:, 0]
    return _new_scores(classifier, X[unlabelled])


def _new_scores(classifier: Any, X: FloatArray) -> FloatArray:
    """Return the answers z of a fitted classifier of labels 0 and 1 for new samples."""
    scores: FloatArray
    if hasattr(classifier, "decision_function"):
        scores = classifier.decision_function(X)
    else:
        shares = classifier.predict_proba(X)
        scores = shares[:, 1] - shares[:, 0]
    return scores


def class_scores(answers: list[FloatArray], aggregation: str) -> FloatArray:
    """Return z or its sign for each class, from z of each, or of the second of two classes."""
    scores = np.column_stack([-answers[0], answers[0]] if len(answers) == 1 else answers)
    return np.where(scores > 0, 1.0, -1.0) if aggregation == "vote" else scores
