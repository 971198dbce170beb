"""The master problem with rows: CVXPY's optimum, exact zeros, and multipliers."""

import cvxpy as cp
import numpy as np
import numpy.typing as npt
import pytest

import gdaopt as gda
from gdaopt.linalg.atoms import Atoms
from gdaopt.master.constrained import (
    _LIFT,
    Rows,
    _duality_gap,
    _mend_rows,
    find_best_weights_with_rows,
)
from gdaopt.master.master_point import MasterPoint
from gdaopt.objectives.base import Objective
from gdaopt.support.validation import FloatArray
from tests.certificate_cases import covariance
from tests.helpers import random_symmetric
from tests.master.cases import evaluate

SIZE, BUDGET = 5, 4.0
N = SIZE * (SIZE + 1) // 2


def start(weights: FloatArray, objective: Objective | None = None) -> MasterPoint:
    """Return log det at weights of the unit vectors and of edges."""
    i, j = np.triu_indices(SIZE, 1)
    edges = Atoms(np.column_stack([i, j]), np.tile([np.sqrt(0.5), -np.sqrt(0.5)], (len(i), 1)))
    atoms = Atoms.of_features(np.arange(SIZE)).joined(edges)
    objective = objective or gda.LogDet(covariance(SIZE))
    return evaluate(objective.at(0.1 * np.eye(SIZE)), atoms, weights, BUDGET)


def rows_of(forms: FloatArray, right: FloatArray, is_equality: npt.NDArray[np.bool_]) -> Rows:
    """Return rows whose forms are not sums."""
    return Rows(forms, np.abs(forms), right, is_equality)


def solved(point: MasterPoint, rows: Rows, tolerance: float) -> tuple[MasterPoint, FloatArray]:
    """Return the best weights, and the multipliers of rows whose first guess is 0."""
    none = np.zeros(len(rows.right))
    return find_best_weights_with_rows(point, rows, none, tolerance)[:2]


@pytest.mark.parametrize("seed", range(8))
def test_it_is_cvxpys_optimum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.random(N) * BUDGET / N / 2
    forms = rng.standard_normal((4, N))
    is_equality = np.array([False, True, False, False])
    room = np.array([0.0, 0.0, 0.05, 10.0])  # the last row does not bind
    rows = rows_of(forms, forms @ weights + room, is_equality)
    point = start(weights)
    found, multipliers = solved(point, rows, 1e-9)

    x = cp.Variable(N)
    vectors = point.function.atoms.dense(SIZE)
    metric = 0.1 * np.eye(SIZE) + vectors.T @ cp.diag(x) @ vectors
    value = cp.trace(covariance(SIZE) @ metric) - cp.log_det(metric)
    kept = [forms[~is_equality] @ x <= rows.right[~is_equality], forms[1] @ x == rows.right[1]]
    program = cp.Problem(cp.Minimize(value), [x >= 0, cp.sum(x) <= BUDGET, *kept])
    program.solve("CLARABEL")
    assert found.value == pytest.approx(float(value.value), abs=1e-6)
    assert found.value <= float(value.value) + 1e-8
    residuals = forms @ found.weights - rows.right
    assert residuals[~is_equality].max() <= 1e-10 * BUDGET
    assert abs(residuals[1]) <= 1e-10 * BUDGET
    assert found.weights.min() >= 0
    duals = np.concatenate([np.ravel(kept[0].dual_value), np.ravel(kept[1].dual_value)])
    np.testing.assert_allclose(multipliers[[0, 2, 3, 1]], duals, atol=1e-3)
    assert multipliers[3] == 0


@pytest.mark.parametrize("small", [1e-3, 1e-6, 1e-9])
def test_small_weights_keep_their_row_to_as_many_digits_as_the_others(small: float) -> None:
    """It is in units of what the row leaves them, and not of the largest weight."""
    rng = np.random.default_rng(0)
    weights = rng.random(N) * BUDGET / N / 2
    weights[:3] *= small
    forms = np.zeros((2, N))
    forms[0, :3], forms[1, 3:] = [1.0, 2.0, 0.5], rng.uniform(0.5, 1, N - 3)
    rows = rows_of(forms, 1.01 * forms @ weights, np.array([False, False]))
    found, _ = solved(start(weights), rows, 1e-10)
    assert forms @ found.weights == pytest.approx(rows.right, rel=1e-9, abs=0)


@pytest.mark.parametrize("second", [0.1, 0.2, 0.3, 0.7])
def test_rows_of_weights_that_have_become_small_are_kept(second: float) -> None:
    """A step from a weight of 1 keeps the row to 1e-16, of which a billionth has to keep it."""
    objective = gda.LogDet(np.diag([1e9, 1.5e9, 1.0]))
    atoms, weights = Atoms.of_features(np.arange(3)), np.array([3 * second, second, 1.0])
    point = evaluate(objective.at(1e-15 * np.eye(3)), atoms, weights, BUDGET)
    rows = rows_of(np.array([[1.0, -3.0, 0.0]]), np.zeros(1), np.array([True]))
    found, _ = solved(point, rows, 1e-12)
    assert found.weights[0] == pytest.approx(4 / 3 * 1e-9, rel=1e-2, abs=0)
    assert found.weights[0] == pytest.approx(3 * found.weights[1], rel=1e-14, abs=0)


def test_residuals_that_are_round_off_are_left_alone() -> None:
    weights, forms = np.array([0.1 + 0.2, 0.3]), np.array([[1.0, -1.0]])
    rows = rows_of(forms, np.zeros(1), np.array([True]))
    assert 0 < float(forms[0] @ weights) < 1e-16
    np.testing.assert_array_equal(_mend_rows(weights, 1.0, rows), weights)
    weights[0] += 1e-9
    assert float(forms[0] @ _mend_rows(weights, 1.0, rows)) == pytest.approx(0, abs=1e-16)


def test_corrections_leave_no_weight_below_0() -> None:
    """The row is far from the weights: its nearest ones, by shares, have a negative weight."""
    rows = rows_of(np.array([[1.0, -1.0]]), np.array([-5.0]), np.array([False]))
    kept = _mend_rows(np.ones(2), 20.0, rows)
    assert kept.min() >= 0
    assert float(rows.forms[0] @ kept) <= -5 + 1e-14


@pytest.mark.parametrize("apart", [1e-9, 1e-12, 1e-15])
def test_rows_that_are_nearly_the_same_are_corrected_alike(apart: float) -> None:
    """What they differ by is round-off: apart, each would move weights by its share of `apart`."""
    weights, is_equality = np.array([1 + 1e-9, 1.0, 1.0]), np.array([True, True])
    forms = np.array([[1.0, -1.0, 0.0], [1.0, -1.0, apart]])
    rows = rows_of(forms, np.array([0.0, apart + 1e-11]), is_equality)
    kept = _mend_rows(weights, 4.0, rows)
    np.testing.assert_allclose(kept, weights, rtol=1e-8)
    assert np.abs(forms @ kept - rows.right).max() <= 1e-11


def test_rows_that_are_mended_keep_the_trace_bound() -> None:
    forms = np.array([[1.0, 0.0, 0.0]])
    rows = rows_of(forms, np.array([1.0 + 1e-9]), np.array([True]))
    kept = _mend_rows(np.array([1.0, 2.0, 1.0]), 4.0, rows)
    assert kept[0] == pytest.approx(1 + 1e-9, abs=1e-14)
    assert kept.sum() <= 4.0


@pytest.mark.parametrize("size", [1e-80, 1e-160, 1e-250])
def test_weights_whose_squares_underflow_are_0(size: float) -> None:
    objective, atoms = gda.Ridge(2), Atoms.of_features(np.arange(2))
    point = evaluate(objective.at(np.zeros((2, 2))), atoms, np.full(2, size), BUDGET)
    rows = rows_of(np.array([[1.0, -1.0]]), np.zeros(1), np.array([True]))
    assert solved(point, rows, 0.0)[0].weights.tolist() == [0, 0]


def test_the_duality_gap_of_a_linear_objective_is_the_distance_to_the_optimum() -> None:
    """By the best multipliers: a part of it is by how much rows with a price do not bind."""
    rng = np.random.default_rng(0)
    weights = rng.random(N) * BUDGET / N / 2
    point = start(weights, gda.objectives.Linear(random_symmetric(rng, SIZE)))
    forms = rng.standard_normal((3, N)) / 10 - point.gradient
    rows = rows_of(forms, forms @ weights + 0.05, np.zeros(3, dtype=bool))
    best, multipliers = solved(point, rows, 1e-12)
    assert multipliers @ (rows.right - forms @ weights) > 1e-3
    gap = _duality_gap(point, rows, multipliers)
    assert gap == pytest.approx(point.value - best.value, rel=1e-8)


@pytest.mark.parametrize("seed", range(24))
def test_the_duality_gap_ends_at_round_off(seed: int) -> None:
    """Values end at the square root of it: the last digits of weights are seen by slopes alone."""
    rng = np.random.default_rng(seed)
    weights = rng.random(N) * BUDGET / N / 2
    forms = rng.standard_normal((int(rng.integers(2, 5)), N))
    if seed % 3 == 0:
        forms[-1] = forms[0] + 10 ** rng.uniform(-9, -3) * rng.standard_normal(N)
    elif seed % 3 == 1:
        weights[:3] *= 1e-6
    room = rng.choice([0.0, 0.01], len(forms))
    rows = rows_of(forms, forms @ weights + room, (rng.random(len(forms)) < 0.5) & (room == 0))
    found, multipliers = solved(start(weights), rows, 0.0)
    terms = BUDGET * (1 + float((np.abs(multipliers) @ np.abs(forms)).max()))
    assert _duality_gap(found, rows, multipliers) <= _LIFT * terms  # by which prices end above 0
