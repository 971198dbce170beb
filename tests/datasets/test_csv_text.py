"""Tables of text: separators, encodings and decimal marks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gdaopt.datasets import read_csv
from gdaopt.datasets.csv_text import read_text
from gdaopt.errors import InvalidInputError


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_separators_and_encodings(
    tmp_path: Path, separator: str, encoding: str, line_end: str
) -> None:
    lines = [["größe", "b", "kind"], ["1.5", "2", "x"], ["-3e-2", "", "y"], [" 4", "7", "x"]]
    text = line_end.join(separator.join(line) for line in lines)
    (tmp_path / "t.csv").write_bytes(text.encode(encoding))
    data = read_csv(tmp_path / "t.csv", impute="mean")
    assert data.feature_names == ("größe", "b")
    assert data.labels.tolist() == ["x", "y", "x"]
    np.testing.assert_array_equal(data.features, [[1.5, 2.0], [-0.03, 4.5], [4.0, 7.0]])


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_decimal_commas(tmp_path: Path, separator: str) -> None:
    lines = [["a", "b", "kind"], ["1,5", "2", "x"], ["-,25", "1,5e-3", "y"], ["7,", "0", "1,5"]]
    text = "\n".join(separator.join(line) for line in lines)
    data = read_csv(write(tmp_path / "t.csv", text))
    np.testing.assert_array_equal(data.features, [[1.5, 2.0], [-0.25, 1.5e-3], [7.0, 0.0]])
    assert data.labels.tolist() == ["x", "y", "1,5"]  # as written


def test_decimal_commas_beside_points_are_refused(tmp_path: Path) -> None:
    """1.234 beside 1,5 may be one thousand or little more than one."""
    path = write(tmp_path / "t.csv", "a;b;kind\n1,5;2;x\n1.234;3;y\n")
    with pytest.raises(InvalidInputError, match=r"'a' holds '1\.234' in row 2.*decimal commas"):
        read_csv(path)


def test_a_quoted_comma_between_commas_is_no_decimal_mark(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", 'a,b,kind\n"1,234",2,x\n5,3,y\n')
    with pytest.raises(InvalidInputError, match=r"'a' holds '1,234' in row 1.*decimal points"):
        read_csv(path)


def test_names_with_the_other_separators(tmp_path: Path) -> None:
    data = read_csv(write(tmp_path / "t.csv", "length, cm;width, cm;kind\n1;2;a, b\n3;4;c\n"))
    assert data.feature_names == ("length, cm", "width, cm")
    assert data.labels.tolist() == ["a, b", "c"]


@pytest.mark.parametrize(
    ("text", "separator", "decimal"),
    [
        ("a,b\n1,2\n", ",", "."),
        ("a;b\n1,5;2,5\n", ";", ","),
        ("a\tb\n1.5\t2\n", "\t", "."),
        ("a|b\n1|x,y\n", "|", "."),
        ('"a;b",c\n1,2\n', ",", "."),
        ("a;b,c\n1;2\n", ";", "."),
    ],
)
def test_what_separates_values(tmp_path: Path, text: str, separator: str, decimal: str) -> None:
    table = read_text(write(tmp_path / "t.csv", text))
    assert (table.separator, table.decimal) == (separator, decimal)
    assert len(table.columns.columns) == 2
