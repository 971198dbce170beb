"""A set with linear constraints is a set: its members are those of another set that keep all rows.

Methods keep rows in place of those that the user wrote: see `gdaopt.constraints.presolve`. Any
right-signed multipliers take the rows into the linear function whose least is known ("Proposition:
certificate with linear constraints"). Column generation finds some whose bound is nearly the best.
If the constraints leave them a choice, as at an edge of the set, the smallest ones are rates:
they say how the optimum moves.
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import numpy.typing as npt

from gdaopt.constraints.column_generation import LinearProgram
from gdaopt.constraints.rows import LinearConstraints
from gdaopt.errors import InvalidInputError, SolverFailedError, TimeLimitError
from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.spectrum import smallest_eigenvalue
from gdaopt.objectives.protocol import Point
from gdaopt.objectives.round_off import UNIT
from gdaopt.sets.conditions import matrix_of_eigenvalues
from gdaopt.sets.feasible_set import FeasibleSet
from gdaopt.sets.members import Members, Multipliers, Support
from gdaopt.support.deadline import check_time
from gdaopt.support.validation import FloatArray, symmetric_matrix

_COUNTS = 1e-6  # a share of the largest multiplier: smaller ones are round-off
_CORRECTIONS = 20  # rounds of mending rows and entries in turns
_SHARE = 0.01  # a share of the gap: how near to the best bound one has to be
_NEGLIGIBLE = 1e-9  # a share of the objective: so small a gap need not be closer to the smallest
_ROUND_OFF = 3e-11  # a share of the terms of a bound: what the shortest vector may lack
_MANY = 20  # atoms that join in a round at most
_MOST_ROUNDS = 30


class Restricted(Members):
    """The members of a set that keep linear constraints.

    `rows` are some of the rows that the user has `written`, with these `indices`, moved by less
    than the tolerance. No equality follows from the other equalities, and one metric keeps all
    inequalities strictly. The `centre` has atoms and weights of a metric inside the set's cone that
    keeps all rows, the `vertex` of one that is a sum of few atoms: there linear programs begin. The
    `proofs` are multipliers which show that inequalities are equalities.
    """

    def __init__(
        self,
        feasible_set: FeasibleSet,
        written: LinearConstraints,
        rows: LinearConstraints,
        indices: npt.NDArray[np.intp],
        centre: tuple[Atoms, FloatArray],
        vertex: tuple[Atoms, FloatArray],
        proofs: tuple[FloatArray, ...],
    ) -> None:
        super().__init__(feasible_set, written.n_features)
        self.written, self.rows, self.indices = written, rows, indices
        self.names = written.names
        self._centre, self.vertex, self._proofs = centre, vertex, proofs

    @property
    def centre(self) -> tuple[Atoms, FloatArray]:
        return self._centre

    # --- membership -----------------------------------------------------------------------------

    def violations(self, metric: FloatArray) -> tuple[str, ...]:
        """Return a sentence for each condition of the set and each row that a metric breaks."""
        broken = super().violations(metric)
        metric = symmetric_matrix("metric", metric, self.size)
        return (*broken, *self.written.violations(metric, self.feasible_set.trace_bound))

    def made_feasible(self, metric: FloatArray) -> FloatArray:
        """Return a metric near `metric` that keeps set and rows, but for round-off.

        Rows and trace, and the conditions on entries, are mended in turns; then the metric goes
        towards the one inside until its eigenvalues are large enough.
        """
        near, base, family = metric, self.base, self.feasible_set.family
        for _ in range(_CORRECTIONS):
            mended = self.rows.correct(near, self.feasible_set.trace_bound)
            near = base + family.with_feasible_entries(mended - base)
            if (near == mended).all():
                break
        smallest = smallest_eigenvalue(matrix_of_eigenvalues(family, near - base))
        if smallest >= 0:
            return near
        atoms, weights = self.centre
        inner = atoms.added_to(base, weights)
        share = -smallest / (smallest_eigenvalue(inner - base) - smallest)
        feasible: FloatArray = (1 - share) * near + share * inner
        return feasible

    def excesses(self, metric: FloatArray) -> FloatArray:
        return np.abs(self.written.norms * self.written.excesses(metric))

    def violation(self, metric: FloatArray) -> float:
        return self.written.violation(metric)

    # --- the least of a linear function -----------------------------------------------------------

    def support(
        self,
        gradient: FloatArray,
        multipliers: FloatArray | None = None,
        count: int = 1,
        guess: Atoms | None = None,
    ) -> Support:
        """Return it for ``G + Σ_k λ_k A_k``, less what the rows allow: ``λ·(b - A(B))``."""
        if multipliers is None:
            return super().support(gradient, None, count, guess)
        scaled = multipliers * self.written.norms
        priced = gradient + self.written.combine(scaled)
        best = super().support(priced, None, count, guess)
        least = best.least + float(scaled @ self.written.residuals(self.base))
        return Support(gradient, priced, best.atoms, best.prices, least, multipliers)

    def round_off(self, support: Support, errors: FloatArray) -> float:
        if support.multipliers is None:
            return super().round_off(support, errors)
        sizes, of_rows = self.written.magnitudes(support.multipliers, self.base)
        added = (len(self.written) + 8) * UNIT * (sizes + np.abs(support.priced))
        # Of a matrix E ≥ 0 entry (i, j) is at most g_i g_j for the roots g of its largest entries.
        errors = np.sqrt(errors**2 + added.max(axis=1))
        n_terms = self.size**2 + len(self.written) + 16
        return super().round_off(support, errors) + n_terms * UNIT * of_rows

    def membership(self, support: Support, metric: FloatArray) -> float:
        of_set = super().membership(support, metric)
        if support.multipliers is None:
            return of_set
        scaled = support.multipliers * self.written.norms
        with np.errstate(over="ignore"):
            return of_set + float(np.abs(scaled) @ np.abs(self.written.excesses(metric)))

    # --- multipliers ----------------------------------------------------------------------------

    def multipliers(self) -> TightMultipliers:
        return TightMultipliers(self)

    def check_multipliers(self, multipliers: FloatArray) -> FloatArray:
        checked = super().check_multipliers(multipliers)
        for k in np.flatnonzero(~self.written.is_equality & (checked < 0)):
            raise InvalidInputError(
                f"the multiplier of {self.names[k]} is {checked[k]:g}; those of inequalities must "
                "be ≥ 0"
            )
        return checked

    def from_written(self, multipliers: FloatArray) -> FloatArray:
        """Return multipliers of `rows`, from multipliers of the rows that the user wrote."""
        chosen: FloatArray = (multipliers * self.written.norms)[self.indices]
        return chosen

    def as_written(self, multipliers: FloatArray) -> FloatArray:
        """Return multipliers of the rows that the user wrote, from multipliers of `rows`.

        Multipliers of inequalities are not negative: if an inequality has become an equality,
        the multipliers that prove it do not change the bound, and a multiple of them is added.
        """
        total = np.zeros(len(self.written))
        total[self.indices] = multipliers
        for proof in reversed(self._proofs):
            lifted = ~self.written.is_equality & (proof > _COUNTS * np.abs(proof).max())
            share = float((-total[lifted] / proof[lifted]).max(initial=0.0))
            total = total + max(share, 0.0) * proof
        signed = np.where(self.written.is_equality, total, np.maximum(total, 0.0))
        return signed / self.written.norms


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
        for ``G + Σ_k λ_k A_k``, and each atom so far bounds it from above. When the time is up, or
        the search does not end, `multipliers` are returned.
        """
        members, rows, gradient = self._restricted, self._restricted.written, point.gradient()
        right, budget = -rows.residuals(members.base), members.budget
        in_own_units = multipliers * rows.norms
        unit = float(np.linalg.norm(in_own_units))
        if not 0 < unit < np.inf:
            return multipliers
        start = members.support(gradient, multipliers, _MANY)
        here = float(np.vdot(gradient, point.metric - members.base))
        terms = abs(here) + float(np.abs(in_own_units) @ np.abs(right))
        allowed = _SHARE * max(here - start.least, 0.0) + _ROUND_OFF * terms
        atoms = start.atoms
        # The bound by a price of 0, and that by the price of each atom, is not below `least`.
        cuts, most = (right / budget)[None], np.array([-start.least / budget])
        with suppress(TimeLimitError):
            for _ in range(_MOST_ROUNDS):
                check_time()
                cuts = np.vstack([cuts, right / budget - rows.forms_and_sizes(atoms)[0].T])
                most = np.append(most, atoms.quadratic_forms(gradient) - start.least / budget)
                shortest = _find_shortest(cuts, most / unit, rows.is_equality)
                if shortest is None:
                    break
                smallest = unit * shortest / rows.norms
                support = members.support(gradient, smallest, _MANY)
                if support.least >= start.least - allowed:
                    return smallest
                atoms = support.atoms
        return multipliers


def _find_shortest(
    left: FloatArray, right: FloatArray, is_free: npt.NDArray[np.bool_]
) -> FloatArray | None:
    """Return the shortest x with ``A x ≤ b`` whose entries that are not free are ≥ 0.

    It is a problem of nonnegative least squares (Lawson, Hanson, *Solving Least Squares Problems*,
    1974, chapter 23). None is returned if that has no end, or if no x keeps all rows.
    """
    from scipy.optimize import nnls  # on demand: it takes 40 ms to import

    signs = -np.eye(left.shape[1])[~is_free]
    system = np.vstack([np.hstack([left.T, signs.T]), np.append(right, np.zeros(len(signs)))])
    lengths = np.linalg.norm(system, axis=0)
    target = np.append(np.zeros(left.shape[1]), -1.0)
    try:
        prices, _ = nnls(system / np.where(lengths > 0, lengths, 1.0), target)
    except RuntimeError:
        return None
    residual = system @ (prices / np.where(lengths > 0, lengths, 1.0)) - target
    if residual[-1] <= np.finfo(np.float64).eps:  # no point keeps all rows
        return None
    shortest: FloatArray = -residual[:-1] / residual[-1]
    return np.where(is_free, shortest, np.maximum(shortest, 0.0))
