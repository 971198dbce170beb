"""Pictures of Gershgorin discs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gdaopt.linalg import gershgorin
from gdaopt.linalg.eigen import align
from gdaopt.linalg.spectrum import smallest_eigenvalue
from gdaopt.plotting.canvas import AxesArray, axes_of_shape, fit_text, letters, panel_width, scale
from gdaopt.plotting.names import feature_names, shortened
from gdaopt.plotting.runs import metric_and_threshold
from gdaopt.plotting.style import BLUE, ORANGE
from gdaopt.result import Result
from gdaopt.validation import FloatArray, positive_vector

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["discs"]

_HEIGHT = 0.72  # height of a disc, as a share of its row


def discs(
    metric: Result | FloatArray,
    v: FloatArray | None = None,
    names: Sequence[str] | None = None,
    ax: Any = None,
) -> AxesArray:
    """Draw the Gershgorin discs of a metric M, as they are and aligned, one row for each feature.

    Each disc is flattened to the height of its row. Its centre, radius and left-end can be read off
    the horizontal axis, which has the same limits in both panels.

    Parameters
    ----------
    metric : Result or ndarray of shape (K, K)
        A run, whose metric is drawn, or any symmetric matrix M.
    v : ndarray of shape (K,), optional
        Scaling of the panel on the right; by default that of `gdaopt.linalg.align`, which moves
        the left-ends of a connected graph to λ_min, and no left-end of any graph below λ_min.
    names : sequence of K str, optional
        Feature names, of which at most 40 characters are shown, and fewer on small axes. Where rows
        are too low for all names, every second, third, … has its name.
    ax : pair of matplotlib.axes.Axes, optional
        Where to draw, with None for a panel that is not wanted; by default a new figure.

    Returns
    -------
    pair of matplotlib.axes.Axes
        The discs of M, and those of ``diag(1/v) M diag(v)``: for each disc an ellipse of its
        width, a dot at its centre and a bar at its left-end; and a dashed line at λ_min.

    Raises
    ------
    InvalidInputError
        For a matrix that is not symmetric, and for a wrong number of names or axes.

    Examples
    --------
    >>> M = np.array([[2.0, -2.0, -1.0], [-2.0, 5.0, -2.0], [-1.0, -2.0, 4.0]])
    >>> raw, aligned = discs(M)
    >>> [float(disc.get_center()[0] - disc.get_width() / 2) for disc in raw.patches]
    [-1.0, 1.0, 1.0]
    >>> [round(float(disc.get_center()[0] - disc.get_width() / 2), 4) for disc in aligned.patches]
    [0.1078, 0.1078, 0.1078]
    """
    from gdaopt.plotting.ticks import name_rows

    M, threshold = metric_and_threshold(metric)
    labels = feature_names(names, len(M))
    pair = axes_of_shape(ax, (2,), width=10, height=1.3 + 0.24 * len(M))
    scalings = (None, _scaling(M, threshold) if v is None else positive_vector("v", v, len(M)))
    raw, aligned = pair
    panels = [panel for panel in pair if panel is not None]
    longest = min((letters(panel, len(panels)) for panel in panels), default=1)
    for panel, scaling in zip(pair, scalings, strict=True):
        if panel is not None:
            _draw(panel, *gershgorin.discs(M, scaling), smallest_eigenvalue(M))
            name_rows(panel, [shortened(label, longest) for label in labels])
    if raw is not None:
        raw.set_title("Gershgorin discs")
    if aligned is not None:
        aligned.set_title("aligned discs")
    if raw is not None and aligned is not None:
        aligned.tick_params(axis="y", labelleft=False)
        both = np.array([raw.get_xlim(), aligned.get_xlim()])
        for panel in pair:
            panel.set_xlim(both.min(), both.max())
    for panel in panels:
        # A layout makes panels equally wide, also where names stand beside one of them only.
        fit_text(panel, sum(map(panel_width, panels)) / len(panels))
    return pair


def _scaling(M: FloatArray, threshold: float) -> FloatArray:
    """Return the v that aligns the left-ends.

    Discs depend on the magnitudes of the off-diagonal entries only, so that a matrix whose entries
    have other signs is aligned as if these were all negative.
    """
    comparison = gershgorin.comparison_matrix(M)
    return align(comparison, smallest_eigenvalue(comparison), edge_threshold=threshold).v


def _draw(ax: Axes, centres: FloatArray, radii: FloatArray, smallest: float) -> None:
    """Draw one panel."""
    from matplotlib.patches import Ellipse

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
    label = rf"$\lambda_{{\min}}$ = {smallest:.3g}"
    style: dict[str, Any] = {"color": ORANGE, "linestyle": "--", "linewidth": 1.2 * size}
    ax.axvline(smallest, label=label, zorder=3, **style)
    ax.set_ylim(len(centres) - 0.4, -0.6)  # the first feature on top
    ax.set_xlabel(f"real axis (dashed: {label})")
