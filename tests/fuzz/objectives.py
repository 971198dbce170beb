"""Random objectives of every kind, whose minimisers are about as large as a unit says."""

from collections.abc import Callable

import cvxpy as cp
import numpy as np

import gdaopt as gda
from gdaopt.objectives.base import Objective, SumObjective
from gdaopt.objectives.quadratic import Quadratic
from gdaopt.support.validation import FloatArray
from tests.helpers import random_symmetric

__all__ = ["BARRIERS", "OBJECTIVES", "TINY_OBJECTIVES", "objective_of"]

BARRIERS = ("LogDet", "GMML", "expression")
"""Objectives that are infinite on the boundary of the cone."""

_N_SAMPLES = 14


def objective_of(name: str, size: int, unit: float, rng: np.random.Generator) -> Objective:
    """Return a random objective of a kind: one of `OBJECTIVES`.

    The unit is about as large as the entries of the best metric are. Where samples are compared,
    most squared distances are about 1 under the metric ``unit · I``.
    """
    return OBJECTIVES[name](size, unit, rng)


def _samples(size: int, unit: float, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Return samples and the labels ±1, at least four of each."""
    X = rng.standard_normal((_N_SAMPLES, size))
    told = X[:, 0] + 0.5 * rng.standard_normal(_N_SAMPLES)
    y = np.where(told > np.median(told), 1.0, -1.0)
    return X / np.sqrt(2 * size * unit), y


def _scatter(size: int, rng: np.random.Generator) -> FloatArray:
    """Return the covariance matrix of some samples."""
    scatter: FloatArray = np.cov(rng.standard_normal((size + 5, size)).T).reshape(size, size)
    return scatter


def _target(size: int, unit: float, rng: np.random.Generator) -> FloatArray:
    """Return a matrix that is in no set, most often."""
    target: FloatArray = unit * (random_symmetric(rng, size) + np.eye(size))
    return target


def _expression(size: int, unit: float, rng: np.random.Generator) -> gda.CvxpyObjective:
    """Return a log-determinant with a penalty on the entries, in CVXPY's atoms."""
    S, target = _scatter(size, rng) / unit, _target(size, 1.0, rng)
    return gda.CvxpyObjective(
        lambda M: cp.trace(S @ M) - cp.log_det(M) + 0.1 * cp.sum_squares(M / unit - target),
        n_features=size,
    )


def _function(size: int, unit: float, rng: np.random.Generator) -> gda.FunctionObjective:
    """Return the squared distance to a matrix, in units, as a function of arrays."""
    target = _target(size, 1.0, rng)

    def nearest(metric: FloatArray) -> tuple[float, FloatArray]:
        away = metric / unit - target
        return float((away**2).sum()), 2 * away / unit

    return gda.FunctionObjective(
        nearest, size, expression=lambda M: cp.sum_squares(M / unit - target)
    )


def _sum(size: int, unit: float, rng: np.random.Generator) -> SumObjective:
    """Return the sum of two or three terms."""
    terms: dict[str, float] = {
        "GLR": 0.01,
        "MCML": 1.0,
        "PairHinge": 1.0,
        "LogDet": 0.1,
        "Linear": 1.0,
        "Ridge": unit**-2,
    }
    names = rng.choice(list(terms), size=int(rng.integers(2, 4)), replace=False)
    return SumObjective(
        [(terms[str(name)], objective_of(str(name), size, unit, rng)) for name in names]
    )


OBJECTIVES: dict[str, Callable[[int, float, np.random.Generator], Objective]] = {
    "GLR": lambda size, unit, rng: gda.GLR(*_samples(size, unit, rng)),
    "MCML": lambda size, unit, rng: gda.MCML(*_samples(size, unit, rng)),
    "LMNN": lambda size, unit, rng: gda.LMNN(*_samples(size, unit, rng), n_neighbors=2),
    "PairHinge": lambda size, unit, rng: gda.PairHinge(*_samples(size, unit, rng)),
    "LogisticPairs": lambda size, unit, rng: gda.LogisticPairs(*_samples(size, unit, rng)),
    "DEML": lambda size, unit, rng: gda.DEML(*_samples(size, unit, rng)),
    "LSML": lambda size, unit, rng: gda.LSML(*_samples(size, unit, rng), n_quadruplets=20),
    "LogDet": lambda size, unit, rng: gda.LogDet(_scatter(size, rng) / unit),
    "GMML": lambda size, unit, rng: gda.GMML(
        _scatter(size, rng) / unit, _scatter(size, rng) * unit
    ),
    "Ridge": lambda size, unit, rng: gda.Ridge(size),
    "Linear": lambda size, unit, rng: gda.Linear(random_symmetric(rng, size) / unit),
    "Quadratic": lambda size, unit, rng: Quadratic(-_target(size, unit, rng), 1.0),
    "expression": _expression,
    "function": _function,
    "sum": _sum,
}
"""What draws an objective of each kind."""


def _few_samples(size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Return four to eight samples of small integers and their labels, two of each at least."""
    n = int(rng.integers(4, 9))
    X = rng.integers(-3, 4, (n, size)).astype(np.float64)
    X[0, 0], X[1, 0] = X[2, 0] + 1, X[3, 0] + 2  # of different labels, so not all are the same
    y = np.append([1.0, 1.0, -1.0, -1.0], rng.choice([-1.0, 1.0], n - 4))
    return X, y


def _plain_matrix(size: int, rng: np.random.Generator) -> FloatArray:
    """Return a symmetric matrix of small integers; it may be singular or indefinite."""
    half = rng.integers(-2, 3, (size, size)).astype(np.float64)
    if rng.random() < 0.5:
        return half @ half.T
    matrix: FloatArray = np.triu(half) + np.triu(half, 1).T + np.eye(size)
    return matrix


TINY_OBJECTIVES: dict[str, Callable[[int, np.random.Generator], Objective]] = {
    "GLR": lambda size, rng: gda.GLR(*_few_samples(size, rng)),
    "MCML": lambda size, rng: gda.MCML(*_few_samples(size, rng)),
    "LMNN": lambda size, rng: gda.LMNN(*_few_samples(size, rng), n_neighbors=1),
    "PairHinge": lambda size, rng: gda.PairHinge(*_few_samples(size, rng)),
    "LogisticPairs": lambda size, rng: gda.LogisticPairs(*_few_samples(size, rng)),
    "DEML": lambda size, rng: gda.DEML(*_few_samples(size, rng)),
    "LSML": lambda size, rng: gda.LSML(*_few_samples(size, rng), n_quadruplets=20),
    "LogDet": lambda size, rng: gda.LogDet(_plain_matrix(size, rng)),
    "Ridge": lambda size, rng: gda.Ridge(size),
    "Linear": lambda size, rng: gda.Linear(_plain_matrix(size, rng)),
    "Quadratic": lambda size, rng: Quadratic(-_plain_matrix(size, rng), 1.0),
}
"""What draws an objective of few samples and plain numbers."""
