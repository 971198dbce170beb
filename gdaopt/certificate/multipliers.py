"""Multipliers of the linear constraints: multipliers that make a bound tight, and their checks."""

from __future__ import annotations

import numpy as np

from gdaopt.constraints import LinearProgram
from gdaopt.errors import InvalidInputError, SolverFailedError
from gdaopt.linalg.atoms import Atoms
from gdaopt.objectives.protocol import Point
from gdaopt.problem import MetricProblem
from gdaopt.support.validation import FloatArray, finite_array

__all__ = ["TightMultipliers", "checked_multipliers"]

_SHARE = 0.01  # of the gap: how near to the best bound that with these multipliers has to be
_NEGLIGIBLE = 1e-9  # of the objective: so small a gap need not be closer to the smallest


class TightMultipliers:
    """Finds the multipliers that make the bound at a point nearly as large as it can be.

    Successive points should be near to each other: each search starts from `atoms`, those of the
    members that minimise the tangent at the last point ("Algorithm: column generation").
    """

    def __init__(self, problem: MetricProblem) -> None:
        self._problem = problem
        self.atoms: Atoms | None = None
        rows = problem.rows
        self._last = None if rows is None else np.zeros(len(rows))

    def at(self, point: Point) -> FloatArray | None:
        """Return the multipliers, or None for a problem without linear constraints."""
        problem, presolved = self._problem, self._problem.presolved
        if presolved is None:
            return None
        gradient = point.gradient()
        base = problem.feasible_set.base(problem.n_features)
        here = float(np.vdot(gradient, point.metric - base))
        negligible = _NEGLIGIBLE * abs(point.value)
        try:
            program = LinearProgram(problem.feasible_set, presolved.rows, gradient=gradient)
            solution = program.solve(
                presolved.atoms if self.atoms is None else self.atoms,
                lambda value, bound: value - bound <= _SHARE * max(here - value, 0.0) + negligible,
            )
        except SolverFailedError:  # HiGHS, on a program at the limit of its accuracy
            return self._last  # any multipliers give a bound
        self.atoms, self._last = solution.atoms, presolved.as_written(solution.multipliers)
        return self._last


def checked_multipliers(problem: MetricProblem, multipliers: FloatArray) -> FloatArray:
    """Return multipliers that fit the constraints of a problem; refuse others."""
    found = finite_array("multipliers", multipliers, ndim=1)
    rows = problem.rows
    n_rows = 0 if rows is None else len(rows)
    if len(found) != n_rows:
        raise InvalidInputError(
            f"multipliers has {len(found)} entries, and the problem has {n_rows} linear constraints"
        )
    if rows is not None:
        for k in np.flatnonzero(~rows.is_equality & (found < 0)):
            raise InvalidInputError(
                f"the multiplier of {rows.names[k]} is {found[k]:g}; those of inequalities must be "
                "≥ 0"
            )
    return found
