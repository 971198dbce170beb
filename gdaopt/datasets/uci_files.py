"""The files of UCI's tables: found in a directory of the user or in the cache, or downloaded."""

from __future__ import annotations

import os
import sys
import threading
import warnings
from pathlib import Path

from gdaopt.datasets.uci import UciTable, read_table, unpack
from gdaopt.errors import DownloadError, InvalidInputError
from gdaopt.support.files import remove_abandoned, write_text
from gdaopt.support.validation import FloatArray

DATA_VARIABLE = "GDAOPT_DATA"
"""The environment variable that names a directory of the user with data files."""

CACHE_VARIABLE = "GDAOPT_CACHE"
"""The environment variable that names the directory for downloaded files."""

TIMEOUT = 20.0
"""Seconds that a server may be silent."""

# Held while a table is used for the first time: threads that need the same table download it once.
_first_use = threading.Lock()
_unsaved: dict[Path, FloatArray] = {}  # tables that could not be saved, by the path in the cache


def obtain(table: UciTable, data_dir: str | os.PathLike[str] | None = None) -> FloatArray:
    """Return the numbers of a table, shape (N, K + 1), from the first place that has its file.

    The places are, in this order: the directory that the environment variable ``GDAOPT_DATA``
    names; the cache; and UCI, whose file is then written to the cache. When `data_dir` is given, it
    is the only place. The numbers are checked wherever they come from; the last column is the
    number of the class. Errors and the warning are those of `gdaopt.datasets.load`.
    """
    if data_dir is not None:
        data = _from_directory(table, Path(data_dir))
        if data is None:
            raise InvalidInputError(
                f"data_dir {os.fspath(data_dir)!r} has none of {', '.join(table.file_names)}; "
                f"put one of them there (from {table.page}), or leave data_dir out to download it"
            )
        return data
    named = os.environ.get(DATA_VARIABLE)
    data = _from_directory(table, Path(named)) if named else None
    if data is not None:
        return data
    path = cache_directory() / table.file
    with _first_use:
        if path in _unsaved:
            return _unsaved[path]
        missing = f"is not in {path.parent}"
        try:
            data = _from_directory(table, path.parent)
        except InvalidInputError as error:
            missing = f"is damaged in the cache ({error})"
        if named:
            missing = f"is not in {named} and {missing}"
        return _from_uci(table, path, missing) if data is None else data


def cache_directory() -> Path:
    """Return the directory for downloaded files, which need not exist yet.

    It is ``GDAOPT_CACHE`` when this variable is set, else the directory ``gdaopt`` among the caches
    of the platform: in ``XDG_CACHE_HOME`` or ``~/.cache``, on Windows in ``LOCALAPPDATA``, on macOS
    in ``~/Library/Caches``.
    """
    chosen = os.environ.get(CACHE_VARIABLE)
    if chosen:
        return Path(chosen)
    variable = {"win32": "LOCALAPPDATA", "darwin": ""}.get(sys.platform, "XDG_CACHE_HOME")
    base = os.environ.get(variable, "")
    if os.path.isabs(base):  # the XDG specification says to ignore relative paths
        return Path(base, "gdaopt")
    below = {"win32": "AppData/Local", "darwin": "Library/Caches"}.get(sys.platform, ".cache")
    try:
        return Path.home() / below / "gdaopt"
    except RuntimeError as error:
        raise InvalidInputError(
            f"no place for downloaded files: {error}; set {CACHE_VARIABLE} to a directory for "
            f"them, or {DATA_VARIABLE} to a directory that has them"
        ) from error


def _from_directory(table: UciTable, directory: Path) -> FloatArray | None:
    """Return the table from the first of its files in a directory; None when there is no file."""
    for path in (directory / name for name in table.file_names):
        try:
            content = path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            raise InvalidInputError(
                f"cannot read {path}: {error.strerror}; get it again"
            ) from error
        return read_table(table, unpack(content, table.file, str(path)), str(path))
    return None


def _from_uci(table: UciTable, path: Path, missing: str) -> FloatArray:
    """Return the table from the first address that has it, and write its file to the path."""
    failures = []
    for url in table.urls:
        try:
            text = unpack(_downloaded(url), table.file, url)
            data = read_table(table, text, url)
        except (DownloadError, InvalidInputError) as error:
            failures.append(str(error))
            continue
        _keep(text, data, path)
        return data
    raise DownloadError(
        f"data set {table.name!r} {missing}, and could not be downloaded ({'; '.join(failures)}). "
        f"By hand: get {' or '.join(table.file_names)} from {table.page}, put it unchanged into a "
        f"directory DIR, and pass data_dir=DIR or --data-dir DIR, or set {DATA_VARIABLE}=DIR"
    )


def _downloaded(url: str) -> bytes:
    """Return the file at an address; the proxies of the environment are used."""
    # Slow to import, and needed here only.
    from http.client import HTTPException
    from urllib.request import Request, urlopen

    try:
        with urlopen(Request(url, headers={"User-Agent": "gdaopt"}), timeout=TIMEOUT) as answer:
            content: bytes = answer.read()
    except (OSError, HTTPException) as error:
        raise DownloadError(f"{url}: {error}") from error
    return content


def _keep(text: str, data: FloatArray, path: Path) -> None:
    """Write the file into the cache; when that fails, keep its numbers for this session."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        remove_abandoned(path.parent)
        write_text(path, text)
    except OSError as error:
        _unsaved[path] = data
        warnings.warn(
            f"cannot write {path} ({error.strerror}); the next session will download the file "
            f"again, unless {CACHE_VARIABLE} names a directory that can be written to",
            stacklevel=5,  # the caller of load
        )
