"""The closing sentences of a learning run: what its statuses mean, and what to do about a gap."""

from __future__ import annotations

import math
from collections.abc import Collection

from gdaopt.result import Result
from gdaopt.trace import relative_gap

__all__ = ["closing"]

_LARGE = 1e-2
"""An objective that is above its bound by a larger share makes another method worth a word."""

_MEANINGS = {
    "converged": "the certified gap is within the tolerance",
    "stalled": "more steps of this method would not help, most often because the objective hardly "
    "decreases; it need not be the optimum",
    "iteration_limit": "the limit of steps was reached before anything else ended the run",
    "time_limit": "the time limit was reached; a longer one may lead further",
    "interrupted": "the run was stopped; the same command goes on with it",
    "solver_failed": "a solver did not solve a program; another --solver may",
    "left_domain": "a step broke a condition on the metric, or the objective was no number there; "
    "the result is the last metric in order",
    "disconnected": "another step would have disconnected the graph, which the edge floor forbids",
    "infeasible": "the edge floor left a program without a feasible point; a smaller one may not",
}


def closing(results: Collection[Result], method: str, edge_floor: float = 0.0) -> list[str]:
    """Return what the statuses of results mean, and how to reach the optimum where it is far.

    A positive edge floor makes another problem, which `certified` does not solve.

    Examples
    --------
    >>> import gdaopt as gda
    >>> glr = gda.GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
    >>> problem = gda.MetricProblem(glr, gda.GraphMetrics(trace_bound=2.0))
    >>> closing([gda.solve(problem, "certified")], "certified")
    ['converged: the certified gap is within the tolerance']
    """
    statuses = dict.fromkeys(result.status for result in results)
    lines = [f"{status}: {_MEANINGS[status]}" for status in statuses]
    known = [
        _above(result.objective, bound)
        for result in results
        if (bound := result.lower_bound) is not None
    ]
    if method == "certified" or edge_floor:
        return lines
    largest = max(known, default=0.0)
    if largest > _LARGE:
        share = f"up to {largest:.1%} " if largest < math.inf else ""
        lines.append(
            f"objectives are {share}above what is certified; --method certified reaches the "
            "optimum, with a proof of the gap"
        )
    elif len(known) < len(results):
        lines.append("some runs have no certificate; --method certified reaches the optimum")
    return lines


def _above(objective: float, lower_bound: float) -> float:
    """Return by what share of a bound's size an objective is above it.

    It can be far more than the relative gap, which is a share of the objective: here the two have
    changed places.
    """
    return relative_gap(-lower_bound, -objective)
