"""Files that the program compress packed."""

from __future__ import annotations

import base64

import numpy as np
import pytest

from gdaopt.datasets import lzw
from tests.datasets.cases import compressed

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


def test_what_the_program_made() -> None:
    assert lzw.decompress(SQUARES_Z, limit=10_000) == SQUARES
    assert compressed(SQUARES) == SQUARES_Z


@pytest.mark.parametrize("clear_after", [0, 8, 1500])
@pytest.mark.parametrize("widest", [10, 12, 16])
def test_widths_and_emptied_tables(widest: int, clear_after: int) -> None:
    rng = np.random.default_rng(0)
    data = rng.integers(0, 7, 8000, dtype=np.uint8).tobytes() + b"\x00" * 2000
    packed = compressed(data, widest, clear_after=clear_after)
    assert lzw.decompress(packed, limit=len(data)) == data


def test_without_blocks() -> None:
    data = bytes(range(256)) * 5
    assert lzw.decompress(compressed(data, in_blocks=False), limit=2000) == data


def test_nothing() -> None:
    assert lzw.decompress(compressed(b""), limit=0) == b""


def test_a_limit() -> None:
    packed = compressed(b"0" * 1000)
    assert len(lzw.decompress(packed, limit=1000)) == 1000
    with pytest.raises(ValueError, match="more than 999 bytes"):
        lzw.decompress(packed, limit=999)


def test_cut_short() -> None:
    assert SQUARES.startswith(lzw.decompress(SQUARES_Z[:-40], limit=10_000))


@pytest.mark.parametrize("packed", [b"", b"\x1f\x9d", b"\x1f\x8b\x90ab", b"\x1f\x9d\x91ab"])
def test_other_files(packed: bytes) -> None:
    with pytest.raises(ValueError, match="not a file of the compress program"):
        lzw.decompress(packed, limit=10)


@pytest.mark.parametrize("first", [256, 257, 300])
def test_codes_that_stand_for_nothing(first: int) -> None:
    packed = b"\x1f\x9d\x10" + first.to_bytes(
        2, "little"
    )  # not in blocks: code 256 does not empty the table
    with pytest.raises(ValueError, match=f"code {first} in bit 24 stands for nothing"):
        lzw.decompress(packed, limit=10)
