"""Methods sdp and socp when the solver fails, lies, is slow or is interrupted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import gdaopt as gda
from gdaopt.backends import isolated
from tests.backends.cases import WRONG, Real, patch_solves, replaced
from tests.methods.certified_cases import certified, set_of, synthetic

METHODS = ("sdp", "socp")
Strike = Callable[[cp.Problem], None]


def problem() -> gda.MetricProblem:
    X, z = synthetic(3, 10)
    return gda.MetricProblem(gda.GLR(2 * X, z), set_of("graph", 3, 3.0, 1e-2))


class Stub:
    """A patched solve, which notes its options; a fault strikes after the solve."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("CLARABEL", "SCS"):
            gda.methods.Semidefinite(solver=name)  # probed before they are stubbed
        self.calls: list[dict[str, Any]] = []
        self.strike: Strike = lambda _: None

        def solve(program: cp.Problem, options: dict[str, Any], real: Real) -> None:
            self.calls.append(options)
            real()
            self.strike(program)

        patch_solves(monkeypatch, solve)


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Stub:
    return Stub(monkeypatch)


def raised(error: BaseException) -> Strike:
    def strike(program: cp.Problem) -> None:
        raise error

    return strike


def times(factor: float) -> Strike:
    def strike(program: cp.Problem) -> None:
        for variable in program.variables():
            assert variable.value is not None
            variable.save_value(factor * variable.value)

    return strike


def ended(status: str) -> Strike:
    def strike(program: cp.Problem) -> None:
        program._status = status

    return strike


def lost(program: cp.Problem) -> None:
    for variable in program.variables():
        variable.save_value(None)


FAULTS: dict[str, tuple[Strike, str]] = {
    "SolverError": (raised(cp.SolverError("no licence")), "no licence"),
    "another error": (raised(ZeroDivisionError("by nought")), "by nought"),
    "panic": (raised(type("PanicException", (BaseException,), {})("bounds")), "bounds"),
    "NaN": (times(np.nan), "nan"),
    "infinite": (times(np.inf), r"inf|nan"),
    "None": (lost, "returned None"),
    **{name: (replaced(change), "finite numbers of shape") for name, change in WRONG.items()},
    "infeasible": (ended(cp.INFEASIBLE), "infeasible"),
    "unbounded": (ended(cp.UNBOUNDED), "unbounded"),
    "user_limit": (ended(cp.USER_LIMIT), "user_limit"),
}


@pytest.mark.covering(1)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_leaves_the_start(fault: str, method: str, stub: Stub) -> None:
    stub.strike, says = FAULTS[fault]
    initial = np.diag([1.5, 1.0, 0.25])
    cases: tuple[dict[str, Any], ...] = ({}, {"initial": initial})
    for options in cases:
        result = gda.solve(problem(), method, **options)
        assert result.status == "solver_failed"
        assert result.message.startswith("after step 0: CLARABEL")
        assert any(word in result.message for word in says.split("|"))
        cone = {"sdp": "semidefinite", "socp": "second-order"}[method]
        assert f"{cone} program" in result.message
        start = initial if options else np.eye(3)  # the middle of the set, C = 3
        np.testing.assert_allclose(result.metric, start, rtol=1e-15)
        assert result.lower_bound is not None  # what the start itself certifies
        assert result.lower_bound <= certified(problem()).objective
        assert (result.iterations, len(result.trace), result.repair_distance) == (0, 1, None)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("factor", [1.001, 1.1])
def test_points_outside_are_moved_inside(factor: float, method: str, stub: Stub) -> None:
    honest = gda.solve(problem(), method)
    stub.strike = times(factor)
    result = gda.solve(problem(), method)
    assert honest.repair_distance is not None
    assert honest.repair_distance <= 1e-6
    assert result.repair_distance is not None
    assert result.repair_distance >= 0.1 * abs(factor - 1)
    assert result.trace[-1].repair_distance == result.repair_distance
    assert not problem().feasible_set.violations(result.metric)
    assert result.objective == problem().objective.at(result.metric).value
    optimum = certified(problem())
    assert result.lower_bound is not None
    assert result.lower_bound <= optimum.objective * (1 + 1e-12)
    if factor == 1.001:
        assert result.objective == pytest.approx(optimum.objective, rel=1e-2)
        assert result.status == "stalled"
        assert "has a certified gap of" in result.message


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("factor", [1e3, -1.0])
def test_points_far_outside_are_wrong_answers(factor: float, method: str, stub: Stub) -> None:
    stub.strike = times(factor)
    result = gda.solve(problem(), method)
    assert result.status == "solver_failed"
    assert "outside of the set" in result.message
    assert result.iterations == 0


@pytest.mark.parametrize("method", METHODS)
def test_answers_called_inaccurate_are_judged_by_the_certificate(method: str, stub: Stub) -> None:
    stub.strike = ended(cp.OPTIMAL_INACCURATE)
    result = gda.solve(problem(), method, tolerance=1e-5)  # without a warning
    assert result.status == "converged"
    assert result.trace[-1].solver_status == "optimal_inaccurate"


@pytest.mark.parametrize("method", METHODS)
def test_interrupts(method: str, stub: Stub) -> None:
    stub.strike = raised(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        gda.solve(problem(), method)
    result = gda.solve(problem(), method, on_interrupt="return")
    assert (result.status, result.iterations) == ("interrupted", 0)


# --- Options -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("solver", "name", "share"),
    [("CLARABEL", "tol_gap_abs", 1e-6), ("SCS", "eps_abs", 0.1)],
)
def test_the_solver_is_asked_for_what_the_tolerance_needs(
    solver: str, name: str, share: float, stub: Stub
) -> None:
    for tolerance in (1e-6, 1e-4):
        gda.solve(problem(), "sdp", solver=solver, tolerance=tolerance)
        assert stub.calls[-1][name] == pytest.approx(share * tolerance)
    gda.solve(problem(), "sdp", solver=solver, solver_opts={name: 1e-3})
    assert stub.calls[-1][name] == 1e-3


def test_a_tighter_tolerance_closes_the_gap() -> None:
    # The last step of an interior-point method goes far beyond a tolerance; SCS stops at it.
    results = [gda.solve(problem(), "socp", solver="SCS", tolerance=t) for t in (1e-1, 1e-5)]
    gaps = [result.relative_gap for result in results]
    assert gaps[0] is not None
    assert gaps[1] is not None
    assert gaps[1] <= 1e-5
    assert gaps[1] < gaps[0] <= 1e-1


def test_options_of_the_user_come_first(stub: Stub) -> None:
    loose = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-2)
    result = gda.solve(problem(), "sdp", solver_opts=loose)
    assert result.status == "stalled"
    assert result.relative_gap is not None
    assert 1e-6 < result.relative_gap < 1
    assert not problem().feasible_set.violations(result.metric)
    result = gda.solve(problem(), "sdp", solver_opts={"no_such_option": 1})
    assert result.status == "solver_failed"
    assert "no_such_option" in result.message


@pytest.mark.parametrize("method", METHODS)
def test_time_limits(method: str, stub: Stub) -> None:
    gda.solve(problem(), method, time_limit=20.0)
    assert 10.0 < stub.calls[-1]["time_limit"] <= 20.0
    result = gda.solve(problem(), method, time_limit=1e-9)
    assert (result.status, result.iterations) == ("time_limit", 0)
    result = gda.solve(problem(), method, solver_opts={"time_limit": 1e-9})
    assert result.status == "solver_failed"
    assert "user_limit" in result.message


@pytest.mark.parametrize("method", ["sdp", pytest.param("socp", marks=pytest.mark.slow)])
def test_in_a_worker_it_is_the_same(method: str) -> None:
    try:
        here, there = (
            gda.solve(problem(), method, tolerance=1e-5, isolate=isolate)
            for isolate in (False, True)
        )
    finally:
        isolated._mine.workers.clear()
    assert there.status == here.status == "converged"
    np.testing.assert_allclose(there.metric, here.metric, atol=1e-8)
