"""Numbers in columns of text: their marks, missing values, and what is said of other columns."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gdaopt.errors import InvalidInputError
from gdaopt.support.text import cut, shortened
from gdaopt.support.validation import FloatArray

if TYPE_CHECKING:
    import pandas as pd

_DECIMALS = (",", ".")
_THOUSANDS = {",": ",", ".": r"\.", "'": "['’]", " ": "[ \u00a0\u2009\u202f]"}  # and their likes
_MISSING = {
    *("", "?", "-", ".", "na", "n/a", "nan", "null", "none", "missing"),
    *("#n/a", "#na", "#nv", "<na>"),  # of spreadsheets and pandas
}
_MOST_COLUMNS = 5  # bad ones that a message tells of one by one


def float_or_nan(text: str) -> float:
    """Return the number in a text, NaN for none: neither ``1_0`` nor digits of other scripts."""
    if "_" in text or not text.isascii():
        return math.nan
    try:
        return float(text)
    except ValueError:
        return math.nan


@dataclass(frozen=True)
class Marks:
    """What stands in the numbers of a file: a decimal mark, by default that of each column."""

    decimal: str | None = None
    thousands: str | None = None  # none by default

    def __post_init__(self) -> None:
        for name, marks, words in (
            ("decimal", _DECIMALS, "a point or a comma"),
            ("thousands", _THOUSANDS, "a comma, a point, an apostrophe or a space"),
        ):
            mark = getattr(self, name)
            if mark is not None and not (isinstance(mark, str) and mark in marks):
                raise InvalidInputError(f"{name} must be {words}, got {shortened(mark)}")
        if self.decimal is not None and self.decimal == self.thousands:
            raise InvalidInputError(
                f"decimal and thousands are both {shortened(self.decimal)}; leave one out"
            )

    def __str__(self) -> str:
        said = f'--decimal "{self.decimal}"'
        return said if self.thousands is None else f'{said} --thousands "{self.thousands}"'

    def numbers(self, texts: pd.Series[str]) -> FloatArray:
        """Return the numbers that texts stand for, NaN for what is no number with these marks."""
        if self.decimal is None:
            counts = {mark: int(_have(texts, mark).sum()) for mark in _DECIMALS}
            counts.pop(self.thousands or "", None)
            return replace(self, decimal=max(counts, key=counts.__getitem__)).numbers(texts)
        mark, digits = re.escape(self.decimal), "[0-9]+"
        if self.thousands is not None:
            group = _THOUSANDS[self.thousands]
            digits = f"(?:[0-9]{{1,3}}(?:{group}[0-9]{{2,3}})*{group}[0-9]{{3}}|[0-9]+)"
        number = f"[+-]?(?:{digits}(?:{mark}[0-9]*)?|{mark}[0-9]+)(?:[eE][+-]?[0-9]+)?"
        texts = texts.where(texts.str.fullmatch(number), "nan")
        if self.thousands is not None:
            texts = texts.str.replace(_THOUSANDS[self.thousands], "", regex=True)
        return texts.str.replace(self.decimal, ".", regex=False).to_numpy(dtype=np.float64)


def read_numbers(
    path: Path,
    columns: Mapping[str, pd.Series[str]],
    marks: Marks,
    separator: str,
    *,
    is_filled: bool,
    is_new: bool,
) -> FloatArray:
    """Return columns as numbers, NaN where one is missing; refuse columns of other values."""
    features = {name: marks.numbers(texts) for name, texts in columns.items()}
    doubtful = set() if marks != Marks() else _doubtful(columns, separator)
    bad: dict[str, pd.Series[str]] = {}
    for name, texts in columns.items():
        is_right = np.isfinite(features[name])
        if is_filled and is_right.any():
            is_right |= is_missing(texts).to_numpy()
        if name in doubtful:
            is_right &= ~(_have(texts, ",") | _have(texts, ".")).to_numpy()
        if not is_right.all():
            bad[name] = texts[~is_right]
    if bad:
        raise InvalidInputError(_complaint(path, columns, bad, is_new))
    return np.column_stack([*features.values()])


def _doubtful(columns: Mapping[str, pd.Series[str]], separator: str) -> set[str]:
    """Return the columns whose decimal marks may be marks of thousands.

    Digits behind each of them are groups of three, and no other column shows what the mark is. A
    point is then a decimal mark where all numbers have one, as many programs write three decimals,
    but for files with semicolons: they are written where commas are decimal marks.
    """
    pairs = [(name, mark) for name in columns for mark in _DECIMALS]
    grouped = [(name, mark) for name, mark in pairs if _in_groups(columns[name], mark)]
    if not grouped:
        return set()
    certain_marks = {
        mark
        for name, mark in pairs
        if _have(columns[name], mark).any()
        and (name, mark) not in grouped
        and _fit(Marks(mark), columns[name])
    }
    return {
        name
        for name, mark in grouped
        if certain_marks != {mark}
        and (
            certain_marks
            or mark == ","
            or separator == ";"
            or columns[name].str.fullmatch("[+-]?[0-9]+").any()
        )
    }


def _have(texts: pd.Series[str], mark: str) -> pd.Series[bool]:
    """Say of each text whether it has a mark beside a digit."""
    return texts.str.contains(f"[0-9][{mark}]|[{mark}][0-9]")


def _in_groups(texts: pd.Series[str], mark: str) -> bool:
    texts = texts[_have(texts, mark)]
    groups = f"[+-]?[1-9][0-9]{{0,2}}(?:[{mark}][0-9]{{3}})+"
    return len(texts) > 0 and bool(texts.str.fullmatch(groups).all())


def _fit(marks: Marks, texts: pd.Series[str]) -> bool:
    """Say whether a column holds numbers with these marks, and else only missing values."""
    texts = texts[~is_missing(texts)]
    return len(texts) > 0 and bool(np.isfinite(marks.numbers(texts)).all())


def is_missing(texts: pd.Series[str]) -> pd.Series[bool]:
    """Say of each text whether it stands for a missing value."""
    return texts.str.lower().isin(_MISSING)


def _complaint(
    path: Path,
    columns: Mapping[str, pd.Series[str]],
    bad: Mapping[str, pd.Series[str]],
    is_new: bool,
) -> str:
    told = [_told(name, texts) for name, texts in [*bad.items()][:_MOST_COLUMNS]]
    rest = [shortened(name) for name in bad][_MOST_COLUMNS:]
    if rest:
        told.append(f"and {len(rest)} more columns: {', '.join(rest[:_MOST_COLUMNS])}")
    present = {name: texts[~is_missing(texts)] for name, texts in bad.items()}
    wrong = {name: texts.iloc[0] for name, texts in present.items() if len(texts)}
    fitting = {name: [marks for marks in _ALL if _fit(marks, columns[name])] for name in bad}
    marked = [name for name in wrong if fitting[name]]
    good = [texts for name, texts in columns.items() if name not in bad]
    common = [
        marks
        for marks in _ALL
        if marked
        and all(marks in ways for ways in fitting.values() if ways)
        and all(_fit(marks, texts) for texts in good)
    ]
    advice = []
    if common:
        advice.append(_list_choices(columns[marked[0]], wrong[marked[0]], common))
    if len(wrong) > len(marked) or (marked and not common):
        advice.append("correct them to numbers of the same marks without units, or to nothing")
    if any(fitting[name] and is_missing(texts).any() for name, texts in bad.items()):
        impute = "gdaopt learn --impute mean"
        advice.append(
            f"fill missing values in, or learn again by {impute}, which fills them here, too"
            if is_new
            else "fill missing values by --impute mean"
        )
    if not is_new:
        advice.append(f"leave the columns out by {drop_option(bad)}")
        advice.append("or name the column of the labels by --label")
    return f"{path}: {'; '.join(told)}; features must be finite numbers: {', '.join(advice)}"


def _told(name: str, texts: pd.Series[str]) -> str:
    more = f" and {len(texts) - 1} more like it" if len(texts) > 1 else ""
    row = texts.index[0]
    return f"column {shortened(name)} holds {shortened(texts.iloc[0])} in row {row}{more}"


_ALL = [Marks(mark, t) for t in (None, *_THOUSANDS) for mark in _DECIMALS if mark != t]


def _list_choices(texts: pd.Series[str], wrong: str, ways: Sequence[Marks]) -> str:
    """Return the options that read a column in different ways, and what a text of it is then."""
    choices: dict[bytes, Marks] = {}
    for marks in ways:
        choices.setdefault(marks.numbers(texts).tobytes(), marks)
    said = []
    for marks in choices.values():
        sign = re.escape(wrong) if marks.thousands is None else _THOUSANDS[marks.thousands]
        with_sign = texts[texts.str.contains(sign)]
        example = texts[texts == wrong] if with_sign.empty else with_sign
        value = marks.numbers(example)[0]
        said.append(f"pass {marks} if {shortened(example.iloc[0])} is {value:.15g}")
    return ", or ".join(said)


def drop_option(names: Iterable[str]) -> str:
    """Return the option that leaves columns out, as a shell takes it."""
    listed = ",".join(f'"{name}"' if "," in name else name for name in names)
    return cut(f"--drop {shlex.quote(listed)}", 300)
