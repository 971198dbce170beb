"""One metric for each class against the rest: votes, scores, and samples without labels."""

from typing import Any, ClassVar

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import RidgeClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import gdaopt as gda
from gdaopt.estimators import (
    BaseMetricLearner,
    MetricKNeighborsClassifier,
    OneVsRestMetricClassifier,
)
from gdaopt.estimators.baselines import EuclideanMetric
from gdaopt.support.validation import FloatArray
from tests.estimators.cases import samples

pytestmark = pytest.mark.filterwarnings("ignore::gdaopt.errors.NothingLearnedWarning")

AGGREGATIONS = ("vote", "score")
DIAGONAL = gda.DiagonalMetricLearner()


class Weights(BaseMetricLearner):
    """Learns 1 over the variances of all samples, with and without labels."""

    seen: ClassVar[list[tuple[int, int]]] = []

    def __init__(self, missing_label: Any = -1) -> None:
        self.missing_label = missing_label

    def _learn(self, X: FloatArray, codes: Any) -> FloatArray:
        Weights.seen.append((len(X), int((codes >= 0).sum())))
        return np.diag(1 / X.var(axis=0))


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
@pytest.mark.parametrize(
    "classifier",
    [MetricKNeighborsClassifier(4), gda.GraphClassifier(missing_label=None)],
    ids=["neighbours", "graph"],
)
def test_it_is_the_published_rule(classifier: Any, aggregation: str) -> None:
    """The first of the classes with the most votes, or the highest score."""
    X, y = samples(n=90)
    (X, test), y = (X[:50], X[50:]), y[:50]
    votes, scores = np.zeros((2, 40, 3))
    for c in range(3):
        sign = np.where(y == c, 1, -1)
        metric = clone(DIAGONAL).fit(X, sign).metric_
        fitted = clone(classifier).set_params(metric=metric).fit(X, sign)
        votes[:, c] = fitted.predict(test) == 1
        scores[:, c] = fitted.predict_proba(test)[:, 1]
    expected = (votes if aggregation == "vote" else scores).argmax(axis=1)
    found = OneVsRestMetricClassifier(DIAGONAL, classifier, aggregation=aggregation).fit(X, y)
    np.testing.assert_array_equal(found.predict(test), expected)
    assert set(expected) == {0, 1, 2}
    assert (expected != clone(classifier).fit(X, y).predict(test)).any()


@pytest.mark.parametrize("classes", [2, 3])
def test_scores_are_those_of_scikit_learns_one_against_the_rest(classes: int) -> None:
    X, y = samples(n=90, classes=classes)
    (X, test), y = (X[:50], X[50:]), np.array(["ash", "birch", "cedar"])[y[:50]]
    found = OneVsRestMetricClassifier(DIAGONAL, KNeighborsClassifier(4), aggregation="score")
    expected = OneVsRestClassifier(make_pipeline(DIAGONAL, KNeighborsClassifier(4))).fit(X, y)
    np.testing.assert_array_equal(found.fit(X, y).predict(test), expected.predict(test))
    np.testing.assert_allclose(found.predict_proba(test), expected.predict_proba(test))
    for metric, pipeline in zip(found.metrics_, expected.estimators_, strict=True):
        np.testing.assert_array_equal(metric, pipeline[0].metric_)


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_two_classes_are_one_problem(aggregation: str) -> None:
    X, codes = samples(classes=2)
    y = np.where(codes, "yes", "no")
    alone = MetricKNeighborsClassifier(4, metric=DIAGONAL).fit(X[:40], y[:40])
    fitted = OneVsRestMetricClassifier(
        DIAGONAL, MetricKNeighborsClassifier(4), aggregation=aggregation
    ).fit(X[:40], y[:40])
    assert len(fitted.metrics_) == 1
    np.testing.assert_array_equal(fitted.predict(X[40:]), alone.predict(X[40:]))
    decision = fitted.decision_function(X[40:])
    assert decision.shape == (20,)
    np.testing.assert_array_equal(decision > 0, fitted.predict(X[40:]) == "yes")


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
@pytest.mark.parametrize(
    "classifier", [KNeighborsClassifier(3), LinearDiscriminantAnalysis(), SVC()], ids=str
)
def test_any_classifier(classifier: Any, aggregation: str) -> None:
    X, y = make_blobs(90, centers=3, n_features=3, cluster_std=1.5, random_state=0)
    fitted = OneVsRestMetricClassifier(None, classifier, aggregation=aggregation)
    assert fitted.fit(X[:60], y[:60]).score(X[60:], y[60:]) > 0.8


# --- Samples without labels ----------------------------------------------------------------------


def test_unlabelled_samples_are_classified_together() -> None:
    X, y = samples(n=80)
    names = np.array(["a", "b", "c"])[y]
    half = np.where(np.arange(80) < 12, names, "?")
    labelled = half != "?"
    fitted = OneVsRestMetricClassifier(
        DIAGONAL, gda.GraphClassifier(), aggregation="score", missing_label="?"
    ).fit(X, half)
    assert fitted.classes_.tolist() == ["a", "b", "c"]
    scores = np.zeros((80, 3))
    for c, name in enumerate(fitted.classes_):
        metric = clone(DIAGONAL).fit(X[labelled], half[labelled] == name).metric_
        one = np.where(labelled, (half == name).astype(int), -1)
        scores[:, c] = gda.GraphClassifier(metric).fit(X, one).label_distributions_[:, 1]
    np.testing.assert_array_equal(fitted.transduction_, fitted.classes_[scores.argmax(axis=1)])
    np.testing.assert_array_equal(fitted.transduction_[labelled], names[labelled])
    # Classified one by one, some samples get other labels.
    alone = clone(fitted).fit(X[labelled], names[labelled])
    assert (alone.predict(X[~labelled]) != fitted.transduction_[~labelled]).any()


def half_labelled() -> tuple[FloatArray, Any]:
    X, y = samples(n=80)
    return X, np.where(np.arange(80) % 2, y, -1)


def test_others_see_labelled_samples_only() -> None:
    X, half = half_labelled()
    fitted = OneVsRestMetricClassifier().fit(X, half)
    alone = OneVsRestMetricClassifier().fit(X[half >= 0], half[half >= 0])
    np.testing.assert_allclose(fitted.metrics_, alone.metrics_)
    expected = alone.predict(X[half < 0])
    np.testing.assert_array_equal(fitted.transduction_[half < 0], expected)


@pytest.mark.parametrize("classifier", [gda.GraphClassifier(), MetricKNeighborsClassifier()])
def test_learners_that_take_unlabelled_samples_get_them(classifier: Any) -> None:
    X, half = half_labelled()
    Weights.seen.clear()
    fitted = OneVsRestMetricClassifier(Weights(), classifier).fit(X, half)
    gda.GraphClassifier(Weights()).fit(X, half)
    assert Weights.seen == [(80, 40)] * 4
    np.testing.assert_allclose(fitted.metrics_[0], np.diag(1 / X.var(axis=0)))


def test_minus_one_is_a_label_where_it_does_not_stand_for_none() -> None:
    X, y = samples(classes=2)
    signs = np.where(y, 1, -1)
    learner = Weights(missing_label=-1)
    fitted = OneVsRestMetricClassifier(learner, missing_label=None).fit(X, signs)
    assert fitted.classes_.tolist() == [-1, 1]
    assert set(fitted.predict(X)) == {-1, 1}
    assert gda.GraphClassifier(learner, missing_label=None).fit(X, signs).score(X, signs) > 0.5


# --- Probabilities -------------------------------------------------------------------------------


def test_no_probability_at_all_is_the_same_for_all_classes() -> None:
    X, y = np.array([[0.0], [0.1], [1.0], [1.1], [2.0], [2.1]]), [0, 0, 1, 1, 2, 2]
    fitted = OneVsRestMetricClassifier(EuclideanMetric(), MetricKNeighborsClassifier(3)).fit(X, y)
    for estimator in fitted.estimators_:
        estimator.predict_proba = lambda X: np.column_stack([np.ones(len(X)), np.zeros(len(X))])
    np.testing.assert_allclose(fitted.predict_proba(X), 1 / 3)
    fitted = OneVsRestMetricClassifier(EuclideanMetric(), RidgeClassifier()).fit(X, y)
    assert not hasattr(fitted, "predict_proba")
