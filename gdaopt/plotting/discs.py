"""Pictures of Gershgorin discs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gdaopt.linalg import gershgorin
from gdaopt.linalg.eigen import align
from gdaopt.linalg.spectrum import smallest_eigenvalue
from gdaopt.plotting.canvas import AxesArray, axes_of_shape
from gdaopt.plotting.names import feature_names
from gdaopt.plotting.style import BLUE
from gdaopt.validation import FloatArray, symmetric_matrix

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["discs"]

_HEIGHT = 0.72  # of a disc, in rows
_EDGE_COUNTS = 1e-9  # of tr M / K, as in `gdaopt.GraphMetrics` without a floor


def discs(
    M: FloatArray,
    v: FloatArray | None = None,
    names: Sequence[str] | None = None,
    ax: Any = None,
) -> AxesArray:
    """Draw the Gershgorin discs of a metric, as they are and aligned, one row a feature.

    Each disc has a row of its own, its imaginary axis squeezed to the row's height: centre, radius
    and left-end can be read off the horizontal axis, which both panels share in scale.

    Parameters
    ----------
    M : ndarray of shape (K, K)
        Symmetric matrix.
    v : ndarray of shape (K,), optional
        Scaling of the panel on the right; `gdaopt.linalg.align`'s when left out, which moves all
        left-ends of a connected graph to λ_min, and no other below it.
    names : sequence of K str, optional
        Feature names, of which 40 characters are shown.
    ax : pair of matplotlib.axes.Axes, optional
        Where to draw, with None for a panel to leave out; a new figure when left out.

    Returns
    -------
    pair of matplotlib.axes.Axes
        The discs of M and of ``diag(1/v) M diag(v)``: in each an ellipse of the disc's centre and
        width, a dot at the centre, a bar at the left-end, and a dashed line at λ_min.

    Raises
    ------
    InvalidInputError
        For a matrix that is not symmetric, or a wrong number of names or axes.

    Examples
    --------
    >>> M = np.array([[2.0, -2.0, -1.0], [-2.0, 5.0, -2.0], [-1.0, -2.0, 4.0]])
    >>> raw, aligned = discs(M)
    >>> [float(disc.get_center()[0] - disc.get_width() / 2) for disc in raw.patches]
    [-1.0, 1.0, 1.0]
    >>> [round(float(disc.get_center()[0] - disc.get_width() / 2), 4) for disc in aligned.patches]
    [0.1078, 0.1078, 0.1078]
    """
    M = symmetric_matrix("M", M)
    labels = feature_names(names, len(M))
    pair = axes_of_shape(ax, (2,), width=10, height=1.3 + 0.24 * len(M))
    scalings = (None, _scaling(M) if v is None else np.asarray(v, dtype=np.float64))
    raw, aligned = pair
    for panel, scaling in zip(pair, scalings, strict=True):
        if panel is not None:
            _draw(panel, *gershgorin.discs(M, scaling), smallest_eigenvalue(M))
            panel.set_yticks(np.arange(len(M)), labels, parse_math=False)
    if raw is not None:
        raw.set_title("Gershgorin discs")
    if aligned is not None:
        aligned.set_title("aligned discs")
    if raw is not None and aligned is not None:
        aligned.tick_params(axis="y", labelleft=False)
        both = np.array([raw.get_xlim(), aligned.get_xlim()])
        for panel in pair:
            panel.set_xlim(both.min(), both.max())
    return pair


def _scaling(M: FloatArray) -> FloatArray:
    """Return the v that aligns the left-ends, which depend on the magnitudes of entries only."""
    comparison = -np.abs(M)
    np.fill_diagonal(comparison, np.diagonal(M))
    threshold = _EDGE_COUNTS * abs(float(np.trace(M))) / len(M)
    return align(comparison, smallest_eigenvalue(comparison), edge_threshold=threshold).v


def _draw(ax: Axes, centres: FloatArray, radii: FloatArray, smallest: float) -> None:
    """Draw one panel."""
    from matplotlib.patches import Ellipse

    rows = np.arange(len(centres))
    for row, centre, radius in zip(rows, centres, radii, strict=True):
        ax.add_patch(
            Ellipse(
                (centre, float(row)),
                2 * radius,
                _HEIGHT,
                facecolor=f"{BLUE}33",
                edgecolor=BLUE,
                zorder=2,
            )
        )
    ax.plot(centres, rows, "o", color="black", markersize=2.5, label="centres", zorder=4)
    ends = centres - radii
    ax.plot(ends, rows, "|", color="black", markersize=8, label="left-ends", zorder=4)
    ax.plot(centres + radii, rows, alpha=0)  # for the limits
    label = rf"$\lambda_{{\min}}$ = {smallest:.3g}"
    ax.axvline(smallest, color="#D55E00", linestyle="--", linewidth=1.2, label=label, zorder=3)
    ax.set_ylim(len(centres) - 0.4, -0.6)  # the first feature on top
    ax.set_xlabel(f"real axis (dashed: {label})")
