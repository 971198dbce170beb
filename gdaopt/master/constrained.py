"""The master problem with linear constraints: the best weights of given atoms that keep them.

    min F(w)   s.t.   w ≥ 0,  Σw ≤ τ,  R w ≤ r  or  = r,     R_kj = u_j'A_k u_j

Newton's method, as without constraints, with a quadratic program in each step. Clarabel, an
interior-point solver, solves it; its answer tells which weights are 0 and which rows bind, and a
linear system then gives the weights and the multipliers to the last digits
("Algorithm: fully corrective Frank–Wolfe with linear constraints").
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csc_array, eye_array, vstack

from gdaopt.deadline import check_time
from gdaopt.errors import SolverFailedError, TimeLimitError
from gdaopt.master.weights import Iterate, MasterSolution, descended
from gdaopt.objectives.protocol import AtomWeightsPoint
from gdaopt.validation import FloatArray

__all__ = ["Rows", "solve_constrained_master_problem"]

_NEWTON_STEPS = 100
_PATIENCE = 4  # steps without progress, after which the remaining gap is round-off
_ACCURACY = 1e-12  # of the quadratic program, in its own units
_FEASIBLE = 1e-11  # of the weights: how far the polished ones may break a row


@dataclass(frozen=True, eq=False)
class Rows:
    """Linear constraints on the weights of n atoms.

    Attributes
    ----------
    forms : ndarray of shape (m, n)
        R.
    right : ndarray of shape (m,)
        r.
    is_equality : ndarray of bool, shape (m,)
        Whether a row is an equality.
    """

    forms: FloatArray
    right: FloatArray
    is_equality: npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class _Step:
    """A solution of the quadratic program: the weights and the slack, and the multipliers."""

    x: FloatArray
    multipliers: FloatArray


def solve_constrained_master_problem(
    point: AtomWeightsPoint,
    total_weight: float,
    rows: Rows,
    multipliers: FloatArray,
    reduction: float,
) -> MasterSolution:
    """Minimise F over the weights of given atoms that keep rows, from weights that keep them.

    Parameters
    ----------
    point : AtomWeightsPoint
        F at the start.
    total_weight : float
        τ, the largest sum of the weights.
    rows : Rows
        The constraints.
    multipliers : ndarray of shape (m,)
        A guess of the multipliers in the Lagrangian of F.
    reduction : float
        Stop when the duality gap over these atoms has fallen to this share of that at the start.

    Raises
    ------
    SolverFailedError
        When Clarabel returns no numbers.
    """
    weights = point.weights
    iterate = Iterate.at(point, np.append(weights, max(total_weight - float(weights.sum()), 0.0)))
    target = reduction * _duality_gap(iterate, rows, multipliers)
    best, least, waited, taken = (iterate, multipliers), np.inf, 0, 0
    with suppress(TimeLimitError):  # the best weights so far are a less accurate solution
        while taken < _NEWTON_STEPS:
            check_time()
            taken += 1
            hessian = np.zeros((len(iterate.x), len(iterate.x)))
            hessian[:-1, :-1] = iterate.point.hessian()
            step = _quadratic_minimum(iterate, hessian, rows)
            following = descended(iterate, step.x)
            gap = _duality_gap(following, rows, step.multipliers)
            if gap < least or following.point.value < best[0].point.value:
                best, waited = (following, step.multipliers), 0
            else:
                waited += 1
            least = min(gap, least)
            if gap <= target or waited >= _PATIENCE or following is iterate:
                break
            iterate = following
    return MasterSolution(best[0].point, taken, 0, best[1])


def _duality_gap(iterate: Iterate, rows: Rows, multipliers: FloatArray) -> float:
    """Return how far F is at most above its minimum over the weights, by the multipliers."""
    slopes = iterate.slope + np.append(multipliers @ rows.forms, 0.0)
    total = float(iterate.x.sum())
    lagrangian = float(iterate.x @ slopes) - total * float(slopes.min())
    return lagrangian + float(multipliers @ (rows.right - rows.forms @ iterate.x[:-1]))


def _quadratic_minimum(iterate: Iterate, hessian: FloatArray, rows: Rows) -> _Step:
    """Minimise the quadratic model of F.

    Weights are in units of their sum, the slack in units of τ, which may be far larger, and values
    in units of the steepest slope.
    """
    import clarabel  # on demand: importing gdaopt loads no solver

    total, n = float(iterate.x.sum()), len(iterate.x)
    size = float(iterate.x[:-1].sum()) or total
    units = np.append(np.full(n - 1, size), total)
    unit = float(np.abs(units * iterate.slope).max()) or 1.0
    x, slope = iterate.x / units, iterate.slope * (units / unit)
    hessian = hessian * (units * units[:, None] / unit)
    linear = slope - hessian @ x
    equal = rows.is_equality
    forms = np.hstack([rows.forms, np.zeros((len(equal), 1))])
    left = np.vstack([units / total, forms[equal], forms[~equal]])
    right = np.concatenate([[1.0], rows.right[equal] / size, rows.right[~equal] / size])
    n_equal = 1 + int(equal.sum())
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = _ACCURACY
    answer = clarabel.DefaultSolver(
        csc_array(np.triu(hessian)),
        linear,
        csc_array(vstack([csc_array(left), -eye_array(n)])),
        np.concatenate([right, np.zeros(n)]),
        [
            clarabel.ZeroConeT(n_equal),
            clarabel.NonnegativeConeT(len(right) - n_equal + n),
        ],
        settings,
    ).solve()
    found, duals = np.array(answer.x), np.array(answer.z)
    if not np.isfinite(found).all():
        raise SolverFailedError(f"Clarabel ended on the master problem: {answer.status}")
    slacks = np.array(answer.s)
    binds = np.arange(len(right)) < n_equal
    binds |= duals[: len(right)] > slacks[: len(right)]
    free = found > duals[len(right) :]
    at, prices = _polished(
        linear, hessian, left, right, n_equal, binds, free, found, duals[: len(right)]
    )
    multipliers = np.zeros(len(equal))
    multipliers[equal] = prices[1:n_equal]
    multipliers[~equal] = np.maximum(prices[n_equal:], 0.0)
    weights = size * at[:-1]
    slack = max(total - float(weights.sum()), 0.0)
    return _Step(np.append(weights, slack), multipliers * (unit / size))


def _polished(
    linear: FloatArray,
    hessian: FloatArray,
    left: FloatArray,
    right: FloatArray,
    n_equal: int,
    binds: npt.NDArray[np.bool_],
    free: npt.NDArray[np.bool_],
    x: FloatArray,
    prices: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return the weights and the multipliers to the last digits, from those of Clarabel.

    Which rows bind and which weights are 0 is taken for known; where the answer then breaks what it
    should keep, the guess was wrong, and Clarabel's own is returned.
    """
    own = np.maximum(x, 0.0), prices
    x, prices = np.where(free, x, 0.0), np.where(binds, prices, 0.0)
    active, n_free = left[np.ix_(binds, free)], int(free.sum())
    system = np.block(
        [
            [hessian[np.ix_(free, free)], active.T],
            [active, np.zeros((len(active), len(active)))],
        ]
    )
    slopes = linear + hessian @ x + prices @ left
    residuals = np.concatenate([slopes[free], left[binds] @ x - right[binds]])
    largest = np.abs(system).max(axis=1)
    scale = 1 / np.sqrt(np.where(largest > 0, largest, 1.0))
    # A correction, so that what the system does not determine stays as it is: the multiplier of a
    # row that no free weight is in.
    change = scale * np.linalg.lstsq(system * scale * scale[:, None], -scale * residuals)[0]
    x[free] += change[:n_free]
    prices[binds] += change[n_free:]
    residuals = left @ x - right
    reduced = (linear + hessian @ x + prices @ left)[~free]
    is_right = (
        np.isfinite(change).all()
        and x.min() >= 0
        and max(float(np.abs(residuals[binds]).max()), float(residuals.max())) <= _FEASIBLE
        and prices[n_equal:].min(initial=0.0) >= 0
        and reduced.min(initial=0.0) >= -_ACCURACY
    )
    return (x, prices) if is_right else own
