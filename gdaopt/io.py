"""Atomic writes: under its name there is either the old file or the whole new one."""

from __future__ import annotations

import os
import re
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO

__all__ = ["is_temporary", "write_atomically", "write_text"]

_reading_umask = threading.Lock()
_TEMPORARY = re.compile(r"\..+\.[a-z0-9_]{8}\.tmp")  # names of the temporary files below


def write_atomically(path: str | os.PathLike[str], write: Callable[[IO[bytes]], object]) -> Path:
    """Write a file under a temporary name in the same directory, then rename it.

    Parameters
    ----------
    path : path-like
        The file to write or replace.
    write : callable
        Writes the content; it is called with the open binary file.

    Returns
    -------
    pathlib.Path
        `path`.

    Raises
    ------
    OSError
        When the directory cannot be written to. No temporary file remains.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_atomically(Path(folder) / "a.bin", lambda file: file.write(b"xyz")).read_bytes()
    b'xyz'
    """
    path = Path(path)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        # mkstemp makes files private; give this one the permissions of any other new file.
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return path


def write_text(path: str | os.PathLike[str], text: str) -> Path:
    """Write `text` as UTF-8 to `path`, atomically (see `write_atomically`)."""
    return write_atomically(path, lambda file: file.write(text.encode("utf-8")))


def is_temporary(name: str) -> bool:
    """Say whether a name is that of a temporary file, which a killed writer leaves behind.

    Examples
    --------
    >>> is_temporary(".row.json.k3_x9a1b.tmp"), is_temporary("row.json")
    (True, False)
    """
    return _TEMPORARY.fullmatch(name) is not None


def _umask() -> int:
    """Return the umask of the process, which can only be read by setting it."""
    with _reading_umask:  # otherwise another thread might read the 0 and set it for good
        mask = os.umask(0)
        os.umask(mask)
    return mask
