"""The master problem of fully corrective Frank–Wolfe: the best weights of given atoms.

    min F(w)   s.t.   w ≥ 0,  Σw ≤ τ

F is Q, or log Q if that is convex, too. With the slack ``τ - Σw`` the variables lie on a simplex
("Algorithm: fully corrective Frank–Wolfe").
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gdaopt.errors import TimeLimitError
from gdaopt.linalg.projection import project_on_simplex
from gdaopt.linalg.quadratic_program import solve_regular
from gdaopt.master.master_point import MasterPoint
from gdaopt.support.validation import FloatArray

_NEWTON_STEPS = 200
_GRADIENT_STEPS = 2000
_MATRICES = 4  # n×n: the Hessian, its bordered and reduced copies, the factor
_NEWTON_PATIENCE = 4  # steps without progress, after which the remaining gap is round-off
_GRADIENT_PATIENCE = 100
_LINE_STEPS = 30
_HALVINGS = 60  # halvings of a step whose line search has not ended: enough to reach round-off
_FLAT = 0.2  # share of the slope at its start: if a line is this flat, the line search ends
_SAFE = 0.05  # share of the bracket: trial steps keep this far from its ends
_MOST_ROUNDS = 100  # variables become free in each; a few rounds are usual
_UNDERFLOW = 1e-75  # share of the slack: the derivatives of squares of smaller weights underflow
_NEGLIGIBLE = 1e-8  # share of the gain so far: the next step of Newton's method does better


class Iterate(NamedTuple):
    """Weights, how far F is at most above its minimum, and the multipliers of rows, if any."""

    at: MasterPoint
    gap: float
    multipliers: FloatArray | None = None


def find_best_weights(
    start: MasterPoint, reduction: float, memory_limit: int, enough: float = 0.0
) -> tuple[MasterPoint, int]:
    """Minimise F over weights ≥ 0 of given atoms, whose sum is that of the start and its slack.

    If the Hessian does not fit into `memory_limit` bytes, the spectral projected gradient takes the
    place of Newton's method. The number of steps of the latter is returned, too.
    """
    fits = 8 * _MATRICES * len(start.x) ** 2 <= memory_limit
    iterates = _newton(start) if fits else _spectral_gradient(start)
    patience = _NEWTON_PATIENCE if fits else _GRADIENT_PATIENCE
    first = Iterate(start, start.gap)
    best, n_iterates = find_best(first, iterates, reduction, enough, patience)
    return best.at, n_iterates - 1 if fits else 0


def find_best(
    start: Iterate, iterates: Iterator[Iterate], reduction: float, enough: float, patience: int
) -> tuple[Iterate, int]:
    """Return the best of some iterates, and how many of them there were.

    They end when the gap has fallen to a share `reduction` of that at the start, or to `enough`, or
    when the last ones made no progress.
    """
    target = max(reduction * start.gap, enough)
    best, least, waited, n_iterates = start, np.inf, 0, 0
    with suppress(TimeLimitError):  # the best weights so far are a less accurate solution
        for iterate in iterates:
            n_iterates += 1
            is_better = iterate.at.value < least or iterate.gap < best.gap
            least = min(least, iterate.at.value)
            best, waited = (iterate, 0) if is_better else (best, waited + 1)
            weights, slack = best.at.weights, best.at.x[-1]
            if 0 < weights.sum() < _UNDERFLOW * slack:
                # F falls with the weights or their squares; at 0 it may have another slope.
                zero = best.at.function.at(np.append(0 * weights, slack + weights.sum()))
                best = best._replace(at=zero) if zero.value <= best.at.value else best
                break
            if best.gap <= target or waited == patience:
                break
    return best, n_iterates


def _newton(point: MasterPoint) -> Iterator[Iterate]:
    """Yield the iterates of Newton's method, the first one included."""
    for _ in range(_NEWTON_STEPS):
        yield Iterate(point, point.gap)
        with np.errstate(over="ignore", invalid="ignore"):  # if there is no step, the run ends
            target = minimize_on_simplex(point.slope, point.hessian(), point.x)
        if (target == point.x).all() or not np.isfinite(target).all():
            return
        point = descend(point, target)


def _spectral_gradient(point: MasterPoint) -> Iterator[Iterate]:
    """Yield the iterates of the spectral projected gradient (Birgin, Martínez, Raydan 2000)."""
    rate = float(point.x.sum()) / (float(np.ptp(point.slope)) or 1.0)
    for _ in range(_GRADIENT_STEPS):
        yield Iterate(point, point.gap)
        target = project_on_simplex(point.x - rate * point.slope, float(point.x.sum()))
        if (target == point.x).all():
            return
        following = descend(point, target)
        step = following.x - point.x
        bend = float(step @ (following.slope - point.slope))
        rate = float(step @ step) / bend if bend > 0 else 2 * rate
        point = following


def descend(start: MasterPoint, target: FloatArray) -> MasterPoint:
    """Return the point on the way to a target at which the slope of F has become flat.

    The search goes by slopes, because differences of values would end in round-off: by the Illinois
    method, by which the slope at an end of the bracket that stays counts half. A step that promises
    less than the round-off of F is taken whole, because slopes along it are noise. It is searched
    only if the slope at its end is larger than at its start: a Hessian of some pairs was too flat.
    """
    step = target - start.x
    first, round_off = float(start.slope @ step), start.round_off
    if first >= 0:
        return start.function.at(target) if first <= round_off else start
    low, low_slope, high, high_slope = 0.0, first, 1.0, np.inf
    was_short = None
    most = start.value + round_off
    length, reached = 1.0, start.function.at(target)
    if -first <= round_off and float(reached.slope @ step) <= -first:
        return reached
    for _ in range(_LINE_STEPS):
        slope = float(reached.slope @ step)
        is_high = not reached.value <= most
        if not start.function.convex and is_high:
            slope = np.inf  # beyond a hump, whatever the slope is there
        if slope <= 0:
            good = length == 1 or slope >= _FLAT * first
        else:  # beyond the minimum along the line the value may have risen
            good = slope <= -_FLAT * first and not is_high
        if good:
            return reached
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
        reached = start.function.at(start.x + length * step)
    # If one slope dwarfs the other, secants hardly shrink the bracket, and F may have risen.
    for _ in range(_HALVINGS):
        if reached.value <= most:
            return reached
        length /= 2
        reached = start.function.at(start.x + length * step)
    return start


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
        # If all of them together do not lower the value, the steepest alone still does.
        for joins in (steepest, steepest[:1]) if len(steepest) > 1 else (steepest,):
            free = x > 0
            free[joins] = True
            moved = _minimize_on_face(slope, hessian, x, free)
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


def _minimize_on_face(
    slope: FloatArray, hessian: FloatArray, x: FloatArray, free: npt.NDArray[np.bool_]
) -> FloatArray:
    """Return the minimiser over a face of the simplex; free variables below 0 are fixed at 0."""
    total = x.sum()
    while True:
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
    # If there is none, such a one that its share below stops no step before a bound does.
    unit[unit == 0] = np.sqrt(float(np.abs(right).max()) / total) or 1.0
    reduced /= unit[:, None] * unit
    solution = solve_regular(reduced, right / unit)
    # If there is no curvature but round-off: go down the slope until a bound stops the step.
    far = right * (total / (float(np.abs(right).max()) or 1.0))
    step[others] = far if solution is None else solution / unit
    step[largest] = -step[others].sum()
    return step
