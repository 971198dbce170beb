"""`gdaopt plot`: which runs it reads, what it draws, and what it refuses."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.image import imread

import gdaopt as gda
from gdaopt.studies.pictures import PICTURES, Run
from gdaopt.studies.saved_runs import read_runs
from gdaopt.studies.study_directory import StudyDirectory, task_key
from tests.cli.cases import (
    ALL_PICTURES,
    ANALYTIC,
    content,
    files,
    learn,
    run,
    sparse_words,
    undrawn,
    write_svmlight,
)
from tests.studies.cases import names

SETOSA = ("iris", "--positive", "setosa", *ANALYTIC)
STARTS = {"png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<?xml"}


def drawn(suffix: str = "png") -> set[str]:
    return {f"{name}.{suffix}" for name in ALL_PICTURES}


def plot(*arguments: object, code: int = 0) -> str:
    return run("plot", *arguments, code=code)


def solve(trace_bound: float = 2.0) -> gda.Result:
    glr = gda.GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
    problem = gda.MetricProblem(glr, gda.GraphMetrics(trace_bound))
    return gda.solve(problem, "alternating", solver="analytic")


def own(folder: Path, *stems: str) -> Path:
    """Save results of one's own."""
    folder.mkdir(parents=True)
    for stem in stems:
        solve().save(folder / stem)
    return folder


# --- What it draws -------------------------------------------------------------------------------


def test_files(tmp_path: Path) -> None:
    folder, out = own(tmp_path / "own", "run"), tmp_path / "new" / "out"
    before = content(folder)
    output = plot(folder, "--format", "pdf", "--out", out)
    assert names(out) == drawn("pdf")
    for picture, image in content(out).items():
        assert len(image) > 5000
        assert picture in output
    assert content(folder) == before


@pytest.mark.slow
def test_many_features(tmp_path: Path) -> None:
    path, out = write_svmlight(tmp_path / "words.svm.gz", *sparse_words(60)), tmp_path / "out"
    learn(path, "--tolerance", 1e-3, "--out", out)
    assert names(out) == files("learned", samples="samples.svmlight")
    plot(out, "--out", tmp_path / "again")
    assert imread(tmp_path / "again" / "discs.png")[..., :3].std() > 0.02


@pytest.mark.parametrize("suffix", STARTS)
def test_it_replaces_its_own_pictures_and_nothing_else(suffix: str, tmp_path: Path) -> None:
    folder = own(tmp_path / "own", "run")
    with undrawn("discs"):
        plot(folder, "--format", suffix)  # beside the results
        assert names(folder) == {"run.npz"} | drawn(suffix)
        first = content(folder)
        assert first[f"discs.{suffix}"].startswith(STARTS[suffix])
        solve(trace_bound=1.0).save(folder / "run")
        plot(folder, "--format", suffix)
    assert names(folder) == set(first)
    assert content(folder)[f"discs.{suffix}"] != first[f"discs.{suffix}"]
    picture = folder / f"graph.{suffix}"
    picture.write_text("<svg>mine</svg>")
    (folder / f"discs.{suffix}").unlink()
    before = content(folder)
    error = plot(folder, "--format", suffix, code=2)
    assert f"{picture} was not drawn by gdaopt and is not replaced" in error
    assert content(folder) == before  # nothing drawn


@pytest.mark.usefixtures("no_pictures")
def test_pictures_of_learn_are_its_own(tmp_path: Path) -> None:
    learn(*SETOSA, "--out", tmp_path)
    plot(tmp_path)
    assert names(tmp_path) == files("setosa") | {"time_split.png"}


def test_only_some_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = own(tmp_path / "own", "a", "b", "c")
    shown: list[list[str]] = []

    def draw(runs: list[Run], *_: object, **__: object) -> list[Path]:
        shown.append([run.name for run in runs])
        return []

    monkeypatch.setattr("gdaopt.cli.runs.write_pictures", draw)
    plot(folder, "--only", "c", "--only", "a", "--only", "c")
    plot(folder)
    assert shown == [["c", "a"], ["a", "b", "c"]]
    assert "unknown run 'd'" in plot(folder, "--only", "d", code=2)


# --- Which runs it reads -------------------------------------------------------------------------


def test_several_directories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with undrawn():
        for out, options in {
            "a": (),
            "b": ("--tolerance", 0.1),
            "c": ("--trace-bound", 2),
            "d": ("--edge-floor", 0.01),
        }.items():
            learn(*SETOSA, *options, "--out", out)
    with undrawn("convergence"):
        plot("a", "b", "c")
    assert names(Path("gdaopt-plots")) == drawn()
    runs = read_runs(["a", "b", "c"])
    assert [run.name for run in runs] == ["a: setosa", "b: setosa", "c: setosa"]
    assert runs[0].problem == runs[1].problem != runs[2].problem  # c has another optimum
    (floored,) = read_runs(["d"])
    assert floored.problem != runs[0].problem
    assert runs[0].feature_names == gda.datasets.load("iris").feature_names
    for run_, folder in zip(runs, "abc", strict=True):
        assert run_.result == gda.Result.load(Path(folder) / "setosa.npz")


@pytest.mark.usefixtures("no_pictures")
def test_saved_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = own(Path("own"), "_first $\\q", "second")
    np.savez(folder / "a.npz", x=np.eye(2))  # none of ours
    (folder / "result.json").write_text("[1, 2]")
    runs = read_runs([folder])
    assert [run.name for run in runs] == ["_first $\\q", "second"]
    assert len({run.problem for run in runs}) == 1
    before = content(folder)
    plot("own/_first $\\q.npz", "own/second.npz")
    assert content(folder) == before
    assert names(Path("gdaopt-plots")) == drawn()
    both = read_runs(["own/_first $\\q.npz", "own/second.npz"])
    assert [run.name for run in both] == ["_first $\\q", "second"]
    twins = read_runs(["own/second.npz", "own/../own/second.npz"])
    assert [run.name for run in twins] == ["own/second", "own/../own/second"]


def test_files_of_one_problem_share_a_bound_and_of_others_do_not(tmp_path: Path) -> None:
    """Neither methods nor starts make another problem; labels, sets and an unknown problem do."""
    X, signs = np.random.default_rng(0).standard_normal((20, 3)), np.arange(20) % 2
    first = gda.MetricProblem(gda.GLR(X, signs), gda.GraphMetrics(3.0))
    others = {
        "labels": gda.MetricProblem(gda.GLR(X, np.arange(20) % 3 == 0), first.feasible_set),
        "set": gda.MetricProblem(first.objective, gda.GraphMetrics(3.0, min_eigenvalue=0.1)),
    }
    for method in ("alternating", "certified", "projected-gradient"):
        gda.solve(first, method, tolerance=1e-3).save(tmp_path / method)
    for name, problem in others.items():
        gda.solve(problem, "certified").save(tmp_path / name)
    replace(gda.solve(first), central_objective=None).save(tmp_path / "unknown")
    of = {run.name: run.problem for run in read_runs([tmp_path])}
    assert of["alternating"] == of["certified"] == of["projected-gradient"]
    assert len(set(of.values())) == 4
    both = read_runs([tmp_path / "alternating.npz", tmp_path / "certified.npz"])
    figure = PICTURES["convergence"](both, "alternating.npz, certified.npz, and so on")
    figure.draw_without_rendering()
    (legend,), title = figure.legends, max(figure.texts, key=lambda text: text.get_position()[1])
    assert not legend.get_window_extent().overlaps(title.get_window_extent())
    objective, _, gap, _ = figure.axes
    assert gap.get_ylabel() == "gap to bound"
    assert len(objective.lines) == 3  # two runs and one bound


def test_directories_of_the_same_name(tmp_path: Path) -> None:
    folders = [own(tmp_path / parent / "run", "x") for parent in ("1", "2")]
    runs = read_runs(folders)
    assert [run.name for run in runs] == [f"{folder}: x" for folder in folders]
    assert runs[0].problem == runs[1].problem


@pytest.mark.usefixtures("no_pictures")
def test_a_comparison_of_several_classes(tmp_path: Path) -> None:
    folder = tmp_path / "compared"
    options = {"methods": ["alternating"], "classes": ["a", "b"], "data_sha256": "0"}
    study = StudyDirectory(folder, "compare", options)
    result = own(tmp_path / "own", "run") / "run.npz"
    for name in ("a", "b"):
        for solver in ("analytic", "highspy"):
            key = task_key(name, solver)
            shutil.copy(result, study.stem(key).with_suffix(".npz"))
            row = {"class": name, "method": "alternating", "options": "", "solver": solver}
            files = [study.stem(key).with_suffix(".npz")]
            study.write_row(key, {**row, "status": "stalled", "objective": 1.0}, files)
    study.write_row("dead", {**row, "status": "died"})
    runs = read_runs([folder])
    assert [run.label for run in runs] == [
        *("a: alternating, analytic", "a: alternating, highspy"),
        *("b: alternating, analytic", "b: alternating, highspy"),
    ]
    first, second, third, _ = (run.problem for run in runs)
    assert first == second != third
    plot(folder, "--only", "a: alternating, highspy")
    assert names(folder) == {"study.json", "tasks"} | drawn()


# --- What it refuses -----------------------------------------------------------------------------


def test_what_holds_no_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    Path("file").write_text("mine")
    own(Path("full"), "run")
    for arguments, message in {
        ("full", "empty"): "empty holds no results",
        ("absent",): "there is no directory or file absent",
        ("file",): "file is not a saved",
        ("full", "--format", "jpg"): "unknown picture format 'jpg'",
        ("full", "--out", "file/x"): "cannot write to",
    }.items():
        assert message in plot(*arguments, code=2)
    assert names(Path("empty")) == set()
    assert names(Path("full")) == {"run.npz"}


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a few steps on one class, without pictures."""
    out = tmp_path_factory.mktemp("learned") / "run"
    with undrawn():
        learn(*SETOSA, "--tolerance", 0.1, "--out", out)
    return out


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda record: record.pop("options"), "study.json is damaged ('options')"),
        (lambda record: record.update(format=1), "was written by an earlier gdaopt; use that"),
        (lambda record: record.update(format=99), "was written by a newer gdaopt"),
        *(
            (lambda record, one=one: record["options"].update(one), "study.json lists is damaged")
            for one in ({"classes": 3}, {"data_sha256": [1]}, {"features": ["a"]}, {"features": 3})
        ),
        (lambda record: record["options"].pop("study"), "study.json lists is damaged"),
    ],
)
def test_damaged_records(
    learned: Path, tmp_path: Path, change: Callable[[dict[str, Any]], object], message: str
) -> None:
    folder = Path(shutil.copytree(learned, tmp_path / "run"))
    content = json.loads((folder / "study.json").read_text())
    change(content)
    (folder / "study.json").write_text(json.dumps(content))
    assert message in plot(folder, code=2)


def test_a_tilde_is_the_home_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A shell leaves it as it is after an equals sign, and files of one's own are still kept."""
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    with undrawn():
        learn("iris", "--positive", "setosa", "--tolerance", 0.1, "--out=~/run")
        run("plot", "~/run", "--out=~/pictures")
        (tmp_path / "pictures" / "graph.png").write_text("mine")
        assert "is not replaced" in run("plot", "~/run", "--out=~/pictures", code=2)
    run("apply", "~/run", "~/run/samples.csv", "--out=~/new.csv")
    assert "is there already" in run("apply", "~/run", "new.csv", "--out=~/new.csv", code=2)
    assert (tmp_path / "pictures" / "graph.png").read_text() == "mine"
    assert list((tmp_path / "elsewhere").iterdir()) == []
