"""The joint program: masks, vertices, floors, and alignment by the gradient."""

from __future__ import annotations

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
from gdaopt.programs import JointPolytope, Program
from gdaopt.support.validation import FloatArray
from tests.helpers import PROPERTY, generators, properties, random_metric, random_symmetric
from tests.programs.cases import (
    KINDS,
    assert_inside,
    assert_optimal,
    exact_minimum,
    random_cost,
    situation,
)
from tests.sets.mask_cases import random_mask

sizes = st.sampled_from([1, 2, 3, 5, 12])


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


@pytest.mark.parametrize("share", [0.0, 0.2, 0.6, 1.0])
@pytest.mark.parametrize("size", [2, 3, 7, 20])
def test_the_closed_form_solves_the_literal_program(size: int, share: float) -> None:
    """Under masks, too: "Proposition: masks of edges", a simplex of fewer vertices."""
    rng = np.random.default_rng(size)
    for kind, _ in product(("", *KINDS), range(3)):
        polytope = situation(rng, size, kind if kind != "five decades" else "").joint(share)
        cost = random_cost(rng, polytope, kind)
        assert_optimal(Program("HIGHS").solve(cost, polytope), cost, polytope)
        point = polytope.minimize(cost)
        allowed = 1e-9 * float(np.abs(cost) @ np.abs(point))
        assert abs(float(cost @ point) - literal(polytope, cost)) <= allowed


@PROPERTY
@given(generators, sizes, st.sampled_from(["", "five decades"]))
def test_without_floors_vertices_have_rank_one_beyond_rho(
    rng: np.random.Generator, size: int, kind: str
) -> None:
    """``ρI`` or ``ρI + τ uu'/‖u‖²``, ``u = e_i`` or ``v_j e_i - v_i e_j``."""
    polytope = situation(rng, size, kind).joint()
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


def test_infeasible_floors_are_refused_with_their_numbers() -> None:
    with pytest.raises(
        gda.errors.InfeasibleProblemError, match=r"floors need 2 of a budget of 1\.5"
    ):
        JointPolytope(np.ones(2), 0.25, 2.0, all_edges(2), floor=np.ones(1))


def test_floors_above_the_budget_by_round_off_are_made_feasible() -> None:
    polytope = JointPolytope(np.ones(2), 0.0, 2.0 - 1e-11, all_edges(2), floor=np.ones(1))
    assert polytope.spare == 0
    for cost in (np.array([-1.0, 0.0, 0.0]), np.array([0.0, 0.0, -1.0])):
        np.testing.assert_array_equal(polytope.minimize(cost), [1.0, 1.0, 1.0])


def test_without_a_current_point_the_least_is_taken() -> None:
    polytope = JointPolytope(np.array([1.0, 0.5]), 0.125, 4.0, all_edges(2), floor=np.ones(1))
    np.testing.assert_array_equal(polytope.current, [0.625, 2.125, 1.0])
    assert_inside(polytope.current, polytope)


@pytest.mark.parametrize("solver", ["analytic", "HIGHS"])
@pytest.mark.parametrize(("cost", "value"), [(-2.0, -6.0), (2.0, 1.0)])
def test_one_feature(solver: str, cost: float, value: float) -> None:
    """All of the trace, or no more than ρ."""
    polytope = JointPolytope(np.ones(1), 0.5, 3.0, all_edges(1), floor=np.zeros(0))
    solution = Program(solver).solve(np.array([cost]), polytope)
    assert solution.value == pytest.approx(value, rel=1e-9)


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
