"""How far a metric can be from the optimum: the Frank–Wolfe gap of the exact oracle.

For convex Q and any symmetric M, ``Q(V) ≥ Q(M) + ⟨∇Q(M), V - M⟩`` for every V in the set, hence

    Q* ≥ Q(M) - gap,    gap = ⟨∇Q(M), M⟩ - min_S ⟨∇Q(M), ·⟩.

The same holds for log Q where that is convex, hence ``Q* ≥ Q(M) exp(-gap / Q(M))``, which is never
below the first bound ("Proposition: certificate", "Proposition: exponential certificate"). M itself
need not be in the set. Where Q has a log-determinant, a multiple of M often gives a far better
bound ("Proposition: scaled certificate").
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np
from scipy.optimize import bisect

from gdaopt.errors import GdaoptError
from gdaopt.objectives.protocol import BarrierPoint, Point
from gdaopt.problem import MetricProblem
from gdaopt.sets import FeasibleSet, PricedAtoms
from gdaopt.trace import relative_gap
from gdaopt.validation import FloatArray, symmetric_matrix

__all__ = ["Certificate", "certify", "certify_point", "check_bound", "nothing_to_certify"]

_ROUND_OFF = 1e-12  # of the terms of the gap: a gap of a member cannot be below by more
_WRONG = 1e-8  # of the objective: a run below its own bound by this is no round-off
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
    bound: Literal["linear", "exponential", "scaled", "none"]
    reason: str = ""

    @property
    def gap(self) -> float:
        """``objective - lower_bound``; negative for some metrics outside of the set."""
        return self.objective - self.lower_bound

    @property
    def relative_gap(self) -> float:
        """``gap / |objective|``; 0 when the gap is 0, infinite when only the objective is."""
        return relative_gap(self.objective, self.lower_bound)


def certify(problem: MetricProblem, metric: FloatArray) -> Certificate:
    """Certify a metric from any source.

    Parameters
    ----------
    problem : MetricProblem
        Objective and set.
    metric : array-like of shape (K, K)
        Any symmetric matrix, in the set or not, at which Q is finite.

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
    return certify_point(problem, problem.objective.at(metric))


def certify_point(
    problem: MetricProblem, point: Point, best: PricedAtoms | None = None
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

    Raises
    ------
    GdaoptError
        See `certify`.
    """
    feasible_set, value = problem.feasible_set, point.value
    reason = nothing_to_certify(point)
    if reason is not None:
        return Certificate(value, -math.inf, "none", reason)
    if best is None:
        best = feasible_set.best_atoms(point.gradient())
    gap = _gap(feasible_set, point, best)
    lower_bound, bound = _bound(value, gap, problem.objective.log_convex)
    if hasattr(point, "scaled"):
        scaled = _scaled_bound(feasible_set, cast(BarrierPoint, point), best)
        if scaled > lower_bound:
            return Certificate(value, scaled, "scaled")
    return Certificate(value, lower_bound, bound)


def nothing_to_certify(point: Point) -> str | None:
    """Say why there is no bound where an objective carries no information; None where it does."""
    reason = point.vanished()
    if reason is None and not math.isfinite(point.value):
        reason = f"the objective is {point.value}"
    if reason is None and not math.isfinite(float(point.gradient().sum())):
        reason = "the gradient of the objective is not finite"
    return reason


def _bound(
    value: float, gap: float, log_convex: bool
) -> tuple[float, Literal["linear", "exponential"]]:
    """Return the better of the two bounds."""
    if not log_convex:
        return value - gap, "linear"
    with np.errstate(over="ignore"):
        return max(value * float(np.exp(-gap / value)), value - gap), "exponential"


def _scaled_bound(feasible_set: FeasibleSet, point: BarrierPoint, best: PricedAtoms) -> float:
    """Return the best bound that multiples M/t give ("Proposition: scaled certificate").

    The prices of given atoms are linear in t, and the bound is concave in t. So the best t for the
    atoms known so far is the zero of a slope that falls with t. The oracle then says whether other
    atoms are better there.
    """
    size, atoms, found = len(point.metric), best.atoms, -math.inf
    base, budget = feasible_set.base(size), feasible_set.budget(size)
    at_base = float(np.vdot(point.inverse, base))
    for _ in range(_MOST_SCALES):
        # Of the atoms, and of the base, whose price is 0 for every t.
        prices = np.append(atoms.quadratic_forms(point.gradient()), 0.0)
        rates = np.append(atoms.quadratic_forms(point.inverse), 0.0)

        def slope(t: float, prices: FloatArray = prices, rates: FloatArray = rates) -> float:
            cheapest = (prices + (1 - t) * rates).argmin()
            return size / t - at_base - budget * float(rates[cheapest])

        t = _zero(slope, *_SCALES) * (1 - _MARGIN)
        scaled = point.scaled(1 / t)
        better = feasible_set.best_atoms(scaled.gradient(), len(best.prices), best.atoms)
        found = max(found, scaled.value - _gap(feasible_set, scaled, better))
        # No multiple has a bound above that of the atoms that were known.
        short = budget * float((prices + (1 - t) * rates).min() - better.prices[0])
        if short <= _ENOUGH * abs(point.value - found):
            break
        atoms = atoms.joined(better.atoms)
    return found


def _zero(falling: Callable[[float], float], low: float, high: float) -> float:
    """Return where a falling function changes its sign, or the end that is nearer to that."""
    if not falling(low) > 0:
        return low
    if not falling(high) < 0:
        return high
    zero: float = bisect(falling, low, high, xtol=_T_ROUND_OFF, rtol=_T_ROUND_OFF)
    return zero


def _gap(feasible_set: FeasibleSet, point: Point, best: PricedAtoms) -> float:
    """Return ``⟨∇Q, M⟩ - min_S ⟨∇Q, ·⟩``, which is not negative for a member of the set."""
    gradient, size = point.gradient(), len(point.metric)
    least = feasible_set.budget(size) * min(0.0, float(best.prices[0]))
    above = point.metric - feasible_set.base(size)
    gap = float(np.vdot(gradient, above)) - least
    if gap < 0:
        scale = abs(least) + float(np.abs(gradient * point.metric).sum())
        if gap < -_ROUND_OFF * scale and not feasible_set.violations(point.metric):
            # Membership allows for some round-off; strictly inside there is none to allow for.
            inside = feasible_set.repaired(point.metric) - feasible_set.base(size)
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
