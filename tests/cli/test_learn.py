"""`gdaopt learn`: what it says and writes, and what its options do."""

import hashlib
import re
import subprocess
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.image import imread
from rich.progress import Progress
from scipy.sparse import csr_array
from typer.testing import CliRunner

import gdaopt as gda
from gdaopt.cli.app import app
from gdaopt.datasets.svmlight import svmlight_lines
from gdaopt.linalg import spectrum
from gdaopt.objectives import PairObjective, pair_objective
from gdaopt.studies.learned_study import Learning
from gdaopt.support.validation import FloatArray
from tests.cli.cases import (
    ANALYTIC,
    IRIS,
    PICTURES,
    command,
    files,
    interrupt,
    learn,
    names,
    record,
    run,
    sparse_words,
    write_csv,
)
from tests.helpers import n_parts

pytestmark = pytest.mark.usefixtures("no_pictures")

SETOSA = ("iris", "--positive", "setosa")

# --- What it says --------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [80, 120])
def test_the_first_minute(columns: int, tmp_path: Path) -> None:
    """Each line fits, and no line needs a word that a newcomer does not know."""
    result = CliRunner(env={"COLUMNS": str(columns)}).invoke(
        app, ["learn", "iris", "--out", str(tmp_path / "out")]
    )
    *told, last = result.stdout.splitlines()
    assert max(map(len, told)) <= columns
    assert last == f"written to {tmp_path / 'out'}; result.json there has all numbers"
    text = " ".join(" ".join(told).split())
    entries = record(tmp_path / "out")
    for part in (
        "iris: 150 samples, 4 features; a metric is learned for each of 3 classes against the",
        *(
            f"{name}: the optimum is reached to 0.0001 %; objective from "
            f"{entry['objective_start']:.6g} to {entry['objective']:.6g} "
            for name, entry in entries["classes"].items()
        ),
        "Solved: 23 linear minimisations over the set, in closed form, in ",
        "Accuracy: 94.0% of new samples have the class of their 5 nearest neighbours under the",
        "95.3% without learning (5-fold cross-validation",
        "Pictures: convergence.png the objective over the steps",
    ):
        assert part in text
    assert entries["accuracy"] == {
        **{"neighbors": 5, "folds": 5, "learned": 0.94},
        "without_learning": pytest.approx(143 / 150),
    }
    for word in ("stalled", "comp", "oracle", "e-0", "λ", "glr", "Better"):
        assert word not in text.partition("Pictures")[0]


def test_far_from_the_optimum(tmp_path: Path) -> None:
    text = learn("wine", "--positive", "class_2", *ANALYTIC, "--out", tmp_path)
    assert "class_2: no block improves on its own; at most 160 % above the optimum; " in text
    assert "Solved: 101 linear programs in closed form, in " in text
    assert "Better: --method certified reaches the optimum, with a proof of the gap." in text


def test_the_accuracy_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is not wanted, would take long, or cannot be measured; asked for, it is said."""
    assert "Accuracy: not measured." in learn(*SETOSA, "--out", tmp_path / "no")
    assert record(tmp_path / "no")["accuracy"] is None
    few = write_csv(tmp_path / "few.csv", ["a", "b", "b", "b"], 16)
    arguments = ("learn", few, "--label", "kind", "--out", tmp_path / "few")
    said = run(*arguments)
    assert "not measured: class 'a' has 4 samples, fewer than the 5 folds" in said
    assert "class 'a' has 4 samples" in run(*arguments, "--accuracy", code=2)
    monkeypatch.setattr("gdaopt.cli.learn._QUICK", 0.0)
    said = run("learn", *SETOSA, "--out", tmp_path / "long")
    assert "would be repeated 5 times; --accuracy measures it." in said
    again = run("learn", *SETOSA, "--accuracy", "--out", tmp_path / "long")
    assert "setosa: there already" in again
    assert "% of new samples" in again


def test_verbose(tmp_path: Path) -> None:
    output = learn("iris", *ANALYTIC, "--verbose", "--out", tmp_path)
    for part in (
        "iris: 150 samples, K = 4 features z-scored and divided by √(2K) (unit), "
        "each of 3 classes against the rest; objective glr, set graph, trace bound C = K (the "
        "number of features), smallest eigenvalue ρ = 1e-06",
        "method alternating, solver analytic",
        "setosa: block_minimum (no block improves on its own: the gap of each",
    ):
        assert part in output
    heading = "class objective gap λ_min comp calls build solve eig obj status"
    table = output[output.index(heading) :]
    for name in IRIS:
        result = gda.Result.load(tmp_path / f"{name}.npz")
        row = (
            f"{name} {result.objective:.6g} {result.relative_gap:.1e} "
            f"{result.trace[-1].lambda_min:.2g} {result.components} {result.oracle_calls} "
        )
        assert re.search(re.escape(row) + r"(\d+\.\d\d ){4}(block minimum|slow progress)", table), (
            table
        )


def test_it_says_what_it_does_from_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the first evaluation of the objective, which takes minutes for many samples."""
    said: list[str] = []

    def say(_: Progress, task: Any, *, description: str) -> None:
        said.append(description)

    monkeypatch.setattr(Progress, "update", say)
    with interrupt(1, gda.GLR, "at"):
        output = learn("iris", "--out", tmp_path, code=130)
    assert said == [
        "reading iris",
        "setosa: building the objective",
        "setosa: evaluating the objective at the start",
    ]
    assert output.startswith("iris: 150 samples, 4 features")
    assert names(tmp_path) == set()


@pytest.mark.slow
def test_errors_go_to_stderr_in_one_line(tmp_path: Path) -> None:
    process = subprocess.run(
        command("learn", "irsi"), cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (process.returncode, process.stdout) == (2, "")
    assert len(process.stderr.splitlines()) == 1
    assert "'irsi'; did you mean 'iris'?" in process.stderr
    assert names(tmp_path) == set()


# --- What it writes ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def iris(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One run with all defaults but the directory."""
    out = tmp_path_factory.mktemp("runs") / "new" / "iris"
    learn("iris", "--out", out)
    return out


def test_results_are_those_of_solve(iris: Path) -> None:
    assert names(iris) == files(*IRIS)
    data = gda.datasets.load("iris")
    X = gda.datasets.scale_features(data.features)
    feasible_set = gda.GraphMetrics(4.0, 1e-6)
    for name in IRIS:
        own = gda.solve(gda.MetricProblem(gda.GLR(X, data.signal(name)), feasible_set))
        loaded = gda.Result.load(iris / f"{name}.npz")
        np.testing.assert_array_equal(loaded.metric, own.metric)
        np.testing.assert_array_equal(loaded.trace.left_ends, own.trace.left_ends)
        assert (loaded.status, loaded.method) == ("converged", "certified")
        trace = pd.read_csv(iris / f"{name}-trace.csv", dtype=str)
        assert tuple(trace) == own.trace.columns()
        assert trace["objective"].astype(float).tolist() == own.trace.column("objective").tolist()


def test_record(iris: Path) -> None:
    content = record(iris)
    assert (content["study"], content["dataset"], content["samples"]) == ("learn", "iris", 150)
    assert content["features"][0] == "sepal length (cm)"
    others = names(iris) - {"result.json", "study.json", "tasks"}
    digests = {name: hashlib.sha256((iris / name).read_bytes()).hexdigest() for name in others}
    assert content["files"] == digests
    options = {
        **{"source": "iris", "table": None, "scale": "unit", "objective": "glr"},
        **{"set": "graph", "trace_bound": "K", "min_eigenvalue": 1e-6, "edge_floor": 0.0},
        **{"method": "certified", "solver": "analytic", "tolerance": 1e-6, "time_limit": None},
    }
    assert options.items() <= content.items()
    assert tuple(content["classes"]) == IRIS
    for name, entry in content["classes"].items():
        result = gda.Result.load(iris / entry["file"])
        assert (entry["file"], entry["trace"]) == (f"{name}.npz", f"{name}-trace.csv")
        for key in ("objective", "lower_bound", "relative_gap", "oracle_calls", "message"):
            assert entry[key] == getattr(result, key)
        assert 0 < entry["lower_bound"] < entry["objective"] < entry["objective_start"]
        assert (entry["solver"], entry["status"]) == ("analytic", "converged")
        assert entry["trace_bound"] == 4.0
        parts = ("build_seconds", "solve_seconds", "eig_seconds", "objective_seconds")
        assert 0 < sum(entry[part] for part in parts) <= entry["seconds"]
    assert content["gdaopt"] == gda.__version__
    assert {"python", "numpy", "scipy", "cvxpy", "highspy"} <= set(content)


@pytest.mark.parametrize("picture", sorted(PICTURES))
def test_pictures(iris: Path, picture: str) -> None:
    image = imread(iris / picture)
    assert image.shape[0] > 300
    assert image.shape[1] > 600
    assert image[..., :3].std() > 0.05  # something is on it


# --- Tables --------------------------------------------------------------------------------------


def test_by_default_the_label_is_last_and_the_directory_has_the_name_of_the_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own.csv").write_text("a,b,class\n1,2,1\n2,1,0\n4,4,1\n5,3,0\n")
    assert "written to gdaopt-own" in learn("own.csv", *ANALYTIC)
    assert names(tmp_path) == {"own.csv", "gdaopt-own"}
    assert names(Path("gdaopt-own")) == files("1")  # two classes are one problem


def test_labels_that_are_no_file_names(tmp_path: Path) -> None:
    labels = ["a/b", "a b", "A B", "../..", ".hidden", "ä.1", "[/red]", ":bug:", "$\\q$", "x" * 300]
    data, out = write_csv(tmp_path / "[bold].csv", labels, 40), tmp_path / "out"
    output = learn(data, "--label", "kind", "--out", out, *ANALYTIC)
    assert names(tmp_path) == {"[bold].csv", "out"}
    classes = record(out)["classes"]
    stems = [entry["file"].removesuffix(".npz") for entry in classes.values()]
    assert names(out) == files(*stems)
    assert {*record(out)["files"], "result.json"} <= names(out)
    assert len({name.casefold() for name in names(out)}) == len(files(*stems))
    assert set(classes) == set(labels)
    assert classes["ä.1"]["file"] == "ä.1.npz"
    for label, entry in classes.items():
        assert gda.Result.load(out / entry["file"]).objective == entry["objective"]
        ends = ("no block improves", "further steps gain too little")
        shown = [f"{label}: {end}".replace(" ", "") for end in ends]  # long ones are wrapped
        assert any(each in output.replace(" ", "") for each in shown)
    assert "[bold]: 40 samples" in output
    assert "the first 6 of 10 runs where it has panels for each; gdaopt plot --only NAME" in output


# --- Sparse files: the same metrics as of the table of their samples, and no dense copy ----------


@pytest.mark.parametrize(("scale", "zero_based"), [("unit", False), ("none", True)])
def test_the_metric_is_that_of_the_table(
    scale: str, zero_based: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pair_objective, "MOST_DENSE", 10)  # a table takes the same way
    X, labels = sparse_words(20)
    first = int(not zero_based)
    numbers = [str(k + first) for k in range(20)]
    (tmp_path / "words.svm").write_text("".join(svmlight_lines(csr_array(X), labels, first)))
    table = pd.DataFrame(X, columns=numbers).assign(label=labels)
    table.to_csv(tmp_path / "words.csv", index=False)
    found, scaling = {}, {}
    for kind in ("csv", "svm"):
        out = tmp_path / kind
        arguments = ("--scale", scale, "--tolerance", 1e-10, "--out", out)
        said = learn(tmp_path / f"words.{kind}", *arguments, "--verbose")
        assert ("not centred" in said) == (kind == "svm")
        written = pd.read_csv(out / "-1-metric.csv", dtype=str).astype(float)
        metric = gda.Result.load(out / "-1.npz").sparse_metric
        rows, columns = (written[name].astype(int) - first for name in ("feature", "other feature"))
        np.testing.assert_array_equal(metric.toarray()[rows, columns], written["entry"])
        assert 2 * len(written) - 20 == metric.nnz
        found[kind] = metric.toarray()
        scaling[kind] = record(out)["scaling"]
    atol = 1e-9 * np.abs(found["csv"]).max()
    np.testing.assert_allclose(found["svm"], found["csv"], rtol=0, atol=atol)
    assert scaling["svm"]["means"] is None
    np.testing.assert_allclose(scaling["svm"]["spreads"], scaling["csv"]["spreads"], rtol=1e-12)
    assert record(tmp_path / "svm")["features"] == numbers


@pytest.mark.slow
def test_no_copy_is_dense(tmp_path: Path) -> None:
    """As arrays the samples would need 800 MB, and the metric 20 GB."""
    n_samples, n_features = 2000, 50_000
    rng = np.random.default_rng(0)
    labels = np.tile(["1", "-1"], n_samples // 2)
    places = np.repeat(np.arange(n_samples), 50), rng.integers(n_features, size=50 * n_samples)
    X = csr_array((rng.random(50 * n_samples), places), shape=(n_samples, n_features))
    (tmp_path / "words.svm").write_text("".join(svmlight_lines(X, labels)))
    options = ("--scale", "none", "--time-limit", 3, "--out", tmp_path / "out")
    tracemalloc.start()
    try:
        learn(tmp_path / "words.svm", *options)
        run("apply", tmp_path / "out", tmp_path / "words.svm", "--out", tmp_path / "a.csv")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 * n_samples * n_features


# --- Options -------------------------------------------------------------------------------------


def test_options_reach_the_problem(tmp_path: Path) -> None:
    options: dict[str, Any] = {
        **{"positive": "virginica", "solver": "analytic", "trace_bound": 3.5, "scale": "none"},
        **{"min_eigenvalue": 0.01, "edge_floor": 0.02, "tolerance": 1e-3, "time_limit": 60.0},
    }
    arguments = [x for k, v in options.items() for x in (f"--{k.replace('_', '-')}", v)]
    output = learn("iris", *arguments, "--method", "alternating", "--verbose", "--out", tmp_path)
    assert "K = 4 features not scaled (none), class virginica against the rest" in output
    assert "trace bound C = 3.5, smallest eigenvalue ρ = 0.01" in output
    assert "solver analytic, edge floor ε = 0.02" in output
    assert options.pop("positive") in record(tmp_path)["classes"]
    assert options.items() <= record(tmp_path).items()
    metric = gda.Result.load(tmp_path / "virginica.npz").metric
    assert gda.GraphMetrics(3.5, 0.01).violations(metric) == ()
    assert n_parts(gda.GraphMetrics(0.02 * 4 / 1e-9 * 0.999), metric) == 1


def test_edges_keep_to_a_file(tmp_path: Path) -> None:
    file, out = tmp_path / "edges.csv", tmp_path / "out"
    file.write_text(
        '"petal length (cm)",petal width (cm)\n\nsepal length (cm), petal length (cm)\n'
    )
    output = learn(*SETOSA, "--edges", file, "--verbose", "--out", out)
    assert "set graph with at most 2 edges, trace bound" in output
    assert record(out)["edges"].startswith("2 pairs, ")
    result = gda.Result.load(out / "setosa.npz")
    assert result.feasible_set == gda.GraphMetrics(4.0, 1e-6, edges=[(2, 3), (0, 2)])
    assert result.status == "converged"


def test_signed_graphs_of_the_best_colours(tmp_path: Path) -> None:
    options = ("--metrics", "sdd", "--method", "balanced", "--positive", "versicolor")
    assert "set sdd, trace bound" in learn("iris", *options, "--verbose", "--out", tmp_path)
    result = gda.Result.load(tmp_path / "versicolor.npz")
    assert result.feasible_set == gda.SDDMetrics(4.0)
    assert result.colors is not None
    signs = np.triu(result.metric * np.outer(result.colors, result.colors), 1)
    assert signs.min() < 0 == signs.max()
    assert np.triu(result.metric, 1).max() > 0


@pytest.mark.parametrize(
    ("method", "options", "solver", "tolerance", "status"),
    [
        ("joint", (), "HIGHS", 1e-5, "slow_progress"),
        ("alternating", ("--solver", "highs"), "HIGHS", 1e-5, "block_minimum"),
        ("alternating", ("--solver", "ECOS"), "ECOS", 1e-5, "block_minimum"),
        ("certified", (), "analytic", 1e-6, "converged"),
        ("frank-wolfe", (), "analytic", 1e-6, "converged"),
    ],
)
@pytest.mark.filterwarnings("ignore::gdaopt.errors.InaccurateSolutionWarning")
def test_methods_have_their_own_solvers_and_tolerances(
    method: str,
    options: tuple[str, ...],
    solver: str,
    tolerance: float,
    status: str,
    tmp_path: Path,
) -> None:
    if solver == "ECOS":
        pytest.importorskip("ecos")
    output = learn(*SETOSA, "--method", method, *options, "--verbose", "--out", tmp_path)
    assert f"method {method}, solver {solver}" in output
    said, entry = record(tmp_path), record(tmp_path)["classes"]["setosa"]
    assert (said["method"], said["solver"], said["tolerance"]) == (method, solver, tolerance)
    assert entry["status"] == status
    assert (entry["relative_gap"] <= tolerance) == (status == "converged")
    assert f"setosa {entry['objective']:.6g} {entry['relative_gap']:.1e} " in output
    result = gda.Result.load(tmp_path / "setosa.npz")
    assert (result.method, result.status) == (method, status)
    assert result.objective < result.trace[0].objective
    assert solver in result.trace.column("solver") or solver == "analytic"
    assert (result.atoms is None) == (status in ("block_minimum", "slow_progress"))


def test_who_names_a_solver_means_the_papers_method(tmp_path: Path) -> None:
    output = learn(*SETOSA, "--solver", "highspy", "--out", tmp_path)
    assert "method alternating, since a solver is named" in output
    assert "linear programs by highspy" in output
    said = record(tmp_path)
    assert (said["method"], said["solver"]) == ("alternating", "highspy")
    assert "since" not in learn(*SETOSA, "--out", tmp_path / "certified")


def test_time_limit(tmp_path: Path) -> None:
    output = learn("iris", "--time-limit", 1e-6, "--out", tmp_path)
    assert output.count(": the time limit is reached, and a longer one may lead further; ") == 3
    assert names(tmp_path) == files(*IRIS)
    assert gda.Result.load(tmp_path / "setosa.npz").iterations == 0


def test_many_samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It learns from 4000, and no objective of more is evaluated, unless all are asked for."""
    rng = np.random.default_rng(0)
    labels = np.where(rng.random(20_000) < 0.3, "a", "b")
    x, y = rng.standard_normal((2, 20_000))
    table = pd.DataFrame({"x": x, "y": y + (labels == "a"), "z": labels})
    table.to_csv(tmp_path / "big.csv", index=False)
    evaluated: list[int] = []
    original = PairObjective.at

    def noted(glr: PairObjective[Any], metric: FloatArray) -> Any:
        evaluated.append(len(glr.pairs.features))
        return original(glr, metric)

    monkeypatch.setattr(PairObjective, "at", noted)
    options = ("--method", "certified", "--tolerance", 0.1)
    output = learn(tmp_path / "big.csv", *options, "--out", tmp_path / "some")
    assert "20000 samples, 4000 of them drawn to learn from, 2 features" in output
    assert max(evaluated) == 4000
    assert evaluated[0] == 1000  # whether runs can start at all is tried with fewer
    with interrupt(1, Learning, "run"):
        evaluated.clear()
        arguments = (*options, "--max-samples", "all", "--out", tmp_path / "all")
        output = learn(tmp_path / "big.csv", *arguments, code=130)
    assert "20000 samples, 2 features" in output
    assert set(evaluated) == {1000}


def test_without_time_for_eigenvalues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of thousands of features they take long: a cell is empty, and pictures leave them out."""
    monkeypatch.setattr(spectrum, "_LARGE", 1)
    monkeypatch.setattr(spectrum, "_seconds", lambda: 1e12)
    learn(*SETOSA, *ANALYTIC, "--time-limit", 60, "--out", tmp_path)
    result = gda.Result.load(tmp_path / "setosa.npz")
    assert {row.lambda_min for row in result.trace} == {None}
    assert np.isnan(result.trace.left_ends).all()
    assert record(tmp_path)["classes"]["setosa"]["lambda_min"] is None
    assert names(tmp_path) == files("setosa")
    run("plot", tmp_path, "--out", tmp_path / "again")
