"""Files: written atomically, and read though they may be packed, damaged or hostile."""

from __future__ import annotations

import bz2
import errno
import gzip
import hashlib
import io
import json
import lzma
import os
import re
import secrets
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from gdaopt.errors import UnwritableError
from gdaopt.support.extras import cli_extra
from gdaopt.support.text import reason
from gdaopt.support.validation import as_path

# Names of the temporary files below, which say which process writes them.
_TEMPORARY = re.compile(r"\..+\.(?P<pid>[0-9]{1,10})-[0-9a-f]{8}\.tmp")


def write_atomically(path: str | os.PathLike[str], write: Callable[[IO[bytes]], object]) -> Path:
    """Write a file under a temporary name in the same directory, then rename it.

    If that fails, it is an `UnwritableError`, and no temporary file remains.
    """
    path = as_path("path", path)
    temporary = _temporary(path)
    try:
        # Opened like any other new file, so that it has the permissions of one.
        with open(temporary, "xb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError):
            raise _unwritable(error, path) from error
        raise
    return path


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise UnwritableError where `write_atomically` could not write a file, before any work."""
    path = as_path("path", path)
    if path.is_dir():
        raise UnwritableError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    temporary = _temporary(path)
    try:
        temporary.touch(exist_ok=False)
        temporary.unlink()
    except OSError as error:
        raise _unwritable(error, path) from error


def write_text(path: str | os.PathLike[str], text: str) -> Path:
    """Write `text` as UTF-8 to `path`, atomically (see `write_atomically`)."""
    return write_atomically(path, lambda file: file.write(text.encode("utf-8")))


def npz_path(path: str | os.PathLike[str]) -> Path:
    """Return the path of an npz file, whose ending is added if it is missing."""
    path = as_path("path", path)
    return path if path.suffix == ".npz" else path.parent / f"{path.name}.npz"


def is_temporary(name: str) -> bool:
    """Say whether a name is that of a temporary file, which a killed writer leaves behind."""
    return _TEMPORARY.fullmatch(name) is not None


def remove_abandoned(folder: Path) -> None:
    """Remove the temporary files in a folder whose writers no longer run on this machine."""
    for file in folder.iterdir():
        match = _TEMPORARY.fullmatch(file.name)
        if match and not _is_at_work(int(match["pid"]), file):
            with suppress(OSError):
                file.unlink()


def parse_json(text: str) -> Any:
    """Return what a JSON text stands for; one that cannot be printed again is a ValueError."""
    try:
        value = json.loads(text)
        json.dumps(value, ensure_ascii=False).encode("utf-8")  # refuses half a surrogate pair
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    return value


def _temporary(path: Path) -> Path:
    short = path.name[:50]  # so that a name of any length that a file may have leaves room
    return path.with_name(f".{short}.{os.getpid()}-{secrets.token_hex(4)}.tmp")


def _unwritable(error: OSError, path: Path) -> UnwritableError:
    return UnwritableError(error.errno, error.strerror or str(error), os.fspath(path))


def _is_at_work(pid: int, file: Path) -> bool:
    try:
        import psutil  # of the extra cli
    except ImportError:
        return True  # for all that is known
    try:
        process = psutil.Process(pid)
        is_older: bool = process.create_time() <= file.stat().st_mtime
        return is_older and process.status() != psutil.STATUS_ZOMBIE
    except psutil.AccessDenied:
        return True
    except (psutil.Error, OSError):
        return False


class DamagedError(ValueError):
    """An archive is damaged, or would unpack to more than was allowed; the message says how."""


# zipfile unpacks other kinds as a whole, however large.
_KINDS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)

_PACKED: dict[bytes, Callable[[io.BytesIO], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ": lzma.open,
}
_COMPRESSED = b"\x1f\x9d"  # the first bytes of what the program compress makes

# What an npz file may unpack to: so many bytes, or so many times its own size. Deflate packs zeros
# a thousand times, and numbers that were measured a few times.
_ALWAYS = 2**28
_TIMES = 100


@contextmanager
def open_archive(file: IO[bytes]) -> Iterator[zipfile.ZipFile]:
    """Open an archive of an open file; whatever fails inside of the block is a `DamagedError`."""
    try:
        with zipfile.ZipFile(file) as archive:
            yield archive
    except Exception as error:  # of any kind: those of zipfile, zlib, struct, NumPy and the file
        raise DamagedError(reason(error)) from error


def read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, limit: int) -> bytes:
    """Return what a member of an archive holds, and unpack no more than it announces."""
    if info.compress_type not in _KINDS:
        raise zipfile.BadZipFile(f"{info.filename} is packed neither by deflate nor at all")
    if info.file_size > limit:
        raise zipfile.BadZipFile(f"{info.filename} has {info.file_size} bytes, more than {limit}")
    with archive.open(info) as member:
        data = member.read(info.file_size + 1)  # which checks what was read at its end
    if len(data) != info.file_size:
        raise zipfile.BadZipFile(f"{info.filename} does not have {info.file_size} bytes")
    return data


def unpack(
    content: bytes, limit: int, choose: Callable[[list[str]], str | None] = lambda _: None
) -> bytes:
    """Return what a file holds that may be packed, and of an archive the member that is chosen.

    An archive of which none is chosen stays as it is. Content that is damaged, or has more bytes
    than the limit, is a `DamagedError`.
    """
    if content.startswith(b"PK"):
        with open_archive(io.BytesIO(content)) as archive:
            files = [info.filename for info in archive.infolist() if not info.is_dir()]
            name = choose([name for name in files if not name.startswith("__MACOSX/")])
            if name is not None:
                content = read_member(archive, archive.getinfo(name), limit)
    try:
        if content.startswith(_COMPRESSED):
            with cli_extra("unpacking a .Z file"):
                from unlzw3 import unlzw

            content = unlzw(content)
        for start, opened in _PACKED.items():
            if content.startswith(start):
                with opened(io.BytesIO(content)) as file:
                    content = file.read(limit + 1)
    except (OSError, EOFError, ValueError, lzma.LZMAError, zlib.error) as error:
        raise DamagedError(reason(error)) from error
    if len(content) > limit:
        raise DamagedError(f"it unpacks to more than {limit:,} bytes")
    return content


def digest(told: Any, *arrays: npt.ArrayLike) -> str:
    """Return the SHA-256 of plain values, as JSON, and of the bytes of arrays."""
    sha256 = hashlib.sha256(json.dumps(told).encode())
    for array in arrays:
        sha256.update(np.ascontiguousarray(array).tobytes())
    return sha256.hexdigest()


def allowance(path: str | os.PathLike[str]) -> int:
    """Return how many bytes an npz file may unpack to: 256 MiB, or a hundred times its size."""
    return max(_ALWAYS, _TIMES * os.path.getsize(path))


def read_arrays(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """Return the arrays of an npz file by name; a `DamagedError` refuses any other file."""
    arrays = {}
    left = allowance(path)
    with open(path, "rb") as file, open_archive(file) as archive:
        for info in archive.infolist():
            arrays[info.filename.removesuffix(".npy")] = _array(read_member(archive, info, left))
            left -= info.file_size
    return arrays


def _array(npy: bytes) -> np.ndarray:
    """Return the array of an npy file, which `numpy.load` would first take any memory for."""
    file = io.BytesIO(npy)
    if np.lib.format.read_magic(file) != (1, 0):
        raise ValueError("an array is of another version of the npy format")
    shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(file)
    if min(shape, default=0) < 0:
        raise ValueError(f"an array of shape {shape} is announced")
    entries = np.frombuffer(bytearray(npy), dtype, offset=file.tell())
    return entries.reshape(shape, order="F" if is_fortran else "C")
