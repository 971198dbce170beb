"""The objective of the master problem: Q and log Q as functions of the weights of atoms."""

from typing import Any, NamedTuple

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.linalg.atoms import Atoms
from gdaopt.master.master_point import MasterPoint, UpdatedHessian, _with_magnitudes
from gdaopt.support.validation import FloatArray
from tests.helpers import random_metric
from tests.master.cases import evaluate
from tests.objectives.cases import EVERY, SIGNALS, K, Opaque, assert_near, atoms_of, signals, within

N = 15
NAMES = [
    "GLR, labels",
    "GLR, real",
    "MCML",
    "log det",
    "dense",
    "GMML",
    "multiple",
    "sum",
    "linear",
]
Extended = np.longdouble


class Exponential(gda.DenseObjective):
    """``Σ_i exp(-M_ii) + exp(tr M² - 5)``, by its value and its gradient alone."""

    log_convex = True

    def value(self, metric: FloatArray) -> float:
        return float(np.exp(-np.diagonal(metric)).sum() + np.exp(np.sum(metric**2) - 5))

    def gradient(self, metric: FloatArray) -> FloatArray:
        gradient: FloatArray = 2 * metric * np.exp(np.sum(metric**2) - 5)
        gradient -= np.diag(np.exp(-np.diagonal(metric)))
        return gradient


def signal(name: str) -> FloatArray:
    return signals(np.random.default_rng(3), N)[name]


def samples() -> FloatArray:
    return np.random.default_rng(0).standard_normal((N, K))


def glr(X: FloatArray, name: str, *, is_kept: bool = True) -> gda.GLR:
    objective: gda.GLR = within(2**28 if is_kept else 1, lambda: gda.GLR(X, signal(name)))
    assert objective.keeps_pairs is is_kept
    return objective


@pytest.fixture
def base() -> FloatArray:
    return np.asarray(0.1 * random_metric(np.random.default_rng(1), K) + 0.1 * np.eye(K))


@pytest.fixture(params=["two-sparse", "dense"])
def atoms(request: pytest.FixtureRequest) -> Atoms:
    """Return a few atoms, one of them twice."""
    atoms = atoms_of(request.param, np.random.default_rng(1))
    return atoms.joined(atoms[:1])


@pytest.fixture
def weights(atoms: Atoms) -> FloatArray:
    weights = np.random.default_rng(2).uniform(0.05, 0.5, len(atoms))
    weights[1] = 0.0
    return weights


class Sum(NamedTuple):
    """An objective at a base plus weighted atoms, as a function of the weights."""

    objective: Any
    base: FloatArray
    atoms: Atoms
    weights: FloatArray

    def weighted(self, weights: FloatArray | None = None) -> MasterPoint:
        weights = self.weights if weights is None else weights
        log = self.objective.log_convex
        return evaluate(self.objective.at(self.base), self.atoms, weights, log=log)

    def metric(self, change: Any = 0.0) -> FloatArray:
        """Return ``B + Σ_k w_k u_k u_k'``, written out."""
        vectors = self.atoms.dense(K)
        total: FloatArray = self.base + (vectors.T * (self.weights + change)) @ vectors
        return (total + total.T) / 2

    def value(self, change: Any = 0.0) -> float:
        point = self.objective.at(self.metric(change))
        return float(point.logarithm().value if self.objective.log_convex else point.value)


@pytest.fixture(params=NAMES)
def sum_(
    request: pytest.FixtureRequest, base: FloatArray, atoms: Atoms, weights: FloatArray
) -> Sum:
    return Sum(EVERY[request.param](), base, atoms, weights)


class TestAgainstTheMetric:
    def test_value_and_derivatives(self, sum_: Sum) -> None:
        weighted = sum_.weighted()
        assert weighted.value == pytest.approx(sum_.value(), rel=1e-12)
        np.testing.assert_array_equal(weighted.weights, sum_.weights)
        point = sum_.objective.at(sum_.metric())
        gradient = point.gradient() / (point.value if sum_.objective.log_convex else 1.0)
        expected, step = sum_.atoms.quadratic_forms(gradient), 1e-5
        assert_near(weighted.gradient, expected, 1e-12)
        units = step * np.eye(len(expected))
        slopes = [(sum_.value(unit) - sum_.value(-unit)) / (2 * step) for unit in units]
        assert_near(weighted.gradient, slopes, 1e-6)
        ahead, behind = (
            np.array(
                [
                    weighted.function.at(np.append(sum_.weights + sign * unit, 0.0)).gradient
                    for unit in units
                ]
            )
            for sign in (1, -1)
        )
        # A DenseObjective's Hessian is a forward difference itself.
        is_difference = isinstance(sum_.objective, Opaque)
        hessian = weighted.hessian()[:-1, :-1]
        allowed = np.abs(hessian).max() + 1e-3 * np.abs(expected).max()
        allowed *= 2e-5 if is_difference else 1e-7
        np.testing.assert_allclose(hessian, (ahead - behind) / (2 * step), rtol=0, atol=allowed)
        assert_near(hessian, hessian.T, 1e-15)
        values = np.linalg.eigvalsh(hessian)
        assert values[0] >= -(1e-8 if is_difference else 1e-14) * values[-1]


def test_users_objectives_of_convex_logarithm_converge() -> None:
    problem = gda.MetricProblem(Exponential(K), gda.GraphMetrics(2.0 * K))
    result = gda.solve(problem, "certified", tolerance=1e-9)
    assert result.status == "converged"
    assert result.trace[-1].round <= 30


class Exact:
    """The logarithm of the regulariser in extended precision, pair by pair."""

    def __init__(self, name: str, metric: Any, atoms: Atoms) -> None:
        X, z = samples().astype(Extended), signal(name).reshape(N, -1).astype(Extended)
        i, j = np.triu_indices(N, 1)
        weights = 2 * ((z[i] - z[j]) ** 2).sum(axis=1)
        differences = (X[i] - X[j])[weights > 0]
        exponents = np.log(weights[weights > 0]) - ((differences @ metric) * differences).sum(
            axis=1
        )
        shares = np.exp(exponents - exponents.max())
        self.value = exponents.max() + np.log(shares.sum())
        shares /= shares.sum()
        self.squares = (differences @ atoms.dense(K).T.astype(Extended)) ** 2
        self.means = shares @ self.squares
        centred = self.squares - self.means
        self.hessian = (centred.T * shares) @ centred
        self.largest_share = float(shares.max())


@pytest.mark.parametrize("name", SIGNALS)
@pytest.mark.parametrize("is_kept", [True, False])
class TestConcentratedSoftmax:
    """Where C is large a few pairs have almost all of the weight."""

    def test_all_digits(self, name: str, is_kept: bool, base: FloatArray, atoms: Atoms) -> None:
        for bound in [1.0, 30.0, 300.0, 3e3, 3e5]:
            objective = glr(samples(), name, is_kept=is_kept)
            weights = bound * np.random.default_rng(2).dirichlet(np.ones(len(atoms)))
            vectors = atoms.dense(K).astype(Extended)
            metric = base.astype(Extended) + (vectors.T * weights.astype(Extended)) @ vectors
            exact = Exact(name, metric, atoms)
            assert bound < 3e3 or exact.largest_share > 0.99

            weighted = evaluate(objective.at(base), atoms, weights, log=True)
            # Exponents of the size of the distances lose digits in proportion.
            lost = 1e-13 + 1e-15 * float(abs(exact.value))
            assert abs(weighted.value - exact.value) <= 1e-14 * max(1, abs(exact.value))
            scale = float(exact.means.max())
            np.testing.assert_allclose(
                -weighted.gradient, exact.means.astype(float), 0, lost * scale
            )
            hessian, expected = weighted.hessian()[:-1, :-1], exact.hessian.astype(float)
            # Pairs of less than 1e-20 of the largest share are left out; means have 16 digits.
            floor = 1e-18 * float(exact.squares.max()) ** 2
            np.testing.assert_allclose(hessian, expected, 0, lost * np.abs(expected).max() + floor)
            values = np.linalg.eigvalsh(hessian)
            assert values[0] >= -1e-14 * values[-1]


@pytest.mark.parametrize("units", [np.ones(2), np.array([1e-3, 1e4])])
def test_curvature_below_0_counts_by_its_magnitude(units: FloatArray) -> None:
    matrix, magnitudes = np.array([[1.0, 2.0], [2.0, 1.0]]), np.array([[2.0, 1.0], [1.0, 2.0]])
    both = np.outer(units, units)
    np.testing.assert_allclose(_with_magnitudes(both * matrix), both * magnitudes)


def test_a_short_step_corrects_the_hessian() -> None:
    rng = np.random.default_rng(2)
    factor = rng.standard_normal((5, 5))
    exact = factor @ factor.T + np.eye(5)
    start, step = np.ones(5), 0.01 * rng.standard_normal(5)
    slope = rng.standard_normal(5)
    gradient = slope + exact @ step
    hessian = UpdatedHessian()
    assert hessian.at(start, slope, lambda: np.eye(5)) is not None
    updated = hessian.at(start + step, gradient, lambda: np.zeros((5, 5)))
    np.testing.assert_allclose(updated @ step, exact @ step)
    assert np.linalg.eigvalsh(updated).min() > 0
    anew = hessian.at(start + 1.0, gradient, lambda: np.ones((5, 5)))
    np.testing.assert_array_equal(anew, 1.0)
