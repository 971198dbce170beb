"""How far a metric can be from the optimum: the Frank–Wolfe gap of the exact oracle.

For convex Q and any symmetric M, ``Q(V) ≥ Q(M) + ⟨∇Q(M), V - M⟩`` for every V in the set, hence

    Q* ≥ Q(M) - gap,    gap = ⟨∇Q(M), M⟩ - min_S ⟨∇Q(M), ·⟩.

The same holds for log Q where that is convex, hence ``Q* ≥ Q(M) exp(-gap / Q(M))``, which is never
below the first bound ("Proposition: certificate", "Proposition: exponential certificate"). M itself
need not be in the set. Both bounds are lowered by what round-off can have added to them.

With linear constraints, multipliers take them into the linear function whose minimum over the set
is known ("Proposition: certificate with linear constraints"); all of the above stays.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from gdaopt.errors import GdaoptError
from gdaopt.multipliers import TightMultipliers, checked_multipliers
from gdaopt.objectives.protocol import Point
from gdaopt.objectives.round_off import UNIT, round_off_at
from gdaopt.problem import MetricProblem
from gdaopt.sets import PricedAtoms
from gdaopt.trace import relative_gap
from gdaopt.validation import FloatArray, check_instance, symmetric_matrix

__all__ = ["Certificate", "certify", "certify_point", "checked_bound"]

_NO_DIGITS = "round-off leaves no bound: the metric is nearly singular, or far out of scale"
_LARGEST_EXPONENT = 709.0  # exp of it is finite in float64


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
    round_off : float
        By how much the bound is lowered at most, so that it is below the optimum of the exact
        problem whatever has been rounded ("Proposition: round-off of the certificate").
    membership : float
        By how much Q can be below the optimum where the metric counts as a member, since trace and
        smallest eigenvalue are known up to round-off only.

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
    round_off: float = 0.0
    membership: float = 0.0
    multipliers: FloatArray | None = None

    @property
    def gap(self) -> float:
        """``objective - lower_bound``; negative for some metrics outside of the set only."""
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
    check_instance("problem", problem, MetricProblem)
    metric = symmetric_matrix("metric", metric, problem.n_features)
    if multipliers is not None:
        multipliers = checked_multipliers(problem, multipliers)
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
    log_convex = problem.objective.log_convex
    with np.errstate(over="ignore", invalid="ignore"):
        of_point = round_off_at(point)
        gap = _gap(problem, gradient, point.metric, best, multipliers)
        # The last terms stand for the few operations of `_lower_bound`.
        of_gap = 8 * UNIT * abs(gap) + _round_off(
            problem, gradient, point.metric, best, multipliers, of_point.gradient
        )
        of_value = of_point.value + 12 * UNIT * abs(value)
        membership = _membership(problem, gradient, point.metric, multipliers)
        lower_bound = _lower_bound(value, of_value, gap, of_gap, log_convex)
    if not lower_bound > -math.inf:
        return Certificate(value, -math.inf, "none", _NO_DIGITS)
    if lower_bound > value and not problem.violations(point.metric):
        # Membership allows for some round-off, too; strictly inside there is none to allow for.
        inside = problem.repaired(point.metric)
        inside_gap = _gap(problem, gradient, inside, best, multipliers)
        if inside_gap < -(of_value + of_gap + membership):
            raise _contradiction(f"a member of the set has a gap of {inside_gap:.6g}")
        lower_bound = value
    return Certificate(
        value,
        lower_bound,
        "exponential" if log_convex else "linear",
        round_off=of_value + of_gap,
        membership=membership,
        multipliers=multipliers,
    )


def _gap(
    problem: MetricProblem,
    gradient: FloatArray,
    metric: FloatArray,
    best: PricedAtoms,
    multipliers: FloatArray | None,
) -> float:
    """Return ``⟨G, M⟩ - min_S ⟨G, ·⟩ - λ'R``, which is not negative for a member.

    G is the gradient of the Lagrangian, and R what M is beyond the linear constraints.
    """
    size, feasible_set, rows = len(metric), problem.feasible_set, problem.rows
    least = feasible_set.budget(size) * min(0.0, float(best.prices[0]))
    gap = float(np.vdot(gradient, metric - feasible_set.base(size))) - least
    if rows is None or multipliers is None:
        return gap
    return gap - float(rows.in_own_units(multipliers) @ rows.residuals(metric))


def _round_off(
    problem: MetricProblem,
    gradient: FloatArray,
    metric: FloatArray,
    best: PricedAtoms,
    multipliers: FloatArray | None,
    errors: FloatArray,
) -> float:
    """Return by how much the gap can be too small ("Proposition: round-off of the certificate").

    Parameters
    ----------
    errors : ndarray of shape (K,)
        g: the gradient is exact up to ``g_i g_j``.
    """
    feasible_set, rows, size = problem.feasible_set, problem.rows, len(metric)
    base, bound = feasible_set.base(size), feasible_set.trace_bound
    budget, price = feasible_set.budget(size), float(best.prices[0])
    above, of_rows = np.abs(metric - base), 0.0
    if rows is not None and multipliers is not None:
        sizes, of_rows = rows.magnitudes(multipliers, metric)
        added = (len(rows) + 8) * UNIT * (sizes + np.abs(gradient))
        # Of a matrix E ≥ 0 entry (i, j) is at most g_i g_j for the roots g of its largest entries.
        errors = np.sqrt(errors**2 + added.max(axis=1))
        of_rows *= (size**2 + 16) * UNIT
    least = price - feasible_set.family.price_round_off(gradient, errors)
    terms = float(np.vdot(np.abs(gradient), above + np.abs(base))) + budget * abs(price)
    return (
        budget * (min(0.0, price) - min(0.0, least))
        + float(errors @ above @ errors)
        + (size**2 + 8) * UNIT * terms
        + 8 * UNIT * bound * abs(least)  # τ is rounded relative to C
        + of_rows
    )


def _membership(
    problem: MetricProblem,
    gradient: FloatArray,
    metric: FloatArray,
    multipliers: FloatArray | None,
) -> float:
    """Return by how much Q can be below the optimum at a member that round-off has moved."""
    moved = 8 * len(gradient) * UNIT * problem.feasible_set.trace_bound
    of_set = moved * float(np.linalg.norm(gradient))
    rows = problem.rows
    if rows is None or multipliers is None:
        return of_set
    beyond = np.abs(rows.in_own_units(multipliers)) @ np.abs(rows.excesses(metric))
    return of_set + float(beyond)


def _lower_bound(
    value: float, of_value: float, gap: float, of_gap: float, log_convex: bool
) -> float:
    """Return the better of the two bounds, less what can be round-off of value and gap."""
    least, most = value - of_value, gap + of_gap
    if not log_convex:
        return least - most
    if not least > 0:
        return max(least - most, 0.0)  # as Q is positive
    exponent = -most / (least if most > 0 else value + of_value)
    return least * math.exp(min(exponent, _LARGEST_EXPONENT))


def checked_bound(certificate: Certificate, lower_bound: float) -> float:
    """Return a lower bound that is not above the objective at a member of the set.

    Parameters
    ----------
    certificate : Certificate
        Of the member.
    lower_bound : float
        From the same or another metric.

    Raises
    ------
    GdaoptError
        When the objective is below the bound by more than round-off.
    """
    objective = certificate.objective
    if lower_bound - objective > certificate.round_off + certificate.membership:
        raise _contradiction(f"a member of the set has {objective:.6g}, below {lower_bound:.6g}")
    return min(lower_bound, objective)


def _contradiction(what: str) -> GdaoptError:
    """Return the error for what no convex objective does."""
    return GdaoptError(
        f"{what}, against the certificate: is the objective convex, and its gradient right? "
        "gda.check_objective says"
    )
