"""Names of features and runs in pictures: short, and shown as they are."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

from gdaopt.errors import InvalidInputError
from gdaopt.support.text import latex, plain
from gdaopt.support.text import shortened as display

_LONGEST = 40  # characters
_ACCENTS = "\u0300\u0301\u0302\u0303\u0308\u030a\u030c\u0327"  # accents that LaTeX puts on letters
_TEX = {"…": r"\ldots{}", "−": "$-$", "°": r"$^{\circ}$", "²": "$^2$", "³": "$^3$", "µ": r"$\mu$"}
_GREEK_LIKE_LATIN = "ABEZHIKMNOPTXoY"  # Greek letters for which LaTeX has no command
_FROM_GREEK = dict(zip("ΑΒΕΖΗΙΚΜΝΟΡΤΧοΥ", _GREEK_LIKE_LATIN, strict=True))


def shortened(name: str, longest: int = _LONGEST) -> str:
    """Return a name as `plain` text of at most 40 characters, which leaves room for the picture."""
    name = plain(name)
    return name if len(name) <= longest else f"{name[: longest - 1]}…"


def written(text: str) -> str:
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
    """Return the shortened names of K features; their numbers when no names are given."""
    if names is None:
        return [str(number) for number in range(size)]
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InvalidInputError(f"names must be a list of names, got {display(names)}")
    names = list(names)
    if len(names) != size:
        raise InvalidInputError(f"names holds {len(names)} names for {size} features")
    return [shortened(str(name)) for name in names]
