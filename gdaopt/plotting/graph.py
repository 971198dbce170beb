"""Pictures of the graph of a metric."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gdaopt.linalg.laplacian import edge_weights, self_loops
from gdaopt.plotting.canvas import (
    GREY,
    ORANGE,
    as_drawn,
    axes_or_new,
    figure_of,
    font_size,
    room,
    scale,
)
from gdaopt.plotting.legends import escape_text, feature_names, legend_above, short_label
from gdaopt.result import Result
from gdaopt.support.extras import cli_extra
from gdaopt.support.validation import FloatArray, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable

_ROUND_OFF = 1e-12  # share of the largest self-loop: a self-loop that is less negative is 0
_WIDEST, _THINNEST = 6.0, 1.0  # points: the edge of largest weight, and the least width
_FAINT = 0.02  # share of the largest weight below which edges are dotted: all are equally thin
_DOTTED = (0.0, (1.0, 2.0))
_LEGEND_SHARES = (1.0, 0.5, 0.2)  # of the largest weight
_NODE = 10.5  # points: the diameter of a node
_NODE_SHARE = 0.8  # of the distance of two nodes
_FONT_SIZE, _SMALLEST_FONT = 8.0, 4.5  # points; the least where there are many names
_LINE_HEIGHT = 1.15  # font sizes
_LABEL_DISTANCE = 8.0  # points
_MOST_LEVEL = 8  # features: with more of them, names are written along the radii
_FITS = 1e-6  # of a name: what is missing by no more is round-off
_PADDING = 0.1  # inches around the graph, its legend and its colour bar
_LIMIT, _LARGEST_LIMIT = 1.15, 2.5  # longer names are cut rather than that the graph is tiny


def graph(
    metric: Result | FloatArray,
    names: Sequence[str] | None = None,
    ax: Axes | None = None,
    threshold: float | None = None,
) -> Axes:
    """Draw a metric M as a graph between the features, which lie on a circle in their order.

    The width of an edge is proportional to the size of its weight ``-M_ij``; edges of less than 2 %
    of the largest size are dotted, and those of negative weight, ``M_ij > 0``, are orange. The
    colour of a feature is its self-loop, the row sum of M: a circle, or a square where it is
    negative. Of a run with many features, those with the strongest edges are drawn, 40 at most.

    Parameters
    ----------
    metric : Result or ndarray of shape (K, K)
        A run, whose metric is drawn, or any symmetric matrix M.
    names : sequence of K str, optional
        Names of all K features; at most 40 characters of each are shown, and fewer on small axes.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default new axes.
    threshold : float, optional
        Edges of a larger size are drawn; by default above ``1e-9·C/K``, or ``1e-9·tr M / K`` for a
        matrix.

    Returns
    -------
    matplotlib.axes.Axes
        The edges are one line collection, in the order of the pairs (i, j), i < j.

    Raises
    ------
    InvalidInputError
        For a matrix that is not symmetric, a wrong number of names, or a negative threshold.

    Examples
    --------
    >>> M = np.array([[2.0, -2.0, -1.0], [-2.0, 5.0, 0.0], [-1.0, 0.0, 4.0]])
    >>> ax = graph(M, names=["a", "b", "c"])
    >>> len(ax.collections[0].get_segments()), [text.get_text() for text in ax.texts]
    (2, ['a', 'b', 'c'])
    """
    with cli_extra("plotting.graph"):
        import networkx as nx

    of = as_drawn(metric)
    shown, size = of.shown, len(of.shown)
    every = feature_names(names, of.n_features)
    labels, loops = [every[k] for k in of.features[shown]], self_loops(of.block)[shown]
    if threshold is None:
        threshold = of.threshold
    threshold = number("threshold", threshold, at_least=0)
    weights = np.triu(edge_weights(of.block[np.ix_(shown, shown)]), 1)
    graph_: nx.Graph[int] = nx.Graph()
    graph_.add_nodes_from(range(size))
    graph_.add_edges_from((int(i), int(j)) for i, j in np.argwhere(abs(weights) > threshold))
    layout = nx.circular_layout(graph_)
    places = np.array([layout[node] for node in range(size)])
    ax = axes_or_new(ax, 8, 6.5)
    ax.set_axis_off()
    ax.set_aspect("equal")
    edges = np.array(graph_.edges, dtype=np.intp).reshape(-1, 2)
    bar = _draw_bar(ax, loops)
    width, height = room(ax)
    width = max(width - bar, width / 3)
    legend = _draw_edges(ax, places[edges], weights[edges[:, 0], edges[:, 1]], width)
    inches = np.array([width, max(height - legend, height / 3)])
    _draw_nodes(ax, places, loops, _apart(inches, size))
    _write_labels(ax, places, labels, inches)
    return ax


def _draw_edges(ax: Axes, segments: FloatArray, weights: FloatArray, room: float) -> float:
    """Draw the edges, and a legend of their widths; return its height in inches."""
    from matplotlib.collections import LineCollection
    from matplotlib.lines import Line2D

    size = scale(ax)
    sizes, negative = np.abs(weights), weights < 0
    largest = float(sizes.max()) if weights.size else 1.0
    shares = sizes / largest

    def width(share: FloatArray | float) -> FloatArray:
        return size * np.maximum(_WIDEST * np.asarray(share), _THINNEST)

    ax.add_collection(
        LineCollection(
            list(segments),
            linewidths=width(shares),
            linestyles=[_DOTTED if share < _FAINT else "solid" for share in shares],
            colors=[ORANGE if each else GREY for each in negative] or GREY,
            capstyle="butt",
            zorder=1,
        )
    )
    if not weights.size:
        return _PADDING
    handles = {
        f"{share * largest:.3g}": Line2D([], [], color=GREY, linewidth=float(width(share)))
        for share in _LEGEND_SHARES
    }
    if shares.min() < _FAINT:
        style: dict[str, Any] = {
            "color": GREY,
            "linestyle": _DOTTED,
            "linewidth": float(width(0.0)),
        }
        handles[f"below {_FAINT * largest:.2g}"] = Line2D([], [], **style)
    if negative.any():
        handles["negative"] = Line2D([], [], color=ORANGE, linewidth=float(width(0.5)))
    small = font_size(ax, "small")
    # The graph is in the middle of its room, and may be narrower.
    middle: dict[str, Any] = {"loc": "lower center", "bbox_to_anchor": (0.5, 1)}
    title: dict[str, Any] = {"title": "weight of an edge", "title_fontsize": small}
    legend = legend_above(ax, handles, width=room, handlelength=1.5, **middle, **title)
    return _inches(ax, legend.get_window_extent().height)


def _draw_nodes(ax: Axes, places: FloatArray, loops: FloatArray, apart: float) -> None:
    """Draw the nodes, which are some points apart."""
    colours = _colours(loops)
    negative = _negative(loops)
    diameter = min(scale(ax) * _NODE, _NODE_SHARE * apart)
    for marker, shown in (("o", ~negative), ("s", negative)):
        ax.scatter(
            places[shown, 0],
            places[shown, 1],
            s=diameter**2,
            c=colours.to_rgba(loops[shown]),
            marker=marker,
            edgecolors="black",
            linewidths=0.8 * scale(ax),
            zorder=2,
        )


def _draw_bar(ax: Axes, loops: FloatArray) -> float:
    """Draw the colour bar, whose label explains the nodes; return its width in inches."""
    squares = " (squares: negative)" if _negative(loops).any() else ""
    bar = ax.figure.colorbar(_colours(loops), ax=ax, shrink=0.8, aspect=30)
    small = font_size(ax, "small")
    bar.set_label(f"self-loop{squares}", fontsize=small)
    bar.ax.tick_params(labelsize=small)
    box = bar.ax.get_tightbbox()
    return 0.0 if box is None else _inches(ax, box.width) + 2 * _PADDING  # of the layout


def _colours(loops: FloatArray) -> ScalarMappable:
    """Return the colours of self-loops: white at zero."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import CenteredNorm

    largest = float(np.abs(loops).max()) or 1.0
    return ScalarMappable(CenteredNorm(halfrange=largest), "PuOr_r")


def _negative(loops: FloatArray) -> npt.NDArray[np.bool_]:
    """Say which self-loops are negative beyond round-off."""
    return np.asarray(loops < -_ROUND_OFF * float(np.abs(loops).max()))


def _inches(ax: Axes, pixels: float) -> float:
    """Return a length on a figure in inches, with the padding around it."""
    return float(pixels / figure_of(ax).dpi) + 2 * _PADDING


def _apart(inches: FloatArray, count: int) -> float:
    """Return how far apart neighbouring nodes will be at least, in points."""
    radius = 72 * float(inches.min()) / (2 * _LARGEST_LIMIT)
    return 2 * np.pi * radius / count


def _write_labels(ax: Axes, places: FloatArray, labels: Sequence[str], inches: FloatArray) -> None:
    """Write the names around the circle, within inches; along its radii when there are many."""
    angles = np.arctan2(places[:, 1], places[:, 0])
    if len(labels) == 1:
        angles[:] = -np.pi / 2  # the only node is in the middle: its name goes below
    radial = len(labels) > _MOST_LEVEL
    directions = np.column_stack([np.cos(angles), np.sin(angles)]).round(9)
    dpi = figure_of(ax).dpi
    fontsize, distance = font_size(ax, _FONT_SIZE), scale(ax) * _LABEL_DISTANCE
    if radial:
        apart = _apart(inches, len(labels)) + 2 * np.pi * distance / len(labels)
        fontsize = max(min(fontsize, apart / _LINE_HEIGHT), _SMALLEST_FONT)
    texts = []
    sizes = np.empty_like(places)  # pixels by which each name reaches beyond its node
    thickness = np.zeros_like(places)
    for index, (label, (cosine, sine)) in enumerate(zip(labels, directions, strict=True)):
        leftwards = cosine < 0
        centred = not radial and abs(cosine) < 0.3  # above or below its node
        text = ax.annotate(
            escape_text(label),
            (places[index, 0], places[index, 1]),
            xytext=(distance * cosine, distance * sine),
            textcoords="offset points",
            fontsize=fontsize,
            parse_math=False,
            ha="center" if centred else "right" if leftwards else "left",
            va="center" if radial or abs(sine) < 0.3 else "bottom" if sine > 0 else "top",
        )
        box = text.get_window_extent()
        sizes[index] = box.width, box.height
        if radial:
            sizes[index] = box.width * abs(cosine), box.width * abs(sine)
            thickness[index] = box.height / 2 * abs(sine), box.height / 2 * abs(cosine)
            text.set_rotation(float(np.degrees(angles[index])) - 180 * leftwards)
            text.set_rotation_mode("anchor")
        elif centred:
            sizes[index, 0] /= 2
        text.set_in_layout(
            False
        )  # the limits make room for names; the layout's would shrink the graph
        texts.append(text)
    gaps = distance * np.abs(directions) * dpi / 72 + thickness
    # The size of a name in pixels does not depend on the limits: widen the limits until the axes
    # hold all names.
    available = inches * dpi
    limits = np.full(2, _LIMIT)
    for _ in range(30):
        unit = (available / (2 * limits)).min()
        limits = np.clip((np.abs(places) + (sizes + gaps) / unit).max(axis=0), _LIMIT, None)
        limits = np.minimum(limits, _LARGEST_LIMIT)
    unit = (available / (2 * limits)).min()
    left = available / 2 - np.abs(places) * unit - gaps
    for text, label, wanted, possible in zip(texts, labels, sizes, left, strict=True):
        share = (possible / np.maximum(wanted, 1.0)).min() if radial else possible[0] / wanted[0]
        if share < 1 - _FITS:  # the name that the limits are chosen by fits exactly
            text.set_text(escape_text(short_label(label, max(int(share * len(label)), 2))))
    ax.set_xlim(-limits[0], limits[0])
    ax.set_ylim(-limits[1], limits[1])
