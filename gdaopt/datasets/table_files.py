"""Files with one table: unpacked, decoded, and cut into cells below a line of names.

pandas reads the cells. What is decided here is what it leaves open: which table of several, the
encoding, what separates the values, and which line names the columns.
"""

from __future__ import annotations

import csv
import io
import math
import re
import shlex
import zipfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gdaopt.datasets.numbers import DECIMALS, THOUSANDS, float_or_nan, is_missing
from gdaopt.errors import InvalidInputError
from gdaopt.support.extras import cli_extra
from gdaopt.support.files import DamagedError, allowance, open_archive, unpack
from gdaopt.support.options import option, read_names
from gdaopt.support.text import reason, shortened
from gdaopt.support.validation import check_instance, integer

if TYPE_CHECKING:
    import pandas as pd

_OTHER_FILES = {
    b"\xd0\xcf\x11\xe0": "a workbook of Excel before 2007 (.xls): save it as .xlsx",
    b"$FL2": "a file of SPSS (.sav): export it as CSV",
    b"<": "a text in HTML or XML: open it in a spreadsheet, and save it as .xlsx",
    b"{": "a text in JSON: write its records as CSV",
    b"%PDF": "a PDF: copy its table into a spreadsheet, and save it as .xlsx",
}
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "spaces"}
_LINES = 50  # that are looked at to find the separator, and the line of names
_NUMBER_START = re.compile(r"[-+−(]?\s*[$€£]?\s*[.,]?[0-9]")
_MOST_NAME_LINES = 3  # with names or units below the first
_EXCEL_LINE = re.compile(r'"?sep=(.)"?\s*')  # with which a file tells Excel its separator


@dataclass(frozen=True, kw_only=True)
class TableFormat:
    """How a file with a table is written, as far as somebody says it: see `read_table`."""

    decimal: str | None = option(
        None,
        "decimal mark of the file, a point or a comma (default: what fits, for each column)",
        metavar="MARK",
    )
    thousands: str | None = option(
        None,
        "what stands between groups of digits in the file, as in 1,234: a comma, a point, an "
        "apostrophe or a space (default: what fits)",
        metavar="MARK",
    )
    missing: tuple[str, ...] = option(
        (),
        "what stands for a missing value in the file beside nothing, ?, NA and their like: texts "
        "or numbers such as -99, separated by commas",
        read=read_names,
        metavar="TEXTS",
    )
    encoding: str | None = option(
        None, "of the text (default: utf-8, utf-16 if it says so, or else cp1252)"
    )
    skip_rows: int | None = option(
        None, "lines above that of the names (default: those that leave columns unnamed)"
    )
    table: str | None = option(None, "sheet of a workbook, or file in an archive of several")

    def __post_init__(self) -> None:
        for name, marks, words in (
            ("decimal", DECIMALS, "a point or a comma"),
            ("thousands", THOUSANDS, "a comma, a point, an apostrophe or a space"),
        ):
            mark = getattr(self, name)
            if mark is not None and not (isinstance(mark, str) and mark in marks):
                raise InvalidInputError(f"{name} must be {words}, got {shortened(mark)}")
        if self.decimal is not None and self.decimal == self.thousands:
            raise InvalidInputError(
                f"decimal and thousands are both {shortened(self.decimal)}; leave one out"
            )
        if self.encoding is not None:
            check_instance("encoding", self.encoding, str)
            try:
                "".encode(self.encoding)
            except LookupError:
                raise InvalidInputError(
                    f"encoding {shortened(self.encoding)} is not known; use a name such as utf-8, "
                    "cp1252 or utf-16"
                ) from None
        if self.skip_rows is not None:
            integer("skip_rows", self.skip_rows, at_least=0)
        if self.table is not None:
            check_instance("table", self.table, str)

    def record(self) -> dict[str, Any]:
        """Return what is said, as plain values."""
        return {name: value for name, value in asdict(self).items() if value not in (None, ())}

    def replaced_by(self, other: TableFormat) -> TableFormat:
        """Return this format, or what another one says instead."""
        record = {**self.record(), **other.record()}
        return TableFormat(**{**record, "missing": tuple(record.get("missing", ()))})


@dataclass(frozen=True)
class Cells:
    """The rows of a table; a cell is a text, "" if it is empty, a number or a date."""

    rows: pd.DataFrame  # with distinct names of columns, and the numbers of rows from 1
    separator: str  # "" of a file that is no text
    has_names: bool  # else columns are x1, x2, …
    notes: list[str] = field(default_factory=list)


def read_cells(path: Path, form: TableFormat, names: Sequence[str] = ()) -> Cells:
    """Return the cells of a file; a first line with one of these names is a line of names."""
    with cli_extra("reading a table"):
        import pandas  # noqa: F401
    notes: list[str] = []
    try:
        content = _unpack(path, form)
        if content.startswith(b"PK"):
            grid, separator = _read_workbook(path, content, form), ""
        elif content.startswith(b"PAR1"):
            grid, separator = _read_parquet(path, content), ""
        else:
            grid, separator = _read_text(path, content, form, notes)
    except OSError as error:
        raise InvalidInputError(f"cannot read {path}: {reason(error)}") from error
    except DamagedError as error:
        raise InvalidInputError(
            f"cannot read {path}: {reason(error)}; unpack it, and read what is in it"
        ) from error
    grid = grid.map(_clean_cell)
    is_filled = grid != ""
    grid, is_filled = (each.loc[is_filled.any(axis="columns")] for each in (grid, is_filled))
    if grid.empty:
        raise InvalidInputError(f"{path} holds no values; name the columns, and add samples")
    top = _find_names(path, grid, is_filled) if form.skip_rows is None else 0
    if top:
        skipped = [cell_text(cell) for cell in grid.iloc[:top].to_numpy().ravel() if cell != ""]
        notes.append(
            f"{'a line' if top == 1 else f'{top} lines'} above the names of the columns "
            f"({shortened(', '.join(skipped))}) {'is' if top == 1 else 'are'} skipped"
        )
    grid = grid.iloc[top:].loc[:, is_filled.iloc[top:].any(axis="index")]
    first = [cell_text(cell) for cell in grid.iloc[0]]
    has_names = any(name in first for name in names) or not _is_sample(path, grid, first)
    if has_names:
        rows = grid.iloc[1:].set_axis(_name_columns(first, notes), axis="columns")
        rows.index -= grid.index[0]
        rows = _drop_second_names(rows, notes)
    else:
        rows = grid.set_axis([f"x{k + 1}" for k in range(len(first))], axis="columns")
        rows.index -= grid.index[0] - 1
        notes.append(f"the first line is a sample; the columns are called x1, …, x{len(first)}")
    if rows.shape[1] < 2:
        raise InvalidInputError(
            f"{path} has the one column {shortened(rows.columns[0])}; it needs features and a "
            f"label, separated by {', '.join(_SEPARATORS.values())}"
        )
    if rows.empty:
        raise InvalidInputError(f"{path} has column names but no rows; add samples")
    return Cells(rows, separator, has_names, notes)


def _clean_cell(cell: Any) -> str | float:
    """Return a text with single spaces between words, a number, or a date as a text."""
    if isinstance(cell, int | float):
        return "" if cell != cell else cell
    return "" if cell is None else " ".join(str(cell).split())


def cell_text(cell: object) -> str:
    """Return a cell as a text: whole numbers without a point."""
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() else repr(cell)
    return str(cell)


def _unpack(path: Path, form: TableFormat) -> bytes:
    """Return what a file holds: of an archive the one file in it, or that which is asked for."""

    def choose(names: list[str]) -> str | None:
        is_workbook = "[Content_Types].xml" in names
        return None if is_workbook else _choose_table(path, names, form, "files")

    content = unpack(path.read_bytes(), allowance(path), choose)
    for start, what in _OTHER_FILES.items():
        if content.lstrip(b"\xef\xbb\xbf \r\n\t").startswith(start):
            raise InvalidInputError(f"{path} is {what}")
    return content


def _choose_table(path: Path, names: list[str], form: TableFormat, kind: str) -> str:
    if form.table in names:
        return form.table
    listed = ", ".join(map(shortened, names)) or "none"
    if form.table is not None:
        raise InvalidInputError(
            f"{path} has no table {shortened(form.table)}; its {kind} are {listed}"
        )
    if len(names) != 1:
        raise InvalidInputError(f"{path} holds the {kind} {listed}; name one by --table")
    return names[0]


def _read_workbook(path: Path, content: bytes, form: TableFormat) -> pd.DataFrame:
    import pandas as pd

    limit = allowance(path)
    with open_archive(io.BytesIO(content)) as archive:
        size = sum(info.file_size for info in archive.infolist())
    if size > limit:
        raise DamagedError(f"it unpacks to {size:,} bytes, more than {limit:,}")
    with cli_extra("reading an Excel workbook"):
        import openpyxl  # noqa: F401
    try:
        with pd.ExcelFile(io.BytesIO(content), engine="openpyxl") as book:
            sheets: dict[Any, pd.DataFrame] = pd.read_excel(
                book, sheet_name=None, header=None, dtype=object, na_filter=False
            )
    except (ValueError, KeyError, zipfile.BadZipFile) as error:
        raise DamagedError(reason(error)) from error
    filled = [str(name) for name, sheet in sheets.items() if not sheet.empty]
    sheet = sheets[_choose_table(path, filled, form, "sheets")]
    return sheet.iloc[form.skip_rows or 0 :].reset_index(drop=True)


def _read_parquet(path: Path, content: bytes) -> pd.DataFrame:
    import pandas as pd

    with cli_extra("reading a Parquet file"):
        import pyarrow as pa
        from pyarrow import parquet
    try:
        file = parquet.ParquetFile(io.BytesIO(content))
        size = 8 * file.metadata.num_rows * file.metadata.num_columns
        if size > allowance(path):
            raise DamagedError(f"it unpacks to {size:,} bytes, more than {allowance(path):,}")
        table = file.read().to_pandas()
    except pa.ArrowException as error:
        raise DamagedError(reason(error)) from error
    if table.index.name is not None:
        table = table.reset_index()
    cells = table.astype(object).where(table.notna(), "")
    cells = cells.map(lambda cell: cell.item() if hasattr(cell, "item") else cell)
    names = pd.DataFrame([list(map(str, table.columns))], columns=cells.columns)
    grid: pd.DataFrame = pd.concat([names, cells], ignore_index=True)
    return grid


def _read_text(
    path: Path, content: bytes, form: TableFormat, notes: list[str]
) -> tuple[pd.DataFrame, str]:
    """Return the lines of a text as cells, and what separates them."""
    import pandas as pd

    text = _decode(path, content, form, notes)
    n_skipped = form.skip_rows or 0
    lines = list(io.StringIO(text, newline=None))[n_skipped:]
    told = _EXCEL_LINE.fullmatch(lines[0]) if lines else None
    lines = [line for line in lines[told is not None :] if line.strip()][:_LINES]
    separator = told[1] if told else _find_separator(lines)
    counts = _count_parts(lines, separator)
    width = max(counts, default=1)
    try:
        grid = pd.read_csv(
            io.StringIO(text),
            sep=separator if separator != " " else r"\s+",
            header=None,
            names=range(width),
            skiprows=n_skipped + (told is not None),
            dtype=str,
            na_filter=False,
            skipinitialspace=True,
            skip_blank_lines=False,
        ).astype(object)
    except ValueError as error:
        raise InvalidInputError(
            f"cannot read {path} as values separated by {_SEPARATORS.get(separator, separator)}: "
            f"{reason(error)}; put values that hold the separator into double quotes"
        ) from error
    # R names the rows, and gives that column no name. Between commas it may be a decimal comma.
    if separator != "," and counts[:1] == [width - 1] and set(counts[1:]) == {width}:
        grid.iloc[0] = ["", *grid.iloc[0, :-1]]
    return grid, separator


def _decode(path: Path, content: bytes, form: TableFormat, notes: list[str]) -> str:
    encoding = form.encoding
    if encoding is None:
        is_utf16 = content.startswith((b"\xff\xfe", b"\xfe\xff"))
        encoding = "utf-16" if is_utf16 else "utf-8-sig"
        if not is_utf16 and b"\0" in content[:2000]:
            zeros = content[:2000].count(b"\0"), content[1:2000:2].count(b"\0")
            raise InvalidInputError(
                f"{path} holds zero bytes, as text in UTF-16 does: pass --encoding "
                f"utf-16-{'le' if 2 * zeros[1] > zeros[0] else 'be'} if it is one, or save it as "
                "CSV in UTF-8"
            )
    try:
        return content.decode(encoding)
    except UnicodeError as error:
        fault = error
    if form.encoding is None:
        try:
            text = content.decode("cp1252")
        except UnicodeError:
            pass
        else:
            notes.append(
                "the text is not in UTF-8 and read as cp1252, as Windows writes it in Western "
                "Europe; --encoding names another"
            )
            return text
    raise InvalidInputError(
        f"cannot read {path} as text in {encoding}: {reason(fault)}; name its encoding by "
        "--encoding, such as cp1250, cp1251, shift_jis or latin-1, or save it as CSV in UTF-8"
    ) from fault


def _find_separator(lines: Sequence[str]) -> str:
    """Return what splits most lines into the same number of parts, and into most."""

    def score(separator: str) -> tuple[float, int]:
        counts = Counter(_count_parts(lines, separator))
        del counts[1]
        if not counts:
            return 0.0, 0
        parts, n_lines = max(counts.items(), key=lambda item: (item[1], item[0]))
        return n_lines / len(lines), parts

    # The last of several: commas may be decimal marks, too. Texts hold spaces.
    best = max("|\t;,", key=score)
    return best if score(best) >= (0.5, 2) else max(best, " ", key=score)


def _count_parts(lines: Sequence[str], separator: str) -> list[int]:
    if separator == " ":
        lines = [" ".join(line.split()) for line in lines]
    try:
        rows = csv.reader(lines, delimiter=separator, skipinitialspace=True)
        return [len(row) for row in rows if row]
    except csv.Error:  # a quote that is open at the last line looked at
        return []


def _find_names(path: Path, grid: pd.DataFrame, is_filled: pd.DataFrame) -> int:
    """Return how many lines stand above that of the names.

    These are lines that leave columns without a name, above one which names all, but perhaps the
    first, and holds no number.
    """
    shown = is_filled.iloc[:_LINES].to_numpy()
    is_used = shown[1:].mean(axis=0) > 0.5 if len(shown) > 1 else shown[0]
    columns = np.flatnonzero(is_used)
    if is_filled.iloc[0, columns[1:]].all():
        return 0
    for top in range(1, len(shown)):
        names = [cell_text(cell) for cell in grid.iloc[top, columns[1:]]]
        if shown[top, columns[1:]].all() and all(math.isnan(float_or_nan(n)) for n in names):
            return top
    n_named = int(shown[0].sum())
    if 2 * n_named <= len(columns):
        remedy = next((top for top in range(1, len(shown)) if shown[top, columns].all()), 1)
        raise InvalidInputError(
            f"{path}: the first line has {n_named} values above {len(columns)} columns, and names "
            f"no columns; pass --skip-rows {int(grid.index[remedy])} to skip what stands above them"
        )
    return 0


def _is_sample(path: Path, grid: pd.DataFrame, first: Sequence[str]) -> bool:
    """Say whether the first line holds numbers, and texts that columns hold again below."""
    counts = [[str(start + k) for k in range(len(first))] for start in (0, 1)]
    if any(first[:-1] == count[:-1] for count in counts):
        return False
    is_number = [math.isfinite(float_or_nan(text.replace(",", "."))) for text in first]
    if not any(is_number):
        return False
    unlike = [
        text
        for k, text in enumerate(first)
        if not is_number[k] and text and text not in set(map(cell_text, grid.iloc[1:, k]))
    ]
    if not unlike:
        return True
    if len(unlike) == 1 and sum(is_number) == len(first) - 1:
        raise InvalidInputError(
            f"{path}: the first line holds numbers, {shortened(', '.join(first))}, where names of "
            f"columns belong; pass --label {shlex.quote(unlike[0])} if it names columns, or write "
            "a line of names above the samples"
        )
    return False


def _name_columns(first: Sequence[str], notes: list[str]) -> list[str]:
    """Return distinct names of columns, and note which are new."""
    names: list[str] = []
    for place, text in enumerate(first, 1):
        name = text or f"column {place}"
        number = 1
        while name in names or (number == 1 and not text and name in first):
            name, number = f"{text or 'column'}.{number}", number + 1
        if not text:
            notes.append(f"column {place} has no name, and is called {shortened(name)}")
        elif name != text:
            notes.append(
                f"two columns have the name {shortened(text)}; column {place} is called "
                f"{shortened(name)}"
            )
        names.append(name)
    return names


def _drop_second_names(rows: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """Leave out lines below the names that have texts where all else are numbers, and no value."""
    for n_lines in range(1, min(_MOST_NAME_LINES, len(rows) - 1) + 1):
        head, rest = rows.iloc[:n_lines], rows.iloc[n_lines : n_lines + _LINES]
        numbers, others = rest.map(_starts_as_number), rest.map(is_missing)
        titles = head.loc[:, (numbers | others).all(axis="index") & numbers.any(axis="index")]
        is_text = ~(titles.map(_starts_as_number) | titles.map(is_missing))
        is_title = is_text | (titles == "")
        recurs = any(
            cell in set(rest[name]) for name in rows for cell in head[name] if not is_missing(cell)
        )
        if is_title.all(axis=None) and is_text.any(axis="columns").all() and not recurs:
            told = ", ".join(cell_text(cell) for cell in head.iloc[0] if cell != "")
            notes.append(
                f"{'a second line' if n_lines == 1 else f'{n_lines} more lines'} of names or units "
                f"({shortened(told)}) {'is' if n_lines == 1 else 'are'} skipped"
            )
            return rows.iloc[n_lines:]
    return rows


def _starts_as_number(cell: object) -> bool:
    return not isinstance(cell, str) or _NUMBER_START.match(cell) is not None
