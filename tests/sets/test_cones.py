"""Both cones say the same: the least linear cost is that of the exact oracle."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gdaopt as gda
from tests.helpers import generators, properties, random_symmetric
from tests.methods.certified_cases import (
    HULLS,
    set_of,
)

CONES = ["semidefinite", "second-order"]


# --- The second-order form -----------------------------------------------------------------------


@properties(30)
@given(generators, st.sampled_from(HULLS), st.integers(1, 6), st.sampled_from([1e-5, 1.0, 1e5]))
def test_both_forms_are_the_exact_oracle(
    rng: np.random.Generator, hull: tuple[str, float], size: int, unit: float
) -> None:
    kind, floor = hull
    feasible_set = set_of(kind, size, size * unit, rng.choice([0.0, 0.1]) * unit, floor * unit)
    gradient = random_symmetric(rng, size)
    for cone in CONES if kind != "definite" else CONES[:1]:
        metric = unit * cp.Variable((size, size), symmetric=True)
        cost = cp.sum(cp.multiply(gradient, metric)) / unit
        program = cp.Problem(cp.Minimize(cost), feasible_set.of(metric, cone=cone))
        program.solve("CLARABEL")
        value = feasible_set.minimize_linear(gradient).value / unit
        assert program.value == pytest.approx(value, abs=1e-6 * size), cone


def test_second_order_cones_are_one_for_each_pair_of_features() -> None:
    for size in (2, 5):
        feasible_set = gda.GraphMetrics(float(size))
        M = cp.Variable((size, size), symmetric=True)
        program = cp.Problem(cp.Minimize(cp.trace(M)), feasible_set.of(M, cone="second-order"))
        dims = program.get_problem_data("CLARABEL")[0]["dims"]
        assert dims.soc == [3] * (size * (size - 1) // 2)
        assert not dims.psd
