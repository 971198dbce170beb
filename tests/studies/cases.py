"""Studies of squares, and what their directories hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gdaopt.studies.runner import Task
from gdaopt.studies.study_directory import StudyDirectory
from tests.studies import task_cases

OPTIONS = {"tolerance": 1e-6, "methods": ["joint", "certified"], "limit": None}


def study(path: Path, **changes: Any) -> StudyDirectory:
    return StudyDirectory(path, {**OPTIONS, **changes})


def squares(*numbers: int) -> dict[str, Task]:
    return {f"n{n}": Task(task_cases.square, (n,), {"number": n}) for n in numbers}


def finished(number: int) -> dict[str, Any]:
    return {"number": number, "status": "finished", "message": "", "square": number**2}


def content(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }
