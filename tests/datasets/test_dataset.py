"""Data sets: what they hold, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csc_array, csr_array

from gdaopt.datasets import Dataset
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


def test_signal_of_an_unknown_class() -> None:
    data = dataset(labels=["setosa", "virginica", "setosa"])
    with pytest.raises(InvalidInputError, match="did you mean 'virginica'"):
        data.signal("virginca")


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


def test_sparse_samples_are_kept_in_one_form() -> None:
    values, rows, columns = [1.0, 2.0, 0.0, 3.0], [0, 0, 1, 1], [2, 0, 1, 2]
    X = csr_array((values, (rows, columns)), shape=(2, 3))
    one = Dataset("d", X, np.array([1, 2]), ("a", "b", "c"))
    other = Dataset("d", csc_array(X.toarray()), np.array([1, 2]), ("a", "b", "c"))
    assert one.sha256 == other.sha256
    assert one.features.nnz == 3
    assert not one.features.data.flags.writeable
    assert one.sha256 != Dataset("d", 2 * X, np.array([1, 2]), ("a", "b", "c")).sha256
    with pytest.raises(InvalidInputError, match="features holds nan"):
        Dataset("d", np.nan * X, np.array([1, 2]), ("a", "b", "c"))
