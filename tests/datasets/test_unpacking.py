"""Files as they come from UCI: plain, packed by compress, in a zip archive, or damaged."""

from __future__ import annotations

import io
import zipfile

import pytest

from gdaopt.datasets import unpacking
from gdaopt.datasets.unpacking import unpack
from gdaopt.errors import InvalidInputError
from tests.datasets.cases import compressed, zipped
from tests.helpers import traced_peak


@pytest.mark.parametrize(
    "data",
    [
        b"1 2\n",
        b"\xef\xbb\xbf1 2\n",
        compressed(b"1 2\n"),
        zipped(Index=b"\xff", t__data="1 2\n"),
        zipped(t__names="3", t__data__Z=compressed(b"1 2\n")),
        zipped(**{"folder/t__data": "1 2\n"}),
    ],
    ids=["plain", "marked", "packed", "zip", "packed in zip", "in a folder"],
)
def test_every_form(data: bytes) -> None:
    assert unpack(data, "t.data", "here") == "1 2\n"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\xff\xfe1", "here is neither text nor .* get it again"),
        (compressed(b"1 2")[:3] + b"\xff\xff", "here is damaged: code 511 .* get it again"),
        (zipped(t__data="1 2\n" * 99)[:-30], "here is a damaged zip archive: .*get it again"),
        (zipped(a="1", b="2"), "here has no t.data in it, but a, b; get it again"),
        (zipped(t__data="").replace(b"t.data", b"t.dat\xff"), "damaged zip|has no t.data"),
    ],
    ids=["binary", "packed", "cut zip", "other zip", "renamed"],
)
def test_refuses(data: bytes, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        unpack(data, "t.data", "here")


def test_a_member_of_other_content_than_announced() -> None:
    data = bytearray(zipped(t__data="1 2 3 4 5 6 7 8\n"))
    data[40] ^= 0xFF
    with pytest.raises(InvalidInputError, match="here is a damaged zip archive"):
        unpack(bytes(data), "t.data", "here")


def test_an_encrypted_member(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
        raise RuntimeError(f"File {info.filename!r} is encrypted")

    data = zipped(t__data="1")
    monkeypatch.setattr(zipfile.ZipFile, "open", refuse)
    with pytest.raises(InvalidInputError, match=r"'t.data' is encrypted"):
        unpack(data, "t.data", "here")


def test_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacking, "LARGEST", 200)
    text = "0" * 201
    with pytest.raises(InvalidInputError, match=r"t.data has 201 bytes, more than 200"):
        unpack(zipped(t__data=text), "t.data", "here")
    with pytest.raises(InvalidInputError, match="damaged: more than 200 bytes"):
        unpack(compressed(text.encode()), "t.data", "here")
    with pytest.raises(InvalidInputError, match="here has more than 200 bytes"):
        unpack(text.encode(), "t.data", "here")


@pytest.mark.parametrize("kind", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_member_that_is_larger_than_announced(kind: int) -> None:
    """No more is unpacked than was announced, whatever the header says."""
    data = lying(kind, b"0" * 12_345_678, 100)

    def refused() -> None:
        with pytest.raises(InvalidInputError, match="here is a damaged zip archive"):
            unpack(data, "t.data", "here")

    assert traced_peak(refused) < 2**22


def lying(kind: int, content: bytes, announced: int) -> bytes:
    """Return an archive whose headers announce another size of its member ``t.data``."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", kind) as archive:
        archive.writestr("t.data", content)
    true, false = (size.to_bytes(4, "little") for size in (len(content), announced))
    assert buffer.getvalue().count(true) == 2  # in the local and in the central header
    return buffer.getvalue().replace(true, false)
