"""Weights of least entropy: a stationary point, reached by steps that lower the entropy."""

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.estimators.baselines.harmonic_entropy import HarmonicEntropyWeights, LabelEntropy
from gdaopt.support.validation import FloatArray
from tests.estimators.cases import CLASSES_AND_LABELS, blobs, partly_labelled


@pytest.mark.parametrize(("classes", "some"), CLASSES_AND_LABELS)
def test_the_entropy_falls_to_a_stationary_point(classes: int, some: bool) -> None:
    X, y = partly_labelled(classes) if some else blobs(classes)
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
    n, classes = len(X), y.max() + 1
    weights = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if i != j:
                weights[i, j] = np.exp(-sum((X[i] - X[j]) ** 2 / sigma**2))
    moves = weights / weights.sum(axis=1, keepdims=True)
    U, F = y == -1, y != -1
    if F.all():
        shares = np.zeros((n, classes))
        for i in range(n):
            for j in range(n):
                if i != j:
                    shares[i, y[j]] += (1 - eta) * moves[i, j] + eta / (n - 1)
        return shares
    smoothed = eta / n + (1 - eta) * moves
    matrix = np.eye(U.sum()) - smoothed[np.ix_(U, U)]
    found = np.linalg.inv(matrix) @ smoothed[np.ix_(U, F)] @ np.eye(classes)[y[F]]
    return np.asarray(found)


@pytest.mark.parametrize(("classes", "some"), CLASSES_AND_LABELS)
def test_the_entropy_is_the_published_one(classes: int, some: bool) -> None:
    X, y = partly_labelled(classes) if some else blobs(classes)
    sigma = np.array([0.7, 1.2, 3.0, 2.0])
    shares = literal_shares(X, y, sigma, eta=0.01)
    total = 0.0
    for row in shares:
        if classes == 2:
            total -= row[1] * np.log(row[1]) + (1 - row[1]) * np.log(1 - row[1])
        else:
            total -= sum(f * np.log(f) for f in row)
    entropy = entropy_of(X, y, 0.01)
    theta = np.asarray(np.log(sigma))
    assert entropy.value_and_gradient(theta)[0] == pytest.approx(total / len(shares))
    if some:
        found = entropy.shares(theta)
        np.testing.assert_allclose(found[y == -1], shares, rtol=1e-10)
        np.testing.assert_array_equal(found[y != -1], np.eye(classes)[y[y != -1]])


@pytest.mark.parametrize(("classes", "some"), CLASSES_AND_LABELS)
@pytest.mark.parametrize("eta", [0.01, 0.3])
def test_the_gradient_is_that_of_differences(classes: int, some: bool, eta: float) -> None:
    X, y = partly_labelled(classes) if some else blobs(classes)
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


@pytest.mark.parametrize("classes", [2, 3])
def test_without_smoothing_shares_are_harmonic(classes: int) -> None:
    X, y = partly_labelled(classes)
    sigma = np.array([0.7, 1.2, 3.0, 2.0])
    shares = entropy_of(X, y, 0.0).shares(np.log(sigma))
    classifier = gda.GraphClassifier(np.diag(sigma**-2)).fit(X, y)
    np.testing.assert_allclose(shares, classifier.label_distributions_, atol=1e-12)


def test_a_class_of_one_labelled_sample_has_no_share_in_itself() -> None:
    """Without it, its class has no sample and a share of 0: 0 ln 0 and its slope count as 0."""
    X, y = blobs(2, n=9)
    y = np.where(np.arange(9) == 3, 1, 0)
    value, gradient = entropy_of(X, y, 0.01).value_and_gradient(np.zeros(4))
    shares = literal_shares(X, y, np.ones(4), eta=0.01)
    assert shares[3].tolist() == [pytest.approx(1.0), 0.0]
    positive = shares[shares > 0]
    assert value == pytest.approx(-(positive * np.log(positive)).sum() / 9)
    assert np.abs(gradient).max() < 10
