"""Objectives as CVXPY atoms: value, gradient and curvature, and the optimum of conic solvers."""

import copy
import pickle
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import gdaopt as gda
from gdaopt.objectives import Objective
from tests.fuzz.objectives import OBJECTIVES, objective_of
from tests.helpers import random_symmetric

SIZE = 3


def made(name: str) -> Objective:
    return objective_of(name, SIZE, 1.0, np.random.default_rng(3))


@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize("symmetric", [True, False])
def test_value_gradient_and_optimum_are_those_of_the_objective(name: str, symmetric: bool) -> None:
    objective = made(name)
    M = cp.Variable((SIZE, SIZE), symmetric=symmetric)
    atom = objective(M)
    assert atom.is_convex()
    assert not atom.is_concave()
    assert atom.is_scalar()
    metric = 2 * np.eye(SIZE) + 0.3 * random_symmetric(np.random.default_rng(0), SIZE)
    M.value = metric
    assert atom.value == pytest.approx(objective.at(metric).value, rel=1e-12)
    gradient = atom.grad[M].toarray().reshape((SIZE, SIZE), order="F")
    np.testing.assert_allclose(gradient, objective.at(metric).gradient(), rtol=1e-12, atol=1e-12)
    # A diagonal set has no semidefinite cone of its own: the atom must ask for what it needs.
    feasible_set = gda.DiagonalMetrics(trace_bound=6.0, min_eigenvalue=0.01)
    problem = cp.Problem(cp.Minimize(atom + 0.1 * cp.sum_squares(1 * M)), feasible_set.of(M))
    by_cone = problem.solve(solver="CLARABEL")
    assert problem.solve(method="gdaopt") == pytest.approx(by_cone, rel=2e-5, abs=2e-5)


def test_the_symmetric_part_of_a_plain_variable_counts() -> None:
    objective, M = made("GLR"), cp.Variable((SIZE, SIZE))
    atom = objective(M)
    skew = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 2.0], [0.0, -2.0, 0.0]])
    M.value = np.eye(SIZE) + skew
    assert atom.value == objective.at(np.eye(SIZE)).value
    symmetric = cp.Variable((SIZE, SIZE), symmetric=True)
    found = []
    for metric, rows in ((M, [M - M.T - 2 * skew == 0]), (symmetric, [])):
        kept = [(metric + metric.T) / 2 >> 0.1 * np.eye(SIZE), cp.trace(metric) <= 3]
        problem = cp.Problem(cp.Minimize(objective(metric)), [*rows, *kept])
        found.append(problem.solve(solver="CLARABEL"))
    assert found[0] == pytest.approx(found[1], rel=1e-6)


def test_an_objective_that_is_not_convex_is_no_convex_expression() -> None:
    concave = gda.FunctionObjective(
        lambda M: (-float(np.sum(M**2)), -2 * M), n_features=SIZE, convex=False
    )
    assert not concave(cp.Variable((SIZE, SIZE), symmetric=True)).is_convex()


def test_samples_cost_nothing_before_a_conic_solver_asks() -> None:
    glr = gda.GLR(np.random.default_rng(0).standard_normal((2000, SIZE)), np.tile([1, -1], 1000))
    M = cp.Variable((SIZE, SIZE), symmetric=True)
    problem = cp.Problem(cp.Minimize(glr(M) + cp.trace(M)), gda.GraphMetrics(3.0).of(M))
    assert problem.is_dcp()
    problem.solve(method="gdaopt")
    assert "expression" not in vars(problem.objective.args[0].args[0])  # of two million pairs


def test_copies_and_pickles_are_the_same_expression() -> None:
    M = cp.Variable((SIZE, SIZE), symmetric=True)
    atom = made("GLR")(M)
    for other in (copy.copy(atom), copy.deepcopy(atom), pickle.loads(pickle.dumps(atom))):
        (own,) = other.variables()
        own.value = M.value = np.eye(SIZE)
        assert other.value == atom.value
        assert str(other).split("(")[0] == "GLR"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        *((wrong, "is called with a CVXPY variable") for wrong in (np.eye(SIZE), "M", None)),
        (cp.Variable(SIZE), r"of shape \(3, 3\), got"),
        (cp.Variable((SIZE + 1, SIZE + 1)), r"of shape \(3, 3\), got"),
        (cp.square(cp.Variable((SIZE, SIZE))), "takes an affine"),
    ],
)
def test_what_is_no_affine_matrix_is_refused(given: Any, message: str) -> None:
    with pytest.raises(gda.errors.InvalidInputError, match=message):
        made("GLR")(given)
