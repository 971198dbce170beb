"""What is written in pictures: names, short and as they are, and legends beside the curves."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gdaopt.errors import InvalidInputError
from gdaopt.plotting.canvas import figure_of, font_size, panel_width, room
from gdaopt.support.text import latex, plain, shortened

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
        text.set_text(name if name in mathematics else escape_text(name))
    return legend


def legend_above(
    ax: Axes,
    handles: Mapping[str, Any],
    mathematics: Container[str] = (),
    *,
    width: float | None = None,
    **options: Any,
) -> Legend:
    """Write a legend above axes, and above their labels where it is wider than the axes."""
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


_LONGEST = 40  # characters
_ACCENTS = "\u0300\u0301\u0302\u0303\u0308\u030a\u030c\u0327"  # accents that LaTeX puts on letters
_TEX = {"…": r"\ldots{}", "−": "$-$", "°": r"$^{\circ}$", "²": "$^2$", "³": "$^3$", "µ": r"$\mu$"}
_GREEK_LIKE_LATIN = "ABEZHIKMNOPTXoY"  # Greek letters for which LaTeX has no command
_FROM_GREEK = dict(zip("ΑΒΕΖΗΙΚΜΝΟΡΤΧοΥ", _GREEK_LIKE_LATIN, strict=True))


def short_label(name: str, longest: int = _LONGEST) -> str:
    """Return a name as `plain` text of at most 40 characters, which leaves room for the picture."""
    name = plain(name)
    return name if len(name) <= longest else f"{name[: longest - 1]}…"


def escape_text(text: str) -> str:
    r"""Return plain text as matplotlib has to get it: escaped where LaTeX writes all text.

    That is where ``rcParams["text.usetex"]`` is on. A letter that LaTeX cannot write without
    further packages becomes a question mark.
    """
    from matplotlib import rcParams

    if not rcParams["text.usetex"]:
        return text
    return "".join(map(_tex_of, unicodedata.normalize("NFC", plain(text))))


def _tex_of(character: str) -> str:
    """Return one character for LaTeX."""
    if character in _TEX:
        return _TEX[character]
    escaped = latex(character)
    if escaped.isascii():
        return escaped
    decomposed = unicodedata.normalize("NFD", character)
    base, accents = decomposed[0], decomposed[1:]
    if accents and base.isascii() and base.isalpha() and all(a in _ACCENTS for a in accents):
        return character if len(accents) == 1 else base
    if character in _FROM_GREEK:
        return _FROM_GREEK[character]
    match unicodedata.name(character, "").split():
        case ["GREEK", ("SMALL" | "CAPITAL") as size, "LETTER", letter]:
            letter = "lambda" if letter == "LAMDA" else letter.lower()
            return f"$\\{letter if size == 'SMALL' else letter.capitalize()}$"
    return " " if character.isspace() else "?"


def feature_names(names: Sequence[str] | None, size: int) -> list[str]:
    """Return the short labels of K features; their numbers when no names are given."""
    if names is None:
        return [str(number) for number in range(size)]
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InvalidInputError(f"names must be a list of names, got {shortened(names)}")
    names = list(names)
    if len(names) != size:
        raise InvalidInputError(f"names holds {len(names)} names for {size} features")
    return [short_label(str(name)) for name in names]
