"""Labels and weights in turn: when the rounds end, and which labels and solvers they use."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

import gdaopt as gda
from gdaopt.datasets import load
from gdaopt.errors import CutOffSamplesWarning
from gdaopt.estimators.baselines import feature_weights
from gdaopt.estimators.baselines.feature_weights import (
    AlternatingClassifierWeights,
    harmonic_codes,
    relax_labels,
    relaxed_codes,
)
from gdaopt.estimators.inputs import class_signal
from gdaopt.support.validation import FloatArray
from tests.estimators.cases import halves, samples


def test_with_all_labels_it_is_the_diagonal_learner() -> None:
    data = load("wine")
    X = StandardScaler().fit_transform(data.features)
    learner = AlternatingClassifierWeights(tolerance=1e-9).fit(X, data.labels)
    other = gda.DiagonalMetricLearner("glr", min_eigenvalue=0.0, tolerance=1e-9).fit(X, data.labels)
    assert learner.trace_bound_ == pytest.approx(other.trace_bound_)
    np.testing.assert_allclose(learner.metric_, other.metric_, atol=1e-4 * learner.trace_bound_)
    assert (learner.label_step_, learner.n_iter_) == ("given", 1)
    assert learner.gap_ <= 1e-9


def test_weights_that_are_not_optimal_warn_the_caller_of_fit() -> None:
    X, y = samples(40)
    with pytest.warns(ConvergenceWarning, match="certified only to .*; rescale") as seen:
        learner = AlternatingClassifierWeights(trace_bound=50.0, tolerance=0.0).fit(X, y)
    assert seen[0].filename == __file__
    assert 0 < learner.gap_ < 1e-6
    assert learner.objective_[0, 1] < learner.objective_[0, 0]


def test_samples_that_no_path_joins_to_a_label_are_of_the_nearest_class() -> None:
    X, y = halves(size=4, classes=3)
    weights = 1e6 * np.array([1.0, 2.0, 0.0, 0.5])
    with pytest.warns(CutOffSamplesWarning):
        expected = gda.GraphClassifier(np.diag(weights)).fit(X, y).transduction_
    found = harmonic_codes(X, weights, y[y != -1], y != -1)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_rounds_end_where_labels_repeat(classes: int) -> None:
    X, y = halves(size=4, classes=classes)
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
    X, y = halves(size=4, classes=2)
    unlabelled = np.flatnonzero(y == -1)
    calls = 0
    period = 1000

    def strange(X: FloatArray, weights: FloatArray, codes: Any, labelled: Any) -> Any:
        nonlocal calls
        everyone = np.where(y == -1, 0, y)
        everyone[unlabelled[: calls % period]] = 1
        calls += 1
        return everyone

    monkeypatch.setattr(feature_weights, "harmonic_codes", strange)
    with pytest.warns(ConvergenceWarning, match="did not repeat in 3 rounds") as seen:
        learner = AlternatingClassifierWeights(max_rounds=3).fit(X, y)
    assert seen[0].filename == __file__
    assert (learner.n_iter_, calls) == (3, 4)
    calls, period = 0, 4
    assert AlternatingClassifierWeights().fit(X, y).n_iter_ == 4


# --- The relaxation of labels: its bounds, and its labels beside the harmonic ones --------------


def graph(X: FloatArray) -> FloatArray:
    weights: FloatArray = np.exp(-cdist(X, X, "sqeuclidean")) * (1 - np.eye(len(X)))
    return weights


def form(weights: FloatArray, labels: Any) -> float:
    """Return ``x'Lx``."""
    laplacian = np.diag(weights.sum(axis=1)) - weights
    return float(labels @ laplacian @ labels)


@pytest.mark.parametrize(("solver", "accuracy"), [("CLARABEL", 1e-6), ("SCS", 1e-3)])
@pytest.mark.parametrize("seed", range(6))
def test_the_relaxation_is_one(seed: int, solver: str, accuracy: float) -> None:
    """Its value bounds x'Lx of all labels ±1 from below, and its solution is feasible."""
    rng = np.random.default_rng(seed)
    X, scale = rng.standard_normal((9, 2)), 2.0 ** rng.integers(-2, 3)
    labelled = np.arange(9) < 3
    given = np.array([1.0, -1.0, 1.0])
    weights = graph(X * np.sqrt(scale))
    labels, products = relax_labels(weights, given, labelled, solver)
    unit = weights.sum()
    np.testing.assert_allclose(np.diagonal(products), 1.0, atol=1e-12)
    np.testing.assert_array_equal(labels[labelled], given)
    np.testing.assert_array_equal(products[:3, :3], np.outer(given, given))
    lifted = np.block([[products, labels[:, None]], [labels[None, :], np.ones((1, 1))]])
    assert np.linalg.eigvalsh(lifted).min() > -accuracy
    laplacian = np.diag(weights.sum(axis=1)) - weights
    value = np.trace(laplacian @ products)

    every = [np.append(given, signs) for signs in product([-1.0, 1.0], repeat=6)]
    least = min(form(weights, signs) for signs in every)
    codes = harmonic_codes(X, np.full(2, scale), (given > 0).astype(np.intp), labelled)
    assert value <= least + accuracy * unit
    assert value <= form(weights, 2.0 * codes - 1) + accuracy * unit
    # The harmonic solution z minimises a relaxation of the relaxation, so that it bounds it.
    U = ~labelled
    z = np.linalg.solve(laplacian[np.ix_(U, U)], weights[np.ix_(U, ~U)] @ given)
    assert value >= form(weights, np.append(given, z)) - accuracy * unit


def test_labels_that_a_solver_cannot_see_are_harmonic() -> None:
    """The weights of these samples are 1e-175; the harmonic solution resolves their ratios."""
    X = np.zeros((13, 11))
    X[1, 0], X[2, 0] = 0.1, 3.0
    X[3:, 0] = np.arange(10) % 2 + 1.0
    X[3:, 1:] = 20.0 * np.eye(10)
    labelled = np.array([True, False, True] + [False] * 10)
    start = harmonic_codes(X, np.ones(11), np.array([0, 1]), labelled)
    assert start.tolist() == [0, 0, 1, *([0, 1] * 5)]
    found = relaxed_codes(X, np.ones(11), start, labelled, "CLARABEL")
    np.testing.assert_array_equal(found, start)
