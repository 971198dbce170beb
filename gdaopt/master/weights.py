"""The master problem of fully corrective Frank–Wolfe: the best weights of given atoms.

    min F(w)   s.t.   w ≥ 0,  Σw ≤ τ

F is Q, or log Q where that is convex, too. With the slack ``τ - Σw`` the variables lie on a simplex
("Algorithm: fully corrective Frank–Wolfe").
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from gdaopt.errors import TimeLimitError
from gdaopt.linalg.projection import project_on_simplex
from gdaopt.linalg.quadratic_program import solve_regular
from gdaopt.master.master_point import MasterPoint
from gdaopt.support.deadline import check_time
from gdaopt.support.validation import FloatArray

_NEWTON_STEPS = 200
_GRADIENT_STEPS = 2000
_MATRICES = 4  # n×n: the Hessian, its bordered and reduced copies, the factor
_NEWTON_PATIENCE = 4  # steps without progress, after which the remaining gap is round-off
_GRADIENT_PATIENCE = 100
_LINE_STEPS = 30
_HALVINGS = 60  # of a step whose line search has not ended: enough to reach round-off
_FLAT = 0.2  # of the slope at its start: where a line is this flat, the line search ends
_ROUND_OFF = 1e-14  # of the value
_SAFE = 0.05  # of the bracket: trial steps keep this far from its ends
_MOST_ROUNDS = 100  # variables become free in each; a few rounds are usual
_UNDERFLOW = 1e-75  # of the slack: the derivatives of squares of smaller weights underflow
_NEGLIGIBLE = 1e-8  # of the gain so far: the next step of Newton's method does better


@dataclass(frozen=True, eq=False)
class MasterSolution:
    """The best weights, how they were found, and the multipliers of linear constraints, if any."""

    point: MasterPoint
    newton_steps: int  # 0 where the spectral gradient has solved the problem
    multipliers: FloatArray | None = None


def solve_master_problem(
    point: MasterPoint,
    total_weight: float,
    reduction: float,
    memory_limit: int,
    enough: float = 0.0,
) -> MasterSolution:
    """Minimise F over the weights of given atoms, from given weights ≥ 0 of sum at most τ.

    It ends when the Frank–Wolfe gap over these atoms has fallen to a share `reduction` of that at
    the start, or to `enough`. Where the Hessian does not fit into `memory_limit` bytes, the
    spectral projected gradient takes the place of Newton's method.
    """
    fits = 8 * _MATRICES * (len(point.weights) + 1) ** 2 <= memory_limit
    weights = point.weights
    start = Iterate.at(point, np.append(weights, max(total_weight - float(weights.sum()), 0.0)))
    target = max(reduction * start.gap, enough)
    best, least, waited, taken = start, np.inf, 0, -1
    with suppress(TimeLimitError):  # the best weights so far are a less accurate solution
        for iterate in _newton(start) if fits else _spectral_gradient(start):
            taken += 1
            fell = iterate.point.value < least
            least = min(least, iterate.point.value)
            waited = 0 if fell or iterate.gap < best.gap else waited + 1
            best = iterate if fell or iterate.gap < best.gap else best
            if best.underflows:
                best = best.at_zero()
                break
            if best.gap <= target or waited >= (_NEWTON_PATIENCE if fits else _GRADIENT_PATIENCE):
                break
    return MasterSolution(best.point, taken if fits else 0)


@dataclass(frozen=True, eq=False)
class Iterate:
    """The weights and the slack, and the slope of F there."""

    point: MasterPoint
    x: FloatArray  # the weights, then the slack
    slope: FloatArray  # gradient of F by x, less its mean under x; steps of sum 0 see no difference

    @classmethod
    def at(cls, point: MasterPoint, x: FloatArray) -> Iterate:
        """Evaluate the gradient at a point whose weights are x without its last entry."""
        gradient = np.zeros(len(x))
        gradient[:-1] = point.gradient()
        with np.errstate(invalid="ignore"):  # 0·∞: such a step went too far, and is shortened
            return cls(point, x, gradient - float(x @ gradient) / float(x.sum()))

    @cached_property
    def gap(self) -> float:
        """The Frank–Wolfe gap: F is at most this far above its minimum over the weights."""
        return -float(self.x.sum()) * float(self.slope.min())

    @property
    def underflows(self) -> bool:
        """Whether F falls in proportion to the weights or their squares, down to tiny numbers."""
        return bool(0 < self.x[:-1].sum() < _UNDERFLOW * self.x[-1])

    def at_zero(self) -> Iterate:
        """Return the iterate at weights of 0, where F may have another slope, if it is no worse."""
        there = self.moved(np.append(np.zeros(len(self.x) - 1), self.x.sum()))
        return there if there.point.value <= self.point.value else self

    def hessian(self) -> FloatArray:
        """Return the second derivatives of F; it does not depend on the slack."""
        hessian = np.zeros((len(self.x), len(self.x)))
        hessian[:-1, :-1] = self.point.hessian()
        return hessian

    def moved(self, x: FloatArray) -> Iterate:
        """Return the iterate at other weights."""
        check_time()
        return Iterate.at(self.point.at(x[:-1]), x)


def _newton(iterate: Iterate) -> Iterator[Iterate]:
    """Yield the iterates of Newton's method, the first one included."""
    for _ in range(_NEWTON_STEPS):
        yield iterate
        with np.errstate(over="ignore", invalid="ignore"):  # where there is no step, the run ends
            target = minimize_on_simplex(iterate.slope, iterate.hessian(), iterate.x)
        if (target == iterate.x).all() or not np.isfinite(target).all():
            return
        iterate = descended(iterate, target)


def _spectral_gradient(iterate: Iterate) -> Iterator[Iterate]:
    """Yield the iterates of the spectral projected gradient (Birgin, Martínez, Raydan 2000)."""
    rate = float(iterate.x.sum()) / (float(np.ptp(iterate.slope)) or 1.0)
    for _ in range(_GRADIENT_STEPS):
        yield iterate
        target = project_on_simplex(iterate.x - rate * iterate.slope, float(iterate.x.sum()))
        if (target == iterate.x).all():
            return
        following = descended(iterate, target)
        step = following.x - iterate.x
        bend = float(step @ (following.slope - iterate.slope))
        rate = float(step @ step) / bend if bend > 0 else 2 * rate
        iterate = following


def descended(iterate: Iterate, target: FloatArray) -> Iterate:
    """Return the iterate on the way to a target where the slope of F has become flat.

    The search goes by slopes, because differences of values would end in round-off: by the Illinois
    method, by which the slope at an end of the bracket that stays counts half.
    """
    step = target - iterate.x
    first = float(iterate.slope @ step)
    if not first < 0:
        return iterate
    low, low_slope, high, high_slope = 0.0, first, 1.0, np.inf
    was_short = None
    most = iterate.point.value + _ROUND_OFF * (1 + abs(iterate.point.value))
    length, reached = 1.0, iterate.moved(target)
    for _ in range(_LINE_STEPS):
        slope = float(reached.slope @ step)
        if not reached.point.convex and reached.point.value > most:
            slope = np.inf  # beyond a hump, whatever the slope is there
        if slope <= 0:
            good = length == 1 or slope >= _FLAT * first
        else:  # beyond the minimum along the line the value may have risen
            good = slope <= -_FLAT * first and reached.point.value <= most
        if good:
            break
        is_short = slope < 0
        if is_short:
            low, low_slope = length, slope
            high_slope *= 0.5 if was_short is is_short else 1.0
        else:  # also NaN, outside of the objective's domain
            high, high_slope = length, slope
            low_slope *= 0.5 if was_short is is_short else 1.0
        was_short = is_short
        share = low_slope / (low_slope - high_slope) if np.isfinite(high_slope) else 0.5
        length = low + (high - low) * min(max(share, _SAFE), 1 - _SAFE)
        reached = iterate.moved(iterate.x + length * step)
    else:
        # Where one slope dwarfs the other, secants hardly shrink the bracket, and F may have risen.
        for _ in range(_HALVINGS):
            if reached.point.value <= most:
                break
            length /= 2
            reached = iterate.moved(iterate.x + length * step)
        else:
            return iterate
    return reached


# --- the quadratic program of a Newton step -------------------------------------------------------


def minimize_on_simplex(gradient: FloatArray, hessian: FloatArray, start: FloatArray) -> FloatArray:
    """Minimise ``g'(x - x0) + ½ (x - x0)'H(x - x0)`` over x ≥ 0 with ``Σx = Σx0``, from x0 ≥ 0.

    Algorithm 16.3 of Nocedal, Wright, *Numerical Optimization*, with two short cuts: all variables
    that gain become free at once, and a step that would leave the simplex is also tried clipped.
    Zeros are exact, and H ⪰ 0 may be singular.
    """
    x, slope = start, gradient
    gained = 0.0
    for _ in range(_MOST_ROUNDS):
        level = float(x @ slope) / float(x.sum())
        if float(x.sum()) * (level - float(slope.min())) <= _NEGLIGIBLE * gained:
            break  # by the Frank–Wolfe gap, no more than this can be gained
        joining = np.flatnonzero((x == 0) & (slope < level))
        steepest = joining[np.argsort(slope[joining])]
        # Where all of them together do not lower the value, the steepest alone still does.
        for joins in (steepest, steepest[:1]) if len(steepest) > 1 else (steepest,):
            free = x > 0
            free[joins] = True
            moved = _minimized_on_face(slope, hessian, x, free)
            gain = -_change(slope, hessian, moved - x)
            if gain > 0:
                break
        if not gain > _NEGLIGIBLE * gained:
            break
        gained += gain
        x = moved
        slope = gradient + hessian @ (x - start)
    return x


def _change(slope: FloatArray, hessian: FloatArray, step: FloatArray) -> float:
    return float(slope @ step) + float(step @ (hessian @ step)) / 2


def _minimized_on_face(
    slope: FloatArray, hessian: FloatArray, x: FloatArray, free: npt.NDArray[np.bool_]
) -> FloatArray:
    """Return the minimiser over a face of the simplex; free variables below 0 are fixed at 0."""
    total = x.sum()
    while True:
        check_time()
        step = _free_step(slope, hessian, free, x)
        target = x + step
        if not target.min() < 0:  # NaN, too, ends here
            return target
        blocked = (x == 0) & (step < 0)
        if blocked.any():
            free = free & ~blocked
            continue
        shrinking = step < 0
        ratios = np.full(len(x), np.inf)
        ratios[shrinking] = -x[shrinking] / step[shrinking]
        length = min(float(ratios.min()), 1.0)
        moved = np.where(ratios <= length, 0.0, np.maximum(x + length * step, 0.0))
        clipped = np.maximum(target, 0.0)
        clipped *= total / clipped.sum()
        if _change(slope, hessian, clipped - x) < _change(slope, hessian, moved - x):
            moved = clipped
        slope = slope + hessian @ (moved - x)
        x = moved
        free = free & (x > 0)


def _free_step(
    slope: FloatArray, hessian: FloatArray, free: npt.NDArray[np.bool_], x: FloatArray
) -> FloatArray:
    """Return the step of sum 0 to the minimiser over the free variables.

    The largest variable is eliminated, and with it the common part of the gradient, which would
    hide the digits of the differences.
    """
    largest, total = int(x.argmax()), float(x.sum())
    others = np.flatnonzero(free)
    others = others[others != largest]
    step = np.zeros(len(slope))
    if not len(others):
        return step
    cross, corner = hessian[others, largest], hessian[largest, largest]
    reduced = hessian[others[:, None], others] - cross
    reduced -= cross[:, None]
    reduced += corner
    right = slope[largest] - slope[others]
    # The terms that the elimination subtracts say how much of a curvature is round-off.
    unit = np.sqrt(np.abs(np.diagonal(hessian)[others]) + abs(corner))
    # Where there is none, such a one that its share below stops no step before a bound does.
    unit[unit == 0] = np.sqrt(float(np.abs(right).max()) / total) or 1.0
    reduced /= unit[:, None] * unit
    solution = solve_regular(reduced, right / unit)
    # Where there is no curvature but round-off: go down the slope until a bound stops the step.
    far = right * (total / (float(np.abs(right).max()) or 1.0))
    step[others] = far if solution is None else solution / unit
    step[largest] = -step[others].sum()
    return step
