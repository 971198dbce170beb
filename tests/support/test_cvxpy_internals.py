"""What this package relies on in CVXPY: each test says by its name what another version changed."""

import pickle
import re
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import gdaopt
from gdaopt.support.cvxpy_internals import (
    AffineExpressions,
    get_label,
    list_cones,
    list_solvers,
    list_terms,
    norm_argument,
    record_solution,
    set_label,
    solver_interface,
    squared_argument,
)

K = 3
M: Any = cp.Variable((K, K), symmetric=True, name="M")
S = np.arange(9.0).reshape(K, K)


def test_no_other_module_looks_inside_of_cvxpy() -> None:
    top = Path(gdaopt.__file__).parent
    looking = {
        str(path.relative_to(top).parent)
        for path in top.rglob("*.py")
        if re.search(r"^\s*(from|import) cvxpy\.", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert looking == {"support/cvxpy_internals"}


# --- Models ---------------------------------------------------------------------------------------


def test_constraints_have_labels_that_pickles_keep() -> None:
    constraint = M[0, 0] <= 1
    assert get_label(constraint) is None
    assert set_label(constraint, "cap") is constraint
    assert get_label(pickle.loads(pickle.dumps(constraint))) == "cap"


def test_a_solution_is_recorded_as_cvxpy_does() -> None:
    x, y = cp.Variable(), cp.Variable()
    problem = cp.Problem(cp.Minimize(x + y), [x >= 1, y >= 2])
    problem.solve(solver="CLARABEL")
    record_solution(
        problem, "optimal", 5.0, {x.id: 3.0}, {problem.constraints[1].id: 0.5}, "mine", num_iters=7
    )
    assert (problem.status, problem.value) == ("optimal", 5.0)
    assert [variable.value for variable in (x, y)] == [3.0, None]
    assert [constraint.dual_value for constraint in problem.constraints] == [None, 0.5]
    assert (problem.solver_stats.solver_name, problem.solver_stats.num_iters) == ("mine", 7)
    assert problem.solution.opt_val == 5.0
    record_solution(problem, "infeasible", np.inf, {}, {}, "mine")
    assert (problem.status, problem.value) == ("infeasible", np.inf)
    assert x.value is None


def test_sums_are_taken_apart() -> None:
    factor = cp.Parameter(value=3.0)
    first, second, third = cp.exp(M[0, 0]), cp.square(M[1, 1]), cp.norm1(M)
    terms = list_terms(2 * (first - factor * second) + third / 4 - (-first) * 0.5 + cp.trace(M))
    assert [(multiple, str(term)) for multiple, term in terms[:4]] == [
        (2.0, str(first)),
        (-6.0, str(second)),
        (0.25, str(third)),
        (0.5, str(first)),
    ]
    assert terms[4][1].is_affine()
    assert list_terms(cp.maximum(first, second))[0][0] == 1.0


@pytest.mark.parametrize(
    ("term", "is_square"),
    [
        (cp.sum_squares(M - S), True),
        (cp.sum(cp.square(M - S)), True),
        (cp.sum(cp.power(M - S, 2)), True),
        (cp.square(cp.norm(M - S, "fro")), True),
        (cp.norm(cp.vec(M - S, order="F"), 2) ** 2, True),
        (cp.quad_over_lin(M - S, 2), False),
        (cp.quad_over_lin(M[0], M[1, 1]), False),
        (cp.sum(cp.square(M - S), axis=0)[0], False),
        (cp.sum(cp.power(M - S, 4)), False),
        (cp.square(cp.norm1(M - S)), False),
        (cp.square(cp.norm(M - S, 2)), False),
    ],
    ids=str,
)
def test_squares_of_all_entries_are_recognised(term: cp.Expression, is_square: bool) -> None:
    squared = squared_argument(term)
    assert (squared is not None) == is_square
    if squared is not None:
        M.value = np.eye(K)
        assert np.sum(squared.value**2) == pytest.approx(term.value)


def test_the_norm_of_all_entries_is_recognised() -> None:
    assert str(norm_argument(cp.norm(M, "fro"))) == "M"
    assert str(norm_argument(cp.norm(cp.vec(M, order="F")))) == "M"
    for other in (cp.norm(M, 2), cp.norm1(M), cp.norm(M, 2, axis=0), cp.pnorm(M[0], 3), M):
        assert norm_argument(other) is None


# --- Affine expressions: tests/constraints/test_rows.py has all atoms -----------------------------


def test_affine_expressions_are_compiled_with_their_parameters() -> None:
    factor = cp.Parameter()
    affine = AffineExpressions([factor * M[0, 1] + 1, cp.trace(M) - factor], M)
    for value in (2.0, -1.0):
        factor.value = value
        coefficients, offsets = affine.arrays()
        entries = np.zeros(K * K)
        entries[[0, 4, 8]] = 1.0
        assert coefficients.toarray()[0].sum() == value
        np.testing.assert_allclose(coefficients.toarray()[1], entries)
        np.testing.assert_allclose(offsets, [1.0, -value])


# --- Solvers --------------------------------------------------------------------------------------


def test_solvers_and_their_cones() -> None:
    assert {"CLARABEL", "HIGHS", "OSQP", "SCS", "DAQP"} <= set(list_solvers())
    assert {"SOC", "ExpCone"} <= list_cones("CLARABEL")
    # CVXPY 1.9 has two forms of the semidefinite cone.
    assert {"PSD", "SvecPSD"} & list_cones("CLARABEL")
    assert not {"PSD", "SvecPSD"} & list_cones("ECOS")
    assert list_cones("no solver") == set()


def test_interfaces_import_their_solvers() -> None:
    solver_interface("CLARABEL").import_solver()
    assert solver_interface("no solver") is None
    assert "primal_tol" in solver_interface("DAQP").ALLOWED_SOLVER_OPTS
