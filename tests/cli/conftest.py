"""Fixtures that several tests of the command line share."""

from collections.abc import Iterator

import pytest

from tests.cli.cases import undrawn


@pytest.fixture
def no_pictures() -> Iterator[None]:
    with undrawn():
        yield
