"""Data sets: what they hold, what they refuse, and how their features are scaled."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gdaopt.datasets import BUILTIN, Dataset, load, read_csv
from gdaopt.errors import InvalidInputError


def dataset(**changes: Any) -> Dataset:
    """Return a small valid data set, or what becomes of it with these changes."""
    values: dict[str, Any] = {
        "name": "small",
        "features": [[1, 2], [3, 4], [5, 7]],
        "labels": ["b", "a", "b"],
        "feature_names": ["length", "width"],
    }
    return Dataset(**(values | changes))


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


class TestDataset:
    def test_holds_read_only_copies(self) -> None:
        features = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]])
        data = dataset(features=features)
        features[0, 0] = 99.0
        assert data.features[0, 0] == 1.0
        with pytest.raises(ValueError, match="read-only"):
            data.features[0, 0] = 0.0
        with pytest.raises(ValueError, match="read-only"):
            data.labels[0] = "a"

    def test_labels_of_any_type_become_text(self) -> None:
        assert dataset(labels=[1, 0, 1]).classes == ("0", "1")

    def test_classes_are_in_natural_order(self) -> None:
        names = [f"c{i}" for i in (10, 9, 2, 1)]
        data = dataset(features=np.eye(4, 2), labels=names)
        assert data.classes == ("c1", "c2", "c9", "c10")

    def test_signal(self) -> None:
        np.testing.assert_array_equal(dataset().signal("b"), [1.0, -1.0, 1.0])

    def test_signal_of_an_unknown_class(self) -> None:
        data = dataset(labels=["setosa", "virginica", "setosa"])
        with pytest.raises(InvalidInputError, match="did you mean 'virginica'"):
            data.signal("virginca")

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"features": [[1, 2], [3, np.nan], [5, 7]]}, r"features holds nan at index \(1, 1\)"),
            ({"features": [[1, 2], [3, 4], [np.inf, 7]]}, r"features holds inf at index \(2, 0\)"),
            ({"features": [["1", "x"], ["3", "4"], ["5", "7"]]}, "array of numbers.*'x'"),
            ({"features": [1, 2, 3]}, r"2 dimension\(s\), got shape \(3,\)"),
            ({"features": np.empty((3, 0)), "feature_names": []}, r"empty \(shape \(3, 0\)\)"),
            ({"features": [[1, 2]], "labels": ["a"]}, "1 row"),
            ({"labels": ["a", "b"]}, r"labels have shape \(2,\), features have 3 rows"),
            ({"labels": ["a", "a", "a"]}, "all 3 labels are 'a'"),
            ({"feature_names": ["length"]}, "1 feature_names for 2 columns"),
        ],
    )
    def test_refuses(self, changes: dict[str, Any], message: str) -> None:
        with pytest.raises(InvalidInputError, match=message):
            dataset(**changes)


class TestLoad:
    @pytest.mark.parametrize(
        ("name", "shape", "classes"),
        [
            ("iris", (150, 4), ("setosa", "versicolor", "virginica")),
            ("wine", (178, 13), ("class_0", "class_1", "class_2")),
            ("breast_cancer", (569, 30), ("benign", "malignant")),
        ],
    )
    def test_builtin(self, name: str, shape: tuple[int, int], classes: tuple[str, ...]) -> None:
        data = load(name)
        assert name in BUILTIN
        assert data.name == name
        assert data.features.shape == shape
        assert data.classes == classes

    def test_unknown(self) -> None:
        with pytest.raises(
            InvalidInputError, match="unknown data set 'wines'; did you mean 'wine'"
        ):
            load("wines")


class TestReadCsv:
    def test_last_column_is_the_label_by_default(self, tmp_path: Path) -> None:
        data = read_csv(write(tmp_path / "leaves.csv", "a,b,kind\n1,2,x\n-3e-2,4.5,y\n"))
        assert data.name == "leaves"
        assert data.feature_names == ("a", "b")
        assert data.labels.tolist() == ["x", "y"]
        np.testing.assert_array_equal(data.features, [[1.0, 2.0], [-0.03, 4.5]])

    def test_label_by_name(self, tmp_path: Path) -> None:
        data = read_csv(write(tmp_path / "t.csv", "a,kind,b\n1,x,2\n3,y,4\n"), label="kind")
        assert data.feature_names == ("a", "b")
        np.testing.assert_array_equal(data.features, [[1.0, 2.0], [3.0, 4.0]])

    def test_values_are_read_to_the_last_bit(self, tmp_path: Path) -> None:
        values = np.random.default_rng(2).normal(size=200) * 10.0 ** np.arange(-100, 100)
        lines = [f"{value!r},{i % 2}" for i, value in enumerate(values.tolist())]
        data = read_csv(write(tmp_path / "t.csv", "\n".join(["a,kind", *lines])))
        np.testing.assert_array_equal(data.features[:, 0], values)

    def test_labels_are_kept_as_written(self, tmp_path: Path) -> None:
        data = read_csv(write(tmp_path / "t.csv", "a,kind\n1,NA\n2,01\n3,None\n"))
        assert data.labels.tolist() == ["NA", "01", "None"]

    def test_spaces_quotes_and_byte_order_mark(self, tmp_path: Path) -> None:
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
        ],
    )
    def test_refuses(self, tmp_path: Path, text: str, message: str) -> None:
        with pytest.raises(InvalidInputError, match=message):
            read_csv(write(tmp_path / "t.csv", text))

    def test_refuses_an_unknown_column(self, tmp_path: Path) -> None:
        path = write(tmp_path / "t.csv", "a,kind\n1,x\n2,y\n")
        with pytest.raises(InvalidInputError, match="'knd'; did you mean 'kind'"):
            read_csv(path, label="knd")

    def test_refuses_what_is_no_text_file(self, tmp_path: Path) -> None:
        with pytest.raises(InvalidInputError, match="No such file"):
            read_csv(tmp_path / "absent.csv")
        with pytest.raises(InvalidInputError, match="cannot read"):
            read_csv(tmp_path)
        (tmp_path / "latin.csv").write_bytes("a,kind\n1,é\n2,y\n".encode("latin-1"))
        with pytest.raises(InvalidInputError, match="utf-8"):
            read_csv(tmp_path / "latin.csv")
