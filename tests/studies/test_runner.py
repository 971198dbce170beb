"""The resumable runner: what it keeps, what it runs again, what it refuses, and how it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest

import gdaopt as gda
from gdaopt.studies.process_per_task import ProcessPerTask
from gdaopt.studies.runner import Task, run_tasks
from gdaopt.support.workers import peak_memory
from tests.process_cases import is_alive, posix_only, soon
from tests.studies import task_cases
from tests.studies.cases import content, finished, squares, study
from tests.studies.task_cases import Fatal


class TestRuns:
    def test_rows_files_and_progress(self, tmp_path: Path) -> None:
        directory = study(tmp_path)
        told: list[tuple[str, int, int, bool]] = []

        def progress(key: str, done: int, total: int, row: Mapping[str, Any] | None) -> None:
            told.append((key, done, total, row is None))

        rows = run_tasks(directory, squares(2, 3), ProcessPerTask(), progress=progress)
        assert list(rows.items()) == [("n2", finished(2)), ("n3", finished(3))]
        assert told == [
            ("n2", 0, 2, True),
            ("n2", 1, 2, False),
            ("n3", 1, 2, True),
            ("n3", 2, 2, False),
        ]
        assert content(directory.tasks).keys() == {"n2.json", "n2.txt", "n3.json", "n3.txt"}
        assert (directory.row("n2"), directory.row("n4")) == (finished(2), None)

    def test_goes_on_with_what_is_missing(self, tmp_path: Path) -> None:
        directory = study(tmp_path / "out")
        tasks = {f"n{n}": Task(task_cases.note_pid, (n, tmp_path), {"number": n}) for n in range(3)}
        run_tasks(directory, {"n1": tasks["n1"], "n2": tasks["n2"]}, ProcessPerTask())
        (directory.tasks / "n2.json").write_text('{"row": {"status": "fin')  # half of it
        (directory.tasks / ".n0.npz.999999999-0a1b2c3d.tmp").write_text("half")
        rows = run_tasks(study(tmp_path / "out"), tasks, ProcessPerTask())
        assert rows == {f"n{n}": finished(n) for n in range(3)}
        times = {n: len((tmp_path / f"n{n}").read_text().split()) for n in range(3)}
        assert times == {0: 1, 1: 1, 2: 2}
        assert not list(directory.tasks.glob(".*"))

    def test_nothing_missing_starts_nothing(self, tmp_path: Path) -> None:
        directory = study(tmp_path)
        directory.write_row("n1", finished(1))
        assert run_tasks(directory, squares(1), ProcessPerTask()) == {"n1": finished(1)}

    @pytest.mark.slow
    def test_two_at_a_time(self, tmp_path: Path) -> None:
        one, two = study(tmp_path / "1"), study(tmp_path / "2")
        tasks = squares(3, 1, 2)
        begun: list[int] = []

        def progress(key: str, done: int, total: int, row: Mapping[str, Any] | None) -> None:
            begun.append(1 if row is None else -1)
            assert 0 <= sum(begun) <= 2

        assert list(run_tasks(one, tasks, ProcessPerTask())) == list(tasks)
        assert run_tasks(two, tasks, ProcessPerTask(jobs=2), progress=progress) == run_tasks(
            one, tasks, ProcessPerTask()
        )
        assert begun[:2] == [1, 1]
        assert content(two.path) == content(one.path)

    def test_failing_tasks_lose_no_others(self, tmp_path: Path) -> None:
        directory = study(tmp_path)
        functions = (task_cases.refuse, task_cases.stumble, task_cases.infinite)
        tasks = {f.__name__: Task(f, (), {"name": f.__name__}) for f in functions} | squares(2)
        rows = run_tasks(directory, tasks, ProcessPerTask(jobs=2))
        assert rows["n2"] == finished(2)
        assert rows["refuse"] == {
            **{"name": "refuse", "status": "failed"},
            "message": "trace_bound must be above 0, got -1",
        }
        assert rows["stumble"]["message"] == "ZeroDivisionError: division by zero"
        assert "in stumble" in rows["stumble"]["traceback"]
        assert rows["infinite"]["message"].startswith("ValueError: Out of range float values")
        assert {rows[f.__name__]["status"] for f in functions} == {"failed"}
        assert {key: directory.row(key) for key in tasks} == rows  # it would fail again

    @posix_only
    def test_tasks_that_die_are_tried_again(self, tmp_path: Path) -> None:
        directory = study(tmp_path / "out")
        tasks = {
            "code": Task(task_cases.die, (3,), {"number": 3}),
            "signal": Task(task_cases.die, (-signal.SIGKILL,)),
            "disk": Task(task_cases.fill_disk),
            "start": Task(task_cases.square, (Fatal(), b"x" * 2**20)),
            "once": Task(task_cases.die_once, (tmp_path / "note",)),
            **squares(2),
        }
        rows = run_tasks(directory, tasks, ProcessPerTask(jobs=2))
        assert rows["code"] == {
            **{"number": 3, "status": "died"},
            "message": "its process ended with exit code 3",
        }
        killed = "its process was killed by SIGKILL, as happens when memory runs out"
        assert rows["signal"] == {"status": "died", "message": killed}
        assert rows["disk"]["message"] == "OSError: [Errno 28] No space left on device"
        assert rows["start"]["message"] == "its process ended with exit code 3"
        assert rows["once"]["message"] == "its process was killed by SIGSEGV"
        assert rows["n2"] == finished(2)
        assert {key for key in tasks if directory.row(key)} == {"n2"}
        assert not list(directory.tasks.glob(".*"))
        again = {"once": tasks["once"], "code": Task(task_cases.square, (4,), {"number": 4})}
        rows = run_tasks(directory, again, ProcessPerTask(jobs=2))
        assert rows["once"] == {"status": "finished", "message": "", "note": "died"}
        assert rows["code"] == finished(4)
        assert not (directory.tasks / "code.npz").exists()  # of the try that died

    @posix_only
    def test_deadline(self, tmp_path: Path) -> None:
        directory = study(tmp_path / "out")
        tasks = {"late": Task(task_cases.hold_lock, (tmp_path / "pid",), {"a": 1})}
        rows = run_tasks(directory, tasks, ProcessPerTask(deadline=3))
        late = {"a": 1, "status": "time_limit", "message": "killed after 3 s"}
        assert rows == {"late": late}
        assert directory.row("late") == late
        assert not is_alive(int((tmp_path / "pid").read_text()))
        assert run_tasks(directory, tasks, ProcessPerTask(deadline=3)) == rows

    @pytest.mark.slow
    def test_processes_of_a_task_do_not_hold_it_up(
        self, tmp_path: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        note = tmp_path / "pid"
        tasks = {
            "left": Task(task_cases.leave_running, (note,)),
            "isolated": Task(task_cases.isolated),
        }
        start = time.monotonic()
        rows = run_tasks(study(tmp_path / "out"), tasks, ProcessPerTask(jobs=2))
        assert time.monotonic() - start < 55  # they sleep for 60
        assert [row["status"] for row in rows.values()] == ["finished", "iteration_limit"]
        psutil.Process(int(note.read_text())).kill()  # not ours to end, but the test's
        assert capfd.readouterr().err == ""

    def test_bad_arguments(self) -> None:
        with pytest.raises(gda.errors.InvalidInputError, match="jobs must be at least 1, got 0"):
            ProcessPerTask(jobs=0)
        with pytest.raises(gda.errors.InvalidInputError, match="deadline must be above 0, got 0"):
            ProcessPerTask(deadline=0)

    def test_processes_are_fresh(self, tmp_path: Path) -> None:
        """They import what the task needs, and their peak memory is the task's own."""
        ballast = bytearray(300 * 2**20)
        tasks = {"loaded": Task(task_cases.loaded), "memory": Task(task_cases.memory, (50,))}
        rows = run_tasks(study(tmp_path), tasks, ProcessPerTask())
        assert rows["loaded"]["loaded"] == []
        assert peak_memory() > len(ballast)
        assert 50 * 2**20 < rows["memory"]["peak"] < 250 * 2**20


RUN = """
import sys
from pathlib import Path
from tests.studies import task_cases
from gdaopt.studies.process_per_task import ProcessPerTask
from gdaopt.studies.runner import Task, run_tasks
from gdaopt.studies.study_directory import StudyDirectory
if __name__ == "__main__":
    note = Path(sys.argv[2])
    late = Task(getattr(task_cases, sys.argv[1]), (note,))
    tasks = {"first": Task(task_cases.square, (1,)), "late": late}
    run_tasks(StudyDirectory(note.parent / "out", {}), tasks, ProcessPerTask())
"""


def begin(tmp_path: Path, function: str) -> tuple[subprocess.Popen[str], int]:
    """Begin a run in a session of its own, and return it and the process of its second task."""
    note = tmp_path / "pid"
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, function, str(note)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert soon(lambda: note.exists() and note.read_text() != "")
    return process, int(note.read_text())


class TestEnds:
    @pytest.mark.parametrize(
        "function", [pytest.param("sleep", marks=pytest.mark.slow), "hold_lock"]
    )
    def test_workers_end_with_their_parent(self, function: str, tmp_path: Path) -> None:
        if function == "hold_lock" and sys.platform != "linux":
            pytest.skip("no kernel to ask")
        process, worker = begin(tmp_path, function)
        assert is_alive(worker)
        process.kill()
        _, errors = process.communicate(timeout=20)
        assert soon(lambda: not is_alive(worker), seconds=5)
        assert errors == ""
        rows = {path.name for path in (tmp_path / "out" / "tasks").iterdir()}
        assert rows == {"first.json", "first.txt"}

    @posix_only
    def test_interrupts_end_the_workers_and_pass(self, tmp_path: Path) -> None:
        process, worker = begin(tmp_path, "hold_lock")
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does, to all
        _, errors = process.communicate(timeout=20)
        assert process.returncode != 0
        assert errors.count("Traceback") == 1  # the parent's alone
        assert errors.rstrip().endswith("KeyboardInterrupt")
        assert not is_alive(worker)
        rows = {path.name for path in (tmp_path / "out" / "tasks").iterdir()}
        assert rows == {"first.json", "first.txt"}

    def test_an_error_of_the_caller_ends_the_workers(self, tmp_path: Path) -> None:
        note = tmp_path / "pid"

        def progress(key: str, done: int, total: int, row: Mapping[str, Any] | None) -> None:
            if key == "n1" and row is not None:
                assert soon(lambda: note.exists() and note.read_text() != "")
                raise RuntimeError("of the caller")

        tasks = {"late": Task(task_cases.sleep, (note,)), **squares(1)}
        with pytest.raises(RuntimeError, match="of the caller"):
            run_tasks(study(tmp_path / "out"), tasks, ProcessPerTask(jobs=2), progress=progress)
        assert not is_alive(int(note.read_text()))
