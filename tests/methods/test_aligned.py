"""The edge floor of the alternation and the joint method: what counts, and where they start."""

from __future__ import annotations

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.support.validation import FloatArray
from tests.helpers import scaled

SET = gda.GraphMetrics(trace_bound=4.0, min_eigenvalue=0.1)
METHODS: dict[str, type[gda.methods.Alternating] | type[gda.methods.Joint]] = {
    "alternating": gda.methods.Alternating,
    "joint": gda.methods.Joint,
}


def problem() -> gda.MetricProblem:
    return gda.MetricProblem(gda.GLR(*scaled("iris", "versicolor")), SET)


def start(**options: float) -> FloatArray:
    return gda.methods.Alternating(**options).start(problem())  # type: ignore[arg-type]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("share", "components"), [(0.99, 1), (1.01, 2)])
def test_an_edge_counts_from_the_floor_on(method: str, share: float, components: int) -> None:
    weak = 0.25 * (1 - share * 1e-9)
    metric = np.eye(4)
    for i, weight in enumerate((0.3, weak, 0.25)):
        metric[i, i + 1] = metric[i + 1, i] = -weight
    runner = METHODS[method](edge_floor=0.25, initial=metric, solver="analytic", max_iterations=3)
    assert runner.n_components(metric) == components
    if components == 1:
        assert gda.solve(problem(), runner).iterations == 3
        return
    with pytest.raises(
        gda.errors.InvalidInputError, match=r"≥ edge_floor = 0.25 leave 2 components"
    ):
        gda.solve(problem(), runner)


def test_the_start_is_half_of_the_bound_where_that_is_above_the_floor() -> None:
    expected = SET.start(4)
    np.testing.assert_array_equal(start(edge_floor=0.01), expected)
    assert -expected[0, 1] > 0.01


def test_the_start_has_edges_of_at_least_the_floor() -> None:
    floor = 0.75 * SET.largest_edge_weight(4)
    np.testing.assert_array_equal(np.diagonal(start(edge_floor=floor), 1), -floor)


def test_a_floor_that_no_constant_diagonal_can_carry() -> None:
    bound = SET.largest_edge_weight(4)
    floor = (bound + (4.0 - 4 * 0.1) / 6) / 2  # between that and what a path can carry
    assert floor > bound
    metric = start(edge_floor=floor)
    assert SET.contains(metric)
    assert gda.methods.Alternating(edge_floor=floor).n_components(metric) == 1
    assert np.trace(metric) == pytest.approx(4.0, rel=1e-15)
    with pytest.raises(gda.errors.InvalidInputError, match="would not be a metric"):
        start(edge_floor=floor, initial_edge_weight=floor)
