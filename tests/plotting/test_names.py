"""Names in pictures: short, printable, one for each feature."""

from __future__ import annotations

from typing import Any

import pytest

from gdaopt.errors import InvalidInputError
from gdaopt.plotting.legends import feature_names, shortened


def test_names_are_printable_and_short() -> None:
    names = feature_names(["a\nb", "\u202ec", "x" * 99], 3)
    assert names[:2] == [r"a\nb", r"\u202ec"]
    assert names[2] == shortened("x" * 99) == "x" * 39 + "…"


@pytest.mark.parametrize("names", ["abc", 3, ["a", "b"]])
def test_other_names_are_refused(names: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"^names "):
        feature_names(names, 3)
