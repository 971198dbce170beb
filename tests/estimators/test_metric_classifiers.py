"""The parameter `metric` of the classifiers: a matrix or a learner."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.decomposition import PCA
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from gdaopt.estimators import (
    GraphMetricLearner,
    MetricKNeighborsClassifier,
    OneVsRestMetricClassifier,
)
from gdaopt.estimators.baselines import HarmonicEntropyWeights
from gdaopt.estimators.graph_classifier import GraphClassifier
from gdaopt.support.validation import FloatArray
from tests.estimators.cases import SEARCHES, halves

pytestmark = pytest.mark.filterwarnings("ignore::gdaopt.errors.NothingLearnedWarning")


class TestMetric:
    @pytest.mark.parametrize(
        ("metric", "message"),
        [
            ([[1.0, 0.5, 0], [0, 1, 0], [0, 0, 1]], "not symmetric: [0,1] is 0.5, [1,0] is 0"),
            (np.diag([1.0, -0.5, 1.0]), "smallest eigenvalue is -0.5, with trace 1.5"),
            (np.diag([1.0, -1e-6, 1.0]), "smallest eigenvalue is -1e-06, with trace 2"),
            (-np.eye(3), "smallest eigenvalue is -1"),
            (np.eye(2), "metric must be 3×3, got 2×2"),
            (np.ones((3, 2)), "metric must be square, got shape (3, 2)"),
            (np.full((3, 3), np.nan), "metric holds nan at index (0, 0)"),
            ("euclidean", "must be None, an array-like or an object implementing 'fit'"),
            (StandardScaler(), "metric=StandardScaler() learns no metric"),
            (5, "The 'metric' parameter of GraphClassifier must be"),
        ],
    )
    def test_that_is_wrong(self, metric: Any, message: str) -> None:
        X, y = halves()
        with pytest.raises(ValueError, match=re.escape(message)):
            GraphClassifier(metric).fit(X, y)

    def test_may_be_singular_or_a_hair_below_it(self) -> None:
        X, y = halves()
        flat = GraphClassifier(np.diag([2.0, 0.0, -1e-13])).fit(X, y)
        one = GraphClassifier([[2.0]]).fit(X[:, :1], y)
        np.testing.assert_allclose(flat.label_distributions_, one.label_distributions_, atol=1e-10)

    def test_of_zero_weighs_all_samples_alike(self) -> None:
        scores = GraphClassifier([[0.0]]).fit([[0.0], [1.0], [5.0]], [0, 1, -1])
        np.testing.assert_allclose(scores.label_distributions_[2], [0.5, 0.5])

    @SEARCHES
    def test_of_a_learner_is_learned_from_labelled_samples(self) -> None:
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

    def test_of_a_learner_with_metric_learns_names(self) -> None:
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


class TestPipeline:
    @pytest.mark.parametrize(
        "classifier", [GraphClassifier, MetricKNeighborsClassifier, OneVsRestMetricClassifier]
    )
    def test_that_ends_with_a_learner(self, classifier: Any) -> None:
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

    def test_with_a_transductive_learner_sees_all_samples(self) -> None:
        X, y = halves()
        steps = make_pipeline(StandardScaler(), HarmonicEntropyWeights())
        fitted = GraphClassifier(steps).fit(X, y)
        scaler = StandardScaler().fit(X)
        expected = GraphClassifier(HarmonicEntropyWeights()).fit(scaler.transform(X), y)
        np.testing.assert_allclose(fitted.metric_, expected.metric_)
        np.testing.assert_array_equal(fitted.transduction_, expected.transduction_)

    def test_without_a_learner(self) -> None:
        X, y = halves()
        with pytest.raises(ValueError, match="learns no metric"):
            GraphClassifier(make_pipeline(StandardScaler(), MinMaxScaler())).fit(X, y)
