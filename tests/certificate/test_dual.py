"""Bounds by the dual problem: sharp at the optimum, and below it in 50 digits."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

import gdaopt as gda
from gdaopt.certificate.tangent import dual_bound
from gdaopt.objectives import Objective
from gdaopt.sets import FeasibleSet
from gdaopt.support.validation import FloatArray
from tests import digits
from tests.methods.certified_cases import set_of

K = 5
KINDS = ("graph", "path", "masked", "signed", "definite", "diagonal")


def feasible_set_of(kind: str, bound: float) -> FeasibleSet:
    path_weight = 0.01 * bound / K if kind == "path" else 0.0
    edges = [(0, 1), (1, 2), (2, 4), (0, 4)] if kind == "masked" else None
    of_kind = "graph" if kind in ("path", "masked") else kind
    return set_of(of_kind, K, bound, 1e-6, path_weight, edges=edges)


def covariance(rng: np.random.Generator, n_samples: int = 3 * K) -> FloatArray:
    samples = rng.standard_normal((n_samples, K))
    return np.asarray(samples.T @ samples / n_samples)


OBJECTIVES: dict[str, Callable[[np.random.Generator], Objective]] = {
    "log det": lambda rng: gda.LogDet(covariance(rng)),
    "few samples": lambda rng: gda.LogDet(covariance(rng, 3)),
    "geometric mean": lambda rng: gda.GMML(covariance(rng), covariance(rng)),
}


@pytest.mark.parametrize("kind", sorted({*KINDS} - {"path"}))  # which binds
@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize("bound", [0.5 * K, 100.0 * K])
def test_sharp_at_the_optimum(kind: str, name: str, bound: float) -> None:
    objective = OBJECTIVES[name](np.random.default_rng(3))
    problem = gda.MetricProblem(objective, feasible_set_of(kind, bound))
    result = gda.solve(problem, "certified", tolerance=1e-10)
    assert result.lower_bound is not None
    found = dual_bound(problem, problem.objective.at(result.metric))
    unit = max(1.0, abs(result.objective))
    assert result.objective - 1e-6 * unit < found.value <= result.objective
    assert found.round_off < 1e-9 * unit


# --- Round-off, against 50 digits ---------------------------------------------------------------


Known = tuple[gda.LogDet, FeasibleSet, digits.Exact, Any]
"""An objective, a set, the best metric and the optimum."""


def bound_on_the_trace(rng: np.random.Generator) -> Known:
    """``1 / (s_k + y)`` on the diagonal, with a multiplier y that cancels large negative s."""
    size, trace = int(rng.integers(1, 6)), float(10 ** rng.uniform(-3, 3))
    s = digits.exact(10 ** rng.uniform(-3, 8) * np.append(-1.0, rng.standard_normal(size - 1)))
    low, high = -min(s) + mpmath.mpf(0.5) / trace, -min(s) + mpmath.mpf(2) * size / trace
    for _ in range(200):  # the trace falls in y
        y = (low + high) / 2
        low, high = (y, high) if sum(1 / (s + y)) > trace else (low, y)
    best = np.diag(1 / (s + high))
    objective = gda.LogDet(np.diag(s.astype(np.float64)))
    sets = gda.DiagonalMetrics, gda.GraphMetrics, gda.PositiveDefiniteMetrics
    feasible_set = sets[int(rng.integers(3))](trace, 0.0)
    value = sum(s / (s + high)) + sum(mpmath.log(each + high) for each in s)
    return objective, feasible_set, best, value


def fixed_path(rng: np.random.Generator) -> Known:
    """An edge of the weight w between two features whose covariance is far below 0."""
    w, (a, b) = float(10 ** rng.uniform(-3, 3)), 10 ** rng.uniform(-3, 3, 2)
    c = -float(10 ** rng.uniform(-3, 8))
    objective, exact_w = gda.LogDet(np.array([[a, c], [c, b]])), mpmath.mpf(w)
    a, b = digits.exact([a, b])
    determinant = (1 + mpmath.sqrt(1 + 4 * a * b * exact_w**2)) / (2 * a * b)
    best = np.array([[b * determinant, -exact_w], [-exact_w, a * determinant]])
    feasible_set = gda.GraphMetrics(float(10 * np.trace(best)), 0.0, path_weight=w)
    value = (digits.exact(objective.covariance) * best).sum() - mpmath.log(determinant)
    return objective, feasible_set, best, value


@pytest.mark.parametrize("known", [bound_on_the_trace, fixed_path])
def test_products_are_rounded_relative_to_themselves(
    known: Callable[[np.random.Generator], Known],
) -> None:
    for seed in range(40):
        objective, feasible_set, best, optimum = known(np.random.default_rng(seed))
        problem = gda.MetricProblem(objective, feasible_set)
        found = dual_bound(problem, objective.at(best.astype(np.float64)))
        size = np.abs(best).sum() * np.abs(objective.covariance).max()
        assert optimum - 1e-12 * (1 + abs(optimum) + size) < found.value <= optimum


class ExactConjugate:
    """A point whose conjugate has no round-off: what is left is that of the bound's own sums."""

    metric = np.array([[2.0, -1.0], [-1.0, 2.0]])
    linear = np.eye(2)

    def __init__(self, entry: float, value: float) -> None:
        self._gradient, self._value = np.array([[0.0, -entry], [-entry, 0.0]]), value

    def gradient(self) -> FloatArray:
        return self._gradient

    def conjugate(self, dual: FloatArray) -> tuple[float, float]:
        return self._value, 0.0


def test_the_last_sums_are_rounded_relative_to_the_value() -> None:
    for seed in range(40):
        rng = np.random.default_rng(seed)
        path, entry = (float(each) for each in rng.uniform(0.5, 1, 2))
        value = float(rng.uniform(500, 1000))
        problem = gda.MetricProblem(gda.LogDet(np.eye(2)), gda.GraphMetrics(100.0, 0.0, path))
        point: Any = ExactConjugate(entry, value)
        exact = Fraction(value) + 2 * Fraction(path) * Fraction(entry)
        assert Fraction(dual_bound(problem, point).value) <= exact
