"""The learners of the literature beside one another, and under scikit-learn's names."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

import gdaopt as gda
from gdaopt.datasets import load
from gdaopt.estimators import BaseMetricLearner, baselines
from gdaopt.support.validation import FloatArray
from tests.estimators.cases import samples

WHO_SAYS = ("published", "from code", "reconstructed")


@pytest.fixture(scope="module")
def metrics() -> dict[str, FloatArray]:
    """Metrics of trace K of all six baselines and of the paper, for one class of wine."""
    wine = load("wine")
    labels = (wine.labels == "class_1").astype(int)
    train, test = train_test_split(np.arange(178), test_size=0.5, stratify=labels, random_state=0)
    X = StandardScaler().fit(wine.features[train]).transform(wine.features)
    half = labels.copy()
    half[test] = -1
    learners: dict[str, Any] = {
        "Zhu 2003": baselines.HarmonicEntropyWeights().fit(X, half),
        "Mao 2016": baselines.JointClassifierWeights().fit(X, half),
        "Yang 2018": baselines.AlternatingClassifierWeights(trace_bound=13).fit(X, half),
        "GMML 2016": baselines.GeometricMeanMetric(random_state=0).fit(X[train], labels[train]),
        "FGL 2019": baselines.FeatureGraphLearning(trace_bound=13).fit(X[train], labels[train]),
        "I": baselines.EuclideanMetric().fit(X[train], labels[train]),
    }
    learned = {name: learner.metric_ for name, learner in learners.items()}
    problem = gda.MetricProblem(gda.GLR(X[train], labels[train]), gda.GraphMetrics(13, 1e-6))
    learned["GDA 2020"] = gda.solve(problem, "alternating", solver="analytic").metric
    return {name: 13 / np.trace(metric) * metric for name, metric in learned.items()}


def test_they_learn_different_metrics(metrics: dict[str, FloatArray]) -> None:
    names = list(metrics)
    distances = {
        (a, b): float(np.linalg.norm(metrics[a] - metrics[b]))
        for a, b in itertools.combinations(names, 2)
    }
    print("\nFrobenius distances of metrics of trace 13")  # pytest -s shows it
    for b in names[1:]:
        print(f"{b:>9}", *(f"{distances[a, b]:6.2f}" for a in names[: names.index(b)]))
    assert min(distances.values()) > 0.1 * np.linalg.norm(metrics["I"]), distances


def test_full_and_diagonal(metrics: dict[str, FloatArray]) -> None:
    full = {name for name, metric in metrics.items() if np.abs(np.triu(metric, 1)).max() > 1e-6}
    assert full == {"GMML 2016", "FGL 2019", "GDA 2020"}


@pytest.mark.parametrize("name", baselines.__all__)
def test_each_says_where_its_formulas_are_from(name: str) -> None:
    words = (getattr(baselines, name).__doc__ or "").lower()
    if name != "EuclideanMetric":
        assert any(word in words for word in WHO_SAYS)
        assert "source:" in words
    assert issubclass(getattr(baselines, name), BaseMetricLearner)


@pytest.mark.parametrize(
    "learner", [baselines.GeometricMeanMetric(random_state=0), baselines.EuclideanMetric()]
)
def test_labels_are_names_only(learner: Any) -> None:
    X, codes = samples()
    expected = learner.fit(X, codes).metric_
    names = np.array(["ash", "birch", "cedar"])[codes]
    for y in (names, names.astype(object), pd.Series(names), 10 * codes - 5):
        np.testing.assert_array_equal(learner.fit(X, y).metric_, expected)
        assert list(learner.classes_) == list(np.unique(y))
    with pytest.raises(gda.errors.InvalidInputError, match="y has 1 class, 'a'"):
        learner.fit(X, ["a"] * 60)
