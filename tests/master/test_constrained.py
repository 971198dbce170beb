"""The master problem with rows: CVXPY's optimum, exact zeros, and multipliers."""

from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import gdaopt as gda
from gdaopt.linalg.atoms import Atoms
from gdaopt.master.constrained import (
    Rows,
    _duality_gap,
    _Quadratic,
    solve_constrained_master_problem,
)
from gdaopt.master.master_point import MasterPoint
from gdaopt.master.weights import Iterate
from gdaopt.objectives.base import Objective
from gdaopt.support.validation import FloatArray
from tests.certificate_cases import covariance
from tests.helpers import random_symmetric

SIZE, BUDGET = 5, 4.0
N = SIZE * (SIZE + 1) // 2


def start(weights: FloatArray, objective: Objective | None = None) -> MasterPoint:
    """Return log det at weights of the unit vectors and of edges."""
    i, j = np.triu_indices(SIZE, 1)
    edges = Atoms(np.column_stack([i, j]), np.tile([np.sqrt(0.5), -np.sqrt(0.5)], (len(i), 1)))
    atoms = Atoms.of_features(np.arange(SIZE)).joined(edges)
    objective = objective or gda.LogDet(covariance(SIZE))
    return MasterPoint(objective.at(0.1 * np.eye(SIZE)), atoms, weights)


def solved(point: MasterPoint, rows: Rows, tolerance: float) -> tuple[MasterPoint, FloatArray]:
    """Return the best weights, and the multipliers of rows whose first guess is 0."""
    none = np.zeros(len(rows.right))
    found = solve_constrained_master_problem(point, BUDGET, rows, none, tolerance)
    assert found.multipliers is not None
    return found.point, found.multipliers


@pytest.mark.parametrize("seed", range(8))
def test_it_is_cvxpys_optimum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.random(N) * BUDGET / N / 2
    forms = rng.standard_normal((4, N))
    is_equality = np.array([False, True, False, False])
    room = np.array([0.0, 0.0, 0.05, 10.0])  # the last row does not bind
    rows = Rows(forms, forms @ weights + room, is_equality)
    point = start(weights)
    found, multipliers = solved(point, rows, 1e-9)

    x = cp.Variable(N)
    vectors = point._atoms.dense(SIZE)
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


def test_weights_that_rows_forbid_are_exactly_zero() -> None:
    weights, forms = np.where(np.arange(N) < SIZE, 0.2, 0.0), np.zeros((1, N))
    forms[0, SIZE] = -0.5  # only the first edge is in it, which has to have no weight
    found, multipliers = solved(start(weights), Rows(forms, np.zeros(1), np.array([True])), 1e-9)
    assert found.weights[SIZE] == 0
    # And its multiplier is such that the edge is no longer worth its price.
    assert found.gradient()[SIZE] - 0.5 * multipliers[0] >= -1e-9


@pytest.mark.parametrize("seed", range(4))
def test_the_duality_gap_of_a_linear_objective_is_the_distance_to_the_optimum(seed: int) -> None:
    """By the best multipliers: a part of it is by how much rows with a price do not bind."""
    rng = np.random.default_rng(seed)
    weights = rng.random(N) * BUDGET / N / 2
    point = start(weights, gda.objectives.Linear(random_symmetric(rng, SIZE)))
    forms = rng.standard_normal((3, N)) / 10 - point.gradient()
    rows = Rows(forms, forms @ weights + 0.05, np.zeros(3, dtype=bool))
    best, multipliers = solved(point, rows, 1e-12)
    assert multipliers @ (rows.right - forms @ weights) > 1e-3
    iterate = Iterate.at(point, np.append(weights, BUDGET - weights.sum()))
    gap = _duality_gap(iterate, rows, multipliers)
    assert gap == pytest.approx(point.value - best.value, rel=1e-8)


GUESSES = ["a row that binds", "a row that does not", "a weight of 0", "another weight"]


@pytest.mark.parametrize("wrong", GUESSES)
@pytest.mark.parametrize("seed", [1, 2, 4, 5])
def test_a_wrong_guess_of_what_binds_is_mended(seed: int, wrong: str) -> None:
    """The answer of an interior-point method is a start: the last digits do not depend on it.

    The seeds are such that the changes end; they need not, and Clarabel's own answer remains.
    """
    quadratic = random_quadratic(np.random.default_rng(seed))
    step, free, prices, binds = quadratic._interior_solution()
    x, multipliers = quadratic.solution()
    assert quadratic.is_equality.tolist() == [True, False, False, False]
    assert (x > 0).tolist() == free.tolist()
    if wrong.startswith("a row"):
        of_its_kind = binds if wrong == "a row that binds" else ~binds
        k = np.flatnonzero(of_its_kind & ~quadratic.is_equality)[0]
        binds[k] = not binds[k]
    else:
        k = np.flatnonzero(free == (wrong == "another weight"))[0]
        free[k] = not free[k]
    step += 1e-4 * np.random.default_rng(seed).uniform(size=len(step))
    guess = (step, free, prices, binds)
    found, again = Guessed(**vars(quadratic), guess=guess).solution()
    np.testing.assert_allclose(found, x, atol=1e-9)
    np.testing.assert_allclose(again, multipliers, atol=1e-7)
    assert ((found == 0) == (x == 0)).all()


@pytest.mark.parametrize("small", [1e-3, 1e-6, 1e-9])
def test_small_weights_keep_their_row_to_as_many_digits_as_the_others(small: float) -> None:
    """It is in units of what the row leaves them, and not of the largest weight."""
    rng = np.random.default_rng(0)
    weights = rng.random(N) * BUDGET / N / 2
    weights[:3] *= small
    forms = np.zeros((2, N))
    forms[0, :3], forms[1, 3:] = [1.0, 2.0, 0.5], rng.uniform(0.5, 1, N - 3)
    rows = Rows(forms, 1.01 * forms @ weights, np.array([False, False]))
    found, _ = solved(start(weights), rows, 1e-10)
    assert forms @ found.weights == pytest.approx(rows.right, rel=1e-9, abs=0)


@pytest.mark.parametrize("second", [0.1, 0.2, 0.3, 0.7])
def test_rows_of_weights_that_have_become_small_are_kept(second: float) -> None:
    """A step from a weight of 1 keeps the row to 1e-16, of which a billionth has to keep it."""
    objective = gda.LogDet(np.diag([1e9, 1.5e9, 1.0]))
    atoms, weights = Atoms.of_features(np.arange(3)), np.array([3 * second, second, 1.0])
    point = MasterPoint(objective.at(1e-15 * np.eye(3)), atoms, weights)
    rows = Rows(np.array([[1.0, -3.0, 0.0]]), np.zeros(1), np.array([True]))
    found, _ = solved(point, rows, 1e-12)
    assert found.weights[0] == pytest.approx(4 / 3 * 1e-9, rel=1e-2, abs=0)
    assert found.weights[0] == pytest.approx(3 * found.weights[1], rel=1e-14, abs=0)


@dataclass(frozen=True, kw_only=True, eq=False)
class Guessed(_Quadratic):
    """A quadratic program with another start than that of an interior-point method."""

    guess: tuple[Any, ...]

    def _interior_solution(self) -> Any:
        return self.guess


def random_quadratic(rng: np.random.Generator) -> _Quadratic:
    """Return a program at whose solution some weights are 0, and some rows bind."""
    while True:
        n = 8
        x = rng.random(n)
        x /= x.sum()
        root = rng.standard_normal((n, n))
        rows = rng.uniform(-1, 1, (3, n))
        quadratic = _Quadratic(
            x,
            rng.uniform(-1, 1, n),
            root @ root.T / n,
            np.vstack([np.ones(n), rows]),
            np.append(1.0, rows @ x + np.array([0.0, 0.05, 0.5])),
            1,
        )
        solution, multipliers = quadratic.solution()
        binding = (multipliers[1:] > 1e-2).sum()
        if 2 <= (solution > 1e-2).sum() == (solution > 0).sum() < n and 1 <= binding < 3:
            return quadratic
