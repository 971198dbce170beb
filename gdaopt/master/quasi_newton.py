"""Quasi-Newton steps in the entries of atoms: a quick way near a stationary point.

With the atoms as rows v of a matrix V, scaled by the roots of their weights, the metrics of atoms
of some supports with the total weight τ are a smooth function of V, whose size does not matter:

    min Q(B + τ VV' / ‖V‖²),     VV' = Σ_k v_k v_k'

It is not convex in V, even where Q is. A step takes one evaluation of Q and of its gradient, or few
more ("Algorithm: fully corrective Frank–Wolfe without convexity").
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice

import numpy as np

from gdaopt.errors import TimeLimitError
from gdaopt.linalg.atoms import Atoms
from gdaopt.master.active_set import ActiveSet
from gdaopt.objectives.base import Objective
from gdaopt.support.validation import FloatArray

_SPREAD = 0.1  # share of the weights that all atoms have at the start: one of weight 0 has no slope
_STEPS = 500
_MEMORY = 5  # steps that second derivatives are estimated from
_FIRST_STEP = 0.3  # share of the size of x
_DECREASE = 1e-4  # share of what the slope promises that a step must gain
_HALVINGS = 30
_NEGLIGIBLE = 1e-3  # share of the mean weight of a feature: atoms of less are left to the rounds


def quasi_newton(
    objective: Objective,
    base: FloatArray,
    active_set: ActiveSet,
    others: Atoms,
    accuracy: float,
) -> ActiveSet:
    """Return an active set of the same total weight, where the objective is lower.

    Parameters
    ----------
    objective, base : Objective and ndarray of shape (K, K)
        Q and B.
    active_set : ActiveSet
        Where the steps begin, of positive total weight.
    others : Atoms
        Atoms of the other supports, which begin with a small weight. Entries of two-sparse atoms
        keep their signs.
    accuracy : float
        The steps end when one lowers the objective by less than that share of it, or when the time
        is up.
    """
    atoms, total = active_set.atoms.joined(others), active_set.total
    weights = np.append((1 - _SPREAD) / total * active_set.weights, np.zeros(len(others)))
    weights += _SPREAD / len(atoms)
    values = np.sqrt(weights)[:, None] * atoms.values
    start, shape = values.ravel(), values.shape

    def value_and_slope(x: FloatArray) -> tuple[float, FloatArray]:
        scaled, size = Atoms(atoms.support, x.reshape(shape)), float(x @ x)
        if not size > 0:  # a step has ended at all bounds at once
            return math.inf, np.zeros_like(x)
        point = objective.at(scaled.added_to(base, np.full(len(atoms), total / size)))
        slope = scaled.products_on_support(point.gradient()).ravel()
        slope -= float(slope @ x) / size * x
        return point.value, 2 * total / size * slope

    least, most = np.full((2, len(start)), math.inf) * [[-1], [1]]
    if atoms.is_two_sparse:
        least[start >= 0], most[start <= 0] = 0.0, 0.0
    best, points = start, descend(value_and_slope, start, least, most)
    with suppress(TimeLimitError):
        _, value = next(points)
        for x, reached in islice(points, _STEPS):
            best = x
            if value - reached <= accuracy * max(abs(value), abs(reached)):
                break
            value = reached
    values = best.reshape(shape)
    weights = (values**2).sum(axis=1)
    is_used = weights > _NEGLIGIBLE * weights.sum() / len(base)
    weights = weights[is_used]
    units = values[is_used] / np.sqrt(weights)[:, None]
    return ActiveSet(Atoms(atoms.support[is_used], units), total / weights.sum() * weights)


def descend(
    value_and_slope: Callable[[FloatArray], tuple[float, FloatArray]],
    x: FloatArray,
    least: FloatArray,
    most: FloatArray,
) -> Iterator[tuple[FloatArray, float]]:
    """Yield points of ever lower values between bounds, and the values: projected L-BFGS.

    Entries that the slope holds at a bound stay there; the others take a step of L-BFGS, which ends
    at the bounds, and is halved until it gains enough (Bertsekas, *Projected Newton methods*, SIAM
    J. Control Optim. 1982; Nocedal, Wright, *Numerical Optimization*, Algorithm 7.4).
    """
    value, slope = value_and_slope(x)
    last: deque[tuple[FloatArray, FloatArray]] = deque(maxlen=_MEMORY)
    while True:
        yield x, value
        is_free = ((x > least) | (slope < 0)) & ((x < most) | (slope > 0))
        direction = slope * is_free
        used: list[tuple[FloatArray, FloatArray, float, float]] = []
        for step, change in reversed(last):
            step, change = step * is_free, change * is_free
            if (curvature := float(step @ change)) > 0:
                share = float(step @ direction) / curvature
                direction -= share * change
                used.append((step, change, curvature, share))
        if used:
            _, change, curvature, _ = used[0]
            direction *= curvature / float(change @ change)
        elif (size := float(np.linalg.norm(direction))) > 0:
            direction *= _FIRST_STEP * float(np.linalg.norm(x)) / size
        for step, change, curvature, share in reversed(used):
            direction += (share - float(change @ direction) / curvature) * step
        for halving in range(_HALVINGS):
            moved = np.clip(x - 0.5**halving * direction, least, most)
            reached, its_slope = value_and_slope(moved)
            if reached <= value + _DECREASE * float(slope @ (moved - x)):
                break
        else:
            return
        last.append((moved - x, its_slope - slope))
        x, value, slope = moved, reached, its_slope
