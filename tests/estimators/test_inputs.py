"""What estimators are given: labels of any kind, partly missing, or wrong; and samples.

Of the samples here is what scikit-learn alone would let through.
"""

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.estimator_checks import check_estimator

import gdaopt as gda
from gdaopt.estimators import expected_failed_checks
from gdaopt.estimators.baselines import EuclideanMetric, HarmonicEntropyWeights
from gdaopt.estimators.graph_classifier import GraphClassifier

# --- Labels --------------------------------------------------------------------------------------


class TestLabels:
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
    def test_of_any_kind(self, y: Any, missing: Any) -> None:
        classifier = GraphClassifier(missing_label=missing).fit([[0.0], [1.0], [0.9]], y)
        first, second = list(y)[:2]
        assert classifier.classes_.tolist() == [first, second]
        assert classifier.transduction_.tolist() == [first, second, second]
        assert classifier.predict([[0.1], [0.8]]).tolist() == [first, second]

    @pytest.mark.parametrize(
        ("y", "missing", "message"),
        [
            ([-1, 1, 1], -1, "missing_label=-1 says that the 1 sample(s) with -1 have no label"),
            ([-1.0, 1.0, 1.0], -1, "pass missing_label=None"),
            ([-1, -1, -1], -1, "all of its 3 samples are unlabelled under missing_label=-1"),
            (["a", None, "b"], -1, "holds None at index 1; pass missing_label=None"),
            ([0, 1, float("nan")], -1, "holds nan at index 2"),
            (["a", 1, "b"], None, "mixed types, such as 'a' and 1"),
            ([0.5, 1.0, 2.0], None, "Unknown label type: continuous. y holds 0.5"),
            ([0, 1, float("inf")], None, "infinity"),
            ([1j, 1j, 2j], None, "Unknown label type"),
            ([[0, 1], [1, 0], [1, 1]], None, "1d array"),
            ([0, 1], None, "inconsistent numbers of samples: [3, 2]"),
        ],
    )
    def test_that_are_wrong(self, y: Any, missing: Any, message: str) -> None:
        with pytest.raises(ValueError, match=re.escape(message)):
            GraphClassifier(missing_label=missing).fit([[0.0], [1.0], [2.0]], y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore::gdaopt.errors.CutOffSamplesWarning")
@pytest.mark.parametrize(
    "kind",
    [
        gda.GraphClassifier,
        pytest.param(gda.estimators.OneVsRestMetricClassifier, marks=pytest.mark.slow),
    ],
)
def test_all_checks_of_scikit_learn_that_fail_are_named(kind: Any) -> None:
    """With a `missing_label` that leaves -1 to be a class all pass."""
    for estimator, number in ((kind(), 1), (kind(missing_label=None), 0)):
        told = expected_failed_checks(estimator)
        assert len(told) == number
        checks = check_estimator(estimator, expected_failed_checks=told, on_fail=None)
        failed = {check["check_name"] for check in checks if check["status"] == "failed"}
        assert not failed
        assert {check["check_name"] for check in checks if check["status"] == "xfail"} == set(told)


def test_others_have_no_checks_that_fail_but_that_of_weights_as_copies() -> None:
    for estimator in (KNeighborsClassifier(), HarmonicEntropyWeights()):
        assert expected_failed_checks(estimator) == {}
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
