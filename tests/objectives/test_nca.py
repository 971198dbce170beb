"""Neighbourhood components: against scikit-learn's loss, and below the convex surrogate."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.neighbors import NeighborhoodComponentsAnalysis

import gdaopt as gda
from tests.helpers import random_metric
from tests.objectives.cases import LABELS, K, N, samples


@pytest.mark.parametrize("size", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("n_components", [1, K])
def test_as_scikit_learn(size: float, n_components: int) -> None:
    """Scikit-learn minimises minus the sum of the probabilities, by the transform A: M = A'A."""
    transform = size * np.random.default_rng(0).standard_normal((n_components, K))
    theirs, X = NeighborhoodComponentsAnalysis(), samples()
    theirs.n_iter_ = 0
    same = LABELS[:, None] == LABELS
    loss, gradient = theirs._loss_grad_lbfgs(transform.ravel(), X, same, -1.0)
    nca, metric = gda.NCA(X, LABELS), transform.T @ transform
    assert nca.value(metric) == pytest.approx(loss / N, abs=1e-10)
    ours = 2 * N * transform @ nca.gradient(metric)
    np.testing.assert_allclose(ours, gradient.reshape(transform.shape), rtol=1e-10, atol=1e-10)


def test_the_surrogate_is_an_upper_bound() -> None:
    """Up to the mean logarithm of the numbers of other samples, and 1."""
    rng, X = np.random.default_rng(0), samples()
    labels = np.where(LABELS == "c", "b", LABELS)
    weights = rng.uniform(0.5, 2, N)
    nca = gda.NCA(X, labels, sample_weight=weights)
    surrogate = nca.surrogate()
    n_others = (labels[:, None] == labels).sum(axis=1) - 1
    constant = 1 - np.average(np.log(n_others), weights=weights)
    assert surrogate.convex
    for size in (1e-3, 0.1, 1.0, 10.0):
        metric = size * random_metric(rng, K)
        mcml = gda.MCML(X, labels, sample_weight=weights).value(metric)
        assert surrogate.value(metric) == pytest.approx(mcml, rel=1e-12)
        assert nca.value(metric) <= mcml - constant


def test_subsamples_are_not_convex_either() -> None:
    X = np.random.default_rng(0).standard_normal((20_000, 2))
    subsample = gda.NCA(X, np.arange(20_000) % 2).subsample()
    assert subsample is not None
    assert not subsample.convex
    assert subsample.value(np.eye(2)) == pytest.approx(-0.5, abs=0.02)
