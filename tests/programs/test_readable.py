"""The LP subproblem of a step as a CVXPY problem: values and duals are those of the programs."""

from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import gdaopt as gda
from gdaopt.errors import InvalidInputError
from gdaopt.linalg.entries import matrix_of
from gdaopt.programs import JointPolytope, Knapsack
from gdaopt.support.validation import FloatArray
from tests.certificate_cases import named_set
from tests.helpers import Rng, random_symmetric
from tests.programs.cases import AnyPolytope, need

K = 4
SOLVERS = ("CLARABEL", "HIGHS", "SCIPY")
ACCURACY = 1e-6  # of the largest entry of the gradient


def random_problem(rng: Rng) -> tuple[gda.MetricProblem, FloatArray]:
    """Return a linear objective over graph metrics, and a metric in their interior."""
    feasible_set = gda.GraphMetrics(4.0, float(rng.choice([0.0, 0.05])))
    problem = gda.MetricProblem(gda.Linear(10 * random_symmetric(rng, K)), feasible_set)
    far = feasible_set.minimize_linear(random_symmetric(rng, K)).vertex
    return problem, 0.4 * far + 0.6 * feasible_set.start(K)


def solved(step: cp.Problem, solver: str) -> tuple[float, FloatArray, dict[str, FloatArray]]:
    """Return the value, the metric, and the duals by label."""
    value: float = step.solve(solver)
    duals = {constraint.label: constraint.dual_value for constraint in step.constraints}
    return value, metric_of(step), duals


def metric_of(step: cp.Problem) -> FloatArray:
    found = step.variables()[0].value
    assert found is not None
    return np.asarray(found)


@pytest.mark.covering(1)
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kind", ["joint", "diagonal", "column"])
def test_values_and_duals_are_those_of_the_closed_form(kind: str, solver: str) -> None:
    need(solver)
    rng = np.random.default_rng(["joint", "diagonal", "column"].index(kind))
    closed = gda.programs.Program("analytic")
    for _ in range(50):
        problem, metric = random_problem(rng)
        column = int(rng.integers(K)) if kind == "column" else 0
        which: Any = ("column", column) if kind == "column" else kind
        step = gda.programs.at(problem, metric, which)
        assert step.is_dpp()
        value, found, duals = solved(step, solver)
        G, v = (step.param_dict[name].value for name in "Gv")
        rho, edges = problem.feasible_set.min_eigenvalue, problem.feasible_set.family.edges_of(K)
        slack, others = metric @ v / v - rho, np.delete(np.arange(K), column)
        polytope: AnyPolytope
        expected = metric.copy()
        if kind == "joint":
            polytope = JointPolytope(v, rho, 4.0, edges, floor=np.zeros(6))
            exact = closed.solve(np.concatenate([G.diagonal(), -2 * G[edges]]), polytope)
            expected = matrix_of(exact.point, K)
        elif kind == "diagonal":
            polytope = Knapsack.diagonal(metric, slack, 4.0)
            exact = closed.solve(G.diagonal(), polytope)
            np.fill_diagonal(expected, exact.point)
        else:
            polytope = Knapsack.column(metric, v, slack, column, others, np.zeros(3))
            exact = closed.solve(-2 * G[others, column], polytope)
            expected[others, column] = expected[column, others] = -exact.point
        assert exact.duals is not None
        near = {"atol": ACCURACY * np.abs(G).max()}
        np.testing.assert_allclose(found, expected, **near)
        np.testing.assert_allclose(value, np.vdot(G, expected), **near)
        if kind == "column":  # an edge takes v_c / v_j of the left-end of its neighbour
            rows = duals["rows"] * v[column]
            np.testing.assert_allclose(rows[column], exact.duals["budget"], **near)
            np.testing.assert_allclose(rows[others], exact.duals["rows"], **near)
        else:
            np.testing.assert_allclose(duals["budget"], exact.duals["budget"], **near)
            np.testing.assert_allclose(duals["rows"] * v, exact.duals["rows"], **near)
        if kind != "diagonal":
            np.testing.assert_allclose(duals["signs"], exact.duals["floors"], **near)


@pytest.mark.parametrize("kind", ["joint", "diagonal", ("column", 2)])
@pytest.mark.parametrize("set_name", ["signed", "sdd", "mask", "diagonal"])
def test_other_sets(set_name: str, kind: Any) -> None:
    """Vertices are members; a step from the centre is that over graph metrics, signs apart."""
    rng = np.random.default_rng(3)
    for _ in range(5):
        G = random_symmetric(rng, K)
        mask = gda.GraphMetrics(4.0, 0.01, edges=[(0, 1), (1, 2)])
        feasible_set: Any = mask if set_name == "mask" else named_set(set_name, K, 4.0)
        problem = gda.MetricProblem(gda.Linear(G), feasible_set)
        step = gda.programs.at(problem, problem.central_metric(), kind)
        value, found, _ = solved(step, "CLARABEL")
        assert problem.violations(feasible_set.made_feasible(found)) == ()
        graph = gda.MetricProblem(
            gda.Linear(np.asarray(feasible_set.family.as_of_graph(G))),
            gda.GraphMetrics(4.0, 0.01, edges=np.column_stack(feasible_set.family.edges_of(K))),
        )
        expected = gda.programs.at(graph, problem.central_metric(), kind).solve("CLARABEL")
        assert value == pytest.approx(expected, abs=1e-6)


def test_constraints_of_ones_own_follow() -> None:
    problem = gda.MetricProblem(
        gda.Linear(-np.eye(K)),
        gda.GraphMetrics(4.0),
        constraints=lambda M: [M[0, 0] + M[1, 1] <= 1, M[0, 1] == 0],
    )
    step = gda.programs.at(problem, problem.central_metric())
    step.solve("CLARABEL")
    assert [str(constraint) for constraint in step.constraints[-2:]] == [
        "M[0, 0] + M[1, 1] <= 1.0",
        "M[0, 1] == 0.0",
    ]
    assert problem.rows is not None
    assert problem.rows.violation(metric_of(step)) <= 1e-6


@pytest.mark.parametrize(
    ("feasible_set", "metric", "kind", "says"),
    [
        (gda.PositiveDefiniteMetrics(4.0), np.eye(K), "joint", "needs a set of .* got Positive"),
        (gda.GraphMetrics(4.0, 0.1, 0.1), np.eye(K), "joint", "without path_weight"),
        (gda.GraphMetrics(4.0), 2 * np.eye(K), "joint", "no member of the problem: trace 8"),
        (gda.GraphMetrics(4.0), np.eye(3), "joint", "metric"),
        (gda.GraphMetrics(4.0), np.eye(K), "row", r"'joint', 'diagonal' or \('column', j\)"),
        (gda.GraphMetrics(4.0), np.eye(K), ("column", 4), "column 4 of a metric with 4"),
        (gda.GraphMetrics(4.0), np.eye(K), ("column", 0.5), "column"),
    ],
)
def test_bad_input(feasible_set: Any, metric: FloatArray, kind: Any, says: str) -> None:
    problem = gda.MetricProblem(gda.Linear(np.eye(K)), feasible_set)
    with pytest.raises(InvalidInputError, match=says):
        gda.programs.at(problem, metric, kind)
