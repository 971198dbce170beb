"""Methods over the convex hull of a set, stopped by the certificate of its exact oracle."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gdaopt.errors import InvalidInputError
from gdaopt.methods.base import Method, check_start
from gdaopt.objectives.protocol import Point
from gdaopt.problem import MetricProblem
from gdaopt.sets import FeasibleSet
from gdaopt.validation import FloatArray

__all__ = ["WholeSetMethod"]


@dataclass(frozen=True, kw_only=True, eq=False)
class WholeSetMethod(Method):
    """A method over any set. With an edge floor it stays in the hull of the fixed path."""

    def lower_bounded_set(self, problem: MetricProblem) -> FeasibleSet:
        """Return the hull itself."""
        return problem.feasible_set

    def initial_metric(self, problem: MetricProblem) -> FloatArray | None:
        """Return `initial`, checked and repaired into the hull; None when there is none."""
        initial = super().initial_metric(problem)
        if initial is not None:
            violations = problem.feasible_set.hull_violations(initial)
            if violations:
                raise InvalidInputError(
                    f"method {self.name!r} starts in the convex hull of the atoms, and initial is "
                    f"not in it: {'; '.join(violations)}"
                )
        return initial

    def start_point(self, problem: MetricProblem) -> Point:
        """Return the objective at `initial`, or in the middle of the set: ``B + (τ/K) I``."""
        metric = self.initial_metric(problem)
        if metric is None:
            feasible_set, size = problem.feasible_set, problem.n_features
            metric = feasible_set.base(size) + feasible_set.budget(size) / size * np.eye(size)
        point = problem.objective.at(metric)
        check_start(point)
        return point
