"""Quadratic and linear programs by the primal active-set method: optimality, and hard shapes."""

from dataclasses import dataclass

import numpy as np
import pytest

from gdaopt.linalg.quadratic_program import QuadraticProgram

_LIFT = 1e-13


@dataclass(frozen=True)
class Shape:
    """What is hard about a quadratic program."""

    rank: int = 8  # of H: with a smaller one it is flat in some directions
    decades: float = 0.0  # of the curvatures
    apart: float | None = None  # the distance of two inequalities, and of two equalities
    at_zero: bool = False  # most weights start at 0


SHAPES = {
    "plain": Shape(),
    "from a vertex": Shape(at_zero=True),
    "flat": Shape(rank=3),
    "linear": Shape(rank=0),
    "eight decades": Shape(decades=8),
    "rows 1e-3 apart": Shape(apart=1e-3),
    "rows 1e-6 apart": Shape(apart=1e-6),
    "the same rows": Shape(apart=0.0),
    "rows 1e-6 apart, from a vertex": Shape(apart=1e-6, at_zero=True),
}


def random_quadratic(rng: np.random.Generator, shape: Shape) -> QuadraticProgram:
    """Return a program over 8 shares of a total weight, at a point that keeps its rows."""
    n = 8
    x = rng.random(n)
    if shape.at_zero:
        x[rng.permutation(n)[:5]] = 0.0
    x /= x.sum()
    root = rng.standard_normal((n, shape.rank)) * 10 ** rng.uniform(-shape.decades / 2, 0, (n, 1))
    equal, others = rng.uniform(-1, 1, (1, n)), rng.uniform(-1, 1, (3, n))
    if shape.apart is not None:
        equal = np.vstack([equal, equal + shape.apart * rng.uniform(-1, 1, (1, n))])
        others = np.vstack([others, others[:1] + shape.apart * rng.uniform(-1, 1, (1, n))])
    room = np.array([0.0, 0.05, 0.5, *[0.0] * (len(others) - 3)])
    return QuadraticProgram(
        x,
        rng.uniform(-1, 1, n),
        root @ root.T / n,
        np.vstack([np.ones(n), equal, others]),
        np.concatenate([[1.0], equal @ x, others @ x + room]),
        1 + len(equal),
        _LIFT,
    )


@pytest.mark.parametrize("name", SHAPES)
def test_a_quadratic_program_is_solved_to_the_last_digits(name: str) -> None:
    """By its optimality conditions, which no other solver meets to as many digits."""
    for seed in range(10):
        quadratic = random_quadratic(np.random.default_rng(seed), SHAPES[name])
        x, prices = quadratic.solve()
        step = x - quadratic.x
        residuals, size = quadratic.left @ x - quadratic.right, 1 + np.abs(prices).max()
        slopes = quadratic.slope + quadratic.hessian @ step + prices @ quadratic.left
        equal = quadratic.is_equality
        assert x.min() >= 0
        assert (prices[~equal] >= 0).all()
        assert np.abs(residuals[equal]).max() <= 1e-12
        assert residuals.max() <= 1e-12
        assert slopes.min() >= -1e-11 * size
        used = slopes[:-1][x[:-1] > 0]  # the last variable is the slack
        assert used.min(initial=0.0) >= 0  # below 0 by round-off it would cost the whole budget
        assert used.max(initial=0.0) <= 1e-12 * size
        gap = float(x @ slopes) - float(prices[~equal] @ residuals[~equal])
        assert abs(gap) <= 1e-11 * size
        assert float(quadratic.slope @ step + step @ quadratic.hessian @ step / 2) <= 1e-15


def test_the_price_of_an_inequality_is_never_below_zero() -> None:
    """Less than the accuracy of the program is not worth another step: the price here is -1e-13."""
    left = np.array([[1.0, 1.0], [1.0, 0.0]])
    slope = np.array([1e-13, 0.0])
    quadratic = QuadraticProgram(np.full(2, 0.5), slope, np.eye(2), left, np.array([1.0, 0.5]), 1)
    x, prices = quadratic.solve()
    np.testing.assert_allclose(x, 0.5, atol=1e-12)
    assert prices[1] >= 0
