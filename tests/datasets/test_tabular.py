"""Data sets from CSV files: what is read, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gdaopt.datasets import read_csv
from gdaopt.errors import InvalidInputError


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_last_column_is_the_label_by_default(tmp_path: Path) -> None:
    data = read_csv(write(tmp_path / "leaves.csv", "a,b,kind\n1,2,x\n-3e-2,4.5,y\n"))
    assert data.name == "leaves"
    assert data.feature_names == ("a", "b")
    assert data.labels.tolist() == ["x", "y"]
    np.testing.assert_array_equal(data.features, [[1.0, 2.0], [-0.03, 4.5]])


def test_label_by_name(tmp_path: Path) -> None:
    data = read_csv(write(tmp_path / "t.csv", "a,kind,b\n1,x,2\n3,y,4\n"), label="kind")
    assert data.feature_names == ("a", "b")
    np.testing.assert_array_equal(data.features, [[1.0, 2.0], [3.0, 4.0]])


def test_values_are_read_to_the_last_bit(tmp_path: Path) -> None:
    values = np.random.default_rng(2).normal(size=200) * 10.0 ** np.arange(-100, 100)
    lines = [f"{value!r},{i % 2}" for i, value in enumerate(values.tolist())]
    data = read_csv(write(tmp_path / "t.csv", "\n".join(["a,kind", *lines])))
    np.testing.assert_array_equal(data.features[:, 0], values)


def test_labels_are_kept_as_written(tmp_path: Path) -> None:
    data = read_csv(write(tmp_path / "t.csv", "a,kind\n1,NA\n2,01\n3,None\n"))
    assert data.labels.tolist() == ["NA", "01", "None"]


def test_spaces_quotes_and_byte_order_mark(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", '\ufeffa, "b, c" ,kind\n 1 , 2 , x \n3,4,"y"\n\n')
    data = read_csv(path)
    assert data.feature_names[0] == "a"
    assert data.labels.tolist() == ["x", "y"]
    np.testing.assert_array_equal(data.features, [[1.0, 2.0], [3.0, 4.0]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "No columns"),
        ("a,kind\n", "no rows"),
        ("a;kind\n1;x\n2;y\n", "one column 'a;kind'.*separated by commas"),
        ("a,kind\n1,x\n2,y,3\n", "Expected 2 fields in line 3, saw 3"),
        ("a,kind\n1,x,3\n2,y,3\n", "does not name every column"),
        (",a,kind\n0,1,x\n1,2,y\n", "does not name every column"),
        ("a,b,kind\n1,2,x\n1,two,y\n1,three,x\n", "column 'b' holds 'two' in row 2"),
        ("a,b,kind\n1,2,x\n,2,y\n", "column 'a' holds '' in row 2"),
        ("a,b,kind\n1,2,x\n1,NaN,y\n", "column 'b' holds 'NaN' in row 2"),
        ("a,b,kind\n1,-inf,x\n1,2,y\n", "column 'b' holds '-inf' in row 1"),
        ("a,b,kind\n1,True,x\n1,False,y\n", "column 'b' holds 'True' in row 1"),
        ("a,b,kind\n1,2,x\n1,2,\n", "column 'kind' holds no label in row 2"),
        ("a,b,kind\n1,2,x\n1\n", "column 'kind' holds no label in row 2"),
        ("a,kind\n1,x\n2,x\n", "all 2 labels are 'x'"),
        ("a,kind\n1,x\n", "1 row"),
        ("a,b,kind\n1_0,2,x\n1,2,y\n", "column 'a' holds '1_0' in row 1"),
        ("a,b,kind\n１,2,x\n1,2,y\n", "column 'a' holds '１' in row 1"),
        ("5.1,3.5,x\n4.9,3.0,y\n", "the first line holds numbers, '5.1, 3.5', where names of"),
        ("5.1,3.5,1\n4.9,3.0,2\n", "the first line holds numbers.*write a line of names above"),
        ("a,b, a,kind\n1,2,3,x\n4,5,6,y\n", "two columns of the name 'a'; rename one"),
        ("a,a,a.1,kind\n1,2,3,x\n4,5,6,y\n", "two columns of the name 'a'; rename one"),
    ],
)
def test_refuses(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        read_csv(write(tmp_path / "t.csv", text))


@pytest.mark.parametrize("header", ["0,1,kind", "1,2,kind", "2020,b,kind"])
def test_names_may_be_numbers_that_count_or_stand_beside_words(tmp_path: Path, header: str) -> None:
    data = read_csv(write(tmp_path / "t.csv", f"{header}\n1,2,x\n3,4,y\n"))
    assert data.feature_names == tuple(header.split(",")[:2])


def test_a_named_label_says_that_the_first_line_holds_names(tmp_path: Path) -> None:
    data = read_csv(write(tmp_path / "t.csv", "2020,2021,kind\n1,2,x\n3,4,y\n"), label="kind")
    assert data.feature_names == ("2020", "2021")


def test_refuses_an_unknown_column(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "a,kind\n1,x\n2,y\n")
    with pytest.raises(InvalidInputError, match="'knd'; did you mean 'kind'"):
        read_csv(path, label="knd")


def test_refuses_what_is_no_text_file(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="No such file"):
        read_csv(tmp_path / "absent.csv")
    with pytest.raises(InvalidInputError, match="cannot read"):
        read_csv(tmp_path)
    (tmp_path / "latin.csv").write_bytes("a,kind\n1,é\n2,y\n".encode("latin-1"))
    with pytest.raises(InvalidInputError, match="utf-8"):
        read_csv(tmp_path / "latin.csv")
