"""The programs: closed forms against solvers, what vertices keep, feasible points, faulty data."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gdaopt as gda
from gdaopt.errors import InvalidInputError
from gdaopt.linalg.entries import matrix_of
from gdaopt.programs import JointPolytope, Knapsack, Program
from gdaopt.support.validation import FloatArray
from tests.helpers import PROPERTY, Rng, generators, scaled
from tests.programs.cases import (
    BLOCKS,
    KINDS,
    SOLVERS,
    AnyPolytope,
    assert_inside,
    assert_optimal,
    cases,
    compiled_problem,
    mended,
    need,
    random_column,
    random_cost,
    random_diagonal,
    situation,
)

sizes = st.sampled_from([2, 3, 5, 12])
kinds = st.sampled_from(["", *KINDS])


# --- The grid: closed form against every solver --------------------------------------------------


@pytest.mark.covering(1, 2)
@pytest.mark.filterwarnings(
    "ignore::gdaopt.errors.InaccurateSolutionWarning"
)  # judged by the answer
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [2, 3, 10, 60])
@pytest.mark.parametrize("block", BLOCKS)
def test_solvers_agree_with_the_closed_form(block: str, size: int, kind: str, solver: str) -> None:
    """For costs of every magnitude, compiled once."""
    need(solver)
    grid = cases(block, size, kind, 200 if block != "joint" else 40)
    program = Program(solver)
    program.solve(*grid[0])
    arrays = grid[0][1].arrays(grid[0][0])
    problem = compiled_problem(program, arrays)
    compiled = problem._cache.param_prog
    for cost, polytope in grid:
        solution = program.solve(cost, polytope)
        assert_optimal(solution, cost, polytope)
        assert solution.solver == solver
    assert compiled is not None
    assert problem._cache.param_prog is compiled
    assert compiled_problem(program, arrays) is problem
    largest = [np.abs(cost).max() for cost, _ in grid]
    assert min(largest) < 1e-9
    assert max(largest) > 1e9


@pytest.mark.parametrize("solver", ["HIGHS", "CLARABEL"])
@pytest.mark.parametrize("hidden_by", [-1.0, 1.0, 1e12])
def test_small_costs_beside_large_ones(solver: str, hidden_by: float) -> None:
    """A cost far below the largest decides nothing to a solver, unless the large one is idle."""
    polytope = Knapsack(np.zeros(3), 2.0, np.ones(3), np.ones(3))
    cost = np.array([hidden_by, -1e-5, 1e-5])
    solution = Program(solver).solve(cost, polytope)
    np.testing.assert_allclose(solution.point, [hidden_by < 0, 1.0, 0.0], atol=1e-3)


@pytest.mark.parametrize("excess", [1e-13, 1e-11, 1e-9, 1e-7])
@pytest.mark.parametrize("rest", [1e-10, 1e-8])
def test_budgets_used_up_but_for_round_off(excess: float, rest: float) -> None:
    """The presolve of HiGHS calls some of these infeasible."""
    upper = np.array([0.5 + excess, 0.5, rest])
    polytope = Knapsack(np.zeros(3), 1.0, np.ones(3), upper)
    cost = np.array([-1.0, -2.0, 3.0])
    assert_optimal(Program("HIGHS").solve(cost, polytope), cost, polytope)


# --- The closed form against the literal programs, written out -----------------------------


@PROPERTY
@given(generators, sizes, kinds)
def test_vertices_keep_the_left_ends_and_the_trace(rng: Rng, size: int, kind: str) -> None:
    """What the programs mean: ``M v ≥ ρ v`` and ``tr M ≤ C`` hold with a vertex in the metric."""
    there = situation(rng, size, kind)
    diagonal, edges, joint = there.diagonal(), there.edges(), there.joint()
    with_diagonal, with_edges = there.metric.copy(), there.metric.copy()
    anew = matrix_of(joint.minimize(random_cost(rng, joint)), size, joint.edges)
    np.fill_diagonal(with_diagonal, diagonal.minimize(random_cost(rng, diagonal)))
    others = np.arange(size) != there.column
    vertex = -edges.minimize(random_cost(rng, edges))
    with_edges[others, there.column] = with_edges[there.column, others] = vertex
    for metric in (with_diagonal, with_edges, anew):
        assert (metric - np.diag(np.diagonal(metric))).max() <= 0
        slack = metric @ there.v - there.min_eigenvalue * there.v
        terms = (np.abs(there.metric) + np.abs(metric)) @ there.v
        assert (slack >= -1e-14 * terms).all()
        assert np.trace(metric) <= there.trace_bound * (1 + 1e-14)
        smallest = np.linalg.eigvalsh(metric)[0]
        # A vertex may be small where the metric was not: entries are rounded relative to both.
        largest = max(np.abs(metric).max(), np.abs(there.metric).max())
        assert smallest >= there.min_eigenvalue - 1e-12 * largest * size


@PROPERTY
@given(generators, sizes, kinds)
def test_the_current_point_is_inside(rng: Rng, size: int, kind: str) -> None:
    there = situation(rng, size, kind)
    diagonal, edges, joint = there.diagonal(), there.edges(), there.joint()
    for polytope in (diagonal, edges, joint):
        assert_inside(polytope.current, polytope)
    np.testing.assert_array_equal(diagonal.current, np.diagonal(there.metric))
    np.testing.assert_array_equal(
        edges.current, np.delete(-there.metric[there.column], there.column)
    )
    np.testing.assert_array_equal(matrix_of(joint.current, size, joint.edges), there.metric)


def taken(polytope: AnyPolytope) -> FloatArray:
    """Return what each entry takes of the budget."""
    if isinstance(polytope, JointPolytope):
        return np.concatenate([np.ones(len(polytope.v)), polytope.weights])
    return polytope.weights


def violation(point: FloatArray, polytope: Knapsack) -> float:
    """Return by how much bounds and budget are broken, in the budget's units."""
    outside = np.maximum(polytope.floor - point, 0) + np.maximum(point - polytope.upper, 0)
    over = max(polytope.weights @ point - polytope.budget, 0.0)
    return float(polytope.weights @ outside + over)


def any_polytope(rng: Rng, size: int, kind: str) -> AnyPolytope:
    there = situation(rng, size, kind)
    random: list[AnyPolytope] = [random_diagonal(rng, size, kind), random_column(rng, size, kind)]
    return [*random, there.diagonal(), there.edges(), there.joint()][rng.integers(5)]


@PROPERTY
@given(generators, sizes, kinds, st.floats(-12, 3))
def test_points_that_are_made_feasible(rng: Rng, size: int, kind: str, magnitude: float) -> None:
    """They are inside, stay there, and moved in proportion to the violation.

    In the joint polytope a diagonal entry moves with its edges: in proportion to the noise.
    """
    polytope = any_polytope(rng, size, kind)
    noise = rng.standard_normal(len(polytope.current)) * 10**magnitude / taken(polytope)
    feasible = mended(polytope, polytope.current + noise)
    assert_inside(feasible, polytope)
    again = mended(polytope, feasible)
    np.testing.assert_allclose(again, feasible, rtol=1e-12, atol=1e-14 * np.abs(feasible).max())
    point = polytope.minimize(random_cost(rng, polytope)) + noise
    moved = taken(polytope) @ np.abs(mended(polytope, point) - point)
    round_off = 1e-14 * (taken(polytope) @ (np.abs(point) + polytope.current))
    if isinstance(polytope, JointPolytope):
        assert moved <= 20 * (taken(polytope) @ np.abs(noise)) + 100 * round_off
    else:
        assert moved <= 2 * violation(point, polytope) + round_off


def test_shares_are_clipped_to_upper_bounds_and_then_scaled_to_the_budget() -> None:
    column = Knapsack(np.zeros(2), 3.0, np.array([1.0, 2.0]), np.array([1.0, 5.0]))
    np.testing.assert_allclose(mended(column, np.array([4.0, 0.5])), [1.0, 0.5])
    np.testing.assert_allclose(mended(column, np.array([4.0, 1.25])), [6 / 7, 15 / 14])


@pytest.mark.parametrize("solver", ["analytic", "HIGHS"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_costs_that_are_not_finite_are_refused(solver: str, bad: float) -> None:
    polytope = Knapsack(np.ones(2), 3.0)
    with pytest.raises(InvalidInputError, match=f"cost of the diagonal program holds {bad}"):
        Program(solver).solve(np.array([1.0, bad]), polytope)


@pytest.mark.parametrize("solver", ["analytic", *SOLVERS])
def test_a_zero_cost_is_answered_by_the_current_point(solver: str) -> None:
    need(solver)
    there = situation(np.random.default_rng(7), 4)
    polytopes: list[AnyPolytope] = [there.diagonal(), there.edges(), there.joint()]
    for polytope in polytopes:
        cost = np.zeros(len(polytope.current))
        solution = Program(solver).solve(cost, polytope)
        np.testing.assert_array_equal(solution.point, polytope.current)
        assert (solution.value, solution.repair_distance) == (0.0, 0.0)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_the_problem_is_dpp_with_its_parameters(size: int) -> None:
    there, rng = situation(np.random.default_rng(0), size + 1), np.random.default_rng(1)
    for polytope in (there.diagonal(), there.edges(), there.joint()):
        arrays = polytope.arrays(rng.standard_normal(len(polytope.current)))
        problem = compiled_problem(Program(), arrays)
        assert problem.is_dpp()
        # Each bound is a row of the solver: only a column has upper ones of its own.
        caps = {"upper of variables"} if polytope.name == "column program" else set()
        bounds = {"lower of variables", "upper of rows", *caps}
        assert set(problem.param_dict) == {"cost", "coefficients", *bounds}


@pytest.mark.parametrize("method", ["alternating", "joint"])
def test_named_solvers_call_no_closed_form(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: AnyPolytope, cost: FloatArray) -> FloatArray:
        raise AssertionError("the closed form was called")

    for polytope in (Knapsack, JointPolytope):
        monkeypatch.setattr(polytope, "minimize", refuse)
    X, z = scaled("wine", "class_1")
    problem = gda.MetricProblem(gda.GLR(X, z), gda.GraphMetrics(trace_bound=X.shape[1]))
    result = gda.solve(problem, method, solver="HIGHS", tolerance=1e-3)
    assert result.status in ("block_minimum", "slow_progress")
    assert set(result.trace.column("solver")[1:]) == {"HIGHS"}
    assert result.objective < 0.9 * result.trace[0].objective
    with pytest.raises(AssertionError, match="closed form was called"):
        gda.solve(problem, method, solver="analytic")
