"""The semidefinite program: its value is that of the exact oracle."""

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.linalg.entries import Edges, entries_of, matrix_of
from gdaopt.programs import Program, WholeSet
from gdaopt.support.validation import FloatArray
from tests.helpers import random_symmetric
from tests.methods.certified_cases import HULLS, set_of


def costs_of(gradient: FloatArray, edges: Edges) -> FloatArray:
    """An edge stands in the metric twice, and with the other sign."""
    return np.concatenate([np.diagonal(gradient), -2 * gradient[edges]])


@pytest.mark.covering(1)
@pytest.mark.parametrize("size", [1, 2, 5, 8])
@pytest.mark.parametrize(("kind", "floor"), HULLS)
def test_programs_have_the_value_of_the_exact_oracle(kind: str, floor: float, size: int) -> None:
    rng = np.random.default_rng(size)
    for unit in (1e-6, 1.0, 1e6):
        feasible_set = set_of(kind, size, size * unit, 1e-3 * unit, floor * unit)
        program = Program("CLARABEL")
        edges = feasible_set.edges_of(size)
        whole = WholeSet(feasible_set, size, entries_of(feasible_set.start(size), edges))
        for scale in (1e-8, 1.0, 1e8):
            gradient = scale * random_symmetric(rng, size)
            found = program.solve(costs_of(gradient, edges), whole)
            exact = feasible_set.minimize_linear(gradient)
            allowed = 1e-6 * feasible_set.budget(size) * float(np.abs(gradient).max())
            assert found.value == pytest.approx(exact.value, abs=allowed)
            assert found.value == pytest.approx(
                np.vdot(gradient, matrix_of(found.point, size, edges))
            )
            assert not feasible_set.violations(matrix_of(found.point, size, edges))
            assert found.repair_distance <= 1e-5 * feasible_set.trace_bound
            closed = whole.minimize(costs_of(gradient, edges))
            np.testing.assert_allclose(
                matrix_of(closed, size, edges), exact.vertex, atol=1e-12 * unit
            )


def test_nothing_to_gain_leaves_the_point() -> None:
    feasible_set = gda.GraphMetrics(3.0, 0.1)
    there = WholeSet(feasible_set, 3, entries_of(feasible_set.start(3), feasible_set.edges_of(3)))
    found = Program("CLARABEL").solve(np.zeros(6), there)
    np.testing.assert_array_equal(found.point, there.current)
