"""The paper's method: its invariants at every iterate, its ends, and what it says of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import gdaopt as gda
from tests.methods.run_cases import Case, Invariants, cases, wine


def check_invariants(case: Case, solver: str) -> None:
    """Run a case with the invariants checked."""
    problem = case.problem()
    feasible_set = problem.feasible_set
    assert isinstance(feasible_set, gda.GraphMetrics)
    floor = case.edge_floor
    invariants = Invariants(feasible_set, floor)
    options: dict[str, Any] = {"solver": solver, "edge_floor": floor, "max_iterations": 400}
    result = gda.solve(problem, "alternating", callback=invariants, **options)
    assert result.status in ("stalled", "iteration_limit"), result.message
    assert feasible_set.contains(result.metric)
    assert result.objective <= invariants.values[0]


@pytest.mark.parametrize("n_cases", [6, pytest.param(100, marks=pytest.mark.slow)])
def test_invariants_at_a_fixed_trace_bound(n_cases: int) -> None:
    @settings(max_examples=n_cases, deadline=None, derandomize=True)
    @given(cases(bounds_follow=False))
    def check(case: Case) -> None:
        problem = case.problem()
        start = gda.methods.Alternating(edge_floor=case.edge_floor).start(problem)
        if problem.objective.at(start).vanished() is None:
            check_invariants(case, "analytic")
        else:  # features a million times too large: refused before any step
            with pytest.raises(gda.errors.InvalidInputError, match="multiply the features by"):
                gda.solve(problem, "alternating", solver="analytic", edge_floor=case.edge_floor)

    check()


@pytest.mark.filterwarnings("ignore::gdaopt.errors.InaccurateSolutionWarning")
@pytest.mark.parametrize(
    ("solver", "n_cases"),
    [
        ("HIGHS", 3),
        *(pytest.param(name, 20, marks=pytest.mark.slow) for name in ("HIGHS", "CLARABEL")),
        pytest.param("analytic", 100, marks=pytest.mark.slow),
    ],
)
def test_invariants_with_a_solver(solver: str, n_cases: int) -> None:
    @settings(max_examples=n_cases, deadline=None, derandomize=True)
    @given(cases(bounds_follow=True))
    def check(case: Case) -> None:
        check_invariants(case, solver)

    check()


@pytest.mark.parametrize(
    "scale", [1e-6, 1e6, *(pytest.param(scale, marks=pytest.mark.slow) for scale in (1e-3, 1e3))]
)
def test_the_run_does_not_depend_on_the_feature_scale(scale: float) -> None:
    rng = np.random.default_rng(5)
    X, z = rng.standard_normal((20, 5)) / np.sqrt(10), np.repeat([1.0, -1.0], 10)
    plain = gda.solve(gda.MetricProblem(gda.GLR(X, z), gda.GraphMetrics(5.0, 1e-3)), "alternating")
    feasible_set = gda.GraphMetrics(5.0 / scale**2, 1e-3 / scale**2)
    scaled = gda.solve(gda.MetricProblem(gda.GLR(X * scale, z), feasible_set), "alternating")
    assert scaled.objective == pytest.approx(plain.objective, rel=1e-5)
    assert scaled.metric * scale**2 == pytest.approx(plain.metric, abs=2e-2)


@pytest.mark.parametrize("block_iterations", [1, 3])
def test_block_iterations_bound_the_steps_of_a_block(block_iterations: int) -> None:
    trace = gda.solve(
        wine(), "alternating", solver="analytic", block_iterations=block_iterations
    ).trace
    visits = [(row.round, row.phase, row.block) for row in trace]
    assert max(visits.count(visit) for visit in set(visits)) == block_iterations


def test_blocks_come_in_order() -> None:
    trace = gda.solve(wine(), "alternating", solver="analytic").trace
    first_round = [row.block for row in trace if row.round == 1]
    assert list(dict.fromkeys(first_round)) == [None, *range(13)]


def test_stops_when_a_round_gains_too_little() -> None:
    result = gda.solve(wine(), "alternating", solver="analytic", tolerance=1e-3)
    rounds = result.trace.column("round")
    objective = result.trace.column("objective")
    ends = np.array([objective[rounds == r][-1] for r in range(rounds[-1] + 1)])
    gains = -np.diff(ends) / ends[:-1]
    assert result.status == "stalled"
    assert gains[-1] <= 1e-3 < gains[:-1].min()


def test_an_end_above_the_optimum_says_that_no_block_improves() -> None:
    problem = wine()
    result = gda.solve(problem, "alternating", solver="analytic")
    assert result.objective > 1.1 * gda.solve(problem).objective
    assert result.message.startswith("no block improves on its own: the last round lowered")
