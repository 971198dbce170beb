"""What objectives say of their round-off, against their formulas in extended precision."""

from collections.abc import Callable, Iterator
from typing import Any

import mpmath
import numpy as np
import pytest

import gdaopt as gda
from gdaopt.linalg.atoms import Atoms
from gdaopt.objectives import PairPoint, Point
from gdaopt.objectives.round_off import assumed_round_off
from tests import digits
from tests.certificate_cases import Nearest, covariance
from tests.helpers import random_metric, random_symmetric
from tests.objectives.cases import CASES, EVERY, MATRIX_CASES, K, gmml, log_det

LARGE = covariance(K) + 1e3 * random_symmetric(np.random.default_rng(5), K)
DECADES = np.geomspace(1e-3, 10, K)
UNEQUAL = covariance(K) * np.outer(DECADES, DECADES)


def hard(name: str) -> tuple[Any, Callable[[Any], Any]]:
    """Return an objective and its formula: most digits of samples are of their offset."""
    if name in CASES:
        case = CASES[name]
        X = case.X + 1e4
        return case.make(X, case.y), lambda M: case.value(M, X=X)
    if name == "indefinite log det":
        return gda.LogDet(LARGE), log_det(LARGE)
    if name == "GMML":
        return gda.GMML(covariance(K), UNEQUAL), gmml(covariance(K), UNEQUAL)
    return MATRIX_CASES[name][0](), MATRIX_CASES[name][1]


def points(objective: Any, rng: np.random.Generator, size: float) -> Iterator[Point]:
    """Yield points at random metrics, evaluated in all the ways that there are."""
    metric, change = size * random_metric(rng, K), 0.1 * size * rng.random(K)
    vectors = rng.standard_normal((6, K))
    atoms = Atoms.of_vectors(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
    base = objective.at(0.1 * size * np.eye(K))
    yield base.line(gda.linalg.AtomsDirection(size * rng.random(6), atoms)).at(1.0)
    directions: list[gda.linalg.Direction] = [
        gda.linalg.DiagonalDirection(change),
        gda.linalg.ColumnDirection(0, -np.where(np.arange(K) > 0, change, 0) / 10),
        gda.linalg.AtomsDirection(change, atoms[:K]),
        gda.linalg.DenseDirection(0.1 * (size * random_metric(rng, K) - metric)),
    ]
    point = objective.at(metric)
    yield point
    for turn in range(6):
        point = point.line(directions[turn % 4]).at(0.3)
        yield point


@pytest.mark.covering(1)
@pytest.mark.parametrize("size", [1e-3, 1.0, 30.0])
@pytest.mark.parametrize("name", EVERY)
def test_the_lowered_tangent_is_below_the_objective(name: str, size: float) -> None:
    objective, exact = hard(name)
    rng = np.random.default_rng(2)
    n_points = 0
    for point in points(objective, rng, size):
        if point.degenerate_reason():
            continue
        n_points += 1
        stated, M = point.round_off(), point.metric.astype(np.longdouble)
        q, e = np.longdouble(point.value), np.longdouble(stated.value)
        assert abs(q - exact(M)) <= e <= (1e-5 if name in CASES else 1e-7) * (1 + abs(q))
        if isinstance(point, PairPoint):
            assert e >= objective.at(point.metric.copy()).round_off().value * (1 - 1e-9)
        if not objective.convex:
            continue
        for change in (
            1e-9 * size * random_symmetric(rng, K),
            size * random_metric(rng, K) - M,
            4 * size * random_metric(rng, K) - M,
        ):
            value = exact(M + change)
            slope = (point.gradient() * change).sum()
            slope -= stated.gradient @ abs(change) @ stated.gradient
            assert value >= q - e + slope
            if objective.log_convex:
                denominator = q - e if slope < 0 else q + e
                assert np.log(value) >= np.log(q - e) + slope / denominator
    assert n_points >= 2


def test_the_tangent_of_a_term_that_has_underflowed_is_below_it() -> None:
    glr = gda.GLR([[0.0, 0.0], [100.0, 0.0], [0.0, 100.0]], [1, -1, -1])
    for size in (0.0742, 0.0745, 0.08, 10.0):  # the scale has a few digits, one, none
        point = glr.at(size * np.eye(2))
        stated = point.round_off()
        exact = np.exp(np.longdouble(point.logarithm().value))
        assert np.isfinite(stated.value)
        assert abs(point.value - exact) <= stated.value
        assert np.isfinite(stated.gradient).all()


@pytest.mark.parametrize("last", [1.0, 1.0 + 4e-16])
def test_a_metric_that_has_no_digits(last: float) -> None:
    """Its inverse would say nothing; the dual of the log-determinant alone still gives a bound."""
    M = np.array([[1.0, 1 - 1e-16], [1 - 1e-16, last]])
    log_det, metrics = gda.LogDet(np.eye(2)), gda.PositiveDefiniteMetrics(4.0)
    assert log_det.at(M).round_off().value == np.inf
    dual = gda.certify(gda.MetricProblem(log_det, metrics), M)
    assert dual.bound == "dual"
    assert dual.lower_bound <= 2.0  # the least value
    other = gda.certify(gda.MetricProblem(log_det + gda.Ridge(2), metrics), M)
    assert other.lower_bound == -np.inf
    assert other.reason


NAMES = ["MCML", "GLR, labels", "GLR, listed", "LMNN", "logistic"]


@pytest.mark.parametrize("name", NAMES)
def test_the_longest_sum_counts_in_the_gradient(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A gradient whose sums are off by a millionth is off by as much."""
    objective = EVERY[name]()
    point = objective.at(0.1 * np.eye(K))
    off = 1e-6 * np.abs(point.gradient())
    assert not (off <= np.outer(*[point.round_off().gradient] * 2)).any()
    monkeypatch.setattr(type(objective.pairs), "longest_sum", 1e-6 * 2.0**53)
    assert (off <= np.outer(*[objective.at(point.metric).round_off().gradient] * 2)).all()


@pytest.mark.parametrize("name", NAMES)
def test_constants_of_losses_count_in_the_value(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A distance that is off by a multiple of a constant changes the value by its derivative."""
    objective, metric = EVERY[name](), 0.1 * np.eye(K)
    before = EVERY[name]().at(metric).round_off()
    monkeypatch.setattr(objective.loss, "constant", 1e6)
    point = objective.at(metric)
    after, slope = point.round_off(), point.sums.scale * point.sums.degrees.sum() / 2
    assert after.value - before.value >= 1e6 * 2.0**-53 * slope
    assert (after.gradient == before.gradient).all()


@pytest.mark.parametrize("name", ["MCML", "MCML, weights", "NCA"])
def test_pulls_that_a_softmax_cancels_count(name: str) -> None:
    """Where only the pulls remain of the derivatives, the errors of a softmax do so too."""
    objective = EVERY[name]()
    loss, pairs = objective.loss, objective.pairs
    pulls = np.concatenate([loss.pulls(tile) for tile in pairs.tiles])
    np.fill_diagonal(pulls, 0.0)
    degrees = pulls.sum(axis=0) + pulls.sum(axis=1)
    assert (loss.cancelled >= degrees * (1 - 1e-12)).all()
    point, squares = objective.at(1e-9 * np.eye(K)), pairs.squares(loss.cancelled)
    stated = point.round_off()
    assert (stated.gradient**2 >= 80 * 2.0**-53 * squares).all()
    terms = loss.constant * (point.sums.degrees.sum() + loss.cancelled.sum()) / 2
    assert stated.value >= 200 * 2.0**-53 * (abs(point.value) + terms)


@pytest.mark.parametrize("weight", [1e-30, 1e30])
def test_logarithms_of_weights_count(weight: float) -> None:
    """Products of weights that cancel have the digits of their factors' logarithms."""
    X, z = np.random.default_rng(0).standard_normal((6, K)), np.resize([1.0, -1.0], 6)
    weights = np.where(z > 0, weight, 1 / weight)
    usual, weighted = (gda.GLR(X, z, sample_weight=each).at(np.eye(K)) for each in (None, weights))
    assert weighted.value == pytest.approx(usual.value, rel=1e-12)
    more = weighted.round_off().value - usual.round_off().value
    assert more >= 2 * abs(np.log(weight)) * 2.0**-53 * usual.value


def test_points_that_say_nothing() -> None:
    point = gda.Ridge(K).at(np.eye(K))
    found, assumed = Point.round_off(point), assumed_round_off(point)
    assert found.value == assumed.value > 0
    assert (found.gradient == assumed.gradient).all()


def test_assumed_errors_of_a_gradient_cover_those_of_the_value() -> None:
    """By as much as the value is uncertain, tangents may differ at the zero matrix."""
    objective, metric = Nearest(1e6 * np.eye(K)), 1e-3 * random_metric(np.random.default_rng(1), K)
    point = objective.at(metric)
    assert np.abs(point.gradient()).max() < 1e-5 * point.value / np.linalg.norm(metric)
    assumed = assumed_round_off(point)
    across = float(assumed.gradient @ np.abs(metric) @ assumed.gradient)
    assert across >= 1000 * 2.0**-53 * point.value


def test_round_off_adds_up() -> None:
    """Errors of gradients as ``g_i² = Σ_k c_k g_ki²``, and those of adding up."""
    terms: Any = EVERY["GLR, labels"](), gda.LogDet(covariance(K)), gda.Ridge(K)
    point = (2.0 * terms[0] + 30.0 * terms[1] + terms[2]).at(
        random_metric(np.random.default_rng(1), K)
    )
    parts, squares = [part.round_off() for part in point.parts], point.round_off().gradient ** 2
    assert point.round_off().value > 2 * parts[0].value + 30 * parts[1].value
    expected = 2 * parts[0].gradient ** 2 + 30 * parts[1].gradient ** 2
    assert (squares > expected).all()
    assert (squares < expected + 1e-13 * np.abs(point.gradient()).max()).all()


# --- In 50 digits --------------------------------------------------------------------------------


@pytest.mark.parametrize("of", ["log det", "GMML", "function"])
@pytest.mark.parametrize("seed", range(3))
def test_large_terms_that_cancel_are_rounded(of: str, seed: int) -> None:
    """Relative to themselves: nothing is left of ``⟨S, M⟩``, and the rest is about 1 at most."""
    rng = np.random.default_rng(seed)
    M, S = np.eye(K) + 0.1 * random_metric(rng, K), 1e8 * random_symmetric(rng, K)
    S -= M * (np.vdot(S, M) / np.vdot(M, M))
    D = 1e-8 * np.eye(K)
    exact = (digits.exact(S) * M).sum()
    objective: Any = gda.FunctionObjective(lambda metric: (float(np.vdot(S, metric)), S), K)
    if of == "log det":
        objective, exact = gda.LogDet(S), digits.likelihood(S, M)
    elif of == "GMML":
        objective = gda.GMML(S, D)
        exact += (digits.inverse(digits.exact(M)) * D).sum()
    point = objective.at(M)
    assert abs(point.value) < 1
    assert 1e-10 < abs(point.value - exact) <= point.round_off().value < 1e-4


@pytest.mark.parametrize("scale", [1e12, 1e14])
def test_tangents_of_any_symmetric_matrix_are_below_the_log_determinant(scale: float) -> None:
    """Entries of S may be larger than those of a covariance, and digits of the inverse are lost."""
    M = np.array([[2.0, -1.0, 0.0], [-1.0, 3.0, -1.0], [0.0, -1.0, 2.5]])
    S = np.zeros((3, 3))
    S[0, 2] = S[2, 0] = scale / 3  # where M is 0, so that the value is exact
    point = gda.LogDet(S).at(M)
    stated, gradient = point.round_off(), digits.exact(point.gradient())
    off = gradient - (S - digits.inverse(digits.exact(M)))
    assert np.abs(off).max() > 1e-6
    slope = (gradient * off).sum()
    slope -= digits.exact(stated.gradient) @ np.abs(off) @ digits.exact(stated.gradient)
    assert digits.likelihood(S, M + off) >= mpmath.mpf(point.value) - stated.value + slope


@pytest.mark.parametrize("error", [1e-2, -1e-2, 1e-4, -1e-6])
def test_any_inverse_gives_a_tangent_of_the_log_determinant(error: float) -> None:
    """The second order of its error is taken from the value."""
    S = M = np.eye(K)
    point = gda.LogDet(S).at(M)
    point.inverse = (1 + error) * M
    stated, change = point.round_off(), -error * M
    slope = float(np.vdot(point.gradient(), change))
    slope -= float(stated.gradient @ abs(change) @ stated.gradient)
    below = mpmath.mpf(point.value) - stated.value + slope
    assert 0 < digits.likelihood(S, M + change) - below < 2 * K * error**2


@pytest.mark.parametrize("error", [0.0, 1e-9, -1e-9])
def test_values_and_gradients_of_the_geometric_mean_are_as_exact_as_they_say(error: float) -> None:
    """Also by an inverse that is off by more than round-off; nearly all of the gradient is its."""
    rng = np.random.default_rng(0)
    S, D, M = 1e-9 * np.eye(K), random_metric(rng, K), np.eye(K) + 0.1 * random_metric(rng, K)
    point = gda.GMML(S, D).at(M)
    dissimilar, inverse = digits.exact(D), digits.inverse(digits.exact(M))
    np.testing.assert_array_equal(point.objective.dissimilar, D)
    if not error:
        off = np.abs(digits.exact(point.gradient()) - (S - inverse @ dissimilar @ inverse))
        stated = point.round_off().gradient
        assert off.max() > 1e-17
        assert (off <= digits.exact(np.outer(stated, stated))).all()
    point.inverse = (1 + error) * point.inverse
    value = (digits.exact(S) * M).sum() + (inverse * dissimilar).sum()
    assert abs(point.value - value) <= point.round_off().value
