"""Labels that classifiers read: of any kind, partly missing, or wrong."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.estimator_checks import check_estimator

import gdaopt as gda
from gdaopt.estimators import expected_failed_checks
from gdaopt.estimators.graph_classifier import GraphClassifier


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


def test_others_have_no_checks_that_fail() -> None:
    for estimator in (KNeighborsClassifier(), gda.estimators.HarmonicEntropyWeights()):
        assert expected_failed_checks(estimator) == {}
