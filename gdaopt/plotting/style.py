"""Colours, line styles, markers and hatches for grey print and colour-blind readers.

The colours are the palette of Okabe and Ito (2008), *Color Universal Design*, in an order in which
neighbours differ in brightness too. Yellow is left out because it is hard to see on white. Colour
is never the only difference: line styles, markers or hatches differ as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

BLUE, ORANGE = "#0072B2", "#D55E00"
COLOURS = (BLUE, "#E69F00", "#000000", "#56B4E9", ORANGE, "#009E73", "#CC79A7")
GREY = "#777777"
SHADE = "#EBEBEB"  # of areas behind the data
LINE_STYLES = (
    *("-", "--", "-.", ":"),
    # Dashes and gaps in line widths: long ones, two dots, two dashes, and so on.
    *((0, (7, 2)), (0, (4, 1, 1, 1, 1, 1)), (0, (4, 1, 4, 1, 1, 1)), (0, (1, 3))),
    *((0, (4, 1, 1, 1, 1, 1, 1, 1)), (0, (7, 2, 2, 2)), (0, (2, 1)), (0, (7, 1, 1, 1, 1, 1))),
)
MARKERS = ("o", "s", "^", "D", "v", "X", "P", "<", ">")
HATCHES = ("", "///", "...", "xxx", "\\\\\\")


def look(colour: int, line: int, colours: Sequence[Any] = COLOURS) -> dict[str, Any]:
    """Return colour, marker and line style by their numbers; each begins anew after its last."""
    return {
        "color": colours[colour % len(colours)],
        "marker": MARKERS[colour % len(MARKERS)],
        "linestyle": LINE_STYLES[line % len(LINE_STYLES)],
    }
