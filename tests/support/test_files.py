"""Atomic writes: the old file or the new one, and nothing beside it."""

import errno
import os
import pickle
from pathlib import Path
from typing import IO

import pytest

from gdaopt.errors import GdaoptError, UnwritableError
from gdaopt.support.files import write_atomically, write_text
from tests.process_cases import posix_only


def fail_half_way(file: IO[bytes]) -> None:
    file.write(b"half of the n")
    raise RuntimeError("disk on fire")


def test_writes_and_replaces(tmp_path: Path) -> None:
    path = tmp_path / "result.bin"
    assert write_atomically(path, lambda file: file.write(b"old")) == path
    write_atomically(path, lambda file: file.write(b"new"))
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    path = write_text(tmp_path / "result.txt", "old")
    with pytest.raises(RuntimeError, match="disk on fire"):
        write_atomically(path, fail_half_way)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_first_write_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="disk on fire"):
        write_atomically(tmp_path / "result.txt", fail_half_way)
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_leaves_nothing(tmp_path: Path) -> None:
    def interrupt(file: IO[bytes]) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_atomically(tmp_path / "result.txt", interrupt)
    assert list(tmp_path.iterdir()) == []


@posix_only
@pytest.mark.parametrize("name", ["x" * 255, "ä" * 127, "🙂" * 63])
def test_the_longest_names(name: str, tmp_path: Path) -> None:
    assert write_text(tmp_path / name, "text").read_text() == "text"


def test_text_is_utf8(tmp_path: Path) -> None:
    path = write_text(str(tmp_path / "ρ.txt"), "λ_min ≥ ρ\n")
    assert path.read_bytes() == "λ_min ≥ ρ\n".encode()


def test_permissions_are_those_of_any_new_file(tmp_path: Path) -> None:
    (tmp_path / "plain").touch()
    path = write_text(tmp_path / "atomic", "")
    assert path.stat().st_mode == (tmp_path / "plain").stat().st_mode


@posix_only
def test_the_umask_of_the_process_is_not_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another thread may create a file at any moment, which is to be as private as asked."""

    def refuse(mask: int) -> int:
        raise AssertionError(f"umask {mask:o}")

    before = os.umask(0o077)
    try:
        monkeypatch.setattr(os, "umask", refuse)
        path = write_text(tmp_path / "private", "")
        monkeypatch.undo()
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_full_disk_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = write_text(tmp_path / "result.txt", "old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UnwritableError) as caught:
        write_text(path, "new")
    assert str(caught.value) == f"cannot write {path}: {os.strerror(errno.ENOSPC)}"
    assert isinstance(caught.value, OSError)
    assert isinstance(caught.value, GdaoptError)
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(path))
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_directory_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="absent"):
        write_text(tmp_path / "absent" / "file", "")
    assert os.listdir(tmp_path) == []
