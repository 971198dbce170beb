"""Pictures of graphs show the edges and the self-loops of the metric."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import same_color

import gdaopt as gda
from gdaopt import plotting
from gdaopt.linalg import edge_weights
from gdaopt.linalg.laplacian import generalized_laplacian
from gdaopt.support.validation import FloatArray
from tests.plotting.cases import NAMES, render, solved

METRIC = generalized_laplacian(
    np.array([[0, 2, 1, 0], [2, 0, 1e-3, 0], [1, 1e-3, 0, 0], [0, 0, 0, 0]], dtype=float),
    np.array([1.0, -0.5, 0.0, 2.0]),
)


def edges_on(ax: Axes) -> LineCollection:
    (edges,) = (item for item in ax.collections if isinstance(item, LineCollection))
    return edges


def nodes_on(ax: Axes) -> tuple[PathCollection, PathCollection]:
    """Return the nodes with positive and with negative self-loops."""
    positive, negative = (item for item in ax.collections if isinstance(item, PathCollection))
    return positive, negative


def test_draws_edges_and_self_loops() -> None:
    ax = plotting.graph(METRIC, [*NAMES, "alone"])
    edges = edges_on(ax)
    weights = edge_weights(METRIC)
    places = np.vstack([nodes.get_offsets() for nodes in nodes_on(ax)])[[0, 3, 1, 2]]
    pairs = [(0, 1), (0, 2), (1, 2)]
    for segment, pair in zip(edges.get_segments(), pairs, strict=True):
        np.testing.assert_allclose(segment, places[list(pair)])
    widths = np.asarray(edges.get_linewidth())
    assert widths[0] / widths[1] == pytest.approx(weights[0, 1] / weights[0, 2])
    assert 0 < widths[2] < widths[1]
    styles: Any = edges.get_linestyle()
    assert [pattern is None for _, pattern in styles] == [True, True, False]
    render(ax)


def test_colours_of_self_loops() -> None:
    ax = plotting.graph(METRIC)
    positive, negative = nodes_on(ax)
    assert [np.shape(nodes.get_offsets()) for nodes in (positive, negative)] == [(3, 2), (1, 2)]
    assert not np.array_equal(  # circles and squares, so that grey print tells the sign
        positive.get_paths()[0].vertices, negative.get_paths()[0].vertices
    )
    figure = ax.get_figure(root=True)
    assert figure is not None
    (bar,) = (other for other in figure.axes if other is not ax)
    bottom, top = bar.get_ylim()
    assert (bottom, top) == (-2, 2)  # around zero
    assert "self-loop (squares: negative)" in bar.get_ylabel()
    brightness = np.asarray(positive.get_facecolor())[:, :3].sum(axis=1)
    assert brightness.argsort().tolist() == [2, 0, 1]  # 2 is darkest, 0 brightest


def test_negative_edges_have_a_colour_of_their_own() -> None:
    """A signed graph: an entry above 0 is a negative edge, as wide as a positive one."""
    signed = METRIC.copy()
    signed[0, 2] = signed[2, 0] = 2.0
    ax = plotting.graph(signed)
    edges = edges_on(ax)
    assert len(edges.get_segments()) == 3
    colours, widths = np.asarray(edges.get_colors()), np.asarray(edges.get_linewidth())
    assert [same_color(each, "C1") for each in colours] == [False, True, False]
    assert widths[0] == widths[1]
    legend = ax.get_legend()
    assert legend is not None
    assert legend.get_texts()[-1].get_text() == "negative"
    render(ax)


def test_threshold() -> None:
    tiny = METRIC.copy()
    tiny[0, 3] = tiny[3, 0] = -1e-12  # Frank–Wolfe leaves such edges
    shown: list[tuple[FloatArray, dict[str, Any], int]] = [
        (METRIC, {"threshold": 0.01}, 2),
        (METRIC, {"threshold": 1}, 1),  # of two
        (METRIC, {"threshold": 5}, 0),
        (tiny, {}, 3),
    ]
    for metric, options, count in shown:
        assert len(edges_on(plotting.graph(metric, **options)).get_segments()) == count


def test_a_run_is_drawn_by_its_metric_and_its_set() -> None:
    """And it is drawn the same again."""
    run = solved()
    of_run, of_metric = (edges_on(plotting.graph(one)) for one in (run, run.metric))
    np.testing.assert_array_equal(of_run.get_segments(), of_metric.get_segments())
    assert len(of_run.get_segments()) > 0
    nothing_counts = replace(run, feasible_set=gda.GraphMetrics(1e12, 1e-3))
    assert len(edges_on(plotting.graph(nothing_counts)).get_segments()) == 0


def of_many_features(block: FloatArray, features: Any, size: int) -> gda.Result:
    """Return a run over graph metrics of K features with a block of some of them."""
    run, feasible_set = solved(), gda.GraphMetrics(100.0 * size, 1e-3)
    trace = gda.trace.Trace(run.trace.rows[:1], np.full((1, size), 1e-3))
    return replace(run, block=block, features=features, feasible_set=feasible_set, trace=trace)


def test_of_many_features_the_strongest_are_drawn_without_a_dense_array() -> None:
    """As an array this metric would need 320 GB."""
    size = 200_000
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(size)[:120].reshape(2, 60)
    edges = np.minimum(rows, columns), np.maximum(rows, columns)
    weights = np.arange(60, 0, -1) / 100
    features = np.unique(edges)
    block, places = np.eye(120), np.searchsorted(features, edges)
    block[tuple(places)] = block[tuple(places[::-1])] = -weights
    run = of_many_features(block, features, size)
    ax = plotting.graph(run, [f"gene {number}" for number in range(size)])
    assert len(edges_on(ax).get_segments()) == 20
    shown = sorted([*edges[0][:20], *edges[1][:20]])
    assert [text.get_text() for text in ax.texts] == [f"gene {number}" for number in shown]
    loops = sum(len(np.atleast_2d(nodes.get_offsets())) for nodes in nodes_on(ax))
    assert loops == 40
    render(ax)


def test_of_a_few_hundred_features_the_strongest_are_drawn() -> None:
    """As of many: with a name each, the circle is a black ring."""
    metric = np.eye(300)
    for k in range(0, 60, 2):
        metric[k, k + 1] = metric[k + 1, k] = -(60 - k) / 100
    ax = plotting.graph(metric, [f"f{k}" for k in range(300)])
    assert [text.get_text() for text in ax.texts] == [f"f{k}" for k in range(40)]
    assert len(edges_on(ax).get_segments()) == 20


def test_names_beyond_the_fonts_glyphs() -> None:
    """Which matplotlib would warn of, once for each draw."""
    ax = plotting.graph(np.eye(2), ["größe λ", "身長 cm"])
    assert [text.get_text() for text in ax.texts] == ["größe λ", "?? cm"]
    render(ax)
