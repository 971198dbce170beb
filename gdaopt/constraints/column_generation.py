"""Linear programs over a set with linear constraints, by column generation.

    min ⟨G, M⟩   s.t.   M in the set,  ⟨A_k, M⟩ ≤ b_k  or  = b_k

M is a sum of few atoms of the set, so that the constraints are rows on their weights. The
multipliers λ of the rows price new atoms by ``G + Σ_k λ_k A_k``, with the set's exact oracle
("Algorithm: column generation"; Dantzig, Wolfe, *Decomposition principle for linear programs*,
1960). Each λ also gives a lower bound in closed form ("Proposition: certificate with linear
constraints"), so that each answer says how good it is, and an infeasible problem is proved to be
infeasible.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.linalg import qr, solve_triangular

from gdaopt.constraints.rows import LinearConstraints
from gdaopt.errors import SolverFailedError
from gdaopt.linalg.atoms import Atoms
from gdaopt.sets import FeasibleSet
from gdaopt.support.validation import FloatArray

_MOST_ROUNDS = 500
_PRICED = 20  # atoms that join in a round at most
_ACCURACY = 1e-10  # of the linear programs, in their units; HiGHS takes no smaller one
_COARSE = 1e-7  # that of programs that it cannot solve more accurately, as is usual
_MOST_STEPS = (
    20  # of the simplex method, times the size of a program: above, HiGHS goes in a circle
)
_FINE_COSTS = 1e-4  # of the largest: the unit of costs in which its tolerance is near round-off
_FINE = 1e-14  # of the prices: atoms that are better by less do not join
_PATIENCE = 3  # rounds in which neither value nor bound moves, after which both are at round-off
_LEAST_UNIT = 1e-6  # of the budget: HiGHS calls programs with longer steps unbounded
_LEAST_RIGHT = 1e-6  # of the largest right-hand side: the unit of smaller ones
_NOISE = 10 / _ACCURACY  # times its round-off: a row in smaller units could not be kept
_LEAST_NORMAL = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, eq=False)
class LinearSolution:
    """A solution of a linear program over a set with rows."""

    atoms: Atoms
    weights: FloatArray
    extras: FloatArray  # the values of the extra variables
    multipliers: FloatArray  # λ, not negative for inequalities
    value: float
    lower_bound: float  # by λ


@dataclass(frozen=True, eq=False)
class Extra:
    """A variable beside the weights, between 0 and a bound."""

    cost: float  # of one unit
    coefficients: FloatArray  # what one unit adds to each row
    trace: float = 0.0  # what one unit adds to the trace
    most: float = np.inf


@dataclass(frozen=True, eq=False)
class _Master:
    """A solution of the linear master problem; an atom of a price below the level improves it."""

    weights: FloatArray
    extras: FloatArray
    multipliers: FloatArray
    level: float
    value: float


class LinearProgram:
    """A linear program over a set with rows, which is solved by column generation.

    G are the costs ``u'Gu`` of the weights, 0 by default, whose sum is at most the budget; `extras`
    are variables beside the weights.

    HiGHS gets it in units of its own: weights in units of the largest right-hand side, each row in
    units of its own right-hand side, and prices in units of the gradient's largest entry. So its
    absolute tolerances suit problems of any scale, and trace bounds that are far from binding.
    """

    def __init__(
        self,
        feasible_set: FeasibleSet,
        rows: LinearConstraints,
        budget: float | None = None,
        *,
        gradient: FloatArray | None = None,
        extras: Sequence[Extra] = (),
    ) -> None:
        size = rows.n_features
        budget = feasible_set.budget(size) if budget is None else budget
        self._set, self._rows, self._budget = feasible_set, rows, budget
        self._gradient = np.zeros((size, size)) if gradient is None else gradient
        base = feasible_set.base(size)
        self._right = -rows.residuals(base)
        self._extras = extras
        largest = float(np.abs(self._right).max(initial=0.0)) or budget
        self._unit = min(max(largest, _LEAST_UNIT * budget), budget)
        least = np.maximum(_LEAST_RIGHT * self._unit, _NOISE * rows.round_off(base))
        self._row_units = np.maximum(np.abs(self._right), least)
        self._price_unit = float(np.abs(self._gradient).max())
        # Of values: where weights have no costs, the costs of the extra variables are 1.
        self._scale = self._price_unit * self._unit if self._price_unit else 1.0
        if 0 < self._price_unit < _LEAST_NORMAL or not _LEAST_NORMAL <= self._scale < np.inf:
            raise SolverFailedError(
                f"HiGHS gets no costs that under- or overflow: up to {self._price_unit:g} for a "
                f"trace of 1, and traces up to {self._unit:g}"
            )
        self._many = 4 * _PRICED + len(rows)  # atoms: above that many, atoms of weight 0 leave

    def solve(self, atoms: Atoms, ends: Callable[[float, float], bool]) -> LinearSolution:
        """Generate atoms, beside those of some solution, until ``ends(value, lower_bound)``."""
        bound, multipliers = -np.inf, np.zeros(len(self._rows))
        forms = self._rows.quadratic_forms(atoms)
        least, waited = np.inf, 0
        for _ in range(_MOST_ROUNDS):
            master = self._master(atoms, forms)
            priced = self._gradient + self._rows.combined(master.multipliers)
            new = self._set.family.best_atoms(priced, _PRICED, atoms)
            found = self._bound(master.multipliers, float(new.prices[0]))
            waited = 0 if found > bound or master.value < least else waited + 1
            least = min(least, master.value)
            if found > bound:
                bound, multipliers = found, master.multipliers
            fine = _FINE * (self._price_unit + float(np.abs(master.multipliers).max(initial=0.0)))
            joining = new.atoms[new.prices < master.level - fine]
            if ends(master.value, bound) or not len(joining) or waited == _PATIENCE:
                break
            kept = master.weights > 0 if len(atoms) > self._many else slice(None)
            atoms = atoms[kept].joined(joining)
            forms = np.hstack([forms[:, kept], self._rows.quadratic_forms(joining)])
        return LinearSolution(
            atoms[: len(master.weights)],
            master.weights,
            master.extras,
            multipliers,
            master.value,
            bound,
        )

    def _bound(self, multipliers: FloatArray, price: float) -> float:
        """Return the lower bound by λ: the least value of the Lagrangian over all weights."""
        # An extra variable does not lower the bound: at the master's solution its reduced cost is
        # at least the level times its trace, and where the least price is above the level the
        # search ends; where the variable is at its bound, no better value is sought.
        return self._budget * min(0.0, price) - float(multipliers @ self._right)

    def _master(self, atoms: Atoms, forms: FloatArray) -> _Master:
        """Solve the linear master problem: the best weights of some atoms, of forms ``u'A_k u``."""
        n, equal, extras, units = len(atoms), self._rows.is_equality, self._extras, self._row_units
        costs = np.append(
            atoms.quadratic_forms(self._gradient) * (self._unit / self._scale),
            [extra.cost for extra in extras],
        )
        extra = (
            np.array([extra.coefficients for extra in extras]).reshape(len(extras), len(equal)).T
        )
        left = np.hstack([forms * self._unit, extra]) / units[:, None]
        right, most = self._right / units, self._budget / self._unit
        trace = np.append(np.ones(n), [extra.trace / self._unit for extra in extras])
        program = _Program(
            costs,
            np.vstack([left[equal], left[~equal], trace]),
            np.concatenate([right[equal], right[~equal], [most]]),
            int(equal.sum()),
            np.append(np.full(n, most), [extra.most for extra in extras]),
        )
        try:
            x, prices = program.solution()
        except SolverFailedError as error:
            raise SolverFailedError(
                f"{error}, on the constraints {self._rows.enumerated()}"
            ) from error
        multipliers = np.zeros(len(equal))
        multipliers[equal], multipliers[~equal] = np.split(prices[:-1], [program.n_equal])
        return _Master(
            weights=self._unit * x[:n],
            extras=x[n:],
            multipliers=multipliers * (self._scale / units),
            level=-float(prices[-1]) * (self._scale / self._unit),
            value=self._scale * float(costs @ x),
        )


@dataclass(frozen=True, eq=False)
class _Program:
    """min c'x  s.t.  0 ≤ x ≤ u and ``A x ≤ b``, the first `n_equal` rows being equalities."""

    costs: FloatArray
    left: FloatArray
    right: FloatArray
    n_equal: int
    most: FloatArray

    def solution(self) -> tuple[FloatArray, FloatArray]:
        """Return x ≥ 0 and the multipliers of the rows, not negative for inequalities."""
        attempts = (
            partial(self._by_highs, _FINE_COSTS, True),  # the finest costs are the best
            partial(self._by_highs, 1.0, True),
            # The presolve calls some feasible programs infeasible.
            partial(self._by_highs, 1.0, False),
            # HiGHS finds no regular basis where rows are nearly dependent.
            self._by_orthonormal_rows,
            partial(self._by_highs, 1.0, True, _COARSE),
        )
        for attempt in attempts:
            with suppress(SolverFailedError):
                x, prices = attempt()
                prices[self.n_equal :] = np.maximum(prices[self.n_equal :], 0.0)
                return np.maximum(x, 0.0), prices
        raise SolverFailedError("HiGHS failed")

    def _by_highs(
        self, cost_unit: float, presolve: bool, accuracy: float = _ACCURACY
    ) -> tuple[FloatArray, FloatArray]:
        from scipy.optimize import linprog  # on demand: it takes 40 ms to import

        n_equal = self.n_equal
        answer = linprog(
            self.costs / cost_unit,
            A_ub=self.left[n_equal:],
            b_ub=self.right[n_equal:],
            A_eq=self.left[:n_equal] if n_equal else None,
            b_eq=self.right[:n_equal] if n_equal else None,
            bounds=[(0.0, float(most)) for most in self.most],
            method="highs",
            options={
                "presolve": presolve,
                "maxiter": _MOST_STEPS * sum(self.left.shape),
                "primal_feasibility_tolerance": accuracy,
                "dual_feasibility_tolerance": accuracy,
            },
        )
        if answer.x is None or not answer.success:
            raise SolverFailedError(answer.message)
        of_equalities = answer.eqlin.marginals if n_equal else np.zeros(0)
        return answer.x, -cost_unit * np.append(of_equalities, answer.ineqlin.marginals)

    def _by_orthonormal_rows(self) -> tuple[FloatArray, FloatArray]:
        """Solve the program with orthonormal equalities that say the same."""
        n_equal = self.n_equal
        if not n_equal:
            raise SolverFailedError("there are no equalities")
        basis, triangle, order = qr(self.left[:n_equal].T, mode="economic", pivoting=True)
        rank = int((np.abs(np.diagonal(triangle)) > _FINE * abs(triangle[0, 0])).sum())
        triangle, chosen = triangle[:rank, :rank], order[:rank]
        same = replace(
            self,
            left=np.vstack([basis[:, :rank].T, self.left[n_equal:]]),
            right=np.append(
                solve_triangular(triangle, self.right[chosen], trans=1), self.right[n_equal:]
            ),
            n_equal=rank,
        )
        x, duals = same._by_highs(1.0, False)
        prices = np.append(np.zeros(n_equal), duals[rank:])
        prices[chosen] = solve_triangular(triangle, duals[:rank])
        return x, prices
