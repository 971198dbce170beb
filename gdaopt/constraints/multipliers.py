"""Multipliers of linear constraints: tight ones for a metric, and the smallest of these.

Any multipliers give a lower bound ("Proposition: certificate with linear constraints"). Column
generation finds some whose bound is nearly the best. Where the constraints leave them a choice, as
at an edge of the set, the smallest ones are rates: they say how the optimum moves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csc_array, diags_array

from gdaopt.constraints.column_generation import LinearProgram
from gdaopt.errors import SolverFailedError, TimeLimitError
from gdaopt.linalg.atoms import Atoms
from gdaopt.objectives.protocol import Point
from gdaopt.sets.members import Multipliers
from gdaopt.support.deadline import check_time
from gdaopt.support.validation import FloatArray

if TYPE_CHECKING:
    from gdaopt.constraints.restricted import Restricted

_SHARE = 0.01  # of the gap: how near to the best bound that with these multipliers has to be
_NEGLIGIBLE = 1e-9  # of the objective: so small a gap need not be closer to the smallest
_ROUND_OFF = 3e-11  # of the terms of a bound: what answers of the quadratic program may lack
_FINEST = 1e-12  # of the quadratic program, in its units
_PRICED = 20  # atoms that join in a round at most
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
        ("Algorithm: smallest multipliers"). Where the time is up, or Clarabel fails, the given ones
        are returned.
        """
        try:
            return _Smallest(self._restricted, point, multipliers).found()
        except (SolverFailedError, TimeLimitError):
            return multipliers


class _Smallest:
    """The search for the smallest multipliers, by cutting planes.

    The bound by λ, up to a constant, is ``τ min(0, p(λ)) - λ·r``, where the least price p is that
    of the best atom for ``G + Σ_k λ_k A_k``. Each atom that is known bounds it from above.
    """

    def __init__(self, restricted: Restricted, point: Point, known: FloatArray) -> None:
        self._members, self._known, self._gradient = restricted, known, point.gradient()
        self._right = -restricted.written.residuals(restricted.base)
        here = float(np.vdot(self._gradient, point.metric - restricted.base))
        start = restricted.support(self._gradient, known, _PRICED)
        self._atoms, self._least = start.atoms, start.least
        own = np.abs(restricted.written.in_own_units(known))
        terms = abs(here) + float(own @ np.abs(self._right))
        self._allowed = _SHARE * max(here - self._least, 0.0) + _ROUND_OFF * terms

    def found(self) -> FloatArray:
        """Return the smallest multipliers, or those that were known where the search fails."""
        atoms = self._atoms
        for _ in range(_MOST_ROUNDS):
            check_time()
            multipliers = self._by(atoms) / self._members.written.norms
            support = self._members.support(self._gradient, multipliers, _PRICED)
            if support.least >= self._least - self._allowed:
                return multipliers
            atoms = atoms.joined(support.atoms)
        return self._known

    def _by(self, atoms: Atoms) -> FloatArray:
        """Return the smallest by the prices of some atoms alone, for rows of norm 1."""
        rows, budget = self._members.written, self._members.budget
        n_rows, n = len(self._right), len(atoms)
        unit = float(np.abs(self._gradient).max()) or 1.0
        forms, prices = rows.quadratic_forms(atoms), atoms.quadratic_forms(self._gradient)
        signed = np.flatnonzero(~rows.is_equality)
        # The unknowns are λ and the least price, in the unit; the bound is in budgets.
        left = np.zeros((n + 2 + len(signed), n_rows + 1))
        left[:n, :n_rows], left[: n + 1, n_rows] = -forms.T, 1.0
        left[n + 1] = np.append(self._right / budget, -1.0)
        left[n + 2 + np.arange(len(signed)), signed] = -1.0
        right = np.concatenate(
            [prices / unit, [0.0, -self._least / budget / unit], np.zeros(len(signed))]
        )
        found = _shortest(left, right)[:n_rows] * unit
        return np.where(rows.is_equality, found, np.maximum(found, 0.0))


def _shortest(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return x with ``A x ≤ b`` that is the shortest, but for its last entry."""
    import clarabel  # on demand: importing gdaopt loads no solver

    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = _FINEST
    size = left.shape[1]
    hessian = csc_array(diags_array(np.append(np.ones(size - 1), 0.0)))
    cones = [clarabel.NonnegativeConeT(len(right))]
    try:
        answer = clarabel.DefaultSolver(
            hessian, np.zeros(size), csc_array(left), right, cones, settings
        ).solve()
    except BaseException as error:  # a panic of Rust is no Exception
        if type(error).__name__ != "PanicException":
            raise
        raise SolverFailedError(f"Clarabel failed on the smallest multipliers: {error}") from error
    shortest = np.array(answer.x)
    if not np.isfinite(shortest).all():
        raise SolverFailedError(f"Clarabel ended on the smallest multipliers: {answer.status}")
    return shortest
