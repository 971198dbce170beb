"""Where to draw when the caller has no axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["new_axes"]


def new_axes() -> Axes:
    """Return the axes of a new figure, known to pyplot so that notebooks show it."""
    from matplotlib import pyplot

    axes: Axes = pyplot.subplots(layout="constrained")[1]
    return axes
