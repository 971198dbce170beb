"""The joint program: masks, vertices, floors, and alignment by the gradient."""

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

import gdaopt as gda
from gdaopt.linalg.atoms import dual_alignment
from gdaopt.linalg.entries import all_edges, entries_of, matrix_of
from gdaopt.methods.aligned import tree_floors
from gdaopt.programs import JointPolytope, Knapsack, Program
from gdaopt.programs.whole_set import WholeSet
from gdaopt.support.validation import FloatArray
from tests.helpers import (
    PROPERTY,
    Rng,
    generators,
    properties,
    random_metric,
    random_symmetric,
    start_of,
)
from tests.methods.certified_cases import HULLS, set_of
from tests.programs.cases import KINDS, assert_inside, assert_optimal, random_cost, situation
from tests.sets.cases import GRADIENTS, unit_of
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
    unit, names = float(np.abs(cost).max()), ("primal", "dual")
    options: Any = {f"{name}_feasibility_tolerance": 1e-10 for name in names}
    solved = linprog(cost / unit, rows, limits, bounds=bounds, method="highs", options=options)
    assert solved.fun is not None
    return float(solved.fun) * unit


@pytest.mark.covering(1)
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
def test_without_floors_vertices_have_rank_one_beyond_rho(rng: Rng, size: int, kind: str) -> None:
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


def diagonal(bound: float) -> Knapsack:
    return Knapsack(np.array([1.0, 2.0]), bound)


def column(upper: float, budget: float) -> Knapsack:
    return Knapsack(np.full(2, 0.5), budget, np.ones(2), np.array([1.0, upper]))


def joint(rho: float, bound: float) -> JointPolytope:
    return JointPolytope(np.ones(2), rho, bound, all_edges(2), floor=np.ones(1))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (partial(diagonal, 2.5), r"diagonal program: the floors need 3 of a budget of 2\.5"),
        (partial(column, 0.25, 9.0), r"floor 0\.5 of entry 1 exceeds its bound 0\.25"),
        (partial(column, 1.0, 0.75), r"floors need 1 of a budget of 0\.75"),
        (partial(joint, 0.25, 2.0), r"floors need 2 of a budget of 1\.5"),
    ],
)
def test_infeasible_ones_say_their_numbers(make: Callable[[], object], message: str) -> None:
    with pytest.raises(gda.errors.InfeasibleProblemError, match=message):
        make()


def test_round_off_is_removed() -> None:
    of_diagonal, of_joint = diagonal(3.0 - 1e-10), joint(0.0, 2.0 - 1e-11)
    assert of_diagonal.spare <= 1e-15
    assert_inside(of_diagonal.minimize(-np.ones(2)), of_diagonal)
    assert of_joint.spare == 0
    for cost in -np.eye(3)[[0, 2]]:
        np.testing.assert_array_equal(of_joint.minimize(cost), [1.0, 1.0, 1.0])


def test_without_a_current_point_the_least_is_taken() -> None:
    polytope = JointPolytope(np.array([1.0, 0.5]), 0.125, 4.0, all_edges(2), floor=np.ones(1))
    np.testing.assert_array_equal(polytope.current, [0.625, 2.125, 1.0])
    assert_inside(polytope.current, polytope)


@PROPERTY
@given(generators, st.sampled_from([2, 3, 5, 12]), st.floats(1e-6, 1))
def test_tree_floors_keep_what_connects(rng: Rng, size: int, edge_floor: float) -> None:
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


def value_over(v: FloatArray, gradient: FloatArray, feasible_set: gda.GraphMetrics) -> float:
    """Return the value of the joint program under a scaling."""
    edges = feasible_set.family.edges_of(len(v))
    rho, bound = feasible_set.min_eigenvalue, feasible_set.trace_bound
    polytope = JointPolytope(v, rho, bound, edges, np.zeros(len(edges[0])))
    cost = np.concatenate([np.diagonal(gradient), -2 * gradient[edges]])
    return float(cost @ polytope.minimize(cost))


class TestDualAlignment:
    @properties(250)
    @given(generators, st.integers(1, 12), st.sampled_from(sorted(GRADIENTS)))
    def test_the_value_is_that_of_the_exact_oracle(self, rng: Rng, size: int, kind: str) -> None:
        """Under masks as well; of one mask in four all edges are."""
        gradient, rho = GRADIENTS[kind](rng, size), float(rng.choice([0.0, 1e-3]))
        feasible_set = gda.GraphMetrics(float(size), rho, edges=random_mask(rng, size))
        v = dual_alignment(gradient, feasible_set.family.edges_of(size))
        assert v.shape == (size,)
        assert (v > 0).all()
        assert v.max() == 1
        unit = unit_of(gradient)
        expected = feasible_set.minimize_linear(gradient).value / unit
        found = value_over(v, gradient, feasible_set) / unit
        assert found == pytest.approx(expected, rel=0, abs=2e-14 * size)

    @pytest.mark.parametrize("coupling", [-1.0, 0.0, 1e-18, 1e-12, 1e-9, 1e-8, 1e-7, 1e-4])
    def test_diagonal_vertices(self, coupling: float) -> None:
        """The least diagonal entry, hardly coupled or not: its v is 0, and clamped, or near 0.

        What the clamp costs is of its square: the value is as exact here as elsewhere.
        """
        for seed in range(5):
            rng = np.random.default_rng(seed)
            gradient, feasible_set = (
                GRADIENTS["negative definite"](rng, 6),
                gda.GraphMetrics(9.0, 0.1),
            )
            gradient[0] = gradient[:, 0] = coupling * rng.random(6)
            gradient[0, 0] = 2 * np.linalg.eigvalsh(gradient)[0]
            v, unit = dual_alignment(gradient), unit_of(gradient)
            assert v[0] == v.min()
            assert v[0] == 1e-8 or coupling >= 1e-8
            expected = feasible_set.minimize_linear(gradient).value / unit
            found = value_over(v, gradient, feasible_set) / unit
            assert found == pytest.approx(expected, abs=1e-13)


def test_a_column_that_cannot_move_is_its_floors() -> None:
    polytope = Knapsack(np.zeros(2), 0.0, np.ones(2), np.zeros(2))
    for solver in ("analytic", "HIGHS"):
        solution = Program(solver).solve(np.array([-1.0, 1.0]), polytope)
        np.testing.assert_array_equal(solution.point, [0.0, 0.0])


# --- The semidefinite program --------------------------------------------------------------------


@pytest.mark.covering(1)
@pytest.mark.parametrize("size", [1, 2, 5, 8])
@pytest.mark.parametrize(("kind", "floor"), HULLS)
def test_programs_have_the_value_of_the_exact_oracle(kind: str, floor: float, size: int) -> None:
    rng = np.random.default_rng(size)
    for unit in (1e-6, 1.0, 1e6):
        feasible_set = set_of(kind, size, size * unit, 1e-3 * unit, floor * unit)
        program = Program("CLARABEL")
        edges = feasible_set.family.edges_of(size)
        whole = WholeSet(feasible_set, size, entries_of(start_of(feasible_set, size), edges))
        for scale in (1e-8, 1.0, 1e8):
            gradient = scale * random_symmetric(rng, size)
            # An edge stands in the metric twice, and with the other sign.
            cost = np.concatenate([np.diagonal(gradient), -2 * gradient[edges]])
            found, exact = program.solve(cost, whole), feasible_set.minimize_linear(gradient)
            metric = matrix_of(found.point, size, edges)
            allowed = 1e-6 * feasible_set.budget(size) * float(np.abs(gradient).max())
            assert found.value == pytest.approx(exact.value, abs=allowed)
            assert found.value == pytest.approx(np.vdot(gradient, metric))
            assert not feasible_set.violations(metric)
            assert found.repair_distance <= 1e-5 * feasible_set.trace_bound
            closed = matrix_of(whole.minimize(cost), size, edges)
            np.testing.assert_allclose(closed, exact.vertex, atol=1e-12 * unit)
        nothing = program.solve(np.zeros(len(whole.current)), whole)
        np.testing.assert_array_equal(nothing.point, whole.current)
