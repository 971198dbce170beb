"""Colours, line styles, markers and hatches that stay apart for the colour-blind and in grey print.

The colours are those of Okabe and Ito (2008), *Color Universal Design*, ordered so that neighbours
differ in brightness too; yellow is left out, it vanishes on white. No colour stands alone: a line
style, a marker or a hatch always tells the same.
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
    """Write a legend of handles by name; names are no mathematics unless they are listed as such.

    Names that begin with an underscore, which matplotlib would leave out, are shown too.
    """
    legend = owner.legend(list(handles.values()), [str(n) for n in range(len(handles))], **options)
    for text, name in zip(legend.get_texts(), handles, strict=True):
        text.set_parse_math(name in mathematics)
        text.set_text(name)
