"""What objectives say of their round-off, against 50 digits."""

from collections.abc import Callable, Iterator
from typing import Any

import mpmath
import numpy as np
import pytest

import gdaopt as gda
from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.directions import (
    AtomsDirection,
    ColumnDirection,
    DenseDirection,
    DiagonalDirection,
    Direction,
)
from gdaopt.objectives import Point, RoundOff
from gdaopt.objectives.round_off import assumed_round_off
from tests import digits
from tests.certificate_cases import Nearest, covariance
from tests.helpers import random_metric, random_symmetric

K = 4


Value = Callable[[digits.Exact], Any]
"""The value of an objective in 50 digits."""


def glr(signal: str, listed: bool = False) -> tuple[gda.GLR, Value]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, K)) * [1.0, 1e-3, 3.0, 1.0] + [0.0, 1.0, 1e4, 0.0]
    X[3], X[:, 3] = X[2], 2 * X[:, 0]
    z = {
        "labels": np.resize([[1.0], [-1.0], [-1.0]], (12, 1)),
        "real": rng.standard_normal((12, 1)),
        "columns": rng.integers(0, 2, (12, 3)).astype(float),
    }[signal]
    weights = 10 ** rng.uniform(-2, 2, 12)
    pairs = np.array([[i, (3 * i + 1) % 12] for i in range(12)]) if listed else None
    exact = digits.ExactGLR(X, z, weights, pairs)
    return gda.GLR(X, z, sample_weight=weights, pairs=pairs), lambda M: exact.at(M)[0]


def log_det(indefinite: bool = False) -> tuple[gda.LogDet, Value]:
    S = covariance(K)
    if indefinite:
        S = S - 3 * np.eye(K) + 1e3 * random_symmetric(np.random.default_rng(5), K)
    exact = digits.ExactLogDet(S)
    return gda.LogDet(S), lambda M: exact.at(M)[0]


def gmml() -> tuple[gda.GMML, Value]:
    differences = np.random.default_rng(6).standard_normal((20, K)) * [1.0, 1e-3, 1.0, 10.0]
    objective = gda.GMML(covariance(K), differences.T @ differences)
    S, D = digits.exact(objective.similar), digits.exact(objective.dissimilar)
    return objective, lambda M: (S * M).sum() + (D * digits.inverse(M)).sum()


def nearest() -> tuple[Nearest, Value]:
    target = random_symmetric(np.random.default_rng(1), K)
    return Nearest(target), lambda M: 1 + ((M - digits.exact(target)) ** 2).sum() / 2


def total() -> tuple[Any, Value]:
    terms = [(0.7, *glr("labels")), (1 / 3, *log_det()), (3.0, *ridge())]
    found: Any = sum(factor * objective for factor, objective, _ in terms)
    return found, lambda M: sum(mpmath.mpf(factor) * exact(M) for factor, _, exact in terms)


def ridge() -> tuple[Any, Value]:
    return gda.Ridge(K), lambda M: (M**2).sum() / 2


def linear() -> tuple[Any, Value]:
    A = random_symmetric(np.random.default_rng(4), K)
    return gda.Linear(A), lambda M: (digits.exact(A) * M).sum()


CASES: dict[str, Callable[[], tuple[Any, Value]]] = {
    "labels": lambda: glr("labels"),
    "real signal": lambda: glr("real"),
    "signals": lambda: glr("columns"),
    "pairs": lambda: glr("real", listed=True),
    "log det": log_det,
    "gmml": gmml,
    "indefinite log det": lambda: log_det(indefinite=True),
    "dense": nearest,
    "sum": total,
    "ridge": ridge,
    "linear": linear,
}


def atoms(rng: np.random.Generator, n: int) -> Atoms:
    vectors = rng.standard_normal((n, K))
    return Atoms.of_vectors(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def points(objective: Any, rng: np.random.Generator, size: float) -> Iterator[Point]:
    """Yield points at random metrics, evaluated in all the ways that there are."""
    metric = size * random_metric(rng, K)
    point = objective.at(metric)
    yield point
    weights = size * rng.random(6)
    base = objective.at(0.1 * size * np.eye(K))
    yield base.moved(AtomsDirection(weights, atoms(rng, 6)), 1.0)
    change = 0.1 * size * rng.random(K)
    directions: list[Direction] = [
        DiagonalDirection(change),
        ColumnDirection(0, -np.where(np.arange(K) > 0, change, 0) / 10),
        AtomsDirection(change, atoms(rng, K)),
        DenseDirection(0.1 * (size * random_metric(rng, K) - metric)),
    ]
    for turn in range(6):
        point = point.moved(directions[turn % 4], 0.3)
        yield point


@pytest.mark.covering(1)
@pytest.mark.parametrize("size", [1e-3, 1.0, 30.0])
@pytest.mark.parametrize("name", CASES)
def test_the_lowered_tangent_is_below_the_objective(name: str, size: float) -> None:
    objective, exact = CASES[name]()
    rng = np.random.default_rng(2)
    n_points = 0
    for point in points(objective, rng, size):
        if point.vanished():
            continue
        n_points += 1
        stated, M = point.round_off(), digits.exact(point.metric)
        q, e = mpmath.mpf(point.value), mpmath.mpf(stated.value)
        assert 0 <= stated.value <= 1e-7 * (1 + abs(point.value))
        G, g = digits.exact(point.gradient()), digits.exact(stated.gradient)
        for distance in (0.0, 1e-9, 0.1):
            change = digits.exact(distance * size * random_symmetric(rng, K))
            if distance == 0.1:
                change = digits.exact(size * random_metric(rng, K)) - M
            if not objective.log_convex and digits.eigenvalues(M + change)[0] <= 0:
                continue
            value = exact(M + change)
            slope = (G * change - np.outer(g, g) * abs(change)).sum()
            assert value >= q - e + slope
            if objective.log_convex:
                denominator = q - e if slope < 0 else q + e
                assert mpmath.log(value) >= mpmath.log(q - e) + slope / denominator
    assert n_points >= 2


@pytest.mark.parametrize("name", ["log det", "indefinite log det", "gmml"])
@pytest.mark.parametrize("smallest", [1e-6, 1e-10])
def test_ill_conditioned_metrics(name: str, smallest: float) -> None:
    objective, exact = CASES[name]()
    basis, _ = np.linalg.qr(np.random.default_rng(3).standard_normal((K, K)))
    metric = (basis * [1.0, 2.0, 3.0, smallest]) @ basis.T
    point = objective.at((metric + metric.T) / 2)
    error = abs(mpmath.mpf(point.value) - exact(digits.exact(point.metric)))
    assert 1e-15 * abs(point.value) < error <= point.round_off().value


@pytest.mark.parametrize("last", [1.0, 1.0 + 4e-16])
def test_a_metric_that_has_no_digits(last: float) -> None:
    """Its inverse would say nothing; the dual of the log-determinant alone still gives a bound."""
    M = np.array([[1.0, 1 - 1e-16], [1 - 1e-16, last]])
    log_det, metrics = gda.LogDet(np.eye(2)), gda.PositiveDefiniteMetrics(4.0)
    assert log_det.at(M).round_off().value == np.inf
    dual = gda.certify(gda.MetricProblem(log_det, metrics), M)
    assert (dual.bound, dual.frank_wolfe_gap) == ("dual", None)
    assert dual.lower_bound <= 2.0  # the least value
    other = gda.certify(gda.MetricProblem(log_det + gda.Ridge(2), metrics), M)
    assert other.lower_bound == -np.inf
    assert other.reason


class Inexact(Nearest):
    def round_off(self, point: Point) -> RoundOff:
        assumed = assumed_round_off(point)
        return RoundOff(1e6 * assumed.value, 1e3 * assumed.gradient)


def test_users_objectives_can_say_how_exact_they_are() -> None:
    target = random_symmetric(np.random.default_rng(1), K)
    feasible_set = gda.GraphMetrics(2.0)
    usual, inexact = (
        gda.certify(gda.MetricProblem(objective, feasible_set), np.eye(K) / 2)
        for objective in (Nearest(target), Inexact(target))
    )
    assert usual.objective == inexact.objective
    assert 1e5 * usual.round_off < inexact.round_off < 1e-5 * usual.objective
    assert inexact.lower_bound < usual.lower_bound


def test_points_that_say_nothing() -> None:
    point = gda.Ridge(K).at(np.eye(K))
    found, assumed = Point.round_off(point), assumed_round_off(point)
    assert found.value == assumed.value > 0
    assert (found.gradient == assumed.gradient).all()
