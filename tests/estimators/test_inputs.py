"""What estimators are given: labels of any kind, partly missing, and samples.

Of the samples here is what scikit-learn alone would let through.
"""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.neighbors import KNeighborsClassifier

import gdaopt as gda
from gdaopt.estimators import OneVsRestMetricClassifier, expected_failed_checks
from gdaopt.estimators.baselines import EuclideanMetric, HarmonicEntropyWeights
from gdaopt.estimators.graph_classifier import GraphClassifier


@pytest.mark.parametrize(
    ("y", "missing"),
    [
        (["a", "b", -1], -1),
        (["a", "b", None], None),
        (["a", "b", float("nan")], float("nan")),
        (["a", "b", None], float("nan")),
        (["a", "b", "?"], "?"),
        (np.array(["a", "b", ""]), ""),
        (np.array(["a", "b", -1], dtype=object), -1),
        (pd.Series(["a", "b", None]), None),
        (pd.Series(["a", "b", None], dtype="string"), pd.NA),
        (pd.Series(["a", "b", None], dtype="category"), None),
        ([1, 2, -1], -1),
        ([1.0, 2.0, float("nan")], None),
        ([-1, 1, 0], 0),
        ([-1, 1, None], None),
        ([False, True, -1], -1),
        (pd.Series([1, 2, None], dtype="Int64"), None),
    ],
)
def test_labels_of_any_kind(y: Any, missing: Any) -> None:
    classifier = GraphClassifier(missing_label=missing).fit([[0.0], [1.0], [0.9]], y)
    first, second = list(y)[:2]
    assert classifier.classes_.tolist() == [first, second]
    assert classifier.transduction_.tolist() == [first, second, second]
    assert classifier.predict([[0.1], [0.8]]).tolist() == [first, second]


def test_checks_of_scikit_learn_that_fail_are_told() -> None:
    told = [gda.GraphClassifier(), OneVsRestMetricClassifier(), KNeighborsClassifier()]
    assert [len(expected_failed_checks(estimator)) for estimator in told] == [1, 1, 0]
    for estimator in told[:2]:
        assert expected_failed_checks(estimator.set_params(missing_label=None)) == {}
    assert expected_failed_checks(HarmonicEntropyWeights()) == {}
    assert set(expected_failed_checks(gda.MetricLearner())) == {
        f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")
    }


# --- Samples -------------------------------------------------------------------------------------

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
        OneVsRestMetricClassifier(EuclideanMetric()),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_what_is_no_array_of_numbers_is_refused(estimator: Any, samples: Any, message: str) -> None:
    with pytest.raises(gda.errors.InvalidInputError, match=message):
        estimator.fit(samples, Y)
    fitted = estimator.fit(X, Y)
    with pytest.raises(gda.errors.InvalidInputError, match=message):
        (fitted.predict if hasattr(fitted, "predict") else fitted.transform)(samples)


def test_masks_that_hide_nothing_and_numbers_as_text_are_read() -> None:
    assert np.array_equal(EuclideanMetric().fit(np.ma.masked_array(X), Y).metric_, np.eye(2))
    numbers = pd.DataFrame({"width": [1.0, 2, 3, 4], "height": ["1", "2.5", "3", "4"]})
    assert EuclideanMetric().fit(numbers, Y).n_features_in_ == 2  # as scikit-learn reads it
