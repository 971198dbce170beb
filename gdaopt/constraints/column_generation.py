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

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from gdaopt.constraints.rows import LinearConstraints
from gdaopt.errors import InfeasibleProblemError, SolverFailedError
from gdaopt.linalg.atoms import Atoms
from gdaopt.sets import FeasibleSet
from gdaopt.validation import FloatArray

__all__ = ["LinearSolution", "best_multipliers", "interior_point"]

_MOST_ROUNDS = 500
_PRICED = 20  # atoms that join in a round at most
_ACCURACY = 1e-10  # of linear programs and, relative to τ, of rows
_ENOUGH = 0.5  # an interior point may be so much nearer to the boundary than the best one
_NO_INTERIOR = 1e-7  # of the share of the centre: less is round-off


@dataclass(frozen=True, eq=False)
class LinearSolution:
    """A solution of a linear program over a set with rows.

    Attributes
    ----------
    atoms : Atoms
        n atoms.
    weights : ndarray of shape (n,)
        Their weights.
    multipliers : ndarray of shape (m,)
        λ, not negative for inequalities.
    value, lower_bound : float
        What is minimised, and its bound by λ.
    """

    atoms: Atoms
    weights: FloatArray
    multipliers: FloatArray
    value: float
    lower_bound: float


@dataclass(frozen=True, eq=False)
class _Extra:
    """A variable beside the weights: its cost, and what it adds to the rows and to the trace."""

    cost: float
    coefficients: FloatArray
    trace: float


def interior_point(
    feasible_set: FeasibleSet, rows: LinearConstraints, n_features: int
) -> tuple[Atoms, FloatArray]:
    """Return atoms and weights of a metric that keeps the rows, inside the set's cone.

    Of all metrics ``B + s (τ/K) I + Σ_k w_k u_k u_k'`` that keep the rows it is one whose share s
    of the centre is at least half of the largest.

    Parameters
    ----------
    feasible_set : FeasibleSet
        The set.
    rows : LinearConstraints
        The rows.
    n_features : int
        K.

    Raises
    ------
    InfeasibleProblemError
        When no member of the set keeps the rows, or when those that do are all on the boundary.
    """
    basis = feasible_set.family.basis(n_features)
    nothing = np.zeros((n_features, n_features))
    budget = feasible_set.budget(n_features)
    broken = tuple(_breaking(rows))
    program = _Program(feasible_set, rows, nothing, broken)
    found = program.solve(
        basis, lambda value, bound: value <= _ACCURACY or bound > max(_ACCURACY, 0.9 * value)
    )
    if found.value > _ACCURACY:
        miss = found.value * budget
        names = [rows.names[k] for k in np.flatnonzero(np.abs(found.multipliers) > _ACCURACY)]
        raise InfeasibleProblemError(
            f"no member of {feasible_set!r} keeps all constraints: {'; '.join(names)} "
            f"cannot hold together in it; the nearest metric breaks them by {miss:.2g} in all. "
            "Mend or drop one, or enlarge the set"
        )
    coefficients = rows.quadratic_forms(basis).mean(axis=1)
    centre = _Extra(-1.0, coefficients, 1.0)
    program = _Program(feasible_set, rows, nothing, (centre,))
    found = program.solve(found.atoms, lambda value, bound: value <= _ENOUGH * bound)
    share = -found.value
    if share <= _NO_INTERIOR:
        raise InfeasibleProblemError(
            f"the constraints leave {feasible_set!r} no metric but on its boundary: "
            f"{'; '.join(rows.names)}; loosen one, or lower min_eigenvalue"
        )
    centred = np.full(len(basis), share * budget / n_features)
    return basis.joined(found.atoms), np.concatenate([centred, found.weights])


def best_multipliers(
    feasible_set: FeasibleSet,
    rows: LinearConstraints,
    gradient: FloatArray,
    atoms: Atoms,
    ends: Callable[[float, float], bool],
) -> LinearSolution:
    """Minimise ``⟨G, M - B⟩`` over the members of a set that keep the rows.

    Parameters
    ----------
    feasible_set : FeasibleSet
        The set.
    rows : LinearConstraints
        The rows.
    gradient : ndarray of shape (K, K)
        G.
    atoms : Atoms
        Of some member that keeps the rows.
    ends : callable
        Takes the value and its lower bound, and says whether they are near enough.
    """
    return _Program(feasible_set, rows, gradient, ()).solve(atoms, ends)


def _breaking(rows: LinearConstraints) -> Iterator[_Extra]:
    """Yield the variables that say by how much rows are broken."""
    for k, row in enumerate(np.eye(len(rows))):
        yield _Extra(1.0, -row, 0.0)
        if rows.is_equality[k]:
            yield _Extra(1.0, row, 0.0)


@dataclass(frozen=True, eq=False)
class _Master:
    """A solution of the linear master problem; an atom of a price below the level improves it."""

    weights: FloatArray
    multipliers: FloatArray
    level: float
    value: float


class _Program:
    """The linear program in units: weights in units of τ, prices in units of the largest entry."""

    def __init__(
        self,
        feasible_set: FeasibleSet,
        rows: LinearConstraints,
        gradient: FloatArray,
        extras: tuple[_Extra, ...],
    ) -> None:
        size = rows.n_features
        self._set, self._rows = feasible_set, rows
        self._budget = feasible_set.budget(size)
        self._unit = float(np.abs(gradient).max()) or 1.0
        self._gradient = gradient / self._unit
        self._right = -rows.residuals(feasible_set.base(size)) / self._budget
        self._extras = extras
        # Without costs the value is a share: of the budget, or of the centre.
        self._scale = self._unit * self._budget if gradient.any() else 1.0
        self._many = 4 * _PRICED + len(rows)  # atoms, of which those of weight 0 then leave

    def solve(self, atoms: Atoms, ends: Callable[[float, float], bool]) -> LinearSolution:
        """Generate atoms, from given ones, until value and bound say that it is enough."""
        bound, multipliers = -np.inf, np.zeros(len(self._rows))
        forms = self._rows.quadratic_forms(atoms)
        for _ in range(_MOST_ROUNDS):
            master = self._master(atoms, forms)
            priced = self._gradient + self._rows.combined(master.multipliers)
            new = self._set.best_atoms(priced, _PRICED, atoms)
            reduced = [
                extra.cost + float(master.multipliers @ extra.coefficients)
                for extra in self._extras
                if extra.trace  # the others are not negative for any solution of the dual
            ]
            least = min(0.0, float(new.prices[0]), *reduced)
            found = least - float(master.multipliers @ self._right)
            if found > bound:
                bound, multipliers = found, master.multipliers
            joining = new.atoms[new.prices < master.level - _ACCURACY]
            if ends(self._scale * master.value, self._scale * bound) or not len(joining):
                break
            kept = master.weights > 0 if len(atoms) > self._many else slice(None)
            atoms = atoms[kept].joined(joining)
            forms = np.hstack([forms[:, kept], self._rows.quadratic_forms(joining)])
        return LinearSolution(
            atoms[: len(master.weights)],
            self._budget * master.weights,
            self._unit * multipliers,
            self._scale * master.value,
            self._scale * bound,
        )

    def _master(self, atoms: Atoms, forms: FloatArray) -> _Master:
        """Solve the linear master problem: the best weights of some atoms, of forms ``u'A_k u``."""
        n, equal = len(atoms), self._rows.is_equality
        costs = np.append(
            atoms.quadratic_forms(self._gradient), [extra.cost for extra in self._extras]
        )
        extra = np.array([extra.coefficients for extra in self._extras]).reshape(-1, len(equal)).T
        left = np.hstack([forms, extra])
        trace = np.append(np.ones(n), [extra.trace for extra in self._extras])
        answer = linprog(
            costs,
            A_ub=np.vstack([left[~equal], trace]),
            b_ub=np.append(self._right[~equal], 1.0),
            A_eq=left[equal] if equal.any() else None,
            b_eq=self._right[equal] if equal.any() else None,
            method="highs",
            options={
                "primal_feasibility_tolerance": _ACCURACY,
                "dual_feasibility_tolerance": _ACCURACY,
            },
        )
        if answer.x is None or not answer.success:
            raise SolverFailedError(f"HiGHS failed on the constraints: {answer.message}")
        multipliers = np.zeros(len(equal))
        marginals = -answer.ineqlin.marginals
        multipliers[~equal] = np.maximum(marginals[:-1], 0.0)
        if equal.any():
            multipliers[equal] = -answer.eqlin.marginals
        return _Master(
            weights=np.maximum(answer.x[:n], 0.0),
            multipliers=multipliers,
            level=-max(float(marginals[-1]), 0.0),
            value=float(costs @ answer.x),
        )
