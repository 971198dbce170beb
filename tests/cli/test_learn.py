"""`gdaopt learn`: what it says and writes, and what its options do."""

import hashlib
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
from sklearn.neighbors import KNeighborsClassifier
from typer.testing import CliRunner

import gdaopt as gda
from gdaopt.cli.app import app
from gdaopt.datasets.svmlight import svmlight_lines
from gdaopt.linalg import spectrum
from gdaopt.objectives import PairObjective, pair_objective
from gdaopt.scaling import scale_features
from gdaopt.studies.learned_study import Learning
from gdaopt.studies.measuring import FOLDS
from gdaopt.support.validation import FloatArray
from tests.cli.cases import (
    ANALYTIC,
    IRIS,
    PAPER,
    PICTURES,
    command,
    files,
    interrupt,
    learn,
    record,
    run,
    sparse_words,
)
from tests.helpers import n_parts
from tests.studies.cases import names

pytestmark = pytest.mark.usefixtures("no_pictures")

SETOSA = ("iris", "--positive", "setosa")

# --- What it says --------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [80, 120])
def test_the_first_minute(columns: int, tmp_path: Path) -> None:
    """Each line fits, and what matters and how good it is comes first."""
    result = CliRunner(env={"COLUMNS": str(columns)}).invoke(
        app, ["learn", "iris", "--out", str(tmp_path / "out")]
    )
    *told, last = result.stdout.splitlines()
    assert max(map(len, told)) <= columns
    assert last == f"written to {tmp_path / 'out'}; report.html there has all of it, with pictures"
    text = " ".join(" ".join(told).split())
    written = record(tmp_path / "out")
    measured, entry = written["accuracy"], written["metrics"]["all classes"]
    share, plain = 100 * measured["learned"], 100 * measured["without_learning"]
    for part in (
        "iris: 150 samples, 4 features; one metric is learned for all 3 classes",
        f"How good it is {share:.1f} ± {100 * measured['learned_error']:.1f} % of 150 samples",
        f"under what is learned, {plain:.1f} ± ",
        f"points ({FOLDS}-fold cross-validation, in which metrics are learned without those",
        "class samples % right without most often taken for",
        "What matters Shares of the metric's trace, of features in units of their spread",
        "feature share in the folds",
        "petal width (cm) 0.",
        "How it was learned all classes: mcml, optimum, proven to ",
        f"objective from {entry['objective_start']:.6g} to {entry['objective']:.6g}.",
        "linear minimisations over the set, in closed form, in ",
    ):
        assert part in text
    assert plain == pytest.approx(143 / 1.5)
    assert ("Learning does not help here" in text) == (not measured["helps"])
    for word in ("stalled", "oracle", "λ", "Better"):
        assert word not in text


def test_it_says_where_learning_does_not_help(tmp_path: Path) -> None:
    """The labels of noise: no metric helps, and the sentence says what to try."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.standard_normal((60, 4)), columns=list("abcd"))
    table.assign(kind=np.tile(["x", "y"], 30)).to_csv(tmp_path / "noise.csv", index=False)
    said = run("learn", tmp_path / "noise.csv", "--out", tmp_path / "out")
    measured = record(tmp_path / "out")["accuracy"]
    assert measured["gain"] <= measured["gain_error"]
    assert not measured["helps"]
    assert "Try --search, which compares objectives and says if none of them helps" in said
    said = run("learn", tmp_path / "noise.csv", "--search", "--out", tmp_path / "search")
    assert "all classes: no learning, which the search chose." in said
    assert "No feature matters more than another: nothing was learned" in said
    assert "Try --search" not in said


def test_a_file_to_test_by(tmp_path: Path) -> None:
    data = gda.datasets.load("iris")
    table = pd.DataFrame(data.features, columns=list(data.feature_names)).assign(kind=data.labels)
    for name, rows in (("known", table[::2]), ("new", table[1::2])):
        rows.to_csv(tmp_path / f"{name}.csv", index=False)
    options = ("--no-accuracy", "--out", tmp_path / "out")
    said = run("learn", tmp_path / "known.csv", "--test", tmp_path / "new.csv", *options)
    assert record(tmp_path / "out")["accuracy"] is None
    measured = record(tmp_path / "out")["test"]
    assert f"{100 * measured['learned']:.1f} ± " in said
    run("apply", tmp_path / "out", tmp_path / "new.csv", "--out", tmp_path / "c.csv")
    found = pd.read_csv(tmp_path / "c.csv")
    assert measured["learned"] == (found["class"] == found["label"]).mean()
    judge = KNeighborsClassifier(5).fit(scale_features(data.features[::2]), data.labels[::2])
    scaled = scale_features(data.features[1::2], reference=data.features[::2])
    assert measured["without_learning"] == judge.score(scaled, data.labels[1::2])
    same = run("learn", tmp_path / "known.csv", "--test", tmp_path / "known.csv", *options)
    assert "all of the 75 samples are among those learned from" in same
    table.drop(columns="kind").to_csv(tmp_path / "bare.csv", index=False)
    arguments = (tmp_path / "known.csv", "--test", tmp_path / "bare.csv", *options)
    assert "has no column of labels to judge by" in run("learn", *arguments, code=2)


def test_the_accuracy_is_left_out(tmp_path: Path) -> None:
    """Where it is not wanted, or cannot be measured; folds that are there are not made again."""
    assert "How good it is" not in learn(*SETOSA, "--out", tmp_path / "no")
    assert record(tmp_path / "no")["accuracy"] is None
    again = run("learn", *SETOSA, "--out", tmp_path / "no")
    assert "setosa: there already" in again
    assert "% of 150 samples have the class" in again
    measured = record(tmp_path / "no")["accuracy"]
    with pytest.MonkeyPatch.context() as patch:
        patch.delattr("gdaopt.studies.measuring.without_learning")
        run("learn", *SETOSA, "--out", tmp_path / "no")
    assert record(tmp_path / "no")["accuracy"] == measured


def test_verbose(tmp_path: Path) -> None:
    output = learn("iris", *PAPER, "--verbose", "--out", tmp_path)
    assert "round 0 step 0 objective 2191.8044" in output


def test_it_says_what_it_does_from_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the first evaluation of the objective, which takes minutes for many samples."""
    said: list[str] = []

    def say(_: Progress, task: Any, *, description: str) -> None:
        said.append(description)

    monkeypatch.setattr(Progress, "update", say)
    with interrupt(1, gda.MCML, "at"):
        output = learn("iris", "--out", tmp_path, code=130)
    assert said == ["reading iris", "evaluating the objective at the start"]
    assert output.startswith("iris: 150 samples, 4 features")
    assert output.endswith("interrupted: nothing was written")
    assert names(tmp_path) == set()


def test_it_says_how_far_a_run_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no line changes, in lines of their own, if there was no word for a while."""
    monkeypatch.setattr("gdaopt.cli.learn._SILENCE", 0)
    monkeypatch.setattr("gdaopt.cli.learn._LONG", 0)
    output = run("learn", "iris", "--out", tmp_path)
    assert "learning all classes: round 1 step 1 objective" in output
    assert output.count("note: a round takes 0 s") == 1
    assert "accuracy: fold 5 of 5: round 1 step 1 objective" in output


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
    """One run with the paper's metrics."""
    out = tmp_path_factory.mktemp("runs") / "new" / "iris"
    run("learn", "iris", *PAPER, "--out", out)
    return out


def test_results_are_those_of_the_learner(iris: Path) -> None:
    """One metric for all classes, or the paper's, for each class against the rest."""
    assert names(iris) == files(*IRIS)
    data = gda.datasets.load("iris")
    learner = gda.MetricLearner(
        "glr", scale="unit", trace_bound="K", min_eigenvalue=1e-6, tolerance=1e-6
    )
    for name in IRIS:
        own = learner.fit(data.features, data.labels == name).result_
        loaded = gda.Result.load(iris / f"{name}.npz")
        np.testing.assert_allclose(loaded.metric, own.metric, rtol=1e-6, atol=1e-9)
        assert (loaded.status, loaded.method) == ("converged", "certified")
        assert loaded.feasible_set == gda.GraphMetrics(4.0, 1e-6)
        trace = pd.read_csv(iris / f"{name}-trace.csv", dtype=str)
        assert tuple(trace) == loaded.trace.columns()
        assert (
            trace["objective"].astype(float).tolist() == loaded.trace.column("objective").tolist()
        )


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
    assert tuple(content["metrics"]) == IRIS
    for name, entry in content["metrics"].items():
        result = gda.Result.load(iris / entry["file"])
        assert (entry["file"], entry["trace"]) == (f"{name}.npz", f"{name}-trace.csv")
        for key in ("objective", "lower_bound", "relative_gap", "oracle_calls", "message"):
            assert entry[key] == getattr(result, key)
        assert 0 < entry["lower_bound"] < entry["objective"] < entry["objective_start"]
        assert (entry["solver"], entry["status"]) == ("analytic", "converged")
        parts = ("build_seconds", "solve_seconds", "eig_seconds", "objective_seconds")
        assert 0 < sum(entry[part] for part in parts) <= entry["seconds"]
    assert content["gdaopt"] == gda.__version__
    assert {"python", "numpy", "scipy", "cvxpy", "highspy"} <= set(content)


def test_rankings(iris: Path) -> None:
    """Of features and edges, as means over the metrics, with what the folds say."""
    metrics = {name: gda.Result.load(iris / f"{name}.npz").metric for name in IRIS}
    shares = np.mean([np.diagonal(M) / np.trace(M) for M in metrics.values()], axis=0)
    table = pd.read_csv(iris / "features.csv").set_index("feature")
    expected = dict(zip(record(iris)["features"], shares, strict=True))
    assert table["share"].to_dict() == pytest.approx(expected)
    assert (table["share"].diff().dropna() <= 0).all()
    assert (table["least in folds"] <= table["most in folds"]).all()
    edges = pd.read_csv(iris / "edges.csv")
    assert edges["edge"][0] == "sepal width (cm) – petal length (cm)"
    joined = np.mean([-M[1, 2] / np.trace(M) for M in metrics.values()])
    assert edges["share"][0] == pytest.approx(joined)
    assert edges["least in folds"][0] <= edges["share"][0] * 1.1
    for what, written in {"features": pd.read_csv(iris / "features.csv"), "edges": edges}.items():
        pd.testing.assert_frame_equal(pd.DataFrame(record(iris)["rankings"][what]), written)


def test_the_page_is_one_file(iris: Path) -> None:
    """With all parts and pictures inside, and nothing from elsewhere."""
    page = (iris / "report.html").read_text(encoding="utf-8")
    assert page.count("data:image/png;base64,") == len(PICTURES)
    assert "http" not in page
    for heading in ("How good it is", "What matters", "How it was learned", "Pictures"):
        assert f"<h2>{heading}</h2>" in page
    assert "Which class the samples of each class get" in page
    assert page.index("What matters") < page.index("base64")


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
    assert names(Path("gdaopt-own")) == files("learned")


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
    found, spreads = {}, {}
    for kind in ("csv", "svm"):
        out = tmp_path / kind
        arguments = ("--scale", scale, "--tolerance", 1e-10, "--out", out)
        learn(tmp_path / f"words.{kind}", *arguments)
        written = pd.read_csv(out / "learned-metric.csv", dtype=str).astype(float)
        metric = gda.Result.load(out / "learned.npz").sparse_metric
        rows, columns = (written[name].astype(int) - first for name in ("feature", "other feature"))
        np.testing.assert_array_equal(metric.toarray()[rows, columns], written["entry"])
        assert 2 * len(written) - 20 == metric.nnz
        found[kind] = metric.toarray()
        spreads[kind] = record(out)["metrics"]["all classes"]["spreads"]
    atol = 1e-9 * np.abs(found["csv"]).max()
    np.testing.assert_allclose(found["svm"], found["csv"], rtol=0, atol=atol)
    np.testing.assert_allclose(spreads["svm"], spreads["csv"], rtol=1e-12)
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
    output = learn("iris", *arguments, "--method", "alternating", "--out", tmp_path)
    assert "a metric is learned for class virginica against the rest" in output
    assert options.pop("positive") in record(tmp_path)["metrics"]
    assert options.items() <= record(tmp_path).items()
    metric = gda.Result.load(tmp_path / "virginica.npz").metric
    assert gda.GraphMetrics(3.5, 0.01).violations(metric) == ()
    assert n_parts(gda.GraphMetrics(0.02 * 4 / 1e-9 * 0.999), metric) == 1


def test_edges_keep_to_a_file(tmp_path: Path) -> None:
    file, out = tmp_path / "edges.csv", tmp_path / "out"
    file.write_text(
        '"petal length (cm)",petal width (cm)\n\nsepal length (cm), petal length (cm)\n'
    )
    learn(*SETOSA, "--edges", file, "--out", out)
    assert record(out)["edges"].startswith("2 pairs, ")
    result = gda.Result.load(out / "setosa.npz")
    assert result.feasible_set == gda.GraphMetrics(4.0, 1e-6, edges=[(2, 3), (0, 2)])
    assert result.status == "converged"


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
    learn(*SETOSA, "--method", method, *options, "--out", tmp_path)
    said, entry = record(tmp_path), record(tmp_path)["metrics"]["setosa"]
    assert (said["method"], said["solver"], said["tolerance"]) == (method, solver, tolerance)
    assert entry["status"] == status
    assert (entry["relative_gap"] <= tolerance) == (status == "converged")
    result = gda.Result.load(tmp_path / "setosa.npz")
    assert (result.method, result.status) == (method, status)
    assert result.objective < result.trace[0].objective
    assert solver in result.trace.column("solver") or solver == "analytic"
    assert (result.atoms is None) == (status in ("block_minimum", "slow_progress"))


def test_who_names_a_solver_means_the_papers_method(tmp_path: Path) -> None:
    """For one metric of all classes as well."""
    output = learn("iris", "--solver", "highspy", "--out", tmp_path)
    assert "linear programs by highspy" in output
    said = record(tmp_path)
    assert (said["method"], said["solver"], said["objective"]) == ("alternating", "highspy", "mcml")
    assert set(said["metrics"]) == {"all classes"}


def test_time_limit(tmp_path: Path) -> None:
    output = learn("iris", *PAPER, "--time-limit", 1e-6, "--out", tmp_path)
    assert output.count(": glr, time limit; ") == 3
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

    def noted(objective: PairObjective[Any], metric: FloatArray) -> Any:
        evaluated.append(len(objective.pairs.features))
        return original(objective, metric)

    monkeypatch.setattr(PairObjective, "at", noted)
    options = ("--objective", "glr", "--tolerance", 0.1)
    output = learn(tmp_path / "big.csv", *options, "--out", tmp_path / "some")
    assert "20000 samples, 4000 of them drawn to learn from, 2 features" in output
    assert max(evaluated) == 4000
    assert evaluated[0] == 200  # whether fits can start at all is tried with fewer
    with interrupt(1, Learning, "run"):
        evaluated.clear()
        arguments = (*options, "--max-samples", "all", "--out", tmp_path / "all")
        output = learn(tmp_path / "big.csv", *arguments, code=130)
    assert "20000 samples, 2 features" in output
    assert set(evaluated) == {200}


def test_without_time_for_eigenvalues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of thousands of features they take long: a cell is empty, and pictures leave them out."""
    monkeypatch.setattr(spectrum, "_LARGE", 1)
    monkeypatch.setattr(spectrum, "_seconds", lambda: 1e12)
    learn(*SETOSA, *ANALYTIC, "--time-limit", 60, "--out", tmp_path)
    result = gda.Result.load(tmp_path / "setosa.npz")
    assert {row.lambda_min for row in result.trace} == {None}
    assert np.isnan(result.trace.left_ends).all()
    assert record(tmp_path)["metrics"]["setosa"]["lambda_min"] is None
    assert names(tmp_path) == files("setosa")
    run("plot", tmp_path, "--out", tmp_path / "again")
