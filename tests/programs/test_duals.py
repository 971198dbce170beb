"""Multipliers of constraints by name: closed forms against solvers and differences."""

from typing import Any

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.backends import Answer, LinearArrays
from gdaopt.constraints import read_constraints
from gdaopt.programs import (
    ConstrainedPolytope,
    DiagonalPolytope,
    Program,
    ProgramOptions,
    WholeSet,
)
from gdaopt.programs.constrained import keeping_rows
from gdaopt.support.validation import FloatArray
from tests.backends.cases import three_programs
from tests.programs.cases import need

KINDS = {
    "diagonal": {"rows", "budget"},
    "column": {"floors", "rows", "budget"},
    "joint": {"budget", "rows", "floors"},
}
TOLERANCES = {"highspy": 1e-9, "HIGHS": 1e-9, "CLARABEL": 1e-5, "ECOS": 1e-5}


def assert_duals(
    arrays: LinearArrays, point: FloatArray, duals: dict[str, FloatArray], tolerance: float
) -> None:
    """Assert that multipliers are ≥ 0, and prove that the point is optimal."""
    for part in arrays.parts:
        shape = () if part.is_single else (len(range(*part.where.indices(10_000))),)
        assert duals[part.name].shape == shape
        assert (duals[part.name] >= 0).all()
    assert arrays.residuals(point, arrays.signed(duals)).total < tolerance


@pytest.mark.parametrize("solver", TOLERANCES)
@pytest.mark.parametrize("kind", KINDS)
def test_solvers_give_those_of_the_closed_form(kind: str, solver: str) -> None:
    need(solver) if solver != "highspy" else None
    rng = np.random.default_rng(5)
    for _ in range(10):
        program, polytope = three_programs(rng, 5, solver)[kind]
        cost = rng.standard_normal(len(polytope.current)) * 10 ** rng.uniform(-6, 6)
        solution = program.solve(cost, polytope)
        exact = Program("analytic").solve(cost, polytope)
        assert solution.solver == solver
        assert solution.duals is not None
        assert exact.duals is not None
        assert solution.duals.keys() == exact.duals.keys() == KINDS[kind]
        arrays = polytope.arrays(cost)
        assert_duals(arrays, exact.point, exact.duals, 1e-11)
        assert_duals(arrays, exact.point, solution.duals, TOLERANCES[solver])
        size = np.abs(cost).max()
        for name, expected in exact.duals.items():  # random programs have one set of multipliers
            np.testing.assert_allclose(
                solution.duals[name], expected, atol=10 * TOLERANCES[solver] * size
            )


def test_they_are_rates_in_the_users_units() -> None:
    """What the value falls by when the trace bound, or a bound of a row, is loosened."""
    lower, cost, step = np.array([1.0, 2.0, 0.5]), np.array([-3.0, -1.0, 2.0]), 1e-3

    def value(lower: FloatArray, bound: float) -> float:
        return Program("highspy").solve(cost, DiagonalPolytope(lower, bound)).value

    solution = Program("highspy").solve(cost, DiagonalPolytope(lower, 8.0))
    assert solution.duals is not None
    fall = value(lower, 8.0) - value(lower, 8.0 + step)
    assert solution.duals["budget"] == pytest.approx(fall / step, rel=1e-6)
    for i in range(3):
        fall = value(lower, 8.0) - value(lower - step * np.eye(3)[i], 8.0)
        assert solution.duals["rows"][i] == pytest.approx(fall / step, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("solver", ["highspy", "HIGHS", "CLARABEL"])
def test_constraints_of_ones_own_are_those_that_were_written(solver: str) -> None:
    """By the size in which the user wrote them; equalities have a sign."""

    def solved(third: float, most: float) -> Any:
        rows = read_constraints(
            lambda M: [(5 * M[0, 0] <= 5 * most).set_label("budget"), 2 * M[2, 2] == 2 * third],
            n_features=3,
        )
        program = Program(solver)
        current = np.array([1.0, 1.0, third])
        polytope = ConstrainedPolytope(
            DiagonalPolytope(np.full(3, 0.5), 6.0, current),
            rows,
            rows.of_entries((np.arange(3), np.arange(3))),
            rows.residuals(np.diag(current)),
        )
        return program.solve(np.array([-3.0, -1.0, 0.25]), polytope)

    solution = solved(1.0, 2.0)
    np.testing.assert_allclose(solution.point, [2.0, 3.0, 1.0], atol=1e-6)
    step = 1e-2
    assert solution.duals.keys() == {"rows", "budget", "budget (own)", "2.0 * M[2, 2] == 2.0"}
    most = (solution.value - solved(1.0, 2.0 + step).value) / (5 * step)
    third = (solution.value - solved(1.0 + step, 2.0).value) / (2 * step)
    assert most == pytest.approx(0.4, rel=1e-4)
    assert third == pytest.approx(-0.625, rel=1e-4)
    assert solution.duals["budget (own)"] == pytest.approx([most], rel=1e-4)
    assert solution.duals["2.0 * M[2, 2] == 2.0"] == pytest.approx([third], rel=1e-4)


def test_the_semidefinite_program_has_those_of_ones_own_constraints() -> None:
    feasible_set = gda.PositiveDefiniteMetrics(trace_bound=4.0, min_eigenvalue=0.0)
    rows = read_constraints(lambda M: [3 * M[0, 0] <= 3], n_features=2)
    program = Program("CLARABEL")
    metric = np.eye(2) / 2
    pairs = (np.array([0, 1, 0]), np.array([0, 1, 1]))
    whole = WholeSet(feasible_set, 2, np.array([0.5, 0.5, 0.0]))
    solution = program.solve(np.array([-2.0, -1.0, 0.0]), keeping_rows(whole, rows, metric, pairs))
    assert solution.duals is not None
    assert solution.duals.keys() == {"3.0 * M[0, 0] <= 3.0"}
    np.testing.assert_allclose(solution.duals["3.0 * M[0, 0] <= 3.0"], [1 / 3], rtol=1e-4)
    with pytest.raises(gda.errors.InvalidInputError, match="not linear"):
        program.prepared(np.ones(3), whole).arrays()


def test_zero_costs_have_zero_multipliers() -> None:
    solution = Program().solve(np.zeros(2), DiagonalPolytope(np.ones(2), 4.0))
    assert solution.duals is not None
    assert not np.concatenate([np.ravel(value) for value in solution.duals.values()]).any()


def test_a_backend_without_multipliers_gives_none(monkeypatch: pytest.MonkeyPatch) -> None:
    class Silent:
        name = "silent"

        def minimize(self, program: Any, watch: Any, time_limit: float | None) -> Answer:
            answer = Answer(point=np.array([0.5, 1.5]))  # in units of C/K
            watch.lap("solve")
            return answer

    program = Program()
    monkeypatch.setattr(ProgramOptions, "backends", lambda _: (Silent(),))
    solution = program.solve(np.array([-1.0, -2.0]), DiagonalPolytope(np.ones(2), 4.0))
    assert solution.duals is None
    assert (solution.solver, solution.seconds.solve > 0) == ("silent", True)
