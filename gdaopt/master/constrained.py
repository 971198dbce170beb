"""The master problem with linear constraints: the best weights of given atoms that keep them.

    min F(w)   s.t.   w ≥ 0,  Σw ≤ τ,  R w ≤ r  or  = r,     R_kj = u_j'A_k u_j

The quadratic program of each Newton step is solved by Clarabel; a linear system then gives the last
digits ("Algorithm: fully corrective Frank–Wolfe with linear constraints").
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.sparse import csc_array, eye_array, vstack

from gdaopt.constraints.column_generation import clarabel_answer
from gdaopt.errors import SolverFailedError, TimeLimitError
from gdaopt.master.master_point import MasterPoint
from gdaopt.master.weights import Iterate, MasterSolution, descended
from gdaopt.support.deadline import check_time
from gdaopt.support.validation import FloatArray

_NEWTON_STEPS = 100
_PATIENCE = 4  # steps without progress, after which the remaining gap is round-off
_ACCURACY = 1e-12  # of slopes, in the units of the quadratic program
_FEASIBLE = 1e-11  # of a row, in its own units: how far the last digits may break it
_FLAT = 1e-10  # of the steepest slope: the slopes of positive weights at the end
_CHANGES = 20  # of the set of weights that are 0 and of the rows that bind
_PROXIMITY = 1e-9  # of the curvature: the weight of the distance to Clarabel's answer
_CORRECTIONS = 20  # of weights that break rows
_LEAST_UNIT = 1e-150  # of values: in smaller ones second derivatives would overflow
_SMALLEST = 1e-18  # of the size of the weights: the smallest unit of one


@dataclass(frozen=True, eq=False)
class Rows:
    """Linear constraints ``R w ≤ r``, or ``= r``, on the weights of n atoms: R of shape (m, n)."""

    forms: FloatArray
    right: FloatArray
    is_equality: npt.NDArray[np.bool_]


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
            gap = _duality_gap(following, rows, prices)
            if gap < least or following.point.value < best[0].point.value:
                best, waited = (following, prices), 0
            else:
                waited += 1
            least = min(gap, least)
            if gap <= target or waited >= _PATIENCE or following is iterate:
                break
            iterate = following
    kept = _with_rows_kept(best[0].point.weights, total_weight, rows)
    return MasterSolution(best[0].point.at(kept), taken, best[1])


def _with_rows_kept(weights: FloatArray, total_weight: float, rows: Rows) -> FloatArray:
    """Return weights that keep rows and trace bound to the last digits."""
    left = np.vstack([rows.forms, np.ones(len(weights))])
    right = np.append(rows.right, total_weight)
    is_equality = np.append(rows.is_equality, False)
    for _ in range(_CORRECTIONS):
        terms = left * weights
        residuals = terms.sum(axis=1) - right
        broken = (is_equality & (residuals != 0)) | (residuals > 0)
        if not broken.any():
            break
        sizes = np.abs(terms[broken]).max(axis=1)
        sizes[sizes == 0] = 1.0  # no weight can mend such a row
        shares = np.linalg.lstsq(terms[broken] / sizes[:, None], residuals[broken] / sizes)[0]
        weights = weights * np.maximum(1 - shares, 0.0)
    return weights


def _duality_gap(iterate: Iterate, rows: Rows, multipliers: FloatArray) -> float:
    """Return how far F is at most above its minimum over the weights, by the multipliers."""
    slopes = iterate.slope + np.append(multipliers @ rows.forms, 0.0)
    total = float(iterate.x.sum())
    lagrangian = float(iterate.x @ slopes) - total * float(slopes.min())
    return lagrangian + float(multipliers @ (rows.right - rows.forms @ iterate.x[:-1]))


@dataclass(frozen=True, eq=False)
class _Quadratic:
    """min g'd + ½ d'Hd  s.t.  x + d ≥ 0 and ``left·(x + d) ≤ right``, first `n_equal` equalities.

    The unknown is the step d, because digits would cancel in ``g - Hx``. Variables, rows and values
    are in units in which rows that bound a weight by a billionth of other weights are kept, too.
    """

    x: FloatArray
    slope: FloatArray
    hessian: FloatArray
    left: FloatArray
    right: FloatArray
    n_equal: int

    @property
    def is_equality(self) -> npt.NDArray[np.bool_]:
        return np.arange(len(self.right)) < self.n_equal

    def solution(self) -> tuple[FloatArray, FloatArray]:
        """Return x + d and the multipliers of the rows, to the last digits where that is possible.

        Clarabel's answer shows up to a few errors which variables are 0 and which rows bind; the
        linear system of the others gives the last digits, and shows the errors (the primal-dual
        active-set method of Hintermüller, Ito and Kunisch, 2002). A small distance to Clarabel's
        answer is added to the objective, so that the system is regular.
        """
        found, free, prices, binds = self._interior_solution()
        own = np.maximum(self.x + found, 0.0), prices
        bends = _PROXIMITY * (1 + np.abs(np.diagonal(self.hessian)))
        near = replace(
            self, slope=self.slope - bends * found, hessian=self.hessian + np.diag(bends)
        )
        for _ in range(_CHANGES):
            step, prices = near._on_face(found, prices, free, binds)
            if not (np.isfinite(step).all() and np.isfinite(prices).all()):
                break
            residuals = self._residuals(step)
            slopes = near._slopes(step, prices)
            at = self.x + step
            leaves, joins = free & (at < 0), ~free & (slopes < -_ACCURACY)
            breaks, opens = ~binds & (residuals > _FEASIBLE), binds & (prices < 0)
            opens &= ~self.is_equality
            if not ((leaves | joins).any() or (breaks | opens).any()):
                is_right = (
                    np.abs(residuals[binds]).max() <= _FEASIBLE
                    and np.abs(slopes[free]).max(initial=0.0) <= _FLAT
                )
                return (at, prices) if is_right else own
            free, binds = (free & ~leaves) | joins, (binds & ~opens) | breaks
        return own

    def _slopes(self, step: FloatArray, prices: FloatArray) -> FloatArray:
        slopes: FloatArray = self.slope + self.hessian @ step + prices @ self.left
        return slopes

    def _residuals(self, step: FloatArray) -> FloatArray:
        residuals: FloatArray = (self.left @ self.x - self.right) + self.left @ step
        return residuals

    def _interior_solution(
        self,
    ) -> tuple[FloatArray, npt.NDArray[np.bool_], FloatArray, npt.NDArray[np.bool_]]:
        """Return Clarabel's step, which variables are not 0, multipliers, and which rows bind."""
        n_rows, n = self.left.shape
        answer = clarabel_answer(
            csc_array(np.triu(self.hessian)),
            self.slope,
            csc_array(vstack([csc_array(self.left), -eye_array(n)])),
            np.concatenate([-self._residuals(np.zeros(n)), self.x]),
            self.n_equal,
        )
        step, duals, slacks = np.array(answer.x), np.array(answer.z), np.array(answer.s)[:n_rows]
        if "Infeasible" in str(answer.status):  # up to its accuracy: x keeps the rows
            return np.zeros(n), self.x > 0, np.zeros(n_rows), self.is_equality
        if not (np.isfinite(step).all() and np.isfinite(duals).all()):
            raise SolverFailedError(f"Clarabel ended on the master problem: {answer.status}")
        prices, bounds = duals[:n_rows], duals[n_rows:]
        # A weight of 1 is compared with a slope of the size of the curvature.
        free = (self.x + step) * (1 + np.abs(np.diagonal(self.hessian))) > bounds
        binds = self.is_equality | (prices > slacks)
        return step, free, np.where(self.is_equality, prices, np.maximum(prices, 0.0)), binds

    def _on_face(
        self,
        step: FloatArray,
        prices: FloatArray,
        free: npt.NDArray[np.bool_],
        binds: npt.NDArray[np.bool_],
    ) -> tuple[FloatArray, FloatArray]:
        """Return the minimiser where some variables are 0 and some rows hold with equality."""
        step, prices = np.where(free, step, -self.x), np.where(binds, prices, 0.0)
        active, n_free = self.left[np.ix_(binds, free)], int(free.sum())
        system = np.block(
            [
                [self.hessian[np.ix_(free, free)], active.T],
                [active, np.zeros((len(active), len(active)))],
            ]
        )
        residuals = np.append(self._slopes(step, prices)[free], self._residuals(step)[binds])
        largest = np.abs(system).max(axis=1, initial=0.0)
        scale = 1 / np.sqrt(np.where(largest > 0, largest, 1.0))
        # A correction, so that a multiplier that the system does not determine stays as it is, such
        # as that of a row without free weights.
        change = scale * np.linalg.lstsq(system * scale * scale[:, None], -scale * residuals)[0]
        step[free] += change[:n_free]
        prices[binds] += change[n_free:]
        return step, prices


def _quadratic_minimum(iterate: Iterate, rows: Rows) -> tuple[FloatArray, FloatArray]:
    """Minimise the quadratic model of F: return the weights and the slack, and the multipliers."""
    total, weights, equal = float(iterate.x.sum()), iterate.x[:-1], rows.is_equality
    units = np.append(_weight_units(float(weights.sum()) or total, rows), total)
    unit = max(float(np.abs(units * iterate.slope).max()), _LEAST_UNIT)
    left = np.hstack([rows.forms, np.zeros((len(equal), 1))]) * units
    largest = np.abs(left).max(axis=1)
    row_units = np.where(largest > 0, largest, 1.0)
    # Rows that none of the atoms is in hold.
    right = np.where(largest > 0, rows.right / row_units, np.where(equal, 0.0, 1.0))
    left = left / row_units[:, None]
    n_equal = 1 + int(equal.sum())
    x, prices = _Quadratic(
        iterate.x / units,
        iterate.slope * (units / unit),
        iterate.hessian() * (units * units[:, None] / unit),
        np.vstack([units / total, left[equal], left[~equal]]),
        np.concatenate([[1.0], right[equal], right[~equal]]),
        n_equal,
    ).solution()
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
