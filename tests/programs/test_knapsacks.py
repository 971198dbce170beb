"""The diagonal and the column program: what is refused, what is made feasible, what cannot move."""

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.programs import ColumnPolytope, DiagonalPolytope, Program
from tests.programs.cases import assert_inside


def test_infeasible_diagonals_are_refused_with_their_numbers() -> None:
    with pytest.raises(
        gda.errors.InfeasibleProblemError, match=r"add up to 3, above the trace bound 2\.5"
    ):
        DiagonalPolytope(np.array([1.0, 2.0]), trace_bound=2.5)


def test_round_off_of_a_diagonal_is_removed() -> None:
    polytope = DiagonalPolytope(np.array([1.0, 2.0]), trace_bound=3.0 - 1e-10)
    assert polytope.spare <= 1e-15
    assert_inside(polytope.minimize(-np.ones(2)), polytope)


@pytest.mark.parametrize(
    ("upper", "budget", "message"),
    [
        ([1.0, 0.25], 9.0, r"floor 0\.5 of entry 1 exceeds its bound 0\.25"),
        ([1.0, 1.0], 0.75, r"floors need 1 of a budget of 0\.75"),
    ],
)
def test_infeasible_columns_are_refused_with_their_numbers(
    upper: list[float], budget: float, message: str
) -> None:
    with pytest.raises(gda.errors.InfeasibleProblemError, match=message):
        ColumnPolytope(np.array(upper), np.ones(2), np.full(2, 0.5), budget)


def test_a_column_that_cannot_move_is_its_floors() -> None:
    polytope = ColumnPolytope(np.zeros(2), np.ones(2), np.zeros(2), budget=0.0)
    for solver in ("analytic", "HIGHS"):
        solution = Program(solver).solve(np.array([-1.0, 1.0]), polytope)
        np.testing.assert_array_equal(solution.point, [0.0, 0.0])
