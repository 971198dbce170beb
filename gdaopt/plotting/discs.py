"""Pictures of Gershgorin discs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gdaopt.errors import InvalidInputError
from gdaopt.linalg import gershgorin
from gdaopt.linalg.gershgorin import align, comparison_matrix
from gdaopt.linalg.spectrum import component_eigenvalues, smallest_eigenvalue
from gdaopt.plotting.arguments import AxesArray, Drawn, as_drawn, axes_of_shape, feature_names
from gdaopt.plotting.canvas import LINE_STYLES, MUTED, cycle_colour, drawing, ink, letters
from gdaopt.plotting.legends import escape_text, short_label
from gdaopt.plotting.ticks import name_rows
from gdaopt.result import Result
from gdaopt.support.validation import FloatArray, flag, positive_vector

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_CIRCLES = 7
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
    The horizontal axis has the same limits in both panels. If there are more than 40 features,
    those with the strongest edges are drawn.

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
    if circles and size > _MOST_CIRCLES:
        raise InvalidInputError(
            f"circles of {size} features cannot be told apart; leave circles out for more than "
            f"{_MOST_CIRCLES}"
        )
    pair = axes_of_shape(ax, (2,), width=10, height=5.0 if circles else 1.3 + 0.24 * len(shown))
    if v is not None:
        v = positive_vector("v", v, size)[of.features]
    scaled = align_discs(of) if v is None else gershgorin.discs(of.block, v)
    smallest = smallest_eigenvalue(of.block)
    if of.outside is not None:
        smallest = min(smallest, of.outside)
    raw, aligned = pair
    panels = [panel for panel in pair if panel is not None]
    labels = [short_label(labels[k], letters(*panels)) for k in of.features[shown]]
    with drawing(*panels):
        for panel, title, (centres, radii) in (
            (raw, "Gershgorin discs", gershgorin.discs(of.block)),
            (aligned, "aligned discs", scaled),
        ):
            if panel is not None:
                draw = _draw_circles if circles else _draw_rows
                draw(panel, centres[shown], radii[shown], labels)
                if circles:
                    eigenvalues = np.linalg.eigvalsh(of.block)
                    crosses: dict[str, Any] = {"color": cycle_colour(1), "zorder": 5}
                    zeros = np.zeros(len(eigenvalues))
                    panel.plot(eigenvalues, zeros, "x", label="eigenvalues", **crosses)
                panel.set_title(title)
                label = rf"$\lambda_{{\min}}$ = {smallest:.3g}"
                panel.axvline(
                    smallest, color=cycle_colour(1), linestyle="--", label=label, zorder=3
                )
                panel.set_xlabel(f"dashed: {label}")
    if len(panels) == 2:
        aligned.tick_params(axis="y", labelleft=False)
        for limits in ("xlim", "ylim") if circles else ("xlim",):
            both = np.array([getattr(panel, f"get_{limits}")() for panel in panels])
            for panel in panels:
                panel.set(**{limits: (both.min(), both.max())})
        if circles:
            aligned.set_ylabel("")
    return pair


def align_discs(of: Drawn) -> tuple[FloatArray, FloatArray]:
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

    rows = np.arange(len(centres), dtype=np.float64)
    for row, centre, radius in zip(rows, centres, radii, strict=True):
        disc = Ellipse(
            (centre, float(row)),
            2 * radius,
            _HEIGHT,
            facecolor=(cycle_colour(0), 0.2),
            edgecolor=cycle_colour(0),
            zorder=2,
        )
        ax.add_patch(disc)
    _mark_points(ax, centres, radii, rows)
    name_rows(ax, labels)


def _draw_circles(ax: Axes, centres: FloatArray, radii: FloatArray, labels: Sequence[str]) -> None:
    from matplotlib import rcParams
    from matplotlib.patches import Circle

    discs_ = zip(centres.tolist(), radii.tolist(), labels, LINE_STYLES, strict=False)
    for number, (centre, radius, label, line) in enumerate(discs_):
        colour = cycle_colour(number)
        circle = Circle(
            (centre, 0.0),
            radius,
            facecolor=(colour, 0.12),
            edgecolor=colour,
            linestyle=line,
            linewidth=rcParams["lines.linewidth"],
            zorder=2,
        )
        ax.add_patch(circle)
        ax.annotate(
            escape_text(label),
            (centre, radius),
            xytext=(0, 2),
            textcoords="offset points",
            ha="center",
            color=colour,
            fontsize="small",
            parse_math=False,
        )
    _mark_points(ax, centres, radii, np.zeros(len(centres)))
    ax.axhline(0.0, color=ink(MUTED), linewidth=0.6, zorder=1)
    highest = 1.2 * max(float(radii.max()), 0.1 * float(np.abs(centres).max()) or 1.0)
    ax.set_ylim(-highest, highest)
    ax.set_aspect("equal")
    ax.set_ylabel("imaginary axis")


def _mark_points(ax: Axes, centres: FloatArray, radii: FloatArray, heights: FloatArray) -> None:
    """Draw dots at the centres and bars at the left-ends."""
    from matplotlib import rcParams

    size = rcParams["lines.markersize"]
    style: dict[str, Any] = {"color": ink(), "zorder": 4}
    ax.plot(centres, heights, "o", markersize=0.5 * size, label="centres", **style)
    ax.plot(centres - radii, heights, "|", markersize=1.3 * size, label="left-ends", **style)
    ax.plot(centres + radii, heights, alpha=0)  # invisible, so that the limits hold the right ends
