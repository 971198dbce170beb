"""Geometric mean metric learning: its pairs, its minimiser, its choice of t, hard input."""

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import fractional_matrix_power

import gdaopt as gda
from gdaopt.estimators.baselines.geometric_mean import (
    GeometricMeanMetric,
    geometric_mean_of_inverse,
    pair_matrices,
    regularise,
)
from gdaopt.support.validation import FloatArray
from tests.estimators.cases import samples
from tests.helpers import PROPERTY, generators
from tests.linalg.cases import definite


def learned_from(
    X: FloatArray, codes: Any, seed: int = 0, n_pairs: int = 240
) -> tuple[FloatArray, FloatArray]:
    """Return S and D of the pairs that a learner with this seed draws."""
    return pair_matrices(X, codes, n_pairs, np.random.RandomState(seed))[:2]


def test_pairs_by_a_loop() -> None:
    X, codes = samples(n=20)
    random = np.random.RandomState(3)
    first, second = random.randint(20, size=500), random.randint(20, size=500)
    differences, similar = X[first] - X[second], codes[first] == codes[second]
    S, D, n_similar = pair_matrices(X, codes, 500, np.random.RandomState(3))
    for found, rows in ((S, differences[similar]), (D, differences[~similar])):
        np.testing.assert_allclose(found, sum(np.outer(row, row) for row in rows), rtol=1e-12)
    assert n_similar == similar.sum()


@pytest.mark.parametrize(("classes", "pairs"), [(2, 80), (3, 240), (5, 800)])
def test_numbers_of_pairs(classes: int, pairs: int) -> None:
    X, codes = samples(classes=classes)
    learner = GeometricMeanMetric(random_state=0).fit(X, codes)
    assert learner.n_similar_ + learner.n_dissimilar_ == pairs
    assert learner.n_similar_ == pytest.approx(pairs / classes, rel=0.3)
    learner = GeometricMeanMetric(n_pairs=7, random_state=0).fit(X, codes)
    assert learner.n_similar_ + learner.n_dissimilar_ == 7


def test_the_learned_metric_is_the_minimiser() -> None:
    X, codes = samples()
    S, D = learned_from(X, codes)
    M = GeometricMeanMetric(random_state=0).fit(X, codes).metric_
    np.testing.assert_allclose(M @ S @ M, D, rtol=1e-9, atol=1e-9 * np.abs(D).max())


def test_ridge_only_where_it_is_needed() -> None:
    X, codes = samples()
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    matrices = learned_from(X, codes)
    np.testing.assert_array_equal(regularise(*matrices, X), matrices)
    X = np.column_stack([X, X[:, 0]])  # z-scores: the ridge is the published one
    matrices = learned_from(X, codes)
    added = np.subtract(regularise(*matrices, X), matrices)
    np.testing.assert_allclose(added, [1e-6 * np.eye(5)] * 2, rtol=1e-6, atol=1e-12)


def test_random_states() -> None:
    X, codes = samples()

    def metric(random_state: Any) -> FloatArray:
        learned: FloatArray = GeometricMeanMetric(random_state=random_state).fit(X, codes).metric_
        return learned

    np.testing.assert_array_equal(metric(5), metric(5))
    np.testing.assert_array_equal(metric(5), metric(np.random.RandomState(5)))
    assert not np.array_equal(metric(5), metric(6))
    assert not np.array_equal(metric(None), metric(None))
    shared = np.random.RandomState(5)
    assert not np.array_equal(metric(shared), metric(shared))


def a_case_for_one_end() -> tuple[FloatArray, Any]:
    """Return two classes that differ only in their scatter, for which M ∝ S⁻¹ is the best."""
    rng = np.random.default_rng(1)
    codes = np.arange(80) % 2
    X = rng.standard_normal((80, 3)) * [0.1, 10.0, 10.0]
    X[:, 0] += codes
    return X, codes


def test_cross_validation_picks_the_best() -> None:
    X, codes = a_case_for_one_end()
    learner = GeometricMeanMetric("cv", random_state=0).fit(X, codes)
    scores = learner.cv_scores_
    assert set(np.round([0.1, 0.3, 0.5, 0.7, 0.9], 12)) <= set(scores)
    coarse = max((0.1, 0.3, 0.5, 0.7, 0.9), key=lambda t: (scores[t], -t))
    fine = np.round(np.clip(coarse + 0.02 * np.arange(-7, 8), 0, 1), 12)
    assert set(scores) == {0.1, 0.3, 0.5, 0.7, 0.9, *fine.tolist()}
    assert scores[learner.t_] == max(scores.values())
    assert learner.t_ == min(t for t, score in scores.items() if score == scores[learner.t_])
    assert scores[learner.t_] > 0.95 > 0.75 > scores[0.9]
    again = GeometricMeanMetric("cv", random_state=0).fit(X, codes)
    assert again.cv_scores_ == scores
    np.testing.assert_array_equal(again.metric_, learner.metric_)
    fixed = GeometricMeanMetric(learner.t_, random_state=0).fit(X, codes)
    np.testing.assert_array_equal(fixed.metric_, learner.metric_)
    assert fixed.cv_scores_ == {}


# --- The geodesic between positive definite matrices, by the properties of their geomet-----------


shares = st.floats(0, 1)


def relative(found: FloatArray, expected: Any) -> float:
    return float(np.linalg.norm(found - expected) / np.linalg.norm(expected))


@PROPERTY
@given(generators, st.integers(1, 8), shares)
def test_it_is_the_formula_with_square_roots(rng: Any, size: int, t: float) -> None:
    S, B = definite(rng, size), definite(rng, size)
    A = np.linalg.inv(S)
    root, inverse = fractional_matrix_power(A, 0.5), fractional_matrix_power(A, -0.5)
    expected = root @ fractional_matrix_power(inverse @ B @ inverse, t) @ root
    found = geometric_mean_of_inverse(S, B, t)
    np.testing.assert_array_equal(found, found.T)
    assert relative(found, expected) < 1e-10


@PROPERTY
@given(generators, st.integers(2, 8), st.booleans())
def test_one_ill_conditioned_matrix(rng: Any, size: int, first: bool) -> None:
    """The Riccati equation to round-off, whichever of the two is nearly singular."""
    first_decades, second_decades = (8.0, 1.0) if first else (1.0, 8.0)
    S, D = definite(rng, size, first_decades), definite(rng, size, second_decades)
    M = geometric_mean_of_inverse(S, D)
    assert np.linalg.eigvalsh(M)[0] > 0
    assert relative(M @ S @ M, D) < 1e-8


def test_bad_matrices() -> None:
    good = np.eye(2)
    message = "D is not positive definite: its smallest eigenvalue is -1; add a small multiple"
    with pytest.raises(gda.errors.InvalidInputError, match=message):
        geometric_mean_of_inverse(good, np.diag([1.0, -1.0]))
    with pytest.raises(gda.errors.InvalidInputError, match="S is not positive definite"):
        geometric_mean_of_inverse(np.zeros((2, 2)), good)
    with pytest.raises(gda.errors.InvalidInputError, match=re.escape("D must be 2×2, got 3×3")):
        geometric_mean_of_inverse(good, np.eye(3))
