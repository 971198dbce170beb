"""Labels and weights in turn: the weight step's optimum, the relaxation's bounds, the rounds."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

import gdaopt as gda
from gdaopt.datasets import load
from gdaopt.errors import CutOffSamplesWarning, SolverNotFoundError
from gdaopt.estimators.baselines import alternating_classifier, feature_weights
from gdaopt.estimators.baselines.alternating_classifier import AlternatingClassifierWeights
from gdaopt.estimators.baselines.feature_weights import (
    minimize_over_weights,
    regulariser_of_weights,
)
from gdaopt.estimators.baselines.label_relaxation import relax_labels, relaxed_codes
from gdaopt.estimators.baselines.predicted_labels import harmonic_codes
from gdaopt.estimators.labels import class_signal
from gdaopt.validation import FloatArray
from tests.baseline_cases import blobs, partly_labelled

# --- Weights -------------------------------------------------------------------------------------


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
    """Values may rise on the way, and the least so far is returned."""
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


def test_all_labels_given_it_is_the_diagonal_learner() -> None:
    data = load("wine")
    X = StandardScaler().fit_transform(data.features)
    learner = AlternatingClassifierWeights(tolerance=1e-9).fit(X, data.labels)
    other = gda.DiagonalMetricLearner(min_eigenvalue=0.0, tolerance=1e-9).fit(X, data.labels)
    assert learner.trace_bound_ == pytest.approx(other.trace_bound_)
    np.testing.assert_allclose(learner.metric_, other.metric_, atol=1e-4 * learner.trace_bound_)
    assert (learner.label_step_, learner.n_iter_) == ("given", 1)
    assert learner.gap_ <= 1e-9


def test_a_limit_of_steps_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feature_weights, "_MOST_STEPS", 2)
    X, y = blobs(3)
    with pytest.warns(ConvergenceWarning, match="certified to .* only: rescale") as seen:
        learner = AlternatingClassifierWeights(trace_bound=50.0).fit(X, y)
    assert seen[0].filename == __file__
    assert learner.gap_ > 1e-6
    assert learner.objective_[0, 1] < learner.objective_[0, 0]


# --- Labels --------------------------------------------------------------------------------------


def graph(X: FloatArray, scale: float = 1.0) -> FloatArray:
    weights: FloatArray = np.exp(-scale * cdist(X, X, "sqeuclidean"))
    np.fill_diagonal(weights, 0.0)
    return weights


def form(weights: FloatArray, labels: Any) -> float:
    """Return ``x'Lx``."""
    laplacian = np.diag(weights.sum(axis=1)) - weights
    return float(labels @ laplacian @ labels)


@pytest.mark.parametrize(("solver", "accuracy"), [("CLARABEL", 1e-6), ("SCS", 1e-3)])
@pytest.mark.parametrize("seed", range(6))
def test_the_relaxation_is_one(seed: int, solver: str, accuracy: float) -> None:
    """It bounds x'Lx of all labels ±1 from below, and is itself feasible."""
    rng = np.random.default_rng(seed)
    X, scale = rng.standard_normal((9, 2)), 2.0 ** rng.integers(-2, 3)
    labelled = np.arange(9) < 3
    given = np.array([1.0, -1.0, 1.0])
    weights = graph(X, scale)
    relaxed = relax_labels(weights, given, labelled, solver)
    unit = weights.sum()
    np.testing.assert_allclose(np.diagonal(relaxed.products), 1.0, atol=1e-12)
    np.testing.assert_array_equal(relaxed.labels[labelled], given)
    np.testing.assert_array_equal(relaxed.products[:3, :3], np.outer(given, given))
    lifted = np.block(
        [[relaxed.products, relaxed.labels[:, None]], [relaxed.labels[None, :], np.ones((1, 1))]]
    )
    assert np.linalg.eigvalsh(lifted).min() > -accuracy
    laplacian = np.diag(weights.sum(axis=1)) - weights
    assert relaxed.value == pytest.approx(np.trace(laplacian @ relaxed.products), abs=1e-9 * unit)

    every = [np.append(given, signs) for signs in product([-1.0, 1.0], repeat=6)]
    least = min(form(weights, labels) for labels in every)
    codes = harmonic_codes(X, np.full(2, scale), (given > 0).astype(np.intp), labelled)
    assert relaxed.value <= least + accuracy * unit
    assert relaxed.value <= form(weights, 2.0 * codes - 1) + accuracy * unit
    # z in place of X and x, the relaxation's own relaxation: what the harmonic solution minimises
    U = ~labelled
    z = np.linalg.solve(laplacian[np.ix_(U, U)], weights[np.ix_(U, ~U)] @ given)
    assert relaxed.value >= form(weights, np.append(given, z)) - accuracy * unit


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


def test_the_label_steps_are_not_the_same() -> None:
    """One label against two of its neighbours: the sum of cut weights decides, not a mean."""
    X, y = partly_labelled(2)
    codes, labelled = y[y != -1], y != -1
    found = 0
    for shift in range(10):
        weights = np.full(4, 0.1 + 0.1 * shift)
        harmonic = harmonic_codes(X, weights, codes, labelled)
        relaxed = relaxed_codes(X, weights, harmonic, labelled, "CLARABEL")
        edges = graph(X * np.sqrt(weights))
        cuts = [form(edges, 2.0 * labels - 1) for labels in (harmonic, relaxed)]
        np.testing.assert_array_equal(relaxed[labelled], codes)
        assert cuts[1] <= cuts[0] + 1e-6 * edges.sum()
        found += bool((harmonic != relaxed).any())
    assert found > 0


def test_labels_that_a_solver_cannot_see_are_harmonic() -> None:
    """Their weights are 1e-175, of which the harmonic solution sees the ratios."""
    X = np.zeros((13, 11))
    X[1, 0], X[2, 0] = 0.1, 3.0
    X[3:, 0] = np.arange(10) % 2 + 1.0
    X[3:, 1:] = 20.0 * np.eye(10)
    labelled = np.array([True, False, True] + [False] * 10)
    start = harmonic_codes(X, np.ones(11), np.array([0, 1]), labelled)
    assert start.tolist() == [0, 0, 1, *([0, 1] * 5)]
    found = relaxed_codes(X, np.ones(11), start, labelled, "CLARABEL")
    np.testing.assert_array_equal(found, start)


def test_samples_that_no_path_joins_to_a_label_are_of_the_nearest_class() -> None:
    X, y = partly_labelled(3)
    with pytest.warns(CutOffSamplesWarning):
        expected = gda.GraphClassifier(1e6 * np.diag([1.0, 2.0, 0.0, 0.5])).fit(X, y).transduction_
    found = harmonic_codes(X, 1e6 * np.array([1.0, 2.0, 0.0, 0.5]), y[y != -1], y != -1)
    np.testing.assert_array_equal(found, expected)


def test_another_solver_and_none() -> None:
    X, y = partly_labelled(2, n=24)
    by_default = AlternatingClassifierWeights(labels="sdp").fit(X, y)
    by_another = AlternatingClassifierWeights(labels="sdp", solver="scs").fit(X, y)
    np.testing.assert_array_equal(by_another.transduction_, by_default.transduction_)
    for solver, message in (("HIGHS", "has no semidefinite cone"), ("CLARABLE", "CLARABEL")):
        with pytest.raises(SolverNotFoundError, match=message):
            AlternatingClassifierWeights(labels="sdp", solver=solver).fit(X, y)


# --- Rounds --------------------------------------------------------------------------------------


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
