"""``gdaopt bench``: what it prints, and the errors of its options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gdaopt.bench import study
from gdaopt.studies.process_per_task import ProcessPerTask
from tests.cli.cases import run


class _Here:
    """An executor that computes the tasks in this process: a process each takes seconds."""

    def __init__(self, jobs: int = 1, deadline: float | None = None) -> None:
        ProcessPerTask(jobs, deadline)

    def run(self, directory: Any, tasks: Any, begun: Any) -> Any:
        for key, task in tasks.items():
            begun(key)
            row = task.compute(directory.stem(key))
            directory.write_row(key, row)
            yield key, row


def test_a_bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "ProcessPerTask", _Here)
    monkeypatch.setattr(study, "PICTURES", {})
    command = [
        *("bench", "--data", "iris,random", "--sizes", "5", "--solvers", "highspy,highs"),
        *("--starts", "hot", "--tolerances", "1e-6", "--runs", "alternating", "--most", "2"),
        *("--programs", "diagonal", "--out", tmp_path / "out"),
    ]
    shown = run(*command)
    assert "highspy: 4 answers verified, 0 wrong, 0 called infeasible" in shown
    assert "iris: HIGHS, alternating, tolerance 1e-06: " in shown
    page = (tmp_path / "out" / "bench.md").read_text(encoding="utf-8")
    assert "## random-5, diagonal programs, tolerance 1e-06" in page
    assert "## Whole runs" in page
    assert "written to" in run(*command)


def test_cells_that_died_are_failures_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Dying(_Here):
        def run(self, directory: Any, tasks: Any, begun: Any) -> Any:
            for key, task in tasks.items():
                if "highspy" in key:
                    yield key, task.died("its process was killed by SIGSEGV")
                else:
                    yield from super().run(directory, {key: task}, begun)

    monkeypatch.setattr(study, "PICTURES", {})
    command = [
        *("bench", "--data", "random", "--sizes", "5", "--solvers", "highspy", "--runs", "none"),
        *("--programs", "diagonal", "--starts", "hot", "--most", "2", "--tolerances", "1e-6"),
        *("--out", tmp_path / "out"),
    ]
    monkeypatch.setattr(study, "ProcessPerTask", Dying)
    shown = run(*command, code=1)
    assert "highspy: 0 answers verified" in shown
    assert "run the same command again" in shown
    assert "SIGSEGV" in (tmp_path / "out" / "programs.csv").read_text(encoding="utf-8")
    monkeypatch.setattr(study, "ProcessPerTask", _Here)
    assert "highspy: 2 answers verified" in run(*command)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--data", "whine"), "unknown data set"),
        (("--data", ","), "no data are given"),
        (("--sizes", "3", "--data", "random"), "--sizes must be at least 5, got 3"),
        (("--sizes", "a"), "--sizes must be numbers separated by commas, got 'a'"),
        (("--tolerances", "1e-6;1e-4"), "--tolerances must be numbers separated by commas"),
        (("--programs", "diag"), "unknown program 'diag'"),
        (("--solvers", "highs,highs py"), "unknown solver"),
        (("--repeats", "0"), "repeats must be at least 1"),
    ],
)
def test_bad_options(options: tuple[str, ...], says: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    given = ("bench", "--data", "iris", "--solvers", "highspy", *options, "--out", out)
    assert says in run(*given, code=2)
    assert not out.exists()
