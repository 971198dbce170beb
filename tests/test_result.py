"""Results and traces: what they hold and print, and that files give back what was saved."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from dataclasses import FrozenInstanceError, replace
from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array, vstack

import gdaopt as gda
from gdaopt.errors import InvalidInputError
from gdaopt.linalg.entries import block_of
from gdaopt.objectives import pair_objective
from gdaopt.sets import record_of
from gdaopt.studies.saved_runs import read_runs
from gdaopt.trace import COLUMNS
from tests.helpers import leave_memory, n_parts, refusals, traced_peak
from tests.result_cases import problem, solve, solved


class Named:
    """A path that is no text and no `Path`."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __fspath__(self) -> str:
        return self.path


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
    @pytest.mark.parametrize("name", ["analytic", "HIGHS", "atoms"])
    def test_round_trip(self, name: str, of_atoms: gda.Result, tmp_path: Path) -> None:
        result = of_atoms if name == "atoms" else solved(name)
        path = result.save(tmp_path / "class_1.5")
        assert [path.name for path in tmp_path.iterdir()] == [path.name] == ["class_1.5.npz"]
        loaded = gda.Result.load(path)
        assert loaded == result
        assert loaded.trace == result.trace
        assert str(loaded) == str(result)
        # None stays None, and numbers keep their types.
        assert loaded.trace[0].block is loaded.trace[0].step is None
        assert [type(v) for v in vars(loaded.trace[-1]).values()] == [
            type(v) for v in vars(result.trace[-1]).values()
        ]
        for part in ("metric", "atoms", "weights"):
            array = getattr(loaded, part)
            assert (array is None) == (part != "metric" and name != "atoms")
            if array is not None:
                np.testing.assert_array_equal(array, getattr(result, part))
                assert not array.flags.writeable
                assert not getattr(result, part).flags.writeable

    @pytest.mark.parametrize("name", ["again", "again.npz", "class_1.5", "~/again", "~no user/run"])
    @pytest.mark.parametrize("kind", [str, Path, Named])
    def test_what_was_saved_is_loaded_by_the_same_path(
        self,
        name: str,
        kind: Callable[[str], Any],
        closed: gda.Result,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("USERPROFILE", str(tmp_path))
        (tmp_path / "~no user").mkdir()
        path = closed.save(kind(name))
        assert path.suffix == ".npz"
        assert gda.Result.load(kind(name)) == gda.Result.load(path) == closed
        (run,) = read_runs([kind(name)])
        assert run.result == closed

    def test_files_of_other_endings(self, closed: gda.Result, tmp_path: Path) -> None:
        """They are read as they are named; what is missing, is missing with the ending."""
        path = closed.save(tmp_path / "run").rename(tmp_path / "run.bak")
        assert gda.Result.load(path) == closed
        with pytest.raises(FileNotFoundError, match=r"run\.npz"):
            gda.Result.load(tmp_path / "run")

    @pytest.mark.parametrize("bound", [None, -np.inf])
    def test_saved_bounds(self, closed: gda.Result, tmp_path: Path, bound: float | None) -> None:
        gap = None if bound is None else 0.25
        rows = tuple(replace(row, lower_bound=bound, relative_gap=gap) for row in closed.trace)
        trace = gda.trace.Trace(rows, closed.trace.left_ends.copy())
        other = replace(closed, lower_bound=bound, trace=trace)
        loaded = gda.Result.load(other.save(tmp_path / "run.npz"))
        assert loaded == other != closed
        assert loaded.lower_bound == bound
        assert loaded.gap == (None if bound is None else closed.objective - bound)

    def test_equality_sees_every_part(self, of_atoms: gda.Result) -> None:
        names, trace = ("block", "objective", "lower_bound", "atoms"), of_atoms.trace
        others: list[dict[str, Any]] = [
            {name: getattr(of_atoms, name) * (1 + 1e-15)} for name in (*names, "weights")
        ]
        others += [
            {"atoms": None},
            {"weights": None},
            {"feasible_set": gda.GraphMetrics(6.0, 1e-3)},
            {"trace": gda.trace.Trace(trace.rows[:-1], trace.left_ends)},
            {"trace": gda.trace.Trace(trace.rows, trace.left_ends * (1 + 1e-15))},
            {"trace": gda.trace.Trace(trace.rows, trace.left_ends, np.zeros((len(trace), 6, 6)))},
        ]
        for changes in others:
            assert replace(of_atoms, **changes) != of_atoms
        assert replace(of_atoms) == of_atoms

    def test_the_file_needs_nothing_but_numpy(self, result: gda.Result, tmp_path: Path) -> None:
        with np.load(result.save(tmp_path / "run.npz"), allow_pickle=False) as archive:
            np.testing.assert_array_equal(archive["metric"], result.metric)
            np.testing.assert_array_equal(archive["left_ends"], result.trace.left_ends)
            assert {name for name in archive.files if name.startswith("trace/")} == {
                f"trace/{name}" for name in COLUMNS
            }
            record = json.loads(str(archive["result"]))
        assert record["format"] == 2
        assert record["status"] == result.status

    @pytest.mark.parametrize("written", [1, 3, "2"])
    def test_other_formats(self, closed: gda.Result, tmp_path: Path, written: object) -> None:
        """They need not have the arrays of today."""
        path = tmp_path / "run.npz"
        record = np.array(json.dumps({"format": written, "novel": 1}))
        np.savez(path, metric=closed.metric, result=record)
        with pytest.raises(
            InvalidInputError,
            match=rf"run\.npz is not .*: its format is {written!r}.* upgrade, or solve the problem",
        ):
            gda.Result.load(path)


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

    def test_prints_well(self, result: gda.Result) -> None:
        text = str(result)
        assert text.startswith("alternating: 6×6 metric\n")
        closed = result.solver == "analytic"
        for name, said in {
            "status": result.status,
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

    def test_prints_what_is_not_known(self, closed: gda.Result) -> None:
        for bound in (None, -np.inf):
            text = str(replace(closed, lower_bound=bound))
            assert re.search(r"^  relative gap +not certified$", text, re.M)
        rows = tuple(replace(row, lambda_min=None) for row in closed.trace)
        trace = gda.trace.Trace(rows, closed.trace.left_ends)
        assert "\n  smallest eigenvalue \n" in repr(replace(closed, trace=trace))

    def test_notebooks_show_the_summary_as_a_table(self, closed: gda.Result) -> None:
        failed = replace(closed, status="solver_failed", message="after step 2: a < b & c")
        html = failed._repr_html_()
        assert html.startswith("<table><caption>alternating: 6×6 metric</caption>")
        assert "<th>reason</th><td>after step 2: a &lt; b &amp; c</td>" in html
        lines = re.findall(r"<th>(.+?)</th><td>", html)
        assert [line[2:22].strip() for line in repr(failed).splitlines()[1:]] == lines

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


# --- Files that are damaged or hostile: each is refused with one sentence -------------------------

Arrays = dict[str, Any]


def parts(path: Path) -> tuple[Arrays, Arrays]:
    """Return the arrays and the record of a saved result."""
    with np.load(solved("analytic").save(path)) as archive:
        arrays = dict(archive)
    return arrays, json.loads(str(arrays.pop("result")))


def cut(arrays: Arrays, record: Arrays) -> None:
    """Leave a trace without rows."""
    for name, values in arrays.items():
        if name != "metric":
            arrays[name] = values[:0]


def entry(value: float) -> Callable[[np.ndarray], np.ndarray]:
    def change(values: np.ndarray) -> np.ndarray:
        values.flat[0] = value
        return values

    return change


def plus(i: int, j: int) -> Callable[[np.ndarray], np.ndarray]:
    def change(values: np.ndarray) -> np.ndarray:
        values[i, j] += 1e-3
        return values

    return change


Change = Callable[[Arrays, Arrays], object]


def with_atoms(length: float, total: float, share: float) -> Change:
    """Add atoms of the metric, of another length or sum, and a feature's own, there and back."""

    def change(arrays: Arrays, record: Arrays) -> None:
        beyond = arrays["metric"] - problem().feasible_set.base(6)
        weights, vectors = np.linalg.eigh(beyond)
        feature = np.eye(6)[:1]
        arrays["atoms"] = np.vstack([length * vectors.T, feature, feature])
        arrays["weights"] = np.append(total * np.maximum(weights, 0), [share, -share])

    return change


def record(name: str, value: object) -> Change:
    return lambda arrays, record: record.update({name: value})


def array(name: str, change: Callable[[np.ndarray], object]) -> Change:
    return lambda arrays, record: arrays.update({name: change(arrays[name])})


CASES: dict[str, tuple[Change, str]] = {
    "text as objective": (record("objective", "x" * 9), "its objective is 'xxxxxxxxx', not a numb"),
    "infinite objective": (record("objective", -np.inf), "its objective is -inf, not a number"),
    "objective without end": (record("objective", 10**400), "int too large to convert"),
    "truth as seconds": (record("seconds", True), "its seconds is True"),
    "bound of text": (record("lower_bound", "low"), "its lower_bound is 'low'"),
    "NaN bound": (record("lower_bound", np.nan), "its lower_bound is nan"),
    "half an iteration": (record("iterations", 0.5), "its iterations is 0.5, not a whole number"),
    "no components": (record("components", None), "its components is None, not a whole number"),
    "message of numbers": (record("message", [1]), r"its message is \[1\], not a text"),
    "half a character": (record("message", "\ud800"), "surrogates not allowed"),
    "unknown status": (record("status", "great"), "its status is 'great', not one of conv"),
    "unknown field": (record("colour", "red"), "the unknown colour"),
    "no gap": (lambda _, record: record.pop("frank_wolfe_gap"), "it lacks frank_wolfe_gap"),
    "no phases": (lambda arrays, _: arrays.pop("trace/phase"), "gdaopt result: .phase"),
    "unknown set": (record("feasible_set", {"kind": "round"}), "unknown kind of feasible set"),
    "text as set": (record("feasible_set", "graph"), "is not a saved gdaopt result"),
    "set of other colors": (
        record("feasible_set", record_of(gda.SignedGraphMetrics([1, -1], 2.0))),
        "colors has 2 entries for 6 features",
    ),
    "no rows": (cut, "the trace has 0 rows"),
    "scalar metric": (array("metric", lambda a: a[0, 0]), r"its metric has shape \(\), for 6 feat"),
    "metric of five": (array("metric", lambda a: a[:5, :5]), r"its metric has shape \(5, 5\)"),
    "metric of text": (array("metric", lambda a: a.astype(str)), "metric holds other than finite"),
    "NaN in the metric": (array("metric", entry(np.nan)), "metric holds other than finite"),
    "scalar column": (array("trace/objective", lambda a: a[0]), ".* of the trace is"),
    "short column": (array("trace/solver", lambda a: a[1:]), "solver of the trace is"),
    "column of text": (array("trace/step", lambda a: a.astype(str)), "step of the trace is"),
    "NaN objective in the trace": (array("trace/objective", entry(np.nan)), "column objective"),
    "block that is not there": (array("trace/block", entry(1e308)), "column block .* 0 to 5"),
    "left-ends of three": (array("left_ends", lambda a: a[:, :3]), "column block .* 0 to 2"),
    "flat left-ends": (array("left_ends", np.ravel), "left_ends of the trace is"),
    "atoms alone": (lambda arrays, _: arrays.update(atoms=np.eye(6)), "do not go together"),
    "metric that is not symmetric": (array("metric", plus(0, 1)), "metric is not symmetric"),
    "metric of another trace": (array("metric", lambda a: 2 * a), "the metric: trace 12 exceeds"),
    "metric with a negative eigenvalue": (
        array("metric", lambda a: a - np.eye(6)),
        "the metric: smallest eigenvalue -0.99",
    ),
    "metric of other signs": (
        array("metric", lambda a: np.abs(a) / 9 + np.eye(6) / 2),
        "the metric: .* is positive",
    ),
    "bound above the objective": (
        record("lower_bound", 1e9),
        r"no run ends so: lower_bound 1e\+09 exceeds objective 588",
    ),
    "converged without a bound": (
        lambda _, record: record.update(status="converged", lower_bound=None),
        "converged without a lower bound",
    ),
    "steps below 0": (record("iterations", -1), "a count is out of its range"),
    "programs below 0": (record("solved_by", {"HIGHS": -1}), "a count is out of its range"),
    "no component": (record("components", 0), "a count is out of its range"),
    "seven components": (record("components", 7), "a count is out of its range"),
    "half a colour": (lambda arrays, _: arrays.update(colors=np.full(6, 0.5)), "colors are other"),
    "atoms of another metric": (with_atoms(1, 1 + 1e-6, 0), "those of another metric, up to "),
    "atoms of another length": (with_atoms(1 + 1e-6, 1, 0), "those of another metric, up to "),
    "weights below 0": (with_atoms(1, 1, -1), "those of another metric, up to .*e-1"),
    "iterates of five": (
        lambda arrays, _: arrays.update({"trace/iterates": np.zeros((2, 5, 5))}),
        "iterates of the trace is",
    ),
}


def test_atoms_that_are_those_of_the_metric(tmp_path: Path) -> None:
    """So that the cases above are refused for what is wrong in them."""
    arrays, content = parts(tmp_path / "run.npz")
    with_atoms(1, 1, 0)(arrays, content)
    np.savez(tmp_path / "run.npz", result=np.array(json.dumps(content)), **arrays)
    assert gda.Result.load(tmp_path / "run.npz").atoms.shape == (8, 6)


@pytest.mark.parametrize("name", CASES)
def test_damaged_ones(name: str, tmp_path: Path) -> None:
    change, message = CASES[name]
    arrays, content = parts(tmp_path / "run.npz")
    change(arrays, content)
    np.savez(tmp_path / "run.npz", result=np.array(json.dumps(content)), **arrays)
    with pytest.raises(InvalidInputError, match=message) as caught:
        gda.Result.load(tmp_path / "run.npz")
    assert f"{tmp_path / 'run.npz'} is not a saved gdaopt result: " in str(caught.value)


def test_files_of_versions_with_other_columns(tmp_path: Path) -> None:
    """What they lack is missing, and what is not known here is left out; *stalled* was one word."""
    arrays, content = parts(tmp_path / "run.npz")
    for name in ("step", "block", "oracle_calls", "scaling", "matrix_trace"):
        del arrays[f"trace/{name}"]
    arrays["trace/moons"] = np.zeros(3)
    content["status"] = "stalled"
    np.savez(tmp_path / "run.npz", result=np.array(json.dumps(content)), **arrays)
    loaded = gda.Result.load(tmp_path / "run.npz")
    assert loaded.status == "stalled"
    for name in ("step", "block", "oracle_calls", "matrix_trace"):
        assert np.isnan(loaded.trace.column(name)).all()
        assert {getattr(row, name) for row in loaded.trace} == {None}
    assert set(loaded.trace.column("scaling")) == {""}
    assert loaded.trace.column("objective")[-1] == content["objective"]
    assert set(loaded.trace.to_pandas().columns) == set(COLUMNS)
    assert gda.Result.load(loaded.save(tmp_path / "again")) == loaded


def test_every_column_says_what_it_is(closed: gda.Result) -> None:
    """It is declared in one place: a name, a type, a meaning and how it is measured."""
    kinds: dict[str, Any] = {
        "int": int,
        "str": str,
        "float": float,
        "float | None": (float, type(None)),
    }
    kinds["int | None"] = (int, type(None))
    for name, column in COLUMNS.items():
        assert column.name == name
        assert column.meaning[0].islower() or column.meaning[0] in "QL"
        assert callable(column.measure)
        for row in closed.trace:
            assert isinstance(getattr(row, name), kinds[column.type]), name


def test_more_rows_than_were_measured(tmp_path: Path) -> None:
    """Columns of zeros pack a thousand times, and rows take ten times the memory of columns."""
    arrays, content = parts(tmp_path / "run.npz")
    arrays |= {
        name: np.zeros((200_000, *values.shape[1:]), values.dtype)
        for name, values in arrays.items()
        if name != "metric"
    }
    np.savez_compressed(tmp_path / "run.npz", result=np.array(json.dumps(content)), **arrays)

    def refused() -> None:
        with pytest.raises(InvalidInputError, match="too small for 200000 rows of a trace"):
            gda.Result.load(tmp_path / "run.npz")

    assert traced_peak(refused) < 2**27


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"format":' * 100_000, "", "1", "[]", "{}", '{"format": 2}']
)
def test_records_that_are_none(text: str, tmp_path: Path) -> None:
    arrays, _ = parts(tmp_path / "run.npz")
    np.savez(tmp_path / "run.npz", result=np.array(text), **arrays)
    with pytest.raises(InvalidInputError, match=r"run\.npz is not a saved gdaopt resul"):
        gda.Result.load(tmp_path / "run.npz")


@pytest.mark.parametrize("content", ["text", "array", "other arrays", "pickle"])
def test_other_files(content: str, tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    with path.open("wb") as file:
        match content:
            case "text":
                file.write(b"M = I")
            case "array":
                np.save(file, np.eye(2))
            case "other arrays":
                np.savez(file, metric=np.eye(2))
            case "pickle":
                np.savez(file, result=np.array([{"format": 2}], dtype=object))
    with pytest.raises(InvalidInputError, match=r"run\.npz is not a saved gdaopt resul"):
        gda.Result.load(path)


def test_any_damage_is_told_in_one_sentence(tmp_path: Path) -> None:
    """One byte that was missing raised an OSError."""
    path = solved("analytic").save(tmp_path / "run.npz")
    assert len(refusals(path, lambda: gda.Result.load(path), 400)) > 300


# --- Many features: a block, and ρI elsewhere -----------------------------------------------------

WIDE = 40


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> gda.Result:
    """Return a result whose metric is ρI but for a block."""
    monkeypatch.setattr(pair_objective, "MOST_DENSE", 1)
    rng, labels = np.random.default_rng(0), np.repeat([0, 1, 2], 6)
    X = rng.standard_normal((18, WIDE))
    X[:, :4] += labels[:, None]
    whole = gda.MetricProblem(gda.GLR(X / 6, labels), gda.GraphMetrics(80.0, 0.2))
    return gda.solve(whole, tolerance=1e-6)


def test_a_block_is_where_the_metric_is_not_least(wide: gda.Result) -> None:
    assert wide.features is not None
    assert wide.n_features == WIDE
    assert 2 < len(wide.features) < WIDE
    beyond = wide.metric - 0.2 * np.eye(WIDE)
    np.testing.assert_array_equal(wide.features, np.flatnonzero(beyond.any(axis=0)))
    np.testing.assert_array_equal(wide.block, wide.metric[np.ix_(wide.features, wide.features)])
    np.testing.assert_array_equal(wide.sparse_metric.toarray(), wide.metric)
    assert wide.components == n_parts(wide.feasible_set, wide.metric)
    for array in (wide.block, wide.features, wide.metric):
        assert not array.flags.writeable


def test_an_array_of_many_features_is_refused_where_memory_is_short(
    wide: gda.Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_memory(monkeypatch, 8 * WIDE**2 - 1)
    with pytest.raises(InvalidInputError, match=r"a dense 40×40 matrix would need about .* GB"):
        _ = wide.metric
    assert wide.sparse_metric.shape == (WIDE, WIDE)


def test_files_of_many_features(
    wide: gda.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also with an edge of weight 0, as of version 0.1.0; a block without memory is refused."""
    path = wide.save(tmp_path / "run")
    assert gda.Result.load(path) == wide
    with np.load(path) as archive:
        arrays = dict(archive)
    assert wide.features is not None
    assert arrays["metric"].shape == (WIDE,)
    assert sorted({*arrays["edges"].ravel()} - {*wide.features}) == []
    outside = np.setdiff1d(np.arange(WIDE), [*wide.features, 0])[:2]
    edges = np.vstack([arrays["edges"], outside])
    order = np.lexsort(edges.T[::-1])
    entries = np.append(arrays["edge_entries"], 0.0)[order]
    np.savez(path, **arrays | {"edges": edges[order], "edge_entries": entries})
    assert gda.Result.load(path) == wide
    leave_memory(monkeypatch, 8 * len(wide.block) ** 2 - 1)
    with pytest.raises(InvalidInputError, match=r"block of a metric would need about .* GB"):
        gda.Result.load(path)


@pytest.mark.parametrize("share", [0.0, 1e-6])
def test_atoms_outside_of_the_block_are_those_of_another_metric(
    wide: gda.Result, share: float, tmp_path: Path
) -> None:
    assert wide.features is not None
    assert wide.weights is not None
    feature = int(np.setdiff1d(np.arange(WIDE), wide.features)[0])
    single = csr_array(([1.0], ([0], [feature])), shape=(1, WIDE))
    atoms, weights = vstack([wide.atoms, single], format="csr"), np.append(wide.weights, share)
    path = replace(wide, atoms=csr_array(atoms), weights=weights).save(tmp_path / "run")
    if not share:
        assert gda.Result.load(path).atoms.shape == atoms.shape
        return
    with pytest.raises(InvalidInputError, match="those of another metric, up to"):
        gda.Result.load(path)


def test_a_metric_that_is_least_everywhere_has_a_block_of_one_feature() -> None:
    features, block = block_of(csr_array(0.2 * np.eye(3)), 0.2)
    np.testing.assert_array_equal(features, [0])
    np.testing.assert_array_equal(block, [[0.2]])


def test_features_with_edges_alone_are_in_the_block() -> None:
    """An edge of a weight that ρ rounds away is kept, and a stored zero is none."""
    entries = [0.2, 0.2, 0.2, 0.2, -1e-30, -1e-30, 0.0, 0.0]
    places = [0, 1, 2, 3, 1, 2, 0, 3], [0, 1, 2, 3, 2, 1, 3, 0]
    features, block = block_of(csr_array((entries, places), shape=(4, 4)), 0.2)
    np.testing.assert_array_equal(features, [1, 2])
    np.testing.assert_array_equal(block, [[0.2, -1e-30], [-1e-30, 0.2]])


def test_the_trace_of_many_features_counts_those_outside_of_the_block(
    wide: gda.Result, tmp_path: Path
) -> None:
    assert wide.features is not None
    block = wide.block.copy()
    block[0, 0] += 80.0 + 1e-6 - np.trace(wide.metric)
    path = replace(wide, block=block, atoms=None, weights=None).save(tmp_path / "run")
    with pytest.raises(InvalidInputError, match=r"the metric: trace .* exceeds the bound"):
        gda.Result.load(path)


# --- Traces: their columns, as rows, data frames, files and in print ------------------------------


def test_rows_and_pandas_agree(result: gda.Result) -> None:
    frame = result.trace.to_pandas()
    assert result.trace.columns() == tuple(frame.columns) == tuple(COLUMNS)
    assert len(frame) == len(result.trace)
    for name in COLUMNS:
        found = [None if pd.isna(value) else value for value in frame[name]]
        assert found == [getattr(row, name) for row in result.trace], name


def test_rows_and_csv_agree(result: gda.Result, tmp_path: Path) -> None:
    """The numbers agree to the last bit, and None is an empty cell."""
    with result.trace.to_csv(tmp_path / "trace.csv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    for line, row in zip(lines, result.trace, strict=True):
        assert tuple(line) == tuple(COLUMNS)
        for name in COLUMNS:
            value = getattr(row, name)
            assert line[name] == "" if value is None else type(value)(line[name]) == value
    assert {name for name, cell in lines[0].items() if cell == ""} == {
        *("block", "block_gap", "step", "constraint_violation", "repair_distance"),
        *("build_seconds", "write_seconds", "canonicalize_seconds", "solve_seconds"),
        *("unpack_seconds", "reported_seconds", "solver", "solver_status"),
    }


@pytest.mark.parametrize(
    ("objective", "bound", "expected"),
    [(-4.0, -5.0, 0.25), (4.0, 4.0, 0.0), (0.0, 0.0, 0.0), (0.0, -1.0, inf), (1.0, -inf, inf)],
)
def test_relative_gaps(objective: float, bound: float, expected: float) -> None:
    assert gda.trace.relative_gap(objective, bound) == expected


def test_unknown_columns(closed: gda.Result) -> None:
    with pytest.raises(gda.errors.InvalidInputError, match="did you mean 'objective'"):
        closed.trace.column("objectiv")


def test_prints_its_first_and_last_rows(closed: gda.Result) -> None:
    trace = closed.trace
    assert len(trace) > 11
    assert list(trace) == list(trace.rows)
    title, header, *rows = repr(trace).splitlines()
    assert title == f"trace of {len(trace)} rows (to_pandas() gives all rows and columns)"
    assert set(header.split()) <= set(COLUMNS)
    assert [row.split()[0] for row in rows] == [
        *("0", "1", "2", "3", "4", "…"),
        *(str(row.iteration) for row in trace.rows[-5:]),
    ]
    assert str(trace) == repr(trace)
    assert max(map(len, repr(trace).splitlines())) <= 100
    values = rows[-1].split()
    assert values[1:4] == ["column", str(trace[-1].block), f"{trace[-1].objective:.6g}"]
    for steps in (0, 10):
        lines = repr(solve(max_iterations=steps).trace).splitlines()
        assert [line.split()[0] for line in lines[2:]] == [str(row) for row in range(steps + 1)]


def test_columns_of_ones_own(tmp_path: Path) -> None:
    """They are in rows, print, data frame and file; NaN is a missing value."""
    functions: dict[str, Callable[[gda.methods.State], Any]] = {
        "edges": lambda state: np.count_nonzero(np.triu(state.metric, 1)),
        "γ, if any": lambda state: nan if state.step is None else state.step,
    }
    run = solve(trace_columns=functions, keep_iterates=True)
    trace = gda.Result.load(run.save(tmp_path / "run")).trace
    assert trace == run.trace
    assert trace.columns() == (*COLUMNS, *functions)
    assert trace[0].user_columns["γ, if any"] is None
    assert trace.iterates is not None
    edges = [np.count_nonzero(np.triu(metric, 1)) for metric in trace.iterates]
    assert trace.column("edges").tolist() == edges == trace.to_pandas()["edges"].tolist()
    np.testing.assert_array_equal(trace.column("γ, if any"), trace.column("step"))
    assert repr(trace).splitlines()[1].split()[-4:] == ["edges", "γ,", "if", "any"]


NO_COLUMNS: list[tuple[Any, str]] = [
    (3, "must map names to functions of a state, got 3"),
    ({"edges": 3}, "got 3 for 'edges'"),
    ({"objective": len}, "'objective' is taken"),
    ({"gap": len}, "'gap' is taken"),
    ({"edges": lambda _: "many"}, r"trace_columns\['edges'\] must return a number, got 'many'"),
    ({"edges": lambda _: [1, 2]}, r"must return a number, got \[1, 2\]"),
]


@pytest.mark.parametrize(("columns", "message"), NO_COLUMNS)
def test_what_makes_no_column(columns: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        solve(trace_columns=columns)


def test_notebooks_show_the_same_rows(closed: gda.Result) -> None:
    rows = tuple(replace(row, phase="<b>") for row in closed.trace)
    html = gda.trace.Trace(rows, closed.trace.left_ends)._repr_html_()
    assert html.count("<tr>") == 12
    assert html.count("<td>&lt;b&gt;</td>") == 10
    assert "<b>" not in html
