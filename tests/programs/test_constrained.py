"""Programs with rows: found by name in the CVXPY problem, and kept by every solver."""

from dataclasses import replace
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import gdaopt as gda
from gdaopt.backends import Answer
from gdaopt.constraints.rows import read_constraints
from gdaopt.linalg.entries import all_edges, entries_of, pairs_of
from gdaopt.linalg.gershgorin import align
from gdaopt.programs import JointPolytope, Knapsack, Program
from gdaopt.programs.constrained import ConstrainedPolytope, keep_rows
from gdaopt.programs.whole_set import WholeSet
from gdaopt.support.cvxpy_internals import set_label
from gdaopt.support.validation import FloatArray
from tests.backends.cases import three_programs
from tests.helpers import random_metric, random_symmetric
from tests.programs.cases import AnyPolytope, compiled_problem, largest, mended, need

SOLVERS = ("HIGHS", "CLARABEL", "SCIPY")
SIZE = 5


def rows_at(metric: Any) -> Any:
    """Rows that a metric keeps: one with equality, one that binds, one with room."""
    return read_constraints(
        lambda M: [
            set_label(cp.sum(M[0]) == float(metric[0].sum()), "first row"),
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
    kept = keep_rows(polytope, rows, metric, pairs_of(SIZE, edges))
    program = Program(solver)
    cost = random_symmetric(rng, SIZE)
    costs = np.concatenate([np.diagonal(cost), -2 * cost[edges]])
    found = program.solve(costs, kept)
    arrays = kept.arrays(costs)
    assert compiled_problem(program, arrays).is_dpp()
    pattern = arrays.pattern
    np.testing.assert_array_equal(pattern.is_fixed[pattern.size :], [False, True, False, False])
    assert not (pattern.is_fixed & (pattern.has_lower | pattern.has_upper)).any()

    M = cp.Variable((SIZE, SIZE), symmetric=True)
    plain = [M[edges] <= 0, M @ v >= 0, cp.trace(M) <= 1.2 * SIZE, *rows(M)]
    optimum = cp.Problem(cp.Minimize(cp.trace(cost @ M)), plain).solve("CLARABEL")
    assert found.value == pytest.approx(optimum, abs=1e-5)
    # The answer, made feasible, keeps rows and polytope, whatever the solver's tolerance is.
    coefficients = rows.of_entries(pairs_of(SIZE, edges))
    residuals = coefficients @ found.point - rows.bounds
    assert abs(residuals[0]) < 1e-9 * SIZE
    assert residuals.max() < 1e-9 * SIZE
    y = polytope.coordinates(found.point)
    np.testing.assert_allclose(polytope.made_feasible(y), y, atol=1e-12)


PAIRS = (np.arange(2), np.arange(2))
DIAGONAL = Knapsack(np.ones(2), 5.0)


def test_a_constraint_is_found_by_its_name_with_its_dual() -> None:
    rows = read_constraints(lambda M: [set_label(M[0, 0] <= 2, "cap")], 2)
    program, cost = Program(), np.array([-2.0, -1.0])
    polytope: Any = keep_rows(DIAGONAL, rows, np.eye(2), PAIRS)
    np.testing.assert_allclose(program.solve(cost, polytope).point, [2.0, 3.0], atol=1e-9)
    duals = program.solve(cost, polytope).duals
    assert duals is not None
    np.testing.assert_allclose(duals["cap"], [1.0])
    assert keep_rows(DIAGONAL, None, np.eye(2), PAIRS) is DIAGONAL
    with pytest.raises(gda.errors.InvalidInputError, match="no closed form"):
        Program("analytic").solve(cost, polytope)


def test_a_point_that_cannot_be_mended_stays_near_the_iterate() -> None:
    """The rows leave one point only: what is returned is that point, the iterate."""
    rows = read_constraints(lambda M: [M[0, 0] == 1, M[1, 1] == 1], 2)
    polytope = keep_rows(DIAGONAL, rows, np.eye(2), PAIRS)
    np.testing.assert_allclose(mended(polytope, np.array([3.0, 0.0])), [1.0, 1.0], atol=1e-10)
    # Rows that the polytope contradicts: the bound of the first is below its lower bound.
    off = replace(polytope, residuals=np.array([0.0, 0.0]), coefficients=-np.eye(2))  # type: ignore[type-var]
    np.testing.assert_allclose(mended(off, np.array([1.0, 1.0])), [1.0, 1.0])
    np.testing.assert_allclose(mended(off, np.array([3.0, 1.0])), [1.0, 1.0], atol=1e-8)


def test_duals_where_no_entry_of_a_cost_can_move() -> None:
    """The rows hold nothing up there, and the bounds have the whole cost."""
    rows = read_constraints(lambda M: [set_label(M[0, 1] >= -1.0, "least")], 3)
    column = Knapsack(np.zeros(2), 3.0, np.ones(2), np.array([0.0, 5.0]))
    pairs = (np.array([2, 2]), np.array([0, 1]))
    polytope: Any = keep_rows(column, rows, np.eye(3), pairs)
    solution = Program().solve(np.array([-2.0, 0.0]), polytope)
    np.testing.assert_array_equal(solution.point, [0.0, 0.0])
    assert solution.duals is not None
    assert {name: dual.tolist() for name, dual in solution.duals.items()} == {
        "floors": [0.0, 0.0],
        "rows": [2.0, 0.0],
        "budget": 0.0,
        "least": [0.0],
    }


# --- Multipliers of constraints by name: closed forms against solvers and differences -------------

KINDS = {
    "diagonal": {"rows", "budget"},
    "column": {"floors", "rows", "budget"},
    "joint": {"budget", "rows", "floors"},
}
TOLERANCES = {"highspy": 1e-9, "HIGHS": 1e-9, "CLARABEL": 1e-5, "ECOS": 1e-5}


def proven(polytope: AnyPolytope, cost: FloatArray, duals: Any) -> float:
    """Return the least value that multipliers prove: that of the Lagrangian, x being free."""
    if isinstance(polytope, JointPolytope):
        rho, (i, j), (f, b) = (
            polytope.min_eigenvalue,
            polytope.edges,
            (polytope.forward, polytope.backward),
        )
        rows, floors = duals["rows"], duals["floors"]
        size = len(rows)
        left = cost[:size] + duals["budget"] - rows
        left = np.append(left, cost[size:] + f * rows[i] + b * rows[j] - floors)
        bound = rho * rows.sum() + floors @ polytope.floor - duals["budget"] * polytope.trace_bound
    else:
        below, above = duals.get("floors", duals["rows"]), duals["rows"]
        above = above if "floors" in duals else 0 * above
        left = cost + duals["budget"] * polytope.weights - below + above
        bound = below @ polytope.floor - duals["budget"] * polytope.budget
        bound -= above[above > 0] @ polytope.upper[above > 0]
    assert np.abs(left).max() <= 1e-4 * np.abs(cost).max()
    return float(bound)


@pytest.mark.parametrize("solver", TOLERANCES)
@pytest.mark.parametrize("kind", KINDS)
def test_solvers_give_those_of_the_closed_form(kind: str, solver: str) -> None:
    """They are ≥ 0 and prove that the point is optimal; random programs have one set of them."""
    need(solver) if solver != "highspy" else None
    rng, tolerance = np.random.default_rng(5), TOLERANCES[solver]
    for _ in range(10):
        program, polytope = three_programs(rng, 5, solver)[kind]
        cost = rng.standard_normal(len(polytope.current)) * 10 ** rng.uniform(-6, 6)
        solution = program.solve(cost, polytope)
        exact = Program("analytic").solve(cost, polytope)
        assert solution.solver == solver
        for duals, most in ((exact.duals, 1e-11), (solution.duals, tolerance)):
            assert duals is not None
            assert duals.keys() == KINDS[kind]
            assert duals["budget"].shape == ()
            assert all((dual >= 0).all() for dual in duals.values())
            gap = exact.value - proven(polytope, cost, duals)
            assert abs(gap) <= most * np.abs(cost) @ np.maximum(exact.point, largest(polytope))
            for name, expected in (exact.duals or {}).items():
                assert duals[name].shape == expected.shape
                atol = 10 * tolerance * np.abs(cost).max()
                np.testing.assert_allclose(duals[name], expected, atol=atol)


@pytest.mark.parametrize("solver", ["highspy", "HIGHS", "CLARABEL"])
def test_constraints_of_ones_own_are_those_that_were_written(solver: str) -> None:
    """By the size in which the user wrote them; equalities have a sign."""

    def solved(third: float, most: float) -> Any:
        rows = read_constraints(
            lambda M: [set_label(5 * M[0, 0] <= 5 * most, "budget"), 2 * M[2, 2] == 2 * third],
            n_features=3,
        )
        program = Program(solver)
        current = np.array([1.0, 1.0, third])
        polytope = ConstrainedPolytope(
            Knapsack(np.full(3, 0.5), 6.0, current=current),
            rows,
            rows.of_entries((np.arange(3), np.arange(3))),
            rows.residuals(np.diag(current)),
        )
        return program.solve(np.array([-3.0, -1.0, 0.25]), polytope)

    solution = solved(1.0, 2.0)
    np.testing.assert_allclose(solution.point, [2.0, 3.0, 1.0], atol=1e-6)
    step = 1e-2
    assert solution.duals.keys() == {"rows", "budget", "budget (own)", "2.0 * M[2, 2] == 2.0"}
    most = (solution.value - solved(1.0, 2.0 + step).value) / (5 * step)
    third = (solution.value - solved(1.0 + step, 2.0).value) / (2 * step)
    assert most == pytest.approx(0.4, rel=1e-4)
    assert third == pytest.approx(-0.625, rel=1e-4)
    assert solution.duals["budget (own)"] == pytest.approx([most], rel=1e-4)
    assert solution.duals["2.0 * M[2, 2] == 2.0"] == pytest.approx([third], rel=1e-4)


def test_the_semidefinite_program_has_those_of_ones_own_constraints() -> None:
    feasible_set = gda.PositiveDefiniteMetrics(trace_bound=4.0, min_eigenvalue=0.0)
    rows = read_constraints(lambda M: [3 * M[0, 0] <= 3], n_features=2)
    program = Program("CLARABEL")
    metric = np.eye(2) / 2
    pairs = (np.array([0, 1, 0]), np.array([0, 1, 1]))
    whole = WholeSet(feasible_set, 2, np.array([0.5, 0.5, 0.0]))
    solution = program.solve(np.array([-2.0, -1.0, 0.0]), keep_rows(whole, rows, metric, pairs))
    assert solution.duals is not None
    assert solution.duals.keys() == {"3.0 * M[0, 0] <= 3.0"}
    np.testing.assert_allclose(solution.duals["3.0 * M[0, 0] <= 3.0"], [1 / 3], rtol=1e-4)
    with pytest.raises(gda.errors.InvalidInputError, match="not linear"):
        Program("highspy").solve(np.ones(3), whole)


@pytest.mark.parametrize("solver", ["analytic", "HIGHS"])
def test_a_budget_that_the_floors_use_up_has_its_price(solver: str) -> None:
    duals = Program(solver).solve(np.array([-1.0, -2.0]), Knapsack(np.ones(2), 2.0)).duals
    assert duals is not None
    assert {name: dual.tolist() for name, dual in duals.items()} == {
        "budget": 2.0,
        "rows": [1.0, 0.0],
    }


def test_a_backend_without_multipliers_gives_none(monkeypatch: pytest.MonkeyPatch) -> None:
    class Silent:
        name = "silent"

        def minimize(self, program: Any, cost: Any, watch: Any, limit: float | None) -> Answer:
            answer = Answer(solver=self.name, point=np.array([0.0, 1.0]))  # shares
            watch.lap("solve")
            return answer

    program = Program()
    monkeypatch.setattr(program, "backends", [Silent()])
    solution = program.solve(np.array([-1.0, -2.0]), Knapsack(np.ones(2), 4.0))
    assert solution.duals is None
    assert (solution.solver, solution.seconds.solve > 0) == ("silent", True)
