"""Results and traces: what they hold, how runs end, and that files give back what was saved."""

from __future__ import annotations

import csv
import json
import re
import time
from dataclasses import FrozenInstanceError, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import gdaopt as gda
from gdaopt.linalg.gershgorin import left_ends
from gdaopt.programs import Program

# DESIGN section 7, the two times that the command line's table needs, and what projections cost.
COLUMNS = (
    *("iteration", "round", "phase", "block", "objective", "block_gap", "lower_bound"),
    *("relative_gap", "step", "lambda_min", "left_end_min", "left_end_max", "aligned_spread"),
    *("matrix_trace", "repair_distance", "oracle_calls", "eig_iterations", "eigen_decompositions"),
    *("build_seconds", "solve_seconds", "eig_seconds", "objective_seconds", "seconds"),
    *("solver", "solver_status", "scaling"),
)


def problem(edge_floor: float = 0.0, rho: float = 1e-3) -> gda.MetricProblem:
    """A problem of six features whose run takes some rounds."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((30, 6)) / np.sqrt(12)
    z = np.where(X[:, 0] - X[:, 1] + 0.2 * rng.standard_normal(30) > 0, 1.0, -1.0)
    return gda.MetricProblem(gda.GLR(X, z), gda.GraphMetrics(6.0, rho, edge_floor))


def solve(**options: Any) -> gda.Result:
    return gda.solve(problem(), "alternating", **({"solver": "analytic"} | options))


@pytest.fixture(scope="module", params=["analytic", "HIGHS"])
def result(request: pytest.FixtureRequest) -> gda.Result:
    return solve(solver=request.param)


@pytest.fixture(scope="module")
def closed() -> gda.Result:
    return solve()


@pytest.fixture(scope="module")
def of_atoms() -> gda.Result:
    """A metric found as a sum of atoms, in the smaller set around a fixed path."""
    return gda.solve(problem(0.05), "certified", max_iterations=4)


@cache
def optimum() -> float:
    return gda.solve(problem(), "certified", tolerance=1e-9).objective


class TestFiles:
    def test_round_trip(self, result: gda.Result, tmp_path: Path) -> None:
        loaded = gda.Result.load(result.save(tmp_path / "run.npz"))
        assert loaded == result
        assert loaded.trace == result.trace
        assert str(loaded) == str(result)
        assert not loaded.metric.flags.writeable
        # None stays None, and numbers keep their types.
        assert loaded.trace[0].block is loaded.trace[0].step is None
        assert (loaded.atoms, loaded.weights) == (None, None)
        assert [type(v) for v in vars(loaded.trace[-1]).values()] == [
            type(v) for v in vars(result.trace[-1]).values()
        ]

    def test_round_trip_of_a_sum_of_atoms(self, of_atoms: gda.Result, tmp_path: Path) -> None:
        loaded = gda.Result.load(of_atoms.save(tmp_path / "run.npz"))
        assert loaded == of_atoms
        assert str(loaded) == str(of_atoms)
        assert loaded.lower_bound == of_atoms.lower_bound
        assert loaded.closed_lower_bound == of_atoms.closed_lower_bound
        for name in ("atoms", "weights"):
            array = getattr(loaded, name)
            np.testing.assert_array_equal(array, getattr(of_atoms, name))
            assert not array.flags.writeable

    @pytest.mark.parametrize("bound", [None, -np.inf, 1.5])
    def test_round_trip_of_bounds(
        self, closed: gda.Result, tmp_path: Path, bound: float | None
    ) -> None:
        gap = None if bound is None else 0.25
        rows = tuple(replace(row, lower_bound=bound, relative_gap=gap) for row in closed.trace)
        trace = gda.Trace(rows, closed.trace.left_ends.copy())
        other = replace(closed, lower_bound=bound, closed_lower_bound=bound, trace=trace)
        loaded = gda.Result.load(other.save(tmp_path / "run.npz"))
        assert loaded == other != closed
        assert loaded.lower_bound == loaded.closed_lower_bound == bound
        assert loaded.gap == (None if bound is None else closed.objective - bound)

    @pytest.mark.parametrize(
        "change",
        ["metric", "objective", "lower_bound", "closed_lower_bound", "atoms", "weights", "none"],
    )
    def test_equality_sees_every_part(self, of_atoms: gda.Result, change: str) -> None:
        if change == "none":
            assert replace(of_atoms, atoms=None) != of_atoms != replace(of_atoms, weights=None)
        else:
            changed = getattr(of_atoms, change) * (1 + 1e-15)
            assert replace(of_atoms, **{change: changed}) != of_atoms
        assert replace(of_atoms) == of_atoms

    def test_equality_sees_the_trace(self, closed: gda.Result) -> None:
        trace = closed.trace
        for other in (
            gda.Trace(trace.rows[:-1], trace.left_ends),
            gda.Trace(trace.rows, trace.left_ends * (1 + 1e-15)),
        ):
            assert replace(closed, trace=other) != closed

    def test_the_suffix_is_added(self, closed: gda.Result, tmp_path: Path) -> None:
        assert closed.save(tmp_path / "class_1.5") == tmp_path / "class_1.5.npz"
        assert [path.name for path in tmp_path.iterdir()] == ["class_1.5.npz"]

    def test_the_file_needs_nothing_but_numpy(self, result: gda.Result, tmp_path: Path) -> None:
        with np.load(result.save(tmp_path / "run.npz"), allow_pickle=False) as archive:
            np.testing.assert_array_equal(archive["metric"], result.metric)
            np.testing.assert_array_equal(archive["left_ends"], result.trace.left_ends)
            assert {name for name in archive.files if name.startswith("trace/")} == {
                f"trace/{name}" for name in COLUMNS
            }
            record = json.loads(str(archive["result"]))
        assert record["format"] == 1
        assert record["status"] == "stalled"

    def test_a_failed_save_leaves_the_old_file(
        self, closed: gda.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = closed.save(tmp_path / "run.npz")

        def fail(file: Any, **_: Any) -> None:
            file.write(b"half")
            raise OSError("disk full")

        with monkeypatch.context() as patch:
            patch.setattr(np, "savez_compressed", fail)
            with pytest.raises(OSError, match="disk full"):
                solve(max_iterations=1).save(path)
        assert gda.Result.load(path) == closed
        assert list(tmp_path.iterdir()) == [path]

    def test_newer_formats_are_refused(self, closed: gda.Result, tmp_path: Path) -> None:
        path = closed.save(tmp_path / "run.npz")
        with np.load(path) as archive:
            arrays = {name: archive[name] for name in archive.files}
        record = json.loads(str(arrays["result"])) | {"format": 2, "novel": 1}
        # A newer file need not have our columns.
        np.savez(path, metric=arrays["metric"], result=np.array(json.dumps(record)))
        with pytest.raises(gda.InvalidInputError, match=r"run\.npz was written by a newer gdaopt"):
            gda.Result.load(path)

    @pytest.mark.parametrize(
        "content",
        ["text", "nothing", "array", "zip", "npz", "json", "list", "pickle", "record", "half"],
    )
    def test_other_files_are_refused(
        self, closed: gda.Result, tmp_path: Path, content: str
    ) -> None:
        path = tmp_path / "run.npz"
        match content:
            case "text" | "nothing":
                path.write_text("M = I" if content == "text" else "")
            case "array":
                with path.open("wb") as file:
                    np.save(file, np.eye(2))
            case "zip":
                path.write_bytes(b"PK\x03\x04 and nothing more")
            case "npz":
                np.savez(path, metric=np.eye(2))
            case "json" | "list":
                np.savez(path, result=np.array("{}" if content == "json" else "[1]"))
            case "pickle":
                np.savez(path, result=np.array([{"format": 1}], dtype=object))
            case "record":
                np.savez(path, result=np.array('{"format": 1}'))
            case "half":
                closed.save(path)
                path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        with pytest.raises(gda.InvalidInputError, match=r"run\.npz is not a saved gdaopt result"):
            gda.Result.load(path)

    def test_a_missing_file(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError):
            gda.Result.load(tmp_path / "absent.npz")


class TestResult:
    def test_is_frozen(self, closed: gda.Result) -> None:
        with pytest.raises(FrozenInstanceError):
            closed.objective = 0.0  # type: ignore[misc]
        with pytest.raises(ValueError, match="read-only"):
            closed.metric[0, 0] = 1.0
        with pytest.raises(ValueError, match="read-only"):
            closed.trace.left_ends[0, 0] = 1.0
        with pytest.raises(FrozenInstanceError):
            closed.trace[0].objective = 0.0  # type: ignore[misc]

    @pytest.mark.parametrize("name", ["metric", "atoms", "weights"])
    def test_arrays_are_read_only(self, of_atoms: gda.Result, name: str) -> None:
        assert not getattr(of_atoms, name).flags.writeable

    def test_prints_well(self, result: gda.Result) -> None:
        text = str(result)
        assert text.startswith("alternating: 6×6 metric\n")
        for part in (
            f"stalled ({result.message})",
            f"{result.objective:.8g} (start {result.trace[0].objective:.8g})",
            f"{result.oracle_calls} subproblems by {result.solver}",
        ):
            assert part in text
        (gap,) = re.findall(r"^  relative gap +(.+)$", text, re.M)
        assert gap == f"{result.relative_gap:.3g}"
        assert 0.01 < float(gap) < 1

    @pytest.mark.parametrize("bound", [None, -np.inf])
    def test_prints_that_it_is_not_certified(self, closed: gda.Result, bound: float | None) -> None:
        text = str(replace(closed, lower_bound=bound))
        assert re.search(r"^  relative gap +not certified$", text, re.M)

    def test_is_what_the_trace_ends_with(self, result: gda.Result) -> None:
        last = result.trace[-1]
        assert result.objective == last.objective
        assert result.iterations == last.iteration == len(result.trace) - 1
        assert result.oracle_calls == last.oracle_calls == result.iterations
        assert result.seconds >= last.seconds
        assert result.objective == pytest.approx(problem().objective.at(result.metric).value)
        assert result.lower_bound == result.closed_lower_bound == last.lower_bound
        assert result.relative_gap == last.relative_gap
        assert (result.atoms, result.weights) == (None, None)  # no part of how it was found
        assert result.components == problem().feasible_set.n_components(result.metric)

    def test_bounds_are_below_the_optimum(self, result: gda.Result) -> None:
        assert result.lower_bound is not None
        assert result.gap == result.objective - result.lower_bound
        assert result.relative_gap == result.gap / result.objective
        assert 0 < result.lower_bound <= optimum() <= result.objective

    def test_is_the_sum_of_its_atoms(self, of_atoms: gda.Result) -> None:
        """Over the base; the bound of the set without its floor is lower."""
        atoms, weights = of_atoms.atoms, of_atoms.weights
        assert atoms is not None
        assert weights is not None
        assert atoms.shape == (len(weights), 6)
        np.testing.assert_allclose((atoms**2).sum(axis=1), 1, rtol=1e-12)
        assert weights.min() > 0
        total = problem(0.05).feasible_set.base(6) + np.einsum("k,ki,kj", weights, atoms, atoms)
        np.testing.assert_allclose(of_atoms.metric, total, atol=1e-12)
        assert of_atoms.lower_bound is not None
        assert of_atoms.closed_lower_bound is not None
        assert of_atoms.closed_lower_bound < of_atoms.lower_bound <= of_atoms.objective
        assert of_atoms.closed_lower_bound <= optimum()

    def test_prints_both_gaps_where_there_is_a_floor(
        self, of_atoms: gda.Result, result: gda.Result
    ) -> None:
        assert of_atoms.closed_lower_bound is not None
        of_closed = of_atoms.objective - of_atoms.closed_lower_bound
        gaps = re.findall(r"^  (relative gap|  without the floor) +(.+)$", str(of_atoms), re.M)
        assert gaps == [
            ("relative gap", f"{of_atoms.relative_gap:.3g}"),
            ("  without the floor", f"{of_closed / of_atoms.objective:.3g}"),
        ]
        assert "floor" not in str(result)

    def test_an_objective_that_underflows_is_not_called_optimal(self) -> None:
        """At Q = 0 every gap looks closed (DESIGN section 1); here log Q could be 178 lower."""
        pair = gda.GLR([[0.0, 0.0], [1.0, 0.5]], [1, -1])
        result = gda.solve(gda.MetricProblem(pair, gda.GraphMetrics(950.0)), solver="analytic")
        assert result.objective == 0
        assert pair.log_value(result.metric) > pair.log_value(np.diag([949.9, 0.1])) + 100
        assert result.status == "stalled"
        assert result.lower_bound is result.closed_lower_bound is result.relative_gap is None
        assert "not certified" in str(result)

    def test_by_name_and_by_object_are_equal(self) -> None:
        by_name = solve(step="full", max_iterations=30)
        by_object = gda.solve(
            problem(), gda.Alternating(solver="analytic", step="full", max_iterations=30)
        )
        np.testing.assert_array_equal(by_name.metric, by_object.metric)
        untimed = [name for name in COLUMNS if not name.endswith("seconds")]
        pd.testing.assert_frame_equal(
            by_name.trace.to_pandas()[untimed], by_object.trace.to_pandas()[untimed]
        )


class TestTrace:
    def test_columns(self, result: gda.Result) -> None:
        assert gda.Trace.columns() == COLUMNS
        assert tuple(result.trace.to_pandas().columns) == COLUMNS

    def test_rows_and_pandas_agree(self, result: gda.Result) -> None:
        frame = result.trace.to_pandas()
        assert len(frame) == len(result.trace)
        for name in COLUMNS:
            found = [None if pd.isna(value) else value for value in frame[name]]
            assert found == [getattr(row, name) for row in result.trace], name

    def test_rows_and_csv_agree(self, result: gda.Result, tmp_path: Path) -> None:
        """To the last bit."""
        with result.trace.to_csv(tmp_path / "trace.csv").open(encoding="utf-8") as file:
            lines = list(csv.DictReader(file))
        for line, row in zip(lines, result.trace, strict=True):
            for name in COLUMNS:
                value = getattr(row, name)
                assert line[name] == "" if value is None else type(value)(line[name]) == value

    def test_none_is_an_empty_cell(self, closed: gda.Result, tmp_path: Path) -> None:
        header, start = closed.trace.to_csv(tmp_path / "t.csv").read_text().splitlines()[:2]
        cells = dict(zip(header.split(","), start.split(","), strict=True))
        assert {name for name, cell in cells.items() if cell == ""} == {
            *("block", "block_gap", "step", "repair_distance"),
            *("build_seconds", "solve_seconds", "solver", "solver_status"),
        }

    def test_unknown_columns_are_refused(self, closed: gda.Result) -> None:
        with pytest.raises(gda.InvalidInputError, match="did you mean 'objective'"):
            closed.trace.column("objectiv")

    def test_is_a_sequence(self, closed: gda.Result) -> None:
        assert list(closed.trace) == list(closed.trace.rows)
        assert closed.trace[-1] is closed.trace.rows[-1]

    def test_numbers_make_sense(self, result: gda.Result) -> None:
        trace = result.trace
        assert np.isfinite(trace.column("objective")).all()
        np.testing.assert_array_equal(trace.column("iteration"), np.arange(len(trace)))
        for cumulative in ("round", "oracle_calls", "eig_iterations", "seconds"):
            assert (np.diff(trace.column(cumulative)) >= 0).all(), cumulative
        assert trace.column("eig_iterations")[-1] > 0
        assert (np.diff(trace.column("objective")) <= 1e-12 * trace[0].objective).all()
        for positive in ("block_gap", "step", "repair_distance", "solve_seconds", "eig_seconds"):
            assert np.nanmin(trace.column(positive)) >= 0, positive
        assert np.nanmax(trace.column("step")) <= 1

    def test_every_row_is_certified(self, result: gda.Result) -> None:
        objective, bound, gap = (
            result.trace.column(name) for name in ("objective", "lower_bound", "relative_gap")
        )
        np.testing.assert_array_equal(gap, (objective - bound) / objective)
        assert (np.diff(bound) >= 0).all()
        assert (np.diff(gap) <= 1e-12).all()  # as the objective does not rise
        assert 0 < bound[0] < bound[-1] <= optimum() <= objective.min()

    def test_the_start_and_the_phases(self, result: gda.Result) -> None:
        start, *steps = result.trace
        assert (start.phase, start.iteration, start.round, start.solver) == ("start", 0, 0, "")
        assert {row.phase for row in steps} == {"diagonal", "column"}
        for row in steps:
            assert (row.block is None) == (row.phase == "diagonal")
            assert row.solver in (result.solver, "analytic")
            assert row.solver_status == "optimal"
            assert re.fullmatch(r"(lobpcg|eigh)(\+polish)?|resolvent", row.scaling)
        assert any(row.solver == result.solver for row in steps)

    def test_parts_of_the_time_add_up_to_at_most_all_of_it(self, result: gda.Result) -> None:
        parts = ("build_seconds", "solve_seconds", "eig_seconds", "objective_seconds")
        of_row = np.nansum([result.trace.column(part) for part in parts], axis=0)
        seconds = result.trace.column("seconds")
        assert (np.cumsum(of_row) <= seconds).all()
        assert of_row.sum() >= 0.3 * seconds[-1]  # they are what a run spends its time on

    def test_the_tracers_own_time_does_not_count(self) -> None:
        started = time.perf_counter()
        slow = solve(max_iterations=5, callback=lambda _: time.sleep(0.05))
        assert time.perf_counter() - started >= 0.3
        assert slow.seconds < 0.25

    def test_left_ends(self, result: gda.Result) -> None:
        """Those of a row are the metric's after the step, under the scalars used for the step."""
        metrics: list[np.ndarray] = []
        scalings: list[np.ndarray] = []

        def keep(state: gda.State) -> None:
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

    def test_the_last_row_is_the_results_metric(self, result: gda.Result) -> None:
        last = result.trace[-1]
        assert last.lambda_min == pytest.approx(np.linalg.eigvalsh(result.metric)[0], abs=1e-13)
        assert last.matrix_trace == np.trace(result.metric)


def interrupting(calls: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the user press Ctrl-C in that call of a program."""
    count = 0
    original: Any = Program.solve

    def solve_or_interrupt(self: Any, *args: Any) -> Any:
        nonlocal count
        count += 1
        if count == calls:
            raise KeyboardInterrupt
        return original(self, *args)

    monkeypatch.setattr(Program, "solve", solve_or_interrupt)


class TestEnds:
    def test_iteration_limit(self) -> None:
        result = solve(max_iterations=7)
        assert (result.status, result.iterations) == ("iteration_limit", 7)
        assert result.message == "max_iterations = 7 reached"

    def test_no_iterations_give_the_start(self) -> None:
        result = solve(max_iterations=0)
        assert (result.status, len(result.trace)) == ("iteration_limit", 1)
        np.testing.assert_array_equal(result.metric, gda.GraphMetrics(6.0, 1e-3).start(6))
        assert "stalled" not in str(result)

    def test_time_limit(self) -> None:
        started = time.perf_counter()
        result = solve(time_limit=0.3, tolerance=0, callback=lambda _: time.sleep(0.02))
        assert result.status == "time_limit"
        assert 0.3 <= time.perf_counter() - started < 10
        assert result.message == "time_limit = 0.3 s reached"

    def test_time_limit_within_a_program(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Solvers get what is left, and call it a failure when that is not enough."""

        def out_of_time(*_: Any, time_limit: float, **__: Any) -> None:
            assert 0 < time_limit <= 0.05
            time.sleep(0.06)
            raise gda.SolverFailedError("ended with status 'user_limit'")

        monkeypatch.setattr("gdaopt.programs.base.solve_program", out_of_time)
        assert solve(solver="HIGHS", time_limit=0.05).status == "time_limit"

    def test_solver_failure(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(*_: Any, **__: Any) -> None:
            raise gda.SolverFailedError("HIGHS fell over")

        monkeypatch.setattr("gdaopt.programs.base.solve_program", fail)
        result = solve(solver="HIGHS", time_limit=60)
        assert (result.status, result.iterations) == ("solver_failed", 0)
        assert result.message == "after step 0: HIGHS fell over"

    def test_the_solvers_own_limit_is_a_failure(self) -> None:
        result = solve(
            solver="HIGHS", solver_opts={"presolve": "off", "simplex_iteration_limit": 0}
        )
        assert result.status == "solver_failed"
        assert "HIGHS ended on the diagonal program with status" in result.message

    def test_interrupted_by_the_callback(self) -> None:
        result = solve(callback=lambda state: state.iteration < 9)
        assert (result.status, result.iterations) == ("interrupted", 9)
        assert result.message == "by the callback after step 9"

    def test_callbacks_that_return_nothing_do_not_end_the_run(self) -> None:
        seen: list[int] = []
        result = solve(callback=lambda state: seen.append(state.iteration))
        assert result.status == "stalled"
        assert seen == list(range(result.iterations + 1))

    @pytest.mark.parametrize("calls", [1, 5, 14])  # on the diagonal, and within columns
    def test_keyboard_interrupt_returns(self, calls: int, monkeypatch: pytest.MonkeyPatch) -> None:
        interrupting(calls, monkeypatch)
        result = solve(on_interrupt="return")
        assert (result.status, result.iterations) == ("interrupted", calls - 1)
        assert result.message == f"by the user after step {calls - 1}"
        assert problem().feasible_set.violations(result.metric) == ()
        assert result.objective == result.trace[-1].objective
        assert result.objective == pytest.approx(problem().objective.at(result.metric).value)

    def test_keyboard_interrupt_while_tracing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """State and trace stay at the same step."""
        count = 0

        def interrupted(metric: np.ndarray) -> float:
            nonlocal count
            count += 1
            if count == 6:
                raise KeyboardInterrupt
            return float(np.linalg.eigvalsh(metric)[0])

        monkeypatch.setattr("gdaopt.methods.tracer.smallest_eigenvalue", interrupted)
        result = solve(on_interrupt="return")
        assert (result.status, result.iterations, len(result.trace)) == ("interrupted", 4, 5)
        assert result.objective == result.trace[-1].objective

    def test_keyboard_interrupt_propagates(self, monkeypatch: pytest.MonkeyPatch) -> None:
        interrupting(5, monkeypatch)
        with pytest.raises(KeyboardInterrupt):
            solve()

    def test_errors_of_callbacks_propagate(self) -> None:
        def fail(state: gda.State) -> None:
            raise ZeroDivisionError("in the callback")

        with pytest.raises(ZeroDivisionError, match="in the callback"):
            solve(callback=fail)

    @pytest.mark.parametrize("edge_floor", [0.0, 0.05])
    @pytest.mark.parametrize("rho", [0.0, 1e-3, 0.5])
    def test_a_run_continued_from_its_end_takes_one_more_round(
        self, edge_floor: float, rho: float
    ) -> None:
        first = gda.solve(problem(edge_floor, rho), solver="analytic")
        again = gda.solve(problem(edge_floor, rho), solver="analytic", initial=first.metric)
        assert first.status == again.status == "stalled"
        assert again.trace[-1].round == 1
        assert again.trace[0].objective == pytest.approx(first.objective, rel=1e-9)
        assert again.objective <= first.objective * (1 + 1e-12)

    def test_tolerance_0_ends(self) -> None:
        result = solve(tolerance=0, max_iterations=20_000)
        assert result.status == "stalled"
        assert result.objective == pytest.approx(solve().objective, rel=1e-5)
        rounds = result.trace.column("round")
        before = result.trace.column("objective")[rounds < rounds[-1]]
        assert before[-1] == result.objective  # a round that changed nothing

    @pytest.mark.parametrize("solver", ["analytic", "HIGHS", "CLARABEL"])
    def test_what_is_saved_is_accepted_back(self, solver: str, tmp_path: Path) -> None:
        result = solve(solver=solver, max_iterations=40)
        loaded = gda.Result.load(result.save(tmp_path / "run"))
        assert solve(initial=loaded.metric, max_iterations=0).iterations == 0

    def test_initial_metrics_off_by_round_off_are_repaired(self) -> None:
        """Off the set in sign, trace and smallest eigenvalue by less than `contains` allows."""
        feasible_set = gda.GraphMetrics(6.0, 1e-3)
        initial = feasible_set.start(6, feasible_set.largest_edge_weight(6))
        initial += 5e-13 * np.eye(6)
        initial[0, 1] = initial[1, 0] = initial[0, 1] - 1e-10
        initial[0, 3] = initial[3, 0] = 5e-13
        assert initial[0, 3] > 0
        assert np.trace(initial) > 6.0
        assert np.linalg.eigvalsh(initial)[0] < 1e-3 - 1e-11
        start = solve(initial=initial, max_iterations=0).metric
        np.testing.assert_allclose(start, initial, atol=1e-8)
        assert np.linalg.eigvalsh(start)[0] >= 1e-3 - 1e-15
        assert np.trace(start) <= 6.0 * (1 + 1e-15)
        assert (start - np.diag(np.diagonal(start))).max() <= 0
        assert solve(initial=initial).status == "stalled"

    def test_verbose_prints_a_line_a_round(self, capsys: pytest.CaptureFixture[str]) -> None:
        result = solve(verbose=True)
        lines = capsys.readouterr().out.splitlines()
        assert [int(line.split()[1]) for line in lines] == list(range(result.trace[-1].round + 1))
        assert f"objective {result.trace[0].objective:.8g}" in lines[0]
        solve()
        assert capsys.readouterr().out == ""
