"""Constraints that remember the set they came from: the same set to CVXPY, also after copies."""

import copy
import pickle

import cvxpy as cp
import numpy as np
import pytest

import gdaopt as gda
from gdaopt.modelling.model import read_model

SIZE = 3


@pytest.mark.parametrize("cone", ["semidefinite", "second-order"])
def test_every_copy_remembers_the_set(cone: str) -> None:
    feasible_set = gda.GraphMetrics(4.0, edges=[(0, 1), (1, 2)])
    M = cp.Variable((SIZE, SIZE), symmetric=True)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(M)), feasible_set.of(M, cone=cone))
    for other in (
        problem,
        cp.Problem(problem.objective, problem.constraints),
        copy.copy(problem),
        copy.deepcopy(problem),
        pickle.loads(pickle.dumps(problem)),
        problem + cp.Problem(cp.Minimize(cp.trace(M))),
    ):
        model = read_model(other)
        assert model.feasible_set == feasible_set
        assert model.rows is None


def test_a_violation_is_that_of_the_constraint() -> None:
    M = cp.Variable((2, 2), symmetric=True)
    constraints = gda.GraphMetrics(trace_bound=2.0).of(M)
    M.value = np.array([[2.0, 1.0], [1.0, 2.0]])
    assert [bool(constraint.value()) for constraint in constraints] == [True, False, False]


@pytest.mark.parametrize("shape", [(2, 3), (4,)])
def test_what_is_not_square_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(gda.errors.InvalidInputError, match="metric must be a K×K expression"):
        gda.GraphMetrics(2.0).of(cp.Variable(shape))


def test_bounds_that_leave_no_room_are_refused() -> None:
    with pytest.raises(gda.errors.InvalidInputError, match="must exceed n_features"):
        gda.GraphMetrics(2.0, 1.0).of(cp.Variable((2, 2), symmetric=True))


def test_second_order_cones_are_one_for_each_pair_of_features() -> None:
    for size in (2, 5):
        feasible_set = gda.GraphMetrics(float(size))
        M = cp.Variable((size, size), symmetric=True)
        program = cp.Problem(cp.Minimize(cp.trace(M)), feasible_set.of(M, cone="second-order"))
        dims = program.get_problem_data("CLARABEL")[0]["dims"]
        assert dims.soc == [3] * (size * (size - 1) // 2)
        assert not dims.psd
