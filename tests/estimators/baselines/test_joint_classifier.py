"""The Newton steps on feature weights against loops over pairs."""

from collections.abc import Iterator

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.estimators.baselines.feature_weights import regulariser_of_weights
from gdaopt.estimators.baselines.joint_classifier import JointClassifierWeights, newton_step
from gdaopt.estimators.inputs import one_hot
from gdaopt.master.master_point import MasterPoint
from gdaopt.support.validation import FloatArray
from tests.estimators.cases import blobs, partly_labelled


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
def test_gradient_and_hessian_are_those_of_the_sum(classes: int) -> None:
    X, codes = blobs(classes, n=20)
    d, c = distances(X, codes), np.array([0.5, 0.1, 0.3, 0.0])
    point = regulariser_of_weights(X, one_hot(codes), c)
    terms = np.exp(-d @ c)
    assert np.exp(point.value) == pytest.approx(4 * terms.sum())
    slope = point.gradient()
    np.testing.assert_allclose(slope, -(terms @ d) / terms.sum(), rtol=1e-10)
    curvature = point.hessian() + np.outer(slope, slope)
    np.testing.assert_allclose(curvature, (d.T * terms) @ d / terms.sum(), rtol=1e-10)

    def value(weights: FloatArray) -> float:
        return float(np.exp(-d @ weights).sum())

    for k, ahead in enumerate(1e-6 * np.eye(4)):
        difference = (value(c + ahead) - value(c - ahead)) / 2e-6
        assert slope[k] * terms.sum() == pytest.approx(difference, rel=1e-6)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("n_steps", [1, 4])
def test_steps_are_newtons(classes: int, n_steps: int) -> None:
    X, y = partly_labelled(classes)
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


def starts_from_random_pairs() -> Iterator[tuple[FloatArray, MasterPoint]]:
    """Yield distances of pairs, few of them large, and weights to start from."""
    rng = np.random.default_rng(0)
    codes = np.append(0, np.ones(30, dtype=np.intp))
    for _ in range(300):
        d = rng.exponential(size=(30, 6)) ** 5
        X = np.vstack([np.zeros(6), np.sqrt(d)])
        yield d, regulariser_of_weights(X, one_hot(codes), 3 * rng.exponential(size=6))


def test_weights_are_clipped_at_0() -> None:
    clipped = 0
    for d, start in starts_from_random_pairs():
        expected, found = literal_newton(d, start.weights), newton_step(start)
        if np.exp(-d @ expected).sum() < (1 - 1e-9) * np.exp(-d @ start.weights).sum():
            np.testing.assert_allclose(found.weights, expected, rtol=1e-3, atol=1e-9)
            clipped += expected.min() == 0
    assert clipped > 3


def test_a_step_that_would_raise_the_sum_is_halved() -> None:
    raised = 0
    for d, start in starts_from_random_pairs():
        assert newton_step(start).value < start.value
        full = literal_newton(d, start.weights)
        raised += np.exp(-d @ full).sum() > np.exp(-d @ start.weights).sum()
    assert raised > 3
