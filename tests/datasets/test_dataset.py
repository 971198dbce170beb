"""Data sets: what they hold, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

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


def test_labels_of_any_type_become_text() -> None:
    assert dataset(labels=[1, 0, 1]).classes == ("0", "1")


def test_classes_are_in_natural_order() -> None:
    names = [f"c{i}" for i in (10, 9, 2, 1)]
    data = dataset(features=np.eye(4, 2), labels=names)
    assert data.classes == ("c1", "c2", "c9", "c10")


def test_signal() -> None:
    np.testing.assert_array_equal(dataset().signal("b"), [1.0, -1.0, 1.0])


def test_signal_of_an_unknown_class() -> None:
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
def test_refuses(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        dataset(**changes)
