"""The master problem of fully corrective Frank–Wolfe: the best weights of given atoms.

    min F(w)   s.t.   w ≥ 0,  Σw ≤ τ

F is Q or an increasing function of it, such as log Q. What the weights leave of the budget is one
more variable, so that they live on a simplex. Newton's method with a quadratic program in each
step (`gdaopt.master.simplex`) solves it to the last digits; where the n×n Hessian does not fit in
memory, the spectral projected gradient takes its place (DESIGN section 4).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gdaopt.linalg.projection import project_on_simplex
from gdaopt.master.simplex import minimize_on_simplex
from gdaopt.objectives.protocol import AtomWeightsPoint
from gdaopt.validation import FloatArray

__all__ = ["WeightsSolution", "minimize_weights"]

_NEWTON_STEPS = 200
_GRADIENT_STEPS = 2000
_MATRICES = 4  # n×n: the Hessian, its bordered and reduced copies, the factor
_NEWTON_PATIENCE = 4  # steps without a smaller gap, after which what is left is round-off
_GRADIENT_PATIENCE = 100
_LINE_STEPS = 30
_FLAT = 0.2  # of the slope at the start: where a line is this flat, it has been followed enough
_ROUND_OFF = 1e-14  # of the value
_SAFE = 0.05  # of the bracket: trial steps keep off its ends


@dataclass(frozen=True, eq=False)
class WeightsSolution:
    """The answer to the master problem.

    Attributes
    ----------
    point : AtomWeightsPoint
        At the weights; those that are 0 are so exactly.
    newton_steps, gradient_steps : int
        Steps of either kind.
    """

    point: AtomWeightsPoint
    newton_steps: int
    gradient_steps: int


def minimize_weights(
    point: AtomWeightsPoint, budget: float, reduction: float, memory_limit: int
) -> WeightsSolution:
    """Minimise F over the weights, from given ones.

    Parameters
    ----------
    point : AtomWeightsPoint
        The start: weights ≥ 0 of sum at most τ.
    budget : float
        τ.
    reduction : float
        Stop when the gap over these weights has fallen to this share of that at the start.
    memory_limit : int
        Bytes that the Hessian may take, with its copies.
    """
    fits = 8 * _MATRICES * (len(point.weights) + 1) ** 2 <= memory_limit
    weights = point.weights
    start = _Place.at(point, np.append(weights, max(budget - float(weights.sum()), 0.0)))
    target = reduction * start.gap
    best, least, waited, taken = start, np.inf, 0, -1
    for place in _newton(start) if fits else _spectral_gradient(start):
        taken += 1
        fell = place.point.value < least
        least = min(least, place.point.value)
        waited = 0 if fell or place.gap < best.gap else waited + 1
        best = place if fell or place.gap < best.gap else best
        if best.gap <= target or waited >= (_NEWTON_PATIENCE if fits else _GRADIENT_PATIENCE):
            break
    return WeightsSolution(best.point, taken if fits else 0, 0 if fits else taken)


@dataclass(frozen=True, eq=False)
class _Place:
    """The weights with the slack, and F's slope there."""

    point: AtomWeightsPoint
    x: FloatArray  # the weights, then what they leave of the budget
    slope: FloatArray  # by x, less its mean under x: a step keeps the sum, and digits are saved

    @classmethod
    def at(cls, point: AtomWeightsPoint, x: FloatArray) -> _Place:
        """Evaluate the gradient at a point whose weights are x without its last entry."""
        gradient = np.append(point.gradient(), 0.0)
        return cls(point, x, gradient - float(x @ gradient) / float(x.sum()))

    @property
    def gap(self) -> float:
        """How far F can be above its minimum over the weights."""
        return -float(self.x.sum()) * float(self.slope.min())

    def moved(self, x: FloatArray) -> _Place:
        """Return the place of other weights."""
        return _Place.at(self.point.at(x[:-1]), x)


def _newton(place: _Place) -> Iterator[_Place]:
    """Yield where Newton's method gets."""
    for _ in range(_NEWTON_STEPS):
        yield place
        hessian = np.zeros((len(place.x), len(place.x)))  # the slack changes nothing
        hessian[:-1, :-1] = place.point.hessian()
        target = minimize_on_simplex(place.slope, hessian, place.x)
        if (target == place.x).all():
            return
        place = _descended(place, target)


def _spectral_gradient(place: _Place) -> Iterator[_Place]:
    """Yield where the spectral projected gradient gets (Birgin, Martínez, Raydan 2000)."""
    rate = float(place.x.sum()) / (float(np.ptp(place.slope)) or 1.0)
    for _ in range(_GRADIENT_STEPS):
        yield place
        target = project_on_simplex(place.x - rate * place.slope, float(place.x.sum()))
        if (target == place.x).all():
            return
        following = _descended(place, target)
        step = following.x - place.x
        bend = float(step @ (following.slope - place.slope))
        rate = float(step @ step) / bend if bend > 0 else 2 * rate
        place = following


def _descended(place: _Place, target: FloatArray) -> _Place:
    """Go towards a target of descent until the slope is flat: values would end in round-off."""
    step = target - place.x
    first = float(place.slope @ step)
    if not first < 0:
        return place
    low, low_slope, high, high_slope = 0.0, first, 1.0, np.inf
    most = place.point.value + _ROUND_OFF * (1 + abs(place.point.value))
    length, reached = 1.0, place.moved(target)
    for _ in range(_LINE_STEPS):
        slope = float(reached.slope @ step)
        if slope <= 0:
            good = length == 1 or slope >= _FLAT * first
        else:  # a bend may hide a rise from the slopes
            good = slope <= -_FLAT * first and reached.point.value <= most
        if good:
            break
        if slope < 0:
            low, low_slope = length, slope
        else:  # also NaN, outside of the objective's domain
            high, high_slope = length, slope
        share = low_slope / (low_slope - high_slope) if np.isfinite(high_slope) else 0.5
        length = low + (high - low) * min(max(share, _SAFE), 1 - _SAFE)
        reached = place.moved(place.x + length * step)
    return reached
