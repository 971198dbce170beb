"""The joint program: closed form, solvers, entries, and alignment by the gradient."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import product

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

import gdaopt as gda
from gdaopt.linalg.atoms import dual_alignment
from gdaopt.linalg.entries import all_edges, entries_of, matrix_of
from gdaopt.methods.aligned import tree_floors
from gdaopt.programs import JointPolytope, JointProgram
from gdaopt.support.validation import FloatArray
from tests.helpers import PROPERTY, generators, properties, random_metric, random_symmetric
from tests.programs.cases import exact_minimum
from tests.sets.mask_cases import random_mask

COSTS = ("any", "positive", "ties")
SIZES = range(2, 31)

sizes = st.sampled_from([1, 2, 3, 5, 12])
kinds = st.sampled_from([(0.0, False), (0.0, True), (3.0, False), (3.0, True)])

Kind = tuple[float, bool]


@dataclass(frozen=True, eq=False)
class Instance:
    """A metric under a scaling v that leaves its rows slack, and the polytope around it."""

    metric: FloatArray
    polytope: JointPolytope

    @property
    def spread(self) -> FloatArray:
        """The largest value that each entry can take."""
        joint = self.polytope
        rows, columns = joint.edges
        forward, backward = joint.ratios
        edges = joint.floor + joint.spare / joint.weights
        diagonal = np.full(len(joint.v), joint.min_eigenvalue + joint.spare)
        np.maximum.at(diagonal, rows, forward * edges)
        np.maximum.at(diagonal, columns, backward * edges)
        return np.concatenate([diagonal, edges])


def instance(rng: np.random.Generator, size: int, kind: Kind, share: float = 1.0) -> Instance:
    """Return an instance whose v spans so many decades, with or without floors.

    Its metric may have a share of all edges.
    """
    decades, with_floor = kind
    v = 10 ** rng.uniform(-decades, 0, size)
    v[rng.integers(size)] = 1.0
    if decades and size > 1:
        v[v.argmin()] = 10**-decades
    weights = rng.random((size, size)) * (rng.random((size, size)) < rng.choice([0.3, 1.0]))
    kept = rng.random(len(all_edges(size)[0])) < share
    edges = all_edges(size)[0][kept], all_edges(size)[1][kept]
    allowed = np.zeros((size, size))
    allowed[edges] = 1.0
    weights *= allowed
    weights *= np.minimum.outer(v, v) / np.maximum.outer(v, v)  # no diagonal entry is huge
    metric = -np.triu(weights, 1)
    metric += metric.T
    rho = float(rng.choice([0.0, 1e-6, 1e-2]))
    metric[np.diag_indices(size)] = rho + rng.uniform(0, 2, size) - (metric @ v) / v
    floor = tree_floors(metric, float(rng.uniform(0, 0.5)) if with_floor else 0.0)[edges]
    bound = float(np.trace(metric)) * rng.uniform(1, 2)
    return Instance(metric, JointPolytope(v, rho, bound, edges, floor, entries_of(metric, edges)))


def random_cost(rng: np.random.Generator, polytope: JointPolytope, kind: str) -> FloatArray:
    """Return costs of one magnitude from 1e-12 to 1e12."""
    cost = rng.standard_normal(len(polytope.current))
    if kind == "positive":
        cost = np.abs(cost)
    elif kind == "ties":  # what ties there is the price per budget, with the diagonal's share
        size = len(polytope.v)
        rows, columns = polytope.edges
        forward, backward = polytope.ratios
        cost = np.round(2 * cost) / 2
        cost[size:] *= polytope.weights
        cost[size:] -= cost[rows] * forward + cost[columns] * backward
        if not cost.any():
            cost[0] = -1.0
    result: FloatArray = cost * 10 ** rng.uniform(-12, 12)
    return result


def literal(polytope: JointPolytope, cost: FloatArray) -> float:
    """Solve the program as it stands: rows ``M v ≥ ρ v`` over the entries."""
    v, size = polytope.v, len(polytope.v)
    n_edges = len(cost) - size
    rows = np.zeros((size + 1, len(cost)))  # ρ v - M v ≤ 0, tr M ≤ C
    rows[np.diag_indices(size)] = -v
    for edge, (i, j) in enumerate(zip(*polytope.edges, strict=True), size):
        rows[i, edge], rows[j, edge] = v[j], v[i]
    rows[size, :size] = 1.0
    limits = [*(-polytope.min_eigenvalue * v), polytope.trace_bound]
    bounds = [(None, None)] * size + [(float(polytope.floor[e]), None) for e in range(n_edges)]
    unit = float(np.abs(cost).max())
    solved = linprog(
        cost / unit,
        rows,
        limits,
        bounds=bounds,
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert solved.fun is not None
    return float(solved.fun) * unit


def assert_inside(point: FloatArray, polytope: JointPolytope) -> None:
    """Assert that entries belong to the polytope, up to round-off."""
    size = len(polytope.v)
    metric = matrix_of(point, size, polytope.edges)
    assert (point[size:] >= polytope.floor).all()
    slack = metric @ polytope.v - polytope.min_eigenvalue * polytope.v
    assert (slack >= -1e-14 * (np.abs(metric) @ polytope.v)).all()
    assert np.trace(metric) <= polytope.trace_bound * (1 + 1e-13)


@cache
def grid(size: int) -> list[tuple[FloatArray, JointPolytope]]:
    rng = np.random.default_rng(size)
    found = []
    for decades in (0.0, 1.0, 3.0):
        for with_floor in (False, True):
            for kind in COSTS:
                polytope = instance(rng, size, (decades, with_floor)).polytope
                found.append((random_cost(rng, polytope, kind), polytope))
    return found


class TestProgram:
    @pytest.mark.parametrize("size", SIZES)
    def test_the_closed_form_is_highs(self, size: int) -> None:
        """``|value - reference| ≤ 1e-9 · |cost|'|x|``, x the larger of both points' entries."""
        program = JointProgram(size, all_edges(size), "HIGHS")
        for cost, polytope in grid(size):
            reference = polytope.minimize(cost)
            solution = program.solve(cost, polytope)
            assert solution.solver == "HIGHS"
            assert_inside(solution.point, polytope)
            larger = np.maximum(np.abs(reference), np.abs(solution.point))
            allowed = 1e-9 * float(np.abs(cost) @ larger)
            assert abs(solution.value - float(cost @ reference)) <= allowed

    @pytest.mark.parametrize("size", SIZES)
    def test_the_closed_form_solves_the_literal_program(self, size: int) -> None:
        for cost, polytope in grid(size):
            point = polytope.minimize(cost)
            allowed = 1e-9 * float(np.abs(cost) @ np.abs(point))
            assert abs(float(cost @ point) - literal(polytope, cost)) <= allowed

    @pytest.mark.parametrize("size", [2, 3, 7, 20])
    def test_under_masks_the_closed_form_is_highs(self, size: int) -> None:
        """ "Proposition: masks of edges": a simplex of fewer vertices."""
        rng = np.random.default_rng(size)
        for share in (0.0, 0.2, 0.6):
            for with_floor, costs in product((False, True), COSTS):
                polytope = instance(rng, size, (1.0, with_floor), share).polytope
                cost = random_cost(rng, polytope, costs)
                program = JointProgram(size, polytope.edges, "HIGHS")
                assert program.size == size + len(polytope.edges[0])
                reference, solution = polytope.minimize(cost), program.solve(cost, polytope)
                assert_inside(solution.point, polytope)
                larger = np.maximum(np.abs(reference), np.abs(solution.point))
                allowed = 1e-9 * float(np.abs(cost) @ larger)
                assert abs(solution.value - float(cost @ reference)) <= allowed
                assert abs(float(cost @ reference) - literal(polytope, cost)) <= allowed

    def test_the_grid_has_every_magnitude_and_case(self) -> None:
        largest = [float(np.abs(cost).max()) for size in SIZES for cost, _ in grid(size)]
        assert min(largest) < 1e-9
        assert max(largest) > 1e9
        where = {(p.minimize(c) > p.current.min()).sum() for c, p in grid(12)}
        assert len(where) > 1

    @pytest.mark.parametrize("solver", ["ECOS", "CLARABEL"])
    @pytest.mark.filterwarnings("ignore::gdaopt.errors.InaccurateSolutionWarning")
    def test_interior_points_come_close(self, solver: str) -> None:
        if not any(info.name == solver and info.usable for info in gda.solvers()):
            pytest.skip(f"{solver} does not work here")
        program = JointProgram(10, all_edges(10), solver)
        for cost, polytope in grid(10):
            solution = program.solve(cost, polytope)
            assert_inside(solution.point, polytope)
            entries = np.maximum(polytope.unit, np.abs(polytope.minimize(cost)))
            allowed = 1e-6 * float(np.abs(cost) @ entries)
            assert abs(solution.value - float(cost @ polytope.minimize(cost))) <= allowed

    @PROPERTY
    @given(generators, sizes, kinds, st.sampled_from(COSTS))
    def test_vertices_are_metrics(
        self, rng: np.random.Generator, size: int, kind: Kind, costs: str
    ) -> None:
        polytope = instance(rng, size, kind).polytope
        point = polytope.minimize(random_cost(rng, polytope, costs))
        assert_inside(point, polytope)
        metric = matrix_of(point, size, polytope.edges)
        assert (metric - np.diag(np.diagonal(metric))).max() <= 0
        smallest = float(np.linalg.eigvalsh(metric)[0])
        assert smallest >= polytope.min_eigenvalue - 1e-13 * polytope.trace_bound

    @PROPERTY
    @given(generators, sizes, st.sampled_from([0.0, 3.0]))
    def test_without_floors_vertices_have_rank_one_beyond_rho(
        self, rng: np.random.Generator, size: int, decades: float
    ) -> None:
        """``ρI`` or ``ρI + τ uu'/‖u‖²``, ``u = e_i`` or ``v_j e_i - v_i e_j``."""
        polytope = instance(rng, size, (decades, False)).polytope
        point = polytope.minimize(rng.standard_normal(len(polytope.current)))
        excess = matrix_of(point, size, polytope.edges) - polytope.min_eigenvalue * np.eye(size)
        if not point[size:].any():
            assert (np.diagonal(excess) > 1e-12 * polytope.trace_bound).sum() <= 1
            return
        (edge,) = np.flatnonzero(point[size:])
        i, j = (int(nodes[edge]) for nodes in polytope.edges)
        u = np.zeros(size)
        u[i], u[j] = polytope.v[j], -polytope.v[i]
        vertex = polytope.budget * np.outer(u, u) / (u @ u)
        np.testing.assert_allclose(excess, vertex, atol=1e-12 * polytope.trace_bound)

    @PROPERTY
    @given(generators, sizes, kinds, st.floats(-12, 3))
    def test_feasible_points_are_inside_and_stay(
        self, rng: np.random.Generator, size: int, kind: Kind, magnitude: float
    ) -> None:
        polytope = instance(rng, size, kind).polytope
        noise = rng.standard_normal(len(polytope.current)) * 10**magnitude
        feasible = polytope.made_feasible(polytope.current + noise)
        assert_inside(feasible, polytope)
        again = polytope.made_feasible(feasible)
        np.testing.assert_allclose(again, feasible, rtol=1e-12, atol=1e-14)

    @PROPERTY
    @given(generators, sizes, kinds, st.floats(-12, 0))
    def test_points_move_in_proportion_to_the_violation(
        self, rng: np.random.Generator, size: int, kind: Kind, magnitude: float
    ) -> None:
        """Measured by what it takes of the budget: that is what v does not distort."""
        polytope = instance(rng, size, kind).polytope
        vertex = polytope.minimize(random_cost(rng, polytope, "any"))
        taken = np.concatenate([np.ones(size), polytope.weights])
        noise = rng.standard_normal(len(vertex)) * 10**magnitude * polytope.budget / taken
        feasible = polytope.made_feasible(vertex + noise)
        assert taken @ np.abs(feasible - vertex) <= 20 * (taken @ np.abs(noise)) + 1e-12

    def test_points_inside_stay(self) -> None:
        rng = np.random.default_rng(0)
        for decades in (0.0, 3.0):
            there = instance(rng, 6, (decades, True))
            assert_inside(there.polytope.current, there.polytope)
            feasible = there.polytope.made_feasible(there.polytope.current)
            np.testing.assert_allclose(
                matrix_of(feasible, 6, all_edges(6)), there.metric, rtol=1e-13
            )

    def test_infeasible_floors_are_refused_with_their_numbers(self) -> None:
        with pytest.raises(
            gda.errors.InfeasibleProblemError, match=r"floors need 2 of a budget of 1\.5"
        ):
            JointPolytope(np.ones(2), 0.25, 2.0, all_edges(2), floor=np.ones(1))

    def test_floors_above_the_budget_by_round_off_are_made_feasible(self) -> None:
        polytope = JointPolytope(np.ones(2), 0.0, 2.0 - 1e-11, all_edges(2), floor=np.ones(1))
        assert polytope.spare == 0
        for cost in (np.array([-1.0, 0.0, 0.0]), np.array([0.0, 0.0, -1.0])):
            np.testing.assert_array_equal(polytope.minimize(cost), [1.0, 1.0, 1.0])

    def test_without_a_current_point_the_least_is_taken(self) -> None:
        polytope = JointPolytope(np.array([1.0, 0.5]), 0.125, 4.0, all_edges(2), floor=np.ones(1))
        np.testing.assert_array_equal(polytope.current, [0.625, 2.125, 1.0])
        assert_inside(polytope.current, polytope)

    @pytest.mark.parametrize("solver", ["analytic", "HIGHS"])
    def test_a_zero_cost_is_answered_by_the_current_point(self, solver: str) -> None:
        there = instance(np.random.default_rng(7), 4, (0.0, True))
        solution = JointProgram(4, all_edges(4), solver).solve(np.zeros(10), there.polytope)
        np.testing.assert_array_equal(solution.point, entries_of(there.metric, all_edges(4)))
        assert (solution.value, solution.repair_distance) == (0.0, 0.0)

    @pytest.mark.parametrize("size", [1, 2, 5])
    def test_the_problem_is_dpp_with_its_parameters(self, size: int) -> None:
        program = JointProgram(size, all_edges(size), "HIGHS")
        assert program.is_dpp()
        shared = {"cost", "min_eigenvalue", "trace_bound"}
        edges = {"floor", "forward", "backward"} if size > 1 else set()
        assert set(program.parameters) == shared | edges

    @pytest.mark.parametrize("solver", ["analytic", "HIGHS"])
    @pytest.mark.parametrize(("cost", "value"), [(-2.0, -6.0), (2.0, 1.0)])
    def test_one_feature(self, solver: str, cost: float, value: float) -> None:
        """All of the trace, or no more than ρ."""
        polytope = JointPolytope(np.ones(1), 0.5, 3.0, all_edges(1), floor=np.zeros(0))
        solution = JointProgram(1, all_edges(1), solver).solve(np.array([cost]), polytope)
        assert solution.value == pytest.approx(value, rel=1e-9)

    def test_the_problem_is_compiled_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        program = JointProgram(10, all_edges(10), "HIGHS")
        program.solve(*grid(10)[0])
        compiled = program.problem._cache.param_prog
        assert compiled is not None
        monkeypatch.setattr(JointProgram, "_build", lambda self: pytest.fail("built again"))
        for cost, polytope in grid(10)[1:]:
            program.solve(cost, polytope)
            assert program.problem._cache.param_prog is compiled


@PROPERTY
@given(generators, st.sampled_from([2, 3, 5, 12]), st.floats(1e-6, 1))
def test_tree_floors_keep_what_connects(
    rng: np.random.Generator, size: int, edge_floor: float
) -> None:
    metric, edges = random_metric(rng, size), all_edges(size)
    floors = tree_floors(metric, edge_floor)[edges]
    weights = entries_of(metric, edges)[size:]
    kept = floors > 0
    np.testing.assert_array_equal(floors[kept], np.minimum(edge_floor, weights)[kept])
    assert kept.sum() == size - 1
    assert not tree_floors(metric, 0.0).any()
    # What connects the metric's graph by edges of weight ≥ ε connects the floors' alone.
    threshold = edge_floor * (1 - 1e-9)
    alone = matrix_of(np.concatenate([np.zeros(size), floors]), size, edges)
    components = gda.linalg.n_components
    assert components(alone, threshold) == components(metric, threshold)


def gradients(rng: np.random.Generator, size: int, kind: str) -> FloatArray:
    """Return symmetric matrices to price."""
    matrix = random_symmetric(rng, size)
    match kind:
        case "positive definite":
            matrix = matrix @ matrix + 0.1 * np.eye(size)
        case "negative definite":
            matrix = -matrix @ matrix
        case "zeros":
            matrix *= np.triu(rng.random((size, size)) < 0.4)
            matrix = np.triu(matrix) + np.triu(matrix, 1).T
        case "ties":
            matrix = np.round(matrix)
        case "diagonal":
            matrix = np.diag(np.diagonal(matrix)) - np.abs(matrix) / 10
    return matrix * 10 ** rng.uniform(-6, 6)


GRADIENTS = ("any", "positive definite", "negative definite", "zeros", "ties", "diagonal")


class TestDualAlignment:
    @properties(200)
    @given(generators, st.integers(1, 12), st.sampled_from(GRADIENTS))
    def test_the_joint_program_has_the_value_of_the_exact_oracle(
        self, rng: np.random.Generator, size: int, kind: str
    ) -> None:
        gradient = gradients(rng, size, kind)
        rho = float(rng.choice([0.0, 1e-3]))
        v = dual_alignment(gradient)
        assert v.shape == (size,)
        assert (v > 0).all()
        assert v.max() == 1
        edges = all_edges(size)
        polytope = JointPolytope(v, rho, float(size), edges, np.zeros(len(edges[0])))
        cost = np.concatenate([np.diagonal(gradient), -2 * gradient[np.triu_indices(size, 1)]])
        value = float(cost @ polytope.minimize(cost))
        assert value == pytest.approx(
            exact_minimum(gradient, rho, polytope.budget), abs=1e-12 * size * np.abs(gradient).max()
        )

    @PROPERTY
    @given(generators, st.integers(1, 12), st.sampled_from(GRADIENTS))
    def test_under_masks_as_well(self, rng: np.random.Generator, size: int, kind: str) -> None:
        gradient = gradients(rng, size, kind)
        feasible_set = gda.GraphMetrics(float(size), edges=random_mask(rng, size))
        edges = feasible_set.edges_of(size)
        v = dual_alignment(gradient, edges)
        rho = feasible_set.min_eigenvalue
        polytope = JointPolytope(v, rho, float(size), edges, np.zeros(len(edges[0])))
        cost = np.concatenate([np.diagonal(gradient), -2 * gradient[edges]])
        value = float(cost @ polytope.minimize(cost))
        assert value == pytest.approx(
            feasible_set.minimize_linear(gradient).value,
            abs=1e-12 * size * np.abs(gradient).max(),
        )

    def test_other_scalings_have_a_larger_value(self) -> None:
        """By a tenth and more: the test above does not hold by itself."""
        rng = np.random.default_rng(1)
        gradient = random_symmetric(rng, 8)
        cost = np.concatenate([np.diagonal(gradient), -2 * gradient[np.triu_indices(8, 1)]])
        least = exact_minimum(gradient, 0.0, 8.0)
        for v in (np.ones(8), 10 ** rng.uniform(-2, 0, 8)):
            polytope = JointPolytope(v, 0.0, 8.0, all_edges(8), np.zeros(28))
            assert cost @ polytope.minimize(cost) > least + 0.1 * abs(least)

    @pytest.mark.parametrize("kind", GRADIENTS)
    @pytest.mark.parametrize("size", [2, 3, 5])
    def test_is_the_semidefinite_programs_value(self, size: int, kind: str) -> None:
        gradient = gradients(np.random.default_rng(size), size, kind)
        gradient /= np.abs(gradient).max()
        metric = cp.Variable((size, size), symmetric=True)
        upper = np.triu_indices(size, 1)
        constraints = [metric >> 0.01 * np.eye(size), cp.trace(metric) <= size, metric[upper] <= 0]
        problem = cp.Problem(cp.Minimize(cp.trace(gradient @ metric)), constraints)
        problem.solve(solver="CLARABEL")
        assert problem.value == pytest.approx(exact_minimum(gradient, 0.01, 0.99 * size), abs=1e-6)
