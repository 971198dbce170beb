"""Options and limits of solvers, the times that are reported, and the errors for their faults."""

from __future__ import annotations

import time

import cvxpy as cp
import numpy as np
import pytest

import gdaopt as gda
from gdaopt.backends import find_solver, solve_program
from gdaopt.backends.catalogue import CATALOGUE
from tests.backends.cases import Fault, solve_diagonal, tiny_problem
from tests.programs.cases import SOLVERS, need

# --- What reaches the solver ---------------------------------------------------------------------


def test_options_reach_the_solver(fault: Fault) -> None:
    solve_diagonal(presolve="off", dual_feasibility_tolerance=1e-9)
    assert fault.calls[-1] == {
        "solver": "HIGHS",
        "warm_start": False,
        "presolve": "off",
        "dual_feasibility_tolerance": 1e-9,
    }


def test_options_come_before_ours(fault: Fault) -> None:
    solve_diagonal(warm_start=True)
    assert fault.calls[-1]["warm_start"] is True


def test_an_option_the_solver_refuses() -> None:
    with pytest.raises(
        gda.errors.SolverFailedError, match="HIGHS failed on the diagonal program"
    ) as info:
        solve_diagonal(presolve="no such value")
    assert info.value.__cause__ is not None


@pytest.mark.parametrize(
    ("solver", "option"),
    [("HIGHS", "time_limit"), ("CLARABEL", "time_limit"), ("SCS", "time_limit_secs")],
)
def test_the_time_limit_reaches_the_solver(solver: str, option: str, fault: Fault) -> None:
    solve_program(tiny_problem(), solver, time_limit=12.5)
    assert fault.calls[-1][option] == 12.5
    solve_program(tiny_problem(), solver, time_limit=-3.0)
    assert 0 < fault.calls[-1][option] <= 0.1
    solve_program(tiny_problem(), solver, time_limit=12.5, solver_opts={option: 7.0})
    assert fault.calls[-1][option] == 7.0
    solve_program(tiny_problem(), solver)
    assert option not in fault.calls[-1]


# --- Times ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
def test_times_add_up_to_those_of_the_call(solver: str) -> None:
    need(solver)
    solve_program(tiny_problem(), solver)  # imports
    start = time.perf_counter()
    report = solve_program(tiny_problem(), solver)
    wall = time.perf_counter() - start
    seconds = report.seconds
    for part in (seconds.write, seconds.canonicalize, seconds.solve, seconds.unpack):
        assert 0 < part < seconds.total <= wall
    assert report.reported_seconds is not None
    assert 0 < report.reported_seconds <= seconds.solve


@pytest.mark.parametrize("reported", [0.0, None])
def test_a_solver_that_does_not_report_its_time(reported: float | None, fault: Fault) -> None:
    fault.solve_time = reported
    fault.forgets_time = True
    report = solve_program(tiny_problem(), "HIGHS")
    assert report.reported_seconds is None
    assert 0 < report.seconds.solve < 60


# --- Faults --------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [cp.SolverError("no licence"), RuntimeError("core dumped")])
def test_a_solver_that_raises(error: Exception, fault: Fault) -> None:
    fault.error = error
    with pytest.raises(
        gda.errors.SolverFailedError, match=f"HIGHS failed on the diagonal.*{error}"
    ) as e:
        solve_diagonal()
    assert e.value.__cause__ is error


def test_a_solver_that_does_nothing_does_not_keep_the_last_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem = tiny_problem()
    solve_program(problem, "HIGHS")
    monkeypatch.setattr(cp.Problem, "unpack_results", lambda *_: None)
    with pytest.raises(gda.errors.SolverFailedError, match="returned None"):
        solve_program(problem, "HIGHS")


def test_an_interrupt_is_no_fault(fault: Fault) -> None:
    fault.error = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        solve_diagonal()


@pytest.mark.parametrize("status", [cp.INFEASIBLE, cp.INFEASIBLE_INACCURATE])
def test_infeasible(status: str, fault: Fault) -> None:
    fault.status = status
    with pytest.raises(
        gda.errors.InfeasibleProblemError, match=f"HIGHS calls the diagonal .* {status}"
    ):
        solve_diagonal()


@pytest.mark.parametrize(
    "status", [cp.UNBOUNDED, cp.UNBOUNDED_INACCURATE, cp.USER_LIMIT, cp.SOLVER_ERROR]
)
def test_other_ends(status: str, fault: Fault) -> None:
    fault.status = status
    with pytest.raises(
        gda.errors.SolverFailedError, match=f"HIGHS ended on the diagonal .*'{status}'"
    ):
        solve_diagonal()


def test_infeasibility_found_by_presolve_is_checked(
    fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    def infeasible_at_first(problem: cp.Problem) -> None:
        if len(fault.calls) == 1:
            problem._status = cp.INFEASIBLE

    find_solver("HIGHS")
    fault.calls.clear()
    monkeypatch.setattr(fault, "strike", infeasible_at_first)
    np.testing.assert_allclose(solve_diagonal().point, [1.0, 4.0])
    assert [call.get("presolve") for call in fault.calls] == [None, "off"]
    assert [name for name, entry in CATALOGUE.items() if entry.second_opinion] == ["HIGHS"]
