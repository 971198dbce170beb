"""Fixtures that several tests of the command line share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.cases import learn, undrawn


@pytest.fixture
def no_pictures() -> Iterator[None]:
    with undrawn():
        yield


@pytest.fixture(scope="module")
def iris(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """One run with all defaults but the directory, and its output."""
    out = tmp_path_factory.mktemp("runs") / "new" / "iris"
    return out, learn("iris", "--out", out)
