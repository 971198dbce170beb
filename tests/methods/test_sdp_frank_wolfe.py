"""Frank–Wolfe by semidefinite programs: the same steps as with the exact oracle, at a price."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from cvxpy.reductions.dcp2cone.cone_matrix_stuffing import ConeMatrixStuffing

import gdaopt as gda
from tests.backends.cases import Real, patch_solves
from tests.methods.certified_cases import HULLS, Nearest, set_of, synthetic

METHOD = "sdp-frank-wolfe"
STEPS = 12


def problem(kind: str = "graph", floor: float = 0.0, size: int = 4) -> gda.MetricProblem:
    X, z = synthetic(size, 12)
    return gda.MetricProblem(gda.GLR(2 * X, z), set_of(kind, size, float(size), 1e-2, floor))


# --- The steps -----------------------------------------------------------------------------------


@pytest.mark.parametrize("step", ["exact", "agnostic"])
@pytest.mark.parametrize(("kind", "floor"), HULLS)
def test_takes_the_steps_of_frank_wolfe(kind: str, floor: float, step: str) -> None:
    feasible_set = problem(kind, floor).feasible_set
    start = feasible_set.base(4) + feasible_set.budget(4) / 4 * np.eye(4)
    options: dict[str, Any] = {"step": step, "initial": start, "max_iterations": STEPS}
    expected = gda.solve(problem(kind, floor), "frank-wolfe", **options)
    values = expected.trace.column("objective")
    analytic = gda.solve(problem(kind, floor), METHOD, solver="analytic", **options)
    np.testing.assert_allclose(analytic.trace.column("objective"), values, rtol=1e-9)
    np.testing.assert_allclose(analytic.metric, expected.metric, atol=1e-8)
    bounds = analytic.trace.column("lower_bound")
    np.testing.assert_allclose(bounds, expected.trace.column("lower_bound"), rtol=1e-8)
    solved = gda.solve(problem(kind, floor), METHOD, **options)
    np.testing.assert_allclose(solved.trace.column("objective"), values, rtol=1e-3)
    assert (analytic.solver, solved.solver) == ("analytic", "CLARABEL")
    assert {row.solver for row in list(solved.trace)[1:]} == {"CLARABEL"}


def test_stalls_where_two_rounds_gain_nothing_much() -> None:
    result = gda.solve(problem(), METHOD, solver="analytic", tolerance=1e-3)
    assert result.status in ("converged", "stalled")
    coarse = gda.solve(problem(), METHOD, solver="analytic", tolerance=0.02)
    assert coarse.iterations <= result.iterations
    vertex = -np.eye(3) + np.diag([0.0, 0.0, 9.0])
    reached = gda.solve(gda.MetricProblem(Nearest(vertex), gda.GraphMetrics(3.0)), METHOD)
    assert reached.status == "converged"  # an optimum that is a vertex
    assert reached.metric[2, 2] == pytest.approx(3.0, rel=1e-4)


# --- The solver ----------------------------------------------------------------------------------


@pytest.fixture
def solves(monkeypatch: pytest.MonkeyPatch) -> list[cp.Problem]:
    """Return the problems that CVXPY solves, one after the other."""
    gda.methods.SemidefiniteFrankWolfe(fallback="SCS")  # probed before
    solved: list[cp.Problem] = []

    def solve(program: cp.Problem, options: dict[str, Any], real: Real) -> None:
        solved.append(program)
        real()

    patch_solves(monkeypatch, solve)
    return solved


@pytest.mark.parametrize(("kind", "floor"), HULLS)
def test_compiled_once(
    kind: str, floor: float, solves: list[cp.Problem], monkeypatch: pytest.MonkeyPatch
) -> None:
    stuffed: list[object] = []
    real: Callable[..., Any] = ConeMatrixStuffing.apply

    def apply(self: Any, program: Any) -> Any:
        stuffed.append(program)
        return real(self, program)

    monkeypatch.setattr(ConeMatrixStuffing, "apply", apply)
    result = gda.solve(problem(kind, floor), METHOD, max_iterations=6, tolerance=1e-12)
    assert len(solves) == result.oracle_calls == result.iterations == 6
    assert len({id(program) for program in solves}) == 1
    assert solves[0].is_dpp()
    assert len(stuffed) == 1
