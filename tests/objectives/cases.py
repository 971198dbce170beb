"""What tests of objectives share: literal formulas, signals, samples, directions."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp

import gdaopt as gda
from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.directions import (
    AtomsDirection,
    ColumnDirection,
    DenseDirection,
    DiagonalDirection,
    Direction,
)
from gdaopt.objectives import PairObjective
from gdaopt.support.validation import FloatArray
from tests.helpers import random_symmetric

N, K = 40, 4


def within(memory_limit: int, make: Callable[[], Any]) -> Any:
    """Return an objective of pairs whose numbers may take so many bytes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PairObjective, "memory_limit", memory_limit)
        return make()


@dataclass
class Naive:
    """The literal N²×K² formulas of "Definition: graph Laplacian regulariser"."""

    X: FloatArray
    z: FloatArray

    def __post_init__(self) -> None:
        self.differences = self.X[:, None, :] - self.X[None, :, :]
        signal = self.z.reshape(len(self.z), -1)
        self.weights = ((signal[:, None, :] - signal[None, :, :]) ** 2).sum(axis=2)

    def distances(self, metric: FloatArray) -> FloatArray:
        """Return ``δ_ij``."""
        forms: FloatArray = np.einsum("ijk,kl,ijl->ij", self.differences, metric, self.differences)
        return forms

    def moment(self, metric: FloatArray, factor: FloatArray) -> FloatArray:
        """Return ``Σ_ij exp(-δ_ij) ‖z_i - z_j‖² factor_ij d_ij d_ij'``."""
        terms = np.exp(-self.distances(metric)) * self.weights * factor
        total: FloatArray = np.einsum("ij,ijk,ijl->kl", terms, self.differences, self.differences)
        return total

    def value(self, metric: FloatArray) -> float:
        """Return Q."""
        return float((np.exp(-self.distances(metric)) * self.weights).sum())

    def gradient(self, metric: FloatArray) -> FloatArray:
        """Return ∇Q."""
        return -self.moment(metric, np.ones_like(self.weights))

    def hessian_product(self, metric: FloatArray, direction: FloatArray) -> FloatArray:
        """Return ∇²Q[D]."""
        return self.moment(metric, self.distances(direction))

    def log_value(self, metric: FloatArray) -> float:
        """Return log Q, safe from underflow."""
        return float(logsumexp(-self.distances(metric), b=self.weights))


def signals(rng: np.random.Generator) -> dict[str, FloatArray]:
    """Return signals of N samples of each kind that the pairs tell apart."""
    return {
        "labels": np.where(rng.random(N) < 0.3, 1.0, -1.0),
        "three levels": rng.choice([0.0, 1.0, 5.0], N),
        "many levels": np.resize(np.arange(20.0), N),
        "real": rng.standard_normal(N),
        "columns": rng.standard_normal((N, 3)),
        "one-hot": np.eye(3)[rng.integers(3, size=N)],
    }


def samples(rng: np.random.Generator) -> FloatArray:
    """Return samples with duplicates and a column that hardly varies."""
    X: FloatArray = rng.standard_normal((N, K)) * np.array([1.0, 0.5, 2.0, 1e-6]) + 10.0
    X[1] = X[0]
    X[-5:] = X[3]
    return X


SIGNALS = list(signals(np.random.default_rng(0)))


TWO_SPARSE = np.array([[0.6, -0.8], [1.0, 0.0]])


def directions(rng: np.random.Generator) -> list[Direction]:
    """Return one direction of each kind."""
    change = rng.standard_normal(K)
    column = np.where(np.arange(K) == 1, 0.0, change)
    return [
        DiagonalDirection(np.where(np.arange(K) == 2, 0.0, change)),
        ColumnDirection(1, column),
        AtomsDirection(np.array([0.7, -0.2]), Atoms(np.array([[3, 0], [0, 0]]), TWO_SPARSE)),
        AtomsDirection(np.array([-0.3]), Atoms.of_vectors(change[None])),
        DenseDirection(random_symmetric(rng, K)),
    ]


def assert_near(found: Any, expected: Any, tolerance: float = 1e-12) -> None:
    """Assert a difference within `tolerance` of the largest entry of what is expected."""
    largest = float(np.abs(expected).max())
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * largest)


class LogDet(gda.DenseObjective):
    """``tr(SM) - log det M``: no function of distances."""

    def __init__(self, covariance: FloatArray) -> None:
        super().__init__(n_features=len(covariance))
        self.covariance = covariance

    def value(self, metric: FloatArray) -> float:
        sign, logdet = np.linalg.slogdet(metric)
        return float(np.vdot(self.covariance, metric) - logdet) if sign > 0 else math.inf

    def gradient(self, metric: FloatArray) -> FloatArray:
        gradient: FloatArray = self.covariance - np.linalg.inv(metric)
        return (gradient + gradient.T) / 2
