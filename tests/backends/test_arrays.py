"""Programs as arrays: residuals, and the same optimum for SciPy."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdaopt.backends import LinearArrays, Stopwatch, highspy
from gdaopt.backends.highspy import HighsModel
from gdaopt.support.validation import FloatArray
from tests.backends.cases import by_scipy, three_programs
from tests.helpers import PROPERTY, Rng, generators

kinds = st.sampled_from(["diagonal", "column", "joint"])
sizes = st.sampled_from([2, 3, 7])


def optimum_of(rng: Rng, kind: str, size: int) -> tuple[LinearArrays, FloatArray, FloatArray]:
    """Return a program as arrays, its closed form as solvers see it, and duals of its rows."""
    _, polytope = three_programs(rng, size)[kind]
    cost = rng.standard_normal(len(polytope.current)) * 10 ** rng.uniform(-8, 8)
    arrays = polytope.arrays(cost)
    duals = HighsModel({}).minimize(arrays, hot=False).row_duals
    assert duals is not None
    return arrays, polytope.coordinates(polytope.minimize(cost)), duals


@PROPERTY
@given(generators, kinds, sizes)
def test_the_closed_form_solves_the_arrays(rng: Rng, kind: str, size: int) -> None:
    arrays, point, duals = optimum_of(rng, kind, size)
    assert arrays.cost @ point == pytest.approx(by_scipy(arrays).fun, rel=1e-7, abs=1e-7)
    off = arrays.residuals(point, duals)
    assert off.total < 1e-9
    assert not np.signbit(off.feasibility)  # tables would show -0


@PROPERTY
@given(generators, kinds, sizes, st.floats(1e-4, 1e-1))
def test_residuals_see_what_is_wrong(rng: Rng, kind: str, size: int, off: float) -> None:
    arrays, point, duals = optimum_of(rng, kind, size)
    nothing = arrays.residuals(np.zeros(len(point)), duals)
    if nothing.feasibility < 1e-9:  # else the joint program, whose diagonal must be positive
        worse = -float(arrays.cost @ point)
        assert (nothing.gap > 1e-8) == (worse > 1e-8 * np.abs(arrays.cost).max())
    below = point.copy()
    below[-1] = -off
    assert arrays.residuals(below, duals).feasibility >= off * (1 - 1e-9)
    assert np.isnan(arrays.residuals(np.full(len(point), np.nan), duals).total)


@pytest.mark.parametrize("point", [[-2.25, -2.0], [2.25, 0.0], [-1.0, 0.25], [2.0, -1.25]], ids=str)
def test_feasibility_is_the_violation_of_either_side(point: list[float]) -> None:
    """By a quarter: below and above a bound of a variable, then of the row ``x_1 - x_2``."""
    arrays = LinearArrays.of(
        [0.0, 0.0], [[1.0, -1.0]], row_lower=-1.0, row_upper=3.0, lower=-2.0, upper=2.0
    )
    assert arrays.residuals(np.array(point), np.zeros(1)).feasibility == 0.25


def test_a_value_that_is_round_off_is_no_measure() -> None:
    """A right answer was off by all of its value, which is 1e-16 of the largest cost."""
    arrays = LinearArrays.of(
        [-1.0, -2.7e-16], [[1.0, 1.0]], row_upper=[0.5], lower=0.0, upper=[0.0, 1.0]
    )
    assert arrays.residuals(np.array([0.0, 0.5]), np.zeros(1)).total < 1e-15
    # What is wrong by a thousandth of a term is still seen.
    dearer = replace(arrays, cost=np.array([-1.0, -1e-3]))
    assert dearer.residuals(np.zeros(2), np.array([-1e-3])).gap == pytest.approx(5e-4)
    program: Any = SimpleNamespace(name="program", arrays=lambda cost: arrays)
    found = highspy.HighspyBackend({}).minimize(program, arrays.cost, Stopwatch(), None)
    assert (found.status, found.restarts) == ("optimal", 0)
