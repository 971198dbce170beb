"""Columns that cannot become features, and a refusal of them with what remedies each."""

from __future__ import annotations

import csv
import io
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from gdaopt.datasets.table_files import cell_text
from gdaopt.errors import InvalidInputError
from gdaopt.support.text import shortened
from gdaopt.support.validation import FloatArray

if TYPE_CHECKING:
    import pandas as pd

_MOST_COLUMNS = 5  # that a message tells of one by one
_MOST_WORDS = 5  # that an option names


Kind = Literal["no number", "doubtful", "date", "many texts", "missing", "unknown"]


@dataclass(frozen=True)
class Fault:
    """A column that cannot be read: the cells that cannot, and why."""

    kind: Kind
    column: str
    cells: pd.Series[Any]
    n_rows: int  # in the table
    readings: Mapping[str, FloatArray] = field(default_factory=dict)  # if the cells are doubtful

    def __str__(self) -> str:
        row, cell = self.cells.index[0], cell_text(self.cells.iloc[0])
        more = f" and {len(self.cells) - 1} more" if len(self.cells) > 1 else ""
        told = f"column {shortened(self.column)} holds"
        match self.kind:
            case "date":
                return f"{told} dates or times, such as {shortened(cell)}"
            case "many texts":
                number = self.cells.nunique()
                return f"{told} {number} different texts, such as {shortened(cell)}"
            case "missing":
                share = len(self.cells) / self.n_rows
                more += f" ({share:.0%} of the rows)" if share > 0.5 else ""
                return f"{told} no value ({shortened(cell)}) in row {row}{more}"
            case "unknown":
                return f"{told} {shortened(cell)} in row {row}{more}, which it did not hold before"
            case "doubtful":
                return f"{told} {shortened(cell)} in row {row}{more}, which may be two numbers"
        return f"{told} {shortened(cell)} in row {row}{more}, which is no number as the others"


def refusal(path: Path, faults: Sequence[Fault], *, is_new: bool) -> InvalidInputError:
    """Return the error for columns that cannot be read, with a remedy for each kind."""
    told = [str(fault) for fault in faults[:_MOST_COLUMNS]]
    rest = [shortened(fault.column) for fault in faults[_MOST_COLUMNS:]]
    if rest:
        told.append(f"and {len(rest)} more columns: {', '.join(rest[:_MOST_COLUMNS])}")
    kinds = {fault.kind for fault in faults}
    remedies = []
    doubtful = [fault for fault in faults if fault.kind == "doubtful"]
    if doubtful:
        remedies.append(_list_readings(doubtful[0]))
    words = {
        cell_text(cell) for fault in faults if fault.kind == "no number" for cell in fault.cells
    }
    if words and len(words) <= _MOST_WORDS:
        option = list_option("--missing", sorted(words))
        remedies.append(f"pass {option} --impute mean if these are missing values")
    elif words:
        remedies.append("write numbers of the same marks and units, or nothing")
    if "unknown" in kinds:
        remedies.append("correct these texts, or leave their rows out")
    if "missing" in kinds or (is_new and "unknown" in kinds):
        remedies.append(
            "fill missing values in, or learn again with --impute mean, which fills them here, too"
            if is_new
            else "pass --impute mean, which fills missing values"
        )
    if "many texts" in kinds:
        named = [fault.column for fault in faults if fault.kind == "many texts"]
        remedies.append(f"pass {list_option('--keep', named)}, which makes each text a feature")
    if not is_new:
        every = list_option("--drop", [fault.column for fault in faults])
        remedies.append(f"pass {every}, which leaves them out")
    return InvalidInputError(f"{path}: {'; '.join(told)}. What helps: {'; or '.join(remedies)}")


def _list_readings(fault: Fault) -> str:
    """Return the options that read a column in different ways, and what a text of it is then."""
    text = shortened(cell_text(fault.cells.iloc[0]))
    return ", or ".join(
        f'pass --decimal "{mark}" if {text} is {values[0]:.15g}'
        for mark, values in fault.readings.items()
    )


def list_option(option: str, names: Iterable[str]) -> str:
    """Return an option with a list of names, as a shell takes it."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(names)
    return f"{option} {shlex.quote(line.getvalue())}"
