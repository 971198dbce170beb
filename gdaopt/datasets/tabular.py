"""Data sets read from tables of text, as people save them.

pandas reads the table. What is decided here is what it leaves open: the encoding, what separates
the values, whether commas are decimal marks, whether the first line names the columns, which of
them are features, and which texts are missing values.
"""

from __future__ import annotations

import csv
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gdaopt.datasets.dataset import Dataset
from gdaopt.errors import InvalidInputError
from gdaopt.linalg.samples import Samples, is_sparse
from gdaopt.support.text import reason, shortened
from gdaopt.support.validation import FloatArray, as_path, check_name

if TYPE_CHECKING:
    import pandas as pd

IMPUTE: dict[str, Callable[..., FloatArray]] = {"mean": np.nanmean, "median": np.nanmedian}
"""What a missing value may be replaced by, computed from the other values of its column."""

_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_LINES = 50  # that are looked at to find the separator
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?|[+-]?\d+,")
_MISSING = {"", "?", "-", ".", "na", "n/a", "#n/a", "nan", "null", "none", "missing"}
_MOST_COLUMNS = 5  # bad columns that a message tells of one by one


def read_csv(
    path: str | os.PathLike[str],
    label: str | None = None,
    *,
    drop: Sequence[str] = (),
    impute: str | None = None,
) -> Dataset:
    r"""Read a data set from a table in a file whose first line names the columns.

    Parameters
    ----------
    path : path-like
        The file: text in UTF-8, or in UTF-16 with a byte order mark. The values are separated by
        commas, semicolons, tabs or bars, whichever the lines have; where it is not commas, numbers
        may have decimal commas. The data set is named after the file.
    label : str, optional
        The name of the column that holds the labels; by default the last that is not dropped. All
        other columns are features and must hold finite numbers. Labels are kept as they are
        written, so that ``1`` and ``1.0`` differ.
    drop : sequence of str, optional
        Names of columns to leave out.
    impute : {"mean", "median"}, optional
        Replace missing values of a feature (nothing, ``?``, ``NA``, ``NaN``, …) by the mean or the
        median of its other values. By default a missing value is an error.

    Returns
    -------
    Dataset
        With unscaled features, in the order of their columns.

    Raises
    ------
    InvalidInputError
        When there is no such file or column, when the file is not such a table, and when features
        are missing, infinite or not a number, or a label is missing. The message names all such
        columns, and a row of each; rows are counted from 1 below the line of names. Two columns of
        the same name are refused, and a first line of numbers, which is a sample in a file without
        names: only 0, 1, 2, … and 1, 2, 3, … are taken as names of features.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "flowers.csv"
    ...     _ = path.write_text("id;length;kind;width\n7;1,5;a;2\n8;3,5;b;?\n")
    ...     flowers = read_csv(path, label="kind", drop=["id"], impute="mean")
    >>> flowers
    Dataset(name='flowers', feature_names=('length', 'width'))
    >>> flowers.features
    array([[1.5, 2. ],
           [3.5, 2. ]])
    """
    path = as_path("path", path)
    drop = column_names(drop)
    if impute is not None:
        check_name("impute", impute, IMPUTE)
    table = _read_text(path)
    columns = _kept(table, label, drop)
    if label is None:
        label = columns[-1]
        _check_that_names_are_no_sample(table, columns[:-1])
    labels = table.columns[label].to_numpy(dtype=np.str_)
    missing = labels == ""
    if missing.any():
        raise InvalidInputError(
            f"{path}: column {shortened(label)} holds no label in row {int(missing.argmax()) + 1}; "
            "fill it in or remove the row"
        )
    names = [name for name in columns if name != label]
    features = _numbers(table, names, impute is not None, is_new=False)
    for name, column in zip(names, features.T, strict=True):
        if np.isnan(column).all():
            raise InvalidInputError(
                f"{path}: column {shortened(name)} holds no number; leave it out by --drop "
                f"{shortened(name)}"
            )
    return Dataset(
        path.stem, _filled(features, fill_values(features, impute)), labels, tuple(names)
    )


def read_features(
    path: str | os.PathLike[str],
    names: Sequence[str],
    *,
    fill: FloatArray | None = None,
    label: str | None = None,
) -> tuple[FloatArray, npt.NDArray[np.str_] | None]:
    """Read columns of numbers, and labels where there are some, from a file as for `read_csv`."""
    path = as_path("path", path)
    table = _read_text(path)
    absent = [name for name in names if name not in table.columns]
    if absent:
        raise InvalidInputError(
            f"{path} has no column {', '.join(map(shortened, absent))}; its columns are "
            f"{shortened(', '.join(table.columns.columns))}"
        )
    features = _filled(_numbers(table, names, fill is not None, is_new=True), fill)
    has_label = label is not None and label in table.columns
    return features, table.columns[label].to_numpy(dtype=np.str_) if has_label else None


def column_names(drop: Any) -> tuple[str, ...]:
    """Return the names of columns to leave out; refuse what is no list of texts."""
    is_list = isinstance(drop, Sequence) and not isinstance(drop, str | bytes)
    if not is_list or not all(isinstance(name, str) for name in drop):
        raise InvalidInputError(
            f"drop must be names of columns, such as ['id'], got {shortened(drop)}"
        )
    return tuple(drop)


def fill_values(features: FloatArray, impute: str | None) -> FloatArray | None:
    """Return what missing values are replaced by; they may be NaN or replaced already."""
    if impute is None:
        return None
    return np.array([IMPUTE[impute](column) for column in features.T])


def float_or_nan(text: str) -> float:
    """Return the number in a text, NaN for none: neither ``1_0`` nor digits of other scripts."""
    if "_" in text or not text.isascii():
        return math.nan
    try:
        return float(text)
    except ValueError:
        return math.nan


@dataclass(frozen=True, eq=False)
class _Table:
    """The values of a file as text, without spaces around them, by the names of the columns."""

    path: Path
    columns: pd.DataFrame
    has_decimal_commas: bool

    def number(self, text: str) -> float:
        """Return the number that a text stands for in this table; NaN for what is no number."""
        if self.has_decimal_commas:
            text = "no number" if "." in text else text.replace(",", ".")
        return float_or_nan(text)


def _read_text(path: Path) -> _Table:
    import pandas as pd  # slow to import, and needed here only

    try:
        with path.open("rb") as file:
            mark = file.read(2)
        encoding = "utf-16" if mark in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
        separator = _separator(path, encoding)
        lines = pd.read_csv(
            path,
            sep=separator,
            encoding=encoding,
            header=None,
            dtype=str,
            na_filter=False,
            skipinitialspace=True,
        )
    except (OSError, ValueError) as error:
        raise InvalidInputError(
            f"cannot read {path} as comma-separated values below a line that names every column: "
            f"{reason(error)}"
        ) from error
    lines = lines.apply(lambda column: column.str.strip())
    names, columns = lines.iloc[0], lines.iloc[1:].set_axis(lines.iloc[0], axis="columns")
    if (names == "").any():
        raise InvalidInputError(
            f"{path}: the first line does not name every column; name them all, or remove those "
            "without a name (such as row numbers: pandas writes them unless told index=False)"
        )
    if names.duplicated().any():
        raise InvalidInputError(
            f"{path} has two columns of the name {shortened(names[names.duplicated()].iloc[0])}; "
            "rename one"
        )
    if len(names) < 2:
        raise InvalidInputError(
            f"{path} has the one column {shortened(names[0])}; it needs features and a "
            f"label, separated by {', '.join(_SEPARATORS.values())}"
        )
    if columns.empty:
        raise InvalidInputError(f"{path} has column names but no rows; add samples")
    # A quoted "1,234" among values separated by commas is more often one thousand and more.
    has_decimal_commas = separator != "," and any(
        _DECIMAL_COMMA.fullmatch(text) for name in names for text in columns[name]
    )
    return _Table(path, columns, has_decimal_commas)


def _separator(path: Path, encoding: str) -> str:
    """Return what splits the first lines into most parts, as many in each where one does so."""
    with path.open(encoding=encoding, newline="") as file:
        lines = [line for _, line in zip(range(_LINES), file, strict=False) if line.strip()]

    def score(separator: str) -> tuple[bool, list[int]]:
        counts = _parts(lines, separator)
        return len(set(counts)) == 1 and counts[0] > 1, counts[:1]

    return max(_SEPARATORS, key=score)  # the first of several: commas


def _parts(lines: Sequence[str], separator: str) -> list[int]:
    try:
        rows = csv.reader(lines, delimiter=separator, skipinitialspace=True)
        return [len(row) for row in rows if row]
    except csv.Error:  # a quote that is open at the last line looked at
        return []


def _kept(table: _Table, label: str | None, drop: Sequence[str]) -> list[str]:
    known = list(table.columns.columns)
    if label is not None:
        check_name(f"column of {table.path}:", label, known)
    for name in drop:
        check_name(f"column of {table.path}:", name, known)
        if name == label:
            raise InvalidInputError(f"column {shortened(name)} is the label and cannot be dropped")
    kept = [name for name in known if name not in drop]
    if len(kept) < 2:
        raise InvalidInputError(
            f"{table.path}: what is not dropped are {len(kept)} columns; it needs features and a "
            "label"
        )
    return kept


def _check_that_names_are_no_sample(table: _Table, names: list[str]) -> None:
    counts = [[str(first + number) for number in range(len(names))] for first in (0, 1)]
    if names not in counts and all(math.isfinite(float_or_nan(name)) for name in names):
        raise InvalidInputError(
            f"{table.path}: the first line holds numbers, {shortened(', '.join(names))}, where "
            "names of columns belong; write a line of names above the samples"
        )


def _numbers(table: _Table, names: Sequence[str], is_filled: bool, *, is_new: bool) -> FloatArray:
    """Return columns as numbers, NaN where one is missing; refuse columns of other values."""
    features = np.empty((len(table.columns), len(names)))
    complaints: dict[str, str] = {}
    are_missing = True
    for k, name in enumerate(names):
        texts = table.columns[name].tolist()
        features[:, k] = [table.number(text) for text in texts]
        found = {row: texts[row] for row in np.flatnonzero(~np.isfinite(features[:, k])).tolist()}
        bad = {row: text for row, text in found.items() if not (is_filled and _is_missing(text))}
        if bad:
            row, text = next(iter(bad.items()))
            more = f" and {len(bad) - 1} more like it" if len(bad) > 1 else ""
            complaints[name] = (
                f"column {shortened(name)} holds {shortened(text)} in row {row + 1}{more}"
            )
            are_missing = are_missing and all(map(_is_missing, bad.values()))
    if complaints:
        raise InvalidInputError(_complaint(table, complaints, are_missing, is_new))
    return features


def _is_missing(text: str) -> bool:
    return text.lower() in _MISSING


def _complaint(
    table: _Table, complaints: Mapping[str, str], are_missing: bool, is_new: bool
) -> str:
    told = list(complaints.values())[:_MOST_COLUMNS]
    rest = [shortened(name) for name in complaints][_MOST_COLUMNS:]
    if rest:
        told.append(f"and {len(rest)} more columns: {', '.join(rest[:_MOST_COLUMNS])}")
    marks = "decimal commas" if table.has_decimal_commas else "decimal points"
    advice = "correct them"
    if are_missing and is_new:
        advice = (
            "fill them in, or learn again by gdaopt learn --impute mean, which fills them here, too"
        )
    elif are_missing:
        advice = "fill missing values by --impute mean"
    if not is_new:
        advice += (
            f", leave the columns out by --drop {shortened(','.join(complaints))}, or name the "
            "column of the labels by --label"
        )
    return (
        f"{table.path}: {'; '.join(told)}; features must be finite numbers, here with {marks}: "
        f"{advice}"
    )


def _filled(features: FloatArray, fill: FloatArray | None) -> FloatArray:
    return features if fill is None else np.where(np.isnan(features), fill, features)


_MOST_NAMES = 5  # constant columns that are named
_FEW_VALUES = 10  # numbers as labels, at most so many, are classes


def remarks(dataset: Dataset) -> list[str]:
    """Return a sentence on each thing that is odd, and no error, in a data set not yet scaled."""
    if is_sparse(dataset.features):
        found, advice = [_on_sparse(dataset.features)], ""
    else:
        found, advice = _on_columns(dataset), "; --label names another column"
    labels = np.array([float_or_nan(name.replace(",", ".")) for name in dataset.classes])
    is_fraction = np.isfinite(labels).all() and bool((labels % 1 != 0).any())
    is_count = np.isfinite(labels).all() and len(labels) > _FEW_VALUES
    if is_fraction or is_count:
        found.append(
            f"the labels are {len(labels)} different numbers, from {labels.min():g} to "
            f"{labels.max():g}, and look like measurements rather than classes{advice}"
        )
    return found


def _on_sparse(samples: Samples) -> str:
    share = 100 * samples.nnz / math.prod(samples.shape)
    return (
        f"samples are sparse ({share:.2g} % of their entries are not 0) and stay so: scaled "
        "features are not centred, which changes no distance"
    )


def _on_columns(dataset: Dataset) -> list[str]:
    found = []
    constant = []
    for name, column in zip(dataset.feature_names, dataset.features.T, strict=True):
        if _numbers_the_rows(column):
            found.append(f"column {shortened(name)} numbers the rows; --drop {name} leaves it out")
        elif (column == column[0]).all():
            constant.append(name)
    if constant:
        names = ", ".join(shortened(name) for name in constant[:_MOST_NAMES])
        if len(constant) == 1:
            found.append(
                f"column {names} is constant and says nothing; --drop {constant[0]} leaves it out"
            )
        else:
            more = f" and {len(constant) - _MOST_NAMES} more" if len(constant) > _MOST_NAMES else ""
            found.append(
                f"columns {names}{more} are constant and say nothing; --drop leaves them out"
            )
    return found


def _numbers_the_rows(column: FloatArray) -> bool:
    """Say whether a column counts up by 1, or holds distinct whole numbers close together."""
    if len(column) < 3 or math.isinf(column.max() - column.min()):
        return False
    if (np.diff(column) == 1).all():
        return True
    whole = bool((column % 1 == 0).all())
    # Rows that were shuffled, or a sample of numbered ones.
    extent = float(np.ptp(column)) + 1
    return whole and len(np.unique(column)) == len(column) >= 20 and extent <= 2 * len(column)
