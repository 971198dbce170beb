"""Faults of solvers in this process."""

import pytest

from tests.backends.cases import Fault


@pytest.fixture
def fault(monkeypatch: pytest.MonkeyPatch) -> Fault:
    return Fault(monkeypatch)
