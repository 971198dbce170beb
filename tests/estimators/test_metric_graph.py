"""The graph of a learned metric, in numbers and as a picture."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

import gdaopt as gda
from gdaopt.estimators import MetricGraph
from tests.estimators.cases import LEARNERS, wine_z_scores


@pytest.fixture(params=LEARNERS)
def fitted(request: pytest.FixtureRequest) -> Any:
    return request.param().fit(*wine_z_scores())


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


def test_picture_of_the_graph() -> None:
    learner = gda.GraphMetricLearner().fit(*wine_z_scores())
    ax = learner.plot_graph()
    assert isinstance(ax, Axes)
    assert [text.get_text() for text in ax.texts] == [f"x{i}" for i in range(13)]
    lines = ax.collections[0]
    assert isinstance(lines, LineCollection)
    assert len(lines.get_segments()) == len(learner.graph_.edges)
    assert learner.plot_graph(ax=ax.figure.add_subplot()) is not ax
