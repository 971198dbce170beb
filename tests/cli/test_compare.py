"""`gdaopt compare`: what it runs, writes and refuses, and how it goes on after a crash."""

import errno
import json
import os
import re
import shutil
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.image import imread
from typer.testing import CliRunner

import gdaopt as gda
from gdaopt.cli.app import app
from gdaopt.linalg.laplacian import edge_threshold
from gdaopt.studies import comparison
from gdaopt.studies.saved_runs import read_runs
from tests.cli.cases import ALL_PICTURES, full_disk, interrupt, run, undrawn
from tests.studies.cases import names

OUTPUTS = {"comparison.md", "comparison.parquet", "convergence.png", "study.json", "tasks"}
MEASURED = {
    *("seconds", "tracing_seconds", "peak_memory", "build_seconds", "solve_seconds"),
    *("eig_seconds", "objective_seconds"),
}
VIRGINICA = ("iris", "--positive", "virginica")
ARGUMENTS = (
    *(*VIRGINICA, "--methods", "certified,joint:max_iterations=8", "--solvers", "highs,analytic"),
    *("--tolerance", "1e-7"),
)
TASKS = [("certified", "analytic"), ("joint", "HIGHS"), ("joint", "analytic")]


def compare(*arguments: object, code: int = 0) -> str:
    return run("compare", *arguments, code=code, columns=100)


def rows(out: Path) -> dict[str, dict[str, Any]]:
    """Return the rows on disk without what is measured, by file name."""
    content = {path.name: json.loads(path.read_text()) for path in out.glob("tasks/*.json")}
    return {
        name: {key: value for key, value in entry["row"].items() if key not in MEASURED}
        for name, entry in content.items()
    }


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """One comparison, two runs at a time, and its output."""
    out = tmp_path_factory.mktemp("compared") / "new" / "iris"
    return out, compare(*ARGUMENTS, "--jobs", 2, "--out", out)


@pytest.fixture
def copy(compared: tuple[Path, str], tmp_path: Path) -> Path:
    return Path(shutil.copytree(compared[0], tmp_path / "out"))


# --- What it writes ------------------------------------------------------------------------------


def test_files(compared: tuple[Path, str]) -> None:
    out, _ = compared
    assert names(out) == OUTPUTS
    tasks = {path.stem for path in (out / "tasks").iterdir()}
    assert len(tasks) == len(TASKS)
    assert names(out / "tasks") == {f"{c}{end}" for c in tasks for end in (".json", ".npz")}
    image = imread(out / "convergence.png")
    assert image.shape[0] > 600
    assert image[..., :3].std() > 0.05


def test_rows(compared: tuple[Path, str]) -> None:
    data = gda.datasets.load("iris")
    X, z = gda.datasets.scale_features(data.features), data.signal("virginica")
    feasible_set = gda.GraphMetrics(4.0, 1e-6)
    problem = gda.MetricProblem(gda.GLR(X, z), feasible_set)
    seen = []
    for path in compared[0].glob("tasks/*.json"):
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
        edges = -own.metric[np.triu_indices(4, 1)] > edge_threshold(feasible_set.trace_bound, 4)
        assert (row["edges"], row["components"]) == (edges.sum(), own.components)
        assert row["peak_memory"] > 2**24
        assert row["seconds"] > 0
    assert sorted(seen) == TASKS


def test_parquet(compared: tuple[Path, str]) -> None:
    frame = pd.read_parquet(compared[0] / "comparison.parquet")
    assert list(zip(frame["method"], frame["solver"], strict=True)) == TASKS
    excess = frame["objective"] / frame["lower_bound"].max() - 1
    np.testing.assert_allclose(frame["excess"].astype(float), excess.astype(float), atol=1e-15)
    assert frame["excess"].min() <= 1e-7
    for row in rows(compared[0]).values():
        assert set(frame.columns) <= set(row) | MEASURED | {"excess"}
    assert pd.isna(frame["repair_distance"][0])
    assert frame["iterations"].dtype == "Int64"


def test_markdown(compared: tuple[Path, str]) -> None:
    text = (compared[0] / "comparison.md").read_text()
    for part in (
        "# iris: methods compared",
        "150 samples, K = 4 features z-scored and divided by √(2K) (unit), class virginica ag",
        "set graph, trace bound C = K (the number of features), smallest eigenvalue ρ = 1e-06.",
        " | steps | oracle calls | eigen-decompositions | repair distance | MB | status |",
        r"For all methods: tolerance 1e-07, trace\_every 1.",
        f"gdaopt {gda.__version__}, numpy {np.__version__}",
        "## virginica",
        "| method | solver | objective | lower bound | excess | gap | λ_min - ρ | comp |",
        r"| joint:max\_iterations=8 | HIGHS | ",
        "by the largest lower bound that any method found",
    ):
        assert part in text
    table = [line for line in text.splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in table}) == 1


def test_output(compared: tuple[Path, str]) -> None:
    out, output = compared
    endings = ["certified: optimum, proven", "joint, HIGHS: limit of steps"]
    assert all(f"virginica: {ending} " in output for ending in endings)  # in any order
    start = output.index("method solver objective optimum seconds how it ended")
    for row in rows(out).values():
        solver = "closed form" if row["solver"] == "analytic" else row["solver"]
        assert f"{row['method']} {solver} {row['objective']:#.7g} " in output[start:]
    assert re.search(r"ptimum (end|is reached by) .*certified in [\d.e-]+ s[,.]", output)
    assert f"written to {out}" in output


def test_the_table_fits_80_columns_and_breaks_no_word(compared: tuple[Path, str]) -> None:
    arguments = ["compare", *ARGUMENTS, "--out", str(compared[0])]
    shown = CliRunner(env={"COLUMNS": "80"}).invoke(app, arguments).stdout
    lines = [line.rstrip() for line in shown.splitlines() if " of steps" in line]
    assert [line.endswith("  limit of steps") for line in lines] == [True, True]
    assert max(map(len, lines)) <= 80


# --- How it goes on ------------------------------------------------------------------------------


def test_plot_draws_them_and_the_comparison_goes_on(compared: tuple[Path, str], copy: Path) -> None:
    runs = read_runs([copy])
    assert {run.name for run in runs} == {"certified", "joint, HIGHS", "joint, analytic"}
    assert len({run.problem for run in runs}) == 1
    with undrawn():
        run("plot", copy)
        assert names(copy) == OUTPUTS | {f"{name}.png" for name in ALL_PICTURES}
        compare(*ARGUMENTS, "--out", copy, "--format", "latex")
    assert rows(copy) == rows(compared[0])
    tables = (copy / "comparison.tex").read_text(encoding="utf-8")
    assert tables.count(r"\begin{tabular}{l l S[table-format=") == 1
    assert tables.count(r" \\") == 1 + len(rows(copy))


@pytest.mark.slow
def test_a_damaged_result_is_computed_again(compared: tuple[Path, str], copy: Path) -> None:
    (damaged,) = copy.glob("tasks/*certified*.npz")
    damaged.write_bytes(b"PK")
    output = compare(*ARGUMENTS, "--out", copy)
    assert "certified: optimum, proven" in output
    assert "joint, HIGHS: " not in output
    assert rows(copy) == rows(compared[0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--tolerance", 1e-6), "tolerance is 1e-07 there and 1e-06 now"),
        (("--time-limit", 60), "time_limit is null there and 60.0 now"),
        (("--trace-every", 0), "trace_every is 1 there and 0 now"),
        (("--methods", "joint"), 'methods is ["certified", "joint:max_iterations=8"] there'),
        (("--solvers", "HIGHS"), 'solvers is ["highs", "analytic"] there and ["HIGHS"] now'),
        (("--metrics", "signed"), 'set is "graph" there and "signed" now'),
        (("--positive", "setosa"), 'classes is ["virginica"] there and ["setosa"] now'),
        (("--scale", "none", "--trace-bound", 3), 'trace_bound is "K" there and 3.0 now'),
        (("--min-eigenvalue", 0.1), "min_eigenvalue is 1e-06 there and 0.1 now"),
        (("--scale", "zscore"), 'scale is "unit" there and "zscore" now'),
    ],
)
def test_other_options_are_refused(
    arguments: tuple[object, ...], message: str, compared: tuple[Path, str]
) -> None:
    before = rows(compared[0])
    error = compare(*ARGUMENTS, *arguments, "--out", compared[0], code=2)
    assert "holds a study of other options: " in error
    assert message in error
    assert "choose another --out" in error
    assert rows(compared[0]) == before


@pytest.mark.slow
def test_edges_are_options_as_well(tmp_path: Path) -> None:
    file, out = tmp_path / "edges.csv", tmp_path / "out"
    file.write_text("petal length (cm),petal width (cm)\n")
    arguments = (*VIRGINICA, "--methods", "certified", "--out", out)
    assert "certified" in compare(*arguments, "--edges", file)
    assert "set graph with at most 1 edges" in (out / "comparison.md").read_text()
    (path,) = out.glob("tasks/*.npz")
    assert gda.Result.load(path).feasible_set == gda.GraphMetrics(4.0, 1e-6, edges=[(2, 3)])
    file.write_text("petal length (cm),sepal width (cm)\n")
    error = compare(*arguments, "--edges", file, code=2)
    assert 'edges is "1 pairs, SHA-256' in error
    assert 'edges is "1 pairs' in compare(*arguments, code=2)


def test_a_full_disk(compared: tuple[Path, str], copy: Path) -> None:
    """Of the tables: the rows are there."""
    table = copy / "comparison.parquet"
    table.unlink()
    with full_disk(1, comparison, "write_frame"):
        error = compare(*ARGUMENTS, "--out", copy, code=2)
    assert error == f"error: cannot write {table}: {os.strerror(errno.ENOSPC)}"
    assert names(copy) == OUTPUTS - {table.name}
    assert rows(copy) == rows(compared[0])


def test_interrupted(tmp_path: Path) -> None:
    with interrupt(1, import_module("gdaopt.cli.compare"), "load_source"):
        output = compare(*ARGUMENTS, "--out", tmp_path, code=130)
    assert output == (
        "interrupted: a file is written as a whole or not at all, and existing files are kept"
    )
    assert names(tmp_path) == set()
    with interrupt(1, comparison, "run_tasks"):
        output = compare(*ARGUMENTS, "--out", tmp_path, code=130)
    assert "interrupted: 0 of 3 runs are done; run the same command again to go on" in output


# --- Where runs are computed, and runs that fail -------------------------------------------------


@pytest.mark.slow
def test_on_a_cluster(compared: tuple[Path, str], tmp_path: Path) -> None:
    """The same rows and files as from processes of this machine."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=50
    ) as cluster:
        compare(*ARGUMENTS, "--scheduler", cluster.scheduler_address, "--out", tmp_path)
    assert names(tmp_path) == OUTPUTS
    assert rows(tmp_path) == rows(compared[0])
    assert names(tmp_path / "tasks") == names(compared[0] / "tasks")
    for path in (tmp_path / "tasks").glob("*.npz"):
        own = gda.Result.load(compared[0] / "tasks" / path.name)
        np.testing.assert_array_equal(gda.Result.load(path).metric, own.metric)


def test_an_unreachable_scheduler(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    where = ("--scheduler", "tcp://127.0.0.1:1")
    error = compare(*ARGUMENTS, *where, "--out", tmp_path, code=2)
    assert "cannot reach a Dask scheduler at 'tcp://127.0.0.1:1'" in error


def test_died(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def die(directory: object, tasks: dict[str, Any], *_: Any, **__: Any) -> dict[str, Any]:
        died = {"status": "died", "message": "its process was killed"}
        return {key: {**task.about, **died} for key, task in tasks.items()}

    monkeypatch.setattr(comparison, "run_tasks", die)
    output = compare(*ARGUMENTS, "--out", tmp_path, code=1)
    assert "some runs died; run the same command again to try them again" in output
    text = (tmp_path / "comparison.md").read_text()
    assert "certified, analytic: died: its process was killed; run the same" in text
    assert pd.read_parquet(tmp_path / "comparison.parquet").empty
    assert names(tmp_path) == OUTPUTS - {"convergence.png"}
