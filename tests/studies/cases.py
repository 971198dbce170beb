"""Studies of squares, and what their directories hold."""

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gdaopt.errors import InvalidInputError
from gdaopt.studies.runner import Task
from gdaopt.studies.study_directory import StudyDirectory
from gdaopt.studies.task_workers import TaskWorkers
from gdaopt.support.processes import WorkerEndedError
from tests.studies import task_cases

OPTIONS = {"tolerance": 1e-6, "methods": ["joint", "certified"], "limit": None}


def study(path: Path, **changes: Any) -> StudyDirectory:
    return StudyDirectory(path, "squares", {**OPTIONS, **changes})


def refused(message: str) -> AbstractContextManager[pytest.ExceptionInfo[InvalidInputError]]:
    """Expect that bad input is refused in these words."""
    return pytest.raises(InvalidInputError, match=message)


def squares(*numbers: int) -> dict[str, Task]:
    return {f"n{n}": Task(task_cases.square, (n,), {"number": n}, (".txt",)) for n in numbers}


def finished(number: int) -> dict[str, Any]:
    return {"number": number, "status": "finished", "message": "", "square": number**2}


def names(folder: Path) -> set[str]:
    """Return the names of all files but the lock's, which some releases of its library remove."""
    return {path.name for path in folder.iterdir()} - {".gdaopt.lock"}


def content(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != ".gdaopt.lock"
    }


@dataclass(frozen=True)
class InProcess(TaskWorkers):
    """Workers without processes, which would take seconds.

    Ctrl-C comes after so many tasks, and the process of a task whose key holds a text dies.
    """

    most: int | None = None
    dies: str | None = None

    @property
    def at_a_time(self) -> int:
        return 1

    @contextmanager
    def start(self, _: int) -> Iterator[Executor]:
        yield _Here(self)


class _Here(Executor):
    def __init__(self, workers: InProcess) -> None:
        self._workers = workers
        self._n_computed = 0

    def submit(self, function: Callable[..., Any], /, *args: Any, **_: Any) -> Future[Any]:
        if self._n_computed == self._workers.most:
            raise KeyboardInterrupt
        self._n_computed += 1
        future: Future[Any] = Future()
        if self._workers.dies is not None and self._workers.dies in args[1].name:
            future.set_exception(WorkerEndedError("its process was killed by SIGSEGV"))
        else:
            future.set_result(function(*args))
        return future
