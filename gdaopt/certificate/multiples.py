"""Bounds at multiples of a metric, which are often far better than the one at the metric itself.

Where Q has a log-determinant, the best multiple M/t has a closed form but for the oracle
("Proposition: scaled certificate"). Elsewhere a slightly larger metric helps where the trace bound
is far from binding ("Proposition: inflated certificate").
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import bisect

from gdaopt.certificate.bound import Bound, bound_at, nothing_to_certify, tangent_gap
from gdaopt.errors import TimeLimitError
from gdaopt.linalg.known_entries import KnownEntries, Symmetric
from gdaopt.objectives.protocol import BarrierPoint, Point
from gdaopt.problem import MetricProblem
from gdaopt.sets import PricedAtoms
from gdaopt.support.deadline import check_time_for
from gdaopt.support.validation import FloatArray

__all__ = ["best_multiple", "inflated_bound"]

_SCALES = (1e-6, 1e6)  # t of the multiples M/t that are looked at
_MOST_SCALES = 40  # in each of which better atoms become known; one or two are usual
_ENOUGH = 0.1  # of the gap: a multiple that is better by less is not looked for
_T_ROUND_OFF = 1e-15  # t is 1 at the optimum, and is needed to the last digits
_MARGIN = 1e-13  # of t: what this costs is nothing, and prices may be off by more
_FAR = 10.0  # times the trace above the base: from there on the trace bound is far from binding
_NEAR = 0.01  # of the objective: what a price may cost for a trace of M, near enough to the optimum
_CLOSED = 1e-12  # of the objective: a gap that needs no better bound
_INFLATIONS = (1e-5, 1e-12, 1e-2)  # the first that is tried; the smallest and the largest
_MOST_INFLATIONS = 2


def best_multiple(
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
    found: tuple[float, Point, PricedAtoms] = (-np.inf, point, best)
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
        gap = tangent_gap(problem, there, above, scaled.metric, better, multipliers)
        bound = scaled.value - gap
        found = max(found, (bound, scaled, better), key=lambda entry: entry[0])
        # No multiple has a bound above that of the atoms that were known.
        short = budget * float((prices + (1 - t) * rates).min() - better.prices[0])
        if short <= _ENOUGH * abs(point.value - found[0]):
            break
        atoms = atoms.joined(better.atoms)
    return found[1], found[2]


def inflated_bound(
    problem: MetricProblem,
    point: Point,
    gradient: Symmetric,
    best: PricedAtoms,
    multipliers: FloatArray | None,
    here: Bound,
) -> Bound:
    """Return the bound at a slightly larger metric, where the trace bound is far from binding.

    It is `here`, the bound at the metric itself, where no better one is to be expected.

    There a price that is below 0 by nearly nothing costs as much as if the trace bound did bind. At
    ``B + (1 + η)(M - B)`` all prices are higher, so that none need be below 0, and the tangent
    loses only about what that price costs for a trace of M ("Proposition: inflated certificate").
    """
    feasible_set, size, price = problem.feasible_set, len(point.metric), float(best.prices[0])
    budget, value = feasible_set.budget(size), abs(point.value)
    trace = float(np.trace(point.metric)) - (feasible_set.trace_bound - budget)  # above the base
    if (
        budget < _FAR * trace
        or -price * trace > _NEAR * value
        or point.value - here.value <= _CLOSED * value
    ):
        return here
    base = feasible_set.base(size)
    above, bound, share = point.metric - base, here, _INFLATIONS[0]
    for _ in range(_MOST_INFLATIONS):
        try:
            check_time_for(0.0)
        except TimeLimitError:
            break  # a result can do without
        inflated = problem.objective.at(base + (1 + share) * above)
        if nothing_to_certify(inflated) is not None:
            break
        there = (
            problem.gradient_at(inflated, multipliers)
            if isinstance(gradient, KnownEntries)
            else problem.lagrangian_gradient(inflated.gradient(), multipliers)
        )
        cheapest = feasible_set.best_atoms(there, len(best.prices), best.atoms)
        found = bound_at(problem, inflated, there, cheapest, multipliers)
        bound = found if found.value > bound.value else bound
        gained = (float(cheapest.prices[0]) - price) / share
        if not gained > 0:
            break
        # Twice what makes the prices 0: round-off has to be made up for, too.
        share = min(max(-2 * price / gained, _INFLATIONS[1]), _INFLATIONS[2])
    return bound


def _zero(falling: Callable[[float], float], low: float, high: float) -> float:
    """Return where a falling function changes its sign, or the end that is nearer to that."""
    if not falling(low) > 0:
        return low
    if not falling(high) < 0:
        return high
    zero: float = bisect(falling, low, high, xtol=_T_ROUND_OFF, rtol=_T_ROUND_OFF)
    return zero
