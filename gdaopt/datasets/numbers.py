"""Numbers in columns of texts: their marks, their units, and when a text has two readings."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gdaopt.support.validation import FloatArray

if TYPE_CHECKING:
    import pandas as pd

DECIMALS = (".", ",")
"""Decimal marks."""

THOUSANDS = {",": ",", ".": r"\.", "'": "['’]", " ": "[ \u00a0\u2009\u202f]"}
"""What may stand between groups of digits, as a pattern of it and its likes."""

_MISSING = {
    *("", "?", "-", ".", "na", "n/a", "nan", "null", "none", "missing"),
    *("#n/a", "#na", "#nv", "<na>"),  # written by spreadsheets and pandas
}

_CURRENCY = "[$€£¥]|EUR|USD|GBP|CHF|JPY|CNY"
_NUMBER = (
    r"(?P<sign>[-+−]?)\s*"
    rf"(?P<before>{_CURRENCY}|)\s*"
    r"(?P<inner>[-+−]?)"
    r"(?P<digits>[.,]?[0-9](?:[0-9.,'’ \u00a0\u2009\u202f]*[0-9.,])?)"
    r"(?P<power>[eE][-+]?[0-9]+)?\s*"
    r"(?P<after>(?:[%‰$€£¥°]|[^\W\d_])[^\s\d]{0,9}|)"
)
_GROUPED_BY_POINTS = r"[+-]?[0-9]+|[+-]?[1-9][0-9]{0,2}[.][0-9]{3}"


def float_or_nan(text: str) -> float:
    """Return the number in a text, NaN for none: neither ``1_0`` nor digits of other scripts."""
    if "_" in text or not text.isascii():
        return math.nan
    try:
        return float(text)
    except ValueError:
        return math.nan


def is_missing(cell: object) -> bool:
    """Say whether a cell stands for a missing value."""
    return isinstance(cell, str) and cell.lower() in _MISSING


@dataclass(frozen=True)
class Numbers:
    """A column as numbers; if it has more than one reading, it is not known which is meant."""

    readings: Mapping[str, FloatArray]  # by the decimal mark; NaN if a text is no number
    unit: str = ""  # what stands at each number
    mark: str | None = None  # the decimal mark that its texts show

    @property
    def values(self) -> FloatArray:
        """The numbers of the first reading."""
        return next(iter(self.readings.values()))


def read_numbers(
    columns: Mapping[str, pd.Series[str]],
    decimal: str | None = None,
    thousands: str | None = None,
    *,
    separator: str,
    usual: str | None = None,
) -> dict[str, Numbers]:
    """Return columns of texts as numbers.

    The marks of a column are those with which all its texts are numbers. Where ``1,234`` may be
    two numbers, the decimal mark that other columns show decides. If none shows one, a point is
    a decimal mark if all texts of the column have one, because many programs write three decimals;
    but not between semicolons, which are written where commas are decimal marks. Then `usual`
    decides. Without it the column has two readings.
    """
    decimals = [mark for mark in DECIMALS if decimal in (None, mark) and thousands != mark]
    groups = (None, *THOUSANDS) if thousands is None else (thousands,)
    read = {name: _read_column(texts, decimals, groups) for name, texts in columns.items()}
    shown = {numbers.mark for numbers in read.values() if numbers.mark is not None}
    for name, numbers in read.items():
        if len(numbers.readings) > 1:
            decided = usual
            if len(shown) == 1:
                (decided,) = shown
            elif not shown and separator != ";" and columns[name].str.contains("[.]").all():
                decided = "."
            if decided is not None:
                values = numbers.readings[decided]
                read[name] = Numbers({decided: values}, numbers.unit, decided)
    return read


def _read_column(
    texts: pd.Series[str], decimals: Sequence[str], groups: Sequence[str | None]
) -> Numbers:
    """Return a column as numbers, in each way in which all its texts are some."""
    plain = _read_plain(texts) if "." in decimals else None
    if plain is not None:
        has_points = bool(texts.str.contains("[.]").any())
        may_be_groups = "," in decimals and texts.str.fullmatch(_GROUPED_BY_POINTS).all()
        if not (has_points and may_be_groups):
            return Numbers({".": plain}, mark="." if has_points else None)
    # Negative numbers of accounts, (5.00), and of SAP, 5.00-.
    signed = texts.str.replace(r"^\((.*)\)$|^(.*[0-9])-$", r"-\1\2", regex=True)
    parts = signed.str.extract(f"^(?:{_NUMBER})$").fillna("")
    units = []
    is_number = parts["digits"] != ""
    for side in ("before", "after"):
        counts = parts[side][is_number].value_counts()
        units.append(str(counts.index[0]) if len(counts) else "")
    for side, unit in zip(("before", "after"), units, strict=True):
        is_number &= parts[side] == unit
    digits = parts["digits"].where(is_number, "")
    is_negative = parts["sign"].isin(["-", "−"]) ^ parts["inner"].isin(["-", "−"])
    signs = np.where(is_negative, -1.0, 1.0)
    readings: dict[str, FloatArray] = {}
    for mark in decimals:
        ways = [
            signs * _read_digits(digits, parts["power"], mark, group)
            for group in groups
            if group != mark
        ]
        values = max(ways, key=_count)
        best = max(map(_count, readings.values()), default=0)
        if _count(values) > best or not readings:
            readings = {mark: values}
        elif _count(values) == best and not np.array_equal(
            values, readings[next(iter(readings))], equal_nan=True
        ):
            readings[mark] = values
    (mark, values), *others = readings.items()
    shows_mark = not others and _count(values) == len(values) and digits.str.contains("[.,]").any()
    return Numbers(readings, "".join(units), mark if shows_mark else None)


def _read_plain(texts: pd.Series[str]) -> FloatArray | None:
    """Return a column of numbers as programs write them; None for any other."""
    together = "".join(texts)
    if "_" in together or not together.isascii():
        return None
    try:
        values = texts.to_numpy(dtype=np.float64)
    except ValueError:
        return None
    return values if np.isfinite(values).all() else None


def _read_digits(
    digits: pd.Series[str], power: pd.Series[str], decimal: str, thousands: str | None
) -> FloatArray:
    """Return the numbers of texts without signs and units, NaN for what the marks do not fit."""
    mark, whole = re.escape(decimal), "[0-9]+"
    if thousands is not None:
        group = THOUSANDS[thousands]
        whole = f"(?:[0-9]{{1,3}}(?:{group}[0-9]{{2,3}})*{group}[0-9]{{3}}|[0-9]+)"
    fits = digits.str.fullmatch(f"{whole}(?:{mark}[0-9]*)?|{mark}[0-9]+")
    if thousands is not None:
        digits = digits.str.replace(THOUSANDS[thousands], "", regex=True)
    written = digits.str.replace(decimal, ".", regex=False) + power
    values: FloatArray = written.where(fits, "nan").to_numpy(dtype=np.float64)
    return np.where(np.isfinite(values), values, np.nan)


def _count(values: FloatArray) -> int:
    return int(np.isfinite(values).sum())
