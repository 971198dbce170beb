"""The graph Laplacian regulariser: logarithms, lines over decades, many moves, limits."""

import itertools
import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp

import gdaopt as gda
from gdaopt.datasets import load
from gdaopt.errors import InvalidInputError
from gdaopt.linalg.directions import DenseDirection, DiagonalDirection
from gdaopt.objectives import PairPoint
from gdaopt.support.validation import FloatArray
from tests.helpers import PROPERTY, generators, random_metric
from tests.objectives.cases import (
    GLR_CASES,
    N_GLR,
    STORAGE,
    Case,
    K,
    assert_near,
    atoms_of,
    directions,
    glr_samples,
    signals,
    stored,
)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(1)


@pytest.fixture(params=GLR_CASES)
def case(request: pytest.FixtureRequest) -> Case:
    return GLR_CASES[request.param]


@pytest.fixture(params=STORAGE)
def glr(case: Case, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    return stored(request.param, case, monkeypatch)


@pytest.fixture
def metric(rng: np.random.Generator) -> FloatArray:
    return random_metric(rng, K)


class TestLogarithm:
    def test_derivatives(
        self, glr: gda.GLR, case: Case, metric: FloatArray, rng: np.random.Generator
    ) -> None:
        value, gradient = case.value(metric), glr.gradient(metric)
        assert glr.log_value(metric) == pytest.approx(math.log(value), rel=1e-13)
        assert_near(glr.log_gradient(metric), gradient / value)
        for kind in ("dense", "two-sparse"):
            atoms, point = atoms_of(kind, rng), glr.at(metric)
            found, slopes = point.logarithm(), atoms.quadratic_forms(gradient) / value
            assert_near(found.slopes(atoms), slopes)
            curvature = point.curvature(atoms) / value - np.outer(slopes, slopes)
            assert_near(found.curvature(atoms), curvature, 1e-10)

    def test_balance_of_lines(self, glr: gda.GLR, metric: FloatArray) -> None:
        """``φ' = (e^h - 1) f``: h and the slope have one sign, and h' is its derivative."""
        change = DiagonalDirection(np.array([1.0, -0.5, 0.3, 0.0]))
        line: Any = glr.at(metric).line(change)
        for gamma in (-0.1, 0.0, 0.2):
            h, rate = line.balance(gamma)
            assert np.sign(h) == np.sign(line.derivatives(gamma)[0])
            ends = [line.balance(gamma + step)[0] for step in (-1e-5, 1e-5)]
            assert rate == pytest.approx((ends[1] - ends[0]) / 2e-5, rel=1e-6)
        falling: Any = glr.at(metric).line(DiagonalDirection(np.ones(K)))
        assert falling.balance(0.0)[0] == -math.inf


class TestMoves:
    @pytest.mark.covering(1)
    def test_200_moves(self, glr: gda.GLR, metric: FloatArray, rng: np.random.Generator) -> None:
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


def test_round_off_counts_the_digits_that_distances_lose(rng: np.random.Generator) -> None:
    """Of two groups far apart, only pairs within a group count."""
    X, z = rng.standard_normal((30, K)), np.resize([1.0, -1.0], 30)
    X[:15, 0] += 1e3
    metric = random_metric(rng, K)
    point = gda.GLR(X, z).at(metric)
    exact = Case(gda.GLR, GLR_CASES["GLR, labels"].formula, X=X, y=z).value(metric, np.longdouble)
    assert 1e-13 * exact < abs(point.value - exact) <= point.round_off().value < 1e-6 * exact


@PROPERTY
@given(
    rng=generators, offset=st.floats(-100, 100), factor=st.floats(1e-6, 1e6), labels=st.booleans()
)
def test_units_order_and_signs_have_no_meaning(
    rng: np.random.Generator, offset: float, factor: float, labels: bool
) -> None:
    X, z, metric = rng.standard_normal((9, 3)), rng.standard_normal(9), random_metric(rng, 3)
    z = np.where(z > np.median(z), 1.0, -1.0) if labels else z
    order, sign = rng.permutation(9), rng.choice([-1.0, 1.0])
    one, other = gda.GLR(X, z), gda.GLR(factor * (X[order] + offset), sign * z[order])
    assert other.value(metric / factor**2) == pytest.approx(one.value(metric), rel=1e-10)
    scaled = factor**-2 * other.gradient(metric / factor**2)
    assert_near(scaled, one.gradient(metric), 1e-10)


@pytest.fixture(scope="module")
def raw_wine() -> tuple[FloatArray, FloatArray]:
    wine = load("wine")
    return wine.features, wine.signal("class_1")


class TestUnderflow:
    """Raw wine at M = 100·I: every distance is above 745."""

    metric = 100 * np.eye(13)

    def test_logarithm_is_a_softmax(self, raw_wine: tuple[FloatArray, FloatArray]) -> None:
        (X, z), glr = raw_wine, gda.GLR(*raw_wine)
        differences, weights = X[:, None] - X[None], np.subtract.outer(z, z) ** 2
        exponents = -np.einsum("ijk,kl,ijl->ij", differences, self.metric, differences)
        log_value = logsumexp(exponents, b=weights)
        assert glr.value(self.metric) == 0
        assert glr.log_value(self.metric) == pytest.approx(log_value, rel=1e-12)
        with np.errstate(divide="ignore"):
            share = np.exp(exponents + np.log(weights) - log_value)
        expected = -np.einsum("ij,ijk,ijl->kl", share, differences, differences)
        assert_near(glr.log_gradient(self.metric), expected, 1e-9)

    def test_following_the_advice_makes_it_usable(
        self, raw_wine: tuple[FloatArray, FloatArray]
    ) -> None:
        X, z = raw_wine
        message = gda.GLR(X, z).at(self.metric).vanished()
        assert message is not None
        assert message.startswith("the objective is 0 in floating point or nearly so (log Q is -")
        assert_advice_helps(message, X, z, self.metric)

    @pytest.mark.parametrize("scale", [1e-147, 1e-163, 1e-250])
    def test_a_gradient_that_underflows(self, scale: float, rng: np.random.Generator) -> None:
        X, z = scale * rng.standard_normal((N_GLR, K)), signals(rng)["labels"]
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
        X = scale * rng.standard_normal((N_GLR, K))
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
        return gda.GLR(glr_samples(rng), signals(rng)["labels"]).at(np.eye(K))

    def test_value_is_infinite(self, rng: np.random.Generator) -> None:
        glr, far = gda.GLR(glr_samples(rng), signals(rng)["labels"]), -1e4 * np.eye(K)
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
            gda.GLR(glr_samples(rng), scale * signals(rng)[name])


def test_the_lipschitz_constant_is_sharp() -> None:
    """One pair, at M = ρI, along dd': no smaller constant would do."""
    glr, rho, d = gda.GLR([[0.0, 0.0], [1.0, 2.0]], [1, -1]), 0.1, np.array([1.0, 2.0])
    move = 1e-6 * np.outer(d, d)
    change = glr.gradient(rho * np.eye(2) + move) - glr.gradient(rho * np.eye(2))
    ratio = np.linalg.norm(change) / np.linalg.norm(move)
    assert ratio == pytest.approx(glr.lipschitz(rho), rel=1e-4)
