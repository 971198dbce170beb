"""Legends beside the curves: above or below the panels, and not wider than these."""

from __future__ import annotations

import textwrap
from collections.abc import Container, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from gdaopt.plotting.canvas import figure_of, font_size, panel_width, room
from gdaopt.plotting.names import written

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.legend import Legend

_BETWEEN_WORDS: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}
_PANEL_SHARE, _FIGURE_SHARE = 0.95, 0.97
_SPACING = {"columnspacing": 1.0, "handletextpad": 0.5, "borderpad": 0.2}  # font sizes


def write_legend(
    owner: Axes | Figure | SubFigure,
    handles: Mapping[str, Any],
    mathematics: Container[str] = (),
    **options: Any,
) -> Legend:
    """Write a legend of handles by their names.

    Names are plain text, except the names in `mathematics`. Names that begin with an underscore
    are shown as well, although matplotlib would leave them out.
    """
    legend = owner.legend(list(handles.values()), [str(n) for n in range(len(handles))], **options)
    for text, name in zip(legend.get_texts(), handles, strict=True):
        text.set_parse_math(name in mathematics)
        text.set_text(name if name in mathematics else written(name))
    return legend


def legend_above(
    ax: Axes,
    handles: Mapping[str, Any],
    mathematics: Container[str] = (),
    *,
    width: float | None = None,
    **options: Any,
) -> Legend:
    """Write a legend above axes that has room there, or a width in inches.

    One that is wider than the axes is above their labels, too.
    """
    dpi = figure_of(ax).dpi
    options = {"loc": "lower left", "bbox_to_anchor": (0, 1), "borderaxespad": 0.2, **options}
    available = _PANEL_SHARE * dpi * (room(ax)[0] if width is None else width)
    size = font_size(ax, "small")
    legend = _fit(ax, handles, mathematics, available, fontsize=size, **options)
    if width is None and legend.get_window_extent().width > _PANEL_SHARE * dpi * panel_width(ax):
        legend.set_loc("lower right")
        legend.set_bbox_to_anchor((1, 1), transform=ax.transAxes)
    return legend


def shared_legend(
    panels: Iterable[Axes],
    handles: Mapping[str, Any],
    mathematics: Container[str] = (),
    *,
    loc: str = "outside upper left",
    **options: Any,
) -> None:
    """Write one legend for panels that are all panels of a figure with constrained layout."""
    panels = list(panels)
    figure = panels[0].figure
    _fit(
        figure,
        handles,
        mathematics,
        _FIGURE_SHARE * float(figure.bbox.width),
        loc=loc,
        fontsize=min(font_size(ax, "small") for ax in panels),
        **options,
    )


def _fit(
    owner: Axes | Figure | SubFigure,
    handles: Mapping[str, Any],
    mathematics: Container[str],
    width: float,
    **options: Any,
) -> Legend:
    """Write a legend in as many columns as fit into a width; break between words where none do."""
    options = {"frameon": False, **_SPACING, **options}
    for columns in range(len(handles), 0, -1):
        legend = write_legend(owner, handles, mathematics, ncols=columns, **options)
        taken = float(legend.get_window_extent().width)
        if taken <= width:
            return legend
        if columns > 1:
            legend.remove()
    for text, name in zip(legend.get_texts(), handles, strict=True):
        of_text = float(text.get_window_extent().width)
        letters = int(len(text.get_text()) * (width - (taken - of_text)) / max(of_text, 1.0))
        if name not in mathematics:
            text.set_text(textwrap.fill(text.get_text(), max(letters, 1), **_BETWEEN_WORDS))
    return legend
