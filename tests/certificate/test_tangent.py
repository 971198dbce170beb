"""Lower bounds in float64 against 50 digits ("Proposition: round-off of the certificate").

And at multiples of a metric: sharp ones where those at the metric itself are not.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import bisect

import gdaopt as gda
from gdaopt.certificate.tangent import (
    _best_scale,
    best_multiple,
)
from gdaopt.errors import InvalidInputError
from gdaopt.objectives.log_det import LogDetPoint
from gdaopt.objectives.protocol import Point
from gdaopt.objectives.round_off import RoundOff
from gdaopt.sets import FeasibleSet
from gdaopt.support.validation import FloatArray
from tests import digits
from tests.certificate_cases import SETS, Nearest, named_set
from tests.fuzz.problems import Ingredients
from tests.helpers import random_metric, random_symmetric
from tests.methods.certified_cases import KINDS, set_of


def extreme_problem(seed: int) -> tuple[gda.MetricProblem, Any]:
    """Return a problem whose samples lose digits, and its objective in 50 digits."""
    drawn = Ingredients.drawn(seed)
    own = replace(drawn, n_samples=min(drawn.n_samples, 12), positives=1)
    problem, weights = own.problem(), own.sample_weight()
    if isinstance(problem.objective, gda.LogDet):
        return problem, digits.ExactLogDet(problem.objective.covariance)
    weights = np.ones(own.n_samples) if weights is None else weights
    return problem, digits.ExactGLR(*own.samples(), weights, own.pairs())


def exact_bound(problem: gda.MetricProblem, objective: Any, metric: FloatArray) -> Any:
    """Return the bound without round-off."""
    point = problem.objective.at(metric)
    if not isinstance(point, LogDetPoint):
        M = digits.exact(metric)
        value, gradient = objective.at(M)
        return digits.lower_bound(problem.feasible_set, M, value, gradient, objective.log_convex)
    multiple, _ = best_multiple(problem, point, problem.members.support(point.gradient()))
    return max(bound for each in (point, multiple) for bound in tangent_bounds(problem, each))


def tangent_bounds(problem: gda.MetricProblem, point: LogDetPoint) -> list[Any]:
    """Return those of both tangents: of the inverse, and of the gradient, as they are rounded."""
    objective, M = digits.ExactLogDet(point.objective.covariance), digits.exact(point.metric)
    slopes = (digits.exact(point.inverse), objective.covariance - digits.exact(point.gradient()))
    bounds = []
    for slope in slopes:
        if np.linalg.eigvalsh(slope.astype(np.float64))[0] > 0:  # else it is no inverse
            value, gradient = objective.tangent(M, slope)
            bounds.append(digits.lower_bound(problem.feasible_set, M, value, gradient, False))
    return bounds


def n_checked(seed: int) -> int:
    """Check the bounds of a run; return how many there were."""
    problem, objective = extreme_problem(seed)
    try:
        result = gda.solve(
            problem, "certified", tolerance=1e-11, max_iterations=30, keep_iterates=True
        )
    except InvalidInputError:  # nothing to learn from
        return 0
    least = objective.at(digits.member(problem.feasible_set, result))[0]
    assert result.lower_bound is None or result.lower_bound <= least, seed
    assert result.gap is None or result.gap >= 0, seed
    assert result.trace.iterates is not None
    count = 0
    for index in {0, len(result.trace) // 2, len(result.trace) - 1}:
        metric = result.trace.iterates[index]
        certificate = gda.certify(problem, metric)
        assert certificate.gap >= 0, seed
        if certificate.bound != "none":
            count += 1
            assert certificate.lower_bound <= least, seed
            if certificate.bound != "dual":  # which may be above all tangents at the metric
                assert certificate.lower_bound <= exact_bound(problem, objective, metric), seed
    return count


@pytest.mark.parametrize(
    ("seeds", "least"),
    [
        (range(16), 12),
        pytest.param(range(16, 66), 35, marks=pytest.mark.slow),
        pytest.param(range(66, 216), 105, marks=pytest.mark.thorough),
    ],
)
def test_never_above_the_optimum(seeds: range, least: int) -> None:
    assert sum(n_checked(seed) > 0 for seed in seeds) >= least


# --- Each term alone ------------------------------------------------------------------------------


class ExactLinear(gda.DenseObjective):
    """``⟨A, M - M₀⟩ + q``, without round-off at M₀: what is left is that of the certificate."""

    def __init__(self, cost: FloatArray, zero: FloatArray, at_zero: float = 0.0) -> None:
        super().__init__(len(cost))
        self.cost, self.zero, self.at_zero = cost, zero, at_zero

    def value(self, metric: FloatArray) -> float:
        return float(np.vdot(self.cost, metric - self.zero)) + self.at_zero

    def gradient(self, metric: FloatArray) -> FloatArray:
        return self.cost

    def round_off(self, point: Point) -> RoundOff:
        assert (point.metric == self.zero).all()
        return RoundOff(0.0, np.zeros(len(self.zero)))


Term = tuple[ExactLinear, FeasibleSet, Any, list[float], Fraction]
"""An objective, a set, rows and their multipliers, and the optimum."""


def size_and_low(rng: np.random.Generator) -> tuple[int, float]:
    return int(rng.integers(2, 9)), float(10 ** rng.uniform(-3, 3))


def budget(rng: np.random.Generator) -> Term:
    """``min 2 M_12`` is -τ, in a set that is little wider than the round-off of C."""
    size, low = size_and_low(rng)
    feasible_set = gda.GraphMetrics(size * low * (1 + 10 ** rng.uniform(-14, -12)), low)
    cost = np.zeros((size, size))
    cost[0, 1] = cost[1, 0] = 1.0
    optimum = size * Fraction(low) - Fraction(feasible_set.trace_bound)
    return ExactLinear(cost, low * np.eye(size)), feasible_set, None, [], optimum


def residuals_of_rows(rng: np.random.Generator) -> Term:
    """``min -tr M`` is -b: under λ = 1 nothing is left of the gradient but round-off."""
    size, low = size_and_low(rng)
    width, most = size * low * 1e-4, size * low * (1 + 1e-4)
    objective = ExactLinear(-np.eye(size), low * np.eye(size))
    optimum = size * Fraction(low) - Fraction(most)
    rows: Any = lambda metric: [cp.trace(metric) <= most]  # noqa: E731
    return objective, gda.GraphMetrics(most + width, low), rows, [1.0], optimum


def gradients_of_lagrangians(rng: np.random.Generator) -> Term:
    """``min g x - h y`` for ``ax = by``, where λa and λb are g and h but for one rounding."""
    a, b, multiplier = (float(one) for one in rng.uniform(1, 2, 3))
    g, h = multiplier * a, multiplier * b
    objective = ExactLinear(np.diag([-g, h]), np.zeros((2, 2)))
    # At x = 4b / (a + b) and y = 4a / (a + b).
    slope = Fraction(h) * Fraction(a) - Fraction(g) * Fraction(b)
    optimum = min(4 * slope / (Fraction(a) + Fraction(b)), Fraction(0))
    rows: Any = lambda metric: [a * metric[0, 0] - b * metric[1, 1] == 0]  # noqa: E731
    return objective, gda.DiagonalMetrics(4.0, 0.0), rows, [multiplier], optimum


def inner_products(rng: np.random.Generator) -> Term:
    """The base is the optimum, as all prices are positive; M₀ need not be a member."""
    size, low = size_and_low(rng)
    cost = random_symmetric(rng, size)
    np.fill_diagonal(cost, rng.random(size))
    objective = ExactLinear(cost, random_symmetric(rng, size))
    exact = np.vectorize(Fraction, otypes=[object])
    above = exact(objective.zero) - Fraction(low) * np.eye(size, dtype=int)
    optimum = -(exact(cost) * above).sum()
    return objective, gda.DiagonalMetrics(2 * size * low, low), None, [], optimum


def values(rng: np.random.Generator) -> Term:
    """The least value is ``q - m``, at 0, which is rounded relative to q."""
    q, m = float(rng.uniform(500, 1000)), float(rng.uniform(0.5, 1))
    objective = ExactLinear(np.eye(1), m * np.eye(1), q)
    return objective, gda.DiagonalMetrics(2.0, 0.0), None, [], Fraction(q) - Fraction(m)


def bases(rng: np.random.Generator) -> Term:
    """The base is the optimum and the metric; its diagonal ``ρ + d_i w`` has been rounded."""
    size = int(rng.integers(3, 9))
    low, path = (float(each) for each in rng.uniform(1, 2, 2))
    feasible_set = gda.GraphMetrics(10 * size * (low + path), low, path)
    zero = feasible_set.base(size)
    degrees = -(zero.sum(axis=1) - np.diagonal(zero)) / path
    costs = rng.uniform(1, 2, size)
    optimum = sum(
        Fraction(cost) * (Fraction(low) + round(degree) * Fraction(path) - Fraction(entry))
        for cost, degree, entry in zip(costs, degrees, np.diagonal(zero), strict=True)
    )
    return ExactLinear(np.diag(costs), zero), feasible_set, None, [], Fraction(optimum)


@pytest.mark.parametrize(
    "term", [budget, residuals_of_rows, gradients_of_lagrangians, inner_products, values, bases]
)
def test_each_term_is_rounded_relative_to_what_it_is_made_of(
    term: Callable[[np.random.Generator], Term],
) -> None:
    for seed in range(40):
        objective, feasible_set, rows, multipliers, optimum = term(np.random.default_rng(seed))
        problem = gda.MetricProblem(objective, feasible_set, constraints=rows)
        certificate = gda.certify(problem, objective.zero, np.array(multipliers) if rows else None)
        assert Fraction(certificate.lower_bound) <= optimum


def test_prices_of_pairs_are_rounded_relative_to_their_terms() -> None:
    """``min ⟨A, M⟩`` is the smaller eigenvalue of a 2×2 matrix that is nearly singular."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        a, b = (float(entry) for entry in 10 ** rng.uniform(-3, 3, 2))
        c = float(np.sqrt(a * b) * (1 + 10 ** rng.uniform(-14, -1)))
        objective = ExactLinear(np.array([[a, c], [c, b]]), np.zeros((2, 2)))
        problem = gda.MetricProblem(objective, gda.GraphMetrics(1.0, 0.0))
        found = Fraction(gda.certify(problem, objective.zero).lower_bound)
        # So A less the bound is positive semidefinite.
        first, second = Fraction(a) - found, Fraction(b) - found
        assert first + second >= 0
        assert first * second >= Fraction(c) ** 2


class OffByWhatItStates(ExactLinear):
    """Its gradient is too small by gg', as far as it says."""

    errors = np.array([0.1, 0.2])

    def gradient(self, metric: FloatArray) -> FloatArray:
        return self.cost - np.outer(self.errors, self.errors)

    def round_off(self, point: Point) -> RoundOff:
        return RoundOff(0.0, self.errors)


def test_errors_of_gradients_count_at_the_metric_as_well() -> None:
    """``min tr(M - I)`` is -2, at 0, where all prices are positive."""
    objective = OffByWhatItStates(np.eye(2), np.eye(2))
    problem = gda.MetricProblem(objective, gda.DiagonalMetrics(4.0, 0.0))
    certificate = gda.certify(problem, np.eye(2))
    assert -2.1 <= certificate.lower_bound <= -2


class TooLarge(OffByWhatItStates):
    """Its gradient is too large by as much in each entry as it says."""

    def __init__(self, cost: FloatArray, zero: FloatArray) -> None:
        super().__init__(cost, zero)
        self.errors = np.ones(len(cost))

    def gradient(self, metric: FloatArray) -> FloatArray:
        return self.cost + np.outer(self.errors, self.errors)


def test_the_budget_counts_where_an_exact_price_may_be_below_zero() -> None:
    """``min -tr(M - B)`` is -τ; the computed prices are 0."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        size, low = size_and_low(rng)
        feasible_set = gda.DiagonalMetrics(size * low * (1 + 10 ** rng.uniform(-14, -12)), low)
        objective = TooLarge(-np.eye(size), low * np.eye(size))
        problem = gda.MetricProblem(objective, feasible_set)
        optimum = size * Fraction(low) - Fraction(feasible_set.trace_bound)
        assert Fraction(gda.certify(problem, objective.zero).lower_bound) <= optimum


@pytest.mark.parametrize("share", [*10.0 ** np.arange(-15, 0, 2), 0.9, 1 - 1e-12])
@pytest.mark.parametrize("kind", KINDS)
def test_the_budget_costs_nothing_where_no_price_is_below_zero(kind: str, share: float) -> None:
    """The least ridge is ``Kρ²/2``, at the base, and is found however small it is beside C."""
    for size, trace_bound in itertools.product((1, 2, 5), (1e-3, 1.0, 1e9)):
        low = share * trace_bound / size
        problem = gda.MetricProblem(gda.Ridge(size), set_of(kind, size, trace_bound, low))
        optimum = size * Fraction(low) ** 2 / 2
        certificate = gda.certify(problem, problem.feasible_set.base(size))
        assert 0 <= optimum - Fraction(certificate.lower_bound) <= 1e-10 * optimum
        result = gda.solve(problem, "certified", tolerance=1e-9)
        assert result.status == "converged", result.message
        assert result.lower_bound is not None
        assert Fraction(result.lower_bound) <= optimum


class Exponential(gda.DenseObjective):
    """``exp(tr(M - I))``, whose value at I is too large by a tenth, as far as it says."""

    log_convex = True

    def value(self, metric: FloatArray) -> float:
        return 1.1 * math.exp(np.trace(metric) - len(metric))

    def gradient(self, metric: FloatArray) -> FloatArray:
        return self.value(metric) / 1.1 * np.eye(len(metric))

    def round_off(self, point: Point) -> RoundOff:
        return RoundOff(point.value / 11, np.zeros(len(point.metric)))


def test_exponential_bounds_allow_for_errors_of_the_value_in_the_exponent() -> None:
    """The optimum is ``exp(-2)``, at 0; divided by a larger value the gap is less."""
    problem = gda.MetricProblem(Exponential(2), gda.DiagonalMetrics(4.0, 0.0))
    certificate = gda.certify(problem, np.eye(2))
    assert certificate.bound == "exponential"
    assert certificate.lower_bound == pytest.approx(math.exp(-2), rel=1e-9)
    assert certificate.lower_bound <= math.exp(-2)


class Uncertain(Exponential):
    """Its value has an error that is twice as large."""

    def round_off(self, point: Point) -> RoundOff:
        return RoundOff(2 * point.value, np.zeros(len(point.metric)))


def test_a_positive_objective_of_an_uncertain_value_is_bounded_by_0() -> None:
    problem = gda.MetricProblem(Uncertain(2), gda.DiagonalMetrics(4.0, 0.0))
    assert gda.certify(problem, np.eye(2)).lower_bound == 0


# --- multiples of the metric --------------------------------------------------------------------


@pytest.mark.parametrize("set_name", SETS)
class TestScaledBounds:
    """ "Proposition: scaled certificate"."""

    def problem(self, set_name: str, spread: float = 1.0) -> gda.MetricProblem:
        size = 4
        spreads = np.geomspace(1.0, spread, size)
        samples = np.random.default_rng(5).normal(size=(30, size)) * spreads
        log_det = gda.LogDet(np.cov(samples.T, bias=True))
        share = 0.1 if "path" in set_name else 0.0
        return gda.MetricProblem(log_det, named_set(set_name, size, 40.0, share))

    @pytest.mark.parametrize("error", [1e-12, 1e-6, 1e-2])
    def test_the_loss_is_that_of_the_inverse(self, set_name: str, error: float) -> None:
        problem = self.problem(set_name, spread=1e4)
        best = gda.solve(problem, "certified", tolerance=1e-11)
        rng = np.random.default_rng(6)
        size = problem.n_features
        for _ in range(5):
            root = np.linalg.cholesky(np.linalg.inv(best.metric))
            change = random_symmetric(rng, size)
            change *= error / np.linalg.norm(change, 2)
            inverse = root @ (np.eye(size) + change) @ root.T
            metric = np.linalg.inv((inverse + inverse.T) / 2)
            bound = gda.certify(problem, (metric + metric.T) / 2).lower_bound
            loss = size * math.log((1 + error) / (1 - error)) / 0.9  # near the best multiple
            round_off = 1e-10 * abs(best.objective)
            assert best.objective - loss - round_off <= bound <= best.objective + round_off


@pytest.mark.parametrize("seed", range(60))
def test_the_best_multiple_for_given_atoms(seed: int) -> None:
    """Against the zero of the bound's slope by bisection: as good a bound to the last digits."""
    rng = np.random.default_rng(seed)
    n, size, budget = int(rng.integers(1, 30)), int(rng.integers(1, 9)), 10 ** rng.uniform(-3, 6)
    rates = np.append(10 ** rng.uniform(-3, rng.choice([-3, 1]), n), 0.0)
    prices = np.append(rng.standard_normal(n) * rng.choice([1e-9, 1e-3, 1.0, 1e3]), 0.0)
    slopes = rng.choice([0.0, 1e-6, 1.0]) + budget * rates

    def slope(t: float) -> float:
        return size / t - float(slopes[(prices + (1 - t) * rates).argmin()])

    def bound(t: float) -> float:
        least = (prices + (1 - t) * rates).min()
        return size * math.log(t) - float(slopes[-1]) * t + budget * float(least)

    low, high = 1e-6, 1e6
    expected = low if slope(low) <= 0 else high
    if slope(low) > 0 > slope(high):
        expected = bisect(slope, low, high, xtol=1e-15, rtol=1e-15)
    found = _best_scale(size, prices, slopes, rates)
    terms = size * abs(math.log(expected)) + slopes[-1] * expected
    # 1 - t is exact to the round-off of 1 and t only.
    terms += budget * float(np.abs(prices).max() + (1 + expected) * rates.max())
    assert bound(found) >= bound(expected) - 1e-14 * terms


@pytest.mark.parametrize("trace_bound", [1e6, 1e9, 1e12])
@pytest.mark.parametrize("seed", range(3))
def test_a_loose_trace_bound_does_not_count(seed: int, trace_bound: float) -> None:
    """ "Proposition: inflated certificate": the metric of a run under a near bound, and a run."""
    target = random_metric(np.random.default_rng(seed), 4)
    loose, near = (
        gda.MetricProblem(Nearest(target), gda.GraphMetrics(bound, 0.0))
        for bound in (trace_bound, 2 * float(np.trace(target)))
    )
    metric = gda.solve(near, "certified", tolerance=1e-12).metric
    change = random_symmetric(np.random.default_rng(seed), 4)
    for error in (0.0, 1e-10, 1e-8):  # in proportion, which keeps the signs
        certificate = gda.certify(loose, metric * (1 + error * change))
        # A price of -error costs about a trace of the metric, not the trace bound.
        allowed = 1e3 * (error + 1e-14) * float(np.abs(metric).sum())
        assert 0 <= certificate.gap <= allowed
    found, expected = (gda.solve(p, "certified", tolerance=1e-9) for p in (loose, near))
    assert found.status == "converged"
    assert found.objective == pytest.approx(expected.objective, rel=1e-8)
