"""Short tables for print and for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["html_table", "number_text", "text_table"]


def number_text(value: float | str | None) -> str:
    """Return a value for a cell: floats with six digits, nothing for None.

    Examples
    --------
    >>> [number_text(value) for value in (1 / 3, 12, "column", None)]
    ['0.333333', '12', 'column', '']
    """
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def text_table(rows: Iterable[Sequence[str]], header: Sequence[str]) -> str:
    """Return rows of cells below a header, in columns that are flush right.

    Examples
    --------
    >>> print(text_table([("0", "start"), ("10", "column")], ("step", "phase")))
      step   phase
         0   start
        10  column
    """
    lines = [header, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "".join(f"  {cell:>{width}}" for cell, width in zip(line, widths, strict=True))
        for line in lines
    )


def html_table(
    rows: Iterable[Sequence[str]], *, caption: str, header: Sequence[str] | None = None
) -> str:
    """Return an HTML table of text; the first cell of each row names the row.

    Examples
    --------
    >>> html_table([("gap", "< 1")], caption="run")
    '<table><caption>run</caption><tr><th>gap</th><td>&lt; 1</td></tr></table>'
    """
    lines = [] if header is None else [_html_row(("th",) * len(header), header)]
    lines += [_html_row(("th", *("td",) * (len(row) - 1)), row) for row in rows]
    return f"<table><caption>{escape(caption)}</caption>{''.join(lines)}</table>"


def _html_row(tags: Sequence[str], cells: Sequence[str]) -> str:
    """Return a row of an HTML table, with a tag for each cell."""
    pairs = zip(tags, cells, strict=True)
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for tag, cell in pairs)}</tr>"
