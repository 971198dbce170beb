"""The graph Laplacian regulariser against its formula."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gdaopt as gda
from gdaopt.datasets import load
from gdaopt.errors import InvalidInputError
from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.directions import (
    DenseDirection,
    DiagonalDirection,
    Direction,
)
from gdaopt.objectives import PairPoint
from gdaopt.support.validation import FloatArray
from tests.helpers import PROPERTY, generators, random_metric
from tests.methods.step_cases import segment
from tests.objectives.cases import (
    SIGNALS,
    TWO_SPARSE,
    K,
    N,
    Naive,
    assert_near,
    directions,
    samples,
    signals,
    within,
)
from tests.objectives.pairs.cases import make_blocks_small

STORAGE = ["kept", "recomputed", "kept, many blocks", "recomputed, many blocks"]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(1)


@pytest.fixture(params=SIGNALS)
def signal(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def naive(signal: str, rng: np.random.Generator) -> Naive:
    return Naive(samples(rng), signals(rng)[signal])


@pytest.fixture(params=STORAGE)
def glr(naive: Naive, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    if "many blocks" in request.param:
        make_blocks_small(monkeypatch, 60)
    recomputed = "recomputed" in request.param
    objective = within(1 if recomputed else 2**28, lambda: gda.GLR(naive.X, naive.z))
    assert objective.keeps_pairs is not recomputed
    n_blocks = len(list(objective.pairs.blocks()))
    assert n_blocks > 4 or "many blocks" not in request.param
    return objective


@pytest.fixture
def metric(rng: np.random.Generator) -> FloatArray:
    return random_metric(rng, K)


class TestGLR:
    def test_value(self, glr: gda.GLR, naive: Naive, metric: FloatArray) -> None:
        assert glr.value(metric) == pytest.approx(naive.value(metric), rel=1e-13)

    def test_gradient(self, glr: gda.GLR, naive: Naive, metric: FloatArray) -> None:
        gradient = glr.gradient(metric)
        assert_near(gradient, naive.gradient(metric))
        np.testing.assert_array_equal(gradient, gradient.T)

    def test_parts_of_the_gradient(self, glr: gda.GLR, naive: Naive, metric: FloatArray) -> None:
        point, expected = glr.at(metric), naive.gradient(metric)
        assert_near(point.gradient_diagonal(), np.diagonal(expected))
        for column in range(K):
            assert_near(point.gradient_column(column), expected[:, column])

    def test_logarithms(self, glr: gda.GLR, naive: Naive, metric: FloatArray) -> None:
        assert glr.log_value(metric) == pytest.approx(math.log(naive.value(metric)), rel=1e-13)
        assert_near(glr.log_gradient(metric), naive.gradient(metric) / naive.value(metric))

    def test_derivatives_along_atoms(
        self, glr: gda.GLR, naive: Naive, metric: FloatArray, rng: np.random.Generator
    ) -> None:
        for atoms in (
            Atoms.of_vectors(rng.standard_normal((3, K))),
            Atoms(np.array([[3, 0], [0, 0]]), TWO_SPARSE),
        ):
            matrices = [np.outer(u, u) for u in atoms.dense(K)]
            point, gradient = glr.at(metric), naive.gradient(metric)
            assert_near(point.slopes(atoms), [np.vdot(gradient, m) for m in matrices])
            products = [naive.hessian_product(metric, m) for m in matrices]
            expected = [[np.vdot(product, m) for m in matrices] for product in products]
            assert_near(point.curvature(atoms), expected)

    def test_line(
        self, glr: gda.GLR, naive: Naive, metric: FloatArray, rng: np.random.Generator
    ) -> None:
        for direction, gamma in itertools.product(directions(rng), (0.0, 0.3)):
            line = glr.at(metric).line(direction)
            there = direction.added_to(metric, gamma)
            matrix = direction.added_to(np.zeros((K, K)), 1.0)
            curvature = np.vdot(naive.hessian_product(there, matrix), matrix)
            slope, second = line.derivatives(gamma)
            assert line.value(gamma) == pytest.approx(naive.value(there), rel=1e-12)
            assert second == pytest.approx(curvature, rel=1e-11)
            scale = math.sqrt(naive.value(there) * curvature)  # ≥ |slope|, by Cauchy–Schwarz
            assert slope == pytest.approx(np.vdot(naive.gradient(there), matrix), abs=1e-12 * scale)

    @pytest.mark.covering(1)
    def test_200_moves(
        self, glr: gda.GLR, naive: Naive, metric: FloatArray, rng: np.random.Generator
    ) -> None:
        point = glr.at(metric)
        for _, direction in zip(range(100), itertools.cycle(directions(rng)), strict=False):
            back = DenseDirection(random_metric(rng, K) - point.metric)
            point = point.moved(back, 0.2).moved(direction, 0.02)
            fresh = glr.at(point.metric.copy())
            assert point.value == pytest.approx(fresh.value, rel=1e-12)
            assert_near(point.gradient(), fresh.gradient())

    def test_round_off_of_moves_is_forgotten(self, glr: gda.GLR, metric: FloatArray) -> None:
        """There and back costs digits; within 65 moves the distances are computed anew."""
        there = DiagonalDirection(np.ones(K))
        nothing = DiagonalDirection(np.zeros(K))
        point = glr.at(metric).moved(there, 1e6).moved(there, -1e6)
        for _ in range(65):
            point = point.moved(nothing, 1.0)
        assert point.value == pytest.approx(glr.value(point.metric.copy()), rel=1e-13)

    def test_moved_metric(
        self, glr: gda.GLR, naive: Naive, metric: FloatArray, rng: np.random.Generator
    ) -> None:
        for direction in directions(rng):
            point = glr.at(metric).moved(direction, 0.3)
            np.testing.assert_array_equal(point.metric, direction.added_to(metric, 0.3))
            assert point.value == pytest.approx(naive.value(point.metric), rel=1e-12)
            with pytest.raises(ValueError, match="read-only"):
                point.metric[0, 0] = 0.0


class TestDerivatives:
    """Central differences, independent of every formula."""

    def test_gradient(self, signal: str, rng: np.random.Generator) -> None:
        glr, metric = gda.GLR(samples(rng), signals(rng)[signal]), random_metric(rng, K)
        for direction in directions(rng):
            difference = central(lambda m: np.float64(glr.value(m)), metric, direction)
            assert direction.inner(glr.gradient(metric)) == pytest.approx(difference, rel=1e-6)
            difference = central(lambda m: np.float64(glr.log_value(m)), metric, direction)
            assert direction.inner(glr.log_gradient(metric)) == pytest.approx(difference, rel=1e-6)

    def test_line(self, signal: str, rng: np.random.Generator) -> None:
        glr, metric = gda.GLR(samples(rng), signals(rng)[signal]), random_metric(rng, K)
        for direction in directions(rng):
            line, step = glr.at(metric).line(direction), 1e-5
            slope, curvature = line.derivatives(0.2)
            values = [line.value(0.2 + offset) for offset in (-step, step)]
            slopes = [line.derivatives(0.2 + offset)[0] for offset in (-step, step)]
            assert slope == pytest.approx((values[1] - values[0]) / (2 * step), rel=1e-6)
            assert curvature == pytest.approx((slopes[1] - slopes[0]) / (2 * step), rel=1e-6)


def central(function: Callable[[FloatArray], Any], metric: FloatArray, direction: Direction) -> Any:
    """Return the central difference of a function along a direction."""
    step = 1e-5
    ahead = function(direction.added_to(metric, step))
    return (ahead - function(direction.added_to(metric, -step))) / (2 * step)


@pytest.mark.parametrize("log", [False, True], ids=["Q", "log Q"])
@pytest.mark.parametrize("name", SIGNALS)
class TestForCvxpy:
    def test_value(self, name: str, log: bool, rng: np.random.Generator) -> None:
        X, z, metric = samples(rng), signals(rng)[name], random_metric(rng, K)
        X = np.vstack([X, X[:4], X[:2]])  # samples that occur twice and three times
        z = np.concatenate([z, z[:4], z[:2]])
        glr = gda.GLR(X, z)
        convert = glr.log_to_cvxpy if log else glr.to_cvxpy
        expression, constraints = convert(cp.Constant(metric))
        # Only equations for the expression's own variables: the metric leaves no choice.
        cp.Problem(cp.Minimize(0), constraints).solve(solver="CLARABEL")
        expected = Naive(X, z).value(metric)
        found = float(np.asarray(expression.value, dtype=np.float64))
        assert (np.exp(found) if log else found) == pytest.approx(expected, rel=1e-6)

    def test_is_convex_for_cvxpy(self, name: str, log: bool, rng: np.random.Generator) -> None:
        variable = cp.Variable((K, K), symmetric=True)
        glr = gda.GLR(samples(rng), signals(rng)[name])
        expression, constraints = (glr.log_to_cvxpy if log else glr.to_cvxpy)(variable)
        assert expression.is_dcp()
        assert expression.is_convex()
        assert all(constraint.is_dcp() for constraint in constraints)


class TestInvariance:
    @PROPERTY
    @given(rng=generators, offset=st.floats(-100, 100))
    def test_translation(self, rng: np.random.Generator, offset: float) -> None:
        X, z, metric = rng.standard_normal((9, 3)), rng.standard_normal(9), random_metric(rng, 3)
        self.assert_same(gda.GLR(X, z), metric, gda.GLR(X + offset, z), metric)

    @PROPERTY
    @given(rng=generators, labels=st.booleans())
    def test_permutation_of_samples(self, rng: np.random.Generator, labels: bool) -> None:
        X, z, metric = rng.standard_normal((9, 3)), rng.standard_normal(9), random_metric(rng, 3)
        z = np.where(z >= z[0], 1.0, -1.0) if labels and z[0] > z.min() else z
        order = rng.permutation(9)
        self.assert_same(gda.GLR(X, z), metric, gda.GLR(X[order], z[order]), metric)

    @PROPERTY
    @given(rng=generators, factor=st.floats(1e-6, 1e6))
    def test_features_scaled_and_metric_scaled_back(
        self, rng: np.random.Generator, factor: float
    ) -> None:
        X, z, metric = rng.standard_normal((9, 3)), rng.standard_normal(9), random_metric(rng, 3)
        rescaled = gda.GLR(factor * X, z)
        self.assert_same(gda.GLR(X, z), metric, rescaled, metric / factor**2, factor**-2)

    @PROPERTY
    @given(rng=generators, labels=st.booleans())
    def test_sign_of_the_signal(self, rng: np.random.Generator, labels: bool) -> None:
        X, z, metric = rng.standard_normal((9, 3)), rng.standard_normal(9), random_metric(rng, 3)
        z = np.where(z > np.median(z), 1.0, -1.0) if labels else z
        self.assert_same(gda.GLR(X, z), metric, gda.GLR(X, -z), metric)

    @PROPERTY
    @given(rng=generators)
    def test_copies_of_a_signal_add_up(self, rng: np.random.Generator) -> None:
        X, z, metric = rng.standard_normal((9, 3)), rng.standard_normal((9, 2)), np.eye(3)
        parts = gda.GLR(X, z[:, 0]).value(metric) + gda.GLR(X, z[:, 1]).value(metric)
        assert gda.GLR(X, z).value(metric) == pytest.approx(parts, rel=1e-13)

    @staticmethod
    def assert_same(
        one: gda.GLR, metric: FloatArray, two: gda.GLR, other: FloatArray, unit: float = 1.0
    ) -> None:
        assert two.value(other) == pytest.approx(one.value(metric), rel=1e-10)
        assert_near(unit * two.gradient(other), one.gradient(metric), 1e-10)


@pytest.fixture(scope="module")
def raw_wine() -> tuple[FloatArray, FloatArray]:
    wine = load("wine")
    return wine.features, wine.signal("class_1")


class TestUnderflow:
    """Raw wine at M = 100·I: every distance is above 745."""

    metric = 100 * np.eye(13)

    def test_logarithm_survives(self, raw_wine: tuple[FloatArray, FloatArray]) -> None:
        glr = gda.GLR(*raw_wine)
        assert glr.value(self.metric) == 0
        expected = Naive(*raw_wine).log_value(self.metric)
        assert glr.log_value(self.metric) == pytest.approx(expected, rel=1e-12)

    def test_log_gradient_is_the_softmax(self, raw_wine: tuple[FloatArray, FloatArray]) -> None:
        naive = Naive(*raw_wine)
        exponents = -naive.distances(self.metric)
        with np.errstate(divide="ignore"):
            share = np.exp(exponents + np.log(naive.weights) - naive.log_value(self.metric))
        expected = -np.einsum("ij,ijk,ijl->kl", share, naive.differences, naive.differences)
        assert_near(gda.GLR(*raw_wine).log_gradient(self.metric), expected, 1e-9)

    def test_following_the_advice_makes_it_usable(
        self, raw_wine: tuple[FloatArray, FloatArray]
    ) -> None:
        X, z = raw_wine
        message = gda.GLR(X, z).at(self.metric).vanished()
        assert message is not None
        assert message.startswith("the objective is 0 in floating point or nearly so (log Q is -")
        assert_advice_helps(message, X, z, self.metric)

    @pytest.mark.parametrize("scale", [1e-163, 1e-170, 1e-250])
    def test_a_gradient_that_underflows(self, scale: float, rng: np.random.Generator) -> None:
        X, z = scale * rng.standard_normal((N, K)), signals(rng)["labels"]
        message = gda.GLR(X, z).at(np.eye(K)).vanished()
        assert message is not None
        assert message.startswith("the gradient of the objective is 0 in floating point")
        assert_advice_helps(message, X, z, np.eye(K))

    def test_a_gradient_of_coinciding_samples_alone(
        self, raw_wine: tuple[FloatArray, FloatArray]
    ) -> None:
        """Q > 0 by samples that coincide across labels; the gradient holds only round-off."""
        X, z = np.concatenate([raw_wine[0], raw_wine[0][:3]]), np.r_[raw_wine[1], -raw_wine[1][:3]]
        point = gda.GLR(X, z).at(self.metric)
        assert point.value == pytest.approx(2 * 3 * 4)
        message = point.vanished()
        assert message is not None
        assert message.startswith("the gradient of the objective is 0 in floating point")
        assert_advice_helps(message, X, z, self.metric)

    @pytest.mark.parametrize("value", [0.0, 1.0, 0.1])
    def test_coinciding_samples(self, value: float) -> None:
        glr = gda.GLR(np.full((7, 2), value), [1, 1, 1, -1, -1, -1, -1])
        message = glr.at(np.eye(2)).vanished()
        assert message is not None
        assert message.startswith("all samples coincide")

    @pytest.mark.parametrize("scale", [1e-100, 1e-6, 1.0])
    def test_usable_points(self, scale: float, rng: np.random.Generator) -> None:
        X = scale * rng.standard_normal((N, K))
        assert gda.GLR(X, signals(rng)["real"]).at(np.eye(K)).vanished() is None


def assert_advice_helps(message: str, X: FloatArray, z: FloatArray, metric: FloatArray) -> None:
    """Assert that multiplying by the numbers of the message makes the objective usable."""
    match = re.search(r"multiply the features by about ([-+.e\d]+)", message)
    assert match is not None
    glr = gda.GLR(float(match[1]) * X, z)
    assert glr.at(metric).vanished() is None
    assert glr.value(metric) > 1e-3 * glr.value(np.zeros_like(metric))
    match = re.search(r"the smallest eigenvalue by about ([-+.e\d]+)", message)
    if match is not None:
        assert gda.GLR(X, z).at(float(match[1]) * metric).vanished() is None


class TestOverflow:
    """Far outside of the cone distances are below -709."""

    @pytest.fixture
    def point(self, rng: np.random.Generator) -> PairPoint:
        return gda.GLR(samples(rng), signals(rng)["labels"]).at(np.eye(K))

    def test_value_is_infinite(self, rng: np.random.Generator) -> None:
        glr, far = gda.GLR(samples(rng), signals(rng)["labels"]), -1e4 * np.eye(K)
        assert glr.value(far) == math.inf
        assert math.isfinite(glr.log_value(far))

    def test_line_is_infinite(self, point: PairPoint) -> None:
        line = point.line(DenseDirection(-np.eye(K)))
        assert line.value(1e4) == math.inf
        assert not math.isfinite(line.derivatives(1e4)[0])
        assert point.moved(DenseDirection(-np.eye(K)), 1e4).value == math.inf

    @pytest.mark.parametrize("scale", [1e-170, 1e170])
    @pytest.mark.parametrize("name", ["labels", "real", "columns"])
    def test_signals_whose_squares_leave_floating_point_are_refused(
        self, scale: float, name: str, rng: np.random.Generator
    ) -> None:
        with pytest.raises(InvalidInputError, match=r"z spans about .*; rescale z"):
            gda.GLR(samples(rng), scale * signals(rng)[name])

    def test_features_whose_squares_overflow_are_refused(self, rng: np.random.Generator) -> None:
        with pytest.raises(InvalidInputError, match=r"X spans about .*; rescale X"):
            gda.GLR(1e170 * samples(rng), signals(rng)["labels"])


@PROPERTY
@given(generators)
def test_the_lipschitz_constant_of_glr_is_one(rng: np.random.Generator) -> None:
    """``‖∇Q(M) - ∇Q(M')‖ ≤ L ‖M - M'‖`` over ``M ⪰ ρI``, and L is its formula."""
    there = segment(rng)
    constant = there.glr.lipschitz(there.rho)
    difference = there.glr.gradient(there.other) - there.glr.gradient(there.metric)
    distance = np.linalg.norm(there.other - there.metric)
    assert np.linalg.norm(difference) <= constant * distance * (1 + 1e-12)

    X = there.glr.pairs.features
    z = rng.standard_normal((12, 2))
    literal = 0.0
    for xi, zi in zip(X, z, strict=True):
        for xj, zj in zip(X, z, strict=True):
            square = float((xi - xj) @ (xi - xj))
            literal += float((zi - zj) @ (zi - zj)) * np.exp(-there.rho * square) * square**2
    assert gda.GLR(X, z).lipschitz(there.rho) == pytest.approx(literal, rel=1e-12)


def test_the_lipschitz_constant_is_sharp() -> None:
    """One pair, at M = ρI, along dd': no smaller constant would do."""
    glr, rho, d = gda.GLR([[0.0, 0.0], [1.0, 2.0]], [1, -1]), 0.1, np.array([1.0, 2.0])
    move = 1e-6 * np.outer(d, d)
    change = glr.gradient(rho * np.eye(2) + move) - glr.gradient(rho * np.eye(2))
    ratio = np.linalg.norm(change) / np.linalg.norm(move)
    assert ratio == pytest.approx(glr.lipschitz(rho), rel=1e-4)
