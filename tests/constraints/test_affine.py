"""Affine expressions as arrays, beside CVXPY's own values and gradients, as parameters change."""

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from gdaopt.constraints.affine import AffineExpressions

SIZE = 3
M: Any = cp.Variable((SIZE, SIZE), symmetric=True)
C: Any = cp.Parameter(value=2.0)
V: Any = cp.Parameter(SIZE, value=np.arange(3.0))
W = np.arange(9.0).reshape(SIZE, SIZE)

EXPRESSIONS: dict[str, Callable[[], Any]] = {
    "constant": lambda: cp.Constant([1.0, 2.0]),
    "entry": lambda: M[0, 1] - 1,
    "offset with a parameter": lambda: cp.trace(M) - 2 * C,
    "coefficients with parameters": lambda: V @ cp.diag(M) + C * M[0, 1],
    "matrix": lambda: W @ M @ W.T - np.eye(SIZE),
    "not affine in the parameters": lambda: cp.square(C) * M[:, 0] - cp.exp(C) + V,
    "three dimensions": lambda: cp.reshape(M, (SIZE, 1, SIZE), order="F") + 1,
    "without a form in C++": lambda: cp.broadcast_to(M[0], (2, SIZE)),
    "nothing": lambda: 0 * M[0, 0],
}


@pytest.mark.parametrize("names", [*([name] for name in EXPRESSIONS), list(EXPRESSIONS)], ids=str)
def test_the_arrays_have_cvxpys_values(names: list[str]) -> None:
    expressions = [EXPRESSIONS[name]() for name in names]
    affine = AffineExpressions(expressions, M)
    rng = np.random.default_rng(0)
    for factor in (1.0, -3.0, 0.0):
        C.value, V.value = 2.0 * factor, factor * np.arange(3.0)
        coefficients, offsets = affine.arrays()
        assert coefficients.shape == affine.shape == (sum(e.size for e in expressions), M.size)
        M.value = (matrix := rng.standard_normal((SIZE, SIZE))) + matrix.T
        expected = np.concatenate([np.ravel(each.value, order="F") for each in expressions])
        found = coefficients @ np.ravel(M.value, order="F") + offsets
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_coefficients_without_parameters_are_the_same_object() -> None:
    fixed = AffineExpressions([EXPRESSIONS["offset with a parameter"]()], M)
    C.value = 1.0
    first, offsets = fixed.arrays()
    C.value = 3.0
    second, others = fixed.arrays()
    assert second is first
    assert (offsets[0], others[0]) == (-2.0, -6.0)
    moving = AffineExpressions([EXPRESSIONS["coefficients with parameters"]()], M)
    assert moving.arrays()[0] is not moving.arrays()[0]
