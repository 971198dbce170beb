"""Misspelt options of solvers."""

from __future__ import annotations

from typing import Any

import pytest

import gdaopt as gda
from gdaopt.backends import solve_program
from gdaopt.backends.option_names import check_option_names
from gdaopt.programs import ProgramOptions
from tests.backends.cases import tiny_problem
from tests.programs.cases import need

GOOD: dict[str, dict[str, Any]] = {
    "CBC": {"maxNumIteration": 100},
    "CVXOPT": {"abstol": 1e-9, "max_iters": 50},
    "DAQP": {"iter_limit": 500},
    "GLPK": {"max_iters": 100},
    "HIGHS": {"presolve": "off", "highs_options": {"simplex_strategy": 1}},
    "PROXQP": {"max_iter": 500},
    "QOCO": {"max_iters": 100},
    "SDPA": {"maxIteration": 80},
}


@pytest.mark.parametrize("solver", GOOD)
def test_good_options_are_passed_on(solver: str) -> None:
    need(solver)
    check_option_names(solver, {"warm_start": False, "verbose": False} | GOOD[solver])
    assert solve_program(tiny_problem(), solver, solver_opts=GOOD[solver]).status == "optimal"


@pytest.mark.parametrize("solver", GOOD)
def test_misspelt_options_are_refused(solver: str) -> None:
    need(solver)
    name = next(iter(GOOD[solver]))
    with pytest.raises(
        gda.InvalidInputError, match=f"option of {solver} '{name[:-1]}'; did you mean '{name}'"
    ):
        ProgramOptions(solver=solver, solver_opts={name[:-1]: 1})


def test_a_fallback_does_not_hide_a_misspelt_option() -> None:
    with pytest.raises(gda.InvalidInputError, match="did you mean 'presolve'"):
        gda.Alternating(solver="HIGHS", solver_opts={"presolv": "off"}, fallback="analytic")


def test_options_of_highs_that_are_not_public() -> None:
    check_option_names("HIGHS", {"presolve_rule_off": 0})


def test_solvers_that_refuse_options_themselves() -> None:
    check_option_names("CLARABEL", {"no_such_option": 1})
    with pytest.raises(gda.SolverFailedError, match="no_such_option"):
        solve_program(tiny_problem(), "CLARABEL", solver_opts={"no_such_option": 1})
