"""Quadratic programs by Clarabel: its answer, and what becomes of its panics."""

import clarabel
import cvxpy as cp
import numpy as np
import pytest
from scipy.sparse import csc_array

from gdaopt.constraints.quadratic_program import clarabel_answer
from gdaopt.errors import SolverFailedError


def test_the_answer_is_that_of_cvxpy() -> None:
    rng = np.random.default_rng(0)
    root = rng.standard_normal((6, 4))
    hessian, slope = root.T @ root, rng.standard_normal(4)
    left, right = rng.standard_normal((3, 4)), rng.uniform(0.1, 1, 3)
    answer = clarabel_answer(csc_array(np.triu(hessian)), slope, csc_array(left), right, 1)
    x = cp.Variable(4)
    problem = cp.Problem(
        cp.Minimize(cp.quad_form(x, cp.psd_wrap(hessian)) / 2 + slope @ x),
        [left[0] @ x == right[0], left[1:] @ x <= right[1:]],
    )
    problem.solve("OSQP", eps_abs=1e-10, eps_rel=1e-10, max_iter=100_000)
    assert x.value is not None
    np.testing.assert_allclose(answer.x, x.value, atol=1e-7)


def test_a_panic_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    panic = type("PanicException", (BaseException,), {})

    def raising(*_: object) -> None:
        raise panic("index out of bounds")

    monkeypatch.setattr(clarabel, "DefaultSolver", raising)
    one = csc_array(np.eye(1))
    with pytest.raises(SolverFailedError, match=r"Clarabel failed .*index out of bounds"):
        clarabel_answer(one, np.ones(1), one, np.ones(1))
