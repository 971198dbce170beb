"""The nearest neighbours under a metric: scikit-learn's rules, and its answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline

from gdaopt.estimators.metric_classifiers import MetricKNeighborsClassifier
from gdaopt.support.validation import FloatArray
from tests.estimators.cases import SEARCHES
from tests.helpers import random_metric, scaled


def wine() -> tuple[FloatArray, np.ndarray]:
    return scaled("wine", "class_0")[0], load_wine().target


@pytest.mark.parametrize("weights", ["uniform", "distance", lambda distances: 1 / (1 + distances)])
def test_votes_are_those_of_scikit_learns_mahalanobis_distance(weights: Any) -> None:
    X, y = wine()
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


def test_the_identity_is_the_default() -> None:
    X, y = wine()
    classifier = MetricKNeighborsClassifier().fit(X, y)
    np.testing.assert_array_equal(classifier.metric_, np.eye(X.shape[1]))
    np.testing.assert_array_equal(
        classifier.predict(X + 0.1), KNeighborsClassifier().fit(X, y).predict(X + 0.1)
    )


def test_units_of_features_and_the_origin_do_not_matter() -> None:
    X, y = wine()
    metric = random_metric(np.random.default_rng(1), X.shape[1])
    units = np.logspace(-6, 6, X.shape[1])
    plain = MetricKNeighborsClassifier(metric=metric).fit(X, y)
    other = MetricKNeighborsClassifier(metric=metric / np.outer(units, units))
    other.fit((X + 10) * units, y)
    np.testing.assert_allclose(
        other.kneighbors((X + 10.1) * units)[0], plain.kneighbors(X + 0.1)[0], rtol=1e-8
    )


@SEARCHES
def test_a_learner_is_cloned_and_fitted() -> None:
    X, y = wine()
    learner = NeighborhoodComponentsAnalysis(max_iter=3, random_state=0)
    classifier = MetricKNeighborsClassifier(metric=learner).fit(X, y)
    reference = make_pipeline(clone(learner), KNeighborsClassifier()).fit(X, y)
    np.testing.assert_array_equal(classifier.predict(X), reference.predict(X))
    assert not hasattr(learner, "components_")
    assert classifier.metric_learner_.components_.shape == (13, 13)


def test_strings_data_frames_and_classes_of_one_sample() -> None:
    frame = pd.DataFrame({"length": [0.0, 1.0, 5.0, 6.0, 7.0], "width": [0.0, 0.0, 1.0, 1.0, 1.0]})
    y = pd.Series(["short", "short", "long", "long", "other"])
    classifier = MetricKNeighborsClassifier(1).fit(frame, y)
    assert classifier.classes_.tolist() == ["long", "other", "short"]
    assert classifier.feature_names_in_.tolist() == ["length", "width"]
    assert classifier.predict(frame).tolist() == y.tolist()
