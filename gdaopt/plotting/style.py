"""Colours, line styles, markers and hatches for grey print and colour-blind readers.

The colours are the palette of Okabe and Ito (2008), *Color Universal Design*, in an order in which
neighbours differ in brightness too. Yellow is left out because it is hard to see on white. Colour
is never the only difference: line styles, markers or hatches differ as well.
"""

from __future__ import annotations

__all__ = ["BLUE", "COLOURS", "GREY", "HATCHES", "LINE_STYLES", "MARKERS", "ORANGE", "SHADE"]

BLUE, ORANGE = "#0072B2", "#D55E00"
COLOURS = (BLUE, "#E69F00", "#000000", "#56B4E9", ORANGE, "#009E73", "#CC79A7")
GREY = "#777777"
SHADE = "#EBEBEB"  # of areas behind the data
LINE_STYLES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "X", "P", "<", ">")
HATCHES = ("", "///", "...", "xxx", "\\\\\\")
