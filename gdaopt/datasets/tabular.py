"""Data sets read from CSV files."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gdaopt.datasets.csv_text import TextTable, float_or_nan, read_text
from gdaopt.datasets.dataset import Dataset
from gdaopt.errors import InvalidInputError
from gdaopt.support.text import shortened
from gdaopt.support.validation import FloatArray, as_path, check_instance, check_name

__all__ = ["IMPUTE", "column_names", "fill_values", "read_csv", "read_features"]

IMPUTE: dict[str, Callable[..., FloatArray]] = {"mean": np.mean, "median": np.median}
"""What a missing value may be replaced by, computed from the other values of its column."""

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
    table = read_text(path)
    columns = _kept(table, label, drop)
    if label is None:
        label = columns[-1]
        _check_that_names_are_no_sample(table, columns[:-1])
    labels = _labels(table, label)
    missing = labels == ""
    if missing.any():
        raise InvalidInputError(
            f"{path}: column {shortened(label)} holds no label in row {int(missing.argmax()) + 1}; "
            "fill it in or remove the row"
        )
    names = [name for name in columns if name != label]
    features = _numbers(table, names, impute is not None, _advice)
    if impute is not None:
        features = _filled(features, _observed(path, features, names, impute))
    return Dataset(path.stem, features, labels, tuple(names))


def read_features(
    path: str | os.PathLike[str],
    names: Sequence[str],
    *,
    fill: FloatArray | None = None,
    label: str | None = None,
) -> tuple[FloatArray, npt.NDArray[np.str_] | None]:
    r"""Read some columns of numbers from a table, such as new samples of a data set.

    Parameters
    ----------
    path : path-like
        See `read_csv`.
    names : sequence of str
        The K columns. Others are left out.
    fill : ndarray of shape (K,), optional
        What missing values are replaced by. By default a missing value is an error.
    label : str, optional
        A column of labels, which need not be there.

    Returns
    -------
    features : ndarray of shape (N, K)
        In the order of `names`.
    labels : ndarray of str, shape (N,), or None
        The labels as they are written; None where there is no such column.

    Raises
    ------
    InvalidInputError
        When a column is missing, and as by `read_csv`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "new.csv"
    ...     _ = path.write_text("width,length\n2,1\n")
    ...     read_features(path, ["length", "width"])
    (array([[1., 2.]]), None)
    """
    path = as_path("path", path)
    table = read_text(path)
    absent = [name for name in names if name not in table.columns]
    if absent:
        raise InvalidInputError(
            f"{path} has no column {', '.join(map(shortened, absent))}; its columns are "
            f"{shortened(', '.join(table.columns.columns))}"
        )
    features = _numbers(table, names, fill is not None, _advice_on_new_samples)
    if fill is not None:
        features = _filled(features, fill)
    has_label = label is not None and label in table.columns
    return features, _labels(table, str(label)) if has_label else None


def column_names(drop: Any) -> tuple[str, ...]:
    """Return the names of columns to leave out; refuse what is no list of texts.

    Examples
    --------
    >>> column_names(["id"])
    ('id',)
    """
    is_list = isinstance(drop, Sequence) and not isinstance(drop, str | bytes)
    if not is_list or not all(isinstance(name, str) for name in drop):
        raise InvalidInputError(
            f"drop must be names of columns, such as ['id'], got {shortened(drop)}"
        )
    return tuple(drop)


def fill_values(features: FloatArray, impute: str | None) -> FloatArray | None:
    """Return what missing values of new samples are replaced by, from the features of a data set.

    Missing values that were replaced by the mean or the median do not change it.

    Examples
    --------
    >>> fill_values(np.array([[1.0], [2.0], [6.0]]), "median")
    array([2.])
    """
    return None if impute is None else np.asarray(IMPUTE[impute](features, axis=0))


def _kept(table: TextTable, label: str | None, drop: Sequence[str]) -> list[str]:
    """Return the names of the columns that are not dropped."""
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


def _labels(table: TextTable, label: str) -> npt.NDArray[np.str_]:
    """Return a column as it is written."""
    check_instance("label", label, str)
    return table.columns[label].to_numpy(dtype=np.str_)


def _check_that_names_are_no_sample(table: TextTable, names: list[str]) -> None:
    """Refuse names of features that are all numbers, unless they count the features."""
    counts = [[str(first + number) for number in range(len(names))] for first in (0, 1)]
    if names not in counts and all(math.isfinite(float_or_nan(name)) for name in names):
        raise InvalidInputError(
            f"{table.path}: the first line holds numbers, {shortened(', '.join(names))}, where "
            "names of columns belong; write a line of names above the samples"
        )


def _numbers(
    table: TextTable, names: Sequence[str], is_filled: bool, advice: Callable[[str, bool], str]
) -> FloatArray:
    """Return columns as numbers, NaN where one is missing; refuse columns of other values.

    The advice is on the columns that are refused, and depends on whether values are missing only.
    """
    features = np.empty((len(table.columns), len(names)))
    complaints: dict[str, str] = {}
    are_missing = True
    for k, name in enumerate(names):
        texts = table.columns[name].tolist()
        features[:, k] = [table.number(text) for text in texts]
        bad = np.flatnonzero(~np.isfinite(features[:, k]))
        if is_filled:
            missing = np.array([table.is_missing(text) for text in texts])
            features[missing, k] = np.nan
            bad = bad[~missing[bad]]
        if bad.size:
            first = texts[bad[0]]
            more = f" and {bad.size - 1} more like it" if bad.size > 1 else ""
            complaints[name] = (
                f"column {shortened(name)} holds {shortened(first)} in row {bad[0] + 1}{more}"
            )
            are_missing = are_missing and all(table.is_missing(texts[row]) for row in bad)
    if complaints:
        what = advice(shortened(",".join(complaints)), are_missing)
        raise InvalidInputError(_complaint(table, complaints, what))
    return features


def _complaint(table: TextTable, complaints: Mapping[str, str], advice: str) -> str:
    """Return the message on columns that are no features."""
    told = list(complaints.values())[:_MOST_COLUMNS]
    rest = [shortened(name) for name in complaints][_MOST_COLUMNS:]
    if rest:
        told.append(f"and {len(rest)} more columns: {', '.join(rest[:_MOST_COLUMNS])}")
    marks = "decimal commas" if table.decimal == "," else "decimal points"
    return (
        f"{table.path}: {'; '.join(told)}; features must be finite numbers, here with {marks}: "
        f"{advice}"
    )


def _advice(names: str, are_missing: bool) -> str:
    """Say what to do about columns of a table to learn from."""
    first = "fill missing values by --impute mean" if are_missing else "correct them"
    return (
        f"{first}, leave the columns out by --drop {names}, or name the column of the labels by "
        "--label"
    )


def _advice_on_new_samples(names: str, are_missing: bool) -> str:  # noqa: ARG001 (all are needed)
    """Say what to do about columns that have been learned from: the table has none to spare."""
    if not are_missing:
        return "correct them"
    return "fill them in, or learn again by gdaopt learn --impute mean, which fills them here, too"


def _observed(path: Path, features: FloatArray, names: Sequence[str], impute: str) -> FloatArray:
    """Return the mean or median of what is there in each column."""
    empty = np.flatnonzero(np.isnan(features).all(axis=0))
    if empty.size:
        name = names[empty[0]]
        raise InvalidInputError(
            f"{path}: column {shortened(name)} holds no number; leave it out by --drop "
            f"{shortened(name)}"
        )
    return np.array([IMPUTE[impute](column[~np.isnan(column)]) for column in features.T])


def _filled(features: FloatArray, fill: FloatArray) -> FloatArray:
    """Return features with a value of its column for each NaN."""
    filled: FloatArray = np.where(np.isnan(features), fill, features)
    return filled
