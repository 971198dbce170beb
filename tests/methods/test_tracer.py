"""What the tracer measures: rows that fit the metrics of the run, and times that add up."""

from __future__ import annotations

import gc
import re
import time
import weakref
from dataclasses import replace

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.errors import GdaoptError
from gdaopt.linalg import gershgorin
from gdaopt.linalg.gershgorin import comparison_matrix, left_ends
from gdaopt.linalg.spectrum import component_eigenvalues
from gdaopt.methods.post_conditions import PostConditions
from gdaopt.methods.state import Clock, State
from gdaopt.methods.tracer import Tracer
from tests.result_cases import problem, solve, solved


@pytest.fixture(params=["analytic", "HIGHS"])
def result(request: pytest.FixtureRequest) -> gda.Result:
    return solved(request.param)


def test_numbers_make_sense(result: gda.Result) -> None:
    trace = result.trace
    assert np.isfinite(trace.column("objective")).all()
    np.testing.assert_array_equal(trace.column("iteration"), np.arange(len(trace)))
    for cumulative in ("round", "oracle_calls", "eig_iterations", "seconds"):
        assert (np.diff(trace.column(cumulative)) >= 0).all(), cumulative
    assert trace.column("oracle_calls")[-1] > 0
    assert (np.diff(trace.column("objective")) <= 1e-12 * trace[0].objective).all()
    for positive in ("block_gap", "step", "repair_distance", "solve_seconds", "eig_seconds"):
        assert np.nanmin(trace.column(positive)) >= 0, positive
    assert np.nanmax(trace.column("step")) <= 1


def test_iterations_of_lobpcg_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gershgorin, "LARGEST_DENSE", 4)
    assert solve().trace.column("eig_iterations")[-1] > 0


def test_a_bound_that_a_method_keeps_has_to_be_below_later_objectives() -> None:
    point = problem().objective.at(problem().feasible_set.start(6))
    tracer = Tracer(problem(), Clock())
    start = State(point=point, objective=point.value, lower_bound=point.value)
    tracer.record(start, 0.0)
    assert tracer.lower_bound == point.value
    tracer.record(replace(start, lower_bound=2 * point.value, iteration=1), 0.0)
    assert tracer.lower_bound == point.value
    with pytest.raises(GdaoptError, match="convex"):
        PostConditions(problem(), start, is_users=False).claim(*tracer.claimed)


def test_round_off_of_the_objective_is_cut_off_the_bound() -> None:
    point = problem().objective.at(problem().feasible_set.start(6))
    tracer = Tracer(problem(), Clock())
    bound = float(np.nextafter(point.value, np.inf))
    tracer.record(State(point=point, objective=point.value, lower_bound=bound), 0.0)
    assert tracer.lower_bound == point.value


def test_the_start_and_the_phases(result: gda.Result) -> None:
    start, *steps = result.trace
    assert (start.phase, start.iteration, start.round, start.solver) == ("start", 0, 0, "")
    assert {row.phase for row in steps} == {"diagonal", "column"}
    for row in steps:
        assert (row.block is None) == (row.phase == "diagonal")
        assert row.solver in (result.solver, "analytic")
        assert row.solver_status == "optimal"
        assert re.fullmatch(r"(lobpcg|eigh)(\+polish)?|resolvent", row.scaling)
    assert any(row.solver == result.solver for row in steps)


def test_parts_of_the_time_add_up_to_at_most_all_of_it(result: gda.Result) -> None:
    parts = ("build_seconds", "solve_seconds", "eig_seconds", "objective_seconds")
    of_row = np.nansum([result.trace.column(part) for part in parts], axis=0)
    seconds = result.trace.column("seconds")
    assert (np.cumsum(of_row) <= seconds).all()
    assert of_row.sum() >= 0.5 * seconds[-1]  # they are what a run spends its time on


def test_the_tracers_own_time_does_not_count() -> None:
    started = time.perf_counter()
    slow = solve(max_iterations=5, callback=lambda _: time.sleep(0.05))
    assert time.perf_counter() - started >= 0.3
    assert slow.seconds < 0.25


def test_left_ends(result: gda.Result) -> None:
    """The left-ends of a row are those of the metric after the step, under its scalars."""
    metrics: list[np.ndarray] = []
    scalings: list[np.ndarray] = []

    def keep(state: gda.methods.State) -> None:
        assert state.v is not None
        metrics.append(state.metric)
        scalings.append(state.v)

    trace = solve(solver=result.solver, callback=keep).trace
    assert trace.left_ends.shape == (len(trace), 6)
    for row, ends, metric, v in zip(trace, trace.left_ends, metrics, scalings, strict=True):
        np.testing.assert_array_equal(ends, left_ends(metric, v))
        assert (row.left_end_min, row.left_end_max) == (ends.min(), ends.max())
        assert row.lambda_min == pytest.approx(np.linalg.eigvalsh(metric)[0], abs=1e-13)
        assert row.matrix_trace == np.trace(metric)
        assert row.objective == pytest.approx(problem().objective.at(metric).value, rel=1e-9)


@pytest.mark.parametrize("method", ["certified", "projected-gradient"])
@pytest.mark.parametrize("feasible_set", [gda.GraphMetrics, gda.PositiveDefiniteMetrics])
def test_left_ends_of_steps_without_scalars(
    method: str, feasible_set: type[gda.GraphMetrics | gda.PositiveDefiniteMetrics]
) -> None:
    """They are those of `align`, for the matrix of the same discs with non-positive entries."""
    glr = problem().objective
    found = gda.solve(
        gda.MetricProblem(glr, feasible_set(6.0, 1e-3)),
        method,
        max_iterations=4,
        keep_iterates=True,
    )
    assert found.trace.iterates is not None
    for row, ends, metric in zip(
        found.trace, found.trace.left_ends, found.trace.iterates, strict=True
    ):
        comparison = comparison_matrix(metric)
        np.testing.assert_array_equal(ends, component_eigenvalues(comparison))
        assert row.lambda_min == pytest.approx(np.linalg.eigvalsh(metric)[0], abs=1e-13)
        assert row.left_end_min == ends.min() <= np.linalg.eigvalsh(metric)[0] + 1e-13
        assert row.scaling == "components"


@pytest.mark.parametrize("keep_iterates", [False, True])
def test_metrics_are_held_only_where_they_are_kept(keep_iterates: bool) -> None:
    """A trace of 2,000 steps held 1.4 GB of metrics of 300 features."""
    metrics: list[weakref.ref[np.ndarray]] = []
    alive: list[int] = []

    def count(state: gda.methods.State) -> None:
        metrics.append(weakref.ref(state.metric))
        if state.iteration >= 10:
            gc.collect()
            alive.append(sum(metric() is not None for metric in metrics))

    solve(callback=count, keep_iterates=keep_iterates, max_iterations=12)
    assert alive[-1] == 13 if keep_iterates else max(alive) <= 5  # those that the method needs
