"""How far a metric can be from the optimum: the Frank–Wolfe gap of the exact oracle.

For convex Q and any symmetric M, ``Q(V) ≥ Q(M) + ⟨∇Q(M), V - M⟩`` for every V in the set, hence

    Q* ≥ Q(M) - gap,    gap = ⟨∇Q(M), M⟩ - min_S ⟨∇Q(M), ·⟩.

The same holds for log Q where that is convex, hence ``Q* ≥ Q(M) exp(-gap / Q(M))``, which is never
below the first bound ("Proposition: certificate", "Proposition: exponential certificate"). M itself
need not be in the set. Where Q has a log-determinant, a multiple of M often gives a far better
bound ("Proposition: scaled certificate"). All bounds are lowered by what round-off can have added.

With linear constraints, multipliers take them into the linear function whose minimum over the set
is known ("Proposition: certificate with linear constraints"); all of the above stays.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
from scipy.optimize import bisect

from gdaopt.errors import GdaoptError, InvalidInputError
from gdaopt.linalg.known_entries import (
    KnownEntries,
    Symmetric,
    inner,
    like,
    magnitude_form,
    magnitude_inner,
    norm,
)
from gdaopt.multipliers import TightMultipliers, checked_multipliers
from gdaopt.objectives.protocol import BarrierPoint, Point
from gdaopt.objectives.round_off import UNIT, RoundOff, round_off_at
from gdaopt.printing import shortened
from gdaopt.problem import MetricProblem
from gdaopt.sets import PricedAtoms
from gdaopt.trace import relative_gap
from gdaopt.validation import FloatArray, check_instance, symmetric_matrix
from gdaopt.warning_filters import underflow_ignored

__all__ = ["Certificate", "certify", "certify_point", "checked_bound", "nothing_to_certify"]

_NO_DIGITS = "round-off leaves no bound: the metric is nearly singular, or far out of scale"
_NOT_CONVEX = "the objective is not convex: a tangent is no lower bound"
_UNDERFLOW = 1e-150  # products of such numbers underflow, which the round-off leaves out
_LARGEST_EXPONENT = 709.0  # exp of it is finite in float64
_SCALES = (1e-6, 1e6)  # t of the multiples M/t that are looked at
_MOST_SCALES = 40  # in each of which better atoms become known; one or two are usual
_ENOUGH = 0.1  # of the gap: a multiple that is better by less is not looked for
_T_ROUND_OFF = 1e-15  # t is 1 at the optimum, and is needed to the last digits
_MARGIN = 1e-13  # of t: what this costs is nothing, and prices may be off by more


@dataclass(frozen=True)
class Certificate:
    """A lower bound of the optimum, from one metric.

    Attributes
    ----------
    objective : float
        Q at the metric.
    lower_bound : float
        Of Q over the problem's set: the best of the linear, the exponential and the scaled bound,
        of those that Q has; -inf when there is none.
    bound : {"linear", "exponential", "scaled", "none"}
        Where `lower_bound` comes from.
    multipliers : ndarray of shape (m,) or None
        λ of the linear constraints, row by row as in `MetricProblem.rows`, in units of Q over units
        of the row as it was written; None where there are no constraints.
    reason : str
        Why there is no bound; empty where there is one.
    round_off : float
        By how much the bound is lowered at most, so that it is below the optimum of the exact
        problem whatever has been rounded ("Proposition: round-off of the certificate"); infinite
        where that leaves no bound.
    frank_wolfe_gap : float or None
        For an objective that is not convex, which has no bound, ``⟨∇Q(M), M⟩ - min_S ⟨∇Q(M), ·⟩``:
        no member has a smaller value of the tangent than by that much. It is 0 at a stationary
        point. None for a convex objective.
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
    bound: Literal["linear", "exponential", "scaled", "none"]
    reason: str = ""
    round_off: float = 0.0
    membership: float = 0.0
    multipliers: FloatArray | None = None
    frank_wolfe_gap: float | None = None

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
        When the metric is not a finite symmetric K×K matrix, or the objective is not convex.
    GdaoptError
        When a member of the set has a negative gap: the objective is not convex, or its gradient
        is wrong.
    """
    check_instance("problem", problem, MetricProblem)
    if not problem.is_convex:
        raise InvalidInputError(
            f"{shortened(problem.objective)} says that it is not convex, so that no metric can be "
            "certified; gdaopt.solve looks for stationary points of it"
        )
    metric = symmetric_matrix("metric", metric, problem.n_features)
    if multipliers is not None:
        multipliers = checked_multipliers(problem, multipliers)
    with underflow_ignored():
        return certify_point(problem, problem.objective.at(metric), multipliers=multipliers)


def certify_point(
    problem: MetricProblem,
    point: Point,
    gradient: Symmetric | None = None,
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
    gradient : ndarray of shape (K, K) or KnownEntries, optional
        At a member of the set, what `FeasibleSet.gradient_at` returns; the whole gradient by
        default, which any metric will do for.
    best : PricedAtoms, optional
        The best atoms for the gradient, where they are known.
    multipliers : ndarray of shape (m,), optional
        See `certify`.

    Raises
    ------
    GdaoptError
        See `certify`.
    """
    feasible_set, value = problem.feasible_set, point.value
    reason = nothing_to_certify(point, gradient)
    if reason is not None:
        return Certificate(value, -math.inf, "none", reason)
    if multipliers is None:
        multipliers = TightMultipliers(problem).at(point)
    if gradient is None:
        gradient = problem.lagrangian_gradient(point.gradient(), multipliers)
    if best is None:
        best = feasible_set.best_atoms(gradient)
    if not problem.is_convex:
        above = like(gradient, point.metric) - feasible_set.base_like(gradient)
        gap = _gap(problem, gradient, above, point.metric, best, multipliers)
        return Certificate(
            value,
            -math.inf,
            "none",
            _NOT_CONVEX,
            round_off=math.inf,
            multipliers=multipliers,
            frank_wolfe_gap=max(gap, 0.0),
        )
    found = _bound(problem, point, gradient, best, multipliers)
    kind: Literal["linear", "exponential", "scaled"] = "linear"
    if problem.objective.log_convex:
        kind = "exponential"
    if hasattr(point, "scaled"):
        scaled, atoms = _best_multiple(problem, cast(BarrierPoint, point), best, multipliers)
        there = problem.lagrangian_gradient(scaled.gradient(), multipliers)
        other = _bound(problem, scaled, there, atoms, multipliers)
        if other.value > found.value:
            found, kind = other, "scaled"
    if not found.value > -math.inf:
        return Certificate(value, -math.inf, "none", _NO_DIGITS, round_off=math.inf)
    with np.errstate(over="ignore"):
        membership = _membership(problem, gradient, point.metric, multipliers)
    lower_bound = found.value
    if lower_bound > value and not problem.violations(point.metric):
        # Membership allows for some round-off, too; strictly inside there is none to allow for.
        member = problem.repaired(point.metric)
        above = like(gradient, member) - problem.feasible_set.base_like(gradient)
        inside = _gap(problem, gradient, above, member, best, multipliers)
        if inside < -(found.round_off + membership + _UNDERFLOW):
            raise _contradiction(f"a member of the set has a gap of {inside:.6g}")
        lower_bound = value
    return Certificate(
        value,
        lower_bound,
        kind,
        round_off=found.round_off,
        membership=membership,
        multipliers=multipliers,
    )


def nothing_to_certify(point: Point, gradient: Symmetric | None = None) -> str | None:
    """Say why there is no bound where an objective carries no information; None where it does.

    The gradient is looked at as a whole, unless as much of it as is needed is given.
    """
    reason = point.vanished()
    if reason is None and not math.isfinite(point.value):
        reason = f"the objective is {point.value}"
    if reason is None and not _is_finite(point.gradient() if gradient is None else gradient):
        reason = "the gradient of the objective is not finite"
    return reason


@dataclass(frozen=True)
class _Bound:
    """A lower bound, and by how much it is lowered for round-off."""

    value: float
    round_off: float


def _is_finite(gradient: Symmetric) -> bool:
    if isinstance(gradient, KnownEntries):
        return gradient.is_finite()
    return math.isfinite(float(gradient.sum()))


def _bound(
    problem: MetricProblem,
    point: Point,
    gradient: Symmetric,
    best: PricedAtoms,
    multipliers: FloatArray | None,
) -> _Bound:
    """Return the linear bound at a point, or the exponential one where log Q is convex."""
    with np.errstate(over="ignore", invalid="ignore"):
        of_point = round_off_at(point)
        base = problem.feasible_set.base_like(gradient)
        above = like(gradient, point.metric) - base
        gap = _gap(problem, gradient, above, point.metric, best, multipliers)
        # The last terms stand for the few operations of `_lower_bound`.
        of_gap = 8 * UNIT * abs(gap) + _round_off(
            problem, gradient, base, above, point.metric, best, multipliers, of_point
        )
        of_value = of_point.value + 12 * UNIT * abs(point.value)
        log_convex = problem.objective.log_convex
        bound = _lower_bound(point.value, of_value, gap, of_gap, log_convex)
    return _Bound(bound, of_value + of_gap)


def _best_multiple(
    problem: MetricProblem, point: BarrierPoint, best: PricedAtoms, multipliers: FloatArray | None
) -> tuple[Point, PricedAtoms]:
    """Return the multiple M/t of the best bound, and its atoms ("Proposition: scaled certificate").

    The prices of given atoms are linear in t, and the bound is concave in t. So the best t for the
    atoms known so far is the zero of a slope that falls with t. The oracle then says whether other
    atoms are better there.
    """
    feasible_set, size, atoms = problem.feasible_set, len(point.metric), best.atoms
    base, budget = feasible_set.base(size), feasible_set.budget(size)
    gradient = problem.lagrangian_gradient(point.gradient(), multipliers)
    at_base = float(np.vdot(point.inverse, base))
    found: tuple[float, Point, PricedAtoms] = (-math.inf, point, best)
    for _ in range(_MOST_SCALES):
        # Of the atoms, and of the base, whose price is 0 for every t.
        prices = np.append(atoms.quadratic_forms(gradient), 0.0)
        rates = np.append(atoms.quadratic_forms(point.inverse), 0.0)

        def slope(t: float, prices: FloatArray = prices, rates: FloatArray = rates) -> float:
            cheapest = (prices + (1 - t) * rates).argmin()
            return size / t - at_base - budget * float(rates[cheapest])

        t = _zero(slope, *_SCALES) * (1 - _MARGIN)
        scaled = point.scaled(1 / t)
        there = problem.lagrangian_gradient(scaled.gradient(), multipliers)
        better = feasible_set.best_atoms(there, len(best.prices), best.atoms)
        above = scaled.metric - base
        bound = scaled.value - _gap(problem, there, above, scaled.metric, better, multipliers)
        found = max(found, (bound, scaled, better), key=lambda entry: entry[0])
        # No multiple has a bound above that of the atoms that were known.
        short = budget * float((prices + (1 - t) * rates).min() - better.prices[0])
        if short <= _ENOUGH * abs(point.value - found[0]):
            break
        atoms = atoms.joined(better.atoms)
    return found[1], found[2]


def _zero(falling: Callable[[float], float], low: float, high: float) -> float:
    """Return where a falling function changes its sign, or the end that is nearer to that."""
    if not falling(low) > 0:
        return low
    if not falling(high) < 0:
        return high
    zero: float = bisect(falling, low, high, xtol=_T_ROUND_OFF, rtol=_T_ROUND_OFF)
    return zero


def _gap(
    problem: MetricProblem,
    gradient: Symmetric,
    above: Symmetric,
    metric: FloatArray,
    best: PricedAtoms,
    multipliers: FloatArray | None,
) -> float:
    """Return ``⟨G, M⟩ - min_S ⟨G, ·⟩ - λ'R``, which is not negative for a member.

    G is the gradient of the Lagrangian, and R what M is beyond the linear constraints; `above` is
    ``M - B``, B the base of the set.
    """
    rows = problem.rows
    least = problem.feasible_set.budget(len(metric)) * min(0.0, float(best.prices[0]))
    gap = inner(gradient, above) - least
    if rows is None or multipliers is None:
        return gap
    return gap - float(rows.in_own_units(multipliers) @ rows.residuals(metric))


def _round_off(
    problem: MetricProblem,
    gradient: Symmetric,
    base: Symmetric,
    above: Symmetric,
    metric: FloatArray,
    best: PricedAtoms,
    multipliers: FloatArray | None,
    of_point: RoundOff,
) -> float:
    """Return by how much the gap can be too small ("Proposition: round-off of the certificate").

    `base` and `above` are B, the base of the set, and ``M - B``.
    """
    feasible_set, rows, size = problem.feasible_set, problem.rows, len(metric)
    bound, errors = feasible_set.trace_bound, of_point.gradient
    budget, price = feasible_set.budget(size), float(best.prices[0])
    of_rows = 0.0
    if rows is not None and multipliers is not None:
        sizes, of_rows = rows.magnitudes(multipliers, metric)
        added = (len(rows) + 8) * UNIT * (sizes + cast(Any, abs(gradient)))
        # Of a matrix E ≥ 0 entry (i, j) is at most g_i g_j for the roots g of its largest entries.
        errors = np.sqrt(errors**2 + added.max(axis=1))
        of_rows *= (size**2 + 16) * UNIT
    least = feasible_set.family.least_price(price, gradient, errors)
    sizes_of_terms = magnitude_inner(gradient, above) + magnitude_inner(gradient, base)
    terms = sizes_of_terms + budget * abs(price)
    return (
        budget * (min(0.0, price) - min(0.0, least))
        + magnitude_form(above, errors)
        + (size**2 + 8) * UNIT * terms
        + 8 * UNIT * bound * abs(least)  # τ is rounded relative to C
        + of_rows
    )


def _membership(
    problem: MetricProblem,
    gradient: Symmetric,
    metric: FloatArray,
    multipliers: FloatArray | None,
) -> float:
    """Return by how much Q can be below the optimum at a member that round-off has moved."""
    moved = 8 * len(gradient) * UNIT * problem.feasible_set.trace_bound
    of_set = moved * norm(gradient)
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
    if lower_bound - objective > certificate.round_off + certificate.membership + _UNDERFLOW:
        raise _contradiction(f"a member of the set has {objective:.6g}, below {lower_bound:.6g}")
    return min(lower_bound, objective)


def _contradiction(what: str) -> GdaoptError:
    """Return the error for what no convex objective does."""
    return GdaoptError(
        f"{what}, against the certificate: is the objective convex, and its gradient right? "
        "gda.check_objective says"
    )
