"""Properties that all three transductive learners of the literature have."""

from typing import Any

import numpy as np
import pytest

from gdaopt.estimators import BaseMetricLearner, baselines
from tests.estimators.cases import TRANSDUCTIVE, blobs, partly_labelled


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


WHO_SAYS = ("published", "from code", "reconstructed")


@pytest.mark.parametrize("name", baselines.__all__)
def test_each_says_where_its_formulas_are_from(name: str) -> None:
    words = (getattr(baselines, name).__doc__ or "").lower()
    if name != "EuclideanMetric":
        assert any(word in words for word in WHO_SAYS)
        assert "source:" in words
    assert issubclass(getattr(baselines, name), BaseMetricLearner)
