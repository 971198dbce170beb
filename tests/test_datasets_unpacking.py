"""Files as they come from UCI: plain, packed by compress, in a zip archive, or damaged."""

import base64
import zipfile

import numpy as np
import pytest

from gdaopt.datasets import lzw, unpacking
from gdaopt.datasets.unpacking import unpack
from gdaopt.errors import InvalidInputError
from tests.uci_cases import compressed, zipped

# By the program compress (ncompress 4.2.4.6): codes of 9 and of 10 bits.
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


class TestCompress:
    def test_what_the_program_made(self) -> None:
        assert lzw.decompress(SQUARES_Z, limit=10_000) == SQUARES
        assert compressed(SQUARES) == SQUARES_Z

    @pytest.mark.parametrize("clear_after", [0, 8, 1500])
    @pytest.mark.parametrize("widest", [10, 12, 16])
    def test_widths_and_emptied_tables(self, widest: int, clear_after: int) -> None:
        rng = np.random.default_rng(0)
        data = rng.integers(0, 7, 8000, dtype=np.uint8).tobytes() + b"\x00" * 2000
        packed = compressed(data, widest, clear_after=clear_after)
        assert lzw.decompress(packed, limit=len(data)) == data

    def test_without_blocks(self) -> None:
        data = bytes(range(256)) * 5
        assert lzw.decompress(compressed(data, in_blocks=False), limit=2000) == data

    def test_nothing(self) -> None:
        assert lzw.decompress(compressed(b""), limit=0) == b""

    def test_a_limit(self) -> None:
        packed = compressed(b"0" * 1000)
        assert len(lzw.decompress(packed, limit=1000)) == 1000
        with pytest.raises(ValueError, match="more than 999 bytes"):
            lzw.decompress(packed, limit=999)

    def test_cut_short(self) -> None:
        assert SQUARES.startswith(lzw.decompress(SQUARES_Z[:-40], limit=10_000))

    @pytest.mark.parametrize("packed", [b"", b"\x1f\x9d", b"\x1f\x8b\x90ab", b"\x1f\x9d\x91ab"])
    def test_other_files(self, packed: bytes) -> None:
        with pytest.raises(ValueError, match="not a file of the compress program"):
            lzw.decompress(packed, limit=10)

    @pytest.mark.parametrize("first", [256, 257, 300])
    def test_codes_that_stand_for_nothing(self, first: int) -> None:
        packed = b"\x1f\x9d\x10" + first.to_bytes(2, "little")  # not in blocks: 256 empties nothing
        with pytest.raises(ValueError, match=f"code {first} in bit 24 stands for nothing"):
            lzw.decompress(packed, limit=10)


class TestUnpack:
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
    def test_every_form(self, data: bytes) -> None:
        assert unpack(data, "t.data", "here") == "1 2\n"

    @pytest.mark.parametrize(
        ("data", "message"),
        [
            (b"\xff\xfe1", "here is neither text nor .* get it anew"),
            (compressed(b"1 2")[:3] + b"\xff\xff", "here is damaged: code 511 .* get it anew"),
            (zipped(t__data="1 2\n" * 99)[:-30], "here is a damaged zip archive: .*get it anew"),
            (zipped(a="1", b="2"), "here has no t.data in it, but a, b; get it anew"),
            (zipped(t__data="").replace(b"t.data", b"t.dat\xff"), "damaged zip|has no t.data"),
        ],
        ids=["binary", "packed", "cut zip", "other zip", "renamed"],
    )
    def test_refuses(self, data: bytes, message: str) -> None:
        with pytest.raises(InvalidInputError, match=message):
            unpack(data, "t.data", "here")

    def test_a_member_of_other_content_than_announced(self) -> None:
        data = bytearray(zipped(t__data="1 2 3 4 5 6 7 8\n"))
        data[40] ^= 0xFF
        with pytest.raises(InvalidInputError, match="here is a damaged zip archive"):
            unpack(bytes(data), "t.data", "here")

    def test_an_encrypted_member(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(self: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
            raise RuntimeError(f"File {info.filename!r} is encrypted")

        monkeypatch.setattr(zipfile.ZipFile, "read", refuse)
        with pytest.raises(InvalidInputError, match=r"'t.data' is encrypted"):
            unpack(zipped(t__data="1"), "t.data", "here")

    def test_limits(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(unpacking, "LARGEST", 100)
        text = "0" * 101
        with pytest.raises(InvalidInputError, match=r"t.data has 101 bytes, more than 100"):
            unpack(zipped(t__data=text), "t.data", "here")
        with pytest.raises(InvalidInputError, match="damaged: more than 100 bytes"):
            unpack(compressed(text.encode()), "t.data", "here")
