"""Runs whose results and traces are tested."""

from functools import cache
from typing import Any

import numpy as np

import gdaopt as gda


def problem(path_weight: float = 0.0, rho: float = 1e-3) -> gda.MetricProblem:
    """Return a problem of six features whose run takes some rounds."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((30, 6)) / np.sqrt(12)
    z = np.where(X[:, 0] - X[:, 1] + 0.2 * rng.standard_normal(30) > 0, 1.0, -1.0)
    return gda.MetricProblem(gda.GLR(X, z), gda.GraphMetrics(6.0, rho, path_weight))


def solve(**options: Any) -> gda.Result:
    return gda.solve(problem(), "alternating", **({"solver": "analytic"} | options))


@cache
def solved(solver: str) -> gda.Result:
    """Return the run with a solver; it is the same object in every call."""
    return solve(solver=solver)
