"""How much memory there is."""

from __future__ import annotations

from pathlib import Path

import pytest

from gdaopt.errors import InvalidInputError
from gdaopt.support import resources
from gdaopt.support.resources import check_fits, free_memory


def test_what_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "free_memory", lambda: 2 * 10**9)
    check_fits(2e9, "the metric", "take less")
    with pytest.raises(
        InvalidInputError,
        match=r"the metric would need about 2\.5 GB of memory, of which 2 are free; take less",
    ):
        check_fits(2.5e9, "the metric", "take less")


def test_a_limit_of_the_container_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    free = free_memory()
    assert free > 0
    monkeypatch.setattr(resources, "_CGROUP", tmp_path)
    (tmp_path / "memory.max").write_text("1000\n")
    (tmp_path / "memory.current").write_text("400\n")
    assert free_memory() == 600
    (tmp_path / "memory.max").write_text("max\n")
    assert free_memory() > 600
