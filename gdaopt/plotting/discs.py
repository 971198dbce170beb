"""Pictures of Gershgorin discs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from gdaopt.errors import InvalidInputError
from gdaopt.linalg import gershgorin
from gdaopt.linalg.gershgorin import align, comparison_matrix
from gdaopt.linalg.spectrum import component_eigenvalues, smallest_eigenvalue
from gdaopt.plotting.canvas import (
    BLUE,
    COLOURS,
    GREY,
    LINE_STYLES,
    ORANGE,
    AxesArray,
    Drawn,
    as_drawn,
    axes_of_shape,
    fit_text,
    font_size,
    letters,
    panel_width,
    scale,
)
from gdaopt.plotting.legends import escape_text, feature_names, short_label
from gdaopt.result import Result
from gdaopt.support.validation import FloatArray, flag, positive_vector

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HEIGHT = 0.72  # height of a disc, as a share of its row


def discs(
    metric: Result | FloatArray,
    v: FloatArray | None = None,
    names: Sequence[str] | None = None,
    ax: Any = None,
    *,
    circles: bool = False,
) -> AxesArray:
    """Draw the Gershgorin discs of a metric M, as they are and aligned, one row for each feature.

    Each disc is flattened to the height of its row, or drawn as a true circle in the complex plane.
    The horizontal axis has the same limits in both panels. Of a run with many features, those
    with the strongest edges are drawn, 40 at most.

    Parameters
    ----------
    metric : Result or ndarray of shape (K, K)
        A run, whose metric is drawn, or any symmetric matrix M.
    v : ndarray of shape (K,), optional
        Scaling of the panel on the right; by default the scaling of `gdaopt.linalg.align`, which
        moves the left-ends of a connected graph to λ_min, and no left-end of any graph below λ_min.
    names : sequence of K str, optional
        Feature names; at most 40 characters of each are shown, and fewer on small axes.
    ax : pair of matplotlib.axes.Axes, optional
        Where to draw, with None for a panel that is not wanted; by default a new figure.
    circles : bool, optional
        Draw true circles, and the eigenvalues of M as crosses, for up to 7 features.

    Returns
    -------
    pair of matplotlib.axes.Axes
        The discs of M, and the discs of ``diag(1/v) M diag(v)``, with dots at the centres, bars at
        the left-ends, and a dashed line at λ_min.

    Raises
    ------
    InvalidInputError
        For a matrix that is not symmetric, for a wrong number of names or axes, and for circles of
        too many features.

    Examples
    --------
    >>> M = np.array([[2.0, -2.0, -1.0], [-2.0, 5.0, -2.0], [-1.0, -2.0, 4.0]])
    >>> raw, aligned = discs(M)
    >>> [float(disc.get_center()[0] - disc.get_width() / 2) for disc in raw.patches]
    [-1.0, 1.0, 1.0]
    >>> [round(float(disc.get_center()[0] - disc.get_width() / 2), 4) for disc in aligned.patches]
    [0.1078, 0.1078, 0.1078]
    """
    of = as_drawn(metric)
    size, shown = of.n_features, of.shown
    labels = feature_names(names, size)
    circles = flag("circles", circles)
    if circles and size > len(COLOURS):
        raise InvalidInputError(
            f"circles of {size} features cannot be told apart; leave circles out for more than "
            f"{len(COLOURS)}"
        )
    pair = axes_of_shape(ax, (2,), width=10, height=5.0 if circles else 1.3 + 0.24 * len(shown))
    if v is not None:
        v = positive_vector("v", v, size)[of.features]
    scaled = _align_discs(of) if v is None else gershgorin.discs(of.block, v)
    smallest = smallest_eigenvalue(of.block)
    if of.outside is not None:
        smallest = min(smallest, of.outside)
    raw, aligned = pair
    panels = [panel for panel in pair if panel is not None]
    longest = min((letters(panel, len(panels)) for panel in panels), default=1)
    labels = [short_label(labels[k], longest) for k in of.features[shown]]
    for panel, of_all in zip(pair, (gershgorin.discs(of.block), scaled), strict=True):
        if panel is not None:
            centres, radii = (values[shown] for values in of_all)
            if circles:
                _draw_circles(panel, centres, radii, labels)
                _mark_eigenvalues(panel, of.block)
            else:
                _draw_rows(panel, centres, radii, labels)
            label = _mark_smallest(panel, smallest)
    if raw is not None:
        raw.set_title("Gershgorin discs")
    if aligned is not None:
        aligned.set_title("aligned discs")
    if raw is not None and aligned is not None:
        aligned.tick_params(axis="y", labelleft=False)
        if circles:
            aligned.set_ylabel("")
            highest = max(panel.get_ylim()[1] for panel in pair)
            for panel in pair:
                panel.set_ylim(-highest, highest)
        both = np.array([raw.get_xlim(), aligned.get_xlim()])
        for panel in pair:
            panel.set_xlim(both.min(), both.max())
    for panel in panels:
        # A layout makes panels equally wide, also where names stand beside one of them only.
        width = sum(map(panel_width, panels)) / len(panels)
        fit_text(panel, width, x=[f"real axis (dashed: {label})", f"dashed: {label}", label])
    return pair


def _align_discs(of: Drawn) -> tuple[FloatArray, FloatArray]:
    """Return centres and radii of aligned discs.

    Of many features the left-ends are the smallest eigenvalues of the components, for which no v is
    needed ("Theorem: eigenvector alignment").
    """
    if of.outside is not None:
        centres = of.block.diagonal()
        return centres, centres - component_eigenvalues(comparison_matrix(of.block))
    return gershgorin.discs(of.block, align(of.block, edge_threshold=of.threshold).v)


def _draw_rows(ax: Axes, centres: FloatArray, radii: FloatArray, labels: Sequence[str]) -> None:
    """Draw each disc in a row of its own."""
    from matplotlib.patches import Ellipse

    from gdaopt.plotting.ticks import name_rows

    size = scale(ax)
    rows = np.arange(len(centres))
    for row, centre, radius in zip(rows, centres, radii, strict=True):
        ax.add_patch(
            Ellipse(
                (centre, float(row)),
                2 * radius,
                _HEIGHT,
                facecolor=f"{BLUE}33",
                edgecolor=BLUE,
                linewidth=size,
                zorder=2,
            )
        )
    ax.plot(centres, rows, "o", color="black", markersize=2.5 * size, label="centres", zorder=4)
    ends = centres - radii
    ax.plot(ends, rows, "|", color="black", markersize=8 * size, label="left-ends", zorder=4)
    ax.plot(centres + radii, rows, alpha=0)  # invisible, so that the limits hold the right ends
    ax.set_ylim(len(centres) - 0.4, -0.6)  # the first feature on top
    name_rows(ax, labels)


def _draw_circles(ax: Axes, centres: FloatArray, radii: FloatArray, labels: Sequence[str]) -> None:
    from matplotlib.patches import Circle

    size = scale(ax)
    looks = list(zip(COLOURS, cycle(LINE_STYLES), strict=False))
    for centre, radius, label, (colour, line) in zip(centres, radii, labels, looks, strict=False):
        style: dict[str, Any] = {"edgecolor": colour, "linestyle": line, "linewidth": 1.4 * size}
        middle = (float(centre), 0.0)
        ax.add_patch(Circle(middle, float(radius), facecolor=f"{colour}1F", zorder=2, **style))
        ax.annotate(
            escape_text(label),
            (float(centre), float(radius)),
            xytext=(0, 2),
            textcoords="offset points",
            ha="center",
            color=colour,
            fontsize=font_size(ax, "small"),
            parse_math=False,
        )
    on_axis = np.zeros(len(centres))
    ax.plot(centres, on_axis, "o", color="black", markersize=3 * size, label="centres", zorder=4)
    ends = centres - radii
    ax.plot(ends, on_axis, "|", color="black", markersize=14 * size, label="left-ends", zorder=4)
    ax.plot(centres + radii, on_axis, alpha=0)
    ax.axhline(0.0, color=GREY, linewidth=0.6 * size, zorder=1)
    highest = 1.2 * max(float(radii.max()), 0.1 * float(np.abs(centres).max()) or 1.0)
    ax.set_ylim(-highest, highest)
    ax.set_aspect("equal")
    ax.set_ylabel("imaginary axis")


def _mark_eigenvalues(ax: Axes, M: FloatArray) -> None:
    eigenvalues = np.linalg.eigvalsh(M)
    look: dict[str, Any] = {"color": ORANGE, "markersize": 6 * scale(ax), "zorder": 5}
    ax.plot(eigenvalues, np.zeros(len(eigenvalues)), "x", label="eigenvalues", **look)


def _mark_smallest(ax: Axes, smallest: float) -> str:
    """Draw a dashed line at λ_min, and return what it is called."""
    label = rf"$\lambda_{{\min}}$ = {smallest:.3g}"
    style: dict[str, Any] = {"color": ORANGE, "linestyle": "--", "linewidth": 1.2 * scale(ax)}
    ax.axvline(smallest, label=label, zorder=3, **style)
    return label
