"""Frank–Wolfe with the exact oracle: variants and step rules over all sets, against the optimum."""

from __future__ import annotations

import numpy as np
import pytest

import gdaopt as gda
from tests.helpers import random_symmetric, scaled
from tests.methods.certified_cases import HULLS, set_of

VARIANTS = ("vanilla", "away", "pairwise")
STEPS = ("exact", "adaptive", "short", "agnostic", "full")
K = 4


def problem(kind: str, floor: float = 0.0) -> gda.MetricProblem:
    X, z = scaled("iris", "versicolor")
    return gda.MetricProblem(gda.GLR(X[::3], z[::3]), set_of(kind, K, K, 1e-3, floor))


@pytest.mark.covering(2)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(("kind", "floor"), HULLS)
@pytest.mark.parametrize("step", STEPS)
def test_bounds_meet_those_of_the_optimum(variant: str, kind: str, floor: float, step: str) -> None:
    """Both runs certify the same optimum: each lower bound is below each objective."""
    case = problem(kind, floor)
    feasible_set = case.feasible_set
    optimum = gda.solve(case, "certified", tolerance=1e-9)
    members: list[bool] = []
    result = gda.solve(
        case,
        "frank-wolfe",
        variant=variant,
        step=step,
        max_iterations=60,
        trace_every=20,
        callback=lambda state: members.append(feasible_set.contains(state.metric)),
    )
    assert all(members)
    assert result.lower_bound is not None
    assert optimum.lower_bound is not None
    assert optimum.lower_bound <= result.objective
    assert result.lower_bound <= optimum.objective
    assert result.atoms is not None
    assert result.weights is not None
    base = feasible_set.base(K)
    rebuilt = base + np.einsum("n,ni,nj->ij", result.weights, result.atoms, result.atoms)
    np.testing.assert_allclose(rebuilt, result.metric, atol=1e-12 * K)
    if step in ("exact", "adaptive"):
        objectives = result.trace.column("objective")
        assert (np.diff(objectives) <= 1e-12 * objectives[:-1]).all()
        assert result.objective <= optimum.objective * 1.05


@pytest.mark.parametrize("variant", ["away", "pairwise"])
def test_away_steps_converge_linearly_where_the_set_is_a_polytope(variant: str) -> None:
    case = problem("diagonal")
    result = gda.solve(case, "frank-wolfe", variant=variant, tolerance=1e-9)
    assert result.status == "converged"
    vanilla = gda.solve(case, "frank-wolfe", max_iterations=result.iterations)
    assert result.relative_gap is not None
    assert vanilla.relative_gap is not None
    assert result.relative_gap <= 1e-9 < 1e-6 < vanilla.relative_gap


@pytest.mark.parametrize("variant", VARIANTS)
def test_where_the_base_is_best(variant: str) -> None:
    """All prices are positive: the base takes the place of an atom."""
    case = gda.MetricProblem(gda.Linear(np.eye(3)), gda.GraphMetrics(3.0, 0.1))
    result = gda.solve(case, "frank-wolfe", variant=variant, absolute_tolerance=1e-12)
    assert result.status == "converged"
    np.testing.assert_allclose(result.metric, 0.1 * np.eye(3), atol=1e-12)


def test_where_a_vertex_is_best_all_other_atoms_are_dropped() -> None:
    G, feasible_set = random_symmetric(np.random.default_rng(3), 5), gda.GraphMetrics(5.0)
    case = gda.MetricProblem(gda.Linear(G), feasible_set)
    result = gda.solve(case, "frank-wolfe", variant="pairwise", tolerance=1e-12)
    assert result.status == "converged"
    assert result.weights is not None
    assert len(result.weights) == 1
    np.testing.assert_allclose(result.metric, feasible_set.minimize_linear(G).vertex, atol=1e-12)


def test_a_full_away_step_removes_an_atom() -> None:
    """Its weight is then 0, to the last bit."""
    problem = gda.MetricProblem(gda.GLR(*scaled("iris", "versicolor")), gda.GraphMetrics(4.0))
    n_full, before = 0, 0
    for state in gda.iterate(problem, "frank-wolfe", variant="away", max_iterations=60):
        assert state.atoms is not None
        if state.phase == "away" and state.step == 1:
            n_full += 1
            assert len(state.atoms) == before - 1
        before = len(state.atoms)
    assert n_full > 0
