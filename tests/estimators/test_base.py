"""The learners keep scikit-learn's rules and have metric-learn's names."""

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gdaopt as gda
from gdaopt.datasets import load
from gdaopt.estimators import MetricGraph, PairMetricLearner, TripletMetricLearner
from gdaopt.estimators.components import components_of
from gdaopt.support.validation import FloatArray
from tests.estimators.cases import LEARNERS, wine_z_scores


@pytest.fixture(name="wine", scope="module")
def _wine() -> tuple[FloatArray, Any]:
    return wine_z_scores()


@pytest.fixture(params=LEARNERS)
def fitted(request: pytest.FixtureRequest, wine: tuple[FloatArray, Any]) -> Any:
    return request.param().fit(*wine)


# --- The metric ----------------------------------------------------------------------------------


def test_all_distances_are_the_metrics(fitted: Any, wine: tuple[FloatArray, Any]) -> None:
    pairs = wine[0][:20].reshape(10, 2, -1)
    differences = pairs[:, 0] - pairs[:, 1]
    expected = np.sqrt(np.einsum("pk,kl,pl->p", differences, fitted.metric_, differences))
    transformed = fitted.transform(wine[0][:20])
    between = np.linalg.norm(transformed[::2] - transformed[1::2], axis=1)
    np.testing.assert_allclose(between, expected, rtol=1e-10)
    np.testing.assert_allclose(fitted.pair_distance(pairs), expected, rtol=1e-10)
    np.testing.assert_array_equal(fitted.pair_score(pairs), -fitted.pair_distance(pairs))
    distance = fitted.get_metric()
    assert [distance(a, b) for a, b in pairs] == pytest.approx(expected)
    assert [distance(a, b, squared=True) for a, b in pairs] == pytest.approx(expected**2)


def test_components_and_matrix(fitted: Any) -> None:
    units = np.outer(fitted.scale_, fitted.scale_)
    np.testing.assert_allclose(fitted.metric_ * units, fitted.result_.metric, rtol=1e-15)
    product = fitted.components_.T @ fitted.components_
    np.testing.assert_allclose(product, fitted.metric_, atol=1e-14 * np.trace(fitted.metric_))
    np.testing.assert_array_equal(np.tril(fitted.components_, -1), 0)
    for fixed in (fitted.metric_, fitted.components_):
        assert not fixed.flags.writeable
    matrix = fitted.get_mahalanobis_matrix()
    matrix[:] = 0  # a copy
    assert fitted.metric_.any()


def test_components_of_singular_metrics_and_of_few_edges() -> None:
    singular = [[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]
    sparse = np.diag([4.0, 9.0, 2.0, 0.0, 5.0])
    sparse[0, 4] = sparse[4, 0] = -1.0
    for metric in (np.array(singular), sparse):
        components = components_of(metric)
        np.testing.assert_allclose(components.T @ components, metric, atol=1e-15)
    np.testing.assert_array_equal(components, np.triu(components))


@pytest.mark.parametrize("shape", [(4, 13), (4, 3, 13), (4, 2, 12)])
def test_pairs_of_another_shape(shape: tuple[int, ...], wine: tuple[FloatArray, Any]) -> None:
    learner = gda.DiagonalMetricLearner().fit(*wine)
    with pytest.raises(gda.errors.InvalidInputError, match=re.escape(f"pairs has shape {shape}")):
        learner.pair_distance(np.zeros(shape))
    with pytest.raises(gda.errors.InvalidInputError, match="vectors have 2 entries"):
        learner.get_metric()([0.0, 0.0], [1.0, 1.0])


def test_nothing_before_fit() -> None:
    learner, of_pairs = gda.GraphMetricLearner(), PairMetricLearner()
    tuples = np.zeros((1, 2, 3))
    for call in (
        learner.get_metric,
        learner.get_mahalanobis_matrix,
        learner.plot_graph,
        lambda: learner.pair_distance(tuples),
        lambda: learner.graph_,
        lambda: of_pairs.predict(tuples),
        lambda: of_pairs.score(tuples, [1]),
        lambda: of_pairs.set_threshold(1),
        lambda: of_pairs.calibrate_threshold(tuples, [1]),
        lambda: TripletMetricLearner().predict(np.zeros((1, 3, 3))),
    ):
        with pytest.raises(NotFittedError):
            call()


# --- scikit-learn's tools ------------------------------------------------------------------------


def test_data_frames_in_and_out() -> None:
    data = load("wine")
    frame = pd.DataFrame(data.features, columns=list(data.feature_names))
    scaler = StandardScaler().set_output(transform="pandas")
    learner = gda.GraphMetricLearner().set_output(transform="pandas")
    transformed = make_pipeline(scaler, learner).fit_transform(frame, pd.Series(data.labels))
    assert list(transformed.columns) == [f"graphmetriclearner{i}" for i in range(13)]
    assert list(learner.get_feature_names_out()) == list(transformed.columns)
    assert list(learner.feature_names_in_) == list(data.feature_names)
    assert list(learner.classes_) == ["class_0", "class_1", "class_2"]
    a, b, weight = learner.graph_.named_edges()[0]
    i, j = (data.feature_names.index(name) for name in (a, b))
    metric = learner.result_.metric
    assert weight == -metric[i, j] == -np.triu(metric, 1).min()


# --- The graph of a learned metric, in numbers and as a picture ----------------------------------


def test_graph_of_the_metric(fitted: Any) -> None:
    graph = fitted.graph_
    assert graph.feature_names == tuple(f"x{i}" for i in range(13))
    np.testing.assert_allclose(graph.self_loops, fitted.result_.metric.sum(axis=1))
    i, j = graph.edges.T
    np.testing.assert_array_equal(graph.weights, -fitted.result_.metric[i, j])
    assert (np.diff(np.abs(graph.weights)) <= 0).all()
    assert (graph.weights > 0).all() or isinstance(fitted, gda.PositiveDefiniteMetricLearner)
    assert (len(graph.edges) == 0) == isinstance(fitted, gda.DiagonalMetricLearner)
    first = str(graph).splitlines()[0]
    assert first == f"13 features, {len(graph.edges)} edges"


def test_names_of_any_kind_are_one_line_each() -> None:
    matrix = np.array([[2.0, -1.0], [-1.0, 2.0]])
    shown = str(MetricGraph.of_metric(matrix, ["\x1b[31mred", "two\nlines"]))
    assert shown.splitlines()[1:] == [r"  \x1b[31mred – two\nlines: 1"]
