"""Convex quadratic programs over the simplex, by an active-set method.

    min  g'(x - x0) + ½ (x - x0)' H (x - x0)   s.t.   x ≥ 0,  Σx = Σx0

H may be singular. The largest variable is eliminated: it is the total less the sum of the other
variables. With it the common part of the gradient drops out, which would otherwise hide the digits
of the differences. Each variable is taken in units of its own curvature, since curvatures of
features of different spread differ by decades.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.linalg.lapack import dposv

from gdaopt.support.deadline import check_time
from gdaopt.support.validation import FloatArray

_REGULARISATION = (1e-13, 1e-10, 1e-7)  # of the unit diagonal below: for a singular H
_MOST_ROUNDS = 100  # variables become free in each; a few rounds are usual
_NEGLIGIBLE = 1e-8  # of the gain so far: the next step of Newton's method does better


def minimize_on_simplex(gradient: FloatArray, hessian: FloatArray, start: FloatArray) -> FloatArray:
    """Return the minimiser, for the gradient g and the Hessian H ⪰ 0 at the start x0 ≥ 0.

    Its zeros are exact, and its value is never above the value at the start.

    Notes
    -----
    Source: Nocedal, Wright, *Numerical Optimization*, algorithm 16.3, with two short cuts. All
    variables that gain become free at once; and a step that would leave the simplex is also tried
    clipped, so that several variables can become 0 at once.

    Examples
    --------
    >>> start = np.array([0.5, 0.5, 0.0])
    >>> minimize_on_simplex(np.array([-1.0, 0.0, 5.0]), np.eye(3), start).round(9)
    array([1., 0., 0.])
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
    """Return the minimiser over a face of the simplex: some variables are free, the others 0.

    Free variables that would become negative are fixed at 0, so that each pass has fewer of them.
    """
    total = x.sum()
    while True:
        check_time()
        step = _free_step(slope, hessian, free, x)
        blocked = (x == 0) & (step < 0)
        if blocked.any():
            free = free & ~blocked
            continue
        shrinking = step < 0
        ratios = np.full(len(x), np.inf)
        ratios[shrinking] = -x[shrinking] / step[shrinking]
        length = float(ratios.min(initial=np.inf))
        if length >= 1:
            return x + step
        moved = np.where(ratios <= length, 0.0, np.maximum(x + length * step, 0.0))
        clipped = np.maximum(x + step, 0.0)
        clipped *= total / clipped.sum()
        if _change(slope, hessian, clipped - x) < _change(slope, hessian, moved - x):
            moved = clipped
        slope = slope + hessian @ (moved - x)
        x = moved
        free = free & (x > 0)


def _free_step(
    slope: FloatArray, hessian: FloatArray, free: npt.NDArray[np.bool_], x: FloatArray
) -> FloatArray:
    """Return the step of sum 0 to the minimiser over the free variables."""
    largest, total = int(x.argmax()), float(x.sum())
    others = np.flatnonzero(free)
    others = others[others != largest]
    step = np.zeros(len(slope))
    if not len(others):
        return step
    cross, corner = hessian[others, largest], hessian[largest, largest]
    reduced = hessian[others[:, None], others]
    for term in (-cross, -cross[:, None], corner):  # one after the other, in place
        reduced += term
    right = slope[largest] - slope[others]
    # The terms that the elimination subtracts say how much of a curvature is round-off.
    unit = np.sqrt(np.abs(np.diagonal(hessian)[others]) + abs(corner))
    # Where there is none, such a one that its share below stops no step before a bound does.
    unit[unit == 0] = np.sqrt(float(np.abs(right).max()) / total) or 1.0
    reduced /= unit[:, None] * unit
    diagonal = reduced.ravel()[:: len(others) + 1]  # a view
    exact = diagonal.copy()
    for share in _REGULARISATION:
        diagonal[:] = exact + share
        _, solution, failed = dposv(reduced, right / unit, lower=1)
        if not failed:
            step[others] = solution / unit
            break
    else:  # there is no curvature but round-off: go down the slope until a bound stops the step
        step[others] = right * (total / (float(np.abs(right).max()) or 1.0))
    step[largest] = -step[others].sum()
    return step
