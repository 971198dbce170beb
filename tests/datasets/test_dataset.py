"""Data sets: what they hold, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from gdaopt.datasets import BUILTIN, FROM_UCI, Dataset, load
from gdaopt.datasets.remarks import remarks
from gdaopt.errors import InvalidInputError


def dataset(**changes: Any) -> Dataset:
    """Return a small valid data set with some of its values changed."""
    values: dict[str, Any] = {
        "name": "small",
        "features": [[1, 2], [3, 4], [5, 7]],
        "labels": ["b", "a", "b"],
        "feature_names": ["length", "width"],
    }
    return Dataset(**(values | changes))


def test_holds_read_only_copies() -> None:
    features = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]])
    data = dataset(features=features)
    features[0, 0] = 99.0
    assert data.features[0, 0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        data.features[0, 0] = 0.0
    with pytest.raises(ValueError, match="read-only"):
        data.labels[0] = "a"


def test_numbers_of_any_length_are_in_order() -> None:
    """Python makes no whole number of more than 4300 digits."""
    names = ["9" * 5000, "1" + "0" * 5000, "7", "007", "c10", "c9", "a0b", "a"]
    data = dataset(features=np.eye(8, 2), labels=names)
    assert data.classes == ("007", "7", "9" * 5000, "1" + "0" * 5000, "a", "a0b", "c9", "c10")


def test_labels_of_numbers_and_truth_values_are_text() -> None:
    assert dataset(labels=[1, 0, 1]).classes == ("0", "1")
    assert dataset(labels=[1.0, 2.5, 1.0]).classes == ("1.0", "2.5")
    assert dataset(labels=np.array([True, False, True])).classes == ("False", "True")
    assert dataset(labels=np.array([0.1, 2, 2], dtype=np.float32)).classes == ("0.1", "2.0")


def test_signal() -> None:
    np.testing.assert_array_equal(dataset().signal("b"), [1.0, -1.0, 1.0])
    with pytest.raises(InvalidInputError, match="did you mean 'virginica'"):
        dataset(labels=["setosa", "virginica", "setosa"]).signal("virginca")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"features": [[1, 2], [3, np.nan], [5, 7]]},
            r"holds nan at index \(1, 1\); remove or impute",
        ),
        ({"features": [[1, 2], [3, 4], [np.inf, 7]]}, r"features holds inf at index \(2, 0\)"),
        ({"features": [["1", "x"], ["3", "4"], ["5", "7"]]}, "array of numbers.*'1' at"),
        ({"features": [1, 2, 3]}, r"2 dimension\(s\), got shape \(3,\)"),
        ({"features": np.empty((3, 0)), "feature_names": []}, r"empty \(shape \(3, 0\)\)"),
        ({"features": [[1, 2]], "labels": ["a"]}, "1 row"),
        ({"labels": ["a", "b"]}, r"labels have shape \(2,\), features have 3 rows"),
        ({"labels": ["a", "a", "a"]}, "all 3 labels are 'a'"),
        ({"feature_names": ["length"]}, "1 feature_names for 2 columns"),
        ({"feature_names": "ab"}, "feature_names must be one for each column, got 'ab'"),
        ({"feature_names": ["a", "b\0"]}, "the feature name at index 1 is .*files of text"),
        ({"name": None}, "name must be text, got None"),
        ({"labels": ["a", None, "b"]}, "labels hold None at index 1; .*remove the rows without"),
        ({"labels": ["a", np.nan, "b"]}, "labels hold nan at index 1; remove the rows without"),
        ({"labels": [1.0, np.nan, 2.0]}, "labels hold nan at index 1; remove the rows without"),
        ({"labels": pd.array([1, None, 2])}, "labels hold nan at index 1; remove"),
        ({"labels": [["a"], ["b"], ["a", "b"]]}, r"labels hold \['a'\] at index 0; a label is"),
        ({"labels": "aba"}, "labels must be one for each row, got 'aba'"),
        ({"labels": np.ma.masked_equal([1, 2, 1], 2)}, r"labels has 1 masked value\(s\)"),
        ({"labels": ["a", "b\ud800", "a"]}, r"the label at index 1 is 'b\\ud800', with a char"),
        ({"features": np.ma.masked_equal(np.eye(3, 2), 1)}, r"features has 2 masked value\(s\)"),
    ],
)
def test_refuses(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        dataset(**changes)


# --- Remarks on data sets that look odd ----------------------------------------------------------


RNG = np.random.default_rng(5)


def of_column(column: Any, labels: Any = None) -> Dataset:
    n_samples = len(column)
    features = np.column_stack([RNG.standard_normal(n_samples), column])
    if labels is None:
        labels = [f"c{i % 2}" for i in range(n_samples)]
    return Dataset("d", features, labels, ("x", "y"))


CONSTANT = "column 'y' is constant and says nothing; --drop y leaves it out"
COLUMNS: dict[str, list[Any]] = {
    CONSTANT: [np.full(9, 2.5)],
    "": [RNG.integers(0, 30, 30), np.arange(30) / 2, 10 * np.arange(30), RNG.permutation(9)],
}


@pytest.mark.parametrize(
    ("remark", "column"), [(remark, column) for remark in COLUMNS for column in COLUMNS[remark]]
)
def test_columns_that_look_odd(remark: str, column: Any) -> None:
    assert remarks(of_column(column)) == ([remark] if remark else [])


def test_of_many_odd_columns_some_are_named() -> None:
    data = Dataset("d", np.ones((4, 7)), np.array(["a", "b"] * 2), tuple("abcdefg"))
    (remark,) = remarks(data)
    assert remark.startswith("columns 'a', 'b', 'c', 'd', 'e' and 2 more are constant")


@pytest.mark.parametrize(
    ("labels", "is_odd"),
    [
        (np.arange(30), True),
        (RNG.standard_normal(30), True),
        ([f"{i},5" for i in range(30)], True),
        ([0.5, 1.0] * 15, True),
        ([0, 1, 2] * 10, False),
        (["1.0", "2.0"] * 15, False),
        ([f"c{i}" for i in range(30)], False),
    ],
)
def test_labels_that_look_continuous(labels: Any, is_odd: bool) -> None:
    found = remarks(of_column(RNG.standard_normal(30), labels))
    assert ["look like measurements" in remark for remark in found] == [True] * is_odd


@pytest.mark.parametrize(
    ("labels", "pair"),
    [
        (["1", "2", "1.0"], "'1' and '1.0'"),
        (["yes", "no", "Yes"], "'Yes' and 'yes'"),
        (["c1", "c01", "2"], None),
    ],
)
def test_labels_that_are_written_alike(labels: list[str], pair: str | None) -> None:
    found = remarks(of_column(RNG.standard_normal(30), labels * 10))
    said = f"the labels {pair} differ in writing alone, and are two classes; write them alike"
    assert [remark.startswith(said) for remark in found] == [True] * (pair is not None)


@pytest.mark.parametrize("name", [name for name in BUILTIN if name not in FROM_UCI])
def test_nothing_is_odd_in_the_data_sets_by_name(name: str) -> None:
    assert remarks(load(name)) == []
