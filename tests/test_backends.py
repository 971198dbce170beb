"""Which solvers work here, and what becomes of the faults of those that do."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from cvxpy.reductions.solvers.defines import SOLVER_MAP_CONIC, SOLVER_MAP_QP

import gdaopt as gda
from gdaopt.backends import cvxpy as backend
from gdaopt.backends import find_solver, registry, solve_program
from gdaopt.programs import DiagonalPolytope, DiagonalProgram, ProgramOptions, ProgramSolution
from tests.helpers import scaled
from tests.programs.cases import SOLVERS, need

Solve = Callable[..., Any]


def tiny_problem() -> cp.Problem:
    x = cp.Variable()
    return cp.Problem(cp.Minimize(x), [x >= 2])


def solve_diagonal(**options: Any) -> ProgramSolution:
    """Solve a program whose optimum is (1, 4)."""
    polytope = DiagonalPolytope(np.ones(2), trace_bound=5.0)
    return DiagonalProgram(2, ProgramOptions(solver_opts=options)).solve(
        np.array([-1.0, -2.0]), polytope
    )


class Fault:
    """A `cvxpy.Problem.solve` that users might have patched in: the real one, then a change."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: list[dict[str, Any]] = []
        self.error: BaseException | None = None
        self.status: str | None = None
        self.value: float | None = None
        self.solve_time: float | None = None
        self.after = 0
        real: Solve = cp.Problem.solve
        fault = self

        def solve(problem: cp.Problem, *args: Any, **kwargs: Any) -> Any:
            fault.calls.append(kwargs)
            value = real(problem, *args, **kwargs)
            if len(fault.calls) > fault.after:
                fault.strike(problem)
            return value

        monkeypatch.setattr(cp.Problem, "solve", solve)

    def strike(self, problem: cp.Problem) -> None:
        if self.error is not None:
            raise self.error
        if self.status is not None:
            problem._status = self.status
        if self.solve_time is not None:
            problem.solver_stats.solve_time = self.solve_time
        if self.value is not None:
            for variable in problem.variables():
                variable.save_value(np.full(variable.shape, self.value))


@pytest.fixture
def fault(monkeypatch: pytest.MonkeyPatch) -> Fault:
    return Fault(monkeypatch)


@pytest.fixture
def probed_anew() -> Iterator[None]:
    registry._probe.cache_clear()
    yield
    registry._probe.cache_clear()


# --- Which solvers work here ---------------------------------------------------------------------


@pytest.mark.parametrize("name", ["HIGHS", "highs", "HiGHS", "Clarabel", "ScS"])
def test_names_in_any_case(name: str) -> None:
    assert find_solver(name) == name.upper()
    assert DiagonalProgram(2, name).options.solver == name.upper()


@pytest.mark.parametrize("name", ["analytic", "Analytic", "ANALYTIC"])
def test_the_closed_form_in_any_case(name: str) -> None:
    assert DiagonalProgram(2, name).options.solver == "analytic"


@pytest.mark.parametrize(
    ("name", "nearest"), [("HIGSH", "HIGHS"), ("clarabell", "CLARABEL"), ("analytical", "analytic")]
)
def test_an_unknown_name_suggests_the_nearest(name: str, nearest: str) -> None:
    with pytest.raises(gda.SolverNotFoundError, match=f"did you mean '{nearest}'") as caught:
        DiagonalProgram(2, name)
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
    with pytest.raises(gda.SolverFailedError, match="HIGHS failed on the diagonal program") as info:
        solve_diagonal(no_such_option=1)
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


def test_a_run_hands_on_the_time_that_is_left(fault: Fault) -> None:
    find_solver("HIGHS")
    fault.calls.clear()
    problem = gda.MetricProblem(gda.GLR(*scaled("iris", "setosa")), gda.GraphMetrics(4.0))
    gda.solve(problem, "alternating", time_limit=60.0)
    limits = [call["time_limit"] for call in fault.calls]
    assert limits == sorted(limits, reverse=True)
    assert 0 < limits[-1] <= limits[0] <= 60.0


# --- Times ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
def test_times_add_up_to_those_of_the_call(solver: str) -> None:
    need(solver)
    solve_program(tiny_problem(), solver)  # imports
    start = time.perf_counter()
    report = solve_program(tiny_problem(), solver)
    wall = time.perf_counter() - start
    assert report.build_seconds is not None
    assert 0 < report.solve_seconds < report.solve_seconds + report.build_seconds <= wall


@pytest.mark.parametrize("reported", [0.0, 1e9])
def test_a_solver_that_does_not_report_its_time(reported: float, fault: Fault) -> None:
    fault.solve_time = reported
    report = solve_program(tiny_problem(), "HIGHS")
    assert report.build_seconds is None
    assert 0 < report.solve_seconds < 60


# --- Faults --------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [cp.SolverError("no licence"), RuntimeError("core dumped")])
def test_a_solver_that_raises(error: Exception, fault: Fault) -> None:
    fault.error = error
    with pytest.raises(gda.SolverFailedError, match=f"HIGHS failed on the diagonal.*{error}") as e:
        solve_diagonal()
    assert e.value.__cause__ is error


def test_an_interrupt_is_no_fault(fault: Fault) -> None:
    fault.error = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        solve_diagonal()


@pytest.mark.parametrize("status", [cp.INFEASIBLE, cp.INFEASIBLE_INACCURATE])
def test_infeasible(status: str, fault: Fault) -> None:
    fault.status = status
    with pytest.raises(gda.InfeasibleProblemError, match=f"HIGHS calls the diagonal .* {status}"):
        solve_diagonal()


@pytest.mark.parametrize(
    "status", [cp.UNBOUNDED, cp.UNBOUNDED_INACCURATE, cp.USER_LIMIT, cp.SOLVER_ERROR]
)
def test_other_ends(status: str, fault: Fault) -> None:
    fault.status = status
    with pytest.raises(gda.SolverFailedError, match=f"HIGHS ended on the diagonal .*'{status}'"):
        solve_diagonal()


def test_inaccurate_answers_are_repaired_with_a_warning(fault: Fault) -> None:
    fault.status, fault.value = cp.OPTIMAL_INACCURATE, 1.04  # in units of C/K = 2.5
    with pytest.warns(gda.InaccurateSolutionWarning, match="calls its answer to the diagonal"):
        solution = solve_diagonal()
    assert solution.status == "optimal_inaccurate"
    np.testing.assert_allclose(solution.point, [2.5, 2.5])  # shrunk to the trace bound
    assert solution.repair_distance == pytest.approx(0.1)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_answers_that_are_not_finite(value: float, fault: Fault) -> None:
    fault.value = value
    with pytest.raises(gda.SolverFailedError, match=rf"diagonal program optimal and .*{value}"):
        solve_diagonal()


def test_answers_that_are_missing(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fault, "strike", lambda problem: problem._clear_solution())
    monkeypatch.setattr(cp.Problem, "status", cp.OPTIMAL)
    with pytest.raises(gda.SolverFailedError, match="returned None"):
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
    assert set(backend._SECOND_OPINION) == {"HIGHS"}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"error": cp.SolverError("no licence")}, "no licence"),
        ({"value": np.nan}, "nan"),
        ({"status": cp.UNBOUNDED}, "unbounded"),
        ({"status": cp.INFEASIBLE}, "infeasible"),
    ],
)
def test_a_run_ends_with_its_last_metric(change: dict[str, Any], says: str, fault: Fault) -> None:
    feasible_set = gda.GraphMetrics(trace_bound=13.0)
    problem = gda.MetricProblem(gda.GLR(*scaled("wine", "class_1")), feasible_set)
    steps = 15  # beyond the first block, the diagonal
    find_solver("HIGHS")
    fault.calls.clear()
    vars(fault).update(change, after=steps)
    result = gda.solve(problem, "alternating", solver="HIGHS")
    assert result.status == "solver_failed"
    assert result.iterations == result.oracle_calls == len(result.trace) - 1 == steps
    for word in (f"step {steps}", "HIGHS", "column program", says):
        assert word in result.message
    assert feasible_set.contains(result.metric)
    unharmed = gda.solve(problem, "alternating", solver="analytic", max_iterations=steps)
    assert result.objective == pytest.approx(unharmed.objective, rel=1e-9)
