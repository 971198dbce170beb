"""Runs step by step, limits, interrupts, thinned traces."""

import signal
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import gdaopt as gda
from gdaopt.backends import protocol
from gdaopt.methods import context
from gdaopt.objectives import PairPoint
from gdaopt.objectives.pair_point import PairLine
from gdaopt.objectives.pairs import RectanglePairs
from gdaopt.programs import Program
from gdaopt.programs import base as programs
from gdaopt.support import deadline
from tests.methods.run_cases import FakeTime, before_each
from tests.result_cases import problem

BOUNDS = ("lower_bound", "relative_gap")
TIMES = (
    *("build_seconds", "write_seconds", "canonicalize_seconds", "solve_seconds", "unpack_seconds"),
    *("reported_seconds", "eig_seconds", "objective_seconds"),
)

pytestmark = pytest.mark.parametrize("method", ["alternating", "joint"])


def options_of(method: str) -> dict[str, Any]:
    """Return what the runs here have in common; a tenth of the steps of `joint` are enough."""
    return {"solver": "analytic"} | ({"tolerance": 1e-3} if method == "joint" else {})


def solve(method: str, **options: Any) -> gda.Result:
    return gda.solve(problem(), method, **(options_of(method) | options))


def iterate(method: str) -> Iterator[gda.methods.State]:
    return gda.iterate(problem(), method, **options_of(method))


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeTime:
    """A clock that goes on whenever it is read: all times are whole and repeatable."""
    modules = (deadline, context, programs, protocol)
    return FakeTime.of(monkeypatch, *modules, tick=1.0)


def test_iterate_takes_no_step_before_it_is_asked_to(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Any] = []
    before_each(monkeypatch, Program, "solve", lambda *arguments: calls.append(arguments))
    states = iterate(method)
    for steps in range(4):
        assert next(states).iteration == steps == len(calls)


# --- Time ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("owner", "names"),
    [(Program, ["solve"]), (RectanglePairs, ["scatter"]), (PairLine, ["derivatives", "balance"])],
    ids=["program", "gradient", "line"],
)
def test_the_runs_time_is_the_same_whatever_is_traced(
    method: str, owner: type, names: list[str], fake: FakeTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A gradient that the method needs is its own, also where a certificate takes it first."""
    fake.tick = 1e-9
    for name in names:
        before_each(monkeypatch, owner, name, lambda *_: fake.advance(0.25))
    all_rows, few_rows = (solve(method, max_iterations=12, trace_every=n) for n in (1, 0))
    assert few_rows.seconds >= 1.0
    assert all_rows.seconds == pytest.approx(few_rows.seconds, abs=1e-5)


def test_callbacks_and_tracing_count_against_the_limit_and_not_as_the_runs_time(
    method: str, fake: FakeTime
) -> None:
    fake.tick = 1e-9
    result = solve(method, time_limit=1.0, callback=lambda _: fake.advance(0.3))
    assert (result.status, result.iterations) == ("time_limit", 3)
    assert result.seconds < 1e-5
    assert result.tracing_seconds == pytest.approx(4 * 0.3, abs=1e-5)


def test_programs_are_told_what_is_left(
    method: str, fake: FakeTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.tick = 1e-9
    left: list[float] = []

    def note(*arguments: Any) -> None:
        left.append(arguments[-1])
        fake.advance(0.25)

    before_each(monkeypatch, Program, "solve", note)
    solve(method, time_limit=1.0, tolerance=0)
    assert left == pytest.approx([1.0, 0.75, 0.5, 0.25], abs=1e-5)


@pytest.mark.covering(1)
@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (Program, "solve"),
        (PairPoint, "line"),
        (PairLine, "balance"),
        (PairLine, "at"),
    ],
    ids=["program", "direction", "line search", "move"],
)
def test_an_interrupt_within_a_block_leaves_a_member(
    method: str, owner: type, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C, by its signal, in the middle of a column or of a joint round."""
    whole = list(iterate(method))
    before = next(
        first
        for first, second in pairwise(whole)
        if second.phase in ("column", "joint")
        and second.step  # so that the line is searched and the point moved
        and (first.round, first.phase, first.block) == (second.round, second.phase, second.block)
    )
    steps = before.iteration
    seen: list[int] = []

    def interrupt(*_: Any) -> None:
        if seen[-1] == steps:
            signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patch:
        before_each(patch, owner, name, interrupt)
        result = solve(
            method, on_interrupt="return", callback=lambda state: seen.append(state.iteration)
        )
    assert (result.status, result.iterations) == ("interrupted", steps)
    assert result.message == f"by the user after step {steps}"
    assert problem().feasible_set.violations(result.metric) == ()
    np.testing.assert_array_equal(result.metric, before.metric)
    assert result.objective == result.trace[-1].objective == before.objective
    assert result.trace[-1].iteration == steps == len(result.trace) - 1
    again = solve(method, initial=result.metric)  # goes on from there
    assert again.status in ("block_minimum", "slow_progress")
    assert again.objective < result.objective


@pytest.mark.covering(1)
@pytest.mark.parametrize("every", [0, 2, 7, 10, 10_000])
def test_every_nth_step_has_a_row_and_all_times(method: str, every: int, fake: FakeTime) -> None:
    full = solve(method)
    fake.now = 0.0
    thin = solve(method, trace_every=every)
    kept = sorted({*range(0, full.iterations + 1, every or 10_000), full.iterations})
    assert [row.iteration for row in thin.trace] == kept
    np.testing.assert_array_equal(thin.trace.left_ends, full.trace.left_ends[kept])
    apart = (*TIMES, "seconds", *BOUNDS)
    columns = [name for name in thin.trace.columns() if name not in apart]
    pd.testing.assert_frame_equal(
        thin.trace.to_pandas()[columns],
        full.trace.to_pandas()[columns].iloc[kept].reset_index(drop=True),
    )
    for name in TIMES:  # whole numbers of ticks: the sums are exact
        of_rows, of_steps = (np.nan_to_num(run.trace.column(name)) for run in (thin, full))
        np.testing.assert_array_equal(np.cumsum(of_rows), np.cumsum(of_steps)[kept], err_msg=name)
    assert thin.trace.column("objective_seconds").sum() > 0
    np.testing.assert_array_equal(thin.metric, full.metric)
    # The end's row is added after the last reading: its time is the whole run's.
    np.testing.assert_array_equal(
        thin.trace.column("seconds")[:-1], full.trace.column("seconds")[kept[:-1]]
    )
    assert full.trace[-1].seconds <= thin.trace[-1].seconds <= thin.seconds


# --- Files ---------------------------------------------------------------------------------------


def test_parquet_holds_the_data_frame(method: str, tmp_path: Path) -> None:
    trace = solve(method).trace
    path = trace.to_parquet(tmp_path / "trace.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(path), trace.to_pandas())
    assert list(tmp_path.iterdir()) == [path]
