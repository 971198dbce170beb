"""Options and limits of solvers, the times that are reported, and the errors for their faults."""

import time
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import gdaopt as gda
from gdaopt.backends import StageSeconds, Stopwatch
from gdaopt.backends.catalogue import CATALOGUE
from gdaopt.backends.cvxpy import solve_program
from gdaopt.backends.registry import find_solver
from gdaopt.errors import InaccurateSolutionWarning, SolverFailedError
from tests.backends.cases import Fault, solve_diagonal, tiny_problem
from tests.programs.cases import SOLVERS, need

# --- What reaches the solver ---------------------------------------------------------------------


def test_options_reach_the_solver(fault: Fault) -> None:
    given = {"presolve": "off", "dual_feasibility_tolerance": 1e-9}
    solve_diagonal(solver_opts=given)
    assert fault.calls[-1] == {"solver": "HIGHS", "warm_start": False, **given}
    solve_diagonal(solver_opts={"warm_start": True})  # comes before ours
    assert fault.calls[-1]["warm_start"] is True


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


OF = "the diagonal program"


@pytest.mark.parametrize(
    ("fault_of", "error", "says"),
    [
        ({"error": RuntimeError("core dumped")}, SolverFailedError, f"failed on {OF}.*core dumped"),
        ({"error": KeyboardInterrupt()}, KeyboardInterrupt, None),  # an interrupt is no fault
        ({"status": cp.INFEASIBLE}, gda.errors.InfeasibleProblemError, f"calls {OF} infeasible"),
        (
            {"status": cp.INFEASIBLE_INACCURATE},
            gda.errors.InfeasibleProblemError,
            f"calls {OF} inf",
        ),
        (
            {"status": cp.UNBOUNDED_INACCURATE},
            SolverFailedError,
            f"ended on {OF} .*'unbounded_inac",
        ),
        ({"value": np.nan}, SolverFailedError, f"HIGHS called {OF} optimal .*nan"),
    ],
)
def test_faults_are_errors(fault_of: Any, error: Any, says: str | None, fault: Fault) -> None:
    """Those of runs, and of all kinds, are in tests/methods/test_faults.py."""
    vars(fault).update(fault_of)
    with pytest.raises(error, match=says) as caught:
        solve_diagonal()
    if error is SolverFailedError:
        assert caught.value.__cause__ is fault.error


def test_inaccurate_answers_are_made_feasible_with_a_warning(fault: Fault) -> None:
    fault.status, fault.value = cp.OPTIMAL_INACCURATE, 0.52  # of the budget, for both
    with pytest.warns(InaccurateSolutionWarning, match="calls its answer to the diagonal"):
        solution = solve_diagonal()
    assert solution.status == "optimal_inaccurate"
    np.testing.assert_allclose(solution.point, [2.5, 2.5])  # shrunk to the trace bound
    assert solution.repair_distance == pytest.approx(0.06)


def test_no_answer_is_not_the_last_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem = tiny_problem()
    solve_program(problem, "HIGHS")
    monkeypatch.setattr(cp.Problem, "unpack_results", lambda *_: None)
    with pytest.raises(SolverFailedError, match="returned None"):
        solve_program(problem, "HIGHS")


def test_infeasible_by_presolve_is_checked(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    def infeasible_at_first(problem: cp.Problem) -> None:
        if len(fault.calls) == 1:
            problem._status = cp.INFEASIBLE

    find_solver("HIGHS")
    fault.calls.clear()
    monkeypatch.setattr(fault, "strike", infeasible_at_first)
    np.testing.assert_allclose(solve_diagonal().point, [1.0, 4.0])
    assert [call.get("presolve") for call in fault.calls] == [None, "off"]
    assert [name for name, entry in CATALOGUE.items() if entry.second_opinion] == ["HIGHS"]


def test_the_time_of_another_process_is_a_part_of_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest of the call was spent on the way there and back, which counts as writing."""
    clock = iter([100.0, 110.0, 111.0])
    monkeypatch.setattr("gdaopt.backends.protocol.time.perf_counter", lambda: next(clock))
    watch = Stopwatch()
    watch.lap_elsewhere(StageSeconds(write=1.0, canonicalize=2.0, solve=3.0))
    watch.lap("unpack")
    assert watch.seconds == StageSeconds(write=5.0, canonicalize=2.0, solve=3.0, unpack=1.0)
