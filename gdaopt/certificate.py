"""How far a metric can be from the optimum: the Frank–Wolfe gap of the exact oracle.

For convex Q and any symmetric M, ``Q(V) ≥ Q(M) + ⟨∇Q(M), V - M⟩`` for every V in the set, hence

    Q* ≥ Q(M) - gap,    gap = ⟨∇Q(M), M⟩ - min_S ⟨∇Q(M), ·⟩.

The same holds for log Q where that is convex, hence ``Q* ≥ Q(M) exp(-gap / Q(M))``, which is never
below the first bound ("Proposition: certificate", "Proposition: exponential certificate"). M itself
need not be in the set.

With linear constraints, multipliers take them into the linear function whose minimum over the set
is known ("Proposition: certificate with linear constraints"); all of the above stays.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from gdaopt.constraints import best_multipliers
from gdaopt.errors import GdaoptError, InvalidInputError
from gdaopt.linalg.atoms import Atoms
from gdaopt.objectives.protocol import Point
from gdaopt.problem import MetricProblem
from gdaopt.sets import FeasibleSet, PricedAtoms
from gdaopt.trace import relative_gap
from gdaopt.validation import FloatArray, finite_array, symmetric_matrix

__all__ = ["Certificate", "TightMultipliers", "certify", "certify_point", "check_bound"]

_ROUND_OFF = 1e-12  # of the terms of the gap: a gap of a member cannot be below by more
_SHARE = 0.01  # of the gap: how near to the best bound that with linear constraints has to be
_NEGLIGIBLE = 1e-9  # of the objective: a gap that need not be split between multipliers
_WRONG = 1e-8  # of the objective: a run below its own bound by this is no round-off


@dataclass(frozen=True)
class Certificate:
    """A lower bound of the optimum, from one metric.

    Attributes
    ----------
    objective : float
        Q at the metric.
    lower_bound : float
        Of Q over the problem's set: the better of the linear and the exponential bound; -inf when
        there is none.
    bound : {"linear", "exponential", "none"}
        Where `lower_bound` comes from.
    multipliers : ndarray of shape (m,) or None
        λ of the linear constraints, row by row as in `MetricProblem.rows`, in units of Q over units
        of the row as it was written; None where there are no constraints.
    reason : str
        Why there is no bound; empty where there is one.

    Examples
    --------
    >>> import numpy as np, gdaopt as gda
    >>> glr = gda.GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
    >>> problem = gda.MetricProblem(glr, gda.GraphMetrics(trace_bound=4.0))
    >>> certificate = gda.certify(problem, 2 * np.eye(2))
    >>> certificate.lower_bound < gda.solve(problem, "certified").objective < certificate.objective
    True
    """

    objective: float
    lower_bound: float
    bound: Literal["linear", "exponential", "none"]
    reason: str = ""
    multipliers: FloatArray | None = None

    @property
    def gap(self) -> float:
        """``objective - lower_bound``; negative for some metrics outside of the set."""
        return self.objective - self.lower_bound

    @property
    def relative_gap(self) -> float:
        """``gap / |objective|``; 0 when the gap is 0, infinite when only the objective is."""
        return relative_gap(self.objective, self.lower_bound)


def certify(
    problem: MetricProblem, metric: FloatArray, multipliers: FloatArray | None = None
) -> Certificate:
    """Certify a metric from any source.

    Parameters
    ----------
    problem : MetricProblem
        Objective and set.
    metric : array-like of shape (K, K)
        Any symmetric matrix, in the set or not, at which Q is finite.
    multipliers : array-like of shape (m,), optional
        λ of the linear constraints, not negative for inequalities, such as `Result.multipliers`.
        Every λ gives a lower bound; when left out, the best is found by column generation.

    Returns
    -------
    Certificate
        Where Q or its gradient is not finite or 0 in floating point, the bound is -inf and
        `reason` says why and what to rescale.

    Raises
    ------
    InvalidInputError
        When the metric is not a finite symmetric K×K matrix.
    GdaoptError
        When a member of the set has a negative gap: the objective is not convex, or its gradient
        is wrong.
    """
    metric = symmetric_matrix("metric", metric, problem.n_features)
    if multipliers is not None:
        multipliers = _checked(problem, multipliers)
    return certify_point(problem, problem.objective.at(metric), multipliers=multipliers)


def certify_point(
    problem: MetricProblem,
    point: Point,
    best: PricedAtoms | None = None,
    multipliers: FloatArray | None = None,
) -> Certificate:
    """Certify a metric at which the objective has been evaluated.

    Parameters
    ----------
    problem : MetricProblem
        Objective and set.
    point : Point
        At the metric.
    best : PricedAtoms, optional
        The best atoms for the gradient there, where they are known.
    multipliers : ndarray of shape (m,), optional
        See `certify`.

    Raises
    ------
    GdaoptError
        See `certify`.
    """
    feasible_set, value = problem.feasible_set, point.value
    reason = point.vanished()
    if reason is None and not math.isfinite(value):
        reason = f"the objective is {value}"
    if reason is None and not math.isfinite(float(point.gradient().sum())):
        reason = "the gradient of the objective is not finite"
    if reason is not None:
        return Certificate(value, -math.inf, "none", reason)
    if multipliers is None:
        multipliers = TightMultipliers(problem).at(point)
    gradient = problem.lagrangian_gradient(point.gradient(), multipliers)
    if best is None:
        best = feasible_set.best_atoms(gradient)
    price = min(0.0, float(best.prices[0]))
    gap = _gap(feasible_set, point.metric, gradient, price)
    if problem.rows is not None and multipliers is not None:
        own = problem.rows.in_own_units(multipliers)
        gap -= float(own @ problem.rows.residuals(point.metric))
    lower_bound, bound = _bound(value, gap, problem.objective.log_convex)
    return Certificate(value, lower_bound, bound, multipliers=multipliers)


def _checked(problem: MetricProblem, multipliers: FloatArray) -> FloatArray:
    """Return multipliers that fit the problem's constraints."""
    found = finite_array("multipliers", multipliers, ndim=1)
    rows = problem.rows
    n_rows = 0 if rows is None else len(rows)
    if len(found) != n_rows:
        raise InvalidInputError(
            f"multipliers has {len(found)} entries, and the problem has {n_rows} linear constraints"
        )
    if rows is not None and (found[~rows.is_equality] < 0).any():
        k = int(np.flatnonzero(~rows.is_equality & (found < 0))[0])
        raise InvalidInputError(
            f"the multiplier of {rows.names[k]} is {found[k]:g}; those of inequalities must be ≥ 0"
        )
    return found


class TightMultipliers:
    """Finds the multipliers that make the bound at a point nearly as large as it can be.

    Points that are asked for one after the other should be near to each other: each search starts
    from the atoms of the last one.

    Parameters
    ----------
    problem : MetricProblem
        Objective, set and linear constraints.
    """

    def __init__(self, problem: MetricProblem) -> None:
        self._problem = problem
        self._atoms: Atoms | None = None

    def at(self, point: Point) -> FloatArray | None:
        """Return the multipliers, or None for a problem without linear constraints."""
        problem, rows = self._problem, self._problem.rows
        if rows is None:
            return None
        gradient = point.gradient()
        base = problem.feasible_set.base(problem.n_features)
        here = float(np.vdot(gradient, point.metric - base))
        negligible = _NEGLIGIBLE * abs(point.value)
        solution = best_multipliers(
            problem.feasible_set,
            rows,
            gradient,
            problem.centre[0] if self._atoms is None else self._atoms,
            lambda value, bound: value - bound <= _SHARE * max(here - value, 0.0) + negligible,
        )
        self._atoms = solution.atoms
        return rows.in_users_units(solution.multipliers)


def _bound(
    value: float, gap: float, log_convex: bool
) -> tuple[float, Literal["linear", "exponential"]]:
    """Return the better of the two bounds."""
    if not log_convex:
        return value - gap, "linear"
    with np.errstate(over="ignore"):
        return max(value * float(np.exp(-gap / value)), value - gap), "exponential"


def _gap(
    feasible_set: FeasibleSet, metric: FloatArray, gradient: FloatArray, price: float
) -> float:
    """Return ``⟨G, M⟩ - min_S ⟨G, ·⟩``, which is not negative for a member of the set."""
    size = len(metric)
    least = feasible_set.budget(size) * price
    above = metric - feasible_set.base(size)
    gap = float(np.vdot(gradient, above)) - least
    if gap < 0:
        scale = abs(least) + float(np.abs(gradient * metric).sum())
        if gap < -_ROUND_OFF * scale and not feasible_set.violations(metric):
            # Membership allows for some round-off; strictly inside there is none to allow for.
            inside = feasible_set.repaired(metric) - feasible_set.base(size)
            if float(np.vdot(gradient, inside)) - least < -_ROUND_OFF * scale:
                raise _contradiction(f"a member of the set has a gap of {gap:.6g}")
    return gap


def check_bound(objective: float, lower_bound: float, start: float) -> None:
    """Refuse a lower bound from one member of the set that another one falls below.

    Parameters
    ----------
    objective, lower_bound : float
        Q at a member, and the bound.
    start : float
        Q at some other member: what of Q's size there is round-off is allowed for.

    Raises
    ------
    GdaoptError
        When the objective is below the bound.
    """
    if lower_bound - objective > _WRONG * abs(objective) + _ROUND_OFF * abs(start):
        raise _contradiction(f"a member of the set has {objective:.6g}, below {lower_bound:.6g}")


def _contradiction(what: str) -> GdaoptError:
    """Return the error for what no convex objective does."""
    return GdaoptError(
        f"{what}, against the certificate: is the objective convex, and its gradient right? "
        "gda.check_objective says"
    )
