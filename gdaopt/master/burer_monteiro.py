"""Burer–Monteiro refinement: Newton's method on the atoms and their weights together.

With the atoms as columns of a matrix V, scaled by the roots of their weights, the best metric of
the same number of atoms is one smooth problem on a sphere, which is not convex in V:

    min Q(B + V V')   s.t.   ‖V‖² = τ

A result is only used when it lowers the objective ("Algorithm: Burer–Monteiro refinement").
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.linalg import eigh

from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.magnitudes import norm
from gdaopt.master.active_set import ActiveSet
from gdaopt.objectives.base import Objective
from gdaopt.support.validation import FloatArray

_NEWTON_STEPS = 4
_CONJUGATE_STEPS = 200
_FORCING = 0.1  # share of the slope: a Newton step's largest residual; less if the slope is flat
_FLAT = 1e-14  # share of the slope without the constraint: a smaller slope is round-off
_DIFFERENCE = 1e-5  # share of τ/K: the step of the gradient's differences
_SHRINK, _SHORTEST = 0.25, 1e-3  # backtracking
_ROUND_OFF = 1e-13  # share of the objective
_NO_WEIGHT = 1e-14  # share of τ: eigenvalues below belong to no atom
_RANK = 1e-9  # share of the largest eigenvalue: atoms of less weight are left to the master problem


def refine_atoms(
    objective: Objective, base: FloatArray, active_set: ActiveSet, total_weight: float
) -> tuple[ActiveSet, int]:
    """Return an active set of other atoms where the objective is lower, and the Newton steps."""
    values, vectors = eigh(active_set.atoms.added_to(np.zeros_like(base), active_set.weights))
    is_used = values > _RANK * values[-1]
    factor = vectors[:, is_used] * np.sqrt(values[is_used])
    current, n_steps = _Factorization(objective, base, total_weight, factor), 0
    while n_steps < _NEWTON_STEPS and current.steepness > _FLAT:
        following = _line_search(current, _newton_step(current))
        if following is None:
            break
        current, n_steps = following, n_steps + 1
    if not n_steps:
        return active_set, 0
    values, vectors = eigh(current.factor @ current.factor.T)
    is_used = values > _NO_WEIGHT * total_weight
    weights = values[is_used] * (total_weight / values[is_used].sum())
    atoms = Atoms.of_vectors(np.ascontiguousarray(vectors[:, is_used].T))
    return ActiveSet(atoms, weights), n_steps


class _Factorization:
    """The matrix V on the sphere that is nearest to a given one, and Q at ``B + V V'``."""

    def __init__(
        self, objective: Objective, base: FloatArray, total_weight: float, factor: FloatArray
    ) -> None:
        self.objective, self.base, self.total_weight = objective, base, total_weight
        self.factor: FloatArray = factor * np.sqrt(total_weight / np.vdot(factor, factor))
        self.point = objective.at(base + self.factor @ self.factor.T)

    def moved(self, step: FloatArray) -> _Factorization:
        return _Factorization(self.objective, self.base, self.total_weight, self.factor + step)

    @cached_property
    def _unit(self) -> float:
        return float(np.abs(self.point.gradient()).max()) or 1.0

    @cached_property
    def gradient(self) -> FloatArray:
        """G, the gradient in units of its largest entry, whose squares do not underflow."""
        gradient: FloatArray = self.point.gradient() / self._unit
        return gradient

    @cached_property
    def multiplier(self) -> float:
        """The multiplier y of the sphere's constraint."""
        return -float(np.vdot(self.gradient @ self.factor, self.factor)) / self.total_weight

    @cached_property
    def slope(self) -> FloatArray:
        """Half of the derivative along the sphere: ``(G + yI) V``."""
        slope: FloatArray = self.gradient @ self.factor + self.multiplier * self.factor
        return slope

    @cached_property
    def steepness(self) -> float:
        """The norm of the slope, as a share of its norm without the constraint."""
        free = norm(self.gradient @ self.factor)
        return norm(self.slope) / free if free else 0.0

    def curvature(self, step: FloatArray) -> FloatArray:
        """Return half of the second derivative along the sphere: ``∇²Q[D] V + (G + yI) U``.

        U is the step, ``D = UV' + VU'``, and ``∇²Q[D]`` a difference of gradients.
        """
        product = step @ self.factor.T
        direction = product + product.T
        length = _DIFFERENCE * self.total_weight / len(self.base) / (norm(direction) or 1.0)
        ahead = self.objective.at(self.point.metric + length * direction).gradient()
        with np.errstate(over="ignore", invalid="ignore"):
            second = (ahead / self._unit - self.gradient) / length
            total = second @ self.factor + self.gradient @ step + self.multiplier * step
            share = np.vdot(self.factor, total) / self.total_weight
            tangent: FloatArray = total - self.factor * share
        return tangent


def _newton_step(current: _Factorization) -> FloatArray:
    """Return the Newton step, by conjugate gradients that stop where no curvature is positive."""
    step = np.zeros_like(current.factor)
    residual = -current.slope
    direction = residual
    squared = float(np.vdot(residual, residual))
    enough = squared * min(_FORCING, np.sqrt(current.steepness)) ** 2
    for _ in range(_CONJUGATE_STEPS):
        if not np.abs(direction).max() > 0:
            break
        curved = current.curvature(direction)
        curvature = float(np.vdot(direction, curved))
        if not curvature > 0:
            return step if step.any() else direction
        length = squared / curvature
        step = step + length * direction
        residual = residual - length * curved
        before, squared = squared, float(np.vdot(residual, residual))
        if squared <= enough:
            break
        direction = residual + (squared / before) * direction
    return step


def _line_search(current: _Factorization, step: FloatArray) -> _Factorization | None:
    """Return a matrix along a step where the objective is lower, or as low and flatter."""
    value = current.point.value
    slack = _ROUND_OFF * abs(value)
    length = 1.0
    while length > _SHORTEST:
        trial = current.moved(length * step)
        if trial.point.value < value - slack:
            return trial
        if trial.point.value <= value + slack and trial.steepness < current.steepness:
            return trial
        length *= _SHRINK
    return None
