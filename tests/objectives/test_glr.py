"""The graph Laplacian regulariser where it leaves floating point, and what its reasons advise."""

import math
import re

import numpy as np
import pytest
from scipy.special import logsumexp

import gdaopt as gda
from gdaopt.datasets import load
from gdaopt.errors import InvalidInputError
from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.directions import DenseDirection
from gdaopt.support.validation import FloatArray
from tests.objectives.cases import N_GLR, K, assert_near, glr_samples, signals


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(1)


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
        atoms = Atoms.of_vectors(np.linalg.qr(X.T @ X)[0])
        slopes = glr.at(self.metric).logarithm().slopes(atoms)
        assert_near(slopes, atoms.quadratic_forms(expected), 1e-9)

    def test_following_the_advice_makes_it_usable(
        self, raw_wine: tuple[FloatArray, FloatArray]
    ) -> None:
        says = r"the objective is 0 in floating point or nearly so \(log Q is -"
        assert_advice_helps(says, *raw_wine, self.metric)

    @pytest.mark.parametrize("scale", [1e-147, 1e-163, 1e-250])
    def test_a_gradient_that_underflows(self, scale: float, rng: np.random.Generator) -> None:
        X, z = scale * rng.standard_normal((N_GLR, K)), signals(rng)["labels"]
        assert_advice_helps(GRADIENT, X, z, np.eye(K))

    def test_a_gradient_of_coinciding_samples_alone(
        self, raw_wine: tuple[FloatArray, FloatArray]
    ) -> None:
        """Q > 0 by samples that coincide across labels; the gradient holds only round-off."""
        X, z = np.concatenate([raw_wine[0], raw_wine[0][:3]]), np.r_[raw_wine[1], -raw_wine[1][:3]]
        assert gda.GLR(X, z).value(self.metric) == pytest.approx(2 * 3 * 4)
        assert_advice_helps(GRADIENT, X, z, self.metric)

    @pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
    def test_units_of_features_do_not_matter(
        self, raw_wine: tuple[FloatArray, FloatArray], unit: float
    ) -> None:
        X, z = np.concatenate([raw_wine[0], raw_wine[0][:3]]), np.r_[raw_wine[1], -raw_wine[1][:3]]
        metric = np.asarray(self.metric)
        lost = gda.GLR(unit * X, z).at(metric / unit**2).degenerate_reason()
        assert (lost or "").startswith(GRADIENT)
        # Two near samples far from two that coincide: what is small is no round-off.
        X = np.array([[1e8, 0.0], [1e8, 0.0], [0.0, 0.0], [1.0, 0.0]])
        point = gda.GLR(unit * X, [1, -1, 1, -1]).at(np.eye(2) / unit**2)
        assert point.degenerate_reason() is None
        assert unit**-2 * point.gradient()[0, 0] == pytest.approx(-8 * math.exp(-1))

    def test_a_metric_that_tells_few_samples_apart(self, rng: np.random.Generator) -> None:
        """Q is flat beside its value, and its gradient has all of its digits."""
        glr = gda.GLR(rng.standard_normal((N_GLR, K)), signals(rng)["labels"])
        assert glr.at(1e-20 * np.eye(K)).degenerate_reason() is None

    @pytest.mark.parametrize("value", [0.0, 1.0, 0.1])
    def test_coinciding_samples(self, value: float) -> None:
        glr = gda.GLR(np.full((7, 2), value), [1, 1, 1, -1, -1, -1, -1])
        assert (glr.at(np.eye(2)).degenerate_reason() or "").startswith("all samples coincide")


GRADIENT = "the gradient of the objective is 0 in floating point"


def assert_advice_helps(says: str, X: FloatArray, z: FloatArray, metric: FloatArray) -> None:
    """Assert that multiplying by the numbers of the message makes the objective usable."""
    message = gda.GLR(X, z).at(metric).degenerate_reason() or ""
    match = re.match(rf"{says}.*multiply the features by about ([-+.e\d]+)", message)
    assert match is not None, message
    glr = gda.GLR(float(match[1]) * X, z)
    assert glr.at(metric).degenerate_reason() is None
    assert glr.value(metric) > 1e-3 * glr.value(np.zeros_like(metric))
    match = re.search(r"the smallest eigenvalue by about ([-+.e\d]+)", message)
    if match is not None:
        assert gda.GLR(X, z).at(float(match[1]) * metric).degenerate_reason() is None


class TestOverflow:
    """Far outside of the cone distances are below -709."""

    def test_all_is_infinite_but_the_logarithm(self, rng: np.random.Generator) -> None:
        glr, down = gda.GLR(glr_samples(rng), signals(rng)["labels"]), DenseDirection(-np.eye(K))
        assert glr.value(-1e4 * np.eye(K)) == math.inf
        assert math.isfinite(glr.log_value(-1e4 * np.eye(K)))
        point = glr.at(np.eye(K))
        assert point.line(down).value(1e4) == point.line(down).at(1e4).value == math.inf
        assert not math.isfinite(point.line(down).derivatives(1e4)[0])

    @pytest.mark.parametrize("scale", [1e-170, 1e170])
    @pytest.mark.parametrize("name", ["labels", "real", "columns"])
    def test_signals_whose_squares_leave_floating_point_are_refused(
        self, scale: float, name: str, rng: np.random.Generator
    ) -> None:
        with pytest.raises(InvalidInputError, match=r"z spans about .*; rescale z"):
            gda.GLR(glr_samples(rng), scale * signals(rng)[name])
