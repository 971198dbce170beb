"""Pictures of the graph of a metric."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gdaopt.linalg.laplacian import edge_weights, self_loops
from gdaopt.plotting.arguments import as_drawn, axes_or_new, feature_names
from gdaopt.plotting.canvas import LETTER_WIDTH, MUTED, cycle_colour, drawing, figure_of, ink
from gdaopt.plotting.legends import escape_text, short_label, write_legend
from gdaopt.result import Result
from gdaopt.support.validation import FloatArray, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROUND_OFF = 1e-12  # share of the largest self-loop: a self-loop that is less negative is 0
_WIDEST, _THINNEST = 4.0, 0.7  # line widths: the edge of largest weight, and the least width
_FAINT = 0.02  # share of the largest weight below which edges are dotted: all are equally thin
_DOTTED = (0.0, (1.0, 2.0))
_LEGEND_SHARES = (1.0, 0.5, 0.2)  # weights in the legend, over the largest
_NODE = 10.0  # points: the diameter of a node
_NODE_SHARE = 0.8  # most of the distance of two nodes
_SMALLEST_FONT = 4.5  # points, if there are many names
_LINE_HEIGHT = 1.15  # font sizes
_DISTANCE = 7.0  # points between a node and its name
_MOST_LEVEL = 8  # features: with more of them, names are written along the radii
_DIAMETER = 0.4  # the circle of nodes takes about this share of the axes, names the rest
_NAMES_SHARE = 0.28  # share of the axes' width for names on one side


def graph(
    metric: Result | FloatArray,
    names: Sequence[str] | None = None,
    ax: Axes | None = None,
    threshold: float | None = None,
) -> Axes:
    """Draw a metric M as a graph between the features, which lie on a circle in their order.

    The width of an edge is proportional to the size of its weight ``-M_ij``; edges of less than 2 %
    of the largest size are dotted, and those of negative weight, ``M_ij > 0``, are orange. The
    colour of a feature is its self-loop, the row sum of M: a circle, or a square if it is
    negative. If there are more than 40 features, those with the strongest edges are drawn.

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
        The edges are one line collection, the last one, in the order of the pairs (i, j), i < j.

    Raises
    ------
    InvalidInputError
        For a matrix that is not symmetric, a wrong number of names, or a negative threshold.

    Examples
    --------
    >>> M = np.array([[2.0, -2.0, -1.0], [-2.0, 5.0, 0.0], [-1.0, 0.0, 4.0]])
    >>> ax = graph(M, names=["a", "b", "c"])
    >>> len(ax.collections[-1].get_segments()), [text.get_text() for text in ax.texts]
    (2, ['a', 'b', 'c'])
    """
    of = as_drawn(metric)
    shown = of.shown
    every = feature_names(names, of.n_features)
    labels, loops = [every[k] for k in of.features[shown]], self_loops(of.block)[shown]
    threshold = number("threshold", of.threshold if threshold is None else threshold, at_least=0)
    weights = np.triu(edge_weights(of.block[np.ix_(shown, shown)]), 1)
    edges = np.argwhere(abs(weights) > threshold)
    angles = 2 * np.pi * np.arange(len(shown)) / len(shown)
    places = np.column_stack([np.cos(angles), np.sin(angles)])
    ax = axes_or_new(ax, 8, 6.5)
    with drawing(ax):
        ax.set_axis_off()
        ax.set(aspect="equal", xlim=(-1.1, 1.1), ylim=(-1.1, 1.1))
        inches = np.array(ax.get_window_extent().size) / figure_of(ax).dpi
        # Points between neighbours; what the layout leaves for the circle is not known yet.
        apart = np.pi * 72 * _DIAMETER * float(inches.min()) / len(shown)
        _draw_nodes(ax, places, loops, apart)
        _write_names(ax, places, labels, apart, 72 * _NAMES_SHARE * float(inches[0]))
        _draw_edges(ax, places[edges], weights[tuple(edges.T)])
    # The circle gets what names leave, and their places depend on the circle: the layout that is
    # made when the figure is shown begins with this one.
    figure_of(ax).draw_without_rendering()
    return ax


def _draw_edges(ax: Axes, segments: FloatArray, weights: FloatArray) -> None:
    """Draw the edges, and a legend of their widths above the names."""
    from matplotlib import rcParams
    from matplotlib.collections import LineCollection
    from matplotlib.colors import to_rgba
    from matplotlib.lines import Line2D
    from matplotlib.text import Annotation
    from matplotlib.transforms import ScaledTranslation

    largest = float(np.abs(weights).max()) if weights.size else 1.0
    shares = np.abs(weights) / largest

    def width(share: Any) -> Any:
        return rcParams["lines.linewidth"] * np.maximum(_WIDEST * share, _THINNEST)

    ax.add_collection(
        LineCollection(
            list(segments),
            linewidths=width(shares),
            linestyles=[_DOTTED if share < _FAINT else "solid" for share in shares],
            colors=[to_rgba(cycle_colour(1) if weight < 0 else ink(MUTED)) for weight in weights],
            capstyle="butt",
            zorder=1,
        )
    )
    if not weights.size:
        return
    looks: dict[str, dict[str, Any]] = {
        f"{'weight ' * (share == 1)}{share * largest:.3g}": {"linewidth": width(share)}
        for share in _LEGEND_SHARES
    }
    if shares.min() < _FAINT:
        looks[f"below {_FAINT * largest:.2g}"] = {"linestyle": _DOTTED, "linewidth": width(0)}
    if (weights < 0).any():
        looks["negative"] = {"color": cycle_colour(1), "linewidth": width(0.5)}
    handles = {name: Line2D([], [], **{"color": ink(MUTED), **one}) for name, one in looks.items()}
    # By how much names reach above their nodes is the same in each layout.
    names = [text for text in ax.texts if isinstance(text, Annotation) and text.xy[1] > 0]
    tops = [text.get_window_extent().y1 - ax.transData.transform(text.xy)[1] for text in names]
    beyond = float(max(tops, default=0.0))
    figure = figure_of(ax)
    offset = ScaledTranslation(0, beyond / figure.dpi, figure.dpi_scale_trans)
    place: dict[str, Any] = {"loc": "lower center", "bbox_to_anchor": (0.5, 1)}
    write_legend(ax, handles, bbox_transform=ax.transAxes + offset, handlelength=1.5, **place)


def _draw_nodes(ax: Axes, places: FloatArray, loops: FloatArray, apart: float) -> None:
    """Draw the nodes, which are some points apart, and a colour bar of their self-loops."""
    from matplotlib.colors import CenteredNorm

    largest = float(np.abs(loops).max())
    is_negative = loops < -_ROUND_OFF * largest
    norm = CenteredNorm(halfrange=largest or 1.0)  # white at zero
    for marker, is_shown in (("o", ~is_negative), ("s", is_negative)):
        nodes = ax.scatter(
            places[is_shown, 0],
            places[is_shown, 1],
            s=min(_NODE, _NODE_SHARE * apart) ** 2,
            c=loops[is_shown],
            norm=norm,
            cmap="PuOr_r",
            marker=marker,
            edgecolors=[ink()],
            zorder=2,
            clip_on=False,  # in a small picture nodes at the sides are larger than the margin
        )
    bar = ax.figure.colorbar(nodes, ax=ax, shrink=0.8, aspect=30)
    squares = " (squares: negative)" if is_negative.any() else ""
    bar.set_label(f"self-loop{squares}", fontsize="small")
    bar.ax.tick_params(labelsize="small")


def _write_names(
    ax: Axes, places: FloatArray, labels: Sequence[str], apart: float, room: float
) -> None:
    """Write the names around the circle, along its radii when there are many, in so many points."""
    from matplotlib import rcParams

    is_radial = len(labels) > _MOST_LEVEL
    size = 0.9 * rcParams["font.size"]
    if is_radial:
        size = max(min(size, apart / _LINE_HEIGHT), _SMALLEST_FONT)
    for label, (x, y) in zip(labels, places.tolist(), strict=True):
        is_centred = not is_radial and abs(x) < 0.3  # above or below its node
        angle = np.degrees(np.arctan2(y, x)) - 180 * (x < 0)
        ax.annotate(
            escape_text(short_label(label, max(int(room / (LETTER_WIDTH * size)), 2))),
            (x, y),
            xytext=(_DISTANCE * x, _DISTANCE * y),
            textcoords="offset points",
            fontsize=size,
            rotation=angle if is_radial else 0,
            rotation_mode="anchor",
            parse_math=False,
            ha="center" if is_centred else "right" if x < 0 else "left",
            va="center" if is_radial or abs(y) < 0.3 else "bottom" if y > 0 else "top",
        )
