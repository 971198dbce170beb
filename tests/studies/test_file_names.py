"""File names made from labels: valid everywhere, and distinct where case does not count."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdaopt.studies.run_directory import file_stems
from tests.helpers import PROPERTY

AWKWARD = [
    *("con", "CON", "Con.txt", "NUL", "aux.txt", "prn", "com1", "LPT9.log", "com¹"),
    *("a.", "a..", "a ", " a", "a", "A", "a. ", ".", "..", "", ".hidden", "a/b", "a\\b", "a:b"),
    *('a"b', "a|b", "a?b", "a*b", "a<b>", "a\nb", "a\0b", "../..", "x" * 300, "x" * 301),
    *("ä", "a\u0308", "ß", "ss", "SS", "ﬁ", "fi", "İ", "i", "\u202e", "🙂", "-trace", "a-trace"),
]
DEVICES = {"con", "prn", "aux", "nul", "conin$", "conout$", "clock$"} | {
    f"{port}{n}" for port in ("com", "lpt") for n in "0123456789¹²³"
}


def is_valid_on_windows(name: str) -> bool:
    """Say whether a whole file name is valid, by Microsoft's "Naming Files, Paths, and Namespaces".

    Also names that only old versions of Windows refuse are invalid.
    """
    device = name.partition(".")[0].rstrip(" ").casefold() in DEVICES
    return (
        bool(re.fullmatch(r'[^<>:"/\\|?*\x00-\x1f]+', name)) and name[-1] not in ". " and not device
    )


def check(labels: list[str]) -> None:
    stems = file_stems(labels)
    assert list(stems) == labels
    for stem in stems.values():
        assert is_valid_on_windows(f"{stem}.npz")
        assert is_valid_on_windows(f"{stem}-trace.csv")
        assert is_valid_on_windows(stem)
        assert not stem.startswith(".")
        assert len(f"{stem}-trace.csv".encode()) < 225  # temporary names are longer
    for form in ("NFC", "NFD", "NFKC"):
        assert len({unicodedata.normalize(form, s).casefold() for s in stems.values()}) == len(
            stems
        )
        assert len({unicodedata.normalize(form, s).upper() for s in stems.values()}) == len(stems)


def test_awkward_labels() -> None:
    check(AWKWARD)
    check(AWKWARD[::-1])


@PROPERTY
@given(st.lists(st.text(max_size=8) | st.sampled_from(AWKWARD), unique=True, max_size=12))
def test_any_labels(labels: list[str]) -> None:
    check(labels)


@pytest.mark.parametrize("label", ["setosa", "class_1", "1", "-1", "0.5", "ä.1", "c2-x"])
def test_names_stay_as_they_are(label: str) -> None:
    assert file_stems([label]) == {label: label}
