"""`gdaopt compare`: what it runs, writes and refuses, and how it goes on after a crash."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.image import imread
from typer.testing import CliRunner

import gdaopt as gda
from gdaopt.cli import app
from gdaopt.studies.comparison import Comparison, ComparisonOptions
from gdaopt.studies.comparison_task import solve_task
from gdaopt.studies.learning import LearningOptions
from gdaopt.studies.method_spec import MethodSpec, combinations

OUTPUTS = {"comparison.md", "comparison.parquet", "convergence.png", "study.json", "tasks"}
MEASURED = {"seconds", "tracing_seconds", "peak_memory"}
ARGUMENTS = (
    *("iris", "--methods", "certified,joint:max_iterations=8", "--solvers", "highs,analytic"),
    *("--positive", "virginica", "--tolerance", "1e-7"),
)
TASKS = [("certified", "closed form"), ("joint", "HIGHS"), ("joint", "analytic")]


def compare(*arguments: object, code: int = 0) -> str:
    """Run `gdaopt compare`, check its exit code, and return its output as one line."""
    runner = CliRunner(env={"COLUMNS": "100"})
    result = runner.invoke(app, ["compare", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return " ".join((result.stderr if code == 2 else result.stdout).split())


def rows(out: Path) -> dict[str, dict[str, Any]]:
    """Return the rows on disk without what is measured, by file name."""
    content = {path.name: json.loads(path.read_text()) for path in out.glob("tasks/*.json")}
    return {
        name: {key: value for key, value in entry["row"].items() if key not in MEASURED}
        for name, entry in content.items()
    }


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """One comparison, two runs at a time, and its output."""
    out = tmp_path_factory.mktemp("compared") / "new" / "iris"
    return out, compare(*ARGUMENTS, "--jobs", 2, "--out", out)


class TestOutputs:
    def test_files(self, compared: tuple[Path, str]) -> None:
        out, _ = compared
        assert names(out) == OUTPUTS
        tasks = {path.stem for path in (out / "tasks").iterdir()}
        assert len(tasks) == len(TASKS)
        assert names(out / "tasks") == {f"{c}{end}" for c in tasks for end in (".json", ".npz")}

    def test_rows(self, compared: tuple[Path, str]) -> None:
        out, _ = compared
        data = gda.datasets.load("iris")
        X, z = gda.datasets.scale_features(data.features), data.signal("virginica")
        feasible_set = gda.GraphMetrics(4.0, 1e-6)
        problem = gda.MetricProblem(gda.GLR(X, z), feasible_set)
        seen = []
        for path in out.glob("tasks/*.json"):
            row = json.loads(path.read_text())["row"]
            seen.append((row["method"], row["solver"]))
            result = gda.Result.load(path.with_suffix(".npz"))
            options: dict[str, Any] = {"tolerance": 1e-7}
            if row["method"] == "joint":
                assert row["options"] == "max_iterations=8"
                options |= {"max_iterations": 8, "solver": row["solver"]}
            own = gda.solve(problem, row["method"], **options)
            np.testing.assert_array_equal(result.metric, own.metric)
            assert row["class"] == "virginica"
            for name in ("objective", "lower_bound", "status", "message", "iterations"):
                assert row[name] == getattr(own, name) == getattr(result, name)
            assert row["relative_gap"] == own.relative_gap
            assert row["eigenvalue_slack"] == own.trace[-1].lambda_min - 1e-6  # type: ignore[operator]  # measured
            edges = -own.metric[np.triu_indices(4, 1)] > feasible_set.edge_threshold(4)
            assert (row["edges"], row["components"]) == (edges.sum(), own.components)
            assert row["peak_memory"] > 2**24
            assert row["seconds"] > 0
        assert sorted(seen) == TASKS

    def test_parquet(self, compared: tuple[Path, str]) -> None:
        out, _ = compared
        frame = pd.read_parquet(out / "comparison.parquet")
        assert list(zip(frame["method"], frame["solver"], strict=True)) == TASKS
        best = frame["lower_bound"].max()
        excess = (frame["objective"] - best) / frame["objective"].abs()
        np.testing.assert_allclose(frame["excess"].astype(float), excess.astype(float), atol=1e-15)
        assert frame["excess"].min() <= 1e-7
        on_disk = rows(out).values()
        assert all(set(row) | MEASURED | {"excess"} == set(frame.columns) for row in on_disk)
        assert pd.isna(frame["repair_distance"][0])
        assert frame["iterations"].dtype == "Int64"

    def test_markdown(self, compared: tuple[Path, str]) -> None:
        text = (compared[0] / "comparison.md").read_text()
        for part in (
            "# iris: methods compared",
            "150 samples, K = 4 features, z-scored and divided by √(2K); each class against the",
            "the set `graph` (`--set`): trace bound C = 4, smallest eigenvalue ρ = 1e-06.",
            "For all methods: tolerance 1e-07, trace_every 1.",
            f"gdaopt {gda.__version__}, numpy {np.__version__}",
            "## virginica",
            "| method | solver | objective | lower bound | excess | gap | λ_min - ρ | comp |",
            "| joint:max_iterations=8 | HIGHS | ",
            "by the largest lower bound that any method found",
        ):
            assert part in text
        table = [line for line in text.splitlines() if line.startswith("|")]
        assert len({line.count("|") for line in table}) == 1

    def test_picture(self, compared: tuple[Path, str]) -> None:
        image = imread(compared[0] / "convergence.png")
        assert image.shape[0] > 600
        assert image[..., :3].std() > 0.05

    def test_output(self, compared: tuple[Path, str]) -> None:
        out, output = compared
        assert "virginica: certified: converged (the certified gap is within" in output
        assert "virginica: joint:max_iterations=8, HIGHS: iteration_limit (max_iter" in output
        start = output.index("method solver objective excess gap edges seconds MB status")
        for row in rows(out).values():
            assert f"{row['solver']} {row['objective']:#.7g} " in output[start:]
        assert f"written to {out}" in output

    def test_the_table_fits_100_columns(self, compared: tuple[Path, str]) -> None:
        arguments = ["compare", *ARGUMENTS, "--out", str(compared[0])]
        shown = CliRunner(env={"COLUMNS": "100"}).invoke(app, arguments).stdout
        lines = [line.rstrip() for line in shown.splitlines() if "joint:max" in line]
        assert [line.split()[-1] for line in lines] == ["iteration_limit", "iteration_limit"]
        assert max(map(len, lines)) <= 100


class TestGoingOn:
    def test_after_a_kill(self, compared: tuple[Path, str], tmp_path: Path) -> None:
        out = tmp_path / "out"
        code = "from gdaopt.cli import app; app()"
        process = subprocess.Popen(
            [sys.executable, "-c", code, "compare", *ARGUMENTS, "--out", str(out)],
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        deadline = time.monotonic() + 30
        while not list(out.glob("tasks/*.json")) and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.4)  # in the middle of the next
        process.kill()
        process.wait()
        kept = rows(out)
        assert 1 <= len(kept) < len(TASKS)
        (out / "tasks" / ".x.json.abcdefgh.tmp").write_text("half")
        first = {path: path.stat().st_mtime_ns for path in out.glob("tasks/*.json")}
        output = compare(*ARGUMENTS, "--out", out)
        assert output.count("virginica: joint") + len(kept) >= len(TASKS)
        assert rows(out) == rows(compared[0])
        assert {path: path.stat().st_mtime_ns for path in first} == first
        assert names(out) == OUTPUTS
        assert names(out / "tasks") == names(compared[0] / "tasks")

    def test_a_damaged_result_is_named(self, compared: tuple[Path, str], tmp_path: Path) -> None:
        out = Path(shutil.copytree(compared[0], tmp_path / "out"))
        (damaged,) = out.glob("tasks/*certified*.npz")
        damaged.write_bytes(b"PK")
        error = compare(*ARGUMENTS, "--out", out, code=2)
        assert f"remove {damaged} and run the same command again" in error
        damaged.unlink()
        compare(*ARGUMENTS, "--out", out)
        assert rows(out) == rows(compared[0])

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("--tolerance", 1e-6), "tolerance is 1e-07 there and 1e-06 now"),
            (("--time-limit", 60), "time_limit is null there and 60.0 now"),
            (("--trace-every", 0), "trace_every is 1 there and 0 now"),
            (("--methods", "joint"), 'methods is ["certified", "joint:max_iterations=8"] there'),
            (("--solvers", "HIGHS"), 'solvers is ["highs", "analytic"] there and ["HIGHS"] now'),
            (("--set", "signed"), 'set is "graph" there and "signed" now'),
            (("--positive", "setosa"), 'classes is ["virginica"] there and ["setosa"] now'),
            (("--scale", "none", "--trace-bound", 3), "trace_bound is 4 there and 3.0 now"),
            (("--min-eigenvalue", 0.1), "min_eigenvalue is 1e-06 there and 0.1 now"),
            (("--edge-floor", 0.1), "edge_floor is 0.0 there and 0.1 now"),
        ],
    )
    def test_other_options_are_refused(
        self, arguments: tuple[object, ...], message: str, compared: tuple[Path, str]
    ) -> None:
        before = rows(compared[0])
        error = compare(*ARGUMENTS, *arguments, "--out", compared[0], code=2)
        assert "holds a study of other options: " in error
        assert message in error
        assert "choose another --out" in error
        assert rows(compared[0]) == before

    def test_other_data_are_refused(self, tmp_path: Path) -> None:
        def begin(shift: float, label: str) -> None:
            X, labels = np.array([[0.0], [1.0], [shift]]), np.array(["a", "b", label])
            data = gda.datasets.Dataset("own", X, labels, ("x",))
            Comparison(tmp_path, data, ComparisonOptions(methods=["certified"]))

        begin(3.0, "a")
        begin(3.0, "a")
        for shift, label in ((3.1, "a"), (3.0, "b")):
            with pytest.raises(gda.InvalidInputError, match="data_sha256 is"):
                begin(shift, label)

    def test_interrupted(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def interrupt(*_: Any, **__: Any) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr("gdaopt.studies.comparison.run_tasks", interrupt)
        output = compare(*ARGUMENTS, "--out", tmp_path, code=130)
        assert "interrupted: 0 of 3 runs are done; run the same command again to go on" in output


class TestFailures:
    def test_a_set_that_a_method_refuses(self, tmp_path: Path) -> None:
        arguments = ("--set", "definite", "--methods", "alternating:solver=analytic,certified")
        output = compare(
            *("iris", *arguments, "--positive", "setosa"),
            *("--trace-every", 0, "--jobs", 2, "--out", tmp_path),
            code=1,
        )
        assert "alternating:solver=analytic: failed (" in output
        by_method = {row["method"]: row for row in rows(tmp_path).values()}
        assert by_method["alternating"]["status"] == "failed"
        assert "GraphMetrics" in by_method["alternating"]["message"]
        assert by_method["certified"]["status"] == "converged"
        text = (tmp_path / "comparison.md").read_text()
        assert "* alternating:solver=analytic, analytic: failed: " in text
        frame = pd.read_parquet(tmp_path / "comparison.parquet")
        assert list(frame["status"]) == ["failed", "converged"]
        assert pd.isna(frame["excess"][0])
        (saved,) = tmp_path.glob("tasks/*.npz")
        assert len(gda.Result.load(saved).trace) == 2

    def test_died(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def die(directory: object, tasks: dict[str, Any], *_: Any, **__: Any) -> dict[str, Any]:
            return {
                key: {**task.about, "status": "died", "message": "its process was killed"}
                for key, task in tasks.items()
            }

        monkeypatch.setattr("gdaopt.studies.comparison.run_tasks", die)
        output = compare(*ARGUMENTS, "--out", tmp_path, code=1)
        assert "run the same command again to try again what died" in output
        text = (tmp_path / "comparison.md").read_text()
        assert "certified, closed form: died: its process was killed; run the same" in text
        assert pd.read_parquet(tmp_path / "comparison.parquet").empty
        assert names(tmp_path) == OUTPUTS - {"convergence.png"}


class TestSpecs:
    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "has no name; write name:option=value"),
            (":variant=away", "has no name; write name:option=value"),
            ("frank-wolfe:away", "'away' of method 'frank-wolfe:away' is no option=value"),
            ("joint:tolerance=", "'tolerance=' of method 'joint:tolerance=' is no option=value"),
            ("joint:tolerance=1:tolerance=2", "gives option 'tolerance' twice"),
        ],
    )
    def test_malformed(self, text: str, message: str) -> None:
        with pytest.raises(gda.InvalidInputError, match=message):
            MethodSpec.parse(text)

    def test_options_reach_the_method(self) -> None:
        spec = MethodSpec.parse("joint: solver = analytic :tolerance=1e-3:max_iterations=None")
        method = spec.method({"tolerance": 1e-5, "time_limit": 3.0})
        assert isinstance(method, gda.Joint)
        assert (method.solver, method.tolerance, method.max_iterations) == ("analytic", 1e-3, None)
        assert method.time_limit == 3.0
        assert MethodSpec.parse(str(spec)) == spec

    def solvers(self, *methods: str, solvers: tuple[str, ...]) -> list[tuple[str, str]]:
        found, _ = combinations(methods, solvers, {})
        return [(str(each.spec), each.solver) for each in found]

    def test_solvers_go_to_methods_that_take_them(self) -> None:
        both = ("HIGHS", "analytic")
        assert self.solvers("certified", "joint", solvers=()) == TASKS[:2]
        assert self.solvers("joint", "joint", solvers=("highs", "HIGHS")) == TASKS[1:2]
        assert self.solvers("certified:pricing=program", solvers=both[:1]) == [
            ("certified:pricing=program", "HIGHS")
        ]
        assert self.solvers("joint:solver=HIGHS", "joint", solvers=("analytic",)) == [
            ("joint:solver=HIGHS", "HIGHS"),
            ("joint", "analytic"),
        ]

    @pytest.fixture
    def refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Have joint refuse HIGHS, as methods refuse solvers without their cone."""
        original: Callable[..., Any] = MethodSpec.method

        def method(spec: MethodSpec, common: dict[str, Any]) -> Any:
            if spec.name == "joint" and common.get("solver") == "HIGHS":
                raise gda.SolverNotFoundError("HIGHS lacks a cone")
            return original(spec, common)

        monkeypatch.setattr(MethodSpec, "method", method)

    @pytest.mark.usefixtures("refused")
    def test_combinations_that_are_refused_are_left_out(self) -> None:
        found, left_out = combinations(["joint", "alternating"], ["HIGHS", "analytic"], {})
        assert [(each.spec.name, each.solver) for each in found] == [
            ("joint", "analytic"),
            ("alternating", "HIGHS"),
            ("alternating", "analytic"),
        ]
        assert left_out == ["joint with HIGHS: HIGHS lacks a cone"]

    @pytest.mark.usefixtures("refused")
    def test_a_solver_that_no_method_takes_is_an_error(self) -> None:
        with pytest.raises(gda.SolverNotFoundError, match="HIGHS lacks a cone"):
            combinations(["joint"], ["HIGHS", "analytic"], {})
        with pytest.raises(gda.SolverNotFoundError, match="HIGHS has no semidefinite cone"):
            combinations(["sdp"], ["HIGHS"], {})

    def test_a_method_without_any_solver_is_left_out(self) -> None:
        found, left_out = combinations(["sdp", "certified", "alternating"], ["HIGHS"], {})
        assert [each.spec.name for each in found] == ["certified", "alternating"]
        assert len(left_out) == 1
        assert left_out[0].startswith("sdp with HIGHS: solver HIGHS has no semidefinite cone")

    def test_deadline(self) -> None:
        assert ComparisonOptions(methods=["joint"], time_limit=10.0).deadline == 80.0
        assert ComparisonOptions(methods=["joint"]).deadline is None


class TestSets:
    @pytest.mark.parametrize(
        ("name", "kind"),
        [
            ("graph", gda.GraphMetrics),
            ("diagonal", gda.DiagonalMetrics),
            ("definite", gda.PositiveDefiniteMetrics),
            ("signed", gda.SignedGraphMetrics),
        ],
    )
    def test_kinds(self, name: str, kind: type[Any]) -> None:
        data = gda.datasets.load("iris")
        options = LearningOptions(set=name, trace_bound=3.0, min_eigenvalue=0.1)
        feasible_set = options.problem(data, "setosa").feasible_set
        assert type(feasible_set) is kind
        assert (feasible_set.trace_bound, feasible_set.min_eigenvalue) == (3.0, 0.1)

    def test_colours_are_signs_of_correlations(self) -> None:
        data = gda.datasets.load("wine")
        for name in data.classes:
            feasible_set = LearningOptions(set="signed").problem(data, name).feasible_set
            assert isinstance(feasible_set, gda.SignedGraphMetrics)
            signal = data.signal(name)
            correlations = [np.corrcoef(x, signal)[0, 1] for x in data.features.T]
            assert feasible_set.colors == tuple(-1 if c < 0 else 1 for c in correlations)
            assert len(set(feasible_set.colors)) == 2

    @pytest.mark.parametrize("name", ["graph", "diagonal", "definite", "signed"])
    def test_edges_that_count(self, name: str, tmp_path: Path) -> None:
        (pair,), _ = combinations(["certified:max_iterations=3"], (), {})
        data = gda.datasets.load("iris")
        floor = 0.01 if name in ("graph", "signed") else 0.0
        options = LearningOptions(set=name, edge_floor=floor)
        row = solve_task(tmp_path / "a", data, options, "setosa", pair)
        weights = np.abs(gda.Result.load(tmp_path / "a.npz").metric[np.triu_indices(4, 1)])
        assert row["edges"] == (weights > (0.99 * floor or 1e-9)).sum()
        assert (row["edges"] == 0) == (name == "diagonal")
        assert row["edges"] >= 3 or not floor  # they connect all features

    @pytest.mark.parametrize("name", ["diagonal", "definite"])
    def test_a_floor_needs_edges_with_signs(self, name: str) -> None:
        with pytest.raises(gda.InvalidInputError, match=f"edge_floor 0.1 goes .* not with {name}"):
            LearningOptions(set=name, edge_floor=0.1)


class TestBadInput:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("irsi",), "unknown data set (or a file ending in .csv): 'irsi'; did you mean 'iris'"),
            (("absent.csv",), "cannot read absent.csv"),
            (("iris", "--label", "x"), "--label x goes with a CSV file; iris has its own"),
            (("iris", "--methods", "certifed"), "unknown method 'certifed'; did you mean 'cert"),
            (("iris", "--methods", ""), "method '' has no name"),
            (("iris", "--methods", "joint,"), "method '' has no name"),
            (("iris", "--methods", "frank-wolfe:varient=away"), "did you mean 'variant'?"),
            (("iris", "--methods", "frank-wolfe:variant=awya"), "did you mean 'away'?"),
            (("iris", "--methods", "joint:solver_opts=3"), "'solver_opts' of method 'joint:solver"),
            (("iris", "--methods", "joint:tolerance=x"), "tolerance must be a number, got 'x'"),
            (("iris", "--solvers", "HIGSH"), "unknown solver 'HIGSH'; did you mean 'HIGHS'?"),
            (("iris", "--solvers", "HIGHS,HIGSH"), "unknown solver 'HIGSH'; did you mean 'HIGHS'?"),
            (
                ("iris", "--methods", "certified", "--solvers", "HIGHS"),
                "solver 'HIGHS': none of the methods takes a solver",
            ),
            (("iris", "--set", "grpah"), "unknown set 'grpah'; did you mean 'graph'?"),
            (("iris", "--positive", "sitosa"), "unknown class 'sitosa'; did you mean 'setosa'?"),
            (("iris", "--scale", "zscor"), "unknown scale 'zscor'; did you mean 'zscore'?"),
            (("iris", "--trace-bound", "nan"), "trace_bound must be finite, got nan"),
            (("iris", "--trace-bound", 1, "--min-eigenvalue", 1), "raise trace_bound or lower min"),
            (("iris", "--min-eigenvalue", -1), "min_eigenvalue must be at least 0, got -1.0"),
            (("iris", "--edge-floor", 1), "edge_floor 1 leaves no budget"),
            (("iris", "--edge-floor", 1, "--set", "diagonal"), "edge_floor 1 goes with the sets"),
            (("iris", "--tolerance", -1), "tolerance must be at least 0, got -1.0"),
            (("iris", "--time-limit", 0), "time_limit must be above 0, got 0.0"),
            (("iris", "--trace-every", -1), "trace_every must be at least 0, got -1"),
            (("iris", "--jobs", 0), "jobs must be at least 1, got 0"),
            (("iris", "--out", "file/x"), "cannot write to file/x"),
            (("iris", "--out", "."), "holds files but no study.json"),
        ],
    )
    def test_is_refused_before_any_work(
        self,
        arguments: tuple[object, ...],
        message: str,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.chdir(tmp_path)
        Path("file").write_text("mine")
        error = compare(*arguments, code=2)
        assert error.startswith("error: ")
        assert message in error
        assert os.listdir() == ["file"]

    def test_help_names_every_option(self) -> None:
        output = compare("--help")
        for option in (
            *("label", "positive", "scale", "methods", "solvers", "set", "trace-bound", "jobs"),
            *("min-eigenvalue", "edge-floor", "tolerance", "time-limit", "trace-every", "out"),
        ):
            assert f"--{option}" in output
