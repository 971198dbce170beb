"""What is written in pictures: names, short and as they are, and legends beside the curves."""

from __future__ import annotations

import unicodedata
from collections.abc import Container, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gdaopt.support.text import cut, latex, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.legend import Legend

_LONGEST = 40  # characters
_SPACING = {"columnspacing": 1.0, "handletextpad": 0.5, "borderpad": 0.2}  # font sizes


def write_legend(
    owner: Axes | Figure | SubFigure,
    handles: Mapping[str, Any],
    mathematics: Container[str] = (),
    **options: Any,
) -> Legend:
    """Write a legend of handles by their names, in as many columns as its owner is wide.

    Names are plain text, except the names in `mathematics`. Names that begin with an underscore
    are shown as well, although matplotlib would leave them out.
    """
    options = {"frameon": False, "fontsize": "small", **_SPACING, **options}
    numbers = [str(number) for number in range(len(handles))]
    for columns in range(options.pop("ncols", len(handles)), 0, -1):
        legend = owner.legend(list(handles.values()), numbers, ncols=columns, **options)
        for text, name in zip(legend.get_texts(), handles, strict=True):
            text.set_parse_math(name in mathematics)
            text.set_text(name if name in mathematics else escape_text(name))
        if columns == 1 or legend.get_window_extent().width <= owner.bbox.width:
            break
        legend.remove()
    return legend


def legend_beside(
    panels: Sequence[Axes],
    handles: Mapping[str, Any] | None = None,
    mathematics: Container[str] = (),
    *,
    loc: str = "upper left",
    **options: Any,
) -> Legend:
    """Write a legend outside of panels that are all panels of their figure.

    Without handles it is of all that the panels show, with labels that are our own.

    It is below them if the figure has a title, which would be on it. If they are not all, or
    if the layout of the figure makes no room for it, the legend is above the first panel.
    """
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    if handles is None:
        of_panels = [ax.get_legend_handles_labels() for ax in panels]
        handles = {label: handle for pair in of_panels for handle, label in zip(*pair, strict=True)}
        mathematics = handles
    figure = panels[0].figure
    is_constrained = isinstance(figure.get_layout_engine(), ConstrainedLayoutEngine)
    if is_constrained and set(figure.axes) == set(panels):
        loc = "lower center" if figure.get_suptitle() else loc
        return write_legend(figure, handles, mathematics, loc=f"outside {loc}", **options)
    place: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0, 1), "borderaxespad": 0.2}
    return write_legend(panels[0], handles, mathematics, **place, **options)


# --- Names ----------------------------------------------------------------------------------------

_TEX = {"…": r"\ldots{}", "−": "$-$", "°": r"$^{\circ}$", "²": "$^2$", "³": "$^3$", "µ": r"$\mu$"}
_ACCENTS = "\u0300\u0301\u0302\u0303\u0308\u030a\u030c\u0327"  # accents that LaTeX puts on letters
_GREEK_LIKE_LATIN = "ABEZHIKMNOPTXoY"  # Greek letters for which LaTeX has no command
_FROM_GREEK = dict(zip("ΑΒΕΖΗΙΚΜΝΟΡΤΧοΥ", _GREEK_LIKE_LATIN, strict=True))


def short_label(name: str, longest: int = _LONGEST) -> str:
    """Return a name as `plain` text of at most 40 characters, which leaves room for the picture."""
    return cut(plain(name), longest)


def escape_text(text: str) -> str:
    r"""Return plain text as matplotlib has to get it: escaped where LaTeX writes all text.

    That is where ``rcParams["text.usetex"]`` is on. A letter that LaTeX cannot write without
    further packages becomes a question mark; so does one that none of the style's fonts has
    (``rcParams["font.family"]`` may list several).
    """
    from matplotlib import rcParams

    if not rcParams["text.usetex"]:
        return text if text.isascii() else _with_glyphs(text)
    return "".join(map(_tex_of, unicodedata.normalize("NFC", plain(text))))


def _with_glyphs(text: str) -> str:
    """Return a text with a question mark for each character that no font of the style has."""
    from matplotlib import rcParams
    from matplotlib.font_manager import FontProperties, findfont, get_font

    files = [findfont(FontProperties(family=[family])) for family in rcParams["font.family"]]
    has = [get_font(file).get_char_index for file in files]
    return "".join(
        character if any(index(ord(character)) for index in has) else "?" for character in text
    )


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
