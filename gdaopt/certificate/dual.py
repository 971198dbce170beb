"""Lower bounds by the dual problem, for objectives with a barrier.

For ``Q(M) = ⟨S, M⟩ + φ(M)``, φ infinite where M is not positive definite, each matrix W whose
difference from S favours no member of the set gives a lower bound ("Proposition: dual
certificate"). Near the optimum it is sharper than that of a tangent, and it needs no trace bound.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from gdaopt.certificate.tangent import Bound
from gdaopt.objectives.protocol import BarrierPoint, Point
from gdaopt.objectives.round_off import UNIT
from gdaopt.problem import MetricProblem

_AT_BOUND = 1e-6  # of the trace bound: with a trace so near to it, it may bind


def dual_bound(problem: MetricProblem, point: Point) -> Bound:
    """Return the bound of the gradient's dual matrix, clipped; -inf where that is not definite.

    The objective has a barrier, the problem no linear constraints, and the metric may be any
    positive definite one.
    """
    barrier, feasible_set = cast(BarrierPoint, point), problem.feasible_set
    metric, linear, gradient = point.metric, barrier.linear, point.gradient()
    base = feasible_set.base(len(metric))
    multiplier = trace_multiplier(problem, point)
    # Less its nearest matrix in the cone, a matrix favours nothing in the cone.
    excess = -gradient - feasible_set.family.with_feasible_entries(-gradient)
    dual = linear + excess
    dual.flat[:: len(dual) + 1] += multiplier
    value, rounded = barrier.conjugate(dual)
    of_base, of_trace = float(np.vdot(excess, base)), multiplier * feasible_set.trace_bound
    # The sums of W are rounded, too: off the diagonal that keeps the signs of the excess, and on it
    # W is S where the multiplier is 0.
    of_sums = np.abs(excess) + np.abs(dual)
    sizes = (len(dual) ** 2 + 8) * float(np.vdot(np.abs(base), of_sums))
    if multiplier:
        sizes += 8 * feasible_set.trace_bound * float(np.diagonal(dual).max())
    rounded += UNIT * (sizes + 4 * abs(value))
    return Bound(value - of_base - of_trace - rounded, rounded)


def trace_multiplier(problem: MetricProblem, point: Point) -> float:
    """Return an estimate of the trace bound's multiplier, 0 where the trace is not at the bound."""
    diagonal = np.diagonal(point.metric)
    if diagonal.sum() < (1 - _AT_BOUND) * problem.feasible_set.trace_bound:
        return 0.0
    return max(0.0, -float(np.diagonal(point.gradient()) @ diagonal / diagonal.sum()))
