"""The master problem's parts: quadratic programs on the simplex, weights of atoms, the list."""

from __future__ import annotations

from dataclasses import dataclass

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

import gdaopt as gda
from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.projection import project_on_simplex
from gdaopt.master.active_set import ActiveSet
from gdaopt.master.simplex import minimize_on_simplex
from gdaopt.master.weights import MasterSolution, solve_master_problem
from gdaopt.objectives.protocol import AtomWeightsPoint
from gdaopt.validation import FloatArray
from tests.helpers import PROPERTY, generators

SLOPES = ("any", "ties", "zero")
STARTS = ("some", "vertex", "uniform")
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
    @settings(PROPERTY, max_examples=300)
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

    @settings(PROPERTY, max_examples=60)
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

    @pytest.mark.parametrize("slopes", SLOPES)
    @pytest.mark.parametrize("size", [2, 4, 9])
    def test_is_cvxpys_minimum(self, size: int, slopes: str) -> None:
        rng = np.random.default_rng(size)
        for starts in STARTS:
            program = Quadratic.random(rng, size, slopes, starts)
            total = float(program.start.sum())
            y = cp.Variable(size, nonneg=True)  # the share of the total
            unit = program.size(program.start) or 1.0
            step = total * y - program.start
            value = program.gradient @ step / unit
            value += cp.quad_form(step, cp.psd_wrap(program.hessian / unit)) / 2
            reference = cp.Problem(cp.Minimize(value), [cp.sum(y) == 1])
            reference.solve(solver="CLARABEL")
            x = minimize_on_simplex(program.gradient, program.hessian, program.start)
            assert program.value(x) / unit == pytest.approx(reference.value, rel=1e-6, abs=1e-7)

    @settings(PROPERTY, max_examples=100)
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
        ],
        ids=["best entry", "ties", "zero", "one variable"],
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


class TestProjectedOnSimplex:
    @settings(PROPERTY, max_examples=200)
    @given(generators, sizes, st.floats(-6, 6), st.booleans())
    def test_is_the_shifted_positive_part(
        self, rng: np.random.Generator, size: int, magnitude: float, ties: bool
    ) -> None:
        """``max(p - t, 0)`` with the t, found by bisection, for which the entries add up."""
        point = rng.standard_normal(size) * 10 ** rng.uniform(-2, 2)
        point = np.round(point) if ties else point
        total = 10**magnitude
        shift = brentq(
            lambda t: np.maximum(point - t, 0.0).sum() - total,
            point.min() - total - 1,
            point.max(),
            xtol=1e-300,
            rtol=4 * np.finfo(np.float64).eps,
        )
        projected = project_on_simplex(point, total)
        unit = total + float(np.abs(point).max())
        np.testing.assert_allclose(projected, np.maximum(point - shift, 0.0), atol=1e-14 * unit)
        assert projected.min() >= 0
        assert projected.sum() == pytest.approx(total, abs=1e-14 * size * unit)

    @PROPERTY
    @given(generators, sizes, st.floats(0, 25))
    def test_the_sum_does_not_drown_in_large_entries(
        self, rng: np.random.Generator, size: int, magnitude: float
    ) -> None:
        projected = project_on_simplex(rng.standard_normal(size) * 10**magnitude, 1.0)
        assert projected.min() >= 0
        assert projected.sum() == pytest.approx(1.0, rel=1e-12)

    @PROPERTY
    @given(generators, sizes)
    def test_points_of_the_simplex_stay(self, rng: np.random.Generator, size: int) -> None:
        point = rng.random(size) * (rng.random(size) < 0.7)
        point[0] += 0.1
        projected = project_on_simplex(point, float(point.sum()))
        np.testing.assert_allclose(projected, point, atol=1e-15 * size)

    @pytest.mark.parametrize("size", [2, 7])
    def test_is_cvxpys_projection(self, size: int) -> None:
        point = np.random.default_rng(size).standard_normal(size)
        x = cp.Variable(size, nonneg=True)
        problem = cp.Problem(cp.Minimize(cp.sum_squares(x - point)), [cp.sum(x) == 1.5])
        problem.solve(solver="CLARABEL")
        assert project_on_simplex(point, 1.5) == pytest.approx(x.value, abs=1e-6)


# --- Weights of atoms ----------------------------------------------------------------------------

ROOMY, NONE = 2**30, 1  # memory for the Hessian: Newton's method, or the first-order one


def random_atoms(rng: np.random.Generator, count: int, size: int) -> Atoms:
    vectors = rng.standard_normal((count, size))
    return Atoms.of_vectors(vectors / np.linalg.norm(vectors, axis=1)[:, None])


@dataclass(frozen=True, eq=False)
class Master:
    """A master problem, at its start."""

    objective: gda.GLR | gda.LogDet
    atoms: Atoms
    start: AtomWeightsPoint
    budget: float

    @classmethod
    def random(cls, rng: np.random.Generator, size: int, kind: str, share: float = 1.0) -> Master:
        """With 2K atoms, whose weights take a share of the budget."""
        objective: gda.GLR | gda.LogDet
        if kind == "glr":
            X = rng.standard_normal((30, size)) / np.sqrt(2 * size)
            z = np.where(X[:, 0] + 0.1 * rng.standard_normal(30) > 0, 1.0, -1.0)
            z[0], z[1] = 1.0, -1.0
            objective = gda.GLR(X, z)
        else:
            X = rng.standard_normal((3 * size, size))
            objective = gda.LogDet(X.T @ X / len(X))
        budget = size * float(rng.choice([0.2, 1.0, 10.0, 40.0]))
        atoms = random_atoms(rng, 2 * size, size)
        atom_weights = objective.atom_weights(1e-3 * np.eye(size))
        start = atom_weights.at(atoms, np.full(2 * size, share * budget / (2 * size)))
        return cls(objective, atoms, start, budget)

    def gap(self, point: AtomWeightsPoint) -> float:
        """An upper bound of how far the value is above its minimum."""
        gradient = point.gradient()
        least = min(0.0, float(gradient.min()))
        return float(point.weights @ gradient) - self.budget * least

    def solved(self, reduction: float, memory_limit: int = ROOMY) -> MasterSolution:
        return solve_master_problem(self.start, self.budget, reduction, memory_limit)


class TestSolveMasterProblem:
    @settings(PROPERTY, max_examples=25)
    @given(generators, st.sampled_from([1, 3, 8]), st.sampled_from([0.0, 0.4, 1.0]))
    @pytest.mark.parametrize("memory_limit", [ROOMY, NONE], ids=["newton", "first order"])
    @pytest.mark.parametrize("kind", ["glr", "log det"])
    def test_reduces_the_gap_as_asked(
        self, kind: str, memory_limit: int, rng: np.random.Generator, size: int, share: float
    ) -> None:
        master = Master.random(rng, size, kind, share)
        for reduction in (0.1, 1e-5):
            solution = master.solved(reduction, memory_limit)
            point = solution.point
            assert point.weights.min() >= 0
            assert point.weights.sum() <= master.budget * (1 + 1e-12)
            assert point.value <= master.start.value
            allowed = reduction * master.gap(master.start)
            assert master.gap(point) <= allowed + 1e-12 * abs(point.value)
            newton = memory_limit == ROOMY
            assert (solution.newton_steps > 0, solution.gradient_steps > 0) in (
                (newton, not newton),
                (False, False),  # the start was good enough
            )

    @pytest.mark.parametrize("memory_limit", [ROOMY, NONE], ids=["newton", "first order"])
    @pytest.mark.parametrize("seed", [49, 77, 80, 84, 183])
    def test_the_value_does_not_rise_where_the_slope_at_the_start_dwarfs_all_others(
        self, seed: int, memory_limit: int
    ) -> None:
        """Next to a singular metric: secants then hardly shrink the bracket of the line search."""
        master = Master.random(np.random.default_rng(seed), 3, "log det", 0.0)
        for reduction in (0.5, 0.1):
            assert master.solved(reduction, memory_limit).point.value <= master.start.value

    @pytest.mark.parametrize("seed", range(6))
    @pytest.mark.parametrize("kind", ["glr", "log det"])
    def test_both_ways_agree(self, kind: str, seed: int) -> None:
        """To the last digits of the value; weights are told apart by the square root of it."""
        master = Master.random(np.random.default_rng(seed), 6, kind)
        newton, first_order = (master.solved(1e-9, limit).point for limit in (ROOMY, NONE))
        allowed = 1e-8 * master.gap(master.start)
        assert newton.value == pytest.approx(first_order.value, rel=1e-13, abs=allowed)
        gradient = newton.gradient()
        costly = gradient > min(0.0, gradient.min()) + 1e-3 * np.ptp(gradient)
        assert costly.any()
        assert not newton.weights[costly].any()
        assert not first_order.weights[costly].any()

    @pytest.mark.parametrize("memory_limit", [ROOMY, NONE], ids=["newton", "first order"])
    def test_is_cvxpys_minimum(self, memory_limit: int) -> None:
        """The first-order method too, up to its 1e-7 of the gap at the start."""
        rng = np.random.default_rng(2)
        for kind in ("glr", "log det"):
            master = Master.random(rng, 3, kind)
            w = cp.Variable(len(master.start.weights), nonneg=True)
            vectors = master.atoms.dense(3)
            metric = 1e-3 * np.eye(3) + vectors.T @ cp.diag(w) @ vectors
            value, constraints = master.objective.to_cvxpy(metric)
            problem = cp.Problem(cp.Minimize(value), [*constraints, cp.sum(w) <= master.budget])
            problem.solve(solver="CLARABEL")
            found = master.solved(1e-7, memory_limit).point.point().value
            assert found == pytest.approx(problem.value, rel=1e-6)

    def test_what_the_budget_is_not_needed_for_stays_unused(self) -> None:
        """The maximum likelihood of a diagonal precision is 1/S_ii, whatever the budget."""
        objective = gda.LogDet(np.diag([2.0, 0.5]))
        start = objective.atom_weights(np.zeros((2, 2))).at(
            Atoms.of_features(np.arange(2)), np.array([30.0, 70.0])
        )
        solution = solve_master_problem(start, 100.0, 1e-12, ROOMY)
        np.testing.assert_allclose(solution.point.weights, [0.5, 2.0], rtol=1e-9)

    def test_the_memory_limit_counts_the_hessian_and_its_copies(self) -> None:
        master = Master.random(np.random.default_rng(0), 3, "glr")
        needed = 8 * 4 * (len(master.start.weights) + 1) ** 2
        assert master.solved(1e-3, needed).newton_steps > 0
        assert master.solved(1e-3, needed - 1).gradient_steps > 0

    def test_a_start_that_is_good_enough_stays(self) -> None:
        master = Master.random(np.random.default_rng(1), 3, "glr")
        best = master.solved(1e-10).point
        again = solve_master_problem(best, master.budget, 1.0, ROOMY)
        np.testing.assert_array_equal(again.point.weights, best.weights)


# --- The list ------------------------------------------------------------------------------------


class TestAtomList:
    @PROPERTY
    @given(generators, st.sampled_from([1, 2, 5, 40]), st.booleans())
    def test_knows_its_atoms_with_either_sign(
        self, rng: np.random.Generator, size: int, sparse: bool
    ) -> None:
        atoms = self.sparse(rng, size) if sparse else random_atoms(rng, 6, size)
        active_set = ActiveSet(atoms, rng.random(len(atoms)))
        signs = rng.choice([-1.0, 1.0], len(atoms))
        same = Atoms(atoms.support, atoms.values * signs[:, None])
        nearest, distance = active_set.nearest(same)
        assert distance.max() <= 1e-7
        np.testing.assert_allclose(
            np.abs((atoms.dense(size)[nearest] * same.dense(size)).sum(axis=1)), 1.0, rtol=1e-14
        )
        assert len(active_set.with_new(same)) == len(active_set)

    @staticmethod
    def sparse(rng: np.random.Generator, size: int) -> Atoms:
        """Return atoms of two entries, some of one; K = 1 has only one."""
        support = rng.integers(0, size, (6, 2))
        angle = rng.uniform(0, 2 * np.pi, 6)
        values = np.column_stack([np.cos(angle), np.sin(angle)])
        values[support[:, 0] == support[:, 1]] = [1.0, 0.0]
        return Atoms(support, values)

    @PROPERTY
    @given(generators, st.sampled_from([2, 5, 40]), st.booleans())
    def test_the_nearest_is_the_nearest(
        self, rng: np.random.Generator, size: int, sparse: bool
    ) -> None:
        def draw() -> Atoms:
            return self.sparse(rng, size) if sparse else random_atoms(rng, 6, size)

        own, others = draw(), draw()
        nearest, distance = ActiveSet(own, np.ones(6)).nearest(others)
        u, v = own.dense(size), others.dense(size)
        away = np.minimum(
            np.linalg.norm(v[:, None] - u, axis=2), np.linalg.norm(v[:, None] + u, axis=2)
        )
        np.testing.assert_allclose(distance, away.min(axis=1), atol=1e-7)
        np.testing.assert_allclose(away[np.arange(6), nearest], away.min(axis=1), atol=1e-7)

    @pytest.mark.parametrize(("angle", "joins"), [(1e-6, True), (1e-9, False)])
    def test_atoms_a_hair_apart_are_one(self, angle: float, joins: bool) -> None:
        active_set = ActiveSet(Atoms(np.array([[0, 1]]), np.array([[0.6, -0.8]])), np.array([2.0]))
        turned = np.array([[0.6 * np.cos(angle) + 0.8 * np.sin(angle), 0.0]])
        turned[0, 1] = -0.8 * np.cos(angle) + 0.6 * np.sin(angle)
        assert len(active_set.with_new(Atoms(np.array([[0, 1]]), turned))) == 1 + joins

    def test_new_atoms_come_last_with_weight_zero(self) -> None:
        active_set = ActiveSet(Atoms.of_features(np.array([2, 0])), np.array([3.0, 4.0]))
        longer = active_set.with_new(Atoms.of_features(np.array([0, 1, 3])))
        np.testing.assert_array_equal(longer.weights, [3.0, 4.0, 0.0, 0.0])
        np.testing.assert_array_equal(longer.atoms.dense(4).argmax(axis=1), [2, 0, 1, 3])
        assert len(active_set) == 2

    def test_a_single_atom_is_found_or_joins(self) -> None:
        active_set = ActiveSet(Atoms.of_features(np.array([2, 0])), np.array([3.0, 4.0]))
        same, where = active_set.with_one(Atoms.of_features(np.array([0])))
        assert (len(same), where) == (2, 1)
        longer, where = active_set.with_one(Atoms.of_features(np.array([1])))
        assert (len(longer), where) == (3, 2)
        np.testing.assert_array_equal(longer.weights, [3.0, 4.0, 0.0])

    def test_without_zeros_keeps_the_sum(self) -> None:
        rng = np.random.default_rng(0)
        active_set = ActiveSet(random_atoms(rng, 5, 3), np.array([0.0, 1e-300, 2.0, 0.0, 1.0]))
        shorter = active_set.without_zeros()
        np.testing.assert_array_equal(shorter.weights, [1e-300, 2.0, 1.0])
        zero = np.zeros((3, 3))
        np.testing.assert_allclose(
            shorter.atoms.added_to(zero, shorter.weights),
            active_set.atoms.added_to(zero, active_set.weights),
            rtol=1e-15,
        )

    def test_an_empty_list_takes_all(self) -> None:
        nothing = ActiveSet(Atoms.of_features(np.zeros(0, np.intp)), np.zeros(0))
        atoms = Atoms.of_vectors(np.eye(3))  # of another support than the empty list's
        assert len(nothing) == 0
        np.testing.assert_array_equal(nothing.with_new(atoms).weights, np.zeros(3))
