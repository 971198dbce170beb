"""Axes to draw on: new ones, checks of those that a caller passes, and their scales."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from gdaopt.errors import InvalidInputError
from gdaopt.printing import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["AxesArray", "axes_of_shape", "axes_or_new", "iteration_axis", "log_or_linear"]

AxesArray = npt.NDArray[np.object_]
"""An array of matplotlib axes."""

# Largest over smallest value: below, labels at powers of ten alone would be too few.
_ONE_DECADE, _FEW_DECADES = 5.0, 50.0


def axes_or_new(ax: Any, width: float = 6.4, height: float = 4.8) -> Axes:
    """Return the axes that a caller passed, or for None those of a new figure of pyplot.

    Raises
    ------
    InvalidInputError
        For anything else.
    """
    axes: Axes = _new_figure((1, 1), width, height)[0, 0] if ax is None else _checked(ax)
    return axes


def _checked(ax: Any) -> Axes:
    """Refuse what is no axes."""
    from matplotlib.axes import Axes

    if not isinstance(ax, Axes):
        raise InvalidInputError(
            f"ax must be axes of matplotlib, got {shortened(ax)}; such as pyplot.subplots()[1]"
        )
    return ax


def axes_of_shape(ax: Any, shape: tuple[int, ...], width: float, height: float) -> AxesArray:
    """Return the axes that a caller passed, or new ones for None, as an array of the given shape.

    Raises
    ------
    InvalidInputError
        When what was passed has another shape.
    """
    if ax is None:
        rows, columns = shape if len(shape) == 2 else (1, *shape)
        return _new_figure((rows, columns), width, height).reshape(shape)
    try:
        axes = np.asarray(ax, dtype=object)
    except ValueError:  # rows of different lengths
        axes = np.empty(0, dtype=object)
    if axes.shape != shape:
        wanted = "×".join(map(str, shape))
        raise InvalidInputError(
            f"ax must be an array of {wanted} axes, got shape {axes.shape}; "
            f"such as pyplot.subplots({', '.join(map(str, (1, *shape)[-2:]))})[1]"
        )
    for panel in axes.ravel():
        if panel is not None:
            _checked(panel)
    return axes


def _new_figure(shape: tuple[int, int], width: float, height: float) -> AxesArray:
    """Return the axes of a new figure of pyplot."""
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
    if right - left < 1:  # a single row: there might be no whole number between the limits
        ax.set_xlim((left + right - 1) / 2, (left + right + 1) / 2)


def log_or_linear(ax: Axes, which: Literal["x", "y"]) -> None:
    """Make an axis logarithmic when all values of the lines are positive, with readable labels.

    Otherwise the axis stays linear: a logarithmic one would hide values.
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
        return  # labels at powers of ten are enough
    axis = ax.xaxis if which == "x" else ax.yaxis
    axis.set_major_locator(
        MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10])
        if span < _ONE_DECADE
        else LogLocator(subs=(1.0, 2.0, 5.0))
    )
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_locator(NullLocator())
