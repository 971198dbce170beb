"""Classifiers under a metric: a matrix or a learner, and scikit-learn's nearest neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gdaopt.estimators import (
    GraphMetricLearner,
    MetricKNeighborsClassifier,
    OneVsRestMetricClassifier,
)
from gdaopt.estimators.graph_classifier import GraphClassifier
from gdaopt.support.validation import FloatArray
from tests.estimators.cases import SEARCHES, halves, wine_z_scores
from tests.helpers import random_metric

pytestmark = pytest.mark.filterwarnings("ignore::gdaopt.errors.NothingLearnedWarning")


def test_a_metric_may_be_singular_or_a_hair_below_it() -> None:
    X, y = halves()
    flat = GraphClassifier(np.diag([2.0, 0.0, -1e-13])).fit(X, y)
    one = GraphClassifier([[2.0]]).fit(X[:, :1], y)
    np.testing.assert_allclose(flat.label_distributions_, one.label_distributions_, atol=1e-10)


@SEARCHES
def test_the_metric_of_a_learner_is_learned_from_labelled_samples() -> None:
    X, y = halves()
    learner = NeighborhoodComponentsAnalysis(max_iter=5, random_state=0)
    classifier = GraphClassifier(learner).fit(X, y)
    reference = clone(learner).fit(X[y != -1], y[y != -1])
    expected = reference.components_.T @ reference.components_
    np.testing.assert_allclose(classifier.metric_, expected, rtol=1e-10)
    assert isinstance(classifier.metric_learner_, NeighborhoodComponentsAnalysis)
    assert not hasattr(learner, "components_")
    same = GraphClassifier(expected).fit(X, y)
    assert same.metric_learner_ is None
    np.testing.assert_allclose(
        same.label_distributions_, classifier.label_distributions_, atol=1e-10
    )


def test_names_of_features_go_to_the_learner() -> None:
    """As in `edges`, and in the steps before a learner that choose columns."""
    X, y = halves()
    frame = pd.DataFrame(X, columns=["ash", "hue", "acid"])
    learner = GraphMetricLearner("glr", edges=[("ash", "acid")])
    columns = make_column_transformer(("passthrough", ["ash", "acid"]))
    numbered = GraphMetricLearner("glr", edges=[(0, 2)])
    kinds: list[Any] = [
        GraphClassifier,
        OneVsRestMetricClassifier,
        lambda metric: MetricKNeighborsClassifier(metric=metric),
    ]
    for kind in kinds:
        fitted, expected = kind(learner).fit(frame, y), kind(numbered).fit(X, y)
        np.testing.assert_array_equal(fitted.predict(frame), expected.predict(X))
    of_two = GraphClassifier(make_pipeline(columns, GraphMetricLearner("glr"))).fit(frame, y)
    alone = GraphClassifier(GraphMetricLearner("glr")).fit(X[:, ::2], y)
    np.testing.assert_allclose(of_two.metric_, alone.metric_, rtol=1e-12, atol=1e-15)
    np.testing.assert_array_equal(of_two.predict(frame), alone.predict(X[:, ::2]))
    graph = MetricKNeighborsClassifier(metric=learner).fit(frame, y).metric_learner_.graph_
    assert graph.feature_names == ("ash", "hue", "acid")


def test_learners_with_metric_learns_names() -> None:
    X, y = halves()

    class Named(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
        def fit(self, X: Any, y: Any) -> Named:
            self.metric_ = 2 * np.eye(X.shape[1])
            return self

    class Asked(Named):
        def get_mahalanobis_matrix(self) -> FloatArray:
            matrix: FloatArray = 2 * self.metric_
            return matrix

    np.testing.assert_array_equal(GraphClassifier(Named()).fit(X, y).metric_, 2 * np.eye(3))
    np.testing.assert_array_equal(GraphClassifier(Asked()).fit(X, y).metric_, 4 * np.eye(3))


@pytest.mark.parametrize(
    "classifier", [GraphClassifier, MetricKNeighborsClassifier, OneVsRestMetricClassifier]
)
def test_a_pipeline_that_ends_with_a_learner(classifier: Any) -> None:
    X, y = halves()
    if classifier is MetricKNeighborsClassifier:
        X, y = X[y != -1], y[y != -1]
    shifted = X * [1e3, 1.0, 1e-3] + 7.0
    parameter = "learner" if classifier is OneVsRestMetricClassifier else "metric"
    steps = make_pipeline(StandardScaler(), PCA(2), GraphMetricLearner())
    fitted = classifier(**{parameter: steps}).fit(shifted, y)
    known = y != -1
    before = make_pipeline(StandardScaler(), PCA(2)).fit(shifted[known])
    expected = classifier(**{parameter: GraphMetricLearner()}).fit(before.transform(shifted), y)
    np.testing.assert_array_equal(
        fitted.predict(shifted), expected.predict(before.transform(shifted))
    )
    if parameter == "metric":
        assert fitted.metric_.shape == (2, 2)
        assert isinstance(fitted.metric_learner_[-1], GraphMetricLearner)


@pytest.mark.parametrize("weights", ["uniform", "distance", lambda distances: 1 / (1 + distances)])
def test_votes_are_those_of_scikit_learns_mahalanobis_distance(weights: Any) -> None:
    X, y = wine_z_scores()
    metric = random_metric(np.random.default_rng(0), X.shape[1])
    reference = KNeighborsClassifier(
        7, metric="mahalanobis", metric_params={"VI": metric}, weights=weights, algorithm="brute"
    ).fit(X[::2], y[::2])
    classifier = MetricKNeighborsClassifier(7, metric=metric, weights=weights).fit(X[::2], y[::2])
    np.testing.assert_array_equal(classifier.predict(X), reference.predict(X))
    np.testing.assert_allclose(classifier.predict_proba(X), reference.predict_proba(X), atol=1e-8)
    distances, indices = classifier.kneighbors(X[1::2])
    expected, neighbors = reference.kneighbors(X[1::2])
    np.testing.assert_allclose(distances, expected, rtol=1e-7)
    np.testing.assert_array_equal(indices, neighbors)
    assert classifier.kneighbors(n_neighbors=2)[1].shape == (len(X[::2]), 2)
