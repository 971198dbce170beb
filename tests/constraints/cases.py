"""Random problems with linear constraints, most of which are active at the optimum."""

from dataclasses import dataclass
from functools import cached_property

import cvxpy as cp
import numpy as np

import gdaopt as gda
from gdaopt.support.validation import FloatArray
from tests.helpers import random_symmetric
from tests.methods.certified_cases import KINDS, Nearest, set_of

__all__ = ["RandomCase"]

_OBJECTIVES = ("glr", "log_det", "dense")


@dataclass(frozen=True)
class RandomCase:
    """A problem made from a seed: objective, set, 1 to 6 rows, some redundant, some equalities.

    A member between the optimum without rows and the middle of the set keeps all rows with
    equality, and the optimum breaks them: so the problem is feasible, and most rows are active.
    """

    seed: int

    @property
    def kind(self) -> str:
        return KINDS[self.seed % len(KINDS)]

    @cached_property
    def _made(self) -> tuple[gda.MetricProblem, list[tuple[FloatArray, float, bool]]]:
        rng = np.random.default_rng(self.seed)
        size = int(rng.integers(2, 9))
        trace_bound = float(size * 10 ** rng.uniform(-1, 1))
        unit = trace_bound / size
        rho = float(rng.choice([0.0, 1e-3, 1e-2])) * unit
        feasible_set = set_of(self.kind, size, trace_bound, rho)
        X = rng.standard_normal((4 * size + 10, size))
        z = np.sign(X[:, 0] + 0.5 * rng.standard_normal(len(X)))
        objective: gda.GLR | gda.LogDet | Nearest
        match _OBJECTIVES[int(rng.integers(3))]:
            case "glr":
                objective = gda.GLR(X / np.sqrt(2 * trace_bound), z)
            case "log_det":
                objective = gda.LogDet(np.cov(X.T) / unit)
            case _:
                objective = Nearest(2 * unit * (random_symmetric(rng, size) + np.eye(size)))
        free = gda.MetricProblem(objective, feasible_set)
        optimum = gda.solve(free, "certified").metric
        middle = feasible_set.base(size) + feasible_set.budget(size) / size * 0.8 * np.eye(size)
        inside = (optimum + middle) / 2
        rows: list[tuple[FloatArray, float, bool]] = []
        for _ in range(int(rng.integers(1, 7))):
            matrix = random_symmetric(rng, size)
            if rng.random() < 0.5:  # a single entry
                matrix = np.zeros((size, size))
                i, j = rng.integers(size, size=2)
                matrix[i, j] = matrix[j, i] = 1.0
            if rows and rng.random() < 0.15:  # one that is there already
                matrix = 2 * rows[-1][0]
            if np.vdot(matrix, optimum) < np.vdot(matrix, inside):
                matrix = -matrix
            rows.append((matrix, float(np.vdot(matrix, inside)), bool(rng.random() < 0.25)))
        return free, rows

    @property
    def free(self) -> gda.MetricProblem:
        """The problem without rows."""
        return self._made[0]

    def constraints(self, metric: cp.Expression) -> list[cp.Constraint]:
        found = []
        for matrix, bound, is_equality in self._made[1]:
            left = cp.sum(cp.multiply(matrix, metric))
            found.append(left == bound if is_equality else left <= bound)
        return found

    @cached_property
    def problem(self) -> gda.MetricProblem:
        return gda.MetricProblem(
            self.free.objective, self.free.feasible_set, constraints=self.constraints
        )
