"""Rows that minimise the graph Laplacian regulariser: the paper's method, and the optimum."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from gdaopt.errors import GdaoptError
from gdaopt.methods import AlignedMethod, Alternating, Certified, Joint, Method, solve
from gdaopt.objectives import GLR
from gdaopt.problem import MetricProblem
from gdaopt.result import Result
from gdaopt.sets import DiagonalMetrics, FeasibleSet, GraphMetrics, PositiveDefiniteMetrics
from gdaopt.studies.table1.protocol import Protocol
from gdaopt.studies.table1.training import Learned, Training

__all__ = ["by_glr"]

_SETS: dict[str, Callable[[float, float], FeasibleSet]] = {
    "graph": GraphMetrics,
    "diagonal": DiagonalMetrics,
    "definite": PositiveDefiniteMetrics,
}
_ALIGNED: dict[str, type[AlignedMethod]] = {"alternating": Alternating, "joint": Joint}
_ENDS = ("converged", "stalled")


def by_glr(method: str, metrics: str) -> Callable[[Training], Learned]:
    """Return what learns a metric by a method over a set, and certifies it.

    Parameters
    ----------
    method : {"alternating", "joint", "certified"}
        The first two solve their linear programs in closed form.
    metrics : {"graph", "diagonal", "definite"}
        The set.

    Examples
    --------
    >>> import numpy as np
    >>> X, signal = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]]), np.array([[0.0], [1.0], [1.0]])
    >>> training = Training(X, np.full(3, True), signal, 0, Protocol())
    >>> by_glr("certified", "diagonal")(training).facts["status"]
    'converged'
    """

    def learn(training: Training) -> Learned:
        protocol = training.protocol
        feasible = _SETS[metrics](training.trace, protocol.min_eigenvalue)
        problem = MetricProblem(GLR(training.samples, training.signal), feasible)
        result = solve(problem, _method(method, protocol))
        if result.status not in _ENDS:
            raise GdaoptError(f"{method} ended as {result.status}: {result.message}")
        return Learned(result.metric, _facts(result))

    return learn


def _method(name: str, protocol: Protocol) -> Method:
    """Return a method; the trace has its start and its end, which is certified."""
    common: dict[str, Any] = {"tolerance": protocol.tolerance, "trace_every": 0}
    if name == "certified":
        return Certified(**common)
    weight = protocol.initial_edge_weight
    return _ALIGNED[name](solver="analytic", initial_edge_weight=weight, **common)


def _facts(result: Result) -> dict[str, Any]:
    """Return what is known of a metric that minimises GLR, as plain values."""
    gap = result.relative_gap
    return {
        "status": result.status,
        "objective": result.objective,
        "relative_gap": gap if gap is not None and math.isfinite(gap) else None,
        "components": result.components,
        "iterations": result.iterations,
    }
