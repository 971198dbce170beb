"""Pictures of Gershgorin discs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gdaopt.linalg import gershgorin
from gdaopt.linalg.eigen import smallest_eigenvalue
from gdaopt.plotting.axes import new_axes
from gdaopt.validation import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["discs"]


def discs(
    metric: FloatArray,
    v: FloatArray | None = None,
    names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the Gershgorin discs of a metric as intervals of the real axis, one row a feature.

    Parameters
    ----------
    metric : ndarray of shape (K, K)
        Metric matrix.
    v : ndarray of shape (K,), optional
        Scaling, such as the first eigenvector; without it the discs of the metric itself.
    names : sequence of K str, optional
        Feature names.
    ax : matplotlib.axes.Axes, optional
        Where to draw; new axes when left out.

    Returns
    -------
    matplotlib.axes.Axes
        With a bar from left-end to right-end and a dot at the centre for each disc, and a dashed
        line at the smallest eigenvalue.

    Examples
    --------
    >>> M = np.array([[2.0, -2.0, -1.0], [-2.0, 5.0, -2.0], [-1.0, -2.0, 4.0]])
    >>> ax = discs(M)
    >>> [float(bar.get_x()) for bar in ax.patches]
    [-1.0, 1.0, 1.0]
    """
    ax = new_axes() if ax is None else ax
    centres, radii = gershgorin.discs(metric, v)
    rows = np.arange(len(metric))
    bars = ax.barh(rows, 2 * radii, left=centres - radii, height=0.6, color="C0", alpha=0.4)
    for bar in bars:
        bar.sticky_edges.x.clear()  # else a bar that ends at the edge loses its margin
    ax.plot(centres, rows, "o", color="C0", markersize=3, label="centre $M_{ii}$")
    smallest = smallest_eigenvalue(metric)
    label = rf"$\lambda_{{\min}}$ = {smallest:.3g}"
    ax.axvline(smallest, color="black", linestyle="--", linewidth=1, label=label)
    labels = [str(row) for row in rows] if names is None else list(names)
    ax.set_yticks(rows, labels, parse_math=False)  # a name may hold dollar signs
    ax.set_ylim(len(metric) - 0.5, -0.5)  # the first feature on top
    ax.set_xlabel("disc on the real axis")
    ax.legend()
    return ax
