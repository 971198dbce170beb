"""Ticks whose labels never overlap: how many there are is decided when the picture is laid out.

The module loads matplotlib; pictures import it when they are drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from matplotlib.axis import XAxis, YAxis
from matplotlib.ticker import FuncFormatter, Locator, LogLocator, MaxNLocator, NullLocator
from matplotlib.transforms import Bbox

from gdaopt.plotting.canvas import LETTER_WIDTH, figure_of, room
from gdaopt.plotting.legends import escape_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Largest over smallest value: below, labels at powers of ten alone would be too few.
_ONE_DECADE, _FEW_DECADES = 5.0, 50.0
_LENGTHS_DIFFER = 10  # a run this many times longer than another hides it on a linear axis
_PER_INCH = {"x": 2.0, "y": 3.0}  # labels
_MOST_TICKS = 5
_HEIGHT = 1.6  # of a label, with room between labels, in font sizes
_BETWEEN = 0.6  # font sizes between labels beside each other
_ROW_HEIGHT = 1.15  # of names, which need less room than numbers


def whole_numbers(ax: Axes) -> None:
    """Label the horizontal axis with whole numbers."""
    ax.xaxis.set_major_locator(
        MaxNLocator(nbins="auto", steps=[1, 2, 5, 10], integer=True, min_n_ticks=1)
    )
    left, right = ax.get_xlim()
    if right - left < 1:  # a single row: there might be no whole number between the limits
        ax.set_xlim((left + right - 1) / 2, (left + right + 1) / 2)


def time_axis(ax: Axes, time: str, lengths: Iterable[float]) -> None:
    """Make the horizontal axis fit for what it shows of runs of these lengths.

    Seconds are logarithmic. So are counts where some run is much longer than another one, which it
    would hide.
    """
    if time == "seconds":
        log_or_linear(ax, "x")
        return
    whole_numbers(ax)
    positive = [length for length in lengths if length > 0]
    if positive and max(positive) > _LENGTHS_DIFFER * min(positive):
        symmetric_log(ax, "x", 1.0)
        ax.set_xlim(-0.2, 1.5 * max(positive))
        ax.xaxis.set_major_formatter("{x:g}")


def log_or_linear(ax: Axes, which: Literal["x", "y"]) -> None:
    """Make an axis logarithmic, with readable labels, when all values of lines are positive."""
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
    n_ticks = int(np.clip(_PER_INCH[which] * room(ax)[which == "y"], 2, _MOST_TICKS))
    ticks = (
        MaxNLocator(nbins=n_ticks, steps=[1, 2, 2.5, 5, 10])
        if span < _ONE_DECADE
        else LogLocator(subs=(1.0, 2.0, 5.0) if n_ticks == _MOST_TICKS else (1.0, 3.0))
    )
    axis.set_major_locator(_Apart(ticks))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_locator(NullLocator())


def symmetric_log(ax: Axes, which: Literal["x", "y"], threshold: float) -> None:
    """Make an axis logarithmic for magnitudes above a threshold, and linear around zero."""
    if which == "x":
        ax.set_xscale("symlog", linthresh=threshold)
    else:
        ax.set_yscale("symlog", linthresh=threshold)
    axis = ax.xaxis if which == "x" else ax.yaxis
    axis.set_major_locator(_SymmetricDecades(threshold))


def name_rows(ax: Axes, names: Sequence[str]) -> None:
    """Write names beside the rows 0, 1, …; where rows are low, beside every n-th."""
    ax.yaxis.set_major_locator(_Rows(len(names)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda row, _: escape_text(names[round(row)])))
    for tick in ax.yaxis.get_major_ticks(len(names)):
        tick.label1.set_parse_math(False)


def _length(axis: XAxis | YAxis) -> float:
    """Return the length of an axis in font sizes of its labels."""
    figure = figure_of(axis.axes)
    box = Bbox.unit().transformed(axis.axes.transAxes - figure.dpi_scale_trans)
    inches = box.width if isinstance(axis, XAxis) else box.height
    return float(72 * inches / float(axis.get_major_ticks(1)[0].label1.get_fontsize()))


class _Measured(Locator):
    """A locator whose ticks depend on the length of the axis."""

    axis: XAxis | YAxis

    def __call__(self) -> list[float]:
        low, high = sorted(self.axis.get_view_interval())
        return list(self.tick_values(low, high))


class _Apart(_Measured):
    """The ticks of another locator, without ticks whose labels would overlap the label before."""

    def __init__(self, ticks: Locator) -> None:
        self._ticks = ticks

    def set_axis(self, axis: Any) -> None:
        super().set_axis(axis)
        self._ticks.set_axis(axis)

    def tick_values(self, vmin: float, vmax: float) -> list[float]:
        values = np.asarray(self._ticks.tick_values(vmin, vmax), dtype=np.float64)
        values = values[(values >= vmin) & (values <= vmax)]
        transform = self.axis.get_transform().transform
        low, high = transform(np.array([vmin, vmax]))
        places = (transform(values) - low) / (high - low) * _length(self.axis)
        labels, free = [], -np.inf
        for value, place in zip(values.tolist(), places.tolist(), strict=True):
            size = _HEIGHT
            if isinstance(self.axis, XAxis):
                size = LETTER_WIDTH * len(f"{value:g}") + _BETWEEN
            if place - size / 2 >= free:
                labels.append(value)
                free = place + size / 2
        return labels


class _SymmetricDecades(_Measured):
    """Zero and the powers of ten above a threshold, every n-th so that labels do not overlap."""

    def __init__(self, threshold: float) -> None:
        self._threshold = threshold

    def tick_values(self, vmin: float, vmax: float) -> list[float]:
        ends = self._places(np.array([vmin, vmax]))
        wide = LETTER_WIDTH * len(f"{vmax:.0f}") + _BETWEEN
        apart = wide if isinstance(self.axis, XAxis) else _HEIGHT
        apart *= (ends[1] - ends[0]) / max(_length(self.axis), 1.0)
        largest = max(abs(vmin), abs(vmax), self._threshold)
        # A little less than the threshold: its logarithm may be just above a whole number.
        first = np.ceil(np.log10(self._threshold) - 1e-9)
        powers = 10.0 ** np.arange(np.floor(np.log10(largest)), first - 1, -1)
        for step in range(1, len(powers) + 1):
            chosen = powers[::step]
            values = np.concatenate([-chosen, [0.0], chosen[::-1]])
            values = values[(values >= vmin) & (values <= vmax)]
            places = self._places(values)
            if vmin <= 0 <= vmax:
                clear = np.abs(places - self._places(np.zeros(1))) >= apart
                values = values[clear | (values == 0)]
            if (np.diff(self._places(values)) >= apart).all():
                return [float(value) for value in values]
        return [0.0] if vmin <= 0 <= vmax else []

    def _places(self, values: np.ndarray) -> np.ndarray:
        """Return where values are along the axis, in the units of its scale."""
        return np.asarray(self.axis.get_transform().transform(values), dtype=np.float64)


class _Rows(_Measured):
    """The whole numbers below a count, every n-th so that names beside them do not overlap."""

    def __init__(self, count: int) -> None:
        self._count = count

    def tick_values(self, vmin: float, vmax: float) -> list[float]:
        rows_in_font_size = (vmax - vmin) / max(_length(self.axis), 1.0)
        step = max(1, int(np.ceil(_ROW_HEIGHT * rows_in_font_size)))
        return [float(row) for row in range(0, self._count, step) if vmin <= row <= vmax]
