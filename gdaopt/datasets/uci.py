"""The tables of the UCI repository: what they hold, how their files are read and recognised."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass

import numpy as np

from gdaopt.errors import InvalidInputError
from gdaopt.validation import FloatArray

__all__ = ["PAGE_BLOCKS", "SEEDS", "UciTable", "digest", "read_table"]

_UCI = "https://archive.ics.uci.edu"
_UCI_FILES = f"{_UCI}/ml/machine-learning-databases"


@dataclass(frozen=True, kw_only=True)
class UciTable:
    """A table of numbers whose last column tells the class: 1 for the first, and so on.

    Attributes
    ----------
    name : str
        What the package calls it.
    file : str
        What UCI calls the text file, and we the one in the cache.
    page : str
        Where people find it.
    urls : tuple of str
        Where programs find it, the best first: as a zip archive, packed (``.Z``) or plain.
    feature_names, class_names : tuple of str
        In the file's order, after UCI's description.
    rows : int
        How many samples there are.
    sha256 : str
        The `digest` of what the file says. Not of its bytes: copies differ in white space.
    """

    name: str
    file: str
    page: str
    urls: tuple[str, ...]
    feature_names: tuple[str, ...]
    class_names: tuple[str, ...]
    rows: int
    sha256: str

    @property
    def file_names(self) -> tuple[str, ...]:
        """The names under which the file may lie in a directory: the text, or as downloaded."""
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
    # UCI's page and the table of frequencies in page-blocks.names agree on these; the text of
    # page-blocks.names has graphic and picture the other way round.
    class_names=("text", "horizontal line", "graphic", "vertical line", "picture"),
    rows=5473,
    sha256="7961e81536348540dcf5a1d1b755390e731444da86a3dd6ee2c2f88951485b33",
)
"""5473 blocks of the pages of 54 documents."""


def digest(data: FloatArray) -> str:
    """Return the SHA-256 of the numbers of an array, row by row, as little-endian float64.

    Examples
    --------
    >>> digest(np.array([[1.0, 2.0], [3.0, 4.0]]))[:16]
    '6bab56d2f81d4b5a'
    """
    return hashlib.sha256(np.ascontiguousarray(data, dtype="<f8").tobytes()).hexdigest()


def read_table(table: UciTable, text: str, where: str) -> FloatArray:
    """Return the numbers of a file, if they are those of the table.

    Parameters
    ----------
    table : UciTable
        Which one it should be.
    text : str
        What the file holds: numbers between tabs or blanks, however many, one line a sample.
    where : str
        What error messages call the file.

    Returns
    -------
    ndarray of shape (N, K + 1)
        The features and, last, the number of the class.

    Raises
    ------
    InvalidInputError
        When a line has too few or too many columns, something that is no finite number, or a class
        that does not exist, and when the numbers are not those of the table.
    """
    rows = [
        _row(table, words, f"{where}, line {number}")
        for number, line in enumerate(text.splitlines(), start=1)
        if (words := line.split())
    ]
    data = np.array(rows, dtype=np.float64)
    found = digest(data)
    if found != table.sha256:
        raise InvalidInputError(
            f"{where} is not UCI's {table.name}: its {len(rows)} rows of numbers (of "
            f"{table.rows}) have the SHA-256 {found[:16]}…, not {table.sha256[:16]}…; "
            f"get it anew from {table.page}"
        )
    return data


def _row(table: UciTable, words: list[str], where: str) -> list[float]:
    """Return the numbers of one line."""
    columns = len(table.feature_names) + 1
    if len(words) != columns:
        raise InvalidInputError(
            f"{where}: {len(words)} columns, but {table.name} has {columns}; "
            f"get the file anew from {table.page}"
        )
    numbers = [_number(word) for word in words]
    for word, number in zip(words, numbers, strict=True):
        if not math.isfinite(number):
            raise InvalidInputError(
                f"{where}: {word!r} is no finite number; get the file anew from {table.page}"
            )
    if numbers[-1] not in range(1, len(table.class_names) + 1):
        raise InvalidInputError(
            f"{where}: class {words[-1]}, but {table.name} has 1 to {len(table.class_names)}; "
            f"get the file anew from {table.page}"
        )
    return numbers


def _number(word: str) -> float:
    """Return the number that a word stands for, or NaN."""
    try:
        return float(word)
    except ValueError:
        return math.nan
