"""The directory of a study: its options, a file for each finished task, and one writer at a time.

A task is finished when its row is there. The row is written last and atomically, so that what is
there after a crash is whole. The lock of a directory is one of the operating system, which ends
with the process that holds it; a file beside it says who that is.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shlex
import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gdaopt.errors import DirectoryInUseError, InvalidInputError
from gdaopt.support.extras import cli_extra
from gdaopt.support.files import (
    is_temporary,
    parse_json,
    remove_abandoned,
    write_atomically,
    write_text,
)
from gdaopt.support.validation import as_path

if TYPE_CHECKING:
    import pandas as pd

_LOCK = ".gdaopt.lock"
_HOLDER = ".gdaopt.lock.json"
_PATIENCE = 1.0  # seconds: some hold a directory for the time of a look only


@contextmanager
def sole_writer(path: str | os.PathLike[str], option: str = "--out") -> Iterator[None]:
    """Hold a directory, made where it is missing, and remove what killed processes left there."""
    with cli_extra("a study"):
        from filelock import FileLock, Timeout

    folder = as_path("path", path)
    lock = FileLock(folder / _LOCK)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=_PATIENCE)
    except Timeout:
        raise DirectoryInUseError(
            f"{_holder(folder)} is writing to {folder}; wait until it has ended, or choose "
            f"another {option}"
        ) from None
    except OSError as error:
        raise _cannot_write(folder, error, option) from error
    try:
        try:
            write_text(folder / _HOLDER, json.dumps(_this_process(), ensure_ascii=True))
            remove_abandoned(folder)
        except OSError as error:
            raise _cannot_write(folder, error, option) from error
        yield
    finally:
        # Removed before the release: whoever waits for a lock that was removed opens a new one.
        # Windows removes no open file; there the release does.
        for name in (_HOLDER, _LOCK):
            with suppress(OSError):
                (folder / name).unlink()
        lock.release()


def content(folder: Path) -> list[Path]:
    """Return the files and directories in a folder that are not there for a time only."""
    return [
        file
        for file in folder.iterdir()
        if file.name not in (_LOCK, _HOLDER) and not is_temporary(file.name)
    ]


def _cannot_write(folder: Path, error: OSError, option: str) -> InvalidInputError:
    return InvalidInputError(
        f"cannot write to {folder}: {error.strerror or error}; choose another {option}"
    )


def _this_process() -> dict[str, Any]:
    name, *arguments = sys.argv or [""]
    return {
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "command": shlex.join([Path(name).name, *arguments]),
        "since": datetime.now().astimezone().isoformat(" ", "seconds"),
    }


def _holder(folder: Path) -> str:
    try:
        told = parse_json((folder / _HOLDER).read_text(encoding="utf-8"))
        pid, host, command, since = (told[key] for key in ("pid", "host", "command", "since"))
    except (OSError, ValueError, LookupError, TypeError):
        return "another process"
    return f"process {pid} on {host} (since {since}: {command!r})"


RECORD = "study.json"  # in which a study says what it was begun with
_FORMAT = 1
_KEY = re.compile(r"[a-z0-9_-]+")  # lower case only: many file systems do not tell it from upper
_ABSENT = object()
_LONGEST_KEY = 60  # characters, before the digest


def task_key(*parts: object) -> str:
    """Return a file name made of the values that tell a task from others; no two are the same."""
    digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:10]
    words = [re.sub(r"[^a-z0-9]+", "_", str(part).lower()).strip("_") for part in parts]
    return "-".join([*filter(None, words)])[:_LONGEST_KEY] + f"-{digest}"


class StudyDirectory:
    """Options and rows on disk. A study of other options there, or other files, are refused."""

    def __init__(self, path: str | os.PathLike[str], options: Mapping[str, Any]) -> None:
        self.path = as_path("path", path)
        self.tasks = self.path / "tasks"
        all_options = {"gdaopt": version("gdaopt"), **options}
        self.options: dict[str, Any] = json.loads(json.dumps(all_options, allow_nan=False))
        with sole_writer(self.path):
            if (self.path / RECORD).exists():
                self._check_record()
            elif content(self.path):
                raise InvalidInputError(
                    f"{self.path} holds files but no {RECORD}, so it is not the directory of a "
                    "study; choose another --out"
                )
            else:
                self._write_record()
            try:
                self.tasks.mkdir(exist_ok=True)
            except OSError as error:
                raise InvalidInputError(
                    f"cannot write to {self.tasks}: {error.strerror}; choose another --out"
                ) from error

    def stem(self, key: str) -> Path:
        """Return the path of a task's files without the ending, which begins with a dot."""
        if not _KEY.fullmatch(key):
            raise InvalidInputError(
                f"task key {key!r} is no safe file name (a-z, 0-9, _ and -); make it by task_key"
            )
        return self.tasks / key

    def row(self, key: str) -> dict[str, Any] | None:
        """Return the row of a finished task; None when it or a file of the task is not whole."""
        return _read_row(self.stem(key).with_suffix(".json"))

    def write_row(self, key: str, row: Mapping[str, Any]) -> None:
        """Write the row of a task whose other files are there, which makes it finished."""
        stem = self.stem(key)
        files = sorted(path.name for path in self.files(key) if path.suffix != ".json")
        entry = {
            "format": _FORMAT,
            "row": dict(row),
            "files": files,
            "sha256": _digest(row, files),
        }
        write_text(stem.with_suffix(".json"), json.dumps(entry, indent=1, allow_nan=False))

    def files(self, key: str) -> list[Path]:
        """Return the files of a task."""
        return list(self.tasks.glob(f"{self.stem(key).name}.*"))

    def clear(self, key: str) -> None:
        """Remove the files of a task, such as files that an interrupted try has left."""
        for file in self.files(key):
            file.unlink(missing_ok=True)

    def clean(self) -> None:
        """Remove the temporary files of writers that were killed."""
        for folder in (self.path, self.tasks):
            remove_abandoned(folder)

    def _write_record(self) -> None:
        record = {"format": _FORMAT, "options": self.options}
        write_text(self.path / RECORD, json.dumps(record, indent=2, ensure_ascii=False))

    def _check_record(self) -> None:
        try:
            record = parse_json((self.path / RECORD).read_text(encoding="utf-8"))
            newer = record["format"] > _FORMAT
            old = dict(record["options"])
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise InvalidInputError(
                f"{self.path / RECORD} is damaged ({error}); choose another --out"
            ) from error
        if newer:
            raise InvalidInputError(
                f"{self.path} was written by a newer gdaopt; upgrade to go on, or choose "
                "another --out"
            )
        differences = [
            f"{name} is {_show_option(old, name)} there and {_show_option(self.options, name)} now"
            for name in {**old, **self.options}
            if old.get(name, _ABSENT) != self.options.get(name, _ABSENT)
        ]
        if differences:
            raise InvalidInputError(
                f"{self.path} holds a study of other options: {'; '.join(differences)}; "
                "choose another --out, or the options there to go on with it"
            )


class Study:
    """What studies share: tasks by key, and the directory of their rows."""

    tasks: dict[str, Any]
    _directory: StudyDirectory

    @property
    def path(self) -> Path:
        """The directory."""
        return self._directory.path

    @property
    def n_done(self) -> int:
        """How many tasks are finished on disk."""
        return sum(self._directory.row(key) is not None for key in self.tasks)


def write_frame(path: Path, frame: pd.DataFrame) -> None:
    """Write a data frame as a parquet file, atomically."""
    write_atomically(path, lambda file: frame.to_parquet(file, index=False))


def read_study(path: Path) -> tuple[dict[str, Any], dict[Path, dict[str, Any]]] | None:
    """Return the options of a study and its rows by the paths of their files, None for no study."""
    try:
        options = dict(parse_json((path / RECORD).read_text(encoding="utf-8"))["options"])
    except (OSError, ValueError, LookupError, TypeError):
        return None
    rows = {file: _read_row(file) for file in sorted((path / "tasks").glob("*.json"))}
    return options, {file.with_suffix(""): row for file, row in rows.items() if row is not None}


def _read_row(file: Path) -> dict[str, Any] | None:
    try:
        entry = parse_json(file.read_text(encoding="utf-8"))
        row: dict[str, Any] = entry["row"]
        whole = entry["sha256"] == _digest(row, entry["files"])
        whole &= all((file.parent / name).exists() for name in entry["files"])
        return row if whole and isinstance(row["status"], str) else None
    except (OSError, ValueError, LookupError, TypeError):
        return None


def _digest(row: Mapping[str, Any], files: list[str]) -> str:
    text = json.dumps([dict(row), files], allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _show_option(options: Mapping[str, Any], name: str) -> str:
    return json.dumps(options[name], ensure_ascii=False) if name in options else "absent"


_PACKAGES = ("gdaopt", "numpy", "scipy", "cvxpy", "highspy")


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that results depend on."""
    return {"python": platform.python_version()} | {name: version(name) for name in _PACKAGES}


def machine() -> str:
    """Return the processor that times depend on: its name, where it is known, and its cores."""
    name = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        name = next(line.partition(":")[2].strip() for line in lines if "model name" in line)
    except (OSError, StopIteration):  # not Linux, or a processor that has no name there
        pass
    return f"{platform.system()}, {name}, {os.cpu_count()} cores"
