"""The objective of the master problem: Q and log Q as functions of the weights of atoms."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.linalg.atoms import Atoms
from gdaopt.master import MasterPoint
from gdaopt.master.master_point import _updated
from gdaopt.objectives.pairs import rectangles
from gdaopt.support.validation import FloatArray
from tests.helpers import random_metric
from tests.objectives.cases import make_blocks_small, within

N, K = 15, 4
SIGNALS = ["labels", "three levels", "real", "columns"]
Extended = np.longdouble


class Barrier(gda.DenseObjective):
    """``tr M² - log det M``, by its value and its gradient alone."""

    def value(self, metric: FloatArray) -> float:
        sign, log_det = np.linalg.slogdet(metric)
        return float(np.sum(metric**2) - log_det) if sign > 0 else math.inf

    def gradient(self, metric: FloatArray) -> FloatArray:
        gradient: FloatArray = 2 * metric - np.linalg.inv(metric)
        return (gradient + gradient.T) / 2


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
    rng = np.random.default_rng(3)
    signals: dict[str, Any] = {
        "labels": np.where(np.arange(N) % 3 == 0, 1.0, -1.0),
        "three levels": np.resize([0.0, 1.0, 5.0], N),
        "real": rng.standard_normal(N),
        "columns": rng.standard_normal((N, 2)),
    }
    return np.asarray(signals[name], dtype=np.float64)


def samples() -> FloatArray:
    return np.random.default_rng(0).standard_normal((N, K))


def shifted() -> FloatArray:
    """Return samples far from 0, two of which coincide."""
    X: FloatArray = samples() + 10.0
    X[1] = X[0]
    return X


def glr(X: FloatArray, name: str, *, is_kept: bool) -> gda.GLR:
    objective: gda.GLR = within(2**28 if is_kept else 1, lambda: gda.GLR(X, signal(name)))
    assert objective.keeps_pairs is is_kept
    return objective


OBJECTIVES: dict[str, Callable[[], Any]] = {
    **{f"{name}, kept": partial(glr, shifted(), name, is_kept=True) for name in SIGNALS},
    **{f"{name}, not kept": partial(glr, shifted(), name, is_kept=False) for name in SIGNALS},
    "log det": lambda: gda.LogDet(np.cov(samples().T)),
    "dense": lambda: Barrier(K),
    "gmml": lambda: gda.GMML(np.eye(K), np.cov(samples().T)),
    "multiple": lambda: 3 * glr(shifted(), "real", is_kept=True),
    "sum": lambda: glr(shifted(), "labels", is_kept=True) + 0.2 * gda.Ridge(K),
    "linear": lambda: gda.Linear(np.cov(samples().T)),
}


def two_sparse(rng: np.random.Generator, count: int = 6) -> Atoms:
    """Return unit vectors of one and of two entries of any signs, one of them twice."""
    support = np.array([rng.choice(K, 2, replace=False) for _ in range(count)])
    angles = rng.uniform(0, 2 * np.pi, count)
    pairs = Atoms(support, np.column_stack([np.cos(angles), np.sin(angles)]))
    return pairs.joined(Atoms.of_features(np.array([2, 0]))).joined(pairs[:1])


def dense(rng: np.random.Generator, count: int = 6) -> Atoms:
    vectors = rng.standard_normal((count, K))
    return Atoms.of_vectors(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


ATOMS = {"two-sparse": two_sparse, "dense": dense}


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(1)


@pytest.fixture
def base(rng: np.random.Generator) -> FloatArray:
    base: FloatArray = 0.1 * random_metric(rng, K) + 0.1 * np.eye(K)
    return base


@pytest.fixture(params=OBJECTIVES)
def objective(request: pytest.FixtureRequest) -> Any:
    return OBJECTIVES[request.param]()


@pytest.fixture(params=ATOMS)
def atoms(request: pytest.FixtureRequest, rng: np.random.Generator) -> Atoms:
    return ATOMS[request.param](rng)


@pytest.fixture
def weights(atoms: Atoms, rng: np.random.Generator) -> FloatArray:
    weights = rng.uniform(0.05, 0.5, len(atoms))
    weights[1] = 0.0
    return weights


@pytest.fixture
def weighted(objective: Any, base: FloatArray, atoms: Atoms, weights: FloatArray) -> MasterPoint:
    return MasterPoint(objective.at(base), atoms, weights, objective.log_convex)


def sum_of(base: FloatArray, atoms: Atoms, weights: FloatArray) -> FloatArray:
    """Return ``B + Σ_k w_k u_k u_k'``, written out."""
    total = base.copy()
    for u, weight in zip(atoms.dense(K), weights, strict=True):
        total += weight * np.outer(u, u)
    return total


def value_at(objective: Any, metric: FloatArray) -> float:
    point = objective.at((metric + metric.T) / 2)
    return float(point.logarithm().value if objective.log_convex else point.value)


class TestAgainstTheMetric:
    def test_value(
        self,
        objective: Any,
        weighted: MasterPoint,
        base: FloatArray,
        atoms: Atoms,
        weights: FloatArray,
    ) -> None:
        expected = value_at(objective, sum_of(base, atoms, weights))
        assert weighted.value == pytest.approx(expected, rel=1e-12)
        np.testing.assert_array_equal(weighted.weights, weights)

    def test_gradient(
        self,
        objective: Any,
        weighted: MasterPoint,
        base: FloatArray,
        atoms: Atoms,
        weights: FloatArray,
    ) -> None:
        metric = sum_of(base, atoms, weights)
        point = objective.at((metric + metric.T) / 2)
        gradient = point.gradient() / (point.value if objective.log_convex else 1.0)
        vectors = atoms.dense(K)
        expected = np.einsum("ki,ij,kj->k", vectors, gradient, vectors)
        assert_near(weighted.gradient(), expected, 1e-12)

    @pytest.mark.covering(1)
    def test_differences(
        self,
        objective: Any,
        weighted: MasterPoint,
        base: FloatArray,
        atoms: Atoms,
        weights: FloatArray,
    ) -> None:
        def value(change: FloatArray) -> float:
            return value_at(objective, sum_of(base, atoms, weights + change))

        step = 1e-5
        units = step * np.eye(len(atoms))
        slopes = [(value(unit) - value(-unit)) / (2 * step) for unit in units]
        assert_near(weighted.gradient(), slopes, 1e-6)
        changes = [
            weighted.at(weights + unit).gradient() - weighted.at(weights - unit).gradient()
            for unit in units
        ]
        # A DenseObjective's Hessian is a forward difference itself.
        tolerance = 2e-5 if isinstance(objective, Barrier) else 1e-7
        assert_near(weighted.hessian(), np.array(changes) / (2 * step), tolerance)

    def test_hessian_is_positive_semidefinite(self, objective: Any, weighted: MasterPoint) -> None:
        hessian = weighted.hessian()
        assert hessian.shape == (len(weighted.weights), len(weighted.weights))
        assert_near(hessian, hessian.T, 1e-15)
        values = np.linalg.eigvalsh(hessian)
        slack = 1e-8 if isinstance(objective, Barrier) else 1e-14
        assert values[0] >= -slack * values[-1]

    def test_point(
        self,
        objective: Any,
        weighted: MasterPoint,
        base: FloatArray,
        atoms: Atoms,
        weights: FloatArray,
    ) -> None:
        point: Any = weighted.point
        np.testing.assert_array_equal(point.metric, point.metric.T)
        assert_near(point.metric, sum_of(base, atoms, weights), 1e-14)
        fresh = objective.at(point.metric.copy())
        assert point.value == pytest.approx(fresh.value, rel=1e-12)
        assert_near(point.gradient(), fresh.gradient(), 1e-12)
        if objective.log_convex:
            assert point.logarithm().value == pytest.approx(weighted.value, rel=1e-13)
        with pytest.raises(ValueError, match="read-only"):
            point.metric[0, 0] = 0.0

    def test_other_weights(
        self,
        objective: Any,
        weighted: MasterPoint,
        base: FloatArray,
        atoms: Atoms,
        weights: FloatArray,
    ) -> None:
        others = weights[::-1] * 3.0
        moved = weighted.at(others)
        fresh = MasterPoint(objective.at(base), atoms, others, objective.log_convex)
        np.testing.assert_array_equal(moved.weights, others)
        assert moved.value == fresh.value != weighted.value
        np.testing.assert_array_equal(moved.gradient(), fresh.gradient())
        np.testing.assert_array_equal(moved.hessian(), fresh.hessian())
        np.testing.assert_array_equal(moved.point.metric, fresh.point.metric)
        back = moved.at(weights)
        assert back.value == weighted.value
        np.testing.assert_array_equal(back.gradient(), weighted.gradient())

    def test_no_weights(self, objective: Any, base: FloatArray, atoms: Atoms) -> None:
        zeros = np.zeros(len(atoms))
        weighted = MasterPoint(objective.at(base), atoms, zeros, objective.log_convex)
        np.testing.assert_array_equal(weighted.point.metric, base)
        assert weighted.value == pytest.approx(value_at(objective, base), rel=1e-14)

    def test_is_the_same_for_both_forms_of_atoms(
        self, objective: Any, base: FloatArray, rng: np.random.Generator
    ) -> None:
        atoms = two_sparse(rng)
        weights = rng.uniform(0.05, 0.5, len(atoms))
        sparse = MasterPoint(objective.at(base), atoms, weights)
        written_out = MasterPoint(objective.at(base), Atoms.of_vectors(atoms.dense(K)), weights)
        assert sparse.value == pytest.approx(written_out.value, rel=1e-12)
        assert_near(sparse.gradient(), written_out.gradient(), 1e-12)
        tolerance = 1e-7 if isinstance(objective, Barrier) else 1e-12
        assert_near(sparse.hessian(), written_out.hessian(), tolerance)
        assert_near(sparse.point.metric, written_out.point.metric, 1e-14)


@pytest.mark.parametrize("kind", ["glr", "own"])
def test_the_objective_itself_and_its_logarithm(
    kind: str, base: FloatArray, atoms: Atoms, weights: FloatArray
) -> None:
    objective: Any = Exponential(K) if kind == "own" else glr(shifted(), "real", is_kept=True)
    found = MasterPoint(objective.at(base), atoms, weights)
    logarithm = MasterPoint(objective.at(base), atoms, weights, log=True)
    value, slope = found.value, logarithm.gradient()
    assert math.log(value) == pytest.approx(logarithm.value, rel=1e-12)
    assert_near(found.gradient(), value * slope, 1e-12)
    assert_near(found.hessian(), value * (logarithm.hessian() + np.outer(slope, slope)), 1e-7)
    assert found.at(2 * weights).value == pytest.approx(
        math.exp(logarithm.at(2 * weights).value), rel=1e-12
    )
    np.testing.assert_array_equal(found.point.metric, logarithm.point.metric)


def test_users_objectives_of_convex_logarithm_converge() -> None:
    problem = gda.MetricProblem(Exponential(K), gda.GraphMetrics(2.0 * K))
    result = gda.solve(problem, "certified", tolerance=1e-9)
    assert result.status == "converged"
    assert result.trace[-1].round <= 30


@pytest.mark.parametrize("name", SIGNALS)
@pytest.mark.parametrize("is_kept", [True, False])
@pytest.mark.parametrize("entries", [1, 40, 300])
def test_sums_over_small_blocks(
    name: str,
    is_kept: bool,
    entries: int,
    base: FloatArray,
    atoms: Atoms,
    weights: FloatArray,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expected = MasterPoint(glr(shifted(), name, is_kept=is_kept).at(base), atoms, weights)
    make_blocks_small(monkeypatch, 60)
    monkeypatch.setattr(rectangles, "_MOMENT_ENTRIES", entries)
    weighted = MasterPoint(glr(shifted(), name, is_kept=is_kept).at(base), atoms, weights)
    assert weighted.value == pytest.approx(expected.value, rel=1e-13)
    assert_near(weighted.gradient(), expected.gradient(), 1e-13)
    assert_near(weighted.hessian(), expected.hessian(), 1e-13)


def assert_near(found: Any, expected: Any, tolerance: float) -> None:
    """Assert a difference within `tolerance` of the largest entry of what is expected."""
    largest = float(np.abs(expected).max())
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * largest)


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

    @pytest.mark.parametrize("bound", [1.0, 30.0, 300.0, 3e3, 3e5])
    def test_all_digits(
        self, name: str, is_kept: bool, bound: float, base: FloatArray, atoms: Atoms
    ) -> None:
        objective = glr(samples(), name, is_kept=is_kept)
        weights = bound * np.random.default_rng(2).dirichlet(np.ones(len(atoms)))
        vectors = atoms.dense(K).astype(Extended)
        metric = base.astype(Extended) + (vectors.T * weights.astype(Extended)) @ vectors
        exact = Exact(name, metric, atoms)
        assert bound < 3e3 or exact.largest_share > 0.99

        weighted = MasterPoint(objective.at(base), atoms, weights, log=True)
        # Exponents of the size of the distances lose digits in proportion.
        lost = 1e-13 + 1e-15 * float(abs(exact.value))
        assert abs(weighted.value - exact.value) <= 1e-14 * max(1, abs(exact.value))
        scale = float(exact.means.max())
        np.testing.assert_allclose(-weighted.gradient(), exact.means.astype(float), 0, lost * scale)
        hessian, expected = weighted.hessian(), exact.hessian.astype(float)
        # Pairs of less than 1e-20 of the largest share are left out; means have 16 digits.
        floor = 1e-18 * float(exact.squares.max()) ** 2
        np.testing.assert_allclose(hessian, expected, 0, lost * np.abs(expected).max() + floor)
        values = np.linalg.eigvalsh(hessian)
        assert values[0] >= -1e-14 * values[-1]

    def test_one_pair_alone_has_no_curvature(
        self, name: str, is_kept: bool, base: FloatArray, atoms: Atoms
    ) -> None:
        objective = glr(samples(), name, is_kept=is_kept)
        weighted = MasterPoint(objective.at(base), atoms, np.full(len(atoms), 1e6), log=True)
        assert np.abs(weighted.hessian()).max() <= 1e-28 * np.abs(weighted.gradient()).max() ** 2
        assert weighted.value < -745  # Q itself is 0 in float64


def test_a_short_step_corrects_the_hessian() -> None:
    rng = np.random.default_rng(2)
    factor = rng.standard_normal((5, 5))
    exact = factor @ factor.T + np.eye(5)
    start, step = np.ones(5), 0.01 * rng.standard_normal(5)
    slope = rng.standard_normal(5)
    gradient = slope + exact @ step
    updated = _updated(start, slope, np.eye(5), start + step, gradient)
    assert updated is not None
    np.testing.assert_allclose(updated @ step, exact @ step)
    assert np.linalg.eigvalsh(updated).min() > 0
    assert _updated(start, slope, np.eye(5), start + 1.0, gradient) is None
