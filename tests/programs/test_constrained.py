"""Programs with rows: found by name in the CVXPY problem, and kept by every solver."""

from dataclasses import replace
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import gdaopt as gda
from gdaopt.constraints import read_constraints
from gdaopt.linalg.entries import all_edges, entries_of, pairs_of
from gdaopt.linalg.gershgorin import align
from gdaopt.programs import ColumnPolytope, DiagonalPolytope, JointPolytope, Program
from gdaopt.programs.constrained import keeping_rows
from tests.helpers import random_metric, random_symmetric

SOLVERS = ("HIGHS", "CLARABEL", "SCIPY")
SIZE = 5


def rows_at(metric: Any) -> Any:
    """Rows that a metric keeps: one with equality, one that binds, one with room."""
    return read_constraints(
        lambda M: [
            (cp.sum(M[0]) == float(metric[0].sum())).set_label("first row"),
            cp.sum(cp.diag(M)[:2]) <= float(metric[0, 0] + metric[1, 1]),
            M[2, 3] >= float(metric[2, 3]) - 0.5,
        ],
        SIZE,
    )


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("seed", range(3))
def test_the_joint_program_keeps_rows_and_is_cvxpys(solver: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    metric = random_metric(rng, SIZE)
    v = align(metric, 0.0).v
    edges = all_edges(SIZE)
    rows = rows_at(metric)
    polytope = JointPolytope(
        v, 0.0, 1.2 * SIZE, edges, np.zeros(len(edges[0])), entries_of(metric, edges)
    )
    kept = keeping_rows(polytope, rows, metric, pairs_of(SIZE, edges))
    program = Program(solver)
    cost = random_symmetric(rng, SIZE)
    costs = np.concatenate([np.diagonal(cost), -2 * cost[edges]])
    found = program.solve(costs, kept)
    assert program.prepared(costs, kept).problem()[0].is_dpp()

    M = cp.Variable((SIZE, SIZE), symmetric=True)
    plain = [M[edges] <= 0, M @ v >= 0, cp.trace(M) <= 1.2 * SIZE, *rows(M)]
    optimum = cp.Problem(cp.Minimize(cp.trace(cost @ M)), plain).solve("CLARABEL")
    assert found.value == pytest.approx(optimum, abs=1e-5)
    # The answer, made feasible, keeps rows and polytope, whatever the solver's tolerance is.
    coefficients = rows.of_entries(pairs_of(SIZE, edges))
    residuals = coefficients @ found.point - rows.bounds
    assert abs(residuals[0]) < 1e-9 * SIZE
    assert residuals.max() < 1e-9 * SIZE
    np.testing.assert_allclose(polytope.made_feasible(found.point), found.point, atol=1e-12)


def test_a_constraint_is_found_by_its_name_with_its_dual() -> None:
    rows = read_constraints(lambda M: [(M[0, 0] <= 2).set_label("cap")], 2)
    program = Program()
    metric = np.eye(2)
    pairs = (np.arange(2), np.arange(2))
    polytope: Any = keeping_rows(DiagonalPolytope(np.ones(2), 5.0), rows, metric, pairs)
    solution = program.solve(np.array([-2.0, -1.0]), polytope)
    np.testing.assert_allclose(solution.point, [2.0, 3.0], atol=1e-9)
    problem, _ = program.prepared(np.array([-2.0, -1.0]), polytope).problem()
    cap = next(row for row in problem.constraints if row.label == "cap")
    assert cap.dual_value is not None
    assert np.ravel(cap.dual_value)[0] > 0
    assert "bounds: cap" in problem.param_dict


def test_a_point_that_cannot_be_mended_stays_near_the_iterate() -> None:
    """The rows leave one point only: what is returned is that point, the iterate."""
    rows = read_constraints(lambda M: [M[0, 0] == 1, M[1, 1] == 1], 2)
    pairs = (np.arange(2), np.arange(2))
    polytope = keeping_rows(DiagonalPolytope(np.ones(2), 5.0), rows, np.eye(2), pairs)
    np.testing.assert_allclose(polytope.made_feasible(np.array([3.0, 0.0])), [1.0, 1.0], atol=1e-10)
    # Rows that the polytope contradicts: the bound of the first is below its lower bound.
    off = replace(polytope, residuals=np.array([0.0, 0.0]), coefficients=-np.eye(2))  # type: ignore[type-var]
    np.testing.assert_allclose(off.made_feasible(np.array([1.0, 1.0])), [1.0, 1.0])
    np.testing.assert_allclose(off.made_feasible(np.array([3.0, 1.0])), [1.0, 1.0], atol=1e-8)


def test_there_is_no_closed_form() -> None:
    rows = read_constraints(lambda M: [M[0, 0] <= 2], 2)
    pairs = (np.arange(2), np.arange(2))
    polytope: Any = keeping_rows(DiagonalPolytope(np.ones(2), 5.0), rows, np.eye(2), pairs)
    program = Program("analytic")
    with pytest.raises(gda.errors.InvalidInputError, match="no closed form"):
        program.solve(np.array([-1.0, 0.0]), polytope)


def test_duals_where_no_entry_of_a_cost_can_move() -> None:
    """The rows hold nothing up there, and the bounds have the whole cost."""
    rows = read_constraints(lambda M: [(M[0, 1] >= -1.0).set_label("least")], 3)
    column = ColumnPolytope(np.array([0.0, 5.0]), np.ones(2), np.zeros(2), budget=3.0)
    pairs = (np.array([2, 2]), np.array([0, 1]))
    polytope: Any = keeping_rows(column, rows, np.eye(3), pairs)
    solution = Program().solve(np.array([-2.0, 0.0]), polytope)
    np.testing.assert_array_equal(solution.point, [0.0, 0.0])
    assert solution.duals is not None
    assert {name: dual.tolist() for name, dual in solution.duals.items()} == {
        "floors": [0.0, 0.0],
        "rows": [2.0, 0.0],
        "budget": 0.0,
        "least": [0.0],
    }


def test_without_rows_nothing_changes() -> None:
    polytope = DiagonalPolytope(np.ones(2), 5.0)
    pairs = (np.arange(2), np.arange(2))
    assert keeping_rows(polytope, None, np.eye(2), pairs) is polytope
