"""Remarks on data sets that look odd."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gdaopt.datasets import BUILTIN, FROM_UCI, Dataset, load
from gdaopt.datasets.tabular import remarks

RNG = np.random.default_rng(5)


def dataset(column: Any, labels: Any = None) -> Dataset:
    n_samples = len(column)
    features = np.column_stack([RNG.standard_normal(n_samples), column])
    if labels is None:
        labels = [f"c{i % 2}" for i in range(n_samples)]
    return Dataset("d", features, labels, ("x", "y"))


@pytest.mark.parametrize(
    "column", [np.arange(30), np.arange(1001, 1031), RNG.permutation(40)[:30], np.arange(3)]
)
def test_a_column_that_numbers_the_rows(column: Any) -> None:
    assert remarks(dataset(column)) == ["column 'y' numbers the rows; --drop y leaves it out"]


@pytest.mark.parametrize(
    "column",
    [RNG.integers(0, 30, 30), np.arange(30) / 2, 10 * np.arange(30), RNG.permutation(9)],
)
def test_other_columns_are_features(column: Any) -> None:
    assert remarks(dataset(column)) == []


def test_constant_columns() -> None:
    assert remarks(dataset(np.full(9, 2.5))) == [
        "column 'y' is constant and says nothing; --drop y leaves it out"
    ]
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
    found = remarks(dataset(RNG.standard_normal(30), labels))
    assert ["look like measurements" in remark for remark in found] == [True] * is_odd


@pytest.mark.parametrize("name", [name for name in BUILTIN if name not in FROM_UCI])
def test_nothing_is_odd_in_the_data_sets_by_name(name: str) -> None:
    assert remarks(load(name)) == []
