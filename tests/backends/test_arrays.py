"""Programs as arrays: residuals, multipliers, and the same optimum for SciPy and for CVXPY."""

from types import SimpleNamespace
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdaopt.backends import LinearArrays, Stopwatch, highspy
from gdaopt.programs.base import Polytope
from tests.backends.cases import by_scipy, three_programs
from tests.helpers import PROPERTY, Rng, generators

kinds = st.sampled_from(["diagonal", "column", "joint"])
sizes = st.sampled_from([2, 3, 7])


def arrays_of(rng: Rng, kind: str, size: int) -> tuple[LinearArrays, Polytope, Any]:
    """Return a program as arrays, with its polytope and cost."""
    _, polytope = three_programs(rng, size)[kind]
    cost = rng.standard_normal(len(polytope.current))
    return polytope.arrays(cost), polytope, cost


@PROPERTY
@given(generators, kinds, sizes)
def test_the_closed_form_solves_the_arrays(rng: Rng, kind: str, size: int) -> None:
    arrays, polytope, cost = arrays_of(rng, kind, size)
    point = polytope.minimize(cost)
    assert cost @ point == pytest.approx(by_scipy(arrays).fun, rel=1e-7, abs=1e-7)
    duals = arrays.signed(polytope.row_multipliers(cost))
    off = arrays.residuals(point, duals)
    assert off.total < 1e-10
    assert not np.signbit(off.feasibility)  # tables would show -0


@PROPERTY
@given(generators, kinds, sizes, st.floats(1e-4, 1e-1))
def test_residuals_see_what_is_wrong(rng: Rng, kind: str, size: int, off: float) -> None:
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


@PROPERTY
@given(generators)
def test_multipliers_of_rows_without_names_are_their_duals(rng: Rng) -> None:
    """Of equalities, of rows with a bound on either side or on both; none of a free row."""
    inf = np.inf
    lower, upper = [1.0, 0.0, -inf, 0.0, 0.0, -inf], [1.0, inf, 2.0, 2.0, 2.0, inf]
    arrays = LinearArrays.of(np.zeros(2), rng.standard_normal((6, 2)), lower, upper)
    duals = rng.standard_normal(6) * (np.arange(6) < 5)
    multipliers = arrays.row_multipliers(duals)
    assert {name: len(own) for name, own in multipliers.items()} == {
        "fixed": 1,
        "lower": 3,
        "upper": 3,
    }
    np.testing.assert_array_equal(arrays.signed(multipliers), duals)
    np.testing.assert_array_equal(multipliers["fixed"], -duals[:1])


@pytest.mark.parametrize("point", [[-2.25, -2.0], [2.25, 0.0], [-1.0, 0.25], [2.0, -1.25]], ids=str)
def test_feasibility_is_the_violation_of_either_side(point: list[float]) -> None:
    """By a quarter: below and above a bound of a variable, then of the row ``x_1 - x_2``."""
    arrays = LinearArrays.of(
        [0.0, 0.0], [[1.0, -1.0]], row_lower=-1.0, row_upper=3.0, lower=-2.0, upper=2.0
    )
    assert arrays.residuals(np.array(point), np.zeros(1)).feasibility == 0.25


@PROPERTY
@given(generators, kinds, sizes)
def test_units_change_no_optimum(rng: Rng, kind: str, size: int) -> None:
    program, polytope = three_programs(rng, size)[kind]
    cost = rng.standard_normal(len(polytope.current)) * 10 ** rng.uniform(-8, 8)
    point = polytope.unit * by_scipy(program.prepared(cost, polytope).arrays()).x
    reference = polytope.minimize(cost)
    size_of_terms = np.abs(cost) @ np.maximum(np.abs(point), np.abs(reference))
    assert abs(cost @ (point - reference)) <= 1e-6 * size_of_terms


@pytest.mark.parametrize("kind", ["diagonal", "column", "joint"])
def test_arrays_and_cvxpy_problem_are_the_same_program(kind: str) -> None:
    """In the units of solvers: the values agree, and a point inside of one is inside of both."""
    rng = np.random.default_rng(7)
    program, polytope = three_programs(rng, 5)[kind]
    for _ in range(5):
        prepared = program.prepared(rng.standard_normal(len(polytope.current)), polytope)
        arrays = prepared.arrays()
        assert arrays.pattern is polytope.arrays(np.ones(len(polytope.current))).pattern
        problem, variable = prepared.problem()
        problem.solve(solver="CLARABEL")
        assert problem.value == pytest.approx(by_scipy(arrays).fun, rel=1e-6, abs=1e-6)
        variable.value = by_scipy(arrays).x
        for constraint in problem.constraints:
            assert np.max(constraint.violation(), initial=0.0) < 1e-6


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
    arrays = LinearArrays.of(
        [-1.0, -2.7e-16], [[1.0, 1.0]], row_upper=[0.5], lower=0.0, upper=[0.0, 1.0]
    )
    assert arrays.residuals(np.array([0.0, 0.5]), np.zeros(1)).total < 1e-15
    # What is wrong by a thousandth of a term is still seen.
    dearer = arrays.with_cost(np.array([-1.0, -1e-3]))
    assert dearer.residuals(np.zeros(2), np.array([-1e-3])).gap == pytest.approx(5e-4)
    program: Any = SimpleNamespace(name="program", arrays=lambda: arrays)
    found = highspy.HighspyBackend({}).minimize(program, Stopwatch(), None)
    assert (found.status, found.restarts) == ("optimal", 0)
