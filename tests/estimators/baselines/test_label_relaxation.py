"""The semidefinite relaxation of labels: its bounds, and its labels beside the harmonic ones."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from gdaopt.estimators.baselines.label_relaxation import relax_labels, relaxed_codes
from gdaopt.estimators.baselines.predicted_labels import harmonic_codes
from gdaopt.support.validation import FloatArray
from tests.estimators.baselines.cases import partly_labelled


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
    """Its value bounds x'Lx of all labels ±1 from below, and its solution is feasible."""
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
    # The harmonic solution z minimises a relaxation of the relaxation, so that it bounds it.
    U = ~labelled
    z = np.linalg.solve(laplacian[np.ix_(U, U)], weights[np.ix_(U, ~U)] @ given)
    assert relaxed.value >= form(weights, np.append(given, z)) - accuracy * unit


def test_the_label_steps_are_not_the_same() -> None:
    """The relaxation goes by the sum of the cut weights, the harmonic solution by a mean."""
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
