"""The geodesic between positive definite matrices, by the properties of their geometric mean."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import fractional_matrix_power

import gdaopt as gda
from gdaopt.estimators.baselines.geometric_mean import geometric_mean_of_inverse
from gdaopt.support.validation import FloatArray
from tests.helpers import PROPERTY, generators
from tests.linalg.cases import definite

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
@given(generators, st.integers(1, 8), shares)
def test_symmetry_and_congruence(rng: Any, size: int, t: float) -> None:
    S, D = definite(rng, size), definite(rng, size)
    C = rng.standard_normal((size, size)) + 2 * np.eye(size)
    found = geometric_mean_of_inverse(S, D, t)
    assert relative(found, np.linalg.inv(geometric_mean_of_inverse(D, S, 1 - t))) < 1e-10
    if np.linalg.cond(C) < 1e2:
        turned = geometric_mean_of_inverse(
            C @ S @ C.T, np.linalg.solve(C.T, np.linalg.solve(C.T, D).T), t
        )
        assert relative(C.T @ turned @ C, found) < 1e-8
    assert np.linalg.slogdet(found)[1] == pytest.approx(
        t * np.linalg.slogdet(D)[1] - (1 - t) * np.linalg.slogdet(S)[1], abs=1e-9
    )


@PROPERTY
@given(generators, st.integers(2, 8), st.booleans())
def test_one_ill_conditioned_matrix(rng: Any, size: int, first: bool) -> None:
    """The Riccati equation to round-off, whichever of the two is nearly singular."""
    first_decades, second_decades = (8.0, 1.0) if first else (1.0, 8.0)
    S, D = definite(rng, size, first_decades), definite(rng, size, second_decades)
    M = geometric_mean_of_inverse(S, D)
    assert np.linalg.eigvalsh(M)[0] > 0
    assert relative(M @ S @ M, D) < 1e-8


def test_ends_of_the_geodesic() -> None:
    rng = np.random.default_rng(0)
    S, D = definite(rng, 5), definite(rng, 5)
    assert relative(geometric_mean_of_inverse(S, D, 0) @ S, np.eye(5)) < 1e-13
    assert relative(geometric_mean_of_inverse(S, D, 1), D) < 1e-13


def test_bad_matrices() -> None:
    good = np.eye(2)
    message = "D is not positive definite: its smallest eigenvalue is -1; add a small multiple"
    with pytest.raises(gda.errors.InvalidInputError, match=message):
        geometric_mean_of_inverse(good, np.diag([1.0, -1.0]))
    with pytest.raises(gda.errors.InvalidInputError, match="S is not positive definite"):
        geometric_mean_of_inverse(np.zeros((2, 2)), good)
    with pytest.raises(gda.errors.InvalidInputError, match=re.escape("D must be 2×2, got 3×3")):
        geometric_mean_of_inverse(good, np.eye(3))
