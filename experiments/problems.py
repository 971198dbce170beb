"""The problems that several experiments share: of data sets, their halves, and a synthetic one."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import gdaopt as gda
from gdaopt.datasets import load, scale_features
from gdaopt.support.validation import FloatArray

SEED = 0
RHO = 1e-6

Data = tuple[FloatArray, FloatArray]


def half(source: str, positive: str) -> Data:
    """Return half of the samples of a data set, scaled, and a class against the rest."""
    dataset = load(source)
    X, z = scale_features(dataset.features), dataset.signal(positive)
    chosen = np.random.default_rng(SEED).permutation(len(X))[: len(X) // 2]
    return X[chosen], z[chosen]


def synthetic() -> Data:
    """Return 25 + 35 samples of 50 features: two Gaussian clouds, apart in five features."""
    rng = np.random.default_rng(SEED)
    X = rng.standard_normal((60, 50))
    z = np.where(np.arange(60) < 25, 1.0, -1.0)
    X[z > 0, :5] += 1.5
    return X / math.sqrt(2 * 50), z


def wine(class_name: str) -> gda.MetricProblem:
    """Return the problem of a class of wine, K = 13."""
    data = load("wine")
    glr = gda.GLR(scale_features(data.features), data.signal(class_name))
    return gda.MetricProblem(glr, gda.GraphMetrics(trace_bound=13.0, min_eigenvalue=RHO))


def problem_of(data: Data, times_k: float = 1.0, rho: float = RHO) -> gda.MetricProblem:
    """Return GLR over graph metrics with C = `times_k` · K."""
    X, z = data
    return gda.MetricProblem(gda.GLR(X, z), gda.GraphMetrics(times_k * X.shape[1], rho))


@dataclass(frozen=True)
class Case:
    """A problem of a known name."""

    name: str
    data: Callable[[], Data]


CASES = (
    Case("iris versicolor", lambda: half("iris", "versicolor")),
    Case("wine class_0", lambda: half("wine", "class_0")),
    Case("wine class_1", lambda: half("wine", "class_1")),
    Case("breast_cancer malignant", lambda: half("breast_cancer", "malignant")),
    Case("synthetic, K = 50", synthetic),
)
