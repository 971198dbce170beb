"""Zip archives that may be damaged or hostile: never is more unpacked than was allowed."""

from __future__ import annotations

import math
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

import numpy as np

from gdaopt.printing import reason

__all__ = ["DamagedError", "allowance", "opened", "read_arrays", "read_member"]


class DamagedError(ValueError):
    """An archive is damaged, or would unpack to more than was allowed; the message says how."""


# zipfile unpacks other kinds as a whole, however large.
_KINDS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)

# What an npz file may unpack to: so many bytes, or so many times its own size. Deflate packs zeros
# a thousand times, and numbers that were measured a few times.
_ALWAYS = 2**28
_TIMES = 100

_BLOCK = 2**20  # bytes unpacked at a time


@contextmanager
def opened(file: IO[bytes]) -> Iterator[zipfile.ZipFile]:
    """Open an archive; whatever fails inside of the block is a `DamagedError`.

    Parameters
    ----------
    file : binary file
        It has been opened, so that an OSError can come from a wrong offset only.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            yield archive
    except Exception as error:  # of any kind: those of zipfile, zlib, struct, NumPy and the file
        raise DamagedError(reason(error)) from error


def read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, limit: int) -> bytes:
    """Return what a member of an archive holds, and unpack no more than it announces.

    Parameters
    ----------
    archive : zipfile.ZipFile
        The archive, in the block of `opened`.
    info : zipfile.ZipInfo
        The member.
    limit : int
        The most bytes that it may have.

    Raises
    ------
    Exception
        Of any kind, when it has more bytes than the limit or than it announces, or is damaged.
    """
    _check(info, limit)
    with archive.open(info) as member:
        data = member.read(info.file_size + 1)  # which checks what was read at its end
    if len(data) != info.file_size:
        raise zipfile.BadZipFile(f"{info.filename} does not have {info.file_size} bytes")
    return data


def allowance(path: str | os.PathLike[str]) -> int:
    """Return how many bytes an npz file may unpack to: 256 MiB, or a hundred times its size."""
    return max(_ALWAYS, _TIMES * os.path.getsize(path))


def read_arrays(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """Return the arrays of an npz file by name.

    Parameters
    ----------
    path : path-like
        The file.

    Raises
    ------
    DamagedError
        When it is no npz file, is damaged, holds objects, or would unpack to more than its
        `allowance`.
    OSError
        When it cannot be read.
    """
    arrays = {}
    left = allowance(path)
    with open(path, "rb") as file, opened(file) as archive:
        for info in archive.infolist():
            _check(info, left)
            with archive.open(info) as member:
                arrays[info.filename.removesuffix(".npy")] = _array(member, info)
            left -= info.file_size
    return arrays


def _check(info: zipfile.ZipInfo, limit: int) -> None:
    """Refuse a member that announces too much, or that zipfile would unpack as a whole."""
    if info.compress_type not in _KINDS:
        raise zipfile.BadZipFile(f"{info.filename} is packed neither by deflate nor at all")
    if info.file_size > limit:
        raise zipfile.BadZipFile(f"{info.filename} has {info.file_size} bytes, more than {limit}")


def _array(member: IO[bytes], info: zipfile.ZipInfo) -> np.ndarray:
    """Return the array of an npy file of format 1.0, whose header has to tell the truth."""
    if np.lib.format.read_magic(member) != (1, 0):
        raise ValueError(f"{info.filename} is of another version of the npy format")
    try:
        shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(member)
    except Exception as error:  # of any kind: NumPy leaves the header to Python's parser
        raise ValueError(f"{info.filename} has a damaged header: {error}") from error
    size = info.file_size - member.tell()
    if dtype.hasobject or not dtype.itemsize:
        raise ValueError(f"{info.filename} holds {dtype}")
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != size:
        raise ValueError(f"{info.filename} does not hold the array of shape {shape} it announces")
    data = np.empty(size, np.uint8)
    for start in range(0, size, _BLOCK):
        block = member.read(min(_BLOCK, size - start))
        data[start : start + len(block)] = np.frombuffer(block, np.uint8)
        if len(block) < min(_BLOCK, size - start):
            raise zipfile.BadZipFile(f"{info.filename} does not have {info.file_size} bytes")
    return data.view(dtype).reshape(shape, order="F" if is_fortran else "C")
