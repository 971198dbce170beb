"""Multipliers of linear constraints: tight ones for a metric, and the smallest of these.

Any multipliers give a lower bound ("Proposition: certificate with linear constraints"). Column
generation finds some whose bound is nearly the best. Where the constraints leave them a choice, as
at an edge of the set, the smallest ones are rates: they say how the optimum moves.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.sparse import csc_array, diags_array

from gdaopt.constraints.column_generation import LinearProgram
from gdaopt.constraints.rows import LinearConstraints
from gdaopt.errors import InvalidInputError, SolverFailedError, TimeLimitError
from gdaopt.linalg.atoms import Atoms
from gdaopt.objectives.protocol import Point
from gdaopt.problem import MetricProblem
from gdaopt.support.deadline import check_time
from gdaopt.support.validation import FloatArray, finite_array

_SHARE = 0.01  # of the gap: how near to the best bound that with these multipliers has to be
_NEGLIGIBLE = 1e-9  # of the objective: so small a gap need not be closer to the smallest
_ROUND_OFF = 3e-11  # of the terms of a bound: what answers of the quadratic program may lack
_FINEST = 1e-12  # of the quadratic program, in its units
_PRICED = 20  # atoms that join in a round at most
_MOST_ROUNDS = 30


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
        problem, restricted = self._problem, self._problem.restricted
        if restricted is None:
            return None
        gradient = point.gradient()
        base = problem.feasible_set.base(problem.n_features)
        here = float(np.vdot(gradient, point.metric - base))
        negligible = _NEGLIGIBLE * abs(point.value)
        try:
            program = LinearProgram(problem.feasible_set, restricted.rows, gradient=gradient)
            solution = program.solve(
                restricted.atoms if self.atoms is None else self.atoms,
                lambda value, bound: value - bound <= _SHARE * max(here - value, 0.0) + negligible,
            )
        except SolverFailedError:  # HiGHS, on a program at the limit of its accuracy
            return self._last  # any multipliers give a bound
        self.atoms, self._last = solution.atoms, restricted.as_written(solution.multipliers)
        return self._last

    def candidates(self, point: Point) -> Iterator[FloatArray]:
        """Yield the multipliers, then the smallest near them, in which less round-off cancels.

        Where the trace bound is far from binding, a price of -1e-16 can be a gap that matters.
        """
        tight = self.at(point)
        if tight is not None:
            yield tight
            if self._problem.objective.convex:  # else there is no bound that they could raise
                yield smallest_multipliers(self._problem, point, tight)


def smallest_multipliers(
    problem: MetricProblem, point: Point, multipliers: FloatArray
) -> FloatArray:
    """Return the smallest multipliers that prove about the same linear bound at a point.

    The smallest have the least ``Σ_k (λ_k ‖A_k‖)²``, whatever the units of the rows ("Algorithm:
    smallest multipliers"). Where the time is up, or Clarabel fails, the given ones are returned.
    """
    rows = problem.rows
    assert rows is not None
    try:
        return _Smallest(problem, rows, point, rows.in_own_units(multipliers)).found() / rows.norms
    except (SolverFailedError, TimeLimitError):
        return multipliers


class _Smallest:
    """The search for the smallest multipliers of rows in their own units, by cutting planes.

    The bound by λ, up to a constant, is ``τ min(0, p(λ)) - λ·r``, where the least price p is that
    of the best atom for ``G + Σ_k λ_k A_k``. Each atom that is known bounds it from above.
    """

    def __init__(
        self, problem: MetricProblem, rows: LinearConstraints, point: Point, known: FloatArray
    ) -> None:
        feasible_set, size = problem.feasible_set, problem.n_features
        self._set, self._rows, self._known = feasible_set, rows, known
        self._gradient, self._budget = point.gradient(), feasible_set.budget(size)
        base = feasible_set.base(size)
        self._right = -rows.residuals(base)
        here = float(np.vdot(self._gradient, point.metric - base))
        self._atoms, self._least = self._bound(known)
        terms = abs(here) + float(np.abs(known) @ np.abs(self._right))
        self._allowed = _SHARE * max(here - self._least, 0.0) + _ROUND_OFF * terms

    def _bound(self, multipliers: FloatArray) -> tuple[Atoms, float]:
        """Return the best atoms by some multipliers, and the bound."""
        best = self._set.family.best_atoms(
            self._gradient + self._rows.combined(multipliers), _PRICED
        )
        price = min(0.0, float(best.prices[0]))
        return best.atoms, self._budget * price - float(multipliers @ self._right)

    def found(self) -> FloatArray:
        """Return the smallest multipliers, or those that were known where the search fails."""
        atoms = self._atoms
        for _ in range(_MOST_ROUNDS):
            check_time()
            multipliers = self._by(atoms)
            new, bound = self._bound(multipliers)
            if bound >= self._least - self._allowed:
                return multipliers
            atoms = atoms.joined(new)
        return self._known

    def _by(self, atoms: Atoms) -> FloatArray:
        """Return the smallest multipliers by the prices of some atoms alone."""
        n_rows, n = len(self._right), len(atoms)
        unit = float(np.abs(self._gradient).max()) or 1.0
        forms, prices = self._rows.quadratic_forms(atoms), atoms.quadratic_forms(self._gradient)
        signed = np.flatnonzero(~self._rows.is_equality)
        # The unknowns are λ and the least price, in the unit; the bound is in budgets.
        left = np.zeros((n + 2 + len(signed), n_rows + 1))
        left[:n, :n_rows], left[: n + 1, n_rows] = -forms.T, 1.0
        left[n + 1] = np.append(self._right / self._budget, -1.0)
        left[n + 2 + np.arange(len(signed)), signed] = -1.0
        right = np.concatenate(
            [prices / unit, [0.0, -self._least / self._budget / unit], np.zeros(len(signed))]
        )
        found = _shortest(left, right)[:n_rows] * unit
        return np.where(self._rows.is_equality, found, np.maximum(found, 0.0))


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
