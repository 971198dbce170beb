"""Columns of a table as features: numbers, truth values, and texts of few values."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gdaopt.datasets.dataset import order_texts
from gdaopt.datasets.numbers import Numbers, is_missing, read_numbers
from gdaopt.datasets.table_files import TableFormat, cell_text
from gdaopt.support.validation import FloatArray

if TYPE_CHECKING:
    import pandas as pd

IMPUTE: dict[str, Callable[..., FloatArray]] = {"mean": np.nanmean, "median": np.nanmedian}
"""What a missing value may be replaced by, computed from the other values of its column."""

MOST_TEXTS = 20  # different ones of a column that become features

_TRUTH = {  # pairs, whose second word is true
    *(("no", "yes"), ("n", "y"), ("false", "true"), ("f", "t"), ("off", "on"), ("nein", "ja")),
    *(("falsch", "wahr"), ("non", "oui"), ("faux", "vrai"), ("no", "sí"), ("no", "si")),
    *(("no", "sì"), ("falso", "verdadero"), ("falso", "vero"), ("nee", "ja"), ("nej", "ja")),
}
_DATE = re.compile(
    r"(?:[0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}|[0-9]{1,2}[-/.][0-9]{1,2}[-/.](?:[0-9]{4}|[0-9]{2})"
    r"|[0-9]{1,2}[- .][^\W\d_]{3,9}\.?[- .][0-9]{2,4})(?:[T ,].*)?"
    r"|[0-9]{1,3}:[0-9]{2}(?::[0-9]{2})?(?:[.,][0-9]+)?(?: ?[AaPp][Mm])?"
)
_ID_NAME = re.compile(  # "column 1" has no name in the file, as the rows' numbers of pandas and R
    r"(?i:(?:.*[^a-z])?(?:id|nr|no|number|index|key|uuid)\.?)|[A-Za-z]+(?:ID|Nr)|column [0-9]+|"
    r".*(?:nr\.|nummer)"
)


@dataclass(frozen=True)
class Column:
    """How a column of a file becomes features: one of numbers, or one for each of its texts.

    Capitals of texts do not count. Of two texts there is one feature, which is 1 for the second.
    """

    name: str
    texts: tuple[str, ...] | None = None  # None: numbers
    decimal: str | None = None  # the mark in its numbers
    fill: tuple[float, ...] | None = None  # for missing values, of each feature; None: an error

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of its features."""
        if self.texts is None or tuple(map(str.casefold, self.texts)) in _TRUTH:
            return (self.name,)
        return tuple(f"{self.name}={text}" for text in self._texts_with_feature)

    @property
    def _texts_with_feature(self) -> tuple[str, ...]:
        assert self.texts is not None
        return self.texts[1:] if len(self.texts) == 2 else self.texts

    def indicate(self, cells: pd.Series[Any]) -> FloatArray:
        """Return the features of texts; NaN if the column did not hold a text, or none."""
        assert self.texts is not None
        folded = fold(cells)
        features = [folded == text.casefold() for text in self._texts_with_feature]
        is_known = folded.isin([text.casefold() for text in self.texts])
        return np.where(is_known.to_numpy()[:, None], np.column_stack(features), np.nan)

    def describe(self) -> str:
        """Return what its features are, of a column of texts."""
        assert self.texts is not None
        if len(self.texts) == 2:
            no, yes = self.texts
            return f"column {self.name!r}: {yes!r} is 1, and {no or 'nothing'!r} is 0"
        names = ", ".join(self.feature_names)
        return f"column {self.name!r} of {len(self.texts)} texts becomes the features {names}"


def order_column_texts(texts: Iterable[str]) -> tuple[str, ...]:
    """Return texts in natural order, the true one of two last."""
    ordered = order_texts(texts)
    is_reversed = tuple(map(str.casefold, ordered[::-1])) in _TRUTH
    return ordered[::-1] if is_reversed else ordered


def fold(cells: pd.Series[Any]) -> pd.Series[str]:
    """Return cells as texts that do not differ in capitals."""
    return cells.map(cell_text).str.casefold()


def are_missing(cells: pd.Series[Any], form: TableFormat) -> pd.Series[bool]:
    """Say of each cell whether it stands for a missing value."""
    return cells.map(lambda cell: is_missing(cell) or cell_text(cell) in form.missing)


def number_columns(
    columns: Mapping[str, pd.Series[Any]],
    separator: str,
    form: TableFormat,
    usual: str | None = None,
) -> dict[str, Numbers]:
    """Return columns without missing values as numbers; see `read_numbers`."""
    is_text = {
        name: column.map(lambda cell: isinstance(cell, str)).to_numpy(dtype=bool)
        for name, column in columns.items()
    }
    texts = {name: column[is_text[name]] for name, column in columns.items()}
    read = read_numbers(texts, form.decimal, form.thousands, separator=separator, usual=usual)
    for name, column in columns.items():
        if not is_text[name].all():
            readings = {}
            for mark, values in read[name].readings.items():
                readings[mark] = column.where(~is_text[name], math.nan).to_numpy(dtype=np.float64)
                readings[mark][is_text[name]] = values
            read[name] = replace(read[name], readings=readings)
    return read


def are_dates(cells: pd.Series[Any]) -> bool:
    """Say whether all cells are dates or times."""
    return all(_DATE.fullmatch(cell_text(cell)) for cell in cells)


def is_id(name: str, values: FloatArray) -> bool:
    """Say whether numbers count the rows, or number something else as the name says."""
    if len(values) < 3 or math.isinf(np.ptp(values)) or len(np.unique(values)) < len(values):
        return False
    if (values % 1 != 0).any():
        return False
    # Rows that may be shuffled, or a sample of numbered ones.
    is_dense = len(values) >= 20 and float(np.ptp(values)) + 1 <= 2 * len(values)
    return is_dense or _ID_NAME.fullmatch(name) is not None
