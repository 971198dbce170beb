"""``gdaopt bench``: what it prints, and the errors of its options."""

import re
from functools import partial
from pathlib import Path

import pandas as pd
import pytest

from gdaopt.bench import study
from tests.cli.cases import run
from tests.studies.cases import InProcess


def test_a_bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "TaskWorkers", InProcess)
    monkeypatch.setattr(study, "PICTURES", {})
    words = "--data iris,random --sizes 5 --solvers highspy,highs:solver=ipm --starts hot"
    words += " --tolerances 1e-6 --runs alternating --most 2 --programs diagonal --out"
    command = ["bench", *words.split(), tmp_path / "out"]
    shown = run(*command)
    assert "highspy: 4 answers verified, 0 wrong, 0 called infeasible" in shown
    told = re.findall(r"(\S+): \d+ answers verified", shown)
    assert told == ["analytic", "highspy", "HIGHS:solver=ipm"]  # in the order of their names
    assert "iris: HIGHS:solver=ipm, alternating, tolerance 1e-06: " in shown
    # Repeats lie apart: the solvers take turns.
    turns = re.findall(r"random-5: ([\w:=]+), [\w-]+, repeat (\d)", shown)
    assert turns == [(solver, n) for n in "123" for solver in told]
    page = (tmp_path / "out" / "bench.md").read_text(encoding="utf-8")
    assert "## random-5, diagonal programs, tolerance 1e-06" in page
    assert "## Whole runs" in page
    summary = pd.read_csv(tmp_path / "out" / "summary.csv")
    options = summary["options"].fillna("")  # pandas 2.3 reads no text as NaN
    assert (options.str.contains("solver=ipm") == (summary["solver"] == told[2])).all()
    for table in ("programs", "summary", "runs"):
        path = tmp_path / "out" / f"{table}.csv"
        assert list(pd.read_csv(path)) == list(pd.read_parquet(path.with_suffix(".parquet")))
    assert "written to" in run(*command, "--format", "latex")
    tables = (tmp_path / "out" / "bench.tex").read_text(encoding="utf-8")
    assert tables.count(r"\toprule") == page.count(" programs, tolerance ")
    assert r"HIGHS:solver=ipm & hot & 100.0 & 1.0e-06 &" in tables
    assert "unknown --format 'html'" in run(*command, "--format", "html", code=2)


def test_the_remedies_of_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a table lacks is answered with options, which were those of other commands."""
    monkeypatch.setattr(study, "TaskWorkers", InProcess)
    monkeypatch.setattr(study, "PICTURES", {})
    rows = [f"{k}\t1,{k}00\t{'' if k == 5 else k * k}\t{'xy'[k % 2]}" for k in range(1, 10)]
    (tmp_path / "t.csv").write_text(
        "\n".join(["note\ta\tb\tkind", *rows]).replace("3\t", "red\t", 1)
    )
    command = [
        *("bench", "--data", tmp_path / "t.csv", "--solvers", "highspy", "--starts", "hot"),
        *("--tolerances", "1e-6", "--runs", "none", "--most", "2", "--out", tmp_path / "out"),
    ]
    said = run(*command, code=2)
    for part in ('pass --decimal "," if', "--impute mean", "--drop note,a,b"):
        assert part in said
    remedies = ("--drop", "note", "--decimal", ",", "--impute", "mean")
    assert "highspy: " in run(*command, *remedies)


def test_cells_that_died_are_failures_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(study, "PICTURES", {})
    options = "--data random --sizes 5 --solvers highspy --runs none --programs diagonal"
    options += " --starts hot --most 2 --tolerances 1e-6 --out"
    command = ["bench", *options.split(), tmp_path / "out"]
    monkeypatch.setattr(study, "TaskWorkers", partial(InProcess, dies="highspy"))
    shown = run(*command, code=1)
    assert "highspy: 0 answers verified" in shown
    assert "run the same command again" in shown
    assert "SIGSEGV" in (tmp_path / "out" / "programs.csv").read_text(encoding="utf-8")
    monkeypatch.setattr(study, "TaskWorkers", InProcess)
    assert "highspy: 2 answers verified" in run(*command)
