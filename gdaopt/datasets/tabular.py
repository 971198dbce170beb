"""Data sets read from tables of text, as people save them.

pandas reads the table. What is decided here is what it leaves open: the encoding, what separates
the values, the decimal mark of each feature, whether the first line names the columns, which of
them are features, and which texts are missing values.
"""

from __future__ import annotations

import csv
import math
import os
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gdaopt.datasets.dataset import Dataset
from gdaopt.datasets.numbers import Marks, drop_option, float_or_nan, is_missing, read_numbers
from gdaopt.errors import InvalidInputError
from gdaopt.linalg.samples import Samples, is_sparse
from gdaopt.support.extras import cli_extra
from gdaopt.support.text import reason, shortened
from gdaopt.support.validation import FloatArray, as_path, check_name

if TYPE_CHECKING:
    import pandas as pd

IMPUTE: dict[str, Callable[..., FloatArray]] = {"mean": np.nanmean, "median": np.nanmedian}
"""What a missing value may be replaced by, computed from the other values of its column."""

_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_LINES = 50  # that are looked at to find the separator
_EXCEL_LINE = re.compile(r'"?sep=(.)"?\s*')  # with which a file tells Excel its separator
_MOST_ROWS = 5  # without a label, that a message tells of


def read_csv(
    path: str | os.PathLike[str],
    label: str | None = None,
    *,
    drop: Sequence[str] = (),
    impute: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
) -> Dataset:
    r"""Read a data set from a table in a file whose first line names the columns.

    Parameters
    ----------
    path : path-like
        The file: text in UTF-8, or in UTF-16 with a byte order mark. The values are separated by
        commas, semicolons, tabs or bars, whichever the lines have, or by what a line such as
        ``sep=;`` at the top says. Rows without any value, and columns without value and name, do
        not count. The data set is named after the file.
    label : str, optional
        The name of the column that holds the labels; by default the last that is not dropped. All
        other columns are features and must hold finite numbers. Labels are kept as they are
        written, so that ``1`` and ``1.0`` differ.
    drop : sequence of str, optional
        Names of columns to leave out.
    impute : {"mean", "median"}, optional
        Replace missing values of a feature (nothing, ``?``, ``NA``, ``NaN``, …) by the mean or the
        median of its other values. By default a missing value is an error, as a missing label
        always is.
    decimal : {".", ","}, optional
        The decimal mark of all features. By default it is the one with which all values of a
        feature are numbers.
    thousands : {",", ".", "'", " "}, optional
        What stands between groups of digits, as in ``1,234``; by default nothing does.

    Returns
    -------
    Dataset
        With unscaled features, in the order of their columns.

    Raises
    ------
    InvalidInputError
        When there is no such file or column, when the file is not such a table, and when features
        are missing, infinite or not a number, or a label is missing. The message names all such
        columns, and a row of each; rows are counted from 1 below the line of names. A column that
        can be read in two ways is refused unless a mark is given, or shown by another feature: one
        in which each comma stands before three digits, as in ``1,234``, or each point does, and
        other values have none or semicolons separate them. So are two columns of the same name, and
        a first line of numbers, which is a sample in a file without names: only 0, 1, 2, … and 1,
        2, 3, … are taken as names of features.

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
    marks = Marks(decimal, thousands)
    table, separator = _read_text(path)
    columns = _list_columns(path, table, label, drop)
    if label is None:
        label = columns[-1]
        _check_that_names_are_no_sample(path, columns[:-1])
    labels = _labels(table, label)
    _check_that_none_is_missing(path, table, label, labels)
    names = [name for name in columns if name != label]
    texts = {name: table[name] for name in names}
    features = read_numbers(
        path, texts, marks, separator, is_filled=impute is not None, is_new=False
    )
    return Dataset(
        path.stem, _fill(features, fill_values(features, impute)), labels, tuple(names), label
    )


def read_features(
    path: str | os.PathLike[str],
    names: Sequence[str],
    *,
    fill: FloatArray | None = None,
    label: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
) -> tuple[FloatArray, npt.NDArray[np.str_] | None]:
    """Read columns of numbers, and labels where there are some, from a file as for `read_csv`.

    A missing label is "".
    """
    path = as_path("path", path)
    marks = Marks(decimal, thousands)
    table, separator = _read_text(path)
    absent = [name for name in names if name not in table]
    if absent:
        raise InvalidInputError(
            f"{path} has no column {', '.join(map(shortened, absent))}; its columns are "
            f"{shortened(', '.join(table.columns))}"
        )
    texts = {name: table[name] for name in names}
    numbers = read_numbers(path, texts, marks, separator, is_filled=fill is not None, is_new=True)
    features = _fill(numbers, fill)
    if label is None or label not in table:
        return features, None
    return features, _labels(table, label)


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


def _read_text(path: Path) -> tuple[pd.DataFrame, str]:
    """Return the rows of a file below its line of names, as texts, and what separates them."""
    with cli_extra("reading a table"):
        import pandas as pd

    try:
        encoding = _encoding(path)
        separator, n_skipped = _separator(path, encoding)
        lines = pd.read_csv(
            path,
            sep=separator,
            encoding=encoding,
            skiprows=n_skipped,
            header=None,
            dtype=str,
            na_filter=False,
            skipinitialspace=True,
        )
    except OSError as error:
        raise InvalidInputError(f"cannot read {path}: {reason(error)}") from error
    except UnicodeError as error:
        raise InvalidInputError(
            f"cannot read {path} as text in UTF-8: {reason(error)}; save it as CSV in UTF-8"
        ) from error
    except ValueError as error:
        raise InvalidInputError(
            f"cannot read {path} as comma-separated values below a line that names every column: "
            f"{reason(error)}; remove titles, comments and separators at the ends of lines, and "
            "put values that hold the separator into double quotes"
        ) from error
    lines = lines.apply(lambda column: column.str.strip())
    is_value = lines != ""
    lines = lines.loc[is_value.any(axis="columns"), is_value.any(axis="index")]
    if lines.empty:
        raise InvalidInputError(f"{path} holds no values; name the columns, and add samples")
    names = lines.iloc[0]
    columns: pd.DataFrame = lines.iloc[1:].set_axis(names, axis="columns")
    columns.index -= lines.index[0]
    if (names == "").any():
        raise InvalidInputError(
            f"{path}: the first line does not name every column; name them all, or remove those "
            "without a name (such as row numbers: pandas writes them unless told index=False), and "
            "titles above the names"
        )
    if names.duplicated().any():
        raise InvalidInputError(
            f"{path} has two columns of the name {shortened(names[names.duplicated()].iloc[0])}; "
            "rename one"
        )
    if len(names) < 2:
        raise InvalidInputError(
            f"{path} has the one column {shortened(names.iloc[0])}; it needs features and a "
            f"label, separated by {', '.join(_SEPARATORS.values())}, and no titles above them"
        )
    if columns.empty:
        raise InvalidInputError(f"{path} has column names but no rows; add samples")
    return columns, separator


def _encoding(path: Path) -> str:
    with path.open("rb") as file:
        start = file.read(2000)
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    if b"\0" in start:
        raise UnicodeError("it holds zero bytes, as text in UTF-16 does, and other kinds of files")
    return "utf-8-sig"


def _separator(path: Path, encoding: str) -> tuple[str, int]:
    """Return what separates values, and how many lines at the top say so.

    It splits the first lines into most parts, as many in each where one does so.
    """
    with path.open(encoding=encoding, newline="") as file:
        lines = [line for _, line in zip(range(_LINES), file, strict=False) if line.strip()]
    told = _EXCEL_LINE.fullmatch(lines[0]) if lines else None
    if told:
        return told[1], 1

    def score(separator: str) -> tuple[bool, list[int]]:
        counts = _parts(lines, separator)
        return len(set(counts)) == 1 and counts[0] > 1, counts[:1]

    # The last of several: commas may be decimal marks, too.
    return max(reversed(_SEPARATORS), key=score), 0


def _parts(lines: Sequence[str], separator: str) -> list[int]:
    try:
        rows = csv.reader(lines, delimiter=separator, skipinitialspace=True)
        return [len(row) for row in rows if row]
    except csv.Error:  # a quote that is open at the last line looked at
        return []


def _list_columns(
    path: Path, table: pd.DataFrame, label: str | None, drop: Sequence[str]
) -> list[str]:
    """Return the names of the columns to read; refuse names that are no column."""
    names = list(table.columns)
    if label is not None:
        check_name(f"column of {path}:", label, names)
    for name in drop:
        check_name(f"column of {path}:", name, names)
        if name == label:
            raise InvalidInputError(f"column {shortened(name)} is the label and cannot be dropped")
    columns = [name for name in names if name not in drop]
    if len(columns) < 2:
        raise InvalidInputError(
            f"{path}: what is not dropped are {len(columns)} columns; it needs features and a label"
        )
    return columns


def _check_that_names_are_no_sample(path: Path, names: list[str]) -> None:
    counts = [[str(first + number) for number in range(len(names))] for first in (0, 1)]
    if names not in counts and all(math.isfinite(float_or_nan(name)) for name in names):
        raise InvalidInputError(
            f"{path}: the first line holds numbers, {shortened(', '.join(names))}, where "
            "names of columns belong; write a line of names above the samples"
        )


def _labels(table: pd.DataFrame, label: str) -> npt.NDArray[np.str_]:
    """Return the labels of a column, "" where one is missing."""
    texts = table[label]
    return texts.mask(is_missing(texts), "").to_numpy(dtype=np.str_)


def _check_that_none_is_missing(
    path: Path, table: pd.DataFrame, label: str, labels: npt.NDArray[np.str_]
) -> None:
    texts = table[label][labels == ""]
    if texts.empty:
        return
    rows = ", ".join(map(str, texts.index[:_MOST_ROWS]))
    more = f" and {len(texts) - _MOST_ROWS} more" if len(texts) > _MOST_ROWS else ""
    written = ", ".join(map(shortened, texts.unique()))
    raise InvalidInputError(
        f"{path}: column {shortened(label)} holds no label in row{'s' * (len(texts) > 1)} "
        f"{rows}{more} ({written}); fill in what is missing, remove the rows, or name another "
        "column by --label; a class of such a name needs another one"
    )


def _fill(features: FloatArray, fill: FloatArray | None) -> FloatArray:
    return features if fill is None else np.where(np.isnan(features), fill, features)


_MOST_NAMES = 5  # constant columns that are named
_FEW_VALUES = 10  # numbers as labels, at most so many, are classes


def remarks(dataset: Dataset) -> list[str]:
    """Return a sentence on each thing that is odd, and no error, in a data set not yet scaled."""
    if is_sparse(dataset.features):
        notes, advice = [_on_sparse(dataset.features)], ""
    else:
        notes, advice = _on_columns(dataset), "; --label names another column"
    labels = np.array([float_or_nan(name.replace(",", ".")) for name in dataset.classes])
    is_fraction = np.isfinite(labels).all() and bool((labels % 1 != 0).any())
    is_count = np.isfinite(labels).all() and len(labels) > _FEW_VALUES
    if is_fraction or is_count:
        notes.append(
            f"the labels are {len(labels)} different numbers, from {labels.min():g} to "
            f"{labels.max():g}, and look like measurements rather than classes{advice}"
        )
    pair = _written_alike(dataset.classes)
    if pair:
        notes.append(
            f"the labels {' and '.join(map(shortened, pair))} differ in writing alone, and are two "
            "classes; write them alike if they are one"
        )
    return notes


def _written_alike(names: Iterable[str]) -> tuple[str, str] | None:
    """Return two names that are the same number, or differ in capitals alone."""
    seen: dict[float | str, str] = {}
    for name in names:
        number = float_or_nan(name)
        key = name.casefold() if math.isnan(number) else number
        if key in seen:
            return seen[key], name
        seen[key] = name
    return None


def _on_sparse(samples: Samples) -> str:
    share = 100 * samples.nnz / math.prod(samples.shape)
    return (
        f"samples are sparse ({share:.2g} % of their entries are not 0) and stay so: scaled "
        "features are not centred, which changes no distance"
    )


def _on_columns(dataset: Dataset) -> list[str]:
    notes = []
    constant = []
    for name, column in zip(dataset.feature_names, dataset.features.T, strict=True):
        if _numbers_the_rows(column):
            notes.append(
                f"column {shortened(name)} numbers the rows; {drop_option([name])} leaves it out"
            )
        elif (column == column[0]).all():
            constant.append(name)
    if constant:
        names = ", ".join(shortened(name) for name in constant[:_MOST_NAMES])
        if len(constant) == 1:
            option = drop_option(constant)
            notes.append(f"column {names} is constant and says nothing; {option} leaves it out")
        else:
            more = f" and {len(constant) - _MOST_NAMES} more" if len(constant) > _MOST_NAMES else ""
            notes.append(
                f"columns {names}{more} are constant and say nothing; --drop leaves them out"
            )
    return notes


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
