"""Files as they come from UCI: plain, packed by compress, in a zip archive, or damaged."""

from __future__ import annotations

import zipfile

import pytest

from gdaopt.datasets import unpacking
from gdaopt.datasets.unpacking import unpack
from gdaopt.errors import InvalidInputError
from tests.datasets.cases import compressed, zipped


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

    monkeypatch.setattr(zipfile.ZipFile, "read", refuse)
    with pytest.raises(InvalidInputError, match=r"'t.data' is encrypted"):
        unpack(zipped(t__data="1"), "t.data", "here")


def test_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacking, "LARGEST", 100)
    text = "0" * 101
    with pytest.raises(InvalidInputError, match=r"t.data has 101 bytes, more than 100"):
        unpack(zipped(t__data=text), "t.data", "here")
    with pytest.raises(InvalidInputError, match="damaged: more than 100 bytes"):
        unpack(compressed(text.encode()), "t.data", "here")
