"""Colours, line styles, markers and hatches for grey print and colour-blind readers.

The colours are those of Okabe and Ito (2008), *Color Universal Design*, in an order in which
neighbours differ in brightness too. Yellow is left out because it is hard to see on white. Colour
is never the only difference: line styles, markers or hatches differ as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

__all__ = [
    "BLUE",
    "COLOURS",
    "GREY",
    "HATCHES",
    "LEGEND_ABOVE",
    "LINE_STYLES",
    "MARKERS",
    "SHADE",
    "write_legend",
]

BLUE = "#0072B2"
COLOURS = (BLUE, "#E69F00", "#000000", "#56B4E9", "#D55E00", "#009E73", "#CC79A7")
GREY = "#777777"
SHADE = "#EBEBEB"  # of areas behind the data
LINE_STYLES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "X", "P", "<", ">")
HATCHES = ("", "///", "...", "xxx", "\\\\\\")
LEGEND_ABOVE: dict[str, Any] = {
    "loc": "lower left",
    "bbox_to_anchor": (0, 1),
    "ncols": 5,
    "fontsize": "small",
    "frameon": False,
}


def write_legend(
    owner: Axes | Figure | SubFigure,
    handles: Mapping[str, Any],
    mathematics: Container[str] = (),
    **options: Any,
) -> None:
    """Write a legend of handles by their names.

    Names are plain text, except those listed in `mathematics`. Names that begin with an underscore
    are shown as well, although matplotlib would leave them out.
    """
    legend = owner.legend(list(handles.values()), [str(n) for n in range(len(handles))], **options)
    for text, name in zip(legend.get_texts(), handles, strict=True):
        text.set_parse_math(name in mathematics)
        text.set_text(name)
