"""Numbers in files: with every mark and separator they are right, or refused with a remedy."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from gdaopt.datasets import read_csv
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
    offered = re.findall(r'pass --decimal "(.)"(?: --thousands "(.)")? if', message)
    return [read_csv(path, decimal=d, thousands=t or None).features for d, t in offered]


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
    given = read_csv(path, decimal=decimal, thousands=thousands)
    np.testing.assert_array_equal(given.features, expected)
    try:
        found = [read_csv(path).features]
    except InvalidInputError as error:
        found = remedies(path, str(error))
    assert any(np.array_equal(features, expected) for features in found)
    texts = {text for column in columns for text in column}
    if len(columns) == 1 and {"1,234", "900"} <= texts:
        assert [features[0, 0] for features in found] == [1.234, 1234.0]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ((["1.234", "5.678", "9.000"], ["1,5", "2", "3"]), r"'f0' holds '1\.234' in row 1 and 2"),
        (
            (["1.234", "5.678", "9.000"],),
            r"if '1\.234' is 1\.234, or pass .* if '1\.234' is 1234, leave",
        ),
        ((["1,234", "5", "6"], ["1.5", "2", "3"]), "if '1,234' is 1234, leave the"),
        ((["1,234", "5", "6"], ["1.5", "2", "3"], ["1,5", "2", "3"]), "'f0' .*: correct them"),
        ((["1,5", "1.234", "2"],), r"'1,5' in row 1 and 1 more .* if '1\.234' is 1234, leave"),
        ((["1,234", "n/a", "3"],), "'1,234' in row 1 and 1 more.* --impute mean, leave"),
        (
            (["85%", "12%", "3"],),
            "'85%' in row 1 and 1 more.*correct them to numbers .* without units",
        ),
        (
            (["1,23", "1,5", "1,2345"], ["x", "1", "2"]),
            "features must .*: correct them .* --drop f1,",
        ),
        ((["1'234,5", "1", "2"],), 'pass --decimal "," --thousands "\'" if "1\'234,5" is 1234.5,'),
        ((["1e999", "1", "2"],), "holds '1e999' in row 1; .*correct them"),
    ],
)
def test_what_a_refusal_says(
    columns: Sequence[Sequence[str]], message: str, tmp_path: Path
) -> None:
    path = write(tmp_path / "t.csv", ";", columns)
    with pytest.raises(InvalidInputError, match=message):
        read_csv(path)


@pytest.mark.parametrize(
    "text", ["1’234’567", "1\u202f234\u202f567", "12,34,567", "1\xa0234\xa0567"]
)
def test_groups_of_other_countries(text: str, tmp_path: Path) -> None:
    """Swiss apostrophes, French spaces that no keyboard has, and Indian groups of two."""
    path = write(tmp_path / "t.csv", ";", [[text, "25", "-1"]])
    with pytest.raises(InvalidInputError) as caught:
        read_csv(path)
    (features,) = remedies(path, str(caught.value))
    np.testing.assert_array_equal(features[:, 0], [int(re.sub("[^0-9]", "", text)), 25, -1])


def test_marks_are_those_of_the_features(tmp_path: Path) -> None:
    """And of each: a comma among labels, or in a column that is dropped, was that of all."""
    columns = [["1.5", "2", "3"], ["3,4", "a", ""], ["0,5", "1", "2"], ["1,5", "7", "1,5"]]
    path = write(tmp_path / "t.csv", ";", columns)
    data = read_csv(path, "f3", drop=["f1", "kind"])
    np.testing.assert_array_equal(data.features, [[1.5, 0.5], [2.0, 1.0], [3.0, 2.0]])
    assert data.labels.tolist() == ["1,5", "7", "1,5"]
    assert data.label_name == "f3"


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
def test_other_marks_are_refused(
    decimal: str | None, thousands: str | None, message: str, tmp_path: Path
) -> None:
    with pytest.raises(InvalidInputError, match=re.escape(message)):
        read_csv(tmp_path / "t.csv", decimal=decimal, thousands=thousands)
