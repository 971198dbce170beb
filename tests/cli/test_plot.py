"""`gdaopt plot`: which runs it reads, what it draws, and what it refuses."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.studies.pictures import Run
from gdaopt.studies.saved_runs import read_runs
from gdaopt.studies.study_directory import StudyDirectory, task_key
from tests.cli.cases import (
    ALL_PICTURES,
    ANALYTIC,
    content,
    files,
    learn,
    names,
    record,
    run,
    undrawn,
)

STARTS = {"png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<?xml"}


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a few steps on one class, without pictures."""
    out = tmp_path_factory.mktemp("learned") / "run"
    with undrawn():
        learn("iris", "--positive", "setosa", *ANALYTIC, "--tolerance", 0.1, "--out", out)
    return out


class TestPlot:
    def plot(self, *arguments: object, code: int = 0) -> str:
        return run("plot", *arguments, code=code)

    def own(self, folder: Path, *stems: str) -> Path:
        """Save results of one's own."""
        folder.mkdir()
        problem = gda.MetricProblem(
            gda.GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1]), gda.GraphMetrics(2.0)
        )
        for stem in stems:
            gda.solve(problem, "alternating", solver="analytic").save(folder / stem)
        return folder

    @pytest.mark.parametrize(
        "suffix", ["pdf", *(pytest.param(name, marks=pytest.mark.slow) for name in ("png", "svg"))]
    )
    def test_formats(self, tmp_path: Path, suffix: str) -> None:
        folder = self.own(tmp_path / "own", "run")
        before = content(folder)
        output = self.plot(folder, "--format", suffix, "--out", tmp_path / "new" / "out")
        pictures = {f"{name}.{suffix}" for name in ALL_PICTURES}
        assert names(tmp_path / "new" / "out") == pictures
        for picture, image in content(tmp_path / "new" / "out").items():
            assert image.startswith(STARTS[suffix])
            assert len(image) > 5000
            assert picture in output
        assert content(folder) == before

    def test_replaces_its_own_pictures_and_nothing_else(self, tmp_path: Path) -> None:
        for suffix in STARTS:
            folder = self.own(tmp_path / suffix, "run")
            problem = gda.MetricProblem(
                gda.GLR([[0.0], [1.0]], [1, -1]), gda.GraphMetrics(trace_bound=1.0)
            )
            with undrawn("discs"):
                self.plot(folder, "--format", suffix)  # beside the results
                assert len(names(folder)) == 1 + len(ALL_PICTURES)
                first = content(folder)
                gda.solve(problem, "alternating", solver="analytic").save(folder / "run")
                self.plot(folder, "--format", suffix)
            assert names(folder) == set(first)
            assert content(folder)[f"discs.{suffix}"] != first[f"discs.{suffix}"]
        (folder / "graph.svg").write_text("<svg>mine</svg>")
        (folder / "discs.svg").unlink()
        before = content(folder)
        error = self.plot(folder, "--format", "svg", code=2)
        assert f"{folder / 'graph.svg'} was not drawn by gdaopt and is not replaced" in error
        assert content(folder) == before  # nothing drawn

    @pytest.mark.usefixtures("no_pictures")
    def test_pictures_of_learn_are_its_own(self, tmp_path: Path) -> None:
        learn("iris", "--positive", "setosa", *ANALYTIC, "--out", tmp_path)
        self.plot(tmp_path)
        assert names(tmp_path) == files("setosa") | {"time_split.png"}

    def test_several_directories(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        arguments = ("--positive", "setosa", *ANALYTIC, "--out")
        with undrawn():
            learn("iris", *arguments, "a")
            learn("iris", *arguments, "b", "--tolerance", 0.1)
            learn("iris", *arguments, "c", "--trace-bound", 2)
            learn("iris", *arguments, "d", "--edge-floor", 0.01)
        with undrawn("convergence"):
            self.plot("a", "b", "c")
        assert names(Path("gdaopt-plots")) == {f"{name}.png" for name in ALL_PICTURES}
        runs = read_runs(["a", "b", "c"])
        assert [run.name for run in runs] == ["a: setosa", "b: setosa", "c: setosa"]
        assert runs[0].problem == runs[1].problem != runs[2].problem  # c has another optimum
        (floored,) = read_runs(["d"])
        assert floored.problem != runs[0].problem
        assert runs[0].feature_names == gda.datasets.load("iris").feature_names
        for run_, folder in zip(runs, "abc", strict=True):
            assert run_.result == gda.Result.load(Path(folder) / "setosa.npz")

    def test_saved_results(self, tmp_path: Path) -> None:
        folder = self.own(tmp_path / "own", "_first $\\q", "second")
        np.savez(folder / "a.npz", x=np.eye(2))  # none of ours
        (folder / "result.json").write_text("[1, 2]")
        runs = read_runs([folder])
        assert [run.name for run in runs] == ["_first $\\q", "second"]
        assert len({run.problem for run in runs}) == 2
        with undrawn("discs"):
            self.plot(folder, "--out", tmp_path / "out")
        assert len(names(tmp_path / "out")) == len(ALL_PICTURES)

    def test_files(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        self.own(tmp_path / "own", "first", "second")
        with undrawn():
            self.plot("own/first.npz", "own/second.npz")
        assert names(tmp_path / "own") == {"first.npz", "second.npz"}
        assert len(names(tmp_path / "gdaopt-plots")) == len(ALL_PICTURES)
        both = read_runs(["own/first.npz", "own/second.npz"])
        assert [run.name for run in both] == ["first", "second"]
        assert [run.name for run in read_runs(["own/first.npz"])] == ["first"]
        twins = read_runs(["own/first.npz", "own/../own/first.npz"])
        assert [run.name for run in twins] == ["own/first", "own/../own/first"]

    def test_a_comparison_of_several_classes(self, tmp_path: Path) -> None:
        folder = tmp_path / "compared"
        options = {"methods": ["alternating"], "classes": ["a", "b"], "data_sha256": "0"}
        study = StudyDirectory(folder, options)
        own = self.own(tmp_path / "own", "run")
        for name in ("a", "b"):
            for solver in ("analytic", "highspy"):
                key = task_key(name, solver)
                shutil.copy(own / "run.npz", study.stem(key).with_suffix(".npz"))
                row = {"class": name, "method": "alternating", "options": "", "solver": solver}
                study.write_row(key, {**row, "status": "stalled", "objective": 1.0})
        study.write_row("dead", {**row, "status": "died"})
        runs = read_runs([folder])
        assert [run.label for run in runs] == [
            *("a: alternating, analytic", "a: alternating, highspy"),
            *("b: alternating, analytic", "b: alternating, highspy"),
        ]
        first, second, third, _ = (run.problem for run in runs)
        assert first == second != third
        with undrawn():
            self.plot(folder, "--only", "a: alternating, highspy")
        assert names(folder) == {"study.json", "tasks", *(f"{name}.png" for name in ALL_PICTURES)}

    def test_only_some_runs(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        folder = self.own(tmp_path / "own", "a", "b", "c")
        drawn: list[list[str]] = []

        def draw(runs: list[Run], *_: object, **__: object) -> list[Path]:
            drawn.append([run.name for run in runs])
            return []

        monkeypatch.setattr("gdaopt.cli.runs.write_pictures", draw)
        self.plot(folder, "--only", "c", "--only", "a")
        self.plot(folder)
        assert drawn == [["c", "a"], ["a", "b", "c"]]
        assert "unknown run 'd'" in self.plot(folder, "--only", "d", code=2)

    def test_directories_of_the_same_name(self, tmp_path: Path) -> None:
        for parent in ("1", "2"):
            (tmp_path / parent).mkdir()
            self.own(tmp_path / parent / "run", "x")
        folders = [tmp_path / "1" / "run", tmp_path / "2" / "run"]
        runs = read_runs(folders)
        assert [run.name for run in runs] == [f"{folder}: x" for folder in folders]
        assert runs[0].problem == runs[1].problem

    def test_directories_without_results(self, tmp_path: Path) -> None:
        empty = tmp_path / "empty"
        empty.mkdir()
        full = self.own(tmp_path / "full", "run")
        assert f"{empty} holds no results" in self.plot(full, empty, code=2)
        absent = tmp_path / "absent"
        assert f"there is no directory or file {absent}" in self.plot(absent, code=2)
        (full / "notes.txt").write_text("mine")
        assert "notes.txt is not a saved" in self.plot(full / "notes.txt", code=2)
        assert names(empty) == set()
        assert names(full) == {"run.npz", "notes.txt"}
        assert "unknown picture format 'jpg'" in self.plot(full, "--format", "jpg", code=2)
        (tmp_path / "file").write_text("mine")
        assert "cannot write to" in self.plot(full, "--out", tmp_path / "file" / "x", code=2)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda record: record.pop("options"), "result.json is damaged: KeyError('options')"),
            (lambda record: record.update(format=99), "was written by a newer gdaopt"),
            (lambda record: record["classes"]["setosa"].update(file="x.npz"), "cannot read what"),
            (lambda record: record["classes"].update(setosa=3), "result.json is damaged"),
            (lambda record: record.update(classes={}), "holds no results"),
            (lambda record: record.update(dataset=[]), "result.json is damaged"),
            (lambda record: record.update(features=["a"]), "result.json is damaged"),
            (lambda record: record.update(features=3), "result.json is damaged"),
            (lambda record: record["classes"]["setosa"].update(file="a\0b"), "is not a saved"),
            (lambda record: record["classes"]["setosa"].update(file=".."), "cannot read what"),
        ],
    )
    def test_damaged_records(
        self,
        learned: Path,
        tmp_path: Path,
        change: Callable[[dict[str, Any]], object],
        message: str,
    ) -> None:
        shutil.copytree(learned, tmp_path / "run")
        content = record(tmp_path / "run")
        change(content)
        (tmp_path / "run" / "result.json").write_text(json.dumps(content))
        assert message in self.plot(tmp_path / "run", code=2)

    @pytest.mark.parametrize("text", ["[" * 100_000, '{"format": "\\ud800"}', "\0"])
    def test_records_that_are_none(self, text: str, tmp_path: Path) -> None:
        folder = self.own(tmp_path / "own", "run")
        (folder / "result.json").write_text(text)
        with undrawn():
            self.plot(folder)
