"""Objectives with a barrier: NumPy's values, multiples, closed forms, and optima that are known."""

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import gdaopt as gda
from gdaopt.errors import InvalidInputError
from gdaopt.estimators.baselines.geometric_mean import geometric_mean_of_inverse
from gdaopt.objectives import Objective
from gdaopt.sets import FeasibleSet
from gdaopt.support.validation import FloatArray
from tests import digits
from tests.helpers import random_metric, random_symmetric

K = 5


def random_covariance(rng: np.random.Generator, n_samples: int = 3 * K) -> FloatArray:
    samples = rng.standard_normal((n_samples, K))
    return np.asarray(samples.T @ samples / n_samples)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def optimum(objective: Objective, feasible_set: FeasibleSet) -> gda.Result:
    problem = gda.MetricProblem(objective, feasible_set)
    return gda.solve(problem, "certified", tolerance=1e-11, absolute_tolerance=1e-12)


def assert_near(found: FloatArray, expected: FloatArray) -> None:
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


def test_starts_with_the_edges_of_the_largest_correlations() -> None:
    S = np.array([[1.0, 4.0, 0.5], [4.0, 100.0, 6.0], [0.5, 6.0, 1.0]])  # of 0.4, 0.5 and 0.6
    edges = gda.GraphMetrics(1.0).family.with_feasible_entries
    first = gda.LogDet(S).first_metric(edges)
    assert np.argwhere(np.triu(first, 1)).tolist() == [[0, 2], [1, 2]]
    assert np.linalg.inv(first)[[0, 1], 2] == pytest.approx(S[[0, 1], 2])
    assert (gda.LogDet(np.eye(3)).first_metric(edges) == np.eye(3)).all()
    for unit in (1e-280, 1e-300, 1e280):
        near = gda.LogDet(unit * np.array([[1.0, 1 - 1e-9], [1 - 1e-9, 1.0]]))
        assert np.isfinite(near.first_metric(edges)).all()


def test_the_start_of_the_geometric_mean_is_the_best_diagonal_metric(
    rng: np.random.Generator,
) -> None:
    similar, dissimilar = (random_metric(rng, 4) for _ in range(2))
    gmml = gda.GMML(np.diag([1.0, 10.0, 100.0, 1.0]) * similar, dissimilar)
    first = gmml.first_metric(lambda matrix: matrix)
    assert (first == np.diag(np.diagonal(first))).all()
    slopes = np.diagonal(gmml.gradient(first))
    np.testing.assert_allclose(slopes, 0, atol=1e-12 * np.abs(gmml.similar).max())


class TestTraceOfTheOptimum:
    """ "Proposition: trace of the most likely metric"."""

    def test_is_above_it(self, rng: np.random.Generator) -> None:
        for n_samples in (2, 3, 8, 100):
            log_det = gda.LogDet(random_covariance(rng, n_samples))
            bound = log_det.auto_trace_bound()
            for factor in (1.0, 100.0):
                problem = gda.MetricProblem(log_det, gda.GraphMetrics(factor * bound, 0.0))
                result = gda.solve(problem, tolerance=1e-9)
                assert np.trace(result.metric) < bound * (1 + 1e-6)
                assert np.vdot(log_det.covariance, result.metric) == pytest.approx(K)

    @pytest.mark.parametrize(
        ("S", "says"),
        [
            ([[1.0, 1.0], [1.0, 1.0]], "features 0 and 1 are perfectly correlated"),
            ([[1.0, 0.0], [0.0, 0.0]], "feature 1 has no variance"),
        ],
    )
    def test_there_is_no_optimum(self, S: list[list[float]], says: str) -> None:
        with pytest.raises(InvalidInputError, match=f"no maximum over graph metrics: {says}"):
            gda.LogDet(S).auto_trace_bound()


@pytest.mark.parametrize("name", ["log det", "geometric mean"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_newton_model(name: str, dtype: type, rng: np.random.Generator) -> None:
    """The second derivatives against differences of gradients, their inverse, single entries."""
    S, D, metric = (random_covariance(rng) for _ in range(3))
    objective = gda.LogDet(S) if name == "log det" else gda.GMML(S, D)
    units = rng.uniform(0.5, 2.0, K)
    products, change = np.outer(units, units), random_symmetric(rng, K)
    model = objective.at(metric).newton_model(units, dtype)
    accuracy = 1e-5 if dtype is np.float64 else 1e-3
    step = 1e-6 * change * products
    expected = (objective.gradient(metric + step) - objective.gradient(metric - step)) / 2e-6
    found = model.hessian(change.astype(dtype))
    assert found.dtype == dtype
    size = np.abs(expected * products).max()
    np.testing.assert_allclose(found, expected * products, atol=accuracy * size)
    np.testing.assert_allclose(model.inverse(found), change, atol=30 * accuracy)
    for i, j in ((0, 1), (2, 4)):
        entry: Any = np.zeros((K, K), dtype)
        entry[i, j] = entry[j, i] = 1.0
        twice = float(np.vdot(entry, model.hessian(entry)))
        assert model.of_entries[i, j] == pytest.approx(twice / 2, rel=accuracy)


def scatters(
    rng: np.random.Generator, size: int, condition: float = 1.0
) -> tuple[FloatArray, FloatArray]:
    """Return the scatter matrices of similar and dissimilar pairs."""
    similar = rng.standard_normal((3 * size, size)) * np.geomspace(1, condition**-0.5, size)
    dissimilar = rng.standard_normal((3 * size, size)) * 2
    return similar.T @ similar / size, dissimilar.T @ dissimilar / size


def test_one_feature_keeps_the_contract(rng: np.random.Generator) -> None:
    gda.check_objective(gda.GMML(*scatters(rng, 1)))


@pytest.mark.parametrize(("size", "condition"), [(1, 1.0), (3, 10.0), (6, 1e3), (12, 10.0)])
def test_the_geometric_mean(size: int, condition: float, rng: np.random.Generator) -> None:
    S, D = scatters(rng, size, condition)
    expected = geometric_mean_of_inverse(S, D)
    trace = float(np.trace(expected))
    result = optimum(gda.GMML(S, D), gda.PositiveDefiniteMetrics(3 * trace, 1e-6 * trace / size))
    assert_near(result.metric, expected)


@pytest.mark.parametrize("angle", [0.0, 1.0])
def test_the_geometric_mean_is_convex_whatever_round_off_has_left(angle: float) -> None:
    """``tr M⁻¹D`` would fall without bound where D has an eigenvalue below 0."""
    basis = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    D = (basis * [1.0, -5e-11]) @ basis.T
    gmml = gda.GMML(np.zeros((2, 2)), (D + D.T) / 2)
    metrics = [np.asarray((basis * [1.0, small]) @ basis.T) for small in (1e-11, 3e-11, 2e-11)]
    low, high, middle = (digits.inverse(digits.exact(metric + metric.T)) for metric in metrics)
    of_low, of_high, of_middle = (
        (2 * each * digits.exact(gmml.dissimilar)).sum() for each in (low, high, middle)
    )
    assert of_middle <= (of_low + of_high) / 2 + 1e-3
    assert min(of_low, of_high, of_middle) > 0


# --- The dual's closed form in 50 digits ----------------------------------------------------------


def definite(rng: np.random.Generator, size: int, decades: float) -> FloatArray:
    """Return a matrix whose eigenvalues spread over so many decades."""
    basis, _ = np.linalg.qr(rng.standard_normal((size, size)))
    matrix = (basis * 10 ** np.linspace(0, -decades, size)) @ basis.T
    return np.asarray((matrix + matrix.T) / 2)


def in_units(rng: np.random.Generator, matrix: FloatArray, decades: float) -> FloatArray:
    units = 10 ** rng.uniform(-decades, decades, len(matrix))
    return np.asarray(matrix * np.outer(units, units))


DUALS: dict[str, Callable[[np.random.Generator, int], FloatArray]] = {
    "even": lambda rng, size: definite(rng, size, 1.0),
    "nearly singular": lambda rng, size: definite(rng, size, rng.uniform(8, 13)),
    "in any units": lambda rng, size: in_units(rng, definite(rng, size, 6.0), 5.0),
    "large logarithms": lambda rng, size: in_units(rng, np.eye(size), 60.0),
}


@pytest.mark.parametrize("kind", DUALS)
def test_the_conjugate_of_the_log_determinant(kind: str) -> None:
    """``K + log det W``."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        dual = DUALS[kind](rng, int(rng.integers(1, 7)))
        value, round_off = gda.LogDet(np.eye(len(dual))).at(np.eye(len(dual))).conjugate(dual)
        expected = len(dual) + digits.log_det(digits.exact(dual))
        assert (
            abs(value - expected) <= round_off < 1e-12 * (1 + abs(expected)) * np.linalg.cond(dual)
        )


def test_a_matrix_that_has_a_factor_need_not_be_definite() -> None:
    """A Gram matrix of fewer vectors than features: its determinant is round-off."""
    n_indefinite = 0
    point = gda.LogDet(np.eye(6)).at(np.eye(6))
    for seed in range(20):
        vectors = np.random.default_rng(seed).standard_normal((5, 6))
        dual = vectors.T @ vectors
        log_det = digits.log_det(digits.exact(dual))
        value, round_off = point.conjugate(dual)
        assert value - round_off <= 6 + log_det
        n_indefinite += log_det == -mpmath.inf
    assert n_indefinite >= 5


@pytest.mark.parametrize("is_singular", [False, True])
@pytest.mark.parametrize("kind", [*DUALS][:3])
def test_the_conjugate_of_the_geometric_mean(kind: str, is_singular: bool) -> None:
    """``2 tr (L'DL)^½`` for ``W = LL'``."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        dual = DUALS[kind](rng, int(rng.integers(1, 6)))
        factor = rng.standard_normal((max(1, len(dual) - is_singular), len(dual)))
        objective = gda.GMML(np.eye(len(dual)), factor.T @ factor)
        root = digits.factor(digits.exact(dual))
        squares = digits.eigenvalues(root.T @ digits.exact(objective.dissimilar) @ root)
        expected = 2 * sum(mpmath.sqrt(max(each, mpmath.mpf(0))) for each in squares)
        value, round_off = objective.at(np.eye(len(dual))).conjugate(dual)
        assert value - round_off <= expected
        assert round_off <= 1e-5 * value


def test_a_conjugate_that_overflows_proves_nothing() -> None:
    point = gda.GMML(np.eye(2), 1e200 * np.eye(2)).at(np.eye(2))
    with np.errstate(over="ignore"):  # as certificates do
        assert point.conjugate(1e200 * np.eye(2)) == (-np.inf, 0.0)
