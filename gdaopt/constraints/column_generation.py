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
from dataclasses import dataclass

import numpy as np

from gdaopt.constraints.rows import LinearConstraints
from gdaopt.errors import SolverFailedError
from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.quadratic_program import LEAST_ROOM, QuadraticProgram
from gdaopt.sets import FeasibleSet
from gdaopt.support.validation import FloatArray

_MOST_ROUNDS = 500
_PRICED = 20  # atoms that join in a round at most
_FINE = 1e-14  # a share of the prices: atoms that are better by less do not join
_COST_UNIT = 1e-2  # a share of the largest cost: in it slopes end at their round-off
_SETTLED = 0.8  # a share of the best multipliers, if those of the program jump
_PATIENCE = 3  # rounds in which neither value nor bound moves, after which both are at round-off
_LEAST_UNIT = 1e-6  # a share of the budget
_LEAST_RIGHT = 1e-6  # a share of the largest right-hand side: the unit of smaller ones
_NOISE = 10 / LEAST_ROOM  # times its round-off: a row in smaller units could not be kept
_FEW_ROWS = 12  # with more the simplex method is faster
_OPTIMAL = 1e-10  # what is left of optimal slopes, in the units of a program
_HIGHS_ACCURACY = 1e-9  # in the units of a program; with 1e-10 feasible ones may be refused
_HIGHS_COST_UNIT = 1e-2  # times a program's: HiGHS' tolerance is then near round-off
_MOST_STEPS = 20  # steps of the simplex method, in sizes of a program: above, it goes in a circle
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

    cost: float  # the cost of one unit
    coefficients: FloatArray  # what one unit adds to each row
    trace: float = 0.0  # what one unit adds to the trace
    most: float = np.inf
    start: float = 0.0


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

    The master problems are in units of their own: weights in units of the largest right-hand side,
    each row in units of its own right-hand side, and prices in units of the gradient's largest
    entry. So absolute tolerances suit problems of any scale, and trace bounds that are far from
    binding.
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
        # The unit of values. If weights have no costs, the costs of the extra variables are 1.
        self._scale = self._price_unit * self._unit if self._price_unit else 1.0
        if 0 < self._price_unit < _LEAST_NORMAL or not _LEAST_NORMAL <= self._scale < np.inf:
            raise SolverFailedError(
                f"a linear program has costs that under- or overflow: up to {self._price_unit:g} "
                f"for a trace of 1, and traces up to {self._unit:g}"
            )
        self._many = 4 * _PRICED + len(rows)  # atoms: above that many, atoms of weight 0 leave

    def solve(
        self, atoms: Atoms, weights: FloatArray, ends: Callable[[float, float], bool]
    ) -> LinearSolution:
        """Generate atoms until ``ends(value, lower_bound)``, from weights that keep the rows.

        The extra variables start at their `start`.
        """
        bound, multipliers = -np.inf, np.zeros(len(self._rows))
        extras = np.array([extra.start for extra in self._extras])
        forms = self._rows.forms_and_sizes(atoms)[0]
        least, waited = np.inf, 0
        for _ in range(_MOST_ROUNDS):
            master = self._master(atoms, forms, weights, extras)
            weights, extras = master.weights, master.extras
            # Multipliers of a degenerate program jump. If nothing moves, the best ones count more.
            share = _SETTLED if waited else 0.0
            trial = share * multipliers + (1 - share) * master.multipliers
            new = self._set.family.best_atoms(self._price(trial), _PRICED, atoms)
            # The least value of the Lagrangian over all weights. An extra variable does not lower
            # it: at the master's solution its reduced cost is at least the level times its trace,
            # and if the least price is above the level the search ends; if the variable is at its
            # bound, no better value is sought.
            least_price = min(0.0, float(new.prices[0]))
            bound_there = self._budget * least_price - float(trial @ self._right)
            is_better = bound_there > bound
            waited = 0 if is_better or master.value < least else waited + 1
            least = min(least, master.value)
            if is_better:
                bound, multipliers = bound_there, trial
            fine = _FINE * (self._price_unit + float(np.abs(master.multipliers).max(initial=0.0)))
            prices = new.atoms.quadratic_forms(self._price(master.multipliers))
            joining = new.atoms[prices < master.level - fine]
            is_over = waited == _PATIENCE or not (share or len(joining))
            if ends(master.value, bound) or is_over:
                break
            chosen = weights > 0 if len(atoms) > self._many else slice(None)
            atoms = atoms[chosen].joined(joining)
            weights = np.append(weights[chosen], np.zeros(len(joining)))
            forms = np.hstack([forms[:, chosen], self._rows.forms_and_sizes(joining)[0]])
        return LinearSolution(
            atoms[: len(weights)], weights, extras, multipliers, master.value, bound
        )

    def _price(self, multipliers: FloatArray) -> FloatArray:
        """Return ``G + Σ_k λ_k A_k``, which prices atoms."""
        return self._gradient + self._rows.combine(multipliers)

    def _master(
        self, atoms: Atoms, forms: FloatArray, weights: FloatArray, extras: FloatArray
    ) -> _Master:
        """Solve the linear master problem: the best weights of some atoms, of forms ``u'A_k u``.

        The variables are the weights, the extra ones, and the slack of the budget in its unit.
        """
        n, m, equal = len(atoms), len(self._right), self._rows.is_equality
        unit, row_units, n_equal = self._unit, self._row_units, int(equal.sum())
        costs = np.concatenate(
            [
                atoms.quadratic_forms(self._gradient) * (unit / self._scale),
                [extra.cost for extra in self._extras],
                [0.0],
            ]
        )
        traces = [extra.trace / self._budget for extra in self._extras]
        trace = np.concatenate([np.full(n, unit / self._budget), traces, [1.0]])
        left = np.zeros((m, len(costs)))
        left[:, :n] = forms * (unit / row_units[:, None])
        for column, extra in enumerate(self._extras, start=n):
            left[:, column] = extra.coefficients / row_units
        right = self._right / row_units
        most = np.array([*np.full(n, np.inf), *(extra.most for extra in self._extras), np.inf])
        bounded = np.isfinite(most)
        x = np.concatenate([weights / unit, extras, [0.0]])
        x[-1] = max(1.0 - float(trace @ x), 0.0)
        program = QuadraticProgram(
            x,
            costs / _COST_UNIT,
            np.zeros((len(x), len(x))),
            np.vstack([trace, left[equal], left[~equal], np.eye(len(x))[bounded]]),
            np.concatenate([[1.0], right[equal], right[~equal], most[bounded]]),
            1 + n_equal,
        )
        x, prices = _solve(program, m)
        prices *= _COST_UNIT
        multipliers = np.zeros(m)
        multipliers[equal], multipliers[~equal] = np.split(prices[1 : 1 + m], [n_equal])
        return _Master(
            weights=unit * x[:n],
            extras=x[n:-1],
            multipliers=multipliers * (self._scale / row_units),
            level=-float(prices[0]) * (self._scale / self._budget),
            value=self._scale * float(costs @ x),
        )


def _solve(program: QuadraticProgram, n_rows: int) -> tuple[FloatArray, FloatArray]:
    """Solve a linear program by the active-set method; by HiGHS if that ends too early.

    The active-set method may go in a circle at a vertex where more rows bind than needed. Many rows
    make many changes of the active set, of which the simplex method has cheaper ones: it comes
    first then, and the active-set method only if HiGHS fails.
    """
    solution = program.solve() if n_rows <= _FEW_ROWS else None
    if solution is not None:
        slopes = program.slope + solution[1] @ program.left
        if float(slopes.min()) >= -_OPTIMAL:
            return solution
    from scipy.optimize import linprog  # on demand: it takes 40 ms to import

    n_equal, (n_limits, n) = program.n_equal, program.left.shape
    answer = linprog(
        program.slope / _HIGHS_COST_UNIT,
        A_ub=program.left[n_equal:],
        b_ub=program.right[n_equal:],
        A_eq=program.left[:n_equal],
        b_eq=program.right[:n_equal],
        method="highs",
        options={
            "maxiter": _MOST_STEPS * (n_limits + n),
            "primal_feasibility_tolerance": _HIGHS_ACCURACY,
            "dual_feasibility_tolerance": _HIGHS_ACCURACY,
        },
    )
    if answer.x is None or not answer.success:
        return program.solve() if solution is None else solution
    x = np.maximum(answer.x, 0.0)
    x /= max(float(program.left[0] @ x), 1.0)  # the budget is kept, whatever the accuracy
    prices = -_HIGHS_COST_UNIT * np.append(answer.eqlin.marginals, answer.ineqlin.marginals)
    prices[n_equal:] = np.maximum(prices[n_equal:], 0.0)
    return x, prices
