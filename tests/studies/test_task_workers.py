"""Workers of tasks: the same rows from each, and what is left when something is killed."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.studies import runner, task_workers
from gdaopt.studies.runner import Task, run_tasks
from gdaopt.studies.study_directory import StudyDirectory
from gdaopt.studies.task_workers import TaskWorkers
from gdaopt.support.dask_executor import DaskExecutor
from tests.process_cases import is_alive, posix_only, soon
from tests.studies import task_cases
from tests.studies.cases import finished, refused, squares

Answer = tuple[dict[str, Any], dict[str, bytes]] | str
KILLED = "its process was killed, as happens when memory runs out"


needs_dask = pytest.mark.skipif(find_spec("distributed") is None, reason="Dask is not installed")


@contextmanager
def cluster(n_workers: int, n_threads: int = 1) -> Iterator[TaskWorkers]:
    """Start a cluster, and return its workers."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=n_workers,
        threads_per_worker=n_threads,
        dashboard_address="127.0.0.1:0",
        silence_logs=50,
        scheduler_kwargs={"allowed_failures": 0},  # each try takes a new worker
    ) as found:
        yield TaskWorkers(scheduler=found.scheduler_address)


@pytest.fixture(scope="module")
def dask() -> Iterator[TaskWorkers]:
    with cluster(2) as workers:
        yield workers


@pytest.fixture(params=["here", pytest.param("dask", marks=pytest.mark.slow)])
def pool(request: pytest.FixtureRequest) -> TaskWorkers:
    """Two workers of a kind."""
    dask: TaskWorkers | None = request.getfixturevalue("dask") if request.param == "dask" else None
    return dask or TaskWorkers(2)


def study(path: Path) -> StudyDirectory:
    return StudyDirectory(path / "out", "squares", {})


@pytest.mark.slow
def test_rows_are_the_same_from_all(tmp_path: Path, dask: TaskWorkers) -> None:
    rng = np.random.default_rng(0)
    tasks = {
        f"n{n}": Task(task_cases.spectrum, (rng.normal(size=(300, 10)),), {"n": n})
        for n in range(12)
    }
    rows = []
    for n, workers in enumerate((TaskWorkers(), TaskWorkers(2), dask)):
        directory = study(tmp_path / str(n))
        told: list[tuple[int, int]] = []

        def progress(key: str, done: int, total: int, row: Mapping[str, Any] | None) -> None:
            if row is not None:
                assert row == directory.row(key)  # noqa: B023  # called before the next round
                told.append((done, total))  # noqa: B023

        rows.append(run_tasks(directory, tasks, workers, progress=progress))
        assert told == [(n, 12) for n in range(1, 13)]
    assert list(rows[0]) == list(tasks)
    assert rows[0] == rows[1] == rows[2]
    assert {tuple(row["threads"]) for row in rows[0].values()} == {(1,)}


def test_failing_tasks_lose_no_others(tmp_path: Path, pool: TaskWorkers) -> None:
    directory = study(tmp_path)
    failing = (task_cases.refuse, task_cases.stumble, task_cases.infinite)
    dying = (task_cases.fill_disk, task_cases.run_out, task_cases.leave)
    tasks = {f.__name__: Task(f, (), {"a": 1}) for f in failing + dying} | squares(2)
    rows = run_tasks(directory, tasks, pool)
    assert rows["n2"] == finished(2)
    said = "trace_bound must be above 0, got -1"
    assert rows["refuse"] == {"a": 1, "status": "failed", "message": said}
    assert rows["stumble"]["message"] == "ZeroDivisionError: division by zero"
    assert "in stumble" in rows["stumble"]["traceback"]
    assert rows["infinite"]["message"].startswith("ValueError: Out of range float values")
    assert {rows[f.__name__]["status"] for f in failing} == {"failed"}
    died = {"a": 1, "status": "died"}
    said = "OSError: [Errno 28] No space left on device"
    assert rows["fill_disk"] == {**died, "message": said}
    assert rows["run_out"] == {**died, "message": "MemoryError: of the task"}
    assert rows["leave"] == {**died, "message": "its process ended with exit code 3"}
    on_disk = {key for key in tasks if directory.row(key)}
    assert on_disk == {"refuse", "stumble", "infinite", "n2"}


def test_rows_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory, future = study(tmp_path), Future[Answer]()
    future.set_result(({"status": "finished"}, {}))

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(directory, "write_row", fail)
    said = "OSError: [Errno 28] No space left on device"
    row = runner._write_outcome(directory, "n1", squares(1)["n1"], future)
    assert row == {"number": 1, "status": "died", "message": said}


def test_tasks_that_workers_cannot_load(tmp_path: Path, dask: TaskWorkers) -> None:
    tasks = {"a": Task(task_cases.square, (task_cases.Unloadable(),))}
    with pytest.raises(gda.errors.GdaoptError, match="the workers cannot run tasks") as caught:
        run_tasks(study(tmp_path), tasks, dask)
    assert "rows that are finished are kept" in str(caught.value)


def test_workers_of_another_version() -> None:
    with pytest.raises(gda.errors.GdaoptError, match=r"gdaopt is .* there and 0\.0 here"):
        runner._compute_far("0.0", b"", "a")


@pytest.mark.slow
@posix_only
@pytest.mark.parametrize("more", [False, True])
def test_tasks_that_kill_their_workers(more: bool, tmp_path: Path, pool: TaskWorkers) -> None:
    if more and pool.scheduler is not None:
        pytest.skip("a scheduler unpickles what would end it")
    once = {"once": Task(task_cases.kill_once, (tmp_path / "note",))}
    killers = {"killer": Task(task_cases.be_killed, (), {"a": 1})}
    if more:
        killers["start"] = Task(task_cases.square, (task_cases.Fatal(), b"x" * 2**20))
        killers["again"] = killers["killer"]
    tasks = {**squares(*range(6)), **once, **killers, **squares(*range(6, 12))}
    rows = run_tasks(study(tmp_path), tasks, pool)
    assert rows["once"]["note"] == "killed"
    assert [rows[f"n{n}"] for n in range(12)] == [finished(n) for n in range(12)]
    said = dict.fromkeys(killers, KILLED)
    if pool.scheduler is None:  # whose ends we see ourselves
        said = dict.fromkeys(killers, KILLED.replace("killed,", "killed by SIGKILL,"))
        said["start"] = "its process ended with exit code 3"
    for key, task in killers.items():
        assert rows[key] == {**task.about, "status": "died", "message": said[key]}
    assert not {key for key in killers if study(tmp_path).row(key)}


@pytest.mark.slow
@needs_dask
@posix_only
@pytest.mark.parametrize("is_fetched", [True, False])
def test_a_worker_that_dies_with_results(
    is_fetched: bool, tmp_path: Path, dask: TaskWorkers, monkeypatch: pytest.MonkeyPatch
) -> None:
    with dask.start(2) as executor:
        assert isinstance(executor, DaskExecutor)
        client = executor._client
        fetch, lose = client._gather_remote, client._stream_handlers["lost-data"]
        lost, note = asyncio.Event(), tmp_path / "note"

        def lose_and_tell(**message: Any) -> None:
            lose(**message)
            lost.set()

        async def fetch_and_kill(*args: Any) -> Any:
            """Kill the worker before or after its result is fetched, and let the client hear it."""
            monkeypatch.setattr(client, "_gather_remote", fetch)
            answer = await fetch(*args) if is_fetched else None
            worker = int(note.read_text())
            if is_fetched:
                note.unlink()  # so that only this worker dies
            os.kill(worker, signal.SIGKILL)
            await lost.wait()
            return answer or await fetch(*args)

        monkeypatch.setitem(client._stream_handlers, "lost-data", lose_and_tell)
        monkeypatch.setattr(client, "_gather_remote", fetch_and_kill)
        outcome = executor.submit(task_cases.be_killed_the_second_time, note)
        if is_fetched:
            assert outcome.result(timeout=60) == ("first", "try")
        else:
            assert type(outcome.exception(timeout=60)).__name__ == "KilledWorker"
        assert lost.is_set()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"jobs": 0}, "jobs must be at least 1, got 0"),
        ({"deadline": 0}, "deadline must be above 0, got 0"),
        ({"threaded": 1}, "threaded must be a bool"),
        ({"scheduler": 8786}, "scheduler must be a str"),
        ({"scheduler": "tcp://a:8786"}, r'pip install "gdaopt\[dask\]"'),
    ],
)
def test_bad_arguments(
    options: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)  # as if it was not installed
    with refused(message):
        TaskWorkers(**options)


@needs_dask
@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "somewhere", "bad://127.0.0.1:1"])
def test_unreachable_schedulers(address: str, tmp_path: Path) -> None:
    pool = TaskWorkers(scheduler=address)
    start = time.monotonic()
    with refused("cannot reach a Dask scheduler at '"):
        run_tasks(study(tmp_path), squares(1), pool)
    assert time.monotonic() - start < 60


@needs_dask
def test_a_scheduler_without_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_workers, "_FIRST_ANSWER", 1.0)
    message = "gave no worker within 1 s"
    with cluster(0) as workers, pytest.raises(gda.errors.GdaoptError, match=message):
        run_tasks(study(tmp_path), squares(1), workers)


@needs_dask
@pytest.mark.slow
def test_workers_of_several_threads(tmp_path: Path) -> None:
    message = "have several threads; start some by"
    with cluster(1, n_threads=2) as workers, pytest.raises(gda.errors.GdaoptError, match=message):
        run_tasks(study(tmp_path), squares(1), workers)


RUN = """
import sys
from pathlib import Path
from tests.studies import task_cases
from gdaopt.studies.runner import Task, run_tasks
from gdaopt.studies.study_directory import StudyDirectory
from gdaopt.studies.task_workers import TaskWorkers
notes = Path(sys.argv[1])
# Only Linux ends a process that holds the interpreter's lock.
late = task_cases.hold_lock if sys.platform == "linux" else task_cases.sleep
tasks = {"n0": Task(task_cases.square, (0,)), "late": Task(late, (notes / "late",))}
run_tasks(StudyDirectory(notes / "out", "squares", {}), tasks, TaskWorkers(2))
"""


NO_GUARD = """
import sys
from gdaopt.bench.sequences import BenchOptions, ProgramSequence
from gdaopt.bench.study import Bench
from gdaopt.datasets import load
from gdaopt.studies.comparison import Comparison, ComparisonOptions
print("begun")
out = sys.argv[1]
comparison = ComparisonOptions(methods=["certified"], trace_every=0)
print({row["status"] for row in Comparison(f"{out}/comparison", load("iris"), comparison).run()})
options = BenchOptions(solvers=["highspy"], programs=["diagonal"], starts=["hot"], runs=[], most=2)
summary, _ = Bench(f"{out}/bench", [ProgramSequence("random", size=5)], options).run()
print(summary["verified"].tolist())
"""


@pytest.mark.slow
def test_scripts_need_no_guard(tmp_path: Path) -> None:
    """A worker does not run the script again that has started it."""
    script = tmp_path / "script.py"
    script.write_text(NO_GUARD)
    environment = {**os.environ, "PYTHONPATH": str(Path(gda.__file__).parents[1])}
    command = [sys.executable, str(script), str(tmp_path)]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (ended.stdout, ended.stderr) == ("begun\n{'converged'}\n[2, 2, 2, 2]\n", "")


def begin(tmp_path: Path) -> tuple[subprocess.Popen[str], int]:
    """Begin a run in a session of its own; return the worker whose task holds the lock."""
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    note = tmp_path / "late"
    assert soon(lambda: note.exists() and note.read_text() != "" and bool(on_disk(tmp_path)))
    return process, int(note.read_text())


def on_disk(tmp_path: Path) -> set[str]:
    return {path.stem for path in tmp_path.glob("out/tasks/n*.json")}


@pytest.mark.slow
def test_workers_end_with_their_parent(tmp_path: Path) -> None:
    process, worker = begin(tmp_path)
    assert is_alive(worker)
    process.kill()
    _, errors = process.communicate(timeout=60)
    assert soon(lambda: not is_alive(worker), seconds=5)
    assert errors == ""
    assert on_disk(tmp_path) == {"n0"}


@pytest.mark.slow
@posix_only
def test_interrupts_end_the_workers_and_pass(tmp_path: Path) -> None:
    process, worker = begin(tmp_path)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does, to all
    _, errors = process.communicate(timeout=60)
    assert process.returncode != 0
    assert errors.count("Traceback") == 1  # the parent's alone
    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert not is_alive(worker)
    assert on_disk(tmp_path) == {"n0"}


@pytest.mark.slow
def test_an_error_of_the_caller_ends_the_workers(tmp_path: Path) -> None:
    note = tmp_path / "pid"

    def progress(key: str, done: int, total: int, row: Mapping[str, Any] | None) -> None:
        if key == "n1" and row is not None:
            assert soon(lambda: note.exists() and note.read_text() != "")
            raise RuntimeError("of the caller")

    tasks = {"late": Task(task_cases.sleep, (note,)), **squares(1)}
    with pytest.raises(RuntimeError, match="of the caller"):
        run_tasks(study(tmp_path), tasks, TaskWorkers(2), progress=progress)
    assert not is_alive(int(note.read_text()))
