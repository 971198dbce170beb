"""The diagonal program: what is refused, and what is repaired."""

from __future__ import annotations

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.programs import (
    DiagonalPolytope,
)
from tests.programs.cases import (
    assert_inside,
)


def test_infeasible_diagonals_are_refused_with_their_numbers() -> None:
    with pytest.raises(
        gda.InfeasibleProblemError, match=r"add up to 3, above the trace bound 2\.5"
    ):
        DiagonalPolytope(np.array([1.0, 2.0]), trace_bound=2.5)


def test_round_off_of_a_diagonal_is_repaired() -> None:
    polytope = DiagonalPolytope(np.array([1.0, 2.0]), trace_bound=3.0 - 1e-10)
    assert polytope.spare <= 1e-15
    assert_inside(polytope.minimize(-np.ones(2)), polytope)
