"""Tables of text as people save them: any usual separator, points or commas for decimals."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gdaopt.errors import InvalidInputError
from gdaopt.support.text import reason, shortened

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["TextTable", "float_or_nan", "read_text"]

_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_LINES = 50  # that are looked at to find the separator
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?|[+-]?\d+,")
_MISSING = {"", "?", "-", ".", "na", "n/a", "#n/a", "nan", "null", "none", "missing"}


@dataclass(frozen=True, eq=False)
class TextTable:
    """A table of text.

    Attributes
    ----------
    path : pathlib.Path
        Its file.
    columns : pandas.DataFrame
        Its values as text, without spaces around them, by the names of the columns.
    separator : str
        What separates its values.
    decimal : str
        What separates the whole part of a number from its fraction.
    """

    path: Path
    columns: pd.DataFrame
    separator: str
    decimal: str

    def number(self, text: str) -> float:
        """Return the number that a text stands for in this table; NaN for what is no number."""
        if self.decimal == ",":
            text = "no number" if "." in text else text.replace(",", ".")
        return float_or_nan(text)

    def is_missing(self, text: str) -> bool:
        """Say whether a text stands for a value that is not there."""
        return text.lower() in _MISSING


def read_text(path: Path) -> TextTable:
    """Return the table of a file whose first line names the columns.

    Parameters
    ----------
    path : pathlib.Path
        The file: in UTF-8, with a byte order mark or without, or in UTF-16 with one.

    Raises
    ------
    InvalidInputError
        When there is no such file, or when it is not such a table.
    """
    import pandas as pd  # slow to import, and needed here only

    try:
        encoding = _encoding(path)
        separator = _separator(path, encoding)
        options: dict[str, Any] = {
            "dtype": str,
            "na_filter": False,
            "skipinitialspace": True,
            "encoding": encoding,
            "sep": separator,
        }
        table = pd.read_csv(path, **options)
        first_line = pd.read_csv(path, header=None, nrows=1, **options)
    except (OSError, ValueError) as error:
        raise InvalidInputError(
            f"cannot read {path} as comma-separated values below a line of column names: "
            f"{reason(error)}"
        ) from error
    # Where a row has more values than there are names, pandas takes its first values as an index. A
    # column without a name gets one from pandas.
    if not isinstance(table.index, pd.RangeIndex) or any(table.columns.str.startswith("Unnamed: ")):
        raise InvalidInputError(
            f"{path}: the first line does not name every column; name them all, or remove those "
            "without a name (such as row numbers: pandas writes them unless told index=False)"
        )
    names = first_line.iloc[0].str.strip()  # pandas gives the second of two equal names another
    if names.duplicated().any():
        raise InvalidInputError(
            f"{path} has two columns of the name {shortened(names[names.duplicated()].iloc[0])}; "
            "rename one"
        )
    if len(table.columns) < 2:
        raise InvalidInputError(
            f"{path} has the one column {shortened(table.columns[0])}; it needs features and a "
            f"label, separated by {', '.join(_SEPARATORS.values())}"
        )
    if table.empty:
        raise InvalidInputError(f"{path} has column names but no rows; add samples")
    stripped = table.apply(lambda column: column.str.strip())
    return TextTable(path, stripped, separator, _decimal(stripped, separator))


def float_or_nan(text: str) -> float:
    """Return the float64 nearest to the number in a text; NaN when the text is not a number.

    Python reads ``1_0`` as 10, and digits of all scripts; in a table these are typing errors.

    Examples
    --------
    >>> float_or_nan("1e1"), float_or_nan("1_0")
    (10.0, nan)
    """
    if "_" in text or not text.isascii():
        return math.nan
    try:
        return float(text)
    except ValueError:
        return math.nan


def _encoding(path: Path) -> str:
    """Return the encoding that the byte order mark of a file names; UTF-8 without one."""
    with path.open("rb") as file:
        mark = file.read(2)
    return "utf-16" if mark in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"


def _separator(path: Path, encoding: str) -> str:
    """Return what separates the values of a file.

    It is what splits the first lines into most parts, as many in each. Where nothing splits all of
    them alike, it is what splits the line of names.
    """
    with path.open(encoding=encoding, newline="") as file:
        lines = [line for _, line in zip(range(_LINES), file, strict=False) if line.strip()]
    parts = {separator: _parts(lines, separator) for separator in _SEPARATORS}
    even = {sep: counts for sep, counts in parts.items() if len(set(counts)) == 1}
    found = {sep: counts[0] for sep, counts in even.items() if counts[0] > 1} or {
        sep: counts[0] for sep, counts in parts.items() if counts
    }
    return max(found, key=found.__getitem__, default=",")  # the first of several: commas


def _parts(lines: Sequence[str], separator: str) -> list[int]:
    """Return the number of parts of each line."""
    try:
        rows = csv.reader(lines, delimiter=separator, skipinitialspace=True)
        return [len(row) for row in rows if row]
    except csv.Error:  # a quote that is open at the last line looked at
        return []


def _decimal(columns: pd.DataFrame, separator: str) -> str:
    """Return the decimal mark: a comma where there are such numbers, and commas are no separators.

    A quoted "1,234" among values separated by commas is more often one thousand and more.
    """
    if separator == ",":
        return "."
    for name in columns:
        if any(_DECIMAL_COMMA.fullmatch(text) for text in columns[name]):
            return ","
    return "."
