"""Programs as arrays: residuals, multipliers, and the same optimum for SciPy and for CVXPY."""

from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdaopt.backends import LinearArrays, Part, RowPattern, Stopwatch, highspy
from gdaopt.programs import Polytope, Program
from tests.backends.cases import by_scipy, three_programs
from tests.helpers import PROPERTY, generators

kinds = st.sampled_from(["diagonal", "column", "joint"])
sizes = st.sampled_from([2, 3, 7])


def arrays_of(rng: np.random.Generator, kind: str, size: int) -> tuple[LinearArrays, Polytope, Any]:
    """Return a program as arrays, with its polytope and cost."""
    _, polytope = three_programs(rng, size)[kind]
    cost = rng.standard_normal(len(polytope.current))
    return polytope.arrays(cost), polytope, cost


@PROPERTY
@given(generators, kinds, sizes)
def test_the_closed_form_solves_the_arrays(rng: np.random.Generator, kind: str, size: int) -> None:
    arrays, polytope, cost = arrays_of(rng, kind, size)
    point = polytope.minimize(cost)
    assert cost @ point == pytest.approx(by_scipy(arrays).fun, rel=1e-7, abs=1e-7)
    duals = arrays.signed(polytope.row_multipliers(cost))
    off = arrays.residuals(point, duals)
    assert off.total < 1e-10
    assert not np.signbit(off.feasibility)  # tables would show -0


@PROPERTY
@given(generators, kinds, sizes, st.floats(1e-4, 1e-1))
def test_residuals_see_what_is_wrong(
    rng: np.random.Generator, kind: str, size: int, off: float
) -> None:
    arrays, polytope, cost = arrays_of(rng, kind, size)
    point, duals = polytope.minimize(cost), arrays.signed(polytope.row_multipliers(cost))
    feasible = arrays.residuals(polytope.current, duals)
    assert feasible.feasibility < 1e-10
    worse = cost @ (polytope.current - point)
    assert (feasible.gap > 1e-10) == (worse > 1e-9 * np.abs(cost) @ np.abs(point))
    below = point.copy()
    below[-1] = (arrays.lower[-1] if np.isfinite(arrays.lower[-1]) else 0.0) - off
    assert arrays.residuals(below, duals).feasibility >= off * (1 - 1e-9)
    assert np.isnan(arrays.residuals(np.full(len(point), np.nan), duals).total)


@pytest.mark.parametrize("point", [[-2.25, -2.0], [2.25, 0.0], [-1.0, 0.25], [2.0, -1.25]], ids=str)
def test_feasibility_is_the_violation_of_either_side(point: list[float]) -> None:
    """By a quarter: below and above a bound of a variable, then of the row ``x_1 - x_2``."""
    pattern = RowPattern.of(np.array([0, 0]), np.array([0, 1]), 1, 2)
    lower, upper = np.array([-2.0, -2.0, -1.0]), np.array([2.0, 2.0, 3.0])
    arrays = LinearArrays(np.zeros(2), lower, upper, pattern, np.array([1.0, -1.0]), ())
    assert arrays.residuals(np.array(point), np.zeros(1)).feasibility == 0.25


@PROPERTY
@given(generators, kinds, sizes)
def test_units_change_no_optimum(rng: np.random.Generator, kind: str, size: int) -> None:
    program, polytope = three_programs(rng, size)[kind]
    cost = rng.standard_normal(len(polytope.current)) * 10 ** rng.uniform(-8, 8)
    arrays = program.prepared(cost, polytope).arrays()
    solved = by_scipy(arrays)
    point = polytope.unit * solved.x
    reference = polytope.minimize(cost)
    size_of_terms = np.abs(cost) @ np.maximum(np.abs(point), np.abs(reference))
    assert abs(cost @ (point - reference)) <= 1e-6 * size_of_terms


@pytest.mark.parametrize("kind", ["diagonal", "column", "joint"])
def test_arrays_and_cvxpy_problem_are_the_same_program(kind: str) -> None:
    """In the units of solvers: the values agree, and a point inside of one is inside of both."""
    rng = np.random.default_rng(7)
    program: Program
    program, polytope = three_programs(rng, 5)[kind]
    for _ in range(5):
        prepared = program.prepared(rng.standard_normal(len(polytope.current)), polytope)
        arrays = prepared.arrays()
        problem, variable = prepared.problem()
        problem.solve(solver="CLARABEL")
        assert problem.value == pytest.approx(by_scipy(arrays).fun, rel=1e-6, abs=1e-6)
        variable.value = by_scipy(arrays).x
        for constraint in problem.constraints:
            assert np.max(constraint.violation(), initial=0.0) < 1e-6


def test_the_pattern_is_one_object() -> None:
    rng = np.random.default_rng(0)
    for _, polytope in three_programs(rng, 4).values():
        first, second = (polytope.arrays(rng.standard_normal(len(polytope.current))) for _ in "ab")
        assert first.pattern is second.pattern


def test_signs_of_multipliers() -> None:
    """A constraint of each kind: the value falls by λ when it is loosened by 1."""
    rng = np.random.default_rng(4)
    _, polytope = three_programs(rng, 4)["column"]
    cost = -rng.random(4)
    arrays = polytope.arrays(cost)
    x = cp.Variable(4)
    lower, upper = x >= arrays.lower, x <= arrays.upper
    budget = arrays.matrix @ x <= arrays.row_upper
    cp.Problem(cp.Minimize(cost @ x), [lower, upper, budget]).solve(solver="CLARABEL")
    found = arrays.multipliers(polytope.row_multipliers(cost))
    for name, constraint in (("floors", lower), ("rows", upper), ("budget", budget)):
        expected = np.reshape(constraint.dual_value, np.shape(found[name]))
        np.testing.assert_allclose(found[name], expected, atol=1e-6)


def test_a_value_that_is_round_off_is_no_measure() -> None:
    """A right answer was off by all of its value, which is 1e-16 of the largest cost."""
    pattern = RowPattern(np.array([0, 2], np.int32), np.array([0, 1], np.int32), 2)
    upper = np.array([0.0, 1.0, 0.5])  # the first entry is fixed
    arrays = LinearArrays(
        np.array([-1.0, -2.7e-16]),
        np.array([0.0, 0.0, -np.inf]),
        upper,
        pattern,
        np.ones(2),
        (Part("budget", "rows", slice(0, 1), is_single=True),),
    )
    right = np.array([0.0, 0.5])
    assert arrays.residuals(right, np.zeros(1)).total < 1e-15
    # What is wrong by a thousandth of a term is still seen.
    dearer = arrays.with_cost(np.array([-1.0, -1e-3]))
    assert dearer.residuals(np.zeros(2), np.array([-1e-3])).gap == pytest.approx(5e-4)
    solver = highspy.HighspyBackend({})
    found = solver.minimize(_Given(arrays), Stopwatch(), None)
    assert (found.status, found.restarts) == ("optimal", 0)


class _Given:
    """A program of which there are the arrays only."""

    name = "program"

    def __init__(self, arrays: LinearArrays) -> None:
        self._arrays = arrays

    def arrays(self) -> LinearArrays:
        return self._arrays

    def closed_form(self) -> Any:
        raise NotImplementedError

    def problem(self) -> Any:
        raise NotImplementedError
