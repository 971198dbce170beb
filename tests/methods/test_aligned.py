"""The alternation and the joint method: invariants at every state, floors, rounds, their ends."""

from dataclasses import replace
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import gdaopt as gda
from gdaopt.linalg.gershgorin import Alignment, align, left_ends
from gdaopt.methods import aligned
from gdaopt.status import MADE_NO_PROGRESS
from gdaopt.support.validation import FloatArray
from tests.helpers import scaled
from tests.methods.certified_cases import Watch
from tests.methods.run_cases import Case, cases, small, solve, wine

SET = gda.GraphMetrics(trace_bound=4.0, min_eigenvalue=0.1)
STEPS = ("exact", "adaptive", "short", "agnostic", "full")
# --- Invariants ----------------------------------------------------------------------------------


def fall(case: Case, way: str, **options: Any) -> float:
    """Run a case with each state checked; return the share of the objective that is left."""
    problem, floor = case.problem(), case.edge_floor
    rises = options.get("step") in ("agnostic", "full")
    watch = Watch(problem.feasible_set, floor, may_rise=rises)
    result = solve(problem, way, edge_floor=floor, callback=watch, trace_every=0, **options)
    assert result.status in {*MADE_NO_PROGRESS, "iteration_limit"}, result.message
    return result.objective / watch.states[0].objective


@pytest.mark.covering(1)
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(
    ("way", "with_floor"),
    [*product(["alternating", "joint"], [False, True]), ("joint, gradient", False)],
)
def test_invariants(way: str, with_floor: bool, step: str) -> None:
    """Of every step rule on every kind of set, at every state."""
    left: list[float] = []

    @settings(max_examples=6, deadline=None, derandomize=True)
    @given(cases(bounds_follow=True, with_floor=with_floor))
    def check(case: Case) -> None:
        left.append(fall(case, way, step=step, max_iterations=80))

    check()
    assert min(left) < 1


@pytest.mark.parametrize("method", ["alternating", "joint"])
@pytest.mark.parametrize("kind", ["graph", "signed", "sdd", "masked"])
def test_realigning_never_cuts_off_the_iterate(method: str, kind: str) -> None:
    """Theorem 1: right after alignment all left-ends are at λ_min, or above ρ."""
    problem = wine() if kind == "graph" else small(kind, 0.0, 6, 30)
    rho = problem.feasible_set.min_eigenvalue
    for state in gda.iterate(problem, method, solver="analytic", max_iterations=60):
        assert state.v is not None
        ends = left_ends(state.metric, state.v)
        assert np.linalg.eigvalsh(state.metric)[0] >= ends.min() - 1e-12
        assert ends.min() >= rho - 1e-11
        if state.scaling != "resolvent":
            assert state.aligned_spread is not None
            assert state.aligned_spread <= 1e-8


# --- Edge floors ---------------------------------------------------------------------------------


IRIS = gda.MetricProblem(gda.GLR(*scaled("iris", "versicolor")), SET)


def start(**options: float) -> FloatArray:
    return gda.methods.Alternating(**options).default_start(IRIS)  # type: ignore[arg-type]


@pytest.mark.parametrize("method", [gda.methods.Alternating, gda.methods.Joint])
@pytest.mark.parametrize(("share", "components"), [(0.99, 1), (1.01, 2)])
def test_an_edge_counts_from_the_floor_on(method: Any, share: float, components: int) -> None:
    weak = 0.25 * (1 - share * 1e-9)
    metric = np.eye(4)
    for i, weight in enumerate((0.3, weak, 0.25)):
        metric[i, i + 1] = metric[i + 1, i] = -weight
    runner = method(edge_floor=0.25, initial=metric, solver="analytic", max_iterations=3)
    assert runner.count_components(metric) == components
    if components == 1:
        assert gda.solve(IRIS, runner).iterations == 3
        return
    with pytest.raises(
        gda.errors.InvalidInputError, match=r"≥ edge_floor = 0.25 leave 2 components"
    ):
        gda.solve(IRIS, runner)


def test_the_start_has_edges_of_half_the_bound_or_the_floor() -> None:
    expected, bound = SET.start(4), SET.largest_edge_weight(4)
    np.testing.assert_array_equal(start(edge_floor=0.01), expected)
    assert -expected[0, 1] > 0.01
    np.testing.assert_array_equal(np.diagonal(start(edge_floor=0.75 * bound), 1), -0.75 * bound)
    floor = (bound + (4.0 - 4 * 0.1) / 6) / 2  # that no constant diagonal can carry
    assert floor > bound
    metric = start(edge_floor=floor)
    assert metric in SET
    assert gda.methods.Alternating(edge_floor=floor).count_components(metric) == 1
    assert np.trace(metric) == pytest.approx(4.0, rel=1e-15)


def test_the_edges_of_a_tree_keep_what_they_have_of_the_floor() -> None:
    metric = np.array([[1.0, -0.5, -0.02], [-0.5, 1.0, -0.05], [-0.02, -0.05, 1.0]])
    expected = np.array([[0.0, 0.1, 0.0], [0.1, 0.0, 0.05], [0.0, 0.05, 0.0]])
    np.testing.assert_array_equal(aligned.tree_floors(metric, 0.1), expected)


# --- Rounds and ends -----------------------------------------------------------------------------


@pytest.mark.parametrize("block_iterations", [1, 3])
def test_blocks_come_in_order_and_take_so_many_steps(block_iterations: int) -> None:
    trace = solve(wine(), "alternating", block_iterations=block_iterations).trace
    visits = [(row.round, row.phase, row.block) for row in trace]
    assert max(visits.count(visit) for visit in set(visits)) == block_iterations
    first_round = [row.block for row in trace if row.round == 1]
    assert list(dict.fromkeys(first_round)) == [None, *range(13)]


@pytest.mark.parametrize(("method", "window"), [("alternating", 1), ("joint", 2)])
def test_stalls_where_rounds_gain_too_little(method: str, window: int) -> None:
    result = solve(wine(), method, tolerance=1e-3)
    rounds, objective = (result.trace.column(name) for name in ("round", "objective"))
    ends = np.array([objective[rounds == number][-1] for number in range(rounds[-1] + 1)])
    gains = (ends[:-window] - ends[window:]) / ends[:-window]
    assert result.status in ("block_minimum", "slow_progress")
    assert gains[-1] <= 1e-3 < gains[:-1].min()
    if method == "joint":
        rows = result.trace.rows
        assert "the last 2 rounds lowered" in result.message
        assert [row.round for row in rows] == [-(-row.iteration // 13) for row in rows]
        assert {(row.phase, row.block) for row in rows[1:]} == {("joint", None)}
        assert result.iterations == result.oracle_calls
        assert result.iterations % 13 == 0


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


def test_a_vector_that_leaves_a_left_end_too_low_ends_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No polytope has the current metric inside then."""

    def stray(metric: FloatArray, *rest: Any, **options: Any) -> Alignment:
        v = np.geomspace(1.0, 1e6, len(metric))
        return replace(align(metric, *rest, **options), v=v, left_ends=left_ends(metric, v))

    monkeypatch.setattr(aligned, "align", stray)
    path = 0.6 * np.eye(13) - 0.25 * (np.eye(13, k=1) + np.eye(13, k=-1))
    result = gda.solve(wine(), "alternating", solver="analytic", initial=path)
    assert (result.status, result.iterations) == ("solver_failed", 0)
    assert "below the smallest eigenvalue allowed" in result.message


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
