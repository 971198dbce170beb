"""Runs whose solvers fail, lie or take too long."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import gdaopt as gda
from gdaopt.backends.registry import check_solver_options, find_solver
from gdaopt.programs import Knapsack, Program
from gdaopt.programs.base import ProgramOptions
from gdaopt.status import MADE_NO_PROGRESS
from tests.backends.cases import WRONG, Real, patch_solves, replaced
from tests.helpers import scaled
from tests.methods.certified_cases import Watch, certified
from tests.methods.run_cases import ALIGNED, CONIC, small

IRIS = gda.MetricProblem(gda.GLR(*scaled("iris", "virginica")), gda.GraphMetrics(4.0, 1e-3))
THREE = small(size=3, n_samples=10)  # for conic solvers
STEPS = 3  # steps before the fault
PROGRAMS = {
    "alternating": ("HIGHS", " program"),
    "joint": ("HIGHS", "joint program"),
    "sdp-frank-wolfe": ("CLARABEL", "semidefinite program"),
    "sdp": ("CLARABEL", "semidefinite program"),
    "socp": ("CLARABEL", "second-order program"),
}
"""The solver that a method takes by default, and what messages call its first program."""

PROBLEMS = {method: IRIS if method in ALIGNED else THREE for method in PROGRAMS}

Strike = Callable[[cp.Problem], None]


def changed(change: Callable[[Any], Any]) -> Strike:
    """Return the fault that changes the answer."""

    def strike(problem: cp.Problem) -> None:
        for variable in problem.variables():
            variable.save_value(change(variable.value))

    return strike


def ended(status: str) -> Strike:
    def strike(problem: cp.Problem) -> None:
        problem._status = status

    return strike


def raised(error: BaseException) -> Strike:
    def strike(problem: cp.Problem) -> None:
        raise error

    return strike


FAULTS: dict[str, tuple[Strike, str]] = {
    "SolverError": (raised(cp.SolverError("no licence")), "no licence"),
    "another error": (raised(ZeroDivisionError("by nought")), "by nought"),
    "panic": (raised(type("PanicException", (BaseException,), {})("bounds")), "bounds"),
    "NaN": (changed(lambda value: np.full_like(value, np.nan)), "nan"),
    "infinite": (changed(lambda value: np.full_like(value, np.inf)), "inf"),
    "None": (changed(lambda value: None), "returned None"),
    **{name: (replaced(change), "finite numbers of shape") for name, change in WRONG.items()},
    "far below": (changed(lambda value: np.full_like(value, -1e3)), "outside of the "),
    "far above": (changed(lambda value: np.full_like(value, 1e3)), "outside of the "),
    "infeasible": (ended(cp.INFEASIBLE), "infeasible"),
    "unbounded": (ended(cp.UNBOUNDED), "unbounded"),
    "user_limit": (ended(cp.USER_LIMIT), "user_limit"),
    "solver_error": (ended(cp.SOLVER_ERROR), "solver_error"),
}


class Stub:
    """A patched solve of CVXPY problems: each solver has a fault after a number of solves."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for solver in ("HIGHS", "CLARABEL", "SCS"):
            find_solver(solver)  # probed before they are stubbed
        self.faults: dict[str, tuple[Strike, int]] = {}
        self.calls: list[dict[str, Any]] = []

        def solve(problem: cp.Problem, options: dict[str, Any], real: Real) -> None:
            solver = options["solver"]
            strike, after = self.faults.get(solver, (lambda _: None, 0))
            struck = sum(call["solver"] == solver for call in self.calls) >= after
            self.calls.append(options)
            real()
            if struck:
                strike(problem)

        patch_solves(monkeypatch, solve)


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Stub:
    return Stub(monkeypatch)


# --- Faults end the run at the last feasible metric ----------------------------------------------


def assert_failed_after(result: gda.Result, steps: int, method: str, says: str) -> None:
    assert result.status == "solver_failed"
    for words in (f"after step {steps}:", *PROGRAMS[method], says, "another solver"):
        assert words in result.message
    assert result.iterations == result.oracle_calls == steps
    assert len(result.trace) == steps + 1
    assert result.trace[-1].iteration == steps
    assert result.trace[-1].objective == result.objective
    problem = PROBLEMS[method]
    assert not problem.feasible_set.violations(result.metric)
    value = problem.objective.at(result.metric).value
    assert result.objective == pytest.approx(value, rel=1e-12)
    assert result.lower_bound is not None
    assert result.lower_bound <= certified(problem).objective  # what the last metric certifies


@pytest.mark.covering(1, 2)
@pytest.mark.parametrize("steps", [0, 1, 6])
@pytest.mark.parametrize("method", PROGRAMS)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_ends_the_run(fault: str, method: str, steps: int, stub: Stub) -> None:
    """At the last metric; after six steps the alternation is in a column."""
    strike, says = FAULTS[fault]
    if steps and method in CONIC:
        pytest.skip("it solves one program")
    unharmed = gda.solve(PROBLEMS[method], method, max_iterations=steps)
    solver = PROGRAMS[method][0]
    stub.calls.clear()
    stub.faults[solver] = strike, steps
    result = gda.solve(PROBLEMS[method], method)
    assert_failed_after(result, steps, method, says)
    if method == "alternating":
        assert ("column program" if steps == 6 else "diagonal program") in result.message
    np.testing.assert_array_equal(result.metric, unharmed.metric)
    assert result.solver == solver


@pytest.mark.parametrize("method", CONIC)
def test_a_conic_fault_leaves_the_users_start(method: str, stub: Stub) -> None:
    stub.faults["CLARABEL"] = FAULTS["NaN"][0], 0
    initial = np.diag([1.5, 1.0, 0.25])
    result = gda.solve(THREE, method, initial=initial)
    assert (result.status, result.repair_distance) == ("solver_failed", None)
    np.testing.assert_allclose(result.metric, initial, rtol=1e-15)


@pytest.mark.parametrize("method", ALIGNED)
def test_answers_called_inaccurate_are_used(method: str, stub: Stub) -> None:
    def strike(problem: cp.Problem) -> None:
        ended(cp.OPTIMAL_INACCURATE)(problem)
        changed(lambda value: 1.01 * value)(problem)  # beyond the budget

    watch = Watch(IRIS.feasible_set)
    stub.faults["HIGHS"] = strike, STEPS
    with pytest.warns(gda.errors.InaccurateSolutionWarning, match="HIGHS calls its answer to the"):
        result = gda.solve(IRIS, method, callback=watch, max_iterations=40)
    assert result.status in {*MADE_NO_PROGRESS, "iteration_limit"}
    assert result.objective < watch.states[STEPS].objective
    rows = [row for row in list(result.trace)[STEPS + 1 :] if row.solver == "HIGHS"]
    assert {row.solver_status for row in rows} == {"optimal_inaccurate"}
    assert max(row.repair_distance or 0.0 for row in rows) > 1e-3


# --- Fall-backs ----------------------------------------------------------------------------------


def assert_solved_by(result: gda.Result, solver: str, after: int, reasons: Sequence[str]) -> None:
    """Check which solver solved each row and why; the closed form always solves zero costs."""
    first = reasons[0]
    for row in list(result.trace)[1 : after + 1]:
        assert (row.solver, row.solver_status) == (first, "optimal")
    replaced = [row for row in list(result.trace)[after + 1 :] if row.solver_status != "optimal"]
    assert len(replaced) > 5
    for row in replaced:
        assert row.solver == solver
        assert row.solver_status.startswith("optimal, after: ")
        for reason in reasons:
            assert reason in row.solver_status
    assert not any(row.solver == first for row in list(result.trace)[after + 1 :])


@pytest.mark.covering(1)
@pytest.mark.parametrize("method", [*ALIGNED, "sdp-frank-wolfe"])
@pytest.mark.parametrize("fault", FAULTS)
def test_the_closed_form_takes_over(fault: str, method: str, stub: Stub) -> None:
    (strike, says), solver = FAULTS[fault], PROGRAMS[method][0]
    analytic = gda.solve(PROBLEMS[method], method, solver="analytic", max_iterations=20)
    stub.faults[solver] = strike, 0
    result = gda.solve(PROBLEMS[method], method, fallback="analytic", max_iterations=20)
    assert (result.status, result.message) == (analytic.status, analytic.message)
    np.testing.assert_array_equal(result.metric, analytic.metric)
    np.testing.assert_array_equal(
        result.trace.column("objective"), analytic.trace.column("objective")
    )
    assert_solved_by(result, "analytic", 0, [solver, says])


@pytest.mark.parametrize("method", ALIGNED)
def test_a_list_of_fall_backs(method: str, stub: Stub) -> None:
    fallback = ["clarabel", "analytic"]
    options = {"presolve": "on"}  # of HIGHS: CLARABEL would refuse them
    check_solver_options("HIGHS", options)  # tried before it fails
    stub.calls.clear()
    stub.faults["HIGHS"] = FAULTS["SolverError"][0], STEPS
    by_second = gda.solve(IRIS, method, fallback=fallback, solver_opts=options, tolerance=1e-2)
    assert by_second.status in ("block_minimum", "slow_progress")
    assert_solved_by(by_second, "CLARABEL", STEPS, ["HIGHS", "no licence"])
    stub.calls.clear()
    stub.faults["CLARABEL"] = FAULTS["unbounded"][0], 0
    by_third = gda.solve(IRIS, method, fallback=fallback, tolerance=1e-2)
    analytic = gda.solve(IRIS, method, solver="analytic", tolerance=1e-2)
    assert by_third.status == analytic.status
    assert analytic.status in ("block_minimum", "slow_progress")
    assert by_third.objective == pytest.approx(analytic.objective, rel=1e-9)
    assert_solved_by(by_third, "analytic", STEPS, ["HIGHS", "no licence", "CLARABEL", "unbounded"])


@pytest.mark.parametrize("method", ALIGNED)
def test_when_all_solvers_fail_the_first_error_counts(method: str, stub: Stub) -> None:
    stub.faults["HIGHS"] = FAULTS["SolverError"][0], 1
    stub.faults["CLARABEL"] = FAULTS["unbounded"][0], 0
    result = gda.solve(IRIS, method, fallback="CLARABEL")
    assert_failed_after(result, 1, method, "no licence")
    assert [call["solver"] for call in stub.calls] == ["HIGHS", "HIGHS", "CLARABEL"]


def test_all_attempts_share_the_time(stub: Stub) -> None:
    """The second solve of an infeasible program, and the fall-backs, get the time that is left."""

    def strike(problem: cp.Problem) -> None:
        time.sleep(0.2)
        problem._status = cp.INFEASIBLE

    stub.faults["HIGHS"] = strike, 0
    polytope = Knapsack(np.ones(2), 5.0)
    cost = np.array([-1.0, -2.0])
    options = ProgramOptions(solver="HIGHS", fallback=["CLARABEL"])
    Program(options).solve(cost, polytope, time_limit=5.0)
    assert [call["solver"] for call in stub.calls] == ["HIGHS", "HIGHS", "CLARABEL"]
    first, second, third = (call["time_limit"] for call in stub.calls)
    assert first <= 5.0
    assert second <= first - 0.2
    assert third <= second - 0.2
    stub.calls.clear()
    with pytest.raises(gda.errors.GdaoptError, match="HIGHS calls the diagonal program infeasible"):
        Program(options).solve(cost, polytope, time_limit=0.3)
    assert [call["solver"] for call in stub.calls] == ["HIGHS", "HIGHS"]  # no time is left


# --- Answers of conic solvers --------------------------------------------------------------------


@pytest.mark.parametrize("method", CONIC)
@pytest.mark.parametrize("factor", [1.001, 1.1])
def test_points_outside_are_moved_inside(factor: float, method: str, stub: Stub) -> None:
    honest = gda.solve(THREE, method)
    stub.faults["CLARABEL"] = changed(lambda value: factor * value), 0
    result = gda.solve(THREE, method)
    assert honest.repair_distance is not None
    assert honest.repair_distance <= 1e-6
    assert result.repair_distance is not None
    assert result.repair_distance >= 0.1 * abs(factor - 1)
    assert result.trace[-1].repair_distance == result.repair_distance
    assert not THREE.feasible_set.violations(result.metric)
    assert result.objective == THREE.objective.at(result.metric).value
    optimum = certified(THREE)
    assert result.lower_bound is not None
    assert result.lower_bound <= optimum.objective * (1 + 1e-12)
    if factor == 1.001:
        assert result.objective == pytest.approx(optimum.objective, rel=1e-2)
        assert result.status == "inaccurate"
        assert "has a certified gap of" in result.message


@pytest.mark.parametrize("method", CONIC)
def test_answers_called_inaccurate_are_judged_by_the_certificate(method: str, stub: Stub) -> None:
    stub.faults["CLARABEL"] = ended(cp.OPTIMAL_INACCURATE), 0
    result = gda.solve(THREE, method, tolerance=1e-5)  # without a warning
    assert result.status == "converged"
    assert result.trace[-1].solver_status == "optimal_inaccurate"


@pytest.mark.parametrize("method", CONIC)
def test_interrupts(method: str, stub: Stub) -> None:
    stub.faults["CLARABEL"] = raised(KeyboardInterrupt()), 0
    with pytest.raises(KeyboardInterrupt):
        gda.solve(THREE, method)
    result = gda.solve(THREE, method, on_interrupt="return")
    assert (result.status, result.iterations) == ("interrupted", 0)


@pytest.mark.parametrize(
    ("solver", "name", "share"),
    [("CLARABEL", "tol_gap_abs", 1e-6), ("SCS", "eps_abs", 0.1)],
)
def test_the_solver_is_asked_for_what_the_tolerance_needs(
    solver: str, name: str, share: float, stub: Stub
) -> None:
    for tolerance in (1e-6, 1e-4):
        gda.solve(THREE, "sdp", solver=solver, tolerance=tolerance)
        assert stub.calls[-1][name] == pytest.approx(share * tolerance)
    gda.solve(THREE, "sdp", solver=solver, solver_opts={name: 1e-3})
    assert stub.calls[-1][name] == 1e-3


@pytest.mark.parametrize("method", CONIC)
def test_time_limits(method: str, stub: Stub) -> None:
    gda.solve(THREE, method, time_limit=20.0)
    assert 10.0 < stub.calls[-1]["time_limit"] <= 20.0
    result = gda.solve(THREE, method, solver_opts={"time_limit": 1e-9})
    assert result.status == "solver_failed"
    assert "user_limit" in result.message
