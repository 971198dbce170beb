"""Frank–Wolfe over all entries at once, under either alignment."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import gdaopt as gda
from gdaopt.linalg.gershgorin import left_ends
from gdaopt.linalg.laplacian import n_components
from gdaopt.methods import aligned
from tests.helpers import scaled
from tests.methods.run_cases import Case, Invariants, cases, wine

STEPS = ("exact", "adaptive", "short", "agnostic", "full")


METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "alternating": ("alternating", {}),
    "joint": ("joint", {}),
    "joint by gradient": ("joint", {"align": "gradient"}),
}


@pytest.mark.covering(1)
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(
    ("method", "with_floor"),
    [
        ("alternating", False),
        ("alternating", True),
        ("joint", False),
        ("joint", True),
        ("joint by gradient", False),
    ],
)
def test_invariants(method: str, with_floor: bool, step: str) -> None:
    """Of every step rule on every kind of set, at every state."""
    seen: list[float] = []

    @settings(max_examples=6, deadline=None, derandomize=True)
    @given(cases(bounds_follow=True, with_floor=with_floor))
    def check(case: Case) -> None:
        problem = case.problem()
        feasible_set = problem.feasible_set
        assert isinstance(feasible_set, gda.GraphMetrics)
        floor = case.edge_floor
        invariants = Invariants(feasible_set, floor, may_rise=step in ("agnostic", "full"))
        name, options = METHODS[method]
        result = gda.solve(
            problem,
            name,
            solver="analytic",
            step=step,
            callback=invariants,
            max_iterations=80,
            trace_every=0,
            edge_floor=floor,
            **options,
        )
        assert result.status in ("stalled", "iteration_limit"), result.message
        assert feasible_set.contains(result.metric)
        seen.append(result.objective / invariants.values[0])

    check()
    assert min(seen) < 1


def joint(problem: gda.MetricProblem, **options: Any) -> gda.Result:
    return gda.solve(problem, "joint", **({"solver": "analytic"} | options))


@pytest.fixture(scope="module")
def on_wine() -> gda.Result:
    return joint(wine(), tolerance=1e-4)


@pytest.mark.parametrize(
    ("dataset", "positive", "solver"),
    [
        ("wine", "class_0", "analytic"),
        ("iris", "virginica", "HIGHS"),
        pytest.param("wine", "class_1", "analytic", marks=pytest.mark.slow),
        pytest.param("wine", "class_2", "analytic", marks=pytest.mark.slow),
        pytest.param("wine", "class_2", "HIGHS", marks=pytest.mark.slow),
        pytest.param("breast_cancer", "malignant", "analytic", marks=pytest.mark.slow),
    ],
)
def test_ends_no_worse_than_the_alternation(dataset: str, positive: str, solver: str) -> None:
    X, z = scaled(dataset, positive)
    problem = gda.MetricProblem(gda.GLR(X, z), gda.GraphMetrics(trace_bound=X.shape[1]))
    alternating = gda.solve(problem, "alternating", solver=solver, trace_every=0)
    result = joint(problem, solver=solver, trace_every=0)
    print(
        f"{dataset} {positive} by {solver}: alternating {alternating.objective:.8g} in "
        f"{alternating.iterations} steps, joint {result.objective:.8g} in {result.iterations}"
    )
    assert alternating.status == result.status == "stalled"
    assert result.objective <= alternating.objective


def test_rounds_are_k_steps(on_wine: gda.Result) -> None:
    rows = on_wine.trace.rows
    assert [row.round for row in rows] == [-(-row.iteration // 13) for row in rows]
    assert {(row.phase, row.block) for row in rows[1:]} == {("joint", None)}
    assert on_wine.iterations == on_wine.oracle_calls
    assert on_wine.iterations % 13 == 0


def test_stalls_after_two_rounds_that_gain_little(on_wine: gda.Result) -> None:
    ends = on_wine.trace.column("objective")[::13]
    gains = (ends[:-2] - ends[2:]) / ends[:-2]
    assert on_wine.status == "stalled"
    assert gains[-1] <= 1e-4 < gains[:-1].min()
    assert "the last 2 rounds lowered" in on_wine.message


@pytest.mark.parametrize("align", ["eigenvector", "gradient"])
@pytest.mark.parametrize(("realign_every", "period"), [(None, 13), (1, 1), (5, 5), (40, 40)])
def test_realign_every(align: str, realign_every: int | None, period: int) -> None:
    """The scaling changes there and only there, and open-loop steps begin anew."""
    states = list(
        gda.iterate(
            wine(),
            "joint",
            solver="analytic",
            step="agnostic",
            align=align,
            realign_every=realign_every,
            max_iterations=90,
        )
    )
    for before, state in pairwise(states[1:]):
        begins = (state.iteration - 1) % period == 0
        assert (state.v is before.v) == (not begins)
    expected = [2 / ((state.iteration - 1) % period + 2) for state in states[1:]]
    assert [state.step for state in states[1:]] == expected


@pytest.mark.parametrize("method", ["alternating", "joint"])
def test_realigning_never_cuts_off_the_iterate(method: str) -> None:
    """Theorem 1: right after alignment all left-ends are at λ_min, or above ρ."""
    for state in gda.iterate(wine(), method, solver="analytic", max_iterations=60):
        assert state.v is not None
        ends = left_ends(state.metric, state.v)
        assert np.linalg.eigvalsh(state.metric)[0] >= ends.min() - 1e-12
        assert ends.min() >= 1e-6 - 1e-11
        if state.scaling != "resolvent":
            assert state.aligned_spread is not None
            assert state.aligned_spread <= 1e-8


@pytest.mark.parametrize("method", ["alternating", "joint"])
def test_the_floor_keeps_the_graph_connected(method: str) -> None:
    options: dict[str, Any] = {"solver": "analytic", "tolerance": 1e-4, "trace_every": 0}
    kept = gda.solve(wine("class_0"), method, edge_floor=0.01, **options)
    free = gda.solve(wine("class_0"), method, **options)
    assert (kept.status, kept.components) == ("stalled", 1)
    assert n_components(free.metric, 0.01) > 1
    assert kept.objective > free.objective


def test_by_gradient_no_eigenvector_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """But for the start's row; and each program after an alignment is over the whole set."""
    problem = wine()
    states = gda.iterate(
        problem, "joint", solver="analytic", align="gradient", realign_every=1, max_iterations=40
    )
    before = next(states)
    monkeypatch.setattr(aligned, "align", lambda *_, **__: pytest.fail("aligned"))
    for state in states:
        gradient = before.point.gradient()
        least = problem.feasible_set.minimize_linear(gradient).value
        gap = float(np.vdot(gradient, before.metric)) - least
        assert state.block_gap == pytest.approx(gap, rel=1e-9)
        assert state.scaling == "gradient"
        before = state
    assert before.iteration == 40
