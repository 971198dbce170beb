"""Conic programs that would not fit into memory are refused."""

from __future__ import annotations

from typing import Any

import pytest

import gdaopt as gda
from gdaopt.methods import memory
from tests.methods.conic_cases import objective_of, small


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "free_memory", lambda: 10_000)


@pytest.mark.parametrize("method", ["sdp", "socp"])
def test_what_would_not_fit_is_refused_before_it_is_built(
    method: str, little_memory: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert gda.solve(small(), method, force=True).status in ("converged", "stalled")

    def to_cvxpy(*args: Any, **options: Any) -> Any:
        pytest.fail("it has been built")

    monkeypatch.setattr(gda.MetricProblem, "to_cvxpy", to_cvxpy)
    with pytest.raises(gda.InvalidInputError, match=r"need about [\d.e-]+ GB.* 1e-05 are.*force"):
        gda.solve(small(), method)


def test_estimates_grow_with_the_program() -> None:
    small = memory.cone_bytes(25, 300, "semidefinite")
    large, pairs = (memory.cone_bytes(50, 1225, cone) for cone in ("semidefinite", "second-order"))
    assert large > 10 * small
    assert pairs < large
    # In a semidefinite cone all entries count, in second-order cones only those of edges.
    assert memory.cone_bytes(50, 49, "semidefinite") == large
    assert memory.cone_bytes(50, 49, "second-order") < pairs / 50
    few, many = (objective_of("glr", 5, n).conic_bytes() for n in (20, 40))
    assert many > 2 * few
    assert 0 < memory.free_memory() < 1e15
