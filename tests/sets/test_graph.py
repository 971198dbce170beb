"""Graph metrics: the path start and its bound, and where the set contains a path."""

import math
from dataclasses import replace

import numpy as np
import pytest

from gdaopt.errors import InvalidInputError
from gdaopt.linalg.spectrum import smallest_eigenvalue
from gdaopt.sets import (
    GraphMetrics,
)
from gdaopt.support.validation import FloatArray

SET = GraphMetrics(trace_bound=4.0, min_eigenvalue=0.1)


def edge(weight: float, size: int = 4) -> FloatArray:
    """Return a member of SET: unit diagonal, one edge (1, 2) of this weight."""
    metric = np.eye(size)
    metric[1, 2] = metric[2, 1] = -weight
    return metric


class TestStart:
    @pytest.mark.parametrize("size", [1, 2, 5, 30])
    def test_auto_is_half_of_the_bound(self, size: int) -> None:
        feasible_set = GraphMetrics(4.0, 0.01)
        metric = feasible_set.start(size)
        assert feasible_set.contains(metric)
        np.testing.assert_array_equal(np.diagonal(metric), 4.0 / size)
        edges = np.diagonal(metric, 1)
        np.testing.assert_allclose(edges, -feasible_set.largest_edge_weight(size) / 2, rtol=1e-15)
        np.testing.assert_array_equal(metric, np.triu(np.tril(metric, 1), -1))

    @pytest.mark.parametrize("weight", [0.0, 0.2])
    def test_a_number_is_absolute(self, weight: float) -> None:
        np.testing.assert_array_equal(np.diagonal(SET.start(4, weight), 1), -weight)

    @pytest.mark.parametrize("size", [2, 4, 9])
    def test_the_bound_itself_is_accepted(self, size: int) -> None:
        metric = SET.start(size, SET.largest_edge_weight(size))
        assert SET.contains(metric)
        assert smallest_eigenvalue(metric) == pytest.approx(0.1, abs=1e-14)

    def test_around_a_path_that_no_constant_diagonal_can_carry(self) -> None:
        bound = SET.largest_edge_weight(4)
        weight = (bound + (4.0 - 4 * 0.1) / 6) / 2  # between that and what a path can carry
        assert weight > bound
        feasible_set = replace(SET, path_weight=weight)
        metric = feasible_set.start(4)
        assert feasible_set.contains(metric)
        assert np.trace(metric) == pytest.approx(4.0, rel=1e-15)
        with pytest.raises(InvalidInputError, match="would not be a metric"):
            SET.start(4, weight)

    @pytest.mark.parametrize(
        ("weight", "message"),
        [
            (10.0, "initial_edge_weight 10 is above"),
            (-0.1, "must be at least 0"),
            (math.nan, "must be finite"),
            ("half", "a number or 'auto', got 'half'"),
        ],
    )
    def test_bad_weights_are_refused(self, weight: float | str, message: str) -> None:
        with pytest.raises(InvalidInputError, match=message):
            SET.start(4, weight)
