"""The closing sentences of a learning run: what its statuses mean, and what to do about a gap."""

from __future__ import annotations

from collections.abc import Collection

from gdaopt.result import Result

__all__ = ["closing"]

_LARGE = 1e-2
"""A relative gap above which another method is worth a word."""

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

    Parameters
    ----------
    results : collection of Result
        Those of a run.
    method : str
        The name of its method.
    edge_floor : float, optional
        ε of its method. A positive one makes another problem, which `certified` does not solve.

    Returns
    -------
    list of str

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
    gaps = [result.relative_gap for result in results]
    largest = max((gap for gap in gaps if gap is not None), default=None)
    unknown = len(gaps) > sum(gap is not None for gap in gaps)
    if method == "certified" or edge_floor:
        return lines
    if largest is not None and largest > _LARGE:
        lines.append(
            f"objectives are up to {largest:.1%} above what is certified; --method certified "
            "reaches the optimum, with a proof of the gap"
        )
    elif unknown:
        lines.append("some runs have no certificate; --method certified reaches the optimum")
    return lines
