"""`gdaopt learn`: what it says and writes, what it refuses, and how it ends."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import signal
import subprocess
import time
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
from gdaopt.backends.registry import find_solver
from gdaopt.cli import app
from gdaopt.datasets import Dataset
from gdaopt.datasets.svmlight import svmlight_lines
from gdaopt.linalg import gershgorin, spectrum
from gdaopt.objectives import PairObjective
from gdaopt.objectives.pairs import base
from gdaopt.programs import Program
from gdaopt.studies.learning import LearningOptions
from gdaopt.studies.run_directory import RunDirectory
from gdaopt.support.validation import FloatArray
from gdaopt.trace import Trace
from tests.cli.cases import (
    ANALYTIC,
    IRIS,
    PICTURES,
    command,
    content,
    files,
    interrupt,
    learn,
    names,
    record,
    run,
    undrawn,
    unmeasured,
    write_csv,
    write_svmlight,
)
from tests.process_cases import posix_only


def shown(*arguments: object, columns: int, code: int = 0) -> list[str]:
    """Return the lines that `gdaopt learn` prints in so many columns."""
    runner = CliRunner(env={"COLUMNS": str(columns)})
    with undrawn():
        result = runner.invoke(app, ["learn", *map(str, arguments)])
    assert result.exit_code == code, result.output
    return result.stdout.splitlines()


def regular(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


class TestReport:
    @pytest.mark.parametrize("columns", [80, 120])
    def test_the_first_minute(self, columns: int, tmp_path: Path) -> None:
        """Each line fits, and no line needs a word that a newcomer does not know."""
        lines = shown("iris", "--out", tmp_path / "out", columns=columns)
        *told, last = lines
        assert max(map(len, told)) <= columns
        assert last == f"written to {tmp_path / 'out'}; result.json there has all numbers"
        text = " ".join(" ".join(lines).split())
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
            assert word not in text.replace("written to", "").partition("Pictures")[0]

    def test_far_from_the_optimum(self, tmp_path: Path) -> None:
        arguments = ("wine", "--positive", "class_2", *ANALYTIC, "--out", tmp_path)
        text = " ".join(shown(*arguments, columns=300))
        assert "class_2: no block improves on its own; at most 160 % above the optimum; " in text
        assert "Solved: 101 linear programs in closed form, in " in text
        assert "Better: --method certified reaches the optimum, with a proof of the gap." in text

    def test_the_accuracy_is_left_out(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Where it is not wanted, would take long, or cannot be measured; asked for, it is said."""
        iris = ("iris", "--positive", "setosa")
        assert "Accuracy: not measured." in learn(*iris, "--out", tmp_path / "no")
        assert record(tmp_path / "no")["accuracy"] is None
        few = write_csv(tmp_path / "few.csv", ["a", "b", "b", "b"], 16)
        arguments = ("learn", few, "--label", "kind", "--out", tmp_path / "few")
        with undrawn():
            said = run(*arguments)
            assert "not measured: class 'a' has 4 samples, fewer than the 5 folds" in said
            assert "class 'a' has 4 samples" in run(*arguments, "--accuracy", code=2)
            monkeypatch.setattr("gdaopt.cli.learn._QUICK", 0.0)
            said = run("learn", *iris, "--out", tmp_path / "long")
            assert "would be repeated 5 times; --accuracy measures it." in said
            again = run("learn", *iris, "--accuracy", "--out", tmp_path / "long")
        assert "setosa: there already" in again
        assert "% of new samples" in again

    def test_verbose(self, tmp_path: Path) -> None:
        with undrawn():
            output = learn("iris", *ANALYTIC, "--verbose", "--out", tmp_path)
        for part in (
            "iris: 150 samples, K = 4 features z-scored and divided by √(2K) (unit), "
            "each of 3 classes against the rest; objective glr, set graph, trace bound C = K (the "
            "number of features), smallest eigenvalue ρ = 1e-06",
            "method alternating, solver analytic",
            "setosa: stalled (no block improves on its own: the last round",
        ):
            assert part in output
        table = output[
            output.index("class objective gap λ_min comp calls build solve eig obj status") :
        ]
        for name in IRIS:
            result = gda.Result.load(tmp_path / f"{name}.npz")
            assert result.trace[-1].lambda_min is not None
            row = (
                f"{name} {result.objective:.6g} {result.relative_gap:.1e} "
                f"{result.trace[-1].lambda_min:.2g} {result.components} {result.oracle_calls} "
            )
            assert re.search(re.escape(row) + r"(\d+\.\d\d ){4}stalled", table), table


class TestDefaults:
    def test_metrics_are_those_of_solve(self, iris: tuple[Path, str]) -> None:
        assert names(iris[0]) == files(*IRIS)
        data = gda.datasets.load("iris")
        X = gda.datasets.scale_features(data.features)
        feasible_set = gda.GraphMetrics(4.0, 1e-6)
        own = gda.solve(gda.MetricProblem(gda.GLR(X, data.signal("setosa")), feasible_set))
        for name in IRIS:
            loaded = gda.Result.load(iris[0] / f"{name}.npz")
            assert np.array_equal(loaded.metric, own.metric) is (name == "setosa")
            if name == "setosa":
                np.testing.assert_array_equal(loaded.trace.left_ends, own.trace.left_ends)
            assert (loaded.status, loaded.method) == ("converged", "certified")
            assert feasible_set.contains(loaded.metric)

    def test_archives_hold_metric_and_left_ends(self, iris: tuple[Path, str]) -> None:
        with np.load(iris[0] / "setosa.npz", allow_pickle=False) as archive:
            metric, ends = archive["metric"], archive["left_ends"]
        assert metric.shape == (4, 4)
        # Of an unscaled matrix they would differ: these are aligned, at λ_min or above.
        assert ends.shape[1] == 4
        assert ends[-1].min() <= np.linalg.eigvalsh(metric)[0] + 1e-9
        assert gershgorin.left_ends(metric).min() < ends[-1].min()

    def test_traces(self, iris: tuple[Path, str]) -> None:
        for name in IRIS:
            trace = gda.Result.load(iris[0] / f"{name}.npz").trace
            header, *lines = (iris[0] / f"{name}-trace.csv").read_text().splitlines()
            assert tuple(header.split(",")) == Trace.columns()
            objective = [float(line.split(",")[4]) for line in lines]
            assert objective == trace.column("objective").tolist()

    def test_record(self, iris: tuple[Path, str]) -> None:
        out, _ = iris
        content = record(out)
        assert (content["format"], content["dataset"], content["samples"]) == (2, "iris", 150)
        assert content["features"][0] == "sepal length (cm)"
        sums = {name: hashlib.sha256(text).hexdigest() for name, text in regular(out).items()}
        del sums["result.json"]
        assert content["files"] == sums
        assert content["options"] == {
            **{"source": "iris", "label": None, "positive": None, "scale": "unit"},
            "objective": "glr",
            **{"set": "graph", "trace_bound": "K", "min_eigenvalue": 1e-6, "edge_floor": 0.0},
            **{"edges": None, "max_samples": 4000, "drop": [], "impute": None},
            **{"method": "certified", "solver": "analytic", "tolerance": 1e-6, "time_limit": None},
        }
        assert tuple(content["classes"]) == IRIS
        for name, entry in content["classes"].items():
            result = gda.Result.load(out / entry["file"])
            assert entry["file"] == f"{name}.npz"
            assert (out / entry["trace"]).is_file()
            assert entry["objective"] == result.objective < entry["objective_start"]
            assert entry["lower_bound"] == result.lower_bound
            assert entry["relative_gap"] == result.relative_gap
            assert 0 < entry["lower_bound"] < entry["objective"]
            assert (entry["oracle_calls"], entry["solver"]) == (result.oracle_calls, "analytic")
            assert entry["trace_bound"] == 4.0
            assert (entry["status"], entry["message"]) == ("converged", result.message)
            parts = ("build_seconds", "solve_seconds", "eig_seconds", "objective_seconds")
            assert 0 < sum(entry[part] for part in parts) <= entry["seconds"]
        assert content["versions"]["gdaopt"] == gda.__version__
        assert {"python", "numpy", "scipy", "cvxpy", "highspy"} <= set(content["versions"])

    @pytest.mark.parametrize("picture", sorted(PICTURES))
    def test_pictures(self, iris: tuple[Path, str], picture: str) -> None:
        image = imread(iris[0] / picture)
        assert image.shape[0] > 300
        assert image.shape[1] > 600
        assert image[..., :3].std() > 0.05  # something is on it

    def test_the_directory_is_named_after_the_data(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        with undrawn():
            output = learn("iris", "--positive", "setosa", *ANALYTIC)
        assert "written to gdaopt-iris" in output
        assert names(tmp_path) == {"gdaopt-iris"}


@pytest.mark.usefixtures("no_pictures")
class TestDirectories:
    ARGUMENTS = ("iris", *ANALYTIC, "--tolerance", "0.03")  # a few steps

    def learn(self, out: Path, *arguments: object, code: int = 0) -> str:
        return learn(*self.ARGUMENTS, "--out", out, *arguments, code=code)

    def test_one_that_holds_something_is_left_alone(self, tmp_path: Path) -> None:
        (tmp_path / "mine.txt").write_text("mine")
        error = self.learn(tmp_path, code=2)
        assert error == (
            f"error: {tmp_path} already holds files; pass --force to replace an earlier run, "
            "or another --out"
        )
        assert content(tmp_path) == {"mine.txt": b"mine"}

    def test_an_earlier_run_is_left_alone(self, tmp_path: Path) -> None:
        self.learn(tmp_path, "--positive", "setosa")
        before = content(tmp_path)
        self.learn(tmp_path, code=2)
        assert content(tmp_path) == before

    def test_force_replaces_an_earlier_run_and_nothing_else(self, tmp_path: Path) -> None:
        self.learn(tmp_path)
        (tmp_path / "mine.npz").write_bytes(b"mine")
        (tmp_path / "notes").mkdir()
        first = gda.Result.load(tmp_path / "setosa.npz")
        output = self.learn(tmp_path, "--force", "--positive", "setosa", "--trace-bound", 2)
        assert "class setosa against the rest" in output
        assert names(tmp_path) == files("setosa") | {"mine.npz", "notes"}
        assert (tmp_path / "mine.npz").read_bytes() == b"mine"
        assert {*record(tmp_path)["files"], "result.json"} == files("setosa")
        again = gda.Result.load(tmp_path / "setosa.npz")
        assert np.trace(again.metric) <= 2.0 < np.trace(first.metric)

    def test_a_forced_run_that_breaks_off_still_knows_the_earlier_one(self, tmp_path: Path) -> None:
        self.learn(tmp_path)
        with interrupt(3 + 2, gda.GLR, "at"), pytest.raises(SystemExit):  # 3 check the starts
            # between two runs, where on_interrupt does not reach
            app(["learn", *self.ARGUMENTS, "--force", "--out", str(tmp_path)])
        assert names(tmp_path) == files(*IRIS)
        assert {*record(tmp_path)["files"], "result.json"} == files(*IRIS)
        self.learn(tmp_path, "--force", "--positive", "virginica")
        assert names(tmp_path) == files("virginica")

    def test_force_in_a_directory_of_others_keeps_it(self, tmp_path: Path) -> None:
        (tmp_path / "result.json").write_text("[1, 2]")  # somebody else's
        (tmp_path / "mine.txt").write_text("mine")
        self.learn(tmp_path, "--force", "--positive", "setosa")
        assert names(tmp_path) == files("setosa") | {"mine.txt"}

    @posix_only
    def test_force_removes_nothing_that_it_did_not_write(self, tmp_path: Path) -> None:
        """Names and contents of files have to be those that a run has recorded."""
        out = tmp_path / "out"
        self.learn(out, "--positive", "setosa")
        listed = record(out)
        mine = {"thesis.tex": b"mine", "mine.npz": b"PK mine"}
        for name, text in mine.items():
            (out / name).write_bytes(text)
        (out / "left_ends.png").write_bytes(b"mine")  # replaced: it has the name of a picture
        (out / "folder.npz").mkdir()
        (tmp_path / "outside.npz").write_bytes((out / "setosa.npz").read_bytes())
        (out / "link.npz").symlink_to(tmp_path / "outside.npz")
        (out / "virginica.npz").write_bytes((out / "setosa.npz").read_bytes())  # of a run
        outside = ["../outside.npz", str(tmp_path / "outside.npz"), "..", ".", "", "a\0b"]
        sums = {name: hashlib.sha256(text).hexdigest() for name, text in regular(out).items()}
        of_link = hashlib.sha256((out / "link.npz").read_bytes()).hexdigest()
        listed["files"] |= dict.fromkeys([*outside, "x" * 1000, "folder.npz", "link.npz"], of_link)
        listed["files"] |= {"thesis.tex": sums["setosa.npz"], "mine.npz": None, "odd": 3}
        listed["files"]["virginica.npz"] = sums["virginica.npz"]
        (out / "result.json").write_text(json.dumps(listed))
        self.learn(out, "--force", "--positive", "setosa")
        kept = {*mine, "folder.npz", "link.npz"}
        assert names(out) == files("setosa") | kept
        assert {*record(out)["files"], "result.json"} == files("setosa")
        assert (tmp_path / "outside.npz").exists()
        assert {name: (out / name).read_bytes() for name in mine} == mine

    def test_a_file_that_another_program_replaced_meanwhile_is_kept(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.learn(tmp_path)
        finish = RunDirectory.finish

        def late(directory: RunDirectory, *accuracy: Any) -> None:
            (tmp_path / "virginica.npz").write_bytes(b"mine")
            finish(directory, *accuracy)

        monkeypatch.setattr(RunDirectory, "finish", late)
        self.learn(tmp_path, "--force", "--positive", "setosa")
        assert names(tmp_path) == files("setosa") | {"virginica.npz"}
        assert (tmp_path / "virginica.npz").read_bytes() == b"mine"

    @pytest.mark.parametrize("is_sparse", [False, True])
    def test_a_killed_run_is_gone_on_with(self, is_sparse: bool, tmp_path: Path) -> None:
        """By the same command, with the classes that are missing, and to the same end."""
        arguments: tuple[str, ...] = self.ARGUMENTS
        classes = IRIS
        if is_sparse:
            data = gda.datasets.load("iris")
            path = write_svmlight(tmp_path / "iris.svm", data.features, data.labels)
            arguments, classes = (str(path), "--tolerance", "0.03"), ("1", "2", "3")
        whole, out = tmp_path / "whole", tmp_path / "out"
        learn(*arguments, "--out", whole)
        with interrupt(2, RunDirectory, "add"), pytest.raises(SystemExit):
            app(["learn", *arguments, "--out", str(out)])
        (out / f".{classes[2]}.npz.999999999-0a1b2c3d.tmp").write_text("half")
        (out / ".gdaopt.lock").touch()  # of a process that is no more
        first = (out / f"{classes[0]}.npz").stat().st_mtime_ns
        refused = learn(*arguments, "--out", out, "--trace-bound", 2, code=2)
        assert "already holds files; pass --force" in refused
        output = learn(*arguments, "--out", out)
        assert f"{classes[0]}: there already" in output
        assert f"{classes[1]}: there already" not in output
        assert (out / f"{classes[0]}.npz").stat().st_mtime_ns == first
        assert names(out) == names(whole)
        assert unmeasured(record(out)) == unmeasured(record(whole))
        for name in classes:
            one, other = (gda.Result.load(each / f"{name}.npz") for each in (whole, out))
            np.testing.assert_array_equal(one.metric, other.metric)
            metrics = [(each / f"{name}-metric.csv").read_bytes() for each in (whole, out)]
            assert metrics[0] == metrics[1]
        again = learn(*arguments, "--out", out)
        assert all(f"{name}: there already" in again for name in classes)

    def test_force_replaces_the_samples_of_another_kind(self, tmp_path: Path) -> None:
        self.learn(tmp_path / "out", "--positive", "setosa")
        data = gda.datasets.load("iris")
        path = write_svmlight(tmp_path / "iris.svm", data.features, data.labels)
        learn(path, "--positive", "1", "--out", tmp_path / "out", "--force")
        assert names(tmp_path / "out") == files("1", samples="samples.svmlight")
        self.learn(tmp_path / "out", "--positive", "setosa", "--force")
        assert names(tmp_path / "out") == files("setosa")

    def test_a_run_that_was_killed_at_its_first_write(self, tmp_path: Path) -> None:
        (tmp_path / ".result.json.999999999-0a1b2c3d.tmp").write_text("{")
        (tmp_path / ".gdaopt.lock").touch()
        self.learn(tmp_path, "--positive", "setosa")
        assert names(tmp_path) == files("setosa")

    def test_a_damaged_result_is_learned_again(self, tmp_path: Path) -> None:
        with interrupt(2, RunDirectory, "add"), pytest.raises(SystemExit):
            app(["learn", *self.ARGUMENTS, "--out", str(tmp_path)])
        (tmp_path / "setosa.npz").write_bytes(b"PK")
        assert "there already" not in self.learn(tmp_path)
        assert names(tmp_path) == files(*IRIS)

    def test_a_full_disk(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """It ends the run with one sentence, what is finished stays, and the run can go on."""
        whole = gda.Result.save

        def save(result: gda.Result, path: Path) -> Path:
            if path.name == "virginica.npz":
                monkeypatch.setattr(os, "fsync", full)
            return whole(result, path)

        def full(handle: int) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(gda.Result, "save", save)
        error = self.learn(tmp_path, code=2)
        reason = os.strerror(errno.ENOSPC)
        assert error == f"error: cannot write {tmp_path / 'virginica.npz'}: {reason}"
        assert set(record(tmp_path)["classes"]) == {"setosa", "versicolor"}
        monkeypatch.undo()
        assert "versicolor: there already" in self.learn(tmp_path)
        assert set(record(tmp_path)["classes"]) == set(IRIS)

    @pytest.mark.parametrize("below", [".", "out", "deep/er"])
    def test_one_that_cannot_be_written_to(self, tmp_path: Path, below: str) -> None:
        """At or below a regular file: permissions would not stop root."""
        (tmp_path / "file").write_text("mine")
        with interrupt(1, Program, "solve"):
            error = self.learn(tmp_path / "file" / below, "--force", code=2)
        assert error.startswith(f"error: cannot write to {tmp_path / 'file' / below}: ")
        assert error.endswith("; choose another --out")
        assert content(tmp_path) == {"file": b"mine"}


class TestSparseFiles:
    """An svmlight file has the same metrics as the table of its samples, and no dense copy."""

    @staticmethod
    def samples(n_features: int) -> tuple[FloatArray, Any]:
        rng = np.random.default_rng(3)
        labels = np.tile(["-1", "1"], 7)
        X = rng.integers(1, 9, (14, n_features)) / 8 * (rng.random((14, n_features)) < 0.5)
        X[:, :5] += (labels == "1")[:, None]
        return X, labels

    @pytest.mark.parametrize(("scale", "zero_based"), [("unit", False), ("none", True)])
    @pytest.mark.usefixtures("no_pictures")
    def test_the_metric_is_that_of_the_table(
        self, scale: str, zero_based: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(base, "MOST_DENSE", 10)  # a table takes the same way
        X, labels = self.samples(20)
        first = int(not zero_based)
        lines = svmlight_lines(csr_array(X), labels, first)
        (tmp_path / "words.svm").write_text("".join(lines))
        table = pd.DataFrame(X, columns=[str(k + first) for k in range(20)]).assign(label=labels)
        table.to_csv(tmp_path / "words.csv", index=False)
        found = {}
        for kind in ("csv", "svm"):
            out = tmp_path / kind
            arguments = ("--scale", scale, "--tolerance", 1e-10, "--out", out)
            said = learn(tmp_path / f"words.{kind}", *arguments, "--verbose")
            assert ("not centred" in said) == (kind == "svm")
            found[kind] = pd.read_csv(
                out / "-1-metric.csv", index_col=["feature", "other feature"], dtype=str
            ).astype(float)["entry"]
            metric = gda.Result.load(out / "-1.npz").sparse_metric.tocoo()
            entries = {(i, j): x for i, j, x in zip(*metric.coords, metric.data, strict=True)}
            written = found[kind].to_dict()
            for places, entry in written.items():
                one, other = np.array(places, dtype=int) - first
                assert entries[one, other] == entry
            assert 2 * len(written) - 20 == len(entries)
        scale_of = found["csv"].abs().max()
        both = pd.concat(found, axis=1).fillna(0.0)
        assert (both["csv"] - both["svm"]).abs().max() <= 1e-9 * scale_of
        assert record(tmp_path / "svm")["scaling"]["means"] is None
        assert record(tmp_path / "svm")["features"] == [str(k + first) for k in range(20)]
        np.testing.assert_allclose(
            record(tmp_path / "svm")["scaling"]["spreads"],
            record(tmp_path / "csv")["scaling"]["spreads"],
            rtol=1e-12,
        )

    def test_pictures_of_many_features(self, tmp_path: Path) -> None:
        X, labels = self.samples(60)
        path = write_svmlight(tmp_path / "words.svm.gz", X, labels)
        learn(path, "--tolerance", 1e-3, "--out", tmp_path / "out")
        assert names(tmp_path / "out") == files("2", samples="samples.svmlight")
        run("plot", tmp_path / "out", "--out", tmp_path / "again")
        assert imread(tmp_path / "again" / "discs.png")[..., :3].std() > 0.02

    @pytest.mark.slow
    @pytest.mark.usefixtures("no_pictures")
    def test_no_copy_is_dense(self, tmp_path: Path) -> None:
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


class TestTables:
    @pytest.mark.parametrize("solver", ["ECOS", "analytic", "highs"])
    @pytest.mark.filterwarnings("ignore::gdaopt.errors.InaccurateSolutionWarning")
    @pytest.mark.usefixtures("no_pictures")
    def test_a_file_of_ones_own(self, tmp_path: Path, solver: str) -> None:
        if solver == "ECOS":
            pytest.importorskip("ecos")
        data = write_csv(tmp_path / "own data.csv", ["yes", "no"])
        out = tmp_path / "out"
        arguments = ("--label", "kind", "--positive", "yes", "--solver", solver, "--out", out)
        output = learn(data, *arguments, "--method", "alternating", "--verbose")
        canonical = "analytic" if solver == "analytic" else solver.upper()
        assert (
            "own data: 24 samples, K = 3 features z-scored and divided by √(2K) (unit), class yes "
            "against class no" in output
        )
        assert f"solver {canonical}" in output
        assert names(out) == files("yes")
        result = gda.Result.load(out / "yes.npz")
        assert result.status == "stalled"
        assert result.objective < result.trace[0].objective
        assert canonical in result.trace.column("solver")
        assert record(out)["options"]["solver"] == canonical

    @pytest.mark.usefixtures("no_pictures")
    def test_the_last_column_is_the_label_by_default(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        Path("own.csv").write_text("a,b,class\n1,2,1\n2,1,0\n4,4,1\n5,3,0\n")
        learn("own.csv", *ANALYTIC)
        assert names(Path("gdaopt-own")) == files("1")  # two classes are one problem

    AWKWARD = ("[/red]", ":bug:", "$\\q$", "x" * 300)  # to print and to draw

    @pytest.mark.usefixtures("no_pictures")
    def test_labels_that_are_no_file_names_and_no_markup(self, tmp_path: Path) -> None:
        labels = ["a/b", "a b", "A B", "../..", ".hidden", "ä.1", *self.AWKWARD]
        data = write_csv(tmp_path / "[bold].csv", labels, 40)
        out = tmp_path / "out"
        output = learn(data, "--label", "kind", "--out", out, *ANALYTIC)
        content = record(out)
        assert set(content["classes"]) == set(labels)
        assert (
            names(out)
            == {*content["files"], "result.json"}
            == files(*(entry["file"].removesuffix(".npz") for entry in content["classes"].values()))
        )
        assert len({name.casefold() for name in names(out)}) == 3 * len(labels) + 6
        assert names(tmp_path) == {"[bold].csv", "out"}
        assert content["classes"]["ä.1"]["file"] == "ä.1.npz"
        for label, entry in content["classes"].items():
            assert gda.Result.load(out / entry["file"]).objective == entry["objective"]
            shown = f"{label}: no block improves".replace(" ", "")  # long ones are wrapped
            assert shown in output.replace(" ", "")
        assert "[bold]: 40 samples" in output
        assert (
            "the first 6 of 10 runs where it has panels for each; gdaopt plot --only NAME" in output
        )

    @pytest.mark.slow
    def test_labels_that_are_no_mathematics_are_drawn(self, tmp_path: Path) -> None:
        data = write_csv(tmp_path / "[bold] $\\q$.csv", [*self.AWKWARD])
        out = tmp_path / "out"
        learn(data, "--label", "kind", "--out", out, *ANALYTIC)
        assert len(record(out)["classes"]) == len(self.AWKWARD)
        assert {*PICTURES} <= names(out)

    @pytest.mark.usefixtures("no_pictures")
    def test_without_scaling(self, tmp_path: Path) -> None:
        data = write_csv(tmp_path / "own.csv", ["yes", "no"])
        arguments = ("--label", "kind", "--positive", "no", *ANALYTIC)
        output = learn(data, *arguments, "--verbose", "--scale", "none", "--out", tmp_path / "none")
        assert "K = 3 features not scaled (none), class no" in output
        learn(data, *arguments, "--out", tmp_path / "unit")
        first, second = (
            gda.Result.load(tmp_path / scale / "no.npz").trace[0].objective
            for scale in ("none", "unit")
        )
        assert first != pytest.approx(second)


@pytest.mark.usefixtures("no_pictures")
class TestOptions:
    def test_they_reach_the_problem(self, tmp_path: Path) -> None:
        options: dict[str, Any] = {
            **{"positive": "virginica", "solver": "analytic", "trace_bound": 3.5},
            **{"min_eigenvalue": 0.01, "edge_floor": 0.02, "tolerance": 1e-3, "time_limit": 60.0},
        }
        arguments = [x for k, v in options.items() for x in (f"--{k.replace('_', '-')}", v)]
        output = learn(
            "iris", *arguments, "--method", "alternating", "--verbose", "--out", tmp_path
        )
        assert "trace bound C = 3.5, smallest eigenvalue ρ = 0.01" in output
        assert "solver analytic, edge floor ε = 0.02" in output
        assert options.items() <= record(tmp_path)["options"].items()
        metric = gda.Result.load(tmp_path / "virginica.npz").metric
        feasible_set = gda.GraphMetrics(3.5, 0.01)
        assert feasible_set.violations(metric) == ()
        assert gda.GraphMetrics(0.02 * 4 / 1e-9 * 0.999).n_components(metric) == 1

    def test_edges_keep_to_a_file(self, tmp_path: Path) -> None:
        file = tmp_path / "edges.csv"
        file.write_text(
            '"petal length (cm)",petal width (cm)\n\nsepal length (cm), petal length (cm)\n'
        )
        arguments = ("--positive", "setosa", "--method", "certified", "--out", tmp_path / "out")
        output = learn("iris", "--edges", file, *arguments, "--verbose")
        assert "set graph with at most 2 edges, trace bound" in output
        assert record(tmp_path / "out")["options"]["edges"] == str(file)
        result = gda.Result.load(tmp_path / "out" / "setosa.npz")
        assert result.feasible_set == gda.GraphMetrics(4.0, 1e-6, edges=[(2, 3), (0, 2)])
        assert result.status == "converged"

    def test_signed_graphs_of_the_best_colours(self, tmp_path: Path) -> None:
        options = ("--metrics", "sdd", "--method", "balanced", "--positive", "versicolor")
        assert "set sdd, trace bound" in learn("iris", *options, "--verbose", "--out", tmp_path)
        result = gda.Result.load(tmp_path / "versicolor.npz")
        assert result.feasible_set == gda.SDDMetrics(4.0)
        assert result.colors is not None
        signs = np.triu(result.metric * np.outer(result.colors, result.colors), 1)
        assert signs.min() < 0 == signs.max()
        assert np.triu(result.metric, 1).max() > 0

    @pytest.mark.parametrize(
        ("text", "arguments", "message"),
        [
            ("petal length,petal width (cm)\n", (), r"did you mean 'petal length \(cm\)'"),
            ("a,b,c\n", (), "line 1 of .* has 3 names, not 2"),
            ("petal width (cm),petal width (cm)\n", (), "with itself"),
            (
                "",
                ("--metrics", "diagonal"),
                "edges go with the sets graph, signed, .*and not with diag",
            ),
            (None, (), "cannot read the edges of"),
        ],
    )
    def test_bad_edges_write_nothing(
        self, tmp_path: Path, text: str | None, arguments: tuple[str, ...], message: str
    ) -> None:
        file, out = tmp_path / "edges.csv", tmp_path / "out"
        if text is not None:
            file.write_text(text)
        output = learn("iris", "--edges", file, "--out", out, *arguments, code=2)
        assert re.search(message, output)
        assert not out.exists()

    @pytest.mark.parametrize(
        ("method", "solver", "tolerance", "status"),
        [
            ("joint", "HIGHS", 1e-5, "stalled"),
            ("certified", "analytic", 1e-6, "converged"),
            ("frank-wolfe", "analytic", 1e-6, "converged"),
        ],
    )
    def test_methods(
        self, method: str, solver: str, tolerance: float, status: str, tmp_path: Path
    ) -> None:
        """Each with its own solver and tolerance, unless they are given."""
        arguments = ("--positive", "setosa", "--method", method, "--verbose", "--out", tmp_path)
        output = learn("iris", *arguments)
        assert f"method {method}, solver {solver}" in output
        options, entry = record(tmp_path)["options"], record(tmp_path)["classes"]["setosa"]
        assert (options["method"], options["solver"]) == (method, solver)
        assert (options["tolerance"], entry["status"]) == (tolerance, status)
        assert (entry["relative_gap"] <= tolerance) == (status == "converged")
        assert f"setosa {entry['objective']:.6g} {entry['relative_gap']:.1e} " in output
        result = gda.Result.load(tmp_path / "setosa.npz")
        assert result.method == method
        assert (result.atoms is None) == (method == "joint")

    def test_time_limit(self, tmp_path: Path) -> None:
        output = learn("iris", "--time-limit", 1e-6, "--out", tmp_path)
        assert output.count(": the time limit is reached, and a longer one may lead further; ") == 3
        assert names(tmp_path) == files(*IRIS)
        assert gda.Result.load(tmp_path / "setosa.npz").iterations == 0

    def test_errors_go_to_stderr_in_one_line(self, tmp_path: Path) -> None:
        process = subprocess.run(
            command("learn", "irsi"),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (process.returncode, process.stdout) == (2, "")
        assert len(process.stderr.splitlines()) == 1
        assert "'irsi'; did you mean 'iris'?" in process.stderr
        assert names(tmp_path) == set()

    def test_it_says_what_it_does_from_the_start(self, tmp_path: Path) -> None:
        """Before the first evaluation of the objective, which takes minutes for many samples."""
        said: list[str] = []

        def say(_: Progress, task: Any, *, description: str) -> None:
            said.append(description)

        with interrupt(1, gda.GLR, "at"), pytest.MonkeyPatch.context() as patch:
            patch.setattr(Progress, "update", say)
            result = CliRunner().invoke(app, ["learn", "iris", "--out", str(tmp_path)])
        assert result.exit_code != 0
        assert said == [
            "reading iris",
            "setosa: building the objective",
            "setosa: evaluating the objective at the start",
        ]
        assert result.stdout.startswith("iris: 150 samples, 4 features")
        assert names(tmp_path) == set()

    def test_many_samples(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
        with interrupt(1, RunDirectory, "__enter__"):
            evaluated.clear()
            arguments = (*options, "--max-samples", "all", "--out", tmp_path / "all")
            output = learn(tmp_path / "big.csv", *arguments, code=130)
        assert "20000 samples, 2 features" in output
        assert set(evaluated) == {1000}

    def test_without_time_for_eigenvalues(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Of thousands of features they take long: a cell is empty, and pictures leave them out."""
        monkeypatch.setattr(spectrum, "_LARGE", 1)
        monkeypatch.setattr(spectrum, "_seconds", lambda: 1e12)
        options = ("--positive", "setosa", *ANALYTIC, "--time-limit", 60)
        learn("iris", *options, "--out", tmp_path)
        result = gda.Result.load(tmp_path / "setosa.npz")
        assert {row.lambda_min for row in result.trace} == {None}
        assert np.isnan(result.trace.left_ends).all()
        assert record(tmp_path)["classes"]["setosa"]["lambda_min"] is None
        assert names(tmp_path) == files("setosa")
        run("plot", tmp_path, "--out", tmp_path / "again")


@pytest.mark.usefixtures("no_pictures")
class TestEnds:
    @pytest.mark.parametrize("stage", ["reading", "checking the starts"])
    def test_interrupted_before_anything_is_written(self, tmp_path: Path, stage: str) -> None:
        target, method = {"reading": (Dataset, "signal"), "checking the starts": (gda.GLR, "at")}[
            stage
        ]
        with interrupt(1, target, method):
            output = learn("iris", "--out", tmp_path / "out", code=130)
        assert output.endswith("interrupted: nothing was written")
        assert names(tmp_path) == set()

    @pytest.mark.parametrize(
        ("target", "method", "call", "n_learned"),
        [
            (LearningOptions, "problem", 1, 0),
            (LearningOptions, "problem", 2, 1),
            (gda.GLR, "at", 1, 0),
            (gda.GLR, "at", 2, 0),
        ],
    )
    def test_interrupted_at_the_start_of_a_class(
        self, tmp_path: Path, target: type, method: str, call: int, n_learned: int
    ) -> None:
        """There is no state to return yet, and a sentence says what is kept."""
        starts = 3  # that are checked before the first run
        with interrupt(starts + call, target, method):
            output = learn("iris", *ANALYTIC, "--out", tmp_path, code=130)
        assert output.endswith(
            f"interrupted: {n_learned} of 3 classes are learned and kept in {tmp_path}; "
            "run the same command again to go on"
        )
        assert len(record(tmp_path)["classes"]) == n_learned
        again = learn("iris", *ANALYTIC, "--out", tmp_path)
        assert again.count("there already") == n_learned

    def test_interrupted_in_the_middle(self, tmp_path: Path) -> None:
        learn("iris", *ANALYTIC, "--out", tmp_path / "whole")
        steps = record(tmp_path / "whole")["classes"]["setosa"]["oracle_calls"]
        out = tmp_path / "out"
        with interrupt(steps + 10, Program, "solve"):
            output = learn("iris", *ANALYTIC, "--out", out, code=130)
        assert "versicolor: stopped, and the same command goes on with it; at most" in output
        assert "Accuracy: not measured, as not all runs ended well." in output
        assert names(out) == files("setosa", "versicolor")
        classes = record(out)["classes"]
        assert {name: entry["status"] for name, entry in classes.items()} == {
            "setosa": "stalled",
            "versicolor": "interrupted",
        }
        result = gda.Result.load(out / "versicolor.npz")
        assert (result.status, result.iterations) == ("interrupted", 9)
        assert gda.GraphMetrics(4.0).contains(result.metric)

    @posix_only
    @pytest.mark.slow
    def test_interrupted_by_a_signal(self, tmp_path: Path) -> None:
        arguments = ("learn", "breast_cancer", *ANALYTIC, "--tolerance", 0, "--out", "out")
        with subprocess.Popen(
            command(*arguments),
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        ) as process:
            deadline = time.monotonic() + 120
            while not (tmp_path / "out").exists() and time.monotonic() < deadline:
                time.sleep(0.05)
            time.sleep(2.5)
            process.send_signal(signal.SIGINT)
            output, error = process.communicate(timeout=120)
        assert process.returncode == 130, error
        assert "malignant: stopped, and the same command goes on with it; " in output
        assert "Traceback" not in error
        assert names(tmp_path / "out") == files("malignant")
        assert gda.Result.load(tmp_path / "out" / "malignant.npz").status == "interrupted"

    def test_solver_failure(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(*_: Any, **__: Any) -> None:
            raise gda.errors.SolverFailedError("HIGHS fell over")

        find_solver("HIGHS")  # is tried while it stands
        monkeypatch.setattr("gdaopt.backends.cvxpy.solve_program", fail)
        output = learn("iris", "--method", "alternating", "--out", tmp_path, code=1)
        assert output.count("solver_failed (after step 0: HIGHS fell over; let another") == 3
        assert names(tmp_path) == files(*IRIS)
        assert gda.Result.load(tmp_path / "setosa.npz").status == "solver_failed"
