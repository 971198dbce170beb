"""The weight step: it ends at the certified optimum, and never above its start."""

from __future__ import annotations

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.errors import CutOffSamplesWarning
from gdaopt.estimators.baselines import feature_weights
from gdaopt.estimators.baselines.feature_weights import (
    harmonic_codes,
    minimize_over_weights,
    regulariser_of_weights,
)
from gdaopt.estimators.inputs import class_signal
from tests.estimators.baselines.cases import blobs, partly_labelled


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("trace_bound", [0.1, 4.0, 60.0])
def test_the_weight_step_is_the_certified_optimum(classes: int, trace_bound: float) -> None:
    X, codes = blobs(classes)
    signal = class_signal(codes)
    start = regulariser_of_weights(X, signal, np.full(4, trace_bound / 4))
    found = minimize_over_weights(start, trace_bound, tolerance=1e-6)
    assert (found.status, found.gap <= 1e-6) == ("converged", True)
    assert found.point.weights.min() >= 0
    assert found.point.weights.sum() == pytest.approx(trace_bound)
    feasible_set = gda.DiagonalMetrics(trace_bound, min_eigenvalue=0.0)
    problem = gda.MetricProblem(gda.GLR(X, signal), feasible_set)
    certified = gda.solve(problem, "certified", tolerance=1e-8)
    assert np.exp(found.point.value) == pytest.approx(certified.objective, rel=1e-6)
    assert found.point.value <= start.value


def test_no_step_is_for_the_worse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values may rise on the way, but the least value so far is returned."""
    X, codes = blobs(3)
    start = regulariser_of_weights(3.0 * X, class_signal(codes), np.ones(4))
    values = [start.value]
    for most in range(30):
        monkeypatch.setattr(feature_weights, "_MOST_STEPS", most)
        found = minimize_over_weights(start, 60.0, tolerance=1e-12)
        assert found.point.value <= values[-1]
        values.append(found.point.value)
        gradient = found.point.gradient()
        assert found.gap == pytest.approx(gradient @ found.point.weights - 60.0 * gradient.min())
    assert values[-1] < values[0]


# --- Harmonic labels under feature weights ------------------------------------------------------


def test_samples_that_no_path_joins_to_a_label_are_of_the_nearest_class() -> None:
    X, y = partly_labelled(3)
    with pytest.warns(CutOffSamplesWarning):
        expected = gda.GraphClassifier(1e6 * np.diag([1.0, 2.0, 0.0, 0.5])).fit(X, y).transduction_
    found = harmonic_codes(X, 1e6 * np.array([1.0, 2.0, 0.0, 0.5]), y[y != -1], y != -1)
    np.testing.assert_array_equal(found, expected)
