"""Atomic writes: the old file or the new one; archives: what is read, and what is refused."""

import errno
import io
import os
import pickle
import zipfile
from pathlib import Path
from typing import IO

import numpy as np
import pytest

from gdaopt.errors import GdaoptError, UnwritableError
from gdaopt.support import files
from gdaopt.support.files import (
    DamagedError,
    parse_json,
    read_arrays,
    write_atomically,
    write_text,
)
from tests.helpers import traced_peak
from tests.process_cases import posix_only


def test_writes_and_replaces(tmp_path: Path) -> None:
    path = tmp_path / "ρ.txt"
    assert write_atomically(path, lambda file: file.write(b"old")) == path
    assert write_text(str(path), "λ_min ≥ ρ\n") == path
    assert path.read_bytes() == "λ_min ≥ ρ\n".encode()
    assert list(tmp_path.iterdir()) == [path]
    (tmp_path / "plain").touch()
    assert path.stat().st_mode == (tmp_path / "plain").stat().st_mode
    with pytest.raises(OSError, match="absent"):
        write_text(tmp_path / "absent" / "file", "")


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
@pytest.mark.parametrize("old", ["old", None])
def test_failed_writes(old: str | None, error: type[BaseException], tmp_path: Path) -> None:
    def fail_half_way(file: IO[bytes]) -> None:
        file.write(b"half of the n")
        raise error

    if old is not None:
        write_text(tmp_path / "result.txt", old)
    with pytest.raises(error):
        write_atomically(tmp_path / "result.txt", fail_half_way)
    assert [found.read_text() for found in tmp_path.iterdir()] == ([] if old is None else [old])


@posix_only
@pytest.mark.parametrize("name", ["x" * 255, "ä" * 127, "🙂" * 63])
def test_the_longest_names(name: str, tmp_path: Path) -> None:
    assert write_text(tmp_path / name, "text").read_text() == "text"


@posix_only
def test_the_umask_is_not_touched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread may create a file at any moment, which is to be as private as asked."""
    before = os.umask(0o077)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(os, "umask", None)
            path = write_text(tmp_path / "private", "")
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


@pytest.mark.parametrize(
    ("text", "says"),
    [("[" * 100_000, "nested too deeply"), ('"\\ud800"', "surrogates"), ("{", "Expecting")],
)
def test_what_is_no_json_that_can_be_written_again(text: str, says: str) -> None:
    assert parse_json('{"a": [1, "ä"]}') == {"a": [1, "ä"]}
    with pytest.raises(ValueError, match=says):
        parse_json(text)


# --- Archives -------------------------------------------------------------------------------------

ARRAYS = {
    "plain": np.arange(6.0).reshape(2, 3),
    "turned": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "scalar": np.array("a text"),
    "nothing": np.empty((0, 3)),
    "trace/counts": np.arange(3),
}


def npy(header: str, content: bytes = b"") -> bytes:
    """Return an npy file of format 1.0 with this header."""
    text = header.ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + content


def array(kind: str, shape: str, content: bytes = b"") -> bytes:
    return npy(f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}}}", content)


MEMBERS = {
    "huge": array("<f8", "(1000000000000,)"),
    "too short": array("<f8", "(2,)", bytes(8)),
    "negative": array("<f8", "(-1, -1)", bytes(8)),
    "empty texts": array("<U0", "(1000000000000,)"),
    "objects": array("|O", "(1,)", b"cos\nsystem\n."),
    "nested": npy("{'descr': '<f8', 'shape': (" + "(" * 80),
    "huge header": b"\x93NUMPY\x02\x00\xff\xff\xff\x7f",
    "cut": b"\x93NUMPY\x01\x00",
    "text": b"text",
    "nothing": b"",
}


@pytest.mark.parametrize("write_npz", [np.savez, np.savez_compressed])
def test_arrays_are_those_that_numpy_reads(write_npz: object, tmp_path: Path) -> None:
    write_npz(tmp_path / "a.npz", **ARRAYS)  # type: ignore[operator]
    found = read_arrays(tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz") as expected:
        assert set(found) == set(expected.files) == set(ARRAYS)
        for name, array in found.items():
            np.testing.assert_array_equal(array, expected[name])
            assert array.dtype == expected[name].dtype
            assert array.flags.f_contiguous == expected[name].flags.f_contiguous
            assert array.flags.writeable


@pytest.mark.parametrize("name", MEMBERS)
def test_members_that_are_no_arrays(name: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", MEMBERS[name])

    def refused() -> None:
        with pytest.raises(DamagedError):
            read_arrays(tmp_path / "a.npz")

    assert traced_peak(refused) < 2**22


def test_files_that_are_no_archives(tmp_path: Path) -> None:
    path, buffer = tmp_path / "a.npz", io.BytesIO()
    np.savez_compressed(buffer, x=np.zeros(100_000))
    true, false = ((size + 128).to_bytes(4, "little") for size in (800_000, 80_000_000))
    assert buffer.getvalue().count(true) >= 1
    smaller_than_announced = buffer.getvalue().replace(true, false)
    for content in (b"", b"PK\x03\x04", b"text" * 100, smaller_than_announced):
        path.write_bytes(content)
        with pytest.raises(DamagedError):
            read_arrays(path)
    with pytest.raises(FileNotFoundError):
        read_arrays(tmp_path / "absent.npz")


def test_members_stay_below_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Zeros pack a thousand times; numbers that were measured do not."""
    monkeypatch.setattr(files, "_ALWAYS", 10_000)
    np.savez_compressed(tmp_path / "zeros.npz", a=np.zeros(10_000), b=np.zeros(10_000))
    with pytest.raises(DamagedError, match="bytes, more than"):
        read_arrays(tmp_path / "zeros.npz")
    numbers = np.random.default_rng(0).standard_normal(20_000)
    np.savez_compressed(tmp_path / "numbers.npz", a=numbers)
    np.testing.assert_array_equal(read_arrays(tmp_path / "numbers.npz")["a"], numbers)
