"""Where to draw when the caller has no axes, and checks of the axes of a caller who has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from gdaopt.errors import InvalidInputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["AxesArray", "axes_of_shape", "iteration_axis", "log_or_linear", "new_axes"]

AxesArray = npt.NDArray[np.object_]
"""An array of matplotlib axes."""

_ONE_DECADE, _FEW_DECADES = 5.0, 50.0  # labels at powers of ten only would be too few below


def new_axes(width: float = 6.4, height: float = 4.8) -> Axes:
    """Return the axes of a new figure, known to pyplot so that notebooks show it."""
    axes: Axes = _new_figure((1, 1), width, height)[0, 0]
    return axes


def axes_of_shape(ax: Any, shape: tuple[int, ...], width: float, height: float) -> AxesArray:
    """Return the axes that a caller passed, or new ones for None, as an array of that shape.

    Raises
    ------
    InvalidInputError
        For another shape, or for what is no axes.
    """
    if ax is None:
        rows, columns = shape if len(shape) == 2 else (1, *shape)
        return _new_figure((rows, columns), width, height).reshape(shape)
    axes = np.asarray(ax, dtype=object)
    if axes.shape != shape:
        wanted = "×".join(map(str, shape))
        raise InvalidInputError(
            f"ax must be an array of {wanted} axes, got shape {axes.shape}; "
            f"such as pyplot.subplots({', '.join(map(str, (1, *shape)[-2:]))})[1]"
        )
    return axes


def _new_figure(shape: tuple[int, int], width: float, height: float) -> AxesArray:
    """Return the axes of a new pyplot figure."""
    from matplotlib import pyplot

    size = (width, height)
    return np.asarray(
        pyplot.subplots(*shape, squeeze=False, figsize=size, layout="constrained")[1], dtype=object
    )


def iteration_axis(ax: Axes) -> None:
    """Label the horizontal axis with whole numbers."""
    from matplotlib.ticker import MaxNLocator

    ax.set_xlabel("iteration")
    ax.xaxis.set_major_locator(
        MaxNLocator(nbins=7, steps=[1, 2, 5, 10], integer=True, min_n_ticks=1)
    )
    left, right = ax.get_xlim()
    if right - left < 1:  # one row: no room for a whole number
        ax.set_xlim((left + right - 1) / 2, (left + right + 1) / 2)


def log_or_linear(ax: Axes, which: Literal["x", "y"]) -> None:
    """Make an axis logarithmic when all lines are positive there, with labels that do not collide.

    Else it stays linear: a logarithm would hide values.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

    lines = [line.get_xdata() if which == "x" else line.get_ydata() for line in ax.lines]
    values = np.concatenate([np.asarray(line, dtype=np.float64) for line in lines])
    values = values[np.isfinite(values)]
    if not values.size or values.min() <= 0:
        return
    ax.set(**{f"{which}scale": "log"})
    span = values.max() / values.min()
    if span > _FEW_DECADES:
        return  # powers of ten are labels enough
    axis = ax.xaxis if which == "x" else ax.yaxis
    axis.set_major_locator(
        MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10])
        if span < _ONE_DECADE
        else LogLocator(subs=(1.0, 2.0, 5.0))
    )
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_locator(NullLocator())
