"""The master problem with linear constraints: the best weights of given atoms that keep them.

    min F(w)   s.t.   w ≥ 0,  Σw ≤ τ,  R w ≤ r  or  = r,     R_kj = u_j'A_k u_j

The quadratic program of each Newton step is solved by a primal active-set method, which begins at
weights that keep all rows ("Algorithm: fully corrective Frank–Wolfe with linear constraints").
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gdaopt.constraints.rows import FORM_ROUND_OFF
from gdaopt.errors import TimeLimitError
from gdaopt.linalg.quadratic_program import LEAST_ROOM, QuadraticProgram
from gdaopt.master.master_point import MasterPoint
from gdaopt.master.weights import Iterate, MasterSolution, descended
from gdaopt.support.deadline import check_time
from gdaopt.support.validation import FloatArray

_NEWTON_STEPS = 100
_PATIENCE = 4  # steps without progress, after which the remaining gap is round-off
_ROUND_OFF = 1e-14  # of the value, and of the terms of a slope
_LIFT = 1e-13  # of the terms of a price: more than a certificate charges for their round-off
_NOISE = 10 / LEAST_ROOM  # times its round-off: a row in smaller units could not be kept
_LEAST_UNIT = 1e-150  # of values: in smaller ones second derivatives would overflow
_SMALLEST = 1e-18  # of the size of the weights: the smallest unit of one
_CORRECTIONS = 20  # of weights that break rows
_ALIKE = 1e-8  # of the largest singular value of rows: smaller ones are differences of like rows

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Rows:
    """Linear constraints ``R w ≤ r``, or ``= r``, on the weights of n atoms: R of shape (m, n).

    The sizes are those of the terms that the forms R are sums of: each form is as exact as these.
    """

    forms: FloatArray
    sizes: FloatArray
    right: FloatArray
    is_equality: Flags


def solve_constrained_master_problem(
    point: MasterPoint,
    total_weight: float,
    rows: Rows,
    multipliers: FloatArray,
    reduction: float,
    enough: float = 0.0,
) -> MasterSolution:
    """Minimise F over the weights that keep rows, from weights that keep them, to a duality gap."""
    weights = point.weights
    iterate = Iterate.at(point, np.append(weights, max(total_weight - float(weights.sum()), 0.0)))
    target = max(reduction * _duality_gap(iterate, rows, multipliers), enough)
    best, least, waited, taken = (iterate, multipliers), np.inf, 0, 0
    with suppress(TimeLimitError):  # the best weights so far are a less accurate solution
        while taken < _NEWTON_STEPS:
            check_time()
            taken += 1
            target_x, prices = _quadratic_minimum(iterate, rows)
            following = descended(iterate, target_x)
            if following is iterate:
                following = _whole_step(iterate, target_x, rows, prices)
            gap = _duality_gap(following, rows, prices)
            if gap < least or following.point.value < best[0].point.value:
                best, waited = (following, prices), 0
            else:
                waited += 1
            least = min(gap, least)
            if best[0].underflows:
                best = best[0].at_zero(), prices
                break
            if gap <= target or waited >= _PATIENCE or following is iterate:
                break
            iterate = following
    kept = _with_rows_kept(best[0].point.weights, total_weight, rows)
    return MasterSolution(best[0].point.at(kept), taken, best[1])


def _whole_step(
    iterate: Iterate, target: FloatArray, rows: Rows, multipliers: FloatArray
) -> Iterate:
    """Return the target of a step whose gain is less than round-off, where its gap is smaller.

    The gap is of first order: it falls by decades where values and slopes tell nothing any more.
    """
    there = iterate.moved(target)
    most = iterate.point.value + _ROUND_OFF * (1 + abs(iterate.point.value))
    gaps = [_duality_gap(each, rows, multipliers) for each in (there, iterate)]
    return there if there.point.value <= most and gaps[0] < gaps[1] else iterate


def _with_rows_kept(weights: FloatArray, total_weight: float, rows: Rows) -> FloatArray:
    """Return weights that keep rows and trace bound to the last digits."""
    left = np.vstack([rows.forms, np.ones(len(weights))])
    right = np.append(rows.right, total_weight)
    is_equality = np.append(rows.is_equality, False)
    round_off = np.append(FORM_ROUND_OFF * (rows.sizes @ weights + np.abs(rows.right)), 0.0)
    worst = np.inf
    for _ in range(_CORRECTIONS):
        terms = left * weights
        residuals = terms.sum(axis=1) - right
        broken = np.where(is_equality, np.abs(residuals), residuals) > round_off
        sizes = np.abs(terms).max(axis=1, initial=0.0)
        broken &= sizes > 0  # else no weight can mend it
        shares = np.abs(residuals[broken]) / sizes[broken]
        if not broken.any() or not shares.max() < worst:
            break
        worst = shares.max()
        # Rows that are nearly the same are corrected alike: what they differ by is round-off.
        shares = np.linalg.lstsq(
            terms[broken] / sizes[broken, None], residuals[broken] / sizes[broken], _ALIKE
        )[0]
        weights = weights * np.maximum(1 - shares, 0.0)
    return weights


def _duality_gap(iterate: Iterate, rows: Rows, multipliers: FloatArray) -> float:
    """Return how far F is at most above its minimum over the weights, by the multipliers."""
    slopes = iterate.slope + np.append(multipliers @ rows.forms, 0.0)
    total = float(iterate.x.sum())
    lagrangian = float(iterate.x @ slopes) - total * float(slopes.min())
    return lagrangian + float(multipliers @ (rows.right - rows.forms @ iterate.x[:-1]))


def _quadratic_minimum(iterate: Iterate, rows: Rows) -> tuple[FloatArray, FloatArray]:
    """Minimise the quadratic model of F: return the weights and the slack, and the multipliers."""
    total, weights, equal = float(iterate.x.sum()), iterate.x[:-1], rows.is_equality
    units = np.append(_weight_units(float(weights.sum()) or total, rows), total)
    slopes = units * iterate.slope
    # A slope that keeps a weight at 0 does not count, however steep it is.
    counts = (iterate.x > 0) | (slopes < 0)
    unit = max(float(np.abs(slopes[counts]).max(initial=0.0)), _LEAST_UNIT)
    left = np.hstack([rows.forms, np.zeros((len(equal), 1))]) * units
    largest = np.abs(left).max(axis=1, initial=0.0)
    noise = _NOISE * FORM_ROUND_OFF * (rows.sizes * units[:-1]).max(axis=1, initial=0.0)
    row_units = np.where(largest > 0, np.maximum(largest, noise), 1.0)
    # Rows that none of the atoms is in hold.
    right = np.where(largest > 0, rows.right / row_units, np.where(equal, 0.0, 1.0))
    left = left / row_units[:, None]
    n_equal = 1 + int(equal.sum())
    x, prices = QuadraticProgram(
        iterate.x / units,
        iterate.slope * (units / unit),
        iterate.hessian() / unit * units * units[:, None],  # squares of units may overflow
        np.vstack([units / total, left[equal], left[~equal]]),
        np.concatenate([[1.0], right[equal], right[~equal]]),
        n_equal,
        _LIFT,
    ).solve()
    multipliers = np.zeros(len(equal))
    multipliers[equal], multipliers[~equal] = prices[1:n_equal], prices[n_equal:]
    weights = units[:-1] * x[:-1]
    slack = max(total - float(weights.sum()), 0.0)
    return np.append(weights, slack), multipliers * (unit / row_units)


def _weight_units(size: float, rows: Rows) -> FloatArray:
    """Return a unit for each weight: its largest value by rows of forms ≥ 0, at most `size`."""
    units = np.full(rows.forms.shape[1], size)
    for form, right in zip(rows.forms, rows.right, strict=True):
        if form.min(initial=0.0) >= 0 and right > _SMALLEST * size:
            with np.errstate(divide="ignore", over="ignore"):
                most = right / form
            units = np.minimum(units, most)
    bounded: FloatArray = np.maximum(units, _SMALLEST * size)
    return bounded
