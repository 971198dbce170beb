"""The directory of `gdaopt learn`: what is replaced, what is gone on with, and how runs end."""

import errno
import hashlib
import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.backends.registry import find_solver
from gdaopt.cli.app import app
from gdaopt.studies import learned_study, measuring, pictures
from gdaopt.studies.study_directory import StudyDirectory
from tests.cli.cases import (
    ANALYTIC,
    IRIS,
    PAPER,
    command,
    content,
    files,
    full_disk,
    interrupt,
    learn,
    record,
    run,
    unmeasured,
    write_svmlight,
)
from tests.process_cases import posix_only, soon
from tests.studies.cases import names

pytestmark = pytest.mark.usefixtures("no_pictures")

ARGUMENTS = ("iris", *PAPER, *ANALYTIC, "--tolerance", "0.03")  # a few steps


def learn_iris(out: Path, *arguments: object, code: int = 0) -> str:
    return learn(*ARGUMENTS, "--out", out, *arguments, code=code)


def sparse_iris(tmp_path: Path) -> Path:
    data = gda.datasets.load("iris")
    return write_svmlight(tmp_path / "iris.svm", data.features, data.labels)


def listed(out: Path) -> set[str]:
    """Return the files that the report says are the run's, and those of the study."""
    return {*record(out)["files"], "result.json", "study.json", "tasks"}


# --- What is there already -----------------------------------------------------------------------


def test_a_forced_run_that_breaks_off_still_knows_the_earlier_one(tmp_path: Path) -> None:
    learn_iris(tmp_path)
    with interrupt(3, learned_study, "figures"), pytest.raises(SystemExit):
        app(["learn", *ARGUMENTS, "--force", "--out", str(tmp_path)])
    assert names(tmp_path) == listed(tmp_path) == files(*IRIS)
    learn_iris(tmp_path, "--force", "--positive", "virginica")
    assert names(tmp_path) == files("virginica")


@pytest.mark.parametrize(
    ("options", "left"),
    [
        (["--force"], {"result.json": "[1, 2]"}),  # somebody else's
        ([], {".result.json.999999999-0a1b2c3d.tmp": "{", ".gdaopt.lock": ""}),
    ],
    ids=["records of others", "what a run left that was killed at its first write"],
)
def test_is_replaced(options: list[str], left: dict[str, str], tmp_path: Path) -> None:
    for name, text in left.items():
        (tmp_path / name).write_text(text)
    learn_iris(tmp_path, *options, "--positive", "setosa")
    assert names(tmp_path) == files("setosa")


@posix_only
def test_force_removes_nothing_that_it_did_not_write(tmp_path: Path) -> None:
    """Names and contents of files have to be those that a run has recorded."""
    out = tmp_path / "out"
    learn_iris(out, "--positive", "setosa")
    said = record(out)
    mine = {"thesis.tex": b"mine", "mine.npz": b"PK mine"}
    for name, text in mine.items():
        (out / name).write_bytes(text)
    (out / "left_ends.png").write_bytes(b"mine")  # replaced: it has the name of a picture
    result = (out / "setosa.npz").read_bytes()
    digest = hashlib.sha256(result).hexdigest()
    (tmp_path / "outside.npz").write_bytes(result)
    (out / "link.npz").symlink_to(tmp_path / "outside.npz")
    (out / "virginica.npz").write_bytes(result)  # of a run
    (out / "folder.npz").mkdir()
    outside = ["../outside.npz", str(tmp_path / "outside.npz"), "..", ".", "", "a\0b", "x" * 1000]
    own = ["folder.npz", "link.npz", "thesis.tex", "virginica.npz"]
    said["files"] |= dict.fromkeys([*outside, *own], digest) | {"mine.npz": None, "odd": 3}
    (out / "result.json").write_text(json.dumps(said))
    learn_iris(out, "--force", "--positive", "setosa")
    assert names(out) == files("setosa") | {*mine, "folder.npz", "link.npz"}
    assert listed(out) == files("setosa")
    assert (tmp_path / "outside.npz").exists()
    assert {name: (out / name).read_bytes() for name in mine} == mine


def test_a_file_that_another_program_replaced_meanwhile_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learn_iris(tmp_path)
    draw = pictures.write_pictures

    def late(*arguments: Any, **options: Any) -> None:
        (tmp_path / "virginica.npz").write_bytes(b"mine")
        draw(*arguments, **options)

    monkeypatch.setattr(learned_study, "write_pictures", late)
    learn_iris(tmp_path, "--force", "--positive", "setosa")
    assert names(tmp_path) == files("setosa") | {"virginica.npz"}
    assert (tmp_path / "virginica.npz").read_bytes() == b"mine"


def test_force_replaces_the_samples_of_another_kind(tmp_path: Path) -> None:
    path, out = sparse_iris(tmp_path), tmp_path / "out"
    learn_iris(out, "--positive", "setosa")
    learn(path, "--positive", "1", "--out", out, "--force")
    assert names(out) == files("1", samples="samples.svmlight")
    learn_iris(out, "--positive", "setosa", "--force")
    assert names(out) == files("setosa")


# --- What is gone on with ------------------------------------------------------------------------


@pytest.mark.parametrize("is_sparse", [False, True])
def test_a_killed_run_is_gone_on_with(is_sparse: bool, tmp_path: Path) -> None:
    """By the same command, with the classes that are missing, and to the same end."""
    arguments: tuple[str, ...] = ARGUMENTS
    classes = IRIS
    if is_sparse:
        arguments = (str(sparse_iris(tmp_path)), *PAPER, "--tolerance", "0.03")
        classes = ("1", "2", "3")
    whole, out = tmp_path / "whole", tmp_path / "out"
    learn(*arguments, "--out", whole)
    with interrupt(2, StudyDirectory, "write_row"), pytest.raises(SystemExit):
        app(["learn", *arguments, "--out", str(out)])
    (out / f".{classes[2]}.npz.999999999-0a1b2c3d.tmp").write_text("half")
    (out / ".gdaopt.lock").touch()  # of a process that is no more
    first = (out / f"{classes[0]}.npz").stat().st_mtime_ns
    refused = learn(*arguments, "--out", out, "--trace-bound", 2, code=2)
    assert 'trace_bound is "K" there and 2.0 now; pass --force to replace' in refused
    output = learn(*arguments, "--out", out)
    assert f"{classes[0]}: there already" in output
    assert f"{classes[1]}: there already" not in output
    assert (out / f"{classes[0]}.npz").stat().st_mtime_ns == first
    assert names(out) == names(whole)
    assert unmeasured(record(out)) == unmeasured(record(whole))
    for name in classes:
        one, other = (gda.Result.load(each / f"{name}.npz") for each in (whole, out))
        np.testing.assert_array_equal(one.metric, other.metric)
        assert content(out)[f"{name}-metric.csv"] == content(whole)[f"{name}-metric.csv"]
    (out / f"{classes[0]}.npz").write_bytes(b"PK")  # is learned again
    again = learn(*arguments, "--out", out)
    assert [f"{name}: there already" in again for name in classes] == [False, True, True]
    assert unmeasured(record(out)) == unmeasured(record(whole))


def test_a_full_disk(tmp_path: Path) -> None:
    """It ends the run with one sentence, what is finished stays, and the run can go on."""
    with full_disk(3, gda.Result, "save"):
        error = learn_iris(tmp_path, code=2)
    file = tmp_path / "virginica.npz"
    assert error == f"error: cannot write {file}: {os.strerror(errno.ENOSPC)}"
    assert set(record(tmp_path)["metrics"]) == {"setosa", "versicolor"}
    assert "versicolor: there already" in learn_iris(tmp_path)
    assert set(record(tmp_path)["metrics"]) == set(IRIS)


# --- How runs end --------------------------------------------------------------------------------


@pytest.mark.parametrize("n_learned", [0, 1])
def test_interrupted_while_a_metric_is_learned(tmp_path: Path, n_learned: int) -> None:
    """A sentence says what is kept, and the same command goes on."""
    with interrupt(1 + n_learned, learned_study, "figures"):
        output = learn_iris(tmp_path, code=130)
    assert output.endswith(
        f"interrupted: {n_learned} of 3 metrics are learned and kept in {tmp_path}; "
        "run the same command again to go on"
    )
    assert len(record(tmp_path)["metrics"]) == n_learned
    assert learn_iris(tmp_path).count("there already") == n_learned


def test_interrupted_while_it_is_measured(tmp_path: Path) -> None:
    """The folds that were judged are kept."""
    with interrupt(3, measuring, "without_learning"):
        output = run("learn", *ARGUMENTS, "--out", tmp_path, code=130)
    assert "3 of 3 metrics are learned and kept" in output
    judged = len(list((tmp_path / "tasks").glob("fold-*.json")))
    assert judged == 2
    with interrupt(4, measuring, "without_learning"):  # is not called so often
        assert "% of 150 samples have" in run("learn", *ARGUMENTS, "--out", tmp_path)


@posix_only
@pytest.mark.slow
def test_interrupted_by_a_signal(tmp_path: Path) -> None:
    arguments = command(
        "learn", "breast_cancer", *PAPER, *ANALYTIC, "--tolerance", 0, "--out", "out"
    )
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(arguments, cwd=tmp_path, encoding="utf-8", **pipes) as process:
        soon((tmp_path / "out").exists, seconds=120)
        time.sleep(2.5)
        process.send_signal(signal.SIGINT)
        output, error = process.communicate(timeout=120)
    assert process.returncode == 130, error
    assert "0 of 1 metrics are learned and kept in out" in output
    assert "Traceback" not in error


def test_solver_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise gda.errors.SolverFailedError("HIGHS fell over")

    find_solver("HIGHS")  # is tried while it stands
    monkeypatch.setattr("gdaopt.backends.cvxpy.solve_program", fail)
    output = learn("iris", *PAPER, "--method", "alternating", "--out", tmp_path, code=1)
    assert output.count("solver_failed (after step 0: HIGHS fell over; let another") == 3
    assert names(tmp_path) == files(*IRIS)
    assert gda.Result.load(tmp_path / "setosa.npz").status == "solver_failed"
