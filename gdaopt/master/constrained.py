"""The master problem with linear constraints: the best weights of given atoms that keep them.

    min F(w)   s.t.   w ≥ 0,  Σw ≤ τ,  R w ≤ r  or  = r,     R_kj = u_j'A_k u_j

The quadratic program of each Newton step is solved by a primal active-set method, which begins at
weights that keep all rows ("Algorithm: fully corrective Frank–Wolfe with linear constraints").
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gdaopt.constraints.restricted import Restricted
from gdaopt.constraints.rows import FORM_ROUND_OFF
from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.quadratic_program import LEAST_ROOM, QuadraticProgram
from gdaopt.master.master_point import MasterPoint
from gdaopt.master.weights import Iterate, descend, find_best
from gdaopt.support.validation import FloatArray

_NEWTON_STEPS = 100
_PATIENCE = 4  # steps without progress, after which the remaining gap is round-off
_LIFT = 1e-13  # a share of the terms of a price: more than certificates charge for round-off
_NOISE = 10 / LEAST_ROOM  # times its round-off: a row in smaller units could not be kept
_LEAST_UNIT = 1e-150  # the least unit of values: in smaller ones second derivatives would overflow
_SMALLEST = 1e-18  # a share of the size of the weights: the smallest unit of one
_CORRECTIONS = 20  # corrections of weights that break rows
_ALIKE = 1e-8  # a share of the largest singular value: smaller ones are of like rows

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

    @classmethod
    def on_weights(cls, restricted: Restricted, atoms: Atoms) -> Rows:
        """Return the linear constraints of a set on the weights of atoms."""
        rows = restricted.rows
        right = -rows.residuals(restricted.base)
        return cls(*rows.forms_and_sizes(atoms), right, rows.is_equality)


def find_best_weights_with_rows(
    start: MasterPoint,
    rows: Rows,
    multipliers: FloatArray,
    reduction: float,
    enough: float = 0.0,
) -> tuple[MasterPoint, FloatArray, int]:
    """Minimise F over the weights that keep rows, from weights that keep them.

    Multipliers, and the number of Newton steps, are returned, too.
    """
    first = Iterate(start, _duality_gap(start, rows, multipliers), multipliers)
    best, n_steps = find_best(first, _newton(start, rows), reduction, enough, _PATIENCE)
    assert best.multipliers is not None
    total = float(start.x.sum())
    weights = _mend_rows(best.at.weights, total, rows)
    slack = max(total - float(weights.sum()), 0.0)
    return best.at.function.at(np.append(weights, slack)), best.multipliers, n_steps


def _newton(point: MasterPoint, rows: Rows) -> Iterator[Iterate]:
    """Yield the iterates of Newton's method, from the first step on."""
    for _ in range(_NEWTON_STEPS):
        target, multipliers = _quadratic_minimum(point, rows)
        point = descend(point, target)
        yield Iterate(point, _duality_gap(point, rows, multipliers), multipliers)


def _duality_gap(point: MasterPoint, rows: Rows, multipliers: FloatArray) -> float:
    """Return how far F is at most above its minimum over the weights, by the multipliers."""
    slopes = point.slope + np.append(multipliers @ rows.forms, 0.0)
    lagrangian = float(point.x @ slopes) - float(point.x.sum()) * float(slopes.min())
    return lagrangian + float(multipliers @ (rows.right - rows.forms @ point.weights))


def _mend_rows(weights: FloatArray, total_weight: float, rows: Rows) -> FloatArray:
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


def _quadratic_minimum(point: MasterPoint, rows: Rows) -> tuple[FloatArray, FloatArray]:
    """Minimise the quadratic model of F: return the weights and the slack, and the multipliers."""
    total, weights, equal = float(point.x.sum()), point.x[:-1], rows.is_equality
    units = np.append(_weight_units(float(weights.sum()) or total, rows), total)
    slopes = units * point.slope
    # A slope that keeps a weight at 0 does not count, however steep it is.
    counts = (point.x > 0) | (slopes < 0)
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
        point.x / units,
        point.slope * (units / unit),
        point.hessian() / unit * units * units[:, None],  # squares of units may overflow
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
