"""Archives of arrays: what is read, and what is refused before it takes memory."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from gdaopt.support import files as archives
from gdaopt.support.files import DamagedError, read_arrays
from tests.helpers import traced_peak

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


def write(path: Path, member: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", member)
    return path


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


@pytest.mark.parametrize(
    "member",
    [
        npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,)}"),
        npy("{'descr': '<f8', 'fortran_order': False, 'shape': (2,)}", bytes(8)),
        npy("{'descr': '<f8', 'fortran_order': False, 'shape': (-1, -1)}", bytes(8)),
        npy("{'descr': '<U0', 'fortran_order': False, 'shape': (1000000000000,)}"),
        npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", b"cos\nsystem\n."),
        npy("{'descr': '<f8', 'shape': (" + "(" * 80),
        b"\x93NUMPY\x02\x00\xff\xff\xff\x7f",
        b"\x93NUMPY\x01\x00",
        b"text",
        b"",
    ],
    ids=[
        *("huge", "too short", "negative", "empty texts", "objects", "nested", "huge header"),
        *("cut", "text", "nothing"),
    ],
)
def test_members_that_are_no_arrays(member: bytes, tmp_path: Path) -> None:
    path = write(tmp_path / "a.npz", member)

    def refused() -> None:
        with pytest.raises(DamagedError):
            read_arrays(path)

    assert traced_peak(refused) < 2**22


def test_files_that_are_no_archives(tmp_path: Path) -> None:
    for content in (b"", b"PK\x03\x04", b"text" * 100):
        (tmp_path / "a.npz").write_bytes(content)
        with pytest.raises(DamagedError):
            read_arrays(tmp_path / "a.npz")
    with pytest.raises(FileNotFoundError):
        read_arrays(tmp_path / "absent.npz")


def test_all_members_together_stay_below_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Zeros pack a thousand times; numbers that were measured do not."""
    monkeypatch.setattr(archives, "_ALWAYS", 10_000)
    np.savez_compressed(tmp_path / "zeros.npz", a=np.zeros(10_000), b=np.zeros(10_000))
    with pytest.raises(DamagedError, match="bytes, more than"):
        read_arrays(tmp_path / "zeros.npz")
    numbers = np.random.default_rng(0).standard_normal(20_000)
    np.savez_compressed(tmp_path / "numbers.npz", a=numbers)
    np.testing.assert_array_equal(read_arrays(tmp_path / "numbers.npz")["a"], numbers)


def test_a_member_that_is_smaller_than_announced(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, x=np.zeros(100_000))
    true, false = ((size + 128).to_bytes(4, "little") for size in (800_000, 80_000_000))
    assert buffer.getvalue().count(true) >= 1
    (tmp_path / "a.npz").write_bytes(buffer.getvalue().replace(true, false))
    with pytest.raises(DamagedError):
        read_arrays(tmp_path / "a.npz")
