"""Data sets read from CSV files."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gdaopt.datasets.dataset import Dataset
from gdaopt.errors import InvalidInputError, unknown_name
from gdaopt.validation import FloatArray

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
        and the row; rows are counted from 1 below the line of names.

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
    path = Path(path)
    table = _read_text(path)
    if label is None:
        label = table.columns[-1]
    elif label not in table.columns:
        raise unknown_name(f"column of {path}:", label, table.columns)
    labels = table.pop(label).to_numpy(dtype=np.str_)
    missing = labels == ""
    if missing.any():
        raise InvalidInputError(
            f"{path}: column {label!r} holds no label in row {int(missing.argmax()) + 1}; "
            "fill it in or remove the row"
        )
    features = np.column_stack([_numbers(path, table[name]) for name in table.columns])
    return Dataset(path.stem, features, labels, tuple(table.columns))


def _read_text(path: Path) -> pd.DataFrame:
    """Return the table of a file, with every value as text without spaces around it."""
    import pandas as pd  # slow to import, and needed here only

    try:
        table = pd.read_csv(
            path, dtype=str, na_filter=False, skipinitialspace=True, encoding="utf-8-sig"
        )
    except (OSError, ValueError) as error:
        raise InvalidInputError(
            f"cannot read {path} as comma-separated values below a line of column names: {error}"
        ) from error
    # Where a row has more values than there are names, pandas takes its first values as an index. A
    # column without a name gets one from pandas.
    if not isinstance(table.index, pd.RangeIndex) or any(table.columns.str.startswith("Unnamed: ")):
        raise InvalidInputError(
            f"{path}: the first line does not name every column; name them all, or remove those "
            "without a name (such as row numbers: pandas writes them unless told index=False)"
        )
    if len(table.columns) < 2:
        raise InvalidInputError(
            f"{path} has the one column {table.columns[0]!r}; it needs features and a label, "
            "separated by commas"
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
            f"{path}: column {column.name!r} holds {column.iloc[row]!r} in row {row + 1}; features "
            "must be finite numbers: correct or remove it, or pass the column as label if it is one"
        )
    return numbers


def float_or_nan(text: str) -> float:
    """Return the float64 nearest to the number in a text; NaN when the text is not a number."""
    try:
        return float(text)
    except ValueError:
        return math.nan
