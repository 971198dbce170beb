"""The tables of the UCI repository: their contents, and how their files are read and checked."""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass

import numpy as np

from gdaopt.errors import InvalidInputError
from gdaopt.support.files import opened
from gdaopt.support.text import reason
from gdaopt.support.validation import FloatArray

_UCI = "https://archive.ics.uci.edu"
_UCI_FILES = f"{_UCI}/ml/machine-learning-databases"

_ZIP, _COMPRESS = b"PK\x03\x04", b"\x1f\x9d"  # the first bytes of packed files


@dataclass(frozen=True, kw_only=True)
class UciTable:
    """A table of numbers whose last column is the number of the class, counted from 1."""

    name: str  # that `gdaopt.datasets.load` knows
    file: str  # the name of the text file, at UCI and in the cache
    page: str  # for people
    urls: tuple[str, ...]  # the best first: as a zip archive, packed (``.Z``) or plain
    feature_names: tuple[str, ...]  # in the order of the file, from UCI's description
    class_names: tuple[str, ...]
    rows: int
    sha256: str  # the `digest` of the numbers, not of the bytes: copies differ in white space

    @property
    def file_names(self) -> tuple[str, ...]:
        """The names that the file may have in a directory: of the text, or of the download."""
        return tuple(dict.fromkeys([self.file, *(url.rpartition("/")[2] for url in self.urls)]))


SEEDS = UciTable(
    name="seeds",
    file="seeds_dataset.txt",
    page=f"{_UCI}/dataset/236/seeds",
    urls=(
        f"{_UCI}/static/public/236/seeds.zip",
        f"{_UCI_FILES}/00236/seeds_dataset.txt",
    ),
    feature_names=(
        "area",
        "perimeter",
        "compactness",
        "length of kernel",
        "width of kernel",
        "asymmetry coefficient",
        "length of kernel groove",
    ),
    class_names=("Kama", "Rosa", "Canadian"),
    rows=210,
    sha256="1df01b571e636d41f6de3e93e3e645f05a9a31c88b50104cc69c2a09b7f3f2ee",
)
"""210 kernels of wheat."""

PAGE_BLOCKS = UciTable(
    name="page_blocks",
    file="page-blocks.data",
    page=f"{_UCI}/dataset/78/page+blocks+classification",
    urls=(
        f"{_UCI}/static/public/78/page+blocks+classification.zip",
        f"{_UCI_FILES}/page-blocks/page-blocks.data.Z",
    ),
    feature_names=(
        "height",
        "length",
        "area",
        "eccen",
        "p_black",
        "p_and",
        "mean_tr",
        "blackpix",
        "blackand",
        "wb_trans",
    ),
    # UCI's page and the table of frequencies in page-blocks.names agree on this order. The text of
    # page-blocks.names has graphic and picture in the other order.
    class_names=("text", "horizontal line", "graphic", "vertical line", "picture"),
    rows=5473,
    sha256="7961e81536348540dcf5a1d1b755390e731444da86a3dd6ee2c2f88951485b33",
)
"""5473 blocks of the pages of 54 documents."""


def digest(data: FloatArray) -> str:
    """Return the SHA-256 of the numbers of an array, taken row by row as little-endian float64."""
    return hashlib.sha256(np.ascontiguousarray(data, dtype="<f8").tobytes()).hexdigest()


def unpack(content: bytes, member: str, where: str) -> str:
    """Return the text that a file holds; the first bytes tell how it is packed.

    It is a text, a text packed by the program ``compress`` (``.Z``), or a zip archive with one of
    these as a `member` (without the ``.Z``). Messages call it `where`. An InvalidInputError says
    what is wrong with any other file.
    """
    try:
        if content.startswith(_ZIP):
            with opened(io.BytesIO(content)) as archive:
                held = {name.rpartition("/")[2]: name for name in archive.namelist()}
                name = held.get(member, held.get(f"{member}.Z"))
                if name is None:
                    raise ValueError(f"it holds no {member}, but {', '.join(held) or 'nothing'}")
                content = archive.read(name)
        if content.startswith(_COMPRESS):
            from unlzw3 import unlzw  # needed here only

            content = unlzw(content)
        return content.decode("utf-8-sig")
    except ValueError as error:
        raise InvalidInputError(
            f"{where} is not a text, nor one in a sound .zip or .Z file: {reason(error)}; get it "
            "again"
        ) from error


def read_table(table: UciTable, text: str, where: str) -> FloatArray:
    """Return the numbers of a text, shape (N, K + 1): the features and the number of the class.

    They are separated by any number of tabs or blanks. An InvalidInputError, which calls the text
    `where`, says what it holds instead of the numbers of the table.
    """
    columns = len(table.feature_names) + 1
    try:
        data = np.array([float(word) for word in text.split()])
        found = f"it holds {data.size} numbers with the SHA-256 {digest(data)[:16]}…"
    except ValueError as error:
        data, found = np.empty(0), reason(error)
    if digest(data) != table.sha256:
        raise InvalidInputError(
            f"{where} is not UCI's {table.name}, which has {table.rows * columns} numbers with the "
            f"SHA-256 {table.sha256[:16]}…: {found}; get it again from {table.page}"
        )
    return data.reshape(-1, columns)
