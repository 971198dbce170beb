"""The metrics of two features with trace C, drawn as a half disc: p to the right, w upwards.

The notebooks and the first page of the documentation draw the same picture, with the same letters.
"""

from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Polygon

SHADE, TRIANGLE, BEST = "#EEEEEE", "#0072B2", "#D55E00"


def metric_at(p: float, w: float, C: float) -> np.ndarray:
    """Return the metric with trace C, half difference p of its diagonal, and edge weight w."""
    return np.array([[C / 2 + p, -w], [-w, C / 2 - p]])


def point_of(M: np.ndarray) -> tuple[float, float]:
    """Return p, half the difference of the diagonal entries, and w, the weight of the edge."""
    return (M[0, 0] - M[1, 1]) / 2, -M[0, 1]


def corners_of(ratio: float, radius: float) -> np.ndarray:
    """Return the corners of ``M v ≥ ρ v``, where the ratio is v₂ / v₁: the ends of the flat side,
    and the point of the arc whose first eigenvector is v.
    """
    top = 2 * radius / (ratio + 1 / ratio)
    return np.array([[-radius, 0], [radius, 0], [top * (ratio - 1 / ratio) / 2, top]])


def draw_half_disc(
    ax: Axes,
    radius: float,
    ratios: Sequence[float] = (),
    height: Callable[[float, float], float] | None = None,
) -> None:
    """Draw ``λ_min ≥ ρ``, the triangles of some ratios v₂ / v₁, and level lines of a function.

    The radius is C/2 - ρ.
    """
    angle = np.linspace(0, np.pi, 181)
    ax.fill(radius * np.cos(angle), radius * np.sin(angle), facecolor=SHADE, edgecolor="black")
    for ratio in ratios:
        corners = corners_of(ratio, radius)
        ax.add_patch(Polygon(corners, facecolor=f"{TRIANGLE}26", edgecolor=TRIANGLE))
    if height is not None:
        p, w = np.meshgrid(np.linspace(-radius, radius, 61), np.linspace(0, radius, 31))
        heights = np.full(p.shape, np.nan)
        for place in zip(*(np.hypot(p, w) <= radius).nonzero(), strict=True):
            heights[place] = height(p[place], w[place])
        ax.contour(p, w, heights, 18, colors="#999999", linewidths=0.7)
    ax.set(
        xlabel="$p = (M_{11} - M_{22}) / 2$",
        ylabel="$w = -M_{12}$, the edge",
        xlim=(-1.06 * radius, 1.06 * radius),
        ylim=(-0.04 * radius, 1.06 * radius),
        aspect="equal",
    )
