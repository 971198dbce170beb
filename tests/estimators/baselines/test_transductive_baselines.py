"""Properties that all three transductive learners of the literature have."""

from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import gdaopt as gda
from gdaopt.estimators import BaseMetricLearner, baselines
from gdaopt.estimators.baselines.feature_weights import (
    JointClassifierWeights,
)
from gdaopt.estimators.baselines.harmonic_entropy import HarmonicEntropyWeights, LabelEntropy
from gdaopt.support.validation import FloatArray
from tests.estimators.cases import CLASSES_AND_LABELS, TRANSDUCTIVE, halves, samples


@pytest.fixture(params=TRANSDUCTIVE)
def baseline(request: pytest.FixtureRequest) -> Any:
    return request.param


def given(classes: int, some: bool) -> tuple[FloatArray, Any]:
    return halves(size=4, classes=classes) if some else samples(40, classes=classes)


# --- Labels --------------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3])
def test_metrics_are_diagonal_and_samples_without_labels_count(baseline: Any, classes: int) -> None:
    X, y = halves(size=4, classes=classes)
    metric = baseline().fit(X, y).metric_
    learned = np.diagonal(metric)
    np.testing.assert_array_equal(metric, np.diag(learned))
    assert learned.min() >= 0
    assert learned.max() > 0
    on_labelled = baseline().fit(X[y != -1], y[y != -1]).metric_
    moved = X.copy()
    moved[np.flatnonzero(y == -1)[:3]] += 1.0
    for other in (on_labelled, baseline().fit(moved, y).metric_):
        assert np.abs(np.diagonal(other) - learned).max() > 1e-3 * learned.max()


@pytest.mark.parametrize("name", baselines.__all__)
def test_each_says_where_its_formulas_are_from(name: str) -> None:
    words = (getattr(baselines, name).__doc__ or "").lower()
    if name != "EuclideanMetric":
        assert any(word in words for word in ("published", "from code", "reconstructed"))
        assert "source:" in words
    assert issubclass(getattr(baselines, name), BaseMetricLearner)


# --- The Newton steps on feature weights against loops over pairs --------------------------------


def distances(X: FloatArray, codes: np.ndarray) -> FloatArray:
    """Return d of all pairs of different labels, one by one."""
    return np.array(
        [(X[i] - X[j]) ** 2 for i in range(len(X)) for j in range(i) if codes[i] != codes[j]]
    )


def literal_newton(d: FloatArray, c: FloatArray) -> FloatArray:
    """Return ``max(c - H⁻¹g, 0)`` from sums over pairs, with the ridge in H."""
    g, H = np.zeros(len(c)), np.zeros((len(c), len(c)))
    for pair in d:
        weight = np.exp(-c @ pair)
        g -= pair * weight
        H += np.outer(pair, pair) * weight
    H += 1e-6 * np.diag(np.diagonal(H))
    return np.maximum(c - np.linalg.inv(H) @ g, 0.0)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("n_steps", [1, 4])
def test_steps_are_newtons(classes: int, n_steps: int) -> None:
    X, y = halves(size=4, classes=classes)
    learner = JointClassifierWeights(n_steps=n_steps).fit(X, y)
    everyone = gda.GraphClassifier().fit(X, y).transduction_
    np.testing.assert_array_equal(learner.transduction_, everyone)
    d, c = distances(X, everyone), np.ones(4)
    expected = [np.log(np.exp(-d @ c).sum())]
    for _ in range(n_steps):
        c = literal_newton(d, c)
        expected.append(np.log(np.exp(-d @ c).sum()))
    np.testing.assert_allclose(np.diagonal(learner.metric_), c, rtol=1e-8)
    np.testing.assert_allclose(learner.objective_, expected, rtol=1e-10)
    assert learner.n_iter_ == n_steps
    assert (np.diff(learner.objective_) < -0.1).all()


# --- Weights of least entropy --------------------------------------------------------------------


@pytest.mark.parametrize(("classes", "some"), CLASSES_AND_LABELS)
def test_the_entropy_falls_to_a_stationary_point(classes: int, some: bool) -> None:
    X, y = given(classes, some)
    learner = HarmonicEntropyWeights(max_log_scale=2.0).fit(X, y)
    entropy = LabelEntropy(X, y[y != -1], y != -1, 0.01)
    theta = np.log(learner.length_scales_)
    assert learner.entropy_[0] == pytest.approx(entropy.value_and_gradient(np.zeros(4))[0])
    assert len(learner.entropy_) == learner.n_iter_ + 1 > 2
    value, gradient = entropy.value_and_gradient(theta)
    assert learner.entropy_[-1] == pytest.approx(value, rel=1e-9)
    assert value < 0.9 * learner.entropy_[0]
    assert np.abs(theta).max() <= 2.0 + 1e-12
    projected = theta - np.clip(theta - gradient, -2.0, 2.0)
    assert np.abs(projected).max() < 1e-3
    np.testing.assert_allclose(np.diagonal(learner.metric_), learner.length_scales_**-2)
    np.testing.assert_allclose(learner.label_distributions_, entropy.shares(theta), rtol=1e-9)


# --- The entropy against its definition: shares, value, gradient --------------------------------


def entropy_of(X: FloatArray, y: np.ndarray, smoothing: float) -> LabelEntropy:
    return LabelEntropy(X, y[y != -1], y != -1, smoothing)


def literal_shares(X: FloatArray, y: np.ndarray, sigma: FloatArray, eta: float) -> FloatArray:
    """Return f of the predicted samples by the published formula, written out."""
    n, classes = len(X), np.eye(y.max() + 1)
    weights = np.exp(-cdist(X / sigma, X / sigma, "sqeuclidean")) * (1 - np.eye(n))
    moves = (1 - eta) * weights / weights.sum(axis=1, keepdims=True)
    U, F = y == -1, y != -1
    if F.all():
        return np.asarray((moves + eta / (n - 1) * (1 - np.eye(n))) @ classes[y])
    smoothed = eta / n + moves
    matrix = np.eye(U.sum()) - smoothed[np.ix_(U, U)]
    return np.asarray(np.linalg.inv(matrix) @ smoothed[np.ix_(U, F)] @ classes[y[F]])


@pytest.mark.parametrize("eta", [0.0, 0.01])
@pytest.mark.parametrize(("classes", "some"), CLASSES_AND_LABELS)
def test_the_entropy_is_the_published_one(classes: int, some: bool, eta: float) -> None:
    X, y = given(classes, some)
    sigma = np.array([0.7, 1.2, 3.0, 2.0])
    shares = literal_shares(X, y, sigma, eta)
    total = -(shares * np.log(shares)).sum()
    entropy = entropy_of(X, y, eta)
    theta = np.asarray(np.log(sigma))
    assert entropy.value_and_gradient(theta)[0] == pytest.approx(total / len(shares))
    if some:
        found = entropy.shares(theta)
        np.testing.assert_allclose(found[y == -1], shares, rtol=1e-10)
        np.testing.assert_array_equal(found[y != -1], np.eye(classes)[y[y != -1]])


@pytest.mark.parametrize(("classes", "some"), CLASSES_AND_LABELS)
@pytest.mark.parametrize("eta", [0.01, 0.3])
def test_the_gradient_is_that_of_differences(classes: int, some: bool, eta: float) -> None:
    X, y = given(classes, some)
    entropy = entropy_of(X + 100.0, y, eta)
    rng = np.random.default_rng(classes)
    for _ in range(3):
        theta = rng.uniform(-0.7, 1.0, 4)
        gradient = entropy.value_and_gradient(theta)[1]
        step = 1e-5
        for d, ahead in enumerate(step * np.eye(X.shape[1])):
            high = entropy.value_and_gradient(theta + ahead)[0]
            low = entropy.value_and_gradient(theta - ahead)[0]
            difference = (high - low) / (2 * step)
            assert gradient[d] == pytest.approx(difference, rel=1e-6, abs=1e-9)


def test_a_class_of_one_labelled_sample_has_no_share_in_itself() -> None:
    """Without it, its class has no sample and a share of 0: 0 ln 0 and its slope count as 0."""
    X, y = samples(9, classes=2)
    y = np.where(np.arange(9) == 3, 1, 0)
    value, gradient = entropy_of(X, y, 0.01).value_and_gradient(np.zeros(4))
    shares = literal_shares(X, y, np.ones(4), eta=0.01)
    assert shares[3].tolist() == [pytest.approx(1.0), 0.0]
    positive = shares[shares > 0]
    assert value == pytest.approx(-(positive * np.log(positive)).sum() / 9)
    assert np.abs(gradient).max() < 10
