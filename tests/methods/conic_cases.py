"""Small problems for conic methods."""

from __future__ import annotations

import gdaopt as gda
from tests.methods.certified_cases import set_of, synthetic


def objective_of(name: str, size: int, n_samples: int = 10) -> gda.GLR | gda.LogDet:
    X, z = synthetic(size, n_samples)
    return gda.GLR(2 * X, z) if name == "glr" else gda.LogDet(X.T @ X / n_samples)


def small(kind: str = "graph", floor: float = 0.0, size: int = 3) -> gda.MetricProblem:
    feasible_set = set_of(kind, size, float(size), 1e-2, floor)
    return gda.MetricProblem(objective_of("glr", size), feasible_set)
