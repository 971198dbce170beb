"""One run of a comparison: the function of its task."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from gdaopt.datasets import Dataset
from gdaopt.methods import solve
from gdaopt.studies.learning import LearningOptions
from gdaopt.studies.method_spec import Combination
from gdaopt.support.processes import peak_memory

__all__ = ["solve_task"]


def solve_task(
    path: Path, dataset: Dataset, options: LearningOptions, positive: str, pair: Combination
) -> dict[str, Any]:
    """Solve the problem of a class, save the result, and return the row.

    Parameters
    ----------
    path : pathlib.Path
        The path of the task's files, without their ending.
    dataset, options, positive
        The data, what defines the problem, and the class.
    pair : Combination
        The method with its solver.

    Returns
    -------
    dict
        Plain values: the columns of the comparison's table.
    """
    problem = options.problem(dataset, positive)
    result = solve(problem, pair.method)
    result.save(path)
    smallest = result.trace[-1].lambda_min
    gap = result.relative_gap
    return {
        "objective": result.objective,
        "lower_bound": result.lower_bound,
        "relative_gap": gap if gap is not None and math.isfinite(gap) else None,
        "eigenvalue_slack": (
            None if smallest is None else smallest - problem.feasible_set.min_eigenvalue
        ),
        "components": result.components,
        "edges": problem.feasible_set.n_edges(result.metric),
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
