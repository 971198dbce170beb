"""Numbers in files: with every mark and separator they are right, or refused with a remedy."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from gdaopt.datasets import TableFormat, read_table
from gdaopt.errors import InvalidInputError
from gdaopt.support.validation import FloatArray

MARKS = [(d, t) for d in (".", ",") for t in (None, ",", ".", "'", " ") if d != t]
COLUMNS = {
    "whole": (["1234", "2500", "900"],),
    "millions": (["1234567", "25", "-9000"],),
    "three decimals": (["1.234", "2.500", "900.125"],),
    "three decimals and whole": (["1.234", "2.500", "900"],),
    "below 1": (["0.125", "1.500", "-0.875"],),
    "two decimals": (["1825.51", "0.50", "12"],),
    "three decimals beside fractions": (["1.234", "2.500", "900"], ["0.5", "1.5", "2.5"]),
    "whole beside fractions": (["1234", "2500", "9000"], ["0.5", "1.5", "2.5"]),
}


def written(number: str, decimal: str, thousands: str | None) -> str:
    whole, point, decimals = number.partition(".")
    if thousands is not None:
        whole = f"{int(whole):,}".replace(",", thousands)
    return whole + point.replace(".", decimal) + decimals


def write(path: Path, separator: str, columns: Sequence[Sequence[str]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=separator)
        writer.writerow([*(f"f{k}" for k in range(len(columns))), "kind"])
        writer.writerows(zip(*columns, "xyx", strict=True))
    return path


def remedies(path: Path, message: str) -> list[FloatArray]:
    """Return what is read by each choice of marks that a message offers."""
    offered = re.findall(r'pass --decimal "(.)" if', message)
    return [read_table(path, form=TableFormat(decimal=mark)).features for mark in offered]


@pytest.mark.covering(2)
@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize(("decimal", "thousands"), MARKS)
@pytest.mark.parametrize("name", COLUMNS)
def test_right_numbers_or_a_remedy(
    name: str, decimal: str, thousands: str | None, separator: str, tmp_path: Path
) -> None:
    """As `pandas` reads them when it is told the marks: 1,234 was 1.234, whatever it was."""
    columns = [[written(x, decimal, thousands) for x in column] for column in COLUMNS[name]]
    path = write(tmp_path / "t.csv", separator, columns)
    told = pd.read_csv(path, sep=separator, decimal=decimal, thousands=thousands)
    expected = told.iloc[:, :-1].to_numpy(dtype=float)
    given = read_table(path, form=TableFormat(decimal=decimal, thousands=thousands))
    np.testing.assert_array_equal(given.features, expected)
    try:
        found = [read_table(path).features]
    except InvalidInputError as error:
        found = remedies(path, str(error))
    assert any(np.array_equal(features, expected) for features in found)
    texts = {text for column in columns for text in column}
    if len(columns) == 1 and {"1,234", "900"} <= texts:
        assert [features[0, 0] for features in found] == [1234.0, 1.234]


@pytest.mark.parametrize(
    "text", ["1’234’567", "1\u202f234\u202f567", "12,34,567", "1\xa0234\xa0567"]
)
def test_groups_of_other_countries(text: str, tmp_path: Path) -> None:
    """Swiss apostrophes, French spaces that no keyboard has, and Indian groups of two."""
    path = write(tmp_path / "t.csv", ";", [[text, "25", "-1"]])
    features = read_table(path).features
    np.testing.assert_array_equal(features[:, 0], [int(re.sub("[^0-9]", "", text)), 25, -1])


def test_marks_are_those_of_the_features(tmp_path: Path) -> None:
    """And of each: a comma among labels, or in a column that is dropped, was that of all."""
    columns = [["1.5", "2", "3"], ["3,4", "a", ""], ["0,5", "1", "2"], ["1,5", "7", "1,5"]]
    path = write(tmp_path / "t.csv", ";", columns)
    data = read_table(path, "f3", drop=["f1", "kind"])
    np.testing.assert_array_equal(data.features, [[1.5, 0.5], [2.0, 1.0], [3.0, 2.0]])
    assert data.labels.tolist() == ["1,5", "7", "1,5"]


@pytest.mark.parametrize(
    ("decimal", "thousands", "message"),
    [
        (";", None, "decimal must be a point or a comma, got ';'"),
        (".,", None, "decimal must be"),
        (3, None, "decimal must be a point or a comma, got 3"),
        (None, "", "thousands must be a comma, a point, an apostrophe or a space, got ''"),
        (None, [","], "thousands must be"),
        (",", ",", "decimal and thousands are both ','; leave one out"),
    ],
)
def test_other_marks_are_refused(decimal: str | None, thousands: str | None, message: str) -> None:
    with pytest.raises(InvalidInputError, match=re.escape(message)):
        TableFormat(decimal=decimal, thousands=thousands)
