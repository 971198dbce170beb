"""Multipliers of linear constraints: tight ones for a metric, and the smallest of these.

Any multipliers give a lower bound ("Proposition: certificate with linear constraints"). Column
generation finds some whose bound is nearly the best. Where the constraints leave them a choice, as
at an edge of the set, the smallest ones are rates: they say how the optimum moves.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gdaopt.constraints.column_generation import LinearProgram
from gdaopt.errors import SolverFailedError, TimeLimitError
from gdaopt.linalg.quadratic_program import QuadraticProgram
from gdaopt.objectives.protocol import Point
from gdaopt.sets.members import Multipliers
from gdaopt.support.deadline import check_time
from gdaopt.support.validation import FloatArray

if TYPE_CHECKING:
    from gdaopt.constraints.restricted import Restricted

_SHARE = 0.01  # of the gap: how near to the best bound that with these multipliers has to be
_NEGLIGIBLE = 1e-9  # of the objective: so small a gap need not be closer to the smallest
_ROUND_OFF = 3e-11  # of the terms of a bound: what answers of the quadratic program may lack
_MANY = 20  # atoms that join in a round at most
_MOST_ROUNDS = 30


class TightMultipliers(Multipliers):
    """Finds the multipliers that make the bound at a point nearly as large as it can be.

    A search starts from the atoms of the members that minimise the tangent at the last point
    ("Algorithm: column generation").
    """

    def __init__(self, restricted: Restricted) -> None:
        self._restricted = restricted
        self._start = restricted.vertex  # atoms and weights
        self._last = np.zeros(len(restricted.written))

    def tight(self, point: Point) -> FloatArray:
        restricted, gradient = self._restricted, point.gradient()
        here = float(np.vdot(gradient, point.metric - restricted.base))
        negligible = _NEGLIGIBLE * abs(point.value)
        try:
            program = LinearProgram(restricted.feasible_set, restricted.rows, gradient=gradient)
            solution = program.solve(
                *self._start,
                lambda value, bound: value - bound <= _SHARE * max(here - value, 0.0) + negligible,
            )
        except SolverFailedError:  # costs that under- or overflow
            return self._last  # any multipliers give a bound
        self.atoms, self._start = solution.atoms, (solution.atoms, solution.weights)
        self._last = restricted.as_written(solution.multipliers)
        return self._last

    def smallest(self, point: Point, multipliers: FloatArray) -> FloatArray:
        """Return the smallest multipliers that prove about the same linear bound at a point.

        The smallest have the least ``Σ_k (λ_k ‖A_k‖)²``, whatever the units of the rows
        ("Algorithm: smallest multipliers"). They are found by cutting planes: the bound by λ, up to
        a constant, is ``τ min(0, p(λ)) - λ·r``, where the least price p is that of the best atom
        for ``G + Σ_k λ_k A_k``, and each atom that is known bounds it from above. When the time is
        up, or the search does not end, the given ones are returned.
        """
        members, rows, gradient = self._restricted, self._restricted.written, point.gradient()
        right, budget = -rows.residuals(members.base), members.budget
        known, start = rows.in_own_units(multipliers), members.support(gradient, multipliers, _MANY)
        here = float(np.vdot(gradient, point.metric - members.base))
        terms = abs(here) + float(np.abs(known) @ np.abs(right))
        allowed = _SHARE * max(here - start.least, 0.0) + _ROUND_OFF * terms
        unit, atoms = float(np.abs(gradient).max()) or 1.0, start.atoms
        with suppress(TimeLimitError):
            for _ in range(_MOST_ROUNDS):
                check_time()
                # The bound by each atom's price, and that by a price of 0, is not below `least`.
                cuts = np.vstack([right / budget - rows.quadratic_forms(atoms).T, right / budget])
                prices = np.append(atoms.quadratic_forms(gradient), 0.0)
                most = (prices - start.least / budget) / unit
                smallest = unit * _find_shortest(known / unit, cuts, most, rows.is_equality)
                found = smallest / rows.norms
                support = members.support(gradient, found, _MANY)
                if support.least >= start.least - allowed:
                    return found
                atoms = atoms.joined(support.atoms)
        return multipliers


def _find_shortest(
    start: FloatArray, left: FloatArray, right: FloatArray, is_free: npt.NDArray[np.bool_]
) -> FloatArray:
    """Return the shortest x with ``A x ≤ b``, which the start keeps; entries not free are ≥ 0."""
    parts = np.hstack([np.eye(len(start)), -np.eye(len(start))[:, is_free]])
    x, _ = QuadraticProgram(
        np.maximum(start @ parts, 0.0),
        start @ parts,
        parts.T @ parts,
        left @ parts,
        right,
        n_equal=0,
    ).solve()
    shortest: FloatArray = parts @ x
    return shortest
