"""Who solves programs: names and options."""

from __future__ import annotations

from typing import Any

import pytest

import gdaopt as gda
from gdaopt.programs import ProgramOptions


@pytest.mark.parametrize("name", ["highspy", "HIGHSPY", "HiGHSpy"])
def test_highspy_in_any_case(name: str) -> None:
    options = ProgramOptions(solver=name, fallback=[name, "Analytic"])
    assert options.solver == "highspy"
    assert [backend.name for backend in options.backends()] == ["highspy", "highspy", "analytic"]


@pytest.mark.parametrize("fallback", [3, ["HIGHS", 3]])
def test_fall_backs_are_names(fallback: Any) -> None:
    with pytest.raises(gda.GdaoptError, match="3"):
        ProgramOptions(fallback=fallback)


def test_the_closed_form_has_no_options() -> None:
    with pytest.raises(gda.InvalidInputError, match="make no sense with solver='analytic'"):
        ProgramOptions(solver="analytic", solver_opts={"presolve": "off"})
