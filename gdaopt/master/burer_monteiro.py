"""Turning atoms: Newton's method on their directions and weights together.

Where every unit vector is an atom, a better metric is often near by with the same number of atoms,
all turned a little. New atoms and new weights get there bit by bit; with the atoms as columns of a
matrix V, scaled by the roots of their weights, it is one smooth problem on a sphere:

    min Q(B + V V')   s.t.   ‖V‖² = τ

Burer and Monteiro's factorisation (2003). It is not convex in V, which does not matter here: the
exact oracle judges what comes out, and a result is only taken when it lowers the objective.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import eigh

from gdaopt.linalg.atoms import Atoms
from gdaopt.master.active_set import ActiveSet
from gdaopt.objectives.protocol import Objective, Point
from gdaopt.validation import FloatArray

__all__ = ["refined"]

_NEWTON_STEPS = 4
_CONJUGATE_STEPS = 200
_FORCING = 0.1  # of the slope: how accurate a Newton step is at most, and less as it gets flat
_FLAT = 1e-14  # of the slope without the constraint: a smaller one is round-off
_DIFFERENCE = 1e-5  # of τ/K: how far from the metric the gradient is taken once more
_SHRINK, _SHORTEST = 0.25, 1e-3  # backtracking
_ROUND_OFF = 1e-13  # of the objective
_NO_WEIGHT = 1e-14  # of τ: eigenvalues below belong to no atom
_RANK = 1e-9  # of the largest eigenvalue: atoms of less weight are left to the weights


def refined(
    objective: Objective, base: FloatArray, active_set: ActiveSet, budget: float
) -> tuple[ActiveSet, int]:
    """Return atoms turned to where the objective is lower, and the Newton steps it took.

    Parameters
    ----------
    objective : Objective
        Q.
    base : ndarray of shape (K, K)
        B.
    active_set : ActiveSet
        The atoms, of weights that use up the budget.
    budget : float
        τ.

    Returns
    -------
    ActiveSet
        Orthogonal atoms.
    int
        Newton steps.
    """
    start = _Factor.of(objective, base, budget, _orthogonal(active_set, len(base)))
    place, taken = start, 0
    while taken < _NEWTON_STEPS and place.steepness > _FLAT:
        following = _line_search(place, _newton_step(place))
        if following is None:
            break
        place, taken = following, taken + 1
    if not taken:
        return active_set, 0
    values, vectors = eigh(place.factor @ place.factor.T)
    kept = values > _NO_WEIGHT * budget
    weights = values[kept] * (budget / values[kept].sum())
    return ActiveSet(Atoms.of_vectors(np.ascontiguousarray(vectors[:, kept].T)), weights), taken


def _orthogonal(active_set: ActiveSet, n_features: int) -> FloatArray:
    """Return V of the listed metric with as few columns as it has eigenvalues."""
    above = active_set.atoms.added_to(np.zeros((n_features, n_features)), active_set.weights)
    values, vectors = eigh(above)
    kept = values > _RANK * values[-1]
    factor: FloatArray = vectors[:, kept] * np.sqrt(values[kept])
    return factor


@dataclass(frozen=True, eq=False)
class _Factor:
    """A point of the sphere, and the objective there."""

    objective: Objective
    base: FloatArray
    budget: float
    factor: FloatArray  # V, K×r
    point: Point

    @classmethod
    def of(
        cls, objective: Objective, base: FloatArray, budget: float, factor: FloatArray
    ) -> _Factor:
        """Return the point of the sphere nearest to V."""
        factor = factor * np.sqrt(budget / np.vdot(factor, factor))
        return cls(objective, base, budget, factor, objective.at(base + factor @ factor.T))

    def moved(self, step: FloatArray) -> _Factor:
        """Return the point of the sphere that a step leads to."""
        return _Factor.of(self.objective, self.base, self.budget, self.factor + step)

    @cached_property
    def _unit(self) -> float:
        return float(np.abs(self.point.gradient()).max()) or 1.0

    @cached_property
    def gradient(self) -> FloatArray:
        """The gradient in units of its size: squares of what is near underflow would be 0."""
        gradient: FloatArray = self.point.gradient() / self._unit
        return gradient

    @cached_property
    def _product(self) -> FloatArray:
        return self.gradient @ self.factor

    @cached_property
    def multiplier(self) -> float:
        """Y of the budget."""
        return -float(np.vdot(self._product, self.factor)) / self.budget

    @cached_property
    def slope(self) -> FloatArray:
        """Half of the derivative along the sphere: ``(G + yI) V``."""
        slope: FloatArray = self._product + self.multiplier * self.factor
        return slope

    @property
    def steepness(self) -> float:
        """The slope's size, as a share of what it is without the sphere."""
        free = float(np.linalg.norm(self._product))
        return float(np.linalg.norm(self.slope)) / free if free else 0.0

    def curvature(self, step: FloatArray) -> FloatArray:
        """Return half of the second derivative along the sphere: ``(∇²Q[D] V + (G + yI) U)``.

        ``D = UV' + VU'`` is the change of the metric; its second derivative is a difference of
        gradients.
        """
        turn = step @ self.factor.T
        direction = turn + turn.T
        length = _DIFFERENCE * self.budget / len(self.base) / float(np.linalg.norm(direction))
        ahead = self.objective.at(self.point.metric + length * direction).gradient()
        second = (ahead / self._unit - self.gradient) / length
        total = second @ self.factor + self.gradient @ step + self.multiplier * step
        tangent: FloatArray = total - self.factor * (np.vdot(self.factor, total) / self.budget)
        return tangent


def _newton_step(place: _Factor) -> FloatArray:
    """Return the Newton step by conjugate gradients, or as far as the curvature is positive."""
    step = np.zeros_like(place.factor)
    residual = -place.slope
    direction = residual
    squared = float(np.vdot(residual, residual))
    enough = squared * min(_FORCING, np.sqrt(place.steepness)) ** 2
    for _ in range(_CONJUGATE_STEPS):
        if not np.abs(direction).max() > 0:
            break
        bent = place.curvature(direction)
        curvature = float(np.vdot(direction, bent))
        if not curvature > 0:
            return step if step.any() else direction
        length = squared / curvature
        step = step + length * direction
        residual = residual - length * bent
        before, squared = squared, float(np.vdot(residual, residual))
        if squared <= enough:
            break
        direction = residual + (squared / before) * direction
    return step


def _line_search(place: _Factor, step: FloatArray) -> _Factor | None:
    """Return a better place along a step: of a lower objective, or as low and flatter; or None."""
    value = place.point.value
    slack = _ROUND_OFF * abs(value)
    length = 1.0
    while length > _SHORTEST:
        trial = place.moved(length * step)
        if trial.point.value < value - slack:
            return trial
        if trial.point.value <= value + slack and trial.steepness < place.steepness:
            return trial
        length *= _SHRINK
    return None
