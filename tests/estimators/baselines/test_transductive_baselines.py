"""Properties that all three transductive learners of the literature have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import gdaopt as gda
from gdaopt.support.validation import FloatArray
from tests.estimators.baselines.cases import blobs, partly_labelled
from tests.estimators.cases import TRANSDUCTIVE


@pytest.fixture(params=TRANSDUCTIVE)
def baseline(request: pytest.FixtureRequest) -> Any:
    return request.param


# --- Labels --------------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3])
def test_the_metric_is_diagonal_and_positive(baseline: Any, classes: int) -> None:
    X, y = partly_labelled(classes=classes)
    metric = baseline().fit(X, y).metric_
    np.testing.assert_array_equal(metric, np.diag(np.diagonal(metric)))
    assert np.diagonal(metric).min() >= 0
    assert np.diagonal(metric).max() > 0


@pytest.mark.parametrize("classes", [2, 3])
def test_samples_without_labels_count(baseline: Any, classes: int) -> None:
    X, y = partly_labelled(classes=classes)
    learned = np.diagonal(baseline().fit(X, y).metric_)
    on_labelled = baseline().fit(X[y != -1], y[y != -1]).metric_
    moved = X.copy()
    moved[np.flatnonzero(y == -1)[:3]] += 1.0
    for other in (on_labelled, baseline().fit(moved, y).metric_):
        assert np.abs(np.diagonal(other) - learned).max() > 1e-3 * learned.max()


@pytest.mark.parametrize("some", [True, False])
def test_the_order_of_samples_does_not_matter(baseline: Any, some: bool) -> None:
    X, y = partly_labelled(classes=3) if some else blobs(classes=3)
    order = np.random.default_rng(1).permutation(len(X))
    expected = baseline().fit(X, y).metric_
    np.testing.assert_allclose(baseline().fit(X[order], y[order]).metric_, expected, rtol=1e-3)


def test_labels_of_any_kind(baseline: Any) -> None:
    X, y = partly_labelled(classes=3)
    expected = baseline().fit(X, y).metric_
    names = ["a" if label == 0 else "bc"[label - 1] if label > 0 else None for label in y]
    frame = pd.DataFrame(X, columns=list("pqrs"))
    learner = baseline(missing_label=None).fit(frame, pd.Series(names))
    np.testing.assert_allclose(learner.metric_, expected, rtol=1e-6)  # other order in memory
    assert learner.classes_.tolist() == ["a", "b", "c"]
    assert learner.feature_names_in_.tolist() == list("pqrs")
    strings = [name or "unknown" for name in names]
    unknown = baseline(missing_label="unknown").fit(X, strings)
    np.testing.assert_array_equal(unknown.metric_, expected)
    floats = baseline(missing_label=np.nan).fit(X, np.where(y == -1, np.nan, y))
    np.testing.assert_array_equal(floats.metric_, expected)


def test_the_graph_classifier_gives_it_all_samples(baseline: Any) -> None:
    X, y = partly_labelled(classes=2)
    classifier = gda.GraphClassifier(baseline()).fit(X, y)
    np.testing.assert_array_equal(classifier.metric_, baseline().fit(X, y).metric_)
    assert np.abs(classifier.metric_ - baseline().fit(X[y != -1], y[y != -1]).metric_).max() > 1e-3
    _, truth = blobs(classes=2)
    assert np.mean(classifier.transduction_ == truth) > 0.9


# --- Samples -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("samples", "labels", "message"),
    [
        (np.ones((4, 2)), [0, 1, 0, -1], "4 samples that are all the same"),
        (np.array([[0.0], [1e-80], [0.0]]), [0, 1, -1], "X spans about 1e-80"),
        (np.array([[0.0], [1e200], [-1e200]]), [0, 1, -1], r"X spans about 2e\+200|spans"),
        (np.arange(4.0)[:, None], [1, 1, 1, 1], "y has 1 class, 1"),
        (np.arange(4.0)[:, None], [1, 1, -1, -1], "y holds only -1 and 1"),
        (np.arange(4.0)[:, None], [-1] * 4, "y holds no label"),
    ],
)
def test_samples_and_labels_that_nothing_can_be_learned_from(
    baseline: Any, samples: FloatArray, labels: list[int], message: str
) -> None:
    with pytest.raises(gda.errors.InvalidInputError, match=message):
        baseline().fit(samples, labels)
