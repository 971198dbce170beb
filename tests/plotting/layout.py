"""Measures of a figure that is laid out, in the renderer's boxes: what is cut, what overlaps."""

from itertools import combinations

from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

__all__ = ["outside", "overprinted"]

_PIXEL = 1.0


def _boxes(texts: list[Text]) -> list[tuple[str, Bbox]]:
    """Return the texts that are shown, with their boxes."""
    shown = [text for text in texts if text.get_visible() and text.get_text().strip()]
    return [(text.get_text(), text.get_window_extent()) for text in shown]


def outside(figure: Figure) -> list[str]:
    """Return the texts that the figure cuts off, ticks beyond the limits left out."""
    whole = figure.bbox
    ticks = {
        label
        for axes in figure.axes
        for axis in (axes.xaxis, axes.yaxis)
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks())
        for label in (tick.label1, tick.label2)
    }
    drawn = {
        label
        for axes in figure.axes
        for axis in (axes.xaxis, axes.yaxis)
        for label in _labels(axis)
        if axes.axison
    }
    texts = [text for text in figure.findobj(Text) if text not in ticks or text in drawn]
    return [
        name
        for name, box in _boxes(texts)
        if box.x0 < whole.x0 - _PIXEL
        or box.y0 < whole.y0 - _PIXEL
        or box.x1 > whole.x1 + _PIXEL
        or box.y1 > whole.y1 + _PIXEL
    ]


def overprinted(figure: Figure) -> list[tuple[str, str]]:
    """Return the pairs of tick labels of one axis that overlap."""
    return [
        (first, second)
        for axes in figure.axes
        if axes.axison
        for axis in (axes.xaxis, axes.yaxis)
        for (first, a), (second, b) in combinations(_boxes(_labels(axis)), 2)
        if a.x0 < b.x1 and b.x0 < a.x1 and a.y0 < b.y1 and b.y0 < a.y1
    ]


def _labels(axis: Axis) -> list[Text]:
    """Return the tick labels that are drawn: those within the limits of the axis."""
    return [tick.label1 for tick in axis._update_ticks()]  # type: ignore[attr-defined]
