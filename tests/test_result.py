"""Results: what they hold and print, and that files give back what was saved."""

import json
import re
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gdaopt as gda
from tests.result_cases import COLUMNS, optimum, problem, solve, solved


@pytest.fixture(params=["analytic", "HIGHS"])
def result(request: pytest.FixtureRequest) -> gda.Result:
    return solved(request.param)


@pytest.fixture
def closed() -> gda.Result:
    return solved("analytic")


@pytest.fixture(scope="module")
def of_atoms() -> gda.Result:
    """Return a metric found as a sum of atoms, in the set of those that contain a path."""
    return gda.solve(problem(0.05), "certified", max_iterations=4)


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
        trace = gda.trace.Trace(rows, closed.trace.left_ends.copy())
        other = replace(closed, lower_bound=bound, trace=trace)
        loaded = gda.Result.load(other.save(tmp_path / "run.npz"))
        assert loaded == other != closed
        assert loaded.lower_bound == bound
        assert loaded.gap == (None if bound is None else closed.objective - bound)

    @pytest.mark.parametrize(
        "change",
        ["known_metric", "objective", "lower_bound", "atoms", "weights", "none", "set"],
    )
    def test_equality_sees_every_part(self, of_atoms: gda.Result, change: str) -> None:
        if change == "none":
            assert replace(of_atoms, atoms=None) != of_atoms != replace(of_atoms, weights=None)
        elif change == "set":
            assert replace(of_atoms, feasible_set=gda.GraphMetrics(6.0, 1e-3)) != of_atoms
        else:
            changed = getattr(of_atoms, change) * (1 + 1e-15)
            assert replace(of_atoms, **{change: changed}) != of_atoms
        assert replace(of_atoms) == of_atoms

    def test_equality_sees_the_trace(self, closed: gda.Result) -> None:
        trace = closed.trace
        for other in (
            gda.trace.Trace(trace.rows[:-1], trace.left_ends),
            gda.trace.Trace(trace.rows, trace.left_ends * (1 + 1e-15)),
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
        assert record["format"] == 2
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

    @pytest.mark.parametrize("written", [1, 3, "2"])
    def test_other_formats_are_refused(
        self, closed: gda.Result, tmp_path: Path, written: object
    ) -> None:
        """They need not have the arrays of today."""
        path = tmp_path / "run.npz"
        record = np.array(json.dumps({"format": written, "novel": 1}))
        np.savez(path, metric=closed.metric, result=record)
        with pytest.raises(
            gda.errors.InvalidInputError,
            match=rf"run\.npz is not .*: its format is {written!r}.* upgrade, or solve the problem",
        ):
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
                np.savez(path, result=np.array([{"format": 2}], dtype=object))
            case "record":
                np.savez(path, result=np.array('{"format": 2}'))
            case "half":
                closed.save(path)
                path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        with pytest.raises(
            gda.errors.InvalidInputError, match=r"run\.npz is not a saved gdaopt result"
        ):
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
        closed = result.solver == "analytic"
        for name, said in {
            "status": "stalled",
            "reason": result.message,
            "objective": f"{result.objective:.8g} (at the start {result.trace[0].objective:.8g})",
            "steps": str(result.iterations),
            "oracle calls": f"{result.oracle_calls} "
            + ("(analytic)" if closed else "(programs solved by HIGHS)"),
        }.items():
            assert f"\n  {name:<20}{said}\n" in text
        assert repr(result) == text
        (gap,) = re.findall(r"^  relative gap +(.+)$", text, re.M)
        assert gap == f"{result.relative_gap:.3g}"
        assert 0.01 < float(gap) < 1

    @pytest.mark.parametrize("bound", [None, -np.inf])
    def test_prints_that_it_is_not_certified(self, closed: gda.Result, bound: float | None) -> None:
        text = str(replace(closed, lower_bound=bound))
        assert re.search(r"^  relative gap +not certified$", text, re.M)

    def test_notebooks_show_the_summary_as_a_table(self, closed: gda.Result) -> None:
        failed = replace(closed, status="solver_failed", message="after step 2: a < b & c")
        html = failed._repr_html_()
        assert html.startswith("<table><caption>alternating: 6×6 metric</caption>")
        assert "<th>reason</th><td>after step 2: a &lt; b &amp; c</td>" in html
        lines = re.findall(r"<th>(.+?)</th><td>", html)
        assert [line[2:22].strip() for line in repr(failed).splitlines()[1:]] == lines

    def test_prints_a_smallest_eigenvalue_that_was_not_measured(self, closed: gda.Result) -> None:
        rows = tuple(replace(row, lambda_min=None) for row in closed.trace)
        trace = gda.trace.Trace(rows, closed.trace.left_ends)
        assert "\n  smallest eigenvalue \n" in repr(replace(closed, trace=trace))

    def test_is_what_the_trace_ends_with(self, result: gda.Result) -> None:
        last = result.trace[-1]
        assert result.objective == last.objective
        assert result.iterations == last.iteration == len(result.trace) - 1
        assert result.oracle_calls == last.oracle_calls == result.iterations
        assert result.seconds >= last.seconds
        assert result.objective == pytest.approx(problem().objective.at(result.metric).value)
        assert result.lower_bound == last.lower_bound
        assert result.relative_gap == last.relative_gap
        assert (result.atoms, result.weights) == (None, None)  # the alternation has no atoms
        assert result.components == problem().feasible_set.n_components(result.metric)

    def test_bounds_are_below_the_optimum(self, result: gda.Result) -> None:
        assert result.lower_bound is not None
        assert result.gap == result.objective - result.lower_bound
        assert result.relative_gap == result.gap / result.objective
        assert 0 < result.lower_bound <= optimum() <= result.objective

    def test_is_the_sum_of_its_atoms(self, of_atoms: gda.Result) -> None:
        """The metric is the base, which contains the path, plus the sum of the atoms."""
        atoms, weights = of_atoms.atoms, of_atoms.weights
        assert atoms is not None
        assert weights is not None
        assert atoms.shape == (len(weights), 6)
        np.testing.assert_allclose((atoms**2).sum(axis=1), 1, rtol=1e-12)
        assert weights.min() > 0
        total = problem(0.05).feasible_set.base(6) + np.einsum("k,ki,kj", weights, atoms, atoms)
        np.testing.assert_allclose(of_atoms.metric, total, atol=1e-12)
        assert of_atoms.lower_bound is not None
        assert optimum() < of_atoms.lower_bound <= of_atoms.objective

    def test_an_objective_that_underflows_is_not_called_optimal(self) -> None:
        """At Q = 0 every gap looks closed, although log Q could be 178 lower here."""
        pair = gda.GLR([[0.0, 0.0], [1.0, 0.5]], [1, -1])
        result = gda.solve(
            gda.MetricProblem(pair, gda.GraphMetrics(950.0)), "alternating", solver="analytic"
        )
        assert result.objective == 0
        assert pair.log_value(result.metric) > pair.log_value(np.diag([949.9, 0.1])) + 100
        assert result.status == "stalled"
        assert result.lower_bound is result.relative_gap is None
        assert "not certified" in str(result)
