"""One process at a time writes into a directory, so that two equal commands do not mix there.

The lock is one of the operating system, which ends with the process that holds it, however that
ends. A file beside it says who that is. Workers of a process that holds a directory write there in
its name.
"""

from __future__ import annotations

import json
import os
import shlex
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from gdaopt.errors import DirectoryInUseError, InvalidInputError
from gdaopt.support.files import is_temporary, parse_json, remove_abandoned, write_text

_LOCK = ".gdaopt.lock"
_HOLDER = ".gdaopt.lock.json"
_PATIENCE = 1.0  # seconds: some hold a directory for the time of a look only


@contextmanager
def sole_writer(path: str | os.PathLike[str], option: str = "--out") -> Iterator[None]:
    """Hold a directory, made where it is missing, and remove what killed processes left there."""
    from filelock import FileLock, Timeout  # needed here only

    folder = Path(path)
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
