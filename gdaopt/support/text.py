"""Texts for people: values in messages, user text in each medium, short tables.

A label, a name or a path comes from data and may hold anything: control characters that move a
terminal's cursor, marks that reverse the reading direction, the syntax of Markdown or LaTeX. Each
medium has one function that shows such a text as it is and does nothing else: `plain` for terminals
and pictures, `markdown` and `latex`; `latex_table` and `html_table` do it themselves.
"""

from __future__ import annotations

import math
import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import fields
from typing import Any
from unicodedata import category

import numpy as np

_LONGEST = 60  # characters of a value that a message shows
_LONGEST_LINE = 300  # of another error's message, and of a cell
_SPACE = "Zs"  # Unicode's category of spaces: Python calls all but one of them not printable
_MARKDOWN = str.maketrans({character: f"\\{character}" for character in "\\`*_[]<>|$~&#"})
_LATEX = str.maketrans(
    {
        **{character: f"\\{character}" for character in "&%$#_{}"},
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "\\": r"\textbackslash{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "`": r"\textasciigrave{}",
        "–": "--",
        "×": r"$\times$",
        "ć": r"\'c",
    }
)

_NUMBER = re.compile(
    r"(?P<sign>-?)(?P<whole>\d+)(\.(?P<decimals>\d+))?(e(?P<power>[+-])(?P<exponent>\d+))?"
)


def shortened(value: object) -> str:
    """Return the representation of a value for a message: one line, cut if it is long."""
    try:
        text = plain(re.sub(r"\s*\n\s*", " ", repr(value)))  # NumPy's arrays have several lines
    except Exception:  # whole numbers of over 4,300 digits, and objects that fail
        text = f"a value of type {type(value).__name__}"
    return cut(text, _LONGEST)


def reason(error: BaseException) -> str:
    """Return what an error says, or its type if it says nothing: one line of a message."""
    return cut(plain(" ".join(str(error).split())), _LONGEST_LINE) or type(error).__name__


def cut(text: str, longest: int) -> str:
    """Return a text of at most so many characters; the last shows where it has been cut."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def plain(text: str) -> str:
    """Return a text in which no character acts: what is not printable is written as its escape."""
    if text.isprintable():
        return text
    return "".join(
        character
        if character.isprintable() or category(character) == _SPACE
        else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def markdown(text: str) -> str:
    """Return a text for a line or a cell of Markdown: `plain`, and without any syntax."""
    return plain(text).translate(_MARKDOWN)


def latex(text: str) -> str:
    """Return a text for LaTeX: `plain`, and without any commands."""
    return plain(text).translate(_LATEX)


def number_text(value: float | str | None) -> str:
    """Return a value for a cell: floats with six digits, nothing for None."""
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def format_cell(form: str, value: float | None, scale: float = 1) -> str:
    """Return a number for a cell in a form such as ``"{:.3g} %"``, nothing for None and NaN."""
    return "" if value is None or math.isnan(value) else form.format(scale * value)


def percent(share: float) -> str:
    """Return a share in per cent, in two digits or more and without a power of ten."""
    per_cent = max(100 * share, 1e-4)
    digits = max(2, 1 + math.floor(math.log10(per_cent)))
    return f"{np.format_float_positional(per_cent, digits, fractional=False, trim='-')} %"


def text_table(rows: Iterable[Sequence[str]], header: Sequence[str]) -> str:
    """Return rows of cells below a header, in columns that are flush right."""
    lines = [[plain(cell) for cell in line] for line in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "".join(f"  {cell:>{width}}" for cell, width in zip(line, widths, strict=True))
        for line in lines
    )


def markdown_table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], words: Container[str]
) -> list[str]:
    """Return the lines of a table of Markdown; columns of words are flush left, numbers right."""
    rule = ["---" if head in words else "--:" for head in heads]
    return [f"| {' | '.join(line)} |" for line in (heads, rule, *rows)]


def latex_table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], words: Container[str], caption: str
) -> list[str]:
    """Return the lines of a table of LaTeX, for its packages booktabs and siunitx.

    Columns of words are flush left. Numbers are aligned at their points; a sign of per cent that
    all numbers of a column have stands in its head.
    """
    columns = [list(column) for column in zip(heads, *rows, strict=True)]
    forms = []
    for head, column in zip(heads, columns, strict=True):
        if head in words:
            forms.append("l")
            column[:] = map(latex, column)
            continue
        numbers = [cell.removesuffix(" %").removesuffix(".") for cell in column[1:]]
        of_percent = all(cell.endswith(" %") for cell in column[1:] if cell)
        forms.append(f"S[table-format={_number_format(numbers)}]")
        column[:] = [
            f"{{{latex(f'{head} (%)' if of_percent and any(numbers) else head)}}}",
            *(cell if _NUMBER.fullmatch(cell) else f"{{{latex(cell)}}}" for cell in numbers),
        ]
    lines = [f"{' & '.join(cells)} \\\\" for cells in zip(*columns, strict=True)]
    return [
        *(r"\begin{table}", r"\centering", rf"\caption{{{latex(caption)}}}"),
        *(rf"\begin{{tabular}}{{{' '.join(forms)}}}", r"\toprule", lines[0], r"\midrule"),
        *(*lines[1:], r"\bottomrule", r"\end{tabular}", r"\end{table}"),
    ]


def latex_page(tables: Iterable[Sequence[str]]) -> str:
    """Return tables of `latex_table` one below the other, with the packages that they need."""
    lines = [r"% Needs \usepackage{booktabs, siunitx}"]
    for table in tables:
        lines += ["", *table]
    return "\n".join(lines) + "\n"


def _number_format(numbers: Iterable[str]) -> str:
    """Return the widest form of numbers as siunitx writes it, such as 3.2e-1."""
    parts = [match for match in map(_NUMBER.fullmatch, numbers) if match]
    sign = "-" * any(match["sign"] for match in parts)
    whole, decimals, exponent = (
        max((len(match[name] or "") for match in parts), default=0)
        for name in ("whole", "decimals", "exponent")
    )
    power = "-" * any(match["power"] == "-" for match in parts)
    form = f"{sign}{whole}.{decimals}" if decimals else f"{sign}{whole}"
    return f"{form}e{power}{exponent}" if exponent else form


def html_table(
    rows: Iterable[Sequence[str]], *, caption: str, header: Sequence[str] | None = None
) -> str:
    """Return an HTML table of text, which is escaped; the first cell of each row names the row."""
    lines = [] if header is None else [_html_row(("th",) * len(header), header)]
    lines += [_html_row(("th", *("td",) * (len(row) - 1)), row) for row in rows]
    return f"<table><caption>{_html(caption)}</caption>{''.join(lines)}</table>"


class ShownAsTable:
    """What notebooks show as a table: names and values, of a dataclass the fields that are set."""

    def _repr_html_(self) -> str:
        return html_table(self._summary().items(), caption=self._title())

    def _title(self) -> str:
        return type(self).__name__

    def _summary(self) -> dict[str, str]:
        owner: Any = self  # a dataclass, or a class that writes this method itself
        values = {each.name: getattr(self, each.name) for each in fields(owner)}
        return {
            name: _cell(value)
            for name, value in values.items()
            if value is not None and not (isinstance(value, str | tuple) and not value)
        }


def _cell(value: Any) -> str:
    """Return a value for a cell: numbers in short, of arrays the shape, of functions the name."""
    kind: Any = type(value)
    if isinstance(value, float | str):
        return number_text(value)
    if callable(value) and hasattr(value, "__name__"):
        return str(value.__name__)
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and shape:
        return f"{kind.__name__} of {'×'.join(map(str, shape))}"
    if kind.__repr__ is object.__repr__:
        return str(kind.__name__)
    return cut(" ".join(repr(value).split()), _LONGEST_LINE)


def _html_row(tags: Sequence[str], cells: Sequence[str]) -> str:
    pairs = zip(tags, cells, strict=True)
    return f"<tr>{''.join(f'<{tag}>{_html(cell)}</{tag}>' for tag, cell in pairs)}</tr>"


def _html(text: str) -> str:
    from html import escape  # on demand: only notebooks show tables

    return escape(plain(text))
