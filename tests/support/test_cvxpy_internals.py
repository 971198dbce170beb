"""What this package relies on in CVXPY: each test says by its name what another version changed."""

import pickle
import re
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import gdaopt
from gdaopt.support import cvxpy_internals
from gdaopt.support.cvxpy_internals import (
    ID_COUNTER,
    AffineExpressions,
    Atom,
    differentiate,
    get_label,
    list_cones,
    list_solvers,
    list_terms,
    norm_argument,
    record_solution,
    register_atom,
    replace_params_with_consts,
    set_label,
    solver_interface,
    squared_argument,
    symmetric_part,
    write_in_affine_atoms,
)

K = 3
M: Any = cp.Variable((K, K), symmetric=True, name="M")
S = np.arange(9.0).reshape(K, K)


def test_no_other_module_looks_inside_of_cvxpy() -> None:
    top = Path(gdaopt.__file__).parent
    looking = {
        str(path.relative_to(top))
        for path in top.rglob("*.py")
        if re.search(r"^\s*(from|import) cvxpy\.", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert looking == {"support/cvxpy_internals.py"}


# --- Models ---------------------------------------------------------------------------------------


def test_constraints_have_labels_that_pickles_keep() -> None:
    constraint = M[0, 0] <= 1
    assert get_label(constraint) is None
    assert set_label(constraint, "cap") is constraint
    assert get_label(pickle.loads(pickle.dumps(constraint))) == "cap"


def test_quadratic_objectives_have_the_squares_of_symmetric_variables() -> None:
    for metric, is_symmetric in ((M, True), (cp.Variable((K, K)), False)):
        symmetric = symmetric_part(metric, is_symmetric)
        assert symmetric.is_symmetric() or not is_symmetric
        problem = cp.Problem(cp.Minimize(cp.sum_squares(symmetric) - cp.trace(S @ symmetric)))
        least = -np.sum((S + S.T) ** 2) / 16
        assert problem.solve(solver="CLARABEL") == pytest.approx(least, rel=1e-6)


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


def test_parameters_are_replaced_by_their_values() -> None:
    factor = cp.Parameter(value=3.0)
    fixed = replace_params_with_consts(factor * cp.exp(M[0, 0]))
    assert fixed.parameters() == []
    assert [variable.id for variable in fixed.variables()] == [M.id]


def test_trees_are_copied_with_another_variable() -> None:
    other = cp.Variable((K, K))
    assert [leaf.id for leaf in cp.exp(M[0, 0]).tree_copy({id(M): other}).variables()] == [other.id]


def test_ids_of_variables_are_counted() -> None:
    before = ID_COUNTER.count
    assert cp.Variable().id == before
    assert ID_COUNTER.count == before + 1


# --- Atoms ----------------------------------------------------------------------------------------


class Cosh(Atom):
    """``Σ cosh``, which CVXPY has no atom for."""

    def shape_from_args(self) -> tuple[int, ...]:
        return ()

    def sign_from_args(self) -> tuple[bool, bool]:
        return True, False

    def is_atom_convex(self) -> bool:
        return True

    def is_atom_concave(self) -> bool:
        return False

    def is_incr(self, _idx: int) -> bool:
        return False

    def is_decr(self, _idx: int) -> bool:
        return False

    def numeric(self, values: list[Any]) -> float:
        return float(np.cosh(values[0]).sum())

    def _grad(self, values: list[Any]) -> list[Any]:
        raise NotImplementedError


def expand(_atom: Cosh, x: cp.Expression) -> tuple[cp.Expression, list[cp.Constraint]]:
    above = cp.Variable(x.shape)
    return cp.sum(above), [above >= (cp.exp(x) + cp.exp(-x)) / 2]


@pytest.mark.parametrize("squares", [0.0, 1.0])
def test_conic_solvers_take_a_registered_atom(squares: float) -> None:
    register_atom(Cosh, expand)
    x = cp.Variable(2)
    objective = Cosh(x) + squares * cp.sum_squares(x)
    problem = cp.Problem(cp.Minimize(objective), [x[0] >= 1])
    value = problem.solve(solver="CLARABEL")
    assert value == pytest.approx(np.cosh(1.0) + 1 + squares, rel=1e-6)
    assert value == pytest.approx(objective.value, rel=1e-6)


WIDE = np.random.default_rng(0).uniform(0.5, 2.0, (2, 3))
SPREAD = np.diag([1.0, 2.0, 3.0]) + 0.1 * np.arange(9.0).reshape(3, 3) / 9
SPREAD = (SPREAD + SPREAD.T) / 2
DERIVATIVES: dict[str, tuple[Any, Any]] = {
    "squares": (cp.sum_squares, WIDE),
    "sum of the largest": (lambda x: cp.sum_largest(x, 2), WIDE),
    "a part of the largest": (lambda x: cp.sum_largest(x, 2.5), WIDE),
    "largest of a vector": (lambda x: cp.sum_largest(x, 2), WIDE[0]),
    "trace of the inverse": (cp.tr_inv, SPREAD),
    "determinant": (lambda x: -cp.log_det(x), SPREAD),
    "norm": (lambda x: cp.norm(x, "fro"), WIDE),
    "largest": (cp.max, WIDE),
    "exponentials": (cp.log_sum_exp, WIDE),
    "eigenvalue": (cp.lambda_max, SPREAD),
}


@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives_are_those_of_differences(name: str) -> None:
    make, here = DERIVATIVES[name]
    atom: Any = make(cp.Variable(here.shape))
    if name == "determinant":
        atom = atom.args[0]
    rest = [part.value for part in atom.args[1:]]
    derivative = differentiate(atom, [here, *rest])[0].toarray().ravel()
    change = np.random.default_rng(1).standard_normal(here.shape)
    change = change + change.T if here is SPREAD else change
    step = 1e-6
    ends = [atom.numeric([here + sign * step * change, *rest]) for sign in (1, -1)]
    difference = float(ends[0] - ends[1]) / (2 * step)
    assert change.ravel(order="F") @ derivative == pytest.approx(difference, rel=1e-6)


def test_derivatives_are_unknown_outside_of_a_domain() -> None:
    assert differentiate(cp.tr_inv(M), [-np.eye(K)]) == [None]
    assert differentiate(cp.quad_over_lin(M[0], M[1, 1]), [np.ones(K), -1.0]) == [None, None]


def test_derivatives_by_the_divisor() -> None:
    x, y = cp.Variable(2), cp.Variable()
    by_dividend, by_divisor = differentiate(cp.quad_over_lin(x, y), [np.array([1.0, 3.0]), 2.0])
    np.testing.assert_allclose(by_dividend.toarray().ravel(), [1.0, 3.0])
    np.testing.assert_allclose(by_divisor.toarray(), [[-2.5]])


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


def test_affine_expressions_of_atoms_that_are_not_affine() -> None:
    written = write_in_affine_atoms(cp.power(M[0, 0], 1) + cp.real(2j * M[0, 1] + M[1, 1]))
    M.value = S + S.T
    assert written.value == pytest.approx(M.value[0, 0] + M.value[1, 1])
    assert all(atom.__name__ != "power" for atom in written.atoms())


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


def test_all_that_is_offered_is_there() -> None:
    assert all(hasattr(cvxpy_internals, name) for name in cvxpy_internals.__all__)
