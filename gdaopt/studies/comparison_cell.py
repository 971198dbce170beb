"""One run of a comparison: what the process of a cell does."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from gdaopt.datasets import Dataset
from gdaopt.methods import solve
from gdaopt.problem import MetricProblem
from gdaopt.processes import peak_memory
from gdaopt.result import Result
from gdaopt.sets import FeasibleSet, GraphMetrics, SignedGraphMetrics
from gdaopt.studies.learning import LearningOptions
from gdaopt.studies.method_spec import Combination

__all__ = ["solve_cell"]

_EDGE_COUNTS = 1e-9  # of C/K, in sets that do not say what counts


def solve_cell(
    path: Path, dataset: Dataset, options: LearningOptions, positive: str, pair: Combination
) -> dict[str, Any]:
    """Solve the problem of a class, save the result, and return its row: the function of a cell.

    Parameters
    ----------
    path : pathlib.Path
        Of the cell's files, without their ending.
    dataset, options, positive
        The data, what defines the problem, and the class.
    pair : Combination
        The method with its solver.
    """
    problem = options.problem(dataset, positive)
    result = solve(problem, pair.method)
    result.save(path)
    smallest = result.trace[-1].lambda_min
    assert smallest is not None  # of a row that the tracer measured
    gap = result.relative_gap
    return {
        "objective": result.objective,
        "lower_bound": result.lower_bound,
        "closed_lower_bound": result.closed_lower_bound,
        "relative_gap": gap if gap is not None and math.isfinite(gap) else None,
        "eigenvalue_slack": smallest - problem.feasible_set.min_eigenvalue,
        "components": result.components,
        "edges": _n_edges(problem, result),
        "seconds": result.seconds,
        "tracing_seconds": result.tracing_seconds,
        "iterations": result.iterations,
        "oracle_calls": result.oracle_calls,
        "eigen_decompositions": result.eigen_decompositions,
        "repair_distance": result.repair_distance,
        "peak_memory": peak_memory(),
        "status": result.status,
        "message": result.message,
    }


def _n_edges(problem: MetricProblem, result: Result) -> int:
    """Return the number of edges that count, of either sign."""
    size = problem.n_features
    weights = np.abs(result.metric[np.triu_indices(size, 1)])
    return int(np.count_nonzero(weights > _threshold(problem.feasible_set, size)))


def _threshold(feasible_set: FeasibleSet, size: int) -> float:
    """Return the weight above which an edge counts."""
    if isinstance(feasible_set, SignedGraphMetrics):
        return feasible_set.unsigned.edge_threshold(size)
    if isinstance(feasible_set, GraphMetrics):
        return feasible_set.edge_threshold(size)
    return _EDGE_COUNTS * feasible_set.trace_bound / size
