"""Labels and weights in turn: when the rounds end, and which labels and solvers they use."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

import gdaopt as gda
from gdaopt.datasets import load
from gdaopt.errors import SolverNotFoundError
from gdaopt.estimators.baselines import alternating_classifier, feature_weights
from gdaopt.estimators.baselines.alternating_classifier import AlternatingClassifierWeights
from gdaopt.estimators.labels import class_signal
from gdaopt.support.validation import FloatArray
from tests.estimators.baselines.cases import blobs, partly_labelled


def test_with_all_labels_it_is_the_diagonal_learner() -> None:
    data = load("wine")
    X = StandardScaler().fit_transform(data.features)
    learner = AlternatingClassifierWeights(tolerance=1e-9).fit(X, data.labels)
    other = gda.DiagonalMetricLearner("glr", min_eigenvalue=0.0, tolerance=1e-9).fit(X, data.labels)
    assert learner.trace_bound_ == pytest.approx(other.trace_bound_)
    np.testing.assert_allclose(learner.metric_, other.metric_, atol=1e-4 * learner.trace_bound_)
    assert (learner.label_step_, learner.n_iter_) == ("given", 1)
    assert learner.gap_ <= 1e-9


def test_a_limit_of_steps_warns_the_caller_of_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feature_weights, "_MOST_STEPS", 2)
    X, y = blobs(3)
    with pytest.warns(ConvergenceWarning, match="certified only to .*; rescale") as seen:
        learner = AlternatingClassifierWeights(trace_bound=50.0).fit(X, y)
    assert seen[0].filename == __file__
    assert learner.gap_ > 1e-6
    assert learner.objective_[0, 1] < learner.objective_[0, 0]


@pytest.mark.parametrize("classes", [2, 3])
def test_both_label_steps_agree_where_classes_are_apart(classes: int) -> None:
    X, truth = blobs(classes)
    X = X / 2 + 4.0 * np.eye(4)[truth]
    y = np.where(np.arange(len(X)) < 20, truth, -1)
    fits = {
        name: AlternatingClassifierWeights(labels=name, trace_bound=8.0).fit(X, y)
        for name in ("harmonic", "sdp")
    }
    for name, learner in fits.items():
        assert learner.label_step_ == name
        np.testing.assert_array_equal(learner.transduction_, truth)
    np.testing.assert_array_equal(fits["sdp"].metric_, fits["harmonic"].metric_)


def test_another_solver_and_none() -> None:
    X, y = partly_labelled(2, n=24)
    by_default = AlternatingClassifierWeights(labels="sdp").fit(X, y)
    by_another = AlternatingClassifierWeights(labels="sdp", solver="scs").fit(X, y)
    np.testing.assert_array_equal(by_another.transduction_, by_default.transduction_)
    for solver, message in (("HIGHS", "has no semidefinite cone"), ("CLARABLE", "CLARABEL")):
        with pytest.raises(SolverNotFoundError, match=message):
            AlternatingClassifierWeights(labels="sdp", solver=solver).fit(X, y)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_rounds_end_where_labels_repeat(classes: int) -> None:
    X, y = partly_labelled(classes)
    learner = AlternatingClassifierWeights(trace_bound=4.0).fit(X, y)
    assert learner.objective_.shape == (learner.n_iter_, 2)
    assert (learner.objective_[:, 1] <= learner.objective_[:, 0]).all()
    assert np.trace(learner.metric_) == pytest.approx(4.0)
    np.testing.assert_array_equal(learner.transduction_[y != -1], y[y != -1])
    again = gda.GraphClassifier(learner.metric_).fit(X, y).transduction_
    np.testing.assert_array_equal(again, learner.transduction_)
    signal = class_signal(learner.transduction_)
    assert gda.GLR(X, signal).log_value(learner.metric_) == pytest.approx(learner.objective_[-1, 1])


def test_labels_that_do_not_repeat_and_labels_that_go_round(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y = partly_labelled(2)
    unlabelled = np.flatnonzero(y == -1)
    calls = 0
    period = 1000

    def strange(X: FloatArray, weights: FloatArray, codes: Any, labelled: Any) -> Any:
        nonlocal calls
        everyone = np.where(y == -1, 0, y)
        everyone[unlabelled[: calls % period]] = 1
        calls += 1
        return everyone

    monkeypatch.setattr(alternating_classifier, "harmonic_codes", strange)
    with pytest.warns(ConvergenceWarning, match="did not repeat in 3 rounds") as seen:
        learner = AlternatingClassifierWeights(max_rounds=3).fit(X, y)
    assert seen[0].filename == __file__
    assert (learner.n_iter_, calls) == (3, 4)
    calls, period = 0, 4
    assert AlternatingClassifierWeights().fit(X, y).n_iter_ == 4
