"""Rows that minimise an objective over a set: the paper's method, and certified optima."""

import math
from collections.abc import Callable
from typing import Any

from experiments.table1.protocol import Protocol
from experiments.table1.training import Learned, Training
from gdaopt.errors import GdaoptError
from gdaopt.methods import Method
from gdaopt.methods.solve import make_method
from gdaopt.objectives import OBJECTIVES
from gdaopt.problem import MetricProblem
from gdaopt.result import Result
from gdaopt.sets import SETS
from gdaopt.solving import solve
from gdaopt.status import MADE_NO_PROGRESS

_ALIGNED = ("alternating", "joint")  # methods that begin at the path start and solve programs
_ENDS = MADE_NO_PROGRESS | {"converged"}


def by_objective(objective: str, method: str, kind: str) -> Callable[[Training], Learned]:
    """Return the function that learns a metric by a method over a set, and certifies it.

    Objective and set are given by the names that `gdaopt.objectives.OBJECTIVES` and
    `gdaopt.sets.SETS` have. Methods that solve linear programs solve them in closed form.
    """

    def learn(training: Training) -> Learned:
        protocol = training.protocol
        feasible_set = SETS[kind].for_signal(
            training.samples,
            training.signal,
            trace_bound=training.trace_bound,
            min_eigenvalue=protocol.min_eigenvalue,
        )
        labels = training.signal if objective == "glr" else training.labels
        made = OBJECTIVES[objective](training.samples, labels)
        problem = MetricProblem(made, feasible_set)
        result = solve(problem, _method(method, protocol, problem))
        if result.status not in _ENDS:
            raise GdaoptError(f"{method} ended as {result.status}: {result.message}")
        return Learned(result.metric, _facts(result))

    return learn


def _method(name: str, protocol: Protocol, problem: MetricProblem) -> Method:
    """Return a method whose trace holds the start and the end only; the end is certified."""
    options: dict[str, Any] = {"tolerance": protocol.tolerance, "trace_every": 0}
    if name in _ALIGNED:
        graphs: Any = problem.feasible_set
        start = graphs.start(problem.n_features, protocol.initial_edge_weight)
        options |= {"solver": "analytic", "initial": start}
    return make_method(name, **options)


def _facts(result: Result) -> dict[str, Any]:
    """Return what is known of a metric that minimises an objective, as plain values."""
    gap = result.relative_gap
    return {
        "status": result.status,
        "objective": result.objective,
        "relative_gap": gap if gap is not None and math.isfinite(gap) else None,
        "components": result.components,
        "iterations": result.iterations,
    }
