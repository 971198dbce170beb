"""Which solvers work here, and the messages on those that do not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import cvxpy as cp
import pytest
from cvxpy.reductions.solvers.defines import SOLVER_MAP_CONIC, SOLVER_MAP_QP

import gdaopt as gda
from gdaopt.backends import find_solver, registry
from gdaopt.programs import ProgramOptions
from tests.backends.cases import Fault


@pytest.fixture
def probed_anew() -> Iterator[None]:
    registry._probe.cache_clear()
    yield
    registry._probe.cache_clear()


@pytest.mark.parametrize("name", ["HIGHS", "highs", "HiGHS", "Clarabel", "ScS"])
def test_names_in_any_case(name: str) -> None:
    assert find_solver(name) == name.upper()
    assert ProgramOptions(solver=name).solver == name.upper()


@pytest.mark.parametrize("name", ["analytic", "Analytic", "ANALYTIC"])
def test_the_closed_form_in_any_case(name: str) -> None:
    assert ProgramOptions(solver=name).solver == "analytic"


@pytest.mark.parametrize(
    ("name", "nearest"), [("HIGSH", "HIGHS"), ("clarabell", "CLARABEL"), ("analytical", "analytic")]
)
def test_an_unknown_name_suggests_the_nearest(name: str, nearest: str) -> None:
    with pytest.raises(gda.SolverNotFoundError, match=f"did you mean '{nearest}'") as caught:
        ProgramOptions(solver=name)
    assert "Working here: " in str(caught.value)
    for working in ("CLARABEL", "HIGHS", "analytic"):
        assert working in str(caught.value).split("Working here: ")[1]
    assert isinstance(caught.value, ValueError)


def test_a_solver_that_is_not_installed(monkeypatch: pytest.MonkeyPatch, probed_anew: None) -> None:
    def import_solver() -> None:
        raise ModuleNotFoundError("No module named 'mosek'")

    monkeypatch.setattr(SOLVER_MAP_CONIC["MOSEK"], "import_solver", import_solver)
    with pytest.raises(
        gda.SolverNotFoundError, match=r"MOSEK does not work here: No module named 'mosek'.*HIGHS"
    ):
        gda.Alternating(solver="mosek")


def test_ecos_missing_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, probed_anew: None
) -> None:
    def import_solver() -> None:
        raise ImportError("No module named 'ecos'")

    monkeypatch.setattr(SOLVER_MAP_CONIC["ECOS"], "import_solver", import_solver)
    with pytest.raises(gda.SolverNotFoundError, match=r"pip install ecos.*CLARABEL solves"):
        find_solver("ECOS")
    assert "ECOS" in [info.name for info in gda.solvers() if not info.usable]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"error": cp.SolverError("the licence has expired")}, "the licence has expired"),
        ({"value": 7.0}, r"answered 7\.0"),
        ({"status": cp.INFEASIBLE}, "infeasible"),
    ],
)
def test_installed_is_not_usable(
    change: dict[str, Any], reason: str, fault: Fault, probed_anew: None
) -> None:
    vars(fault).update(change)
    with pytest.raises(gda.SolverNotFoundError, match=f"HIGHS does not work here: .*{reason}"):
        find_solver("HIGHS")


def test_every_solver_of_cvxpy_is_listed_once() -> None:
    listed = gda.solvers()
    names = [info.name for info in listed]
    assert sorted(names) == sorted({*SOLVER_MAP_CONIC, *SOLVER_MAP_QP})
    usable = [info.usable for info in listed]
    assert usable == sorted(usable, reverse=True)
    assert {info.name for info in listed if info.usable} >= {"HIGHS", "CLARABEL", "SCS", "OSQP"}
    assert all(bool(info.reason) != info.usable for info in listed)


def test_solvers_are_probed_once(fault: Fault, probed_anew: None) -> None:
    first = gda.solvers()
    calls = len(fault.calls)
    assert gda.solvers() == first
    assert len(fault.calls) == calls > 0
