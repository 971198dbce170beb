"""Data sets from tables, as people save them, and how a table became features.

What is decided here is which columns are features, which one holds the labels, and what is no
feature: a `TableSchema` that is learned from one file and reads new ones in the same way.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from gdaopt.datasets.columns import (
    IMPUTE,
    MOST_TEXTS,
    Column,
    are_dates,
    are_missing,
    fold,
    is_id,
    number_columns,
    order_column_texts,
)
from gdaopt.datasets.dataset import Dataset
from gdaopt.datasets.faults import Fault, Kind, list_option, refusal
from gdaopt.datasets.numbers import Numbers, float_or_nan
from gdaopt.datasets.table_files import Cells, TableFormat, cell_text, read_cells
from gdaopt.errors import InvalidInputError
from gdaopt.linalg.samples import Samples
from gdaopt.support.text import shortened
from gdaopt.support.validation import FloatArray, as_path, check_name

if TYPE_CHECKING:
    import pandas as pd

_MOST_ROWS = 5  # without a label, that a note tells of
_MOST_LABELS = 3  # columns that a message offers as labels
_FEW_VALUES = 10  # fractions, at most so many, may be classes


@dataclass(frozen=True, eq=False)
class NewSamples:
    """Rows of a file, read as those of another one."""

    features: Samples  # shape (N, K)
    labels: npt.NDArray[np.str_] | None  # "" if one is missing; None without such a column
    ids: pd.DataFrame  # the columns that were left out as IDs, as texts; the index counts the rows
    notes: tuple[str, ...] = ()  # a sentence on each thing that is odd in the file


@dataclass(frozen=True)
class TableSchema:
    """How a table became a data set: by it new files are read in the same way."""

    label: str | None
    columns: tuple[Column, ...]
    ids: tuple[str, ...]  # columns left out because they number or name the rows
    form: TableFormat
    has_names: bool  # else the columns are x1, x2, …

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of all features."""
        return tuple(name for column in self.columns for name in column.feature_names)

    def record(self) -> dict[str, Any]:
        """Return the schema as plain values."""
        return {**asdict(self), "form": self.form.record()}

    @classmethod
    def of_numbers(cls, names: Sequence[str]) -> Self:
        """Return the schema of a table with these columns of numbers."""
        return cls(None, tuple(map(Column, names)), (), TableFormat(), True)

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Self:
        """Return the schema of a record."""
        columns = []
        for column in record["columns"]:
            values: Any = {k: tuple(v) if isinstance(v, list) else v for k, v in column.items()}
            columns.append(Column(**values))
        form = TableFormat().replaced_by(TableFormat(**record["form"]))
        return cls(record["label"], tuple(columns), tuple(record["ids"]), form, record["has_names"])

    def read(
        self,
        path: str | os.PathLike[str],
        label: str | None = None,
        form: TableFormat | None = None,
    ) -> NewSamples:
        """Read new samples from a file; `form` says where it is written in another way."""
        path = as_path("path", path)
        form = self.form if form is None else self.form.replaced_by(form)
        cells = read_cells(path, form, [column.name for column in self.columns])
        rows = cells.rows
        if label is not None and label not in rows:
            raise InvalidInputError(f"{path} has no column {shortened(label)} for --label")
        absent = [column.name for column in self.columns if column.name not in rows]
        if absent:
            raise InvalidInputError(
                f"{path} has no column {', '.join(map(shortened, absent))}; its columns are "
                f"{shortened(', '.join(rows.columns))}"
            )
        present = {c.name: rows[c.name][~are_missing(rows[c.name], form)] for c in self.columns}
        numbers = number_columns(
            {c.name: present[c.name] for c in self.columns if c.texts is None},
            cells.separator,
            form,
            usual=next((column.decimal for column in self.columns if column.decimal), None),
        )
        features, faults = [], []
        for column in self.columns:
            name = column.name
            fault = None
            if column.texts is None:
                fault = _find_number_fault(present[name], numbers[name], len(rows))
            values = _encode(column, rows[name], present[name], numbers.get(name))
            is_absent = np.isnan(values).any(axis=1)
            if column.fill is not None:
                values = np.where(np.isnan(values), column.fill, values)
            elif fault is None and is_absent.any():
                odd = rows[name].iloc[np.flatnonzero(is_absent)]
                kind: Kind = "missing" if are_missing(odd, form).all() else "unknown"
                fault = Fault(kind, name, odd, len(rows))
            features.append(values)
            faults += [] if fault is None else [fault]
        if faults:
            raise refusal(path, faults, is_new=True)
        label = self.label if label is None else label
        has_labels = label is not None and label in rows
        labels = _read_labels(rows[label], form).to_numpy(dtype=np.str_) if has_labels else None
        ids = rows[[name for name in self.ids if name in rows]].map(cell_text)
        return NewSamples(np.column_stack(features), labels, ids, tuple(cells.notes))


def read_table(
    path: str | os.PathLike[str],
    label: str | None = None,
    *,
    drop: Sequence[str] = (),
    keep: Sequence[str] = (),
    impute: str | None = None,
    form: TableFormat | None = None,
) -> Dataset:
    r"""Read a data set from a file with a table, whose first line names the columns.

    Parameters
    ----------
    path : path-like
        The file: a text with values between commas, semicolons, tabs, bars or spaces (``.csv``,
        ``.tsv``, ``.txt``), a workbook of Excel (``.xlsx``) or a Parquet file. It may be packed
        (``.gz``, ``.bz2``, ``.xz``), or be in a ``.zip`` archive. What it holds decides, not its
        name. The data set is named after the file.
    label : str, optional
        The name of the column that holds the labels; by default the last that is not dropped.
        Labels are kept as they are written. Rows without a label are left out.
    drop : sequence of str, optional
        Names of columns to leave out.
    keep : sequence of str, optional
        Names of columns that are features though they look like an ID, or hold many texts.
    impute : {"mean", "median"}, optional
        Replace missing values of a feature (nothing, ``?``, ``NA``, ``NaN``, …) by the mean or the
        median of its other values. By default a missing value is an error.
    form : TableFormat, optional
        How the file is written, where that is not found out: decimal marks, encoding, ….

    Returns
    -------
    Dataset
        With unscaled features, in the order of their columns. Its ``schema`` says how columns
        became features, and its ``notes`` what was odd in the file.

    Raises
    ------
    InvalidInputError
        When there is no such file or column, when the file is not such a table, and when a column
        cannot become features: dates, over 20 different texts, texts among numbers, missing
        values, and numbers such as ``1,234`` whose mark no other column shows. The message names
        all such columns, with a value of each, and what helps. Rows are counted from 1 below the
        line of names.

    Notes
    -----
    A column of numbers is a feature, without its unit (``5 kg``, ``7 %``, ``€ 3``). One of two
    texts is a feature too, 1 for the second of them or for ``yes``. One of up to 20 texts becomes a
    feature for each text. A column that numbers or names the rows is left out as an ID, and an
    empty one as well.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "flowers.csv"
    ...     _ = path.write_text("id;length;open;kind\n7;1,5;yes;a\n8;;no;b\n9;3,5;yes;b\n")
    ...     flowers = read_table(path, impute="mean")
    >>> flowers
    Dataset(name='flowers', feature_names=('length', 'open'))
    >>> flowers.features
    array([[1.5, 1. ],
           [2.5, 0. ],
           [3.5, 1. ]])
    >>> flowers.notes[0]
    "column 'id' numbers the rows and is left out; --keep id takes it"
    """
    path = as_path("path", path)
    drop, keep = column_names("drop", drop), column_names("keep", keep)
    form = TableFormat() if form is None else form
    if impute is not None:
        check_name("impute", impute, IMPUTE)
    cells = read_cells(path, form, [name for name in (label, *drop, *keep) if name is not None])
    names = _list_columns(path, cells.rows, label, drop, keep)
    notes = cells.notes
    if label is None:
        label = names[-1]
        _check_label(path, cells, label, names[:-1], form)
    labels = _read_labels(cells.rows[label], form)
    notes += _describe_unlabelled(label, cells.rows[label][labels == ""])
    rows, labels = cells.rows[labels != ""], labels[labels != ""]
    if rows.empty:
        raise InvalidInputError(
            f"{path}: column {shortened(label)} holds no label; name another one by --label"
        )
    columns: list[Column] = []
    ids: list[str] = []
    features: list[FloatArray] = []
    faults: list[Fault] = []
    present = {name: rows[name][~are_missing(rows[name], form)] for name in names if name != label}
    numbers = number_columns(present, cells.separator, form)
    for name, present_cells in present.items():
        if present_cells.empty:
            notes.append(f"column {shortened(name)} is empty and left out")
            continue
        column = _learn_column(rows[name], present_cells, numbers[name], name in keep, notes)
        if column is None:
            ids += [name] if present_cells.nunique() > 1 else []
            continue
        if isinstance(column, Fault):
            faults.append(column)
            continue
        values = _encode(column, rows[name], present_cells, numbers[name])
        is_absent = np.isnan(values).any(axis=1)
        if impute is not None:
            fill = tuple(float(IMPUTE[impute](feature)) for feature in values.T)
            column = replace(column, fill=fill)
            values = np.where(np.isnan(values), fill, values)
            if is_absent.mean() > 0.5:
                notes.append(
                    f"column {shortened(name)} has no value in {is_absent.mean():.0%} of the rows; "
                    f"{list_option('--drop', [name])} leaves it out"
                )
        elif is_absent.any():
            faults.append(
                Fault("missing", name, rows[name].iloc[np.flatnonzero(is_absent)], len(rows))
            )
        columns.append(column)
        features.append(values)
    if faults:
        raise refusal(path, faults, is_new=False)
    if not columns:
        raise InvalidInputError(
            f"{path} has no column of features: it has {shortened(label)}, the label, and "
            f"{', '.join(map(shortened, ids)) or 'empty columns'}; "
            + (f"pass {list_option('--keep', ids)}" if ids else "add features")
        )
    array = np.column_stack(features)
    whole = np.column_stack([array, np.unique(labels.to_numpy(), return_inverse=True)[1]])
    n_copies = len(whole) - len(np.unique(whole, axis=0))
    if n_copies:
        notes.append(
            f"{n_copies} rows repeat another one exactly; a copy makes an accuracy that is "
            "measured on other rows too high"
        )
    schema = TableSchema(label, tuple(columns), tuple(ids), form, cells.has_names)
    stem = path.name.partition(".")[0] or path.stem
    return Dataset(
        stem, array, labels.to_numpy(dtype=np.str_), schema.feature_names, schema, tuple(notes)
    )


def column_names(option: str, names: Any) -> tuple[str, ...]:
    """Return names of columns; refuse what is no list of texts."""
    is_list = isinstance(names, Sequence) and not isinstance(names, str | bytes)
    if not is_list or not all(isinstance(name, str) for name in names):
        raise InvalidInputError(
            f"{option} must be names of columns, such as ['id'], got {shortened(names)}"
        )
    return tuple(names)


def _learn_column(
    cells: pd.Series[Any],
    present_cells: pd.Series[Any],
    numbers: Numbers,
    is_kept: bool,
    notes: list[str],
) -> Column | Fault | None:
    """Return what a column becomes, given those of its cells that are not missing; None: an ID."""
    name = str(cells.name)
    keep = list_option("--keep", [name])
    if 2 * np.isfinite(numbers.values).sum() >= len(present_cells):
        fault = _find_number_fault(present_cells, numbers, len(cells))
        if (
            fault is None
            and not is_kept
            and len(present_cells) == len(cells)
            and is_id(name, numbers.values)
        ):
            notes.append(f"column {name!r} numbers the rows and is left out; {keep} takes it")
            return None
        if fault is None and numbers.unit:
            notes.append(f"column {name!r}: {numbers.unit!r} at its numbers is left out")
        return fault or Column(name, decimal=numbers.mark)
    if are_dates(present_cells):
        return Fault("date", name, present_cells, len(cells))
    folded = fold(present_cells)
    writings = present_cells.map(cell_text).groupby(folded.to_numpy()).unique()
    if not is_kept and len(writings) == len(present_cells) == len(cells) >= 3:
        notes.append(f"column {name!r} has no text twice and is left out; {keep} takes it")
        return None
    if not is_kept and len(writings) > MOST_TEXTS:
        return Fault("many texts", name, present_cells, len(cells))
    alike = [each for each in writings if len(each) > 1]
    if alike:
        notes.append(
            f"column {name!r} holds {alike[0][0]!r} beside {alike[0][1]!r}, which are taken for one"
        )
    # A mark, such as an x, and nothing if it is not set.
    is_mark = len(writings) == 1 and bool((cells == "").any())
    if len(writings) == 1 and not is_mark:
        notes.append(f"column {name!r} holds {writings.iloc[0][0]!r} alone and is left out")
        return None
    texts = [*(str(each[0]) for each in writings), *([""] if is_mark else [])]
    column = Column(name, order_column_texts(texts))
    notes.append(column.describe())
    return column


def _find_number_fault(
    present_cells: pd.Series[Any], numbers: Numbers, n_rows: int
) -> Fault | None:
    """Return what is wrong with a column of numbers."""
    is_wrong = np.isnan(numbers.values)
    if is_wrong.any():
        return Fault("no number", str(present_cells.name), present_cells[is_wrong], n_rows)
    if len(numbers.readings) > 1:
        has_mark = present_cells.map(cell_text).str.contains("[.,]").to_numpy()
        readings = {mark: values[has_mark] for mark, values in numbers.readings.items()}
        return Fault("doubtful", str(present_cells.name), present_cells[has_mark], n_rows, readings)
    return None


def _encode(
    column: Column, cells: pd.Series[Any], present_cells: pd.Series[Any], numbers: Numbers | None
) -> FloatArray:
    """Return the features of a column, shape (N, n_features), NaN for cells without a value."""
    if column.texts is None:
        assert numbers is not None
        values = numbers.values[:, None]
    else:
        present_cells = cells if "" in column.texts else present_cells
        values = column.indicate(present_cells)
    features = np.full((len(cells), values.shape[1]), math.nan)
    features[cells.index.get_indexer(present_cells.index)] = values
    return features


def _list_columns(
    path: Path, rows: pd.DataFrame, label: str | None, drop: Sequence[str], keep: Sequence[str]
) -> list[str]:
    """Return the names of the columns to read; refuse names that are no column."""
    names = list(rows.columns)
    for name in (*drop, *keep, *([] if label is None else [label])):
        check_name(f"column of {path}:", name, names)
    for name in drop:
        if name == label:
            raise InvalidInputError(f"column {shortened(name)} is the label and cannot be dropped")
    columns = [name for name in names if name not in drop]
    if len(columns) < 2:
        raise InvalidInputError(
            f"{path}: what is not dropped are {len(columns)} columns; it needs features and a label"
        )
    return columns


def _read_labels(cells: pd.Series[Any], form: TableFormat) -> pd.Series[str]:
    """Return the labels of a column, "" if one is missing."""
    return cells.map(cell_text).mask(are_missing(cells, form), "")


def _describe_unlabelled(label: str, cells: pd.Series[Any]) -> list[str]:
    if cells.empty:
        return []
    rows = ", ".join(map(str, cells.index[:_MOST_ROWS]))
    more = f" and {len(cells) - _MOST_ROWS} more" if len(cells) > _MOST_ROWS else ""
    written = sorted({cell_text(cell) for cell in cells} - {""})
    words = (
        f" ({', '.join(map(shortened, written))}; a class needs another name)" if written else ""
    )
    return [
        f"column {label!r} holds no label in row{'s' * (len(cells) > 1)} {rows}{more}{words}; "
        f"{'they are' if len(cells) > 1 else 'it is'} left out"
    ]


def _check_label(
    path: Path, cells: Cells, label: str, others: Sequence[str], form: TableFormat
) -> None:
    """Refuse a last column that holds no classes, if others look as if they did."""
    if _may_be_classes(cells, label, form):
        return
    likely = [name for name in others if _may_be_classes(cells, name, form)]
    if not likely:
        return
    # Texts, and the first and the last column, are the likeliest.
    texts = [name for name in likely if cells.rows[name].map(_is_word).all()]
    ends = [name for name in (others[-1], others[0]) if name in likely]
    options = [list_option("--label", [name]) for name in dict.fromkeys([*texts, *ends, *likely])]
    column = cells.rows[label]
    raise InvalidInputError(
        f"{path}: the last column, {shortened(label)}, holds {column.nunique()} different values, "
        f"such as {shortened(cell_text(column.iloc[0]))}, and no classes; name the column of the "
        f"labels: pass {' or '.join(options[:_MOST_LABELS])}, or, if it is the last one, "
        f"{list_option('--label', [label])}"
    )


def _may_be_classes(cells: Cells, name: str, form: TableFormat) -> bool:
    column = cells.rows[name]
    present_cells = column[~are_missing(column, form)]
    n_values = present_cells.nunique()
    if n_values < 2:
        return False
    if n_values > MOST_TEXTS and len(present_cells) < 10 * n_values:
        return False
    values = number_columns({name: present_cells}, cells.separator, form)[name].values
    is_fraction = np.isfinite(values).all() and bool((values % 1 != 0).any())
    return not (is_fraction and n_values > _FEW_VALUES) and n_values < max(len(present_cells), 5)


def _is_word(cell: object) -> bool:
    return isinstance(cell, str) and math.isnan(float_or_nan(cell.replace(",", ".")))
