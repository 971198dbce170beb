"""Samples at the door of the estimators: what scikit-learn alone would let through."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import gdaopt as gda
from gdaopt.estimators import EuclideanMetric

X = np.array([[0.0, 1.0], [2.0, 3.0], [5.0, 4.0], [1.0, 7.0]])
Y = ["a", "b", "a", "b"]
MASKED = np.ma.masked_equal(X, 7.0)
DATES = np.full((4, 2), "2020-01-01", dtype="datetime64[D]")


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        (MASKED, r"X has 1 masked value\(s\); remove them"),
        (list(MASKED), r"X has 1 masked value\(s\); remove them"),
        (DATES, "X holds dates or times; pass numbers"),
        (DATES - DATES, "X holds dates or times; pass numbers"),
        ([[10**400, 0]] * 4, "X holds a number that is too large for a float of 64 bits"),
    ],
    ids=["mask", "masked rows", "dates", "durations", "10^400"],
)
@pytest.mark.parametrize(
    "estimator",
    [
        EuclideanMetric(),
        gda.GraphClassifier(),
        gda.estimators.MetricKNeighborsClassifier(1),
        gda.estimators.OneVsRestMetricClassifier(EuclideanMetric()),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_what_is_no_array_of_numbers_is_refused(estimator: Any, samples: Any, message: str) -> None:
    with pytest.raises(gda.errors.InvalidInputError, match=message):
        estimator.fit(samples, Y)
    fitted = estimator.fit(X, Y)
    with pytest.raises(gda.errors.InvalidInputError, match=message):
        (fitted.predict if hasattr(fitted, "predict") else fitted.transform)(samples)


@pytest.mark.parametrize("estimator", [EuclideanMetric(), gda.GraphClassifier()])
def test_masked_labels_are_refused(estimator: Any) -> None:
    labels = np.ma.masked_equal([0, 1, 0, 2], 2)
    with pytest.raises(gda.errors.InvalidInputError, match="y has 1 masked"):
        estimator.fit(X, labels)


def test_a_mask_that_hides_nothing_is_no_mask() -> None:
    assert np.array_equal(EuclideanMetric().fit(np.ma.masked_array(X), Y).metric_, np.eye(2))


def test_columns_of_text_are_named() -> None:
    frame = pd.DataFrame({"width": [1.0, 2, 3, 4], "colour": ["red", "blue", "red", "red"]})
    message = "column 'colour' of X holds text, such as 'red'; turn it into numbers"
    for table in (frame, frame.astype({"colour": "category"})):
        with pytest.raises(gda.errors.InvalidInputError, match=message):
            gda.GraphMetricLearner().fit(table, Y)
        with pytest.raises(gda.errors.InvalidInputError, match=message):
            gda.GraphClassifier().fit(table, Y)
    frame["shape"] = ["round", "flat", "flat", "round"]
    with pytest.raises(
        gda.errors.InvalidInputError,
        match="columns 'colour', 'shape' of X hold text, such as 'red'; turn them",
    ):
        EuclideanMetric().fit(frame, Y)
    rows = [[1, "2.5"], [2, "3"], [4, "much"], [0, "1"]]
    with pytest.raises(
        gda.errors.InvalidInputError, match="column 1 of X holds text, such as 'much'"
    ):
        EuclideanMetric().fit(rows, Y)
    numbers = pd.DataFrame({"width": [1.0, 2, 3, 4], "height": ["1", "2.5", "3", "4"]})
    assert EuclideanMetric().fit(numbers, Y).n_features_in_ == 2  # as scikit-learn reads it
