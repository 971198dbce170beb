"""Tables of the UCI repository: how files are unpacked and read, and what is refused."""

from __future__ import annotations

import base64
import re
import zipfile
from collections.abc import Callable

import numpy as np
import pytest

from gdaopt.datasets.builtin import digest, read_table, unpack
from gdaopt.errors import InvalidInputError
from tests.datasets.cases import (
    BLOCKS_TEXT,
    SEEDS_TEXT,
    SMALL_BLOCKS,
    SMALL_SEEDS,
    compressed,
    zipped,
)

# Packed by the program compress (ncompress 4.2.4.6), with codes of 9 and of 10 bits.
SQUARES = "".join(f"{i * i}\n" for i in range(200)).encode()
SQUARES_Z = base64.b64decode(
    """
    H52QMBTEUEBDQQ6BNhTIqKFgRkIaB20UxDEwBoyAMWRUpFEwho2DMXIklLFQYY2ROA7OkFHQ4UAaFwnSeImjYA0ZB2vc
    SGijpI2dCm7gDFpTQc2BOWKKrAiDpUAYKQXGOCmQJMOMIgU6BMmx482KNmJ6pChwZ8eaIHM4VNiUoUaPCmXAOChj
    BoyCLGEMXBhTRti9N+4qxDFXYQ64dkvOiLF2JcSGDlvSIOsw5gyhA2fUbCnyIMysNKwSnEGVY1QaPQvS2PkyacAa
    dwfWiFG0xsqcqxOeLKkTaI0cQ8MWTT1QYkwbJ4sLLWgDR9TAVIWWvDEj642TB2/c4BgU+ECKMXHIIFtTolGJB52v
    TVrSe8Icnw2GLZiDMNOLGJvqfQqzI4ywIEEFVwwWlURgXQkRyBFIHplHoHMVaSRWXRpVVQN3Ge0EEk5ZMSYaYzRQ
    xVhzIFXnVAwz2bARTBihNpNAkxU1FVYC2QbUVD1dVQMON6o4lEeadWSDRGC5VpZHFW134k5RxXBDDiKKZyBaCfL4
    kUBJYahWhSGFhVF9ZMnlEV53PSYXdSMV6BZjcGkEoEIhCUaSmHHBFhBJ9im0mJwzxFfXDW3CVBJLM6zFEnoKQWTe
    QuPtdVJfv1XoF0t4IXelXymNJJ1b11Elww3O0SUlXjgkN5iROLG0F5RFcThUYkDZlWNDc8XqoUpjtSTXi45Z9qmK
    kGXUUp9RFVpqQn2K1udvyCqqkm3ckYZZQypaJhFlzZl3GUsq7dQYYYodhaxzhZkoWHV/KQA=
    """
)


@pytest.mark.parametrize(
    "content",
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
def test_every_form(content: bytes) -> None:
    assert unpack(content, "t.data", "here") == "1 2\n"


def test_what_the_program_compress_made() -> None:
    assert unpack(SQUARES_Z, "t.data", "here") == SQUARES.decode()
    assert unpack(compressed(SQUARES), "t.data", "here") == SQUARES.decode()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff\xfe1", "here is not a text, nor one in .* get it again"),
        (compressed(b"1 2")[:3] + b"\xff\xff", "not a text.* Invalid Data: .* get it again"),
        (zipped(t__data="1 2\n" * 99)[:-30], "not a text.* not a zip file; get it again"),
        (zipped(a="1", b="2"), "it holds no t.data, but a, b; get it again"),
        (zipped(t__data="").replace(b"t.data", b"t.dat\xff"), "get it again"),
        (
            zipped(t__data="1 2 3 4\n")[:40] + b"\0" + zipped(t__data="1 2 3 4\n")[41:],
            "not a text.*get it again",
        ),
    ],
    ids=["binary", "packed", "cut zip", "other zip", "renamed", "other content"],
)
def test_refuses_damaged_files(content: bytes, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        unpack(content, "t.data", "here")


def test_an_encrypted_member(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: zipfile.ZipFile, name: str) -> bytes:
        raise RuntimeError(f"File {name!r} is encrypted")

    monkeypatch.setattr(zipfile.ZipFile, "read", refuse)
    with pytest.raises(InvalidInputError, match=r"'t.data' is encrypted"):
        unpack(zipped(t__data="1"), "t.data", "here")


def test_tabs_and_columns_of_fixed_width() -> None:
    seeds = read_table(SMALL_SEEDS, SEEDS_TEXT, "a file")
    blocks = read_table(SMALL_BLOCKS, BLOCKS_TEXT, "a file")
    assert (seeds.shape, blocks.shape) == ((6, 8), (6, 11))
    np.testing.assert_array_equal(seeds[1], [14.8, 14.5, 0.88, 5.5, 3.3, 1.0, 4.9, 1])
    np.testing.assert_array_equal(blocks[0, :7], [5, 7, 35, 1.4, 0.4, 0.657, 2.33])
    np.testing.assert_array_equal(blocks[:, -1], [1, 1, 2, 3, 4, 5])


@pytest.mark.parametrize(
    "change",
    [
        lambda text: re.sub(r"\t+", " ", text),
        lambda text: text.replace("\t", "\t\t"),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\n" + text.rstrip() + "\n\n \t\n",
        lambda text: text.replace("5.0", "5.00").replace("\t1\n", "\t1.0\n"),
    ],
    ids=["blanks", "more tabs", "carriage returns", "empty lines", "other noughts"],
)
def test_white_space_and_noughts_do_not_matter(change: Callable[[str], str]) -> None:
    assert digest(read_table(SMALL_SEEDS, change(SEEDS_TEXT), "a")) == SMALL_SEEDS.sha256


OTHER = r"a.txt is not UCI's seeds, which has 48 numbers with the SHA-256 .*: "


WORDS = "could not convert .* {}; get it again from http"
NUMBERS = "it holds {} numbers with the SHA-256"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (SEEDS_TEXT.replace("0.84\t", "0,84\t"), WORDS.format("'0,84'")),
        (SEEDS_TEXT.replace("\t\t3\n", "\t\tRosa\n"), WORDS.format("'Rosa'")),
        ("", NUMBERS.format(0)),
        (SEEDS_TEXT.rpartition("12.1")[0], NUMBERS.format(40)),
        (SEEDS_TEXT.replace("0.84\t", "", 1), NUMBERS.format(47)),
        (SEEDS_TEXT.replace("0.84", "0.841"), NUMBERS.format(48)),
        (SEEDS_TEXT.replace("0.84", "nan"), NUMBERS.format(48)),
        ("".join(reversed(SEEDS_TEXT.splitlines(keepends=True))), NUMBERS.format(48)),
    ],
    ids=[
        *("a decimal comma", "a word", "empty", "a line less", "a number less"),
        *("another number", "not a number", "another order"),
    ],
)
def test_refuses_other_numbers(text: str, says: str) -> None:
    with pytest.raises(InvalidInputError, match=OTHER + says):
        read_table(SMALL_SEEDS, text, "a.txt")
