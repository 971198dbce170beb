"""Tables of the UCI repository: how files are read, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

from gdaopt.datasets.uci import digest, read_table
from gdaopt.errors import InvalidInputError
from tests.datasets.cases import BLOCKS_TEXT, SEEDS_TEXT, SMALL_BLOCKS, SMALL_SEEDS


def test_tabs() -> None:
    data = read_table(SMALL_SEEDS, SEEDS_TEXT, "a file")
    assert data.shape == (6, 8)
    np.testing.assert_array_equal(data[1], [14.8, 14.5, 0.88, 5.5, 3.3, 1.0, 4.9, 1])


def test_fixed_width() -> None:
    data = read_table(SMALL_BLOCKS, BLOCKS_TEXT, "a file")
    assert data.shape == (6, 11)
    np.testing.assert_array_equal(data[0, :7], [5, 7, 35, 1.4, 0.4, 0.657, 2.33])
    np.testing.assert_array_equal(data[:, -1], [1, 1, 2, 3, 4, 5])


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


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "\t4.6\t5.8\t2",
            "\t4.6",
            "tiny.txt, line 4: 6 columns, but seeds has 8; get the file",
        ),
        ("0.84\t", "", "line 5: 7 columns, but seeds has 8"),
        ("0.84\t", "0.84\t7\t", "line 5: 9 columns, but seeds has 8"),
        ("0.84\t", "0,84\t", "line 5: '0,84' is not a finite number; get the file again from http"),
        ("0.84\t", "?\t", r"line 5: '\?' is not a finite number"),
        ("0.84\t", "nan\t", "line 5: 'nan' is not a finite number"),
        ("0.84\t", "1e999\t", "line 5: '1e999' is not a finite number"),
        ("\t\t3\n", "\t\t4\n", "line 5: class 4, but seeds has 1 to 3; get the file again"),
        ("\t\t3\n", "\t\t0\n", "line 5: class 0,"),
        ("\t\t3\n", "\t\t2.5\n", "line 5: class 2.5,"),
    ],
)
def test_refuses_lines(old: str, new: str, message: str) -> None:
    assert old in SEEDS_TEXT
    with pytest.raises(InvalidInputError, match=message):
        read_table(SMALL_SEEDS, SEEDS_TEXT.replace(old, new), "tiny.txt")


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("", 0),
        (SEEDS_TEXT.rpartition("12.1")[0], 5),
        (SEEDS_TEXT.replace("0.84", "0.841"), 6),
        ("".join(reversed(SEEDS_TEXT.splitlines(keepends=True))), 6),
    ],
    ids=["empty", "a line less", "another number", "another order"],
)
def test_refuses_other_numbers(text: str, rows: int) -> None:
    message = rf"a.txt is not UCI's seeds: its {rows} rows of numbers \(of 6\) have the SHA-256"
    with pytest.raises(InvalidInputError, match=message):
        read_table(SMALL_SEEDS, text, "a.txt")
