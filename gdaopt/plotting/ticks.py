"""What axes of pictures show: counts, magnitudes, eigenvalues, and rows with names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from gdaopt.plotting.canvas import figure_of
from gdaopt.plotting.legends import escape_text
from gdaopt.support.validation import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Largest over smallest value: below, an axis is linear, or has labels between powers of ten.
_ONE_DECADE, _TWO_DECADES = 10.0, 100.0
_LENGTHS_DIFFER = 10  # a run this many times longer than another hides it on a linear axis
_LINEAR = 1e-9  # share of the largest eigenvalue below which an axis with zeros is linear
_ROW_HEIGHT = 1.2  # font sizes that a name takes


def count_axis(ax: Axes, which: Literal["x", "y"]) -> None:
    """Label an axis with whole numbers."""
    from matplotlib.ticker import MaxNLocator

    axis = ax.xaxis if which == "x" else ax.yaxis
    axis.set_major_locator(
        MaxNLocator(nbins="auto", steps=[1, 2, 5, 10], integer=True, min_n_ticks=1)
    )


def iteration_axis(ax: Axes, lengths: Iterable[float]) -> None:
    """Label the horizontal axis with whole numbers.

    It is logarithmic if some run is much longer than another one, which it would hide.
    """
    positive = [length for length in lengths if length > 0]
    if positive and max(positive) > _LENGTHS_DIFFER * min(positive):
        ax.set_xscale("symlog", linthresh=1.0)
        ax.set_xlim(-0.2, 1.5 * max(positive))
        ax.xaxis.set_major_formatter("{x:g}")
    else:
        count_axis(ax, "x")


def is_logarithmic(low: FloatArray | float, high: float) -> npt.NDArray[np.bool_]:
    """Say whether an axis of magnitudes is logarithmic: positive ones that span a power of ten."""
    return np.asarray((np.asarray(low) > 0) & (_ONE_DECADE * np.asarray(low) <= high))


def magnitude_axis(ax: Axes, values: FloatArray, which: Literal["x", "y"] = "y") -> None:
    """Make an axis logarithmic if the values are positive and span a power of ten."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

    axis = ax.xaxis if which == "x" else ax.yaxis
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    if not is_logarithmic(low, high):
        if which == "x":
            axis.set_major_locator(MaxNLocator(nbins=4))
        return
    ax.set(**{f"{which}scale": "log"})
    if high < _TWO_DECADES * low:  # there may be a single power of ten
        has_room = 2 * np.log10(high / low) + 1 <= axis.get_tick_space()
        axis.set_major_locator(LogLocator(subs=(1.0, 3.0) if has_room else (1.0,)))
        axis.set_major_formatter("{x:g}")
        axis.set_minor_formatter(NullFormatter())


def eigenvalue_axis(ax: Axes, ends: FloatArray, eigenvalues: FloatArray | None = None) -> None:
    """Make the vertical axis logarithmic, and linear around zero where values are not positive."""
    from matplotlib.ticker import FixedLocator

    eigenvalues = ends if eigenvalues is None else eigenvalues
    values = np.concatenate([ends[np.isfinite(ends)], eigenvalues])  # some were not measured
    lowest, largest = float(values.min()), float(values.max())
    if lowest > 0:
        ax.set_yscale("log")
    if lowest > 0 or largest <= 0:
        return
    round_off = _LINEAR * largest
    is_zero = lowest > -round_off
    # Decades below the eigenvalues would take room from the left-ends that are negative.
    positive = eigenvalues[eigenvalues > round_off]
    linear = round_off if is_zero else float(positive.min(initial=largest))
    decades = np.log10(max(largest, -lowest) / linear)
    on_a_side = max(ax.yaxis.get_tick_space() // (1 if is_zero else 2), 1)
    apart = max(int(np.ceil(decades / max(on_a_side - 1, 1))), 1)
    ax.set_yscale("symlog", linthresh=linear, linscale=apart)
    first = np.ceil(np.log10(linear) - 1e-9)  # the logarithm may be just above a whole number
    powers = 10.0 ** np.arange(first, first + decades + 1, apart)[-on_a_side:]
    ax.yaxis.set_major_locator(FixedLocator([*-powers, 0, *powers]))
    if is_zero:
        ax.set_ylim(bottom=-round_off)  # what is below zero is round-off


def name_rows(ax: Axes, names: Sequence[str]) -> None:
    """Write names beside the rows 0, 1, …, the first on top; where rows are low, every n-th."""
    from matplotlib.ticker import FixedLocator, FuncFormatter

    ax.set_ylim(len(names) - 0.4, -0.6)
    height = 72 * ax.get_window_extent().height / figure_of(ax).dpi
    room = height / (_ROW_HEIGHT * float(ax.yaxis.get_major_ticks(1)[0].label1.get_fontsize()))
    ax.yaxis.set_major_locator(FixedLocator(range(len(names)), nbins=max(int(room), 2)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda row, _: escape_text(names[round(row)])))
    for tick in ax.yaxis.get_major_ticks(len(names)):
        tick.label1.set_parse_math(False)
