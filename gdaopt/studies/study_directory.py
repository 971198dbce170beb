"""The directory of a study: its options, a file for each finished task, and one writer at a time.

A task is finished when its row is there. The row is written last and atomically, so that what is
there after a crash is whole. The lock of a directory is one of the operating system, which ends
with the process that holds it; a file beside it says who that is. The lock's empty file stays.
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
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gdaopt.errors import DirectoryInUseError, InvalidInputError
from gdaopt.support.extras import cli_extra
from gdaopt.support.files import (
    digest,
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
def sole_writer(path: str | os.PathLike[str]) -> Iterator[None]:
    """Hold a directory, made if it is missing, and remove what killed processes left there."""
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
            "another --out"
        ) from None
    except OSError as error:
        raise _cannot_write(folder, error) from error
    try:
        try:
            write_text(folder / _HOLDER, json.dumps(_describe_this_process()))
            remove_abandoned(folder)
        except OSError as error:
            raise _cannot_write(folder, error) from error
        yield
    finally:
        # The lock's own file stays. One that waits may have opened it already, and if another file
        # took its place, two processes would each hold one.
        with suppress(OSError):
            (folder / _HOLDER).unlink()
        lock.release()


def content(folder: Path) -> list[Path]:
    """Return the files and directories in a folder that are not there for a time only."""
    return [
        file
        for file in folder.iterdir()
        if file.name not in (_LOCK, _HOLDER) and not is_temporary(file.name)
    ]


def _cannot_write(folder: Path, error: OSError) -> InvalidInputError:
    return InvalidInputError(
        f"cannot write to {folder}: {error.strerror or error}; choose another --out"
    )


def _describe_this_process() -> str:
    name, *arguments = sys.argv or [""]
    command = shlex.join([Path(name).name, *arguments])
    since = datetime.now().astimezone().isoformat(" ", "seconds")
    return f"process {os.getpid()} on {socket.gethostname()} (since {since}: {command!r})"


def _holder(folder: Path) -> str:
    try:
        told = parse_json((folder / _HOLDER).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        told = None
    return told if isinstance(told, str) else "another process"


RECORD = "study.json"  # in which a study says what it was begun with
_FORMAT = 2
_KEY = re.compile(r"[a-z0-9_-]+")  # lower case only: many file systems do not tell it from upper
_ABSENT = object()
_LONGEST_KEY = 60  # characters, before the digest


def task_key(*parts: object) -> str:
    """Return a file name made of the values that tell a task from others; no two are the same."""
    words = [re.sub(r"[^a-z0-9]+", "_", str(part).lower()).strip("_") for part in parts]
    return "-".join([*filter(None, words)])[:_LONGEST_KEY] + f"-{digest(parts)[:10]}"


class StudyDirectory:
    """Options and rows on disk. A study of other options there, or other files, are refused.

    With `replace`, an earlier study of the same kind is begun anew, beside whatever else is there:
    its rows are removed, and its files are the caller's. `remedy` ends the sentences of refusals.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        kind: str,
        options: Mapping[str, Any],
        *,
        replace: bool = False,
        remedy: str = "choose another --out",
    ) -> None:
        self.path = as_path("path", path)
        self.tasks = self.path / "tasks"
        all_options = {"study": kind, "gdaopt": version("gdaopt"), **options}
        self.options: dict[str, Any] = json.loads(json.dumps(all_options, allow_nan=False))
        self._remedy = remedy
        with sole_writer(self.path):
            is_study = (self.path / RECORD).exists()
            if is_study:
                self._check_record(replace)
            elif content(self.path) and not replace:
                raise InvalidInputError(
                    f"{self.path} already holds files, but no {RECORD} of gdaopt; {remedy}"
                )
            if replace:
                for file in self.tasks.glob("*.json"):
                    if read_entry(self.path, file) is not None:
                        file.unlink()
            if replace or not is_study:
                record = {"format": _FORMAT, "options": self.options}
                write_text(self.path / RECORD, json.dumps(record, indent=2, ensure_ascii=False))
            try:
                self.tasks.mkdir(exist_ok=True)
            except OSError as error:
                raise _cannot_write(self.tasks, error) from error

    def stem(self, key: str) -> Path:
        """Return the path of a task's row without its ending."""
        if not _KEY.fullmatch(key):
            raise InvalidInputError(
                f"task key {key!r} is no safe file name (a-z, 0-9, _ and -); make it by task_key"
            )
        return self.tasks / key

    def row(self, key: str) -> dict[str, Any] | None:
        """Return the row of a finished task; None when it or a file of the task is not whole."""
        entry = read_entry(self.path, self.stem(key).with_suffix(".json"))
        row: dict[str, Any] | None = None if entry is None else entry["row"]
        return row if row is None or row["status"] != "interrupted" else None

    def rows(self, keys: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Return the rows of the tasks that are finished."""
        return {key: row for key in keys if (row := self.row(key)) is not None}

    def write_row(self, key: str, row: Mapping[str, Any], files: Iterable[Path] = ()) -> None:
        """Write the row of a task whose other files are there, which makes it finished."""
        names = {file.relative_to(self.path).as_posix(): file_digest(file) for file in files}
        entry = {"row": dict(row), "files": names, "sha256": digest([dict(row), names])}
        write_text(
            self.stem(key).with_suffix(".json"), json.dumps(entry, indent=1, allow_nan=False)
        )

    def clean(self) -> None:
        """Remove the temporary files of writers that were killed."""
        for folder in (self.path, self.tasks):
            remove_abandoned(folder)

    def _check_record(self, replace: bool) -> None:
        old = read_options(self.path)
        if replace and old.get("study") == self.options["study"]:
            return
        differences = [
            f"{name} is {_show_option(old, name)} there and {_show_option(self.options, name)} now"
            for name in {**old, **self.options}
            if old.get(name, _ABSENT) != self.options.get(name, _ABSENT)
        ]
        if differences:
            raise InvalidInputError(
                f"{self.path} holds a study of other options: {'; '.join(differences)}; "
                f"{self._remedy}, or the options there to go on with it"
            )


def write_frame(path: Path, frame: pd.DataFrame) -> None:
    """Write a data frame as a parquet file, atomically."""
    write_atomically(path, lambda file: frame.to_parquet(file, index=False))


def read_options(path: Path) -> dict[str, Any]:
    """Return the options of the study in a directory; refuse one that cannot be read."""
    try:
        record = parse_json((path / RECORD).read_text(encoding="utf-8"))
        written: int = record["format"] - _FORMAT
        options = dict(record["options"])
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise InvalidInputError(
            f"{path / RECORD} is damaged ({error}); choose another directory"
        ) from error
    if written:
        raise InvalidInputError(
            f"{path} was written by {'a newer' if written > 0 else 'an earlier'} gdaopt; use that "
            "version, or choose another directory"
        )
    return options


def read_study(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the options of a study of classes, and each task's ``row`` and ``files`` by name."""
    options = read_options(path)
    entries = (read_entry(path, file) for file in sorted((path / "tasks").glob("*.json")))
    read = [entry for entry in entries if entry is not None and "class" in entry["row"]]
    places = {name: place for place, name in enumerate(options.get("classes", ()))}
    return options, sorted(read, key=lambda entry: places.get(entry["row"]["class"], 0))


def read_entry(path: Path, file: Path) -> dict[str, Any] | None:
    """Return what a study in `path` has written for a task; None if a file is not whole."""
    try:
        entry: dict[str, Any] = parse_json(file.read_text(encoding="utf-8"))
        row, files = entry["row"], entry["files"]
        whole = entry["sha256"] == digest([row, files]) and isinstance(row["status"], str)
        whole = whole and all(file_digest(path / name) == files[name] for name in files)
        return entry if whole else None
    except (OSError, ValueError, LookupError, TypeError):
        return None


def file_digest(file: Path) -> str | None:
    """Return the SHA-256 of a file; None if there is none, and for a link."""
    try:
        if file.is_symlink() or not file.is_file():
            return None
        with file.open("rb") as content:
            return hashlib.file_digest(content, "sha256").hexdigest()
    except (OSError, ValueError):  # a ValueError: names that no file can have
        return None


def _show_option(options: Mapping[str, Any], name: str) -> str:
    return json.dumps(options[name], ensure_ascii=False) if name in options else "absent"


_PACKAGES = ("gdaopt", "numpy", "scipy", "cvxpy", "highspy")


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that results depend on."""
    return {"python": platform.python_version()} | {name: version(name) for name in _PACKAGES}


def machine() -> str:
    """Return the processor that times depend on: its name, if it is known, and its cores."""
    name = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        name = next(line.partition(":")[2].strip() for line in lines if "model name" in line)
    except (OSError, StopIteration):  # not Linux, or a processor that has no name there
        pass
    return f"{platform.system()}, {name}, {os.cpu_count()} cores"
