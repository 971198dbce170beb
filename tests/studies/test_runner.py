"""The resumable runner: what it keeps, what it runs again, what it refuses."""

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest

from gdaopt.studies.runner import Task, run_tasks
from gdaopt.studies.task_workers import TaskWorkers
from gdaopt.support.processes import peak_memory
from tests.process_cases import is_alive, posix_only
from tests.studies import task_cases
from tests.studies.cases import content, finished, squares, study


def noting(count: int, notes: Path) -> dict[str, Task]:
    """Return tasks that leave notes of their processes."""
    return {
        f"n{n}": Task(task_cases.note_pid, (n, notes), {"number": n}, (".txt",))
        for n in range(count)
    }


def test_rows_files_and_progress(tmp_path: Path) -> None:
    directory = study(tmp_path)
    told: list[tuple[str, int, int, bool]] = []

    def progress(key: str, done: int, total: int, row: Mapping[str, Any] | None) -> None:
        told.append((key, done, total, row is None))

    for name in ("n2.txt", ".n2.txt.999999999-0a1b2c3d.tmp"):  # of a try that was killed
        (directory.tasks / name).write_text("half")
    rows = run_tasks(directory, squares(2, 3), TaskWorkers(), progress=progress)
    assert list(rows.items()) == [("n2", finished(2)), ("n3", finished(3))]
    assert told[:2] == [("n2", 0, 2, True), ("n2", 1, 2, False)]
    assert told[2:] == [("n3", 1, 2, True), ("n3", 2, 2, False)]
    assert content(directory.tasks).keys() == {"n2.json", "n2.txt", "n3.json", "n3.txt"}
    assert (directory.row("n2"), directory.row("n4")) == (finished(2), None)


@pytest.mark.slow
@posix_only
def test_a_process_lasts_until_a_task_ends_it(tmp_path: Path) -> None:
    tasks = noting(4, tmp_path)
    late = {"late": Task(task_cases.hold_lock, (tmp_path / "pid",))}
    tasks = {"n0": tasks["n0"], "n1": tasks["n1"], **late, "n2": tasks["n2"], "n3": tasks["n3"]}
    run_tasks(study(tmp_path / "out"), tasks, TaskWorkers(deadline=10))
    pids = [(tmp_path / f"n{n}").read_text() for n in range(4)]
    assert pids[0] == pids[1] != pids[2] == pids[3]


def test_nothing_missing_starts_nothing(tmp_path: Path) -> None:
    directory = study(tmp_path)
    directory.write_row("n1", finished(1))
    assert run_tasks(directory, squares(1), TaskWorkers()) == {"n1": finished(1)}


@pytest.mark.slow
@posix_only
def test_deadline(tmp_path: Path) -> None:
    directory = study(tmp_path / "out")
    tasks = {"late": Task(task_cases.hold_lock, (tmp_path / "pid",), {"a": 1})}
    rows = run_tasks(directory, tasks, TaskWorkers(deadline=3))
    late = {"a": 1, "status": "time_limit", "message": "killed after 3 s"}
    assert rows == {"late": late}
    assert directory.row("late") == late
    assert not is_alive(int((tmp_path / "pid").read_text()))
    assert run_tasks(directory, tasks, TaskWorkers(deadline=3)) == rows


@pytest.mark.slow
def test_processes_of_a_task_do_not_hold_it_up(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    note = tmp_path / "pid"
    tasks = {"left": Task(task_cases.leave_running, (note,)), "isolated": Task(task_cases.isolated)}
    start = time.monotonic()
    rows = run_tasks(study(tmp_path / "out"), tasks, TaskWorkers(jobs=2))
    assert time.monotonic() - start < 55  # they sleep for 60
    assert [row["status"] for row in rows.values()] == ["finished", "iteration_limit"]
    psutil.Process(int(note.read_text())).kill()  # not ours to end, but the test's
    assert capfd.readouterr().err == ""


@pytest.mark.slow
def test_processes_are_fresh(tmp_path: Path) -> None:
    """They import what the task needs, and their peak memory is the task's own."""
    ballast = bytearray(300 * 2**20)
    tasks = {"loaded": Task(task_cases.loaded)}
    tasks |= {f"m{size}": Task(task_cases.memory, (size,)) for size in (300, 50)}
    rows = run_tasks(study(tmp_path), tasks, TaskWorkers())
    assert rows["loaded"]["loaded"] == []
    assert peak_memory() > len(ballast)
    assert rows["m300"]["peak"] > 300 * 2**20
    if sys.platform == "linux":
        assert 50 * 2**20 < rows["m50"]["peak"] < 250 * 2**20
