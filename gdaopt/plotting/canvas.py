"""What pictures begin and end with: sizes that fit the axes, the style's colours, and files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gdaopt.support.files import write_atomically

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LETTER_WIDTH = 0.6
"""The width of a letter in font sizes, about."""

_FULL_WIDTH = 3.1  # inches: on axes of this width the sizes are those of the style
_SMALLEST_SCALE = 0.65
_SMALLEST_FONT = 6.0  # points
_MARKER = 0.7  # share of the style's size: curves have many markers
_LETTERS_PER_INCH = 8  # names beside rows have, over the width of all panels
_FEWEST_LETTERS = 8


@contextmanager
def drawing(*panels: Axes) -> Iterator[None]:
    """Draw with the sizes of the caller's style, which are smaller on small axes.

    What is drawn inside takes them from the style, also the labels, ticks and titles of the panels.
    A figure without a layout gets the constrained one, which makes room for names and legends.
    """
    from matplotlib import rc_context, rcParams
    from matplotlib.font_manager import FontProperties

    for ax in panels:
        if ax.figure.get_layout_engine() is None:
            with suppress(RuntimeError):  # it has a colour bar, which was placed without a layout
                figure_of(ax).set_layout_engine("constrained")
    narrowest = min((width_of(ax) for ax in panels), default=_FULL_WIDTH)
    scale = float(np.clip(narrowest / _FULL_WIDTH, _SMALLEST_SCALE, 1.0))
    style: Any = rcParams
    font = style["font.size"]
    sizes: dict[Any, Any] = {"font.size": min(font, max(_SMALLEST_FONT, scale * font))}
    for name in ("lines.linewidth", "patch.linewidth", "hatch.linewidth"):
        sizes[name] = scale * style[name]
    sizes["lines.markersize"] = _MARKER * scale * style["lines.markersize"]

    def points(name: str) -> float:
        return float(FontProperties(size=style[name]).get_size_in_points())

    with rc_context(sizes):
        for ax in panels:
            for axis, ticks in ((ax.xaxis, "xtick.labelsize"), (ax.yaxis, "ytick.labelsize")):
                axis.set_tick_params(which="both", labelsize=points(ticks))
                axis.get_offset_text().set_fontsize(points(ticks))
                axis.label.set_fontsize(points("axes.labelsize"))
        yield


def figure_of(ax: Axes) -> Figure:
    """Return the whole figure that axes are on."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    return figure


def width_of(ax: Axes) -> float:
    """Return the width of axes without their labels, in inches."""
    return float(ax.get_window_extent().width / figure_of(ax).dpi)


def letters(*panels: Axes) -> int:
    """Return how many letters names of rows may have, so that most room is for the panels."""
    return max(_FEWEST_LETTERS, int(_LETTERS_PER_INCH * sum(map(width_of, panels))))


# --- Looks ----------------------------------------------------------------------------------------

# Colours are those of the caller's style. They are never the only difference: line styles, markers
# or hatches differ as well.
LINE_STYLES = (
    *("-", "--", "-.", ":"),
    # Dashes and gaps in line widths: long ones, two dots, two dashes, and so on.
    *((0, (7, 2)), (0, (4, 1, 1, 1, 1, 1)), (0, (4, 1, 4, 1, 1, 1)), (0, (1, 3))),
    *((0, (4, 1, 1, 1, 1, 1, 1, 1)), (0, (7, 2, 2, 2)), (0, (2, 1)), (0, (7, 1, 1, 1, 1, 1))),
)
MARKERS = ("o", "s", "^", "D", "v", "X", "P", "<", ">", "p", "*", "h", "d", "8")
HATCHES = ("", "///", "...", "xxx", "\\\\\\")


def cycle_colour(number: int) -> str:
    """Return a colour of the style's cycle, as it is now: the style may end before the drawing."""
    from matplotlib.colors import to_hex

    return to_hex(f"C{number}")


def look(colour: int, line: int, colours: Sequence[Any] | None = None) -> dict[str, Any]:
    """Return colour, marker and line style by their numbers; each begins anew after its last."""
    return {
        "color": cycle_colour(colour) if colours is None else colours[colour % len(colours)],
        "marker": MARKERS[colour % len(MARKERS)],
        "linestyle": LINE_STYLES[line % len(LINE_STYLES)],
    }


def ink(share: float = 1.0) -> tuple[float, float, float, float]:
    """Return the colour of the style's text, so much of it: little of it for what is behind."""
    from matplotlib import rcParams
    from matplotlib.colors import to_rgba

    return to_rgba(rcParams["text.color"], share)


MUTED, SHADE, FAINT = 0.55, 0.08, 0.15
"""Shares of `ink`: lines beside the data, areas behind it, and curves behind it."""


# --- Files ----------------------------------------------------------------------------------------

_MARK = "gdaopt.plotting"  # stands in every file that we write, and in no other file

FORMATS: Mapping[str, dict[str, Any]] = {
    "png": {"metadata": {"Software": _MARK}, "dpi": 150},
    "pdf": {"metadata": {"Creator": _MARK, "CreationDate": None}},
    "svg": {"metadata": {"Creator": _MARK, "Date": None}},
}
"""The formats by their file name ending, with the options that matplotlib takes."""


def new_figure(width: float, height: float) -> Figure:
    """Return a figure in inches, outside of pyplot, so that nothing has to close it."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def save_figure(path: Path, figure: Figure) -> None:
    """Write a figure atomically, in the format that the ending of the path says.

    Fonts in PDF are TrueType, because many journals refuse matplotlib's default, Type 3.
    """
    from matplotlib import rc_context

    suffix = path.suffix.removeprefix(".")
    with rc_context({"pdf.fonttype": 42}):
        write_atomically(path, lambda file: figure.savefig(file, format=suffix, **FORMATS[suffix]))


def is_picture(path: Path) -> bool:
    """Say whether a file is a picture that we wrote."""
    return path.is_file() and _MARK.encode() in path.read_bytes()
