"""Weights of least entropy: a stationary point, reached by steps that lower the entropy."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from gdaopt.estimators.baselines.harmonic_entropy import HarmonicEntropyWeights
from gdaopt.estimators.baselines.label_entropy import LabelEntropy
from tests.estimators.baselines.cases import CLASSES_AND_LABELS, blobs, partly_labelled


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


def test_a_limit_that_ends_the_fit_warns_its_caller() -> None:
    X, y = partly_labelled(3)
    with pytest.warns(
        ConvergenceWarning, match="did not converge in 2 steps; raise max_iterations"
    ) as seen:
        learner = HarmonicEntropyWeights(max_iterations=2).fit(X, y)
    assert seen[0].filename == __file__
    assert learner.n_iter_ == 2
