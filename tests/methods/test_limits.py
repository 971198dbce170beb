"""Runs step by step, limits, interrupts, thinned traces, kept iterates."""

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


def slow(monkeypatch: pytest.MonkeyPatch, clock: FakeTime, what: str, seconds: float) -> None:
    """Let something take time: the programs, the gradients, or the line search."""
    calls: dict[str, tuple[type, tuple[str, ...]]] = {
        "program": (Program, ("solve",)),
        "gradient": (RectanglePairs, ("scatter",)),
        "line": (PairLine, ("derivatives", "balance")),
    }
    owner, names = calls[what]
    for name in names:
        before_each(monkeypatch, owner, name, lambda *_: clock.advance(seconds))


@pytest.mark.covering(2)
@pytest.mark.parametrize("what", ["program", "gradient", "line"])
@pytest.mark.parametrize("seconds", [0.03, 0.3, 7.0])
@pytest.mark.parametrize("every", [0, 1])
def test_the_time_limit_is_exceeded_by_less_than_a_part_of_a_step(
    method: str,
    what: str,
    seconds: float,
    every: int,
    fake: FakeTime,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By what was under way, and what it takes to certify the end.

    What is done for the trace counts: certificates take gradients too.
    """
    fake.tick = 1e-9
    slow(monkeypatch, fake, what, seconds)
    stamps = [0.0]
    result = solve(
        method,
        time_limit=1.0,
        tolerance=0,
        trace_every=every,
        callback=lambda _: stamps.append(fake.now),
    )
    assert result.status == "time_limit"
    assert result.message == "time_limit = 1 s reached"
    spent = result.seconds + result.tracing_seconds
    assert 1.0 <= spent <= 1.0 + (2 * seconds if what == "gradient" else seconds) + 1e-5
    assert stamps[-2] < 1.0  # the step before the last was within
    if seconds == 0.03:  # no step is that long
        assert result.iterations > 0


@pytest.mark.parametrize("what", ["program", "gradient", "line"])
def test_the_runs_time_is_the_same_whatever_is_traced(
    method: str, what: str, fake: FakeTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A gradient that the method needs is its own, also where a certificate takes it first."""
    fake.tick = 1e-9
    slow(monkeypatch, fake, what, 0.25)
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


# --- Kept iterates and files ---------------------------------------------------------------------


@pytest.mark.covering(1)
@pytest.mark.parametrize("every", [1, 5])
def test_iterates_are_the_metrics_of_their_rows(method: str, every: int) -> None:
    result = solve(method, trace_every=every, keep_iterates=True)
    iterates = result.trace.iterates
    assert iterates is not None
    assert iterates.shape == (len(result.trace), 6, 6)
    assert not iterates.flags.writeable
    for row, metric in zip(result.trace, iterates, strict=True):
        assert row.matrix_trace == np.trace(metric)
        assert row.lambda_min == pytest.approx(np.linalg.eigvalsh(metric)[0], abs=1e-13)
        assert row.objective == pytest.approx(problem().objective.at(metric).value, rel=1e-9)
    np.testing.assert_array_equal(iterates[-1], result.metric)
    assert len({metric.tobytes() for metric in iterates}) > len(iterates) / 2
    assert solve(method).trace.iterates is None


def test_round_trip_with_iterates(method: str, tmp_path: Path) -> None:
    result = solve(method, keep_iterates=True)
    loaded = gda.Result.load(result.save(tmp_path / "run"))
    assert loaded == result
    assert loaded.trace.iterates is not None
    assert not loaded.trace.iterates.flags.writeable
    for other in (loaded.trace.iterates * 2, None):
        assert result.trace != gda.trace.Trace(result.trace.rows, result.trace.left_ends, other)


def test_parquet_holds_the_data_frame(method: str, tmp_path: Path) -> None:
    trace = solve(method).trace
    path = trace.to_parquet(tmp_path / "trace.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(path), trace.to_pandas())
    assert list(tmp_path.iterdir()) == [path]
