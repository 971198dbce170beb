"""Data sets read from CSV files."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gdaopt.datasets.dataset import Dataset
from gdaopt.errors import InvalidInputError, check_name
from gdaopt.printing import shortened
from gdaopt.validation import FloatArray, as_path

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["float_or_nan", "read_csv"]


def read_csv(path: str | os.PathLike[str], label: str | None = None) -> Dataset:
    r"""Read a data set from a file of comma-separated values whose first line names the columns.

    Parameters
    ----------
    path : path-like
        The file, in UTF-8. The data set is named after it.
    label : str, optional
        The name of the column that holds the labels; by default the last column. All other columns
        are features and must hold finite numbers. Labels are kept as they are written, so that
        ``1`` and ``1.0`` differ.

    Returns
    -------
    Dataset
        With unscaled features, in the order of their columns.

    Raises
    ------
    InvalidInputError
        When there is no such file or column, when the file is not such a table, and when a feature
        is missing, infinite or not a number, or a label is missing. The message names the column
        and the row; rows are counted from 1 below the line of names. Two columns of the same name
        are refused, and a first line of numbers, which is a sample in a file without names: only
        0, 1, 2, … and 1, 2, 3, … are taken as names of features.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "flowers.csv"
    ...     _ = path.write_text("length,kind,width\n1,a,2\n3,b,4\n")
    ...     flowers = read_csv(path, label="kind")
    >>> flowers
    Dataset(name='flowers', feature_names=('length', 'width'))
    >>> flowers.classes
    ('a', 'b')
    """
    path = as_path("path", path)
    table = _read_text(path)
    if label is not None:
        check_name(f"column of {path}:", label, table.columns)
    else:
        label = table.columns[-1]
        _check_that_names_are_no_sample(path, list(table.columns[:-1]))
    labels = table.pop(label).to_numpy(dtype=np.str_)
    missing = labels == ""
    if missing.any():
        raise InvalidInputError(
            f"{path}: column {shortened(label)} holds no label in row {int(missing.argmax()) + 1}; "
            "fill it in or remove the row"
        )
    features = np.column_stack([_numbers(path, table[name]) for name in table.columns])
    return Dataset(path.stem, features, labels, tuple(table.columns))


def _check_that_names_are_no_sample(path: Path, names: list[str]) -> None:
    """Refuse names of features that are all numbers, unless they count the features."""
    counts = [[str(first + number) for number in range(len(names))] for first in (0, 1)]
    if names not in counts and all(math.isfinite(float_or_nan(name)) for name in names):
        raise InvalidInputError(
            f"{path}: the first line holds numbers, {shortened(', '.join(names))}, where names of "
            "columns belong; write a line of names above the samples"
        )


def _read_text(path: Path) -> pd.DataFrame:
    """Return the table of a file, with every value as text without spaces around it."""
    import pandas as pd  # slow to import, and needed here only

    options: dict[str, Any] = {
        "dtype": str,
        "na_filter": False,
        "skipinitialspace": True,
        "encoding": "utf-8-sig",
    }
    try:
        table = pd.read_csv(path, **options)
        first_line = pd.read_csv(path, header=None, nrows=1, **options)
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise InvalidInputError(
            f"cannot read {path} as comma-separated values below a line of column names: {reason}"
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
            "label, separated by commas"
        )
    if table.empty:
        raise InvalidInputError(f"{path} has column names but no rows; add samples")
    stripped: pd.DataFrame = table.apply(lambda column: column.str.strip())
    return stripped


def _numbers(path: Path, column: pd.Series[str]) -> FloatArray:
    """Return a column of text as finite numbers; refuse it with its first bad value."""
    numbers = np.array([float_or_nan(text) for text in column])
    bad = ~np.isfinite(numbers)
    if bad.any():
        row = int(bad.argmax())
        raise InvalidInputError(
            f"{path}: column {shortened(column.name)} holds {shortened(column.iloc[row])} in row "
            f"{row + 1}; features must be finite numbers: correct or remove it, or pass the column "
            "as label if it is one"
        )
    return numbers


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
