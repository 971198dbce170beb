"""Runs whose solvers fail, lie, hang or die, in this process and in a worker."""

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import gdaopt as gda
from gdaopt.backends import isolated
from gdaopt.backends.catalogue import entry_of
from gdaopt.backends.cvxpy import solve_program
from gdaopt.backends.registry import check_solver_options, find_solver
from gdaopt.programs import Knapsack, Program
from gdaopt.programs.base import ProgramOptions
from gdaopt.status import MADE_NO_PROGRESS
from tests.backends.cases import WRONG, Real, patch_solves, replaced, sabotaged
from tests.backends.sabotage import Sabotaged
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


def test_options_of_the_user_come_first(stub: Stub) -> None:
    loose = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-2)
    result = gda.solve(THREE, "sdp", solver_opts=loose)
    assert result.status == "inaccurate"
    assert result.relative_gap is not None
    assert 1e-6 < result.relative_gap < 1
    assert not THREE.feasible_set.violations(result.metric)


@pytest.mark.parametrize("method", CONIC)
def test_time_limits(method: str, stub: Stub) -> None:
    gda.solve(THREE, method, time_limit=20.0)
    assert 10.0 < stub.calls[-1]["time_limit"] <= 20.0
    result = gda.solve(THREE, method, solver_opts={"time_limit": 1e-9})
    assert result.status == "solver_failed"
    assert "user_limit" in result.message


# --- In a worker process -------------------------------------------------------------------------


@pytest.fixture(scope="module", autouse=True)
def _no_worker_left() -> Iterator[None]:
    yield
    isolated._mine.workers.clear()


@pytest.fixture
def new_worker() -> None:
    """Let the test start a new worker, which has solved nothing."""
    isolated._mine.workers.clear()


@pytest.mark.slow
@pytest.mark.parametrize("method", PROGRAMS)
def test_a_run_in_a_worker_is_the_same_run(method: str) -> None:
    here, there = (
        gda.solve(PROBLEMS[method], method, max_iterations=20, isolate=isolate)
        for isolate in (False, True)
    )
    assert there.status == here.status
    np.testing.assert_allclose(there.metric, here.metric, atol=1e-8 if method in CONIC else 1e-15)


@pytest.mark.slow
@pytest.mark.parametrize("method", ALIGNED)
@pytest.mark.parametrize("fallback", [(), "analytic"])
def test_a_worker_that_dies_in_a_run(
    method: str, fallback: str, monkeypatch: pytest.MonkeyPatch, new_worker: None
) -> None:
    monkeypatch.setattr(cp, "Problem", Sabotaged)
    options: dict[str, Any] = {"solver_opts": {"fault": "die", "after": 1}, "fallback": fallback}
    result = gda.solve(IRIS, method, isolate=True, max_iterations=4, **options)
    if not fallback:
        assert_failed_after(result, 1, method, "it ended its worker process")
        return
    assert result.status == "iteration_limit"  # each new worker does one solve before it dies
    assert [row.solver for row in list(result.trace)[1:]] == ["HIGHS", "analytic"] * 2
    assert "it ended its worker process" in result.trace[2].solver_status


@pytest.mark.slow
@pytest.mark.parametrize("method", ["alternating", "joint"])
def test_a_run_that_hangs_ends_at_its_limit(
    method: str, monkeypatch: pytest.MonkeyPatch, new_worker: None
) -> None:
    sabotaged()  # starts the worker and counts
    monkeypatch.setattr(cp, "Problem", Sabotaged)
    start = time.perf_counter()
    options = {"fault": "hang", "after": 1 + STEPS}
    result = gda.solve(IRIS, method, isolate=True, time_limit=2.0, solver_opts=options)
    assert 2.0 <= time.perf_counter() - start < 30  # it would hang for 60
    assert result.status == "time_limit"
    assert "was killed" in result.message
    assert result.iterations == len(result.trace) - 1 == STEPS
    assert not IRIS.feasible_set.violations(result.metric)


@pytest.mark.parametrize("solver", ["HIGHS", "CLARABEL", "SCS", "OSQP"])
def test_time_limits_are_accepted_and_obeyed(solver: str) -> None:
    rng = np.random.default_rng(0)
    x = cp.Variable(300)
    rows = rng.random((400, 300))
    problem = cp.Problem(cp.Maximize(rng.random(300) @ x), [rows @ x <= 1, x >= 0])
    loose = {"SCS": {"eps": 1e-3}, "OSQP": {"eps_abs": 1e-2, "eps_rel": 1e-2}}.get(solver, {})
    mine = loose | {entry_of(solver).time_limit: 300.0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gda.errors.InaccurateSolutionWarning)
        solve_program(problem, solver, time_limit=300.0, solver_opts=loose)
        solve_program(problem, solver, time_limit=1e-9, solver_opts=mine)  # the user's comes first
        if solver == "SCS":  # it returns its last iterate, and calls it inaccurate
            assert solve_program(problem, solver, time_limit=1e-9).status == "optimal_inaccurate"
        else:
            with pytest.raises(gda.errors.SolverFailedError, match="user_limit"):
                solve_program(problem, solver, time_limit=1e-9)
