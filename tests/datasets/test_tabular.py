"""Data sets from CSV and svmlight files: what is read, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

import gdaopt as gda
from gdaopt.datasets import read_svmlight, read_table
from gdaopt.errors import InvalidInputError


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("a,b,kind\n1.5,2,x\n-5e-1,7,y\n", {}),
        ("a,kind,b\n1.5,x,2\n-.5,y,7\n", {"label": "kind"}),
        ('\ufeffa, "b" ,kind\n 1.5 , 2 , x \n-5e-1,7,"y"\n\n', {}),
        ("id,a,b,kind,note\nA7,1.5,2,x,good\nA8,-5e-1,7,y,\n", {"drop": ["note", "id"]}),
        *((f"a{end}b{end}kind\n1,5{end}2,{end}x\n-,5{end}7,0e0{end}y\n", {}) for end in ";\t|"),
        # A line with the separator, and empty rows and columns, as spreadsheets add them
        ("sep=;\na;b;kind\n1,5;2;x\n-0,5;7;y\n", {}),
        ('"sep=\t"\r\na\tb\tkind\r\n1,5\t2\tx\r\n-0,5\t7\ty\r\n', {}),
        ("\ufeffsep=:\na:b:kind\n1,5:2:x\n-0,5:7:y\n", {}),
        ("a;b;kind;;\n1,5;2;x;;\n-0,5;7;y;;\n", {}),
        (";a;;b;kind\n;1,5;;2;x\n;;;;\n;-0,5;;7;y\n;;;;\n", {}),
        (";;\na;b;kind\n1.5;2;x\n-0.5;7;y\n", {}),
    ],
)
def test_a_table(tmp_path: Path, text: str, options: dict[str, Any]) -> None:
    data = read_table(write(tmp_path / "leaves.csv", text), **options)
    assert data.name == "leaves"
    assert data.feature_names == ("a", "b")
    assert data.labels.tolist() == ["x", "y"]
    np.testing.assert_array_equal(data.features, [[1.5, 2.0], [-0.5, 7.0]])


@pytest.mark.parametrize(
    ("header", "label", "names"),
    [
        ("0,1,kind", None, ("0", "1")),  # numbers that count
        ("1,2,kind", None, ("1", "2")),
        ("2020,b,kind", None, ("2020", "b")),  # or stand beside words
        ("2020,2021,kind", "kind", ("2020", "2021")),  # or a label that is named says that they are
        ('a,"b, c",kind', None, ("a", "b, c")),
    ],
)
def test_names(tmp_path: Path, header: str, label: str | None, names: tuple[str, ...]) -> None:
    data = read_table(write(tmp_path / "t.csv", f"{header}\n1,2,Nan’s\n3,4,01\n5,6,1.0\n"), label)
    assert data.feature_names == names
    assert data.labels.tolist() == ["Nan’s", "01", "1.0"]  # as written


def test_values_are_read_to_the_last_bit(tmp_path: Path) -> None:
    values = np.random.default_rng(2).normal(size=200) * 10.0 ** np.arange(-100, 100)
    lines = [f"{value!r},{i % 2}" for i, value in enumerate(values.tolist())]
    data = read_table(write(tmp_path / "t.csv", "\n".join(["a,kind", *lines])))
    np.testing.assert_array_equal(data.features[:, 0], values)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no values"),
        ("a,kind\n", "no rows"),
        ("a:kind\n1:x\n2:y\n", "one column 'a:kind'.*separated by commas, semicolons, tabs, bars"),
        ("a,b,kind\n1,2,x\n1,two,y\n1,3,x\n", "'b' holds 'two' in row 2.*--missing two --impute"),
        ("a,b,kind\n1,2,x\n,2,y\n", r"column 'a' holds no value \(''\) in row 2"),
        ("a,b,kind\n1,-inf,x\n1,2,y\n", "column 'b' holds '-inf' in row 1"),
        ("a,kind\n1,x\n", "1 row"),
        ("a,b,kind\n1_0,2,x\n1,2,y\n", "column 'a' holds '1_0' in row 1"),
        ("a,b,kind\n１,2,x\n1,2,y\n", "column 'a' holds '１' in row 1"),
        ("5.1,3.5,x\n4.9,3.0,y\n", "first line holds numbers, '5.1, 3.5, x', .*pass --label x if"),
        ("a,b,kind\n1,2,\n1,2,\n", "'kind' holds no label; name another one by --label"),
        (";;\n;;\n", "holds no values"),
        ("a;b;kind\n1;2;x\n;;\n3;red;y\n", "holds 'red' in row 3,"),  # empty rows count
        (
            "a,b,c,d,kind\n1,red,1,,x\n2,red,1,2,y\n3,blue,inf,2,x\n",
            r"'c' holds 'inf' in row 3.*'d' holds no value \(''\) in row 1.*--drop c,d, which",
        ),
    ],
)
def test_refuses(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        read_table(write(tmp_path / "t.csv", text))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"drop": ["nid"]}, "unknown column of .*'nid'; did you mean 'id'"),
        ({"label": "knd"}, "'knd'; did you mean 'kind'"),
        ({"drop": ["id"], "label": "id"}, "'id' is the label and cannot be dropped"),
        ({"drop": ["id", "a", "b"]}, "what is not dropped are 1 columns"),
        ({"drop": "id"}, r"drop must be names of columns, such as \['id'\], got 'id'"),
        ({"impute": "men"}, "unknown impute 'men'; did you mean 'mean'"),
    ],
)
def test_refuses_options(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    path = write(tmp_path / "t.csv", "id,a,b,kind\n7,1,,x\n8,2,?,y\n")
    with pytest.raises(InvalidInputError, match=message):
        read_table(path, **options)


@pytest.mark.parametrize(("impute", "filled"), [("mean", 4.0), ("median", 2.0)])
@pytest.mark.parametrize("missing", ["", "?", "NA", "NaN", "null", "#N/A", "-"])
def test_missing_values_filled(tmp_path: Path, impute: str, filled: float, missing: str) -> None:
    path = write(tmp_path / "t.csv", f"a,b,kind\n1,1,x\n{missing},2,y\n2,3,x\n9,4,y\n")
    np.testing.assert_array_equal(
        read_table(path, impute=impute).features, [[1, 1], [filled, 2], [2, 3], [9, 4]]
    )
    with pytest.raises(InvalidInputError, match=r"column 'a' holds .* in row 2.*--impute mean"):
        read_table(path)


def test_refuses_what_is_no_text_file(tmp_path: Path) -> None:
    for name, message in (("absent", "No such file"), ("", "cannot read")):
        with pytest.raises(InvalidInputError, match=message):
            read_table(tmp_path / name)


# --- Separators, encodings and decimal marks ----------------------------------------------------


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_separators(tmp_path: Path, separator: str, encoding: str, line_end: str) -> None:
    lines = [["größe", "b", "kind"], ["1.5", "2", "x"], ["-3e-2", "", "y"], [" 4", "7", "x"]]
    text = line_end.join(separator.join(line) for line in lines)
    (tmp_path / "t.csv").write_bytes(text.encode(encoding))
    data = read_table(tmp_path / "t.csv", impute="mean")
    assert data.feature_names == ("größe", "b")
    assert data.labels.tolist() == ["x", "y", "x"]
    np.testing.assert_array_equal(data.features, [[1.5, 2.0], [-0.03, 4.5], [4.0, 7.0]])


# --- Sparse samples from svmlight files -----------------------------------------------------------


@pytest.mark.parametrize("zero_based", [True, False])
@pytest.mark.parametrize("labels", [[-1, 1], [0.5, 2.0], [3, 7]])
def test_samples_can_be_learned_from(labels: list[float], zero_based: bool, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(1, 9, (20, 30)) / 8 * (rng.random((20, 30)) < 0.3)
    y = np.tile(labels, 10)
    dump_svmlight_file(X, y, str(tmp_path / "a.svm"), zero_based=zero_based)
    found, classes = read_svmlight(tmp_path / "a.svm", n_features=30)
    np.testing.assert_array_equal(found.toarray(), X)
    np.testing.assert_array_equal(classes, y)
    assert classes.dtype.kind == ("f" if labels[0] == 0.5 else "i")
    if labels[0] != 0.5:  # scikit-learn takes fractions for no classes
        learner = gda.DiagonalMetricLearner().fit(found, classes)
        np.testing.assert_array_equal(learner.classes_, labels)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\n1,2\n", "no file in the svmlight format"),
        ("1 2:x\n", "no file in the svmlight format"),
        ("1 3:1 2:1\n", "no file in the svmlight format"),
        ("1 5:1\n", "holds the index 5; of 4 features counted from 1 the last is 4"),
        ("1,2 1:1\n2 2:1\n", "has lines with several labels, separated by commas"),
        ("spam 1:1\n", "no file in the svmlight format"),
        ("", "holds no samples"),
        ("# a comment\n", "holds no samples"),
        ("1 2:nan\n", "not finite"),
        ("inf 2:1\n", "not finite"),
    ],
)
def test_other_files_are_refused(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "a.svm"
    path.write_text(text)
    with pytest.raises(InvalidInputError, match=words):
        read_svmlight(path, n_features=4)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"b\.svm cannot be read: .*o such file"):
        read_svmlight(tmp_path / "b.svm")
    with pytest.raises(InvalidInputError, match="n_features must be at least 1"):
        read_svmlight(tmp_path / "b.svm", n_features=0)
