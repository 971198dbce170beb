"""All pairs of samples that differ in a signal, with weights of samples."""

from __future__ import annotations

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.linalg.directions import DenseDirection
from gdaopt.support.validation import FloatArray
from tests.objectives.pairs.cases import K, N, assert_same


@pytest.mark.usefixtures("_blocks")
def test_a_sample_of_weight_two_counts_as_two(
    data: tuple[FloatArray, FloatArray], rng: np.random.Generator
) -> None:
    X, z = data
    counts = rng.integers(1, 4, N)
    repeated = gda.GLR(X.repeat(counts, axis=0), z.repeat(counts, axis=0))
    assert_same(gda.GLR(X, z, sample_weight=counts), repeated, rng)


def test_weights_of_classes_take_no_memory_for_pairs() -> None:
    X = np.random.default_rng(0).standard_normal((N, K))
    z = np.repeat([1.0, -1.0], N // 2)
    glr = gda.GLR(X, z, sample_weight=np.where(z > 0, 3.0, 1.0))
    assert glr.log_weights is not None
    assert [block.shape for block in glr.log_weights] == [()]


@pytest.mark.usefixtures("_blocks")
@pytest.mark.parametrize("far", [1.0, 1e3, 1e5, 1e7])
def test_near_samples_keep_their_digits_far_from_the_mean(
    far: float, rng: np.random.Generator
) -> None:
    """Two groups far apart, one of them of both classes: only pairs within that group count."""
    X = rng.integers(-8, 9, (N, K)) / 4
    X[: N // 2, 0] += 2.0 ** round(np.log2(far))  # differences are exact
    z = np.where(np.arange(N) % 2, 1.0, -1.0)
    z[N // 2 :] = 1.0
    metric = np.array([[0.5, -0.2, 0.0], [-0.2, 0.6, -0.1], [0.0, -0.1, 0.4]])
    left, right = np.nonzero(np.triu(z[:, None] != z, 1))
    d = X[left] - X[right]
    terms = 8 * np.exp(-np.einsum("pi,ij,pj->p", d, metric, d))
    point = gda.GLR(X, z).at(metric)
    assert point.value == pytest.approx(terms.sum(), rel=1e-11)
    gradient = -np.einsum("p,pi,pj->ij", terms, d, d)
    np.testing.assert_allclose(point.gradient(), gradient, rtol=1e-8, atol=1e-11 * terms.sum())
    diagonal = np.diagonal(gradient)
    np.testing.assert_allclose(point.gradient_diagonal(), diagonal, rtol=1e-9)
    change = np.array([[0.1, 0.1, 0.0], [0.1, -0.1, 0.2], [0.0, 0.2, 0.0]])
    rates = np.einsum("pi,ij,pj->p", d, change, d)
    slope = point.line(DenseDirection(change)).derivatives(0.0)[0]
    assert slope == pytest.approx(-terms @ rates, rel=1e-9)
