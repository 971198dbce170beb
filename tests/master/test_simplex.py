"""Quadratic programs on the simplex."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdaopt.master.weights import minimize_on_simplex
from gdaopt.support.validation import FloatArray
from tests.helpers import generators, properties

SLOPES, STARTS = ("any", "ties", "zero"), ("some", "vertex", "uniform")
sizes = st.sampled_from([1, 2, 3, 5, 12, 30])


@dataclass(frozen=True, eq=False)
class Quadratic:
    """``g'(x - x0) + ½ (x - x0)'H(x - x0)`` on the simplex of x0."""

    gradient: FloatArray
    hessian: FloatArray
    start: FloatArray

    def value(self, x: FloatArray) -> float:
        step = x - self.start
        return float(self.gradient @ step + step @ self.hessian @ step / 2)

    def gap(self, x: FloatArray) -> float:
        """An upper bound of what is to be gained, 0 at a minimiser: x'∇ - Σx · min ∇."""
        slope = self.gradient + self.hessian @ (x - self.start)
        return float(x @ slope - x.sum() * slope.min())

    def size(self, x: FloatArray) -> float:
        """The magnitude of the terms of value and gap, of which round-off is a share."""
        both = x + self.start
        return float(np.abs(self.gradient) @ both + both @ np.abs(self.hessian) @ both)

    @classmethod
    def random(cls, rng: np.random.Generator, size: int, slopes: str, starts: str) -> Quadratic:
        """H of any rank and magnitude, the start with zeros."""
        rank = int(rng.integers(0, size + 1))
        factor = rng.standard_normal((size, rank))
        if rng.random() < 0.3:
            factor *= 10 ** rng.uniform(-1.5, 1.5, (size, 1))
        if rng.random() < 0.3:
            factor = factor[rng.integers(0, size, size)]  # variables that do the same
        gradient = rng.standard_normal(size)
        if slopes == "ties":
            gradient = np.round(gradient)
        elif slopes == "zero":
            gradient = np.zeros(size)
        start = rng.random(size) * (rng.random(size) < 0.5)
        if starts == "vertex" or not start.any():
            start = np.zeros(size)
            start[rng.integers(size)] = 1.0
        elif starts == "uniform":
            start = np.ones(size)
        unit, total = 10 ** rng.uniform(-8, 8), 10 ** rng.uniform(-6, 6)
        gradient = gradient * unit * total * 10 ** rng.uniform(-3, 3)
        return cls(gradient, unit * factor @ factor.T, total * start)


class TestMinimizeOnSimplex:
    @properties(300)
    @given(generators, sizes, st.sampled_from(SLOPES), st.sampled_from(STARTS))
    def test_is_a_minimiser(
        self, rng: np.random.Generator, size: int, slopes: str, starts: str
    ) -> None:
        """The gap proves it: 1e-10 of the terms, of which at most 1e-11 was seen in 6000 trials."""
        program = Quadratic.random(rng, size, slopes, starts)
        given_start = program.start.copy()
        x = minimize_on_simplex(program.gradient, program.hessian, program.start)
        assert x.min() >= 0
        assert x.sum() == pytest.approx(program.start.sum(), rel=1e-13)
        assert program.gap(x) <= 1e-10 * program.size(x)
        assert program.value(x) <= 0
        np.testing.assert_array_equal(program.start, given_start)

    @properties(60)
    @given(generators, st.sampled_from([2, 3, 8, 20]), st.sampled_from([3, 7, 11]))
    def test_units_of_the_variables(
        self, rng: np.random.Generator, size: int, decades: int
    ) -> None:
        """With room to spare, the minimiser follows the units, over twice as many decades of H."""
        units = 10 ** rng.uniform(-decades, 0, size)
        factor = rng.standard_normal((size, size + 3))
        hessian = factor @ factor.T + np.eye(size)
        target = rng.uniform(0.5, 1, size)
        start = np.append(units, 100.0 * size)  # and the slack
        gradient = np.append(hessian @ (1 - target) / units, 0.0)
        scaled = np.zeros((size + 1, size + 1))
        scaled[:-1, :-1] = hessian / units / units[:, None]
        x = minimize_on_simplex(gradient, scaled, start)
        np.testing.assert_allclose(x[:-1] / units, target, rtol=1e-9)

    @properties(60)
    @given(generators, st.sampled_from([2, 5, 12, 30]))
    def test_entries_of_many_magnitudes(self, rng: np.random.Generator, size: int) -> None:
        """H with eigenvalues over 14 decades and more: what is lost is still below 1e-5."""
        factor = rng.standard_normal((size, size)) * 10 ** rng.uniform(-3, 3, (size, 1))
        factor *= 10 ** rng.uniform(-4, 4, size)
        start = np.zeros(size)
        start[rng.integers(size)] = 1.0
        program = Quadratic(factor @ rng.standard_normal(size), factor @ factor.T, start)
        x = minimize_on_simplex(program.gradient, program.hessian, program.start)
        assert program.gap(x) <= 1e-5 * program.size(x)
        assert program.value(x) <= 0

    @properties(100)
    @given(generators, sizes)
    def test_what_costs_more_gets_exactly_nothing(
        self, rng: np.random.Generator, size: int
    ) -> None:
        """Nor do later joined variables bring it back: the exact zeros are those of the optimum."""
        factor = rng.standard_normal((size, size))
        hessian = factor @ factor.T + np.eye(size)
        x_best = rng.random(size) * (rng.random(size) < 0.5)
        x_best[rng.integers(size)] = 1.0
        # Strict complementarity: the slope at the optimum is 0 on its support and above 0.1 off it.
        slope = np.where(x_best > 0, 0.0, rng.uniform(0.1, 1, size))
        start = rng.random(size) + 1e-3
        start *= x_best.sum() / start.sum()
        x = minimize_on_simplex(slope - hessian @ (x_best - start), hessian, start)
        np.testing.assert_array_equal(x > 0, x_best > 0)
        np.testing.assert_allclose(x, x_best, atol=1e-11)

    @pytest.mark.parametrize(
        ("gradient", "start", "expected"),
        [
            ([3.0, -1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 2.0, 0.0]),
            ([1.0, 1.0, 1.0], [0.5, 0.0, 0.5], [0.5, 0.0, 0.5]),
            ([0.0, 0.0], [0.0, 3.0], [0.0, 3.0]),
            ([5.0], [2.0], [2.0]),
            ([3e-9, -1e-9, 0.0], [1e11, 2e11, 1e11], [0.0, 4e11, 0.0]),
        ],
        ids=["best entry", "ties", "zero", "one variable", "small slopes of large variables"],
    )
    def test_without_curvature(
        self, gradient: list[float], start: list[float], expected: list[float]
    ) -> None:
        """A linear program; where nothing is to be gained, nothing moves."""
        n = len(gradient)
        x = minimize_on_simplex(np.array(gradient), np.zeros((n, n)), np.array(start))
        np.testing.assert_array_equal(x, expected)

    def test_restarted_at_its_minimiser_it_stays(self) -> None:
        rng = np.random.default_rng(5)
        program = Quadratic.random(rng, 12, "any", "uniform")
        x = minimize_on_simplex(program.gradient, program.hessian, program.start)
        slope = program.gradient + program.hessian @ (x - program.start)
        again = minimize_on_simplex(slope, program.hessian, x)
        np.testing.assert_allclose(again, x, atol=1e-12 * x.sum())
        np.testing.assert_array_equal(again > 0, x > 0)
