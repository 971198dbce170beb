"""Lower bounds by tangents, lowered by their round-off (see `gdaopt.certificate.certify`).

Where Q has a log-determinant, the best multiple M/t has a closed form but for the oracle. Elsewhere
a slightly larger metric helps where the trace bound is far from binding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, Self, cast

import numpy as np

from gdaopt.errors import TimeLimitError
from gdaopt.linalg.masked import (
    Gradient,
    inner,
    is_finite,
    like,
    magnitude_form,
    magnitude_inner,
    n_terms,
)
from gdaopt.objectives.log_det import LogDetPoint
from gdaopt.objectives.protocol import BarrierPoint, Point
from gdaopt.objectives.round_off import UNIT, RoundOff
from gdaopt.problem import MetricProblem
from gdaopt.sets.members import Support
from gdaopt.support.deadline import check_time_for
from gdaopt.support.validation import FloatArray

_NEARBY = 1e-6  # of the way to the member that is best by the tangent
_LARGEST_EXPONENT = 709.0  # exp of it is finite in float64
_SCALES = (1e-6, 1e6)  # t of the multiples M/t that are looked at
_MOST_SCALES = 40  # searches for t, each with the better atoms of the last; one or two are usual
_ENOUGH = 0.1  # of the gap: a multiple that is better by less is not looked for
_MARGIN = 1e-13  # of t: it costs nearly nothing, and the round-off of prices may be larger
_FAR = 10.0  # times the trace of M - B: from there on the trace bound is far from binding
_NEAR = 0.01  # of the objective: near the optimum, tr M times the price is smaller
_CLOSED = 1e-12  # of the objective: a smaller gap needs no better bound
_INFLATIONS = (1e-5, 1e-12, 1e-2)  # η: the first trial, the smallest and the largest
_MOST_INFLATIONS = 2
_AT_BOUND = 1e-6  # of the budget: with a trace so near to the trace bound, it may bind


@dataclass(frozen=True)
class Bound:
    """A lower bound, and the round-off by which it has been lowered."""

    value: float
    round_off: float


def nothing_to_certify(point: Point, gradient: Gradient | None = None) -> str | None:
    """Say why there is no bound where an objective carries no information; else None."""
    reason = point.degenerate_reason()
    if reason is None and not math.isfinite(point.value):
        reason = f"the objective is {point.value}"
    if reason is None and not is_finite(point.gradient() if gradient is None else gradient):
        reason = "the gradient of the objective is not finite"
    return reason


def is_at_kink(problem: MetricProblem, point: Point) -> bool:
    """Say whether the objective does not fall next to a metric, where its gradient says so.

    Then the gradient is one of many subgradients, and its certificate tells little.
    """
    metric, gradient = point.metric, point.gradient()
    step = _NEARBY * (problem.feasible_set.minimize_linear(gradient).vertex - metric)
    there = problem.objective.at(metric + step)
    round_off = point.round_off().value + there.round_off().value
    return -float(np.vdot(gradient, step)) > round_off and there.value >= point.value


class InflatableTangent(Protocol):
    """A tangent at a metric ``B + N``, whose N can be made larger."""

    @property
    def value(self) -> float:
        """Q at the metric."""

    @property
    def price(self) -> float:
        """The least price of all atoms."""

    @property
    def total(self) -> float:
        """The trace of N."""

    @property
    def budget(self) -> float:
        """τ, which the base of the set leaves of the trace bound."""

    def bound(self) -> Bound:
        """Return the linear bound, or the exponential one where log Q is convex."""

    def inflated(self, share: float) -> Self | None:
        """Return the tangent at ``B + (1 + η) N``, None where there is none."""


@dataclass(frozen=True, eq=False)
class Tangent(InflatableTangent):
    """The tangent of the objective, with the gradient that the set needs."""

    problem: MetricProblem
    point: Point
    gradient: Gradient
    support: Support

    def moved(self, point: Point) -> Tangent:
        """Return the tangent at another metric, with its whole gradient."""
        gradient, here = point.gradient(), self.support
        support = self.problem.members.support(
            gradient, here.multipliers, len(here.prices), here.atoms
        )
        return Tangent(self.problem, point, gradient, support)

    def inflated(self, share: float) -> Tangent | None:
        metric = self.base + (1 + share) * (self.point.metric - self.base)
        point = self.problem.objective.at(metric)
        return None if nothing_to_certify(point) is not None else self.moved(point)

    @property
    def value(self) -> float:
        return self.point.value

    @property
    def price(self) -> float:
        return float(self.support.prices[0])

    @property
    def total(self) -> float:
        return float(np.trace(self.point.metric - self.base))

    @property
    def budget(self) -> float:
        return self.problem.members.budget

    @property
    def base(self) -> FloatArray:
        """B, the base of the set."""
        return self.problem.members.base

    @cached_property
    def gap(self) -> float:
        """``⟨G, M - B⟩ - min_V ⟨G, V - B⟩``."""
        return self.gap_at(self.point.metric)

    def gap_at(self, metric: FloatArray) -> float:
        """Return the gap of some metric, which is not negative for a member of the set."""
        atomic_part = like(self.gradient, metric - self.base)
        return inner(self.gradient, atomic_part) - self.support.least

    @cached_property
    def _round_off(self) -> RoundOff:
        return self.point.round_off()

    def bound(self) -> Bound:
        value, log_convex = self.point.value, self.problem.objective.log_convex
        with np.errstate(over="ignore", invalid="ignore"):
            gap, of_gap = self.gap, self.gap_round_off
            of_value = self._round_off.value + 12 * UNIT * abs(value)
            bound = lower_bound(value, of_value, gap, of_gap, log_convex)
        return Bound(bound, of_value + of_gap)

    @cached_property
    @np.errstate(over="ignore", invalid="ignore")
    def gap_round_off(self) -> float:
        """A bound of the gap's round-off ("Proposition: round-off of the certificate")."""
        # g ≥ 0: each entry of the gradient is within g_i g_j.
        errors, gradient = self._round_off.gradient, self.gradient
        base = like(gradient, self.base)
        atomic_part = like(gradient, self.point.metric - self.base)
        terms = magnitude_inner(gradient, atomic_part) + magnitude_inner(gradient, base)
        return (
            8 * UNIT * abs(self.gap)  # for the few operations of `lower_bound`
            + self.problem.members.round_off(self.support, errors)
            + magnitude_form(atomic_part, errors)
            + (n_terms(gradient) + 8) * UNIT * terms
        )


def lower_bound(
    value: float, of_value: float, gap: float, of_gap: float, log_convex: bool
) -> float:
    """Return the better of the two bounds, less the round-off of value and gap."""
    least, most = value - of_value, gap + of_gap
    if not log_convex:
        return least - most
    if not least > 0:
        return max(least - most, 0.0)  # as Q is positive
    exponent = -most / (least if most > 0 else value + of_value)
    return least * math.exp(min(exponent, _LARGEST_EXPONENT))


# --- multiples of the metric --------------------------------------------------------------------


def best_multiple(tangent: Tangent) -> Tangent:
    """Return the tangent at the multiple M/t of the best bound ("Proposition: scaled certificate").

    The prices of given atoms are linear in t, and the bound is concave in t: the best t for the
    atoms known so far is the zero of a slope. The oracle then looks for lower prices there.
    """
    point = cast(LogDetPoint, tangent.point)
    atoms, budget = tangent.support.atoms, tangent.budget
    at_base = float(np.vdot(point.inverse, tangent.base))
    best, best_bound = tangent, -math.inf
    for _ in range(_MOST_SCALES):
        # Of the atoms, and of the base, whose price is 0 for every t.
        prices = np.append(atoms.quadratic_forms(tangent.support.gradient), 0.0)
        rates = np.append(atoms.quadratic_forms(point.inverse), 0.0)
        t = _best_scale(len(point.metric), prices, at_base + budget * rates, rates) * (1 - _MARGIN)
        there = tangent.moved(point.scaled(1 / t))
        bound = there.point.value - there.gap
        if bound > best_bound:
            best, best_bound = there, bound
        # No multiple has a larger bound than the atoms known before allow.
        short = budget * float((prices + (1 - t) * rates).min() - there.price)
        if short <= _ENOUGH * abs(point.value - best_bound):
            break
        atoms = atoms.joined(there.support.atoms)
    return best


def _best_scale(size: int, prices: FloatArray, slopes: FloatArray, rates: FloatArray) -> float:
    """Return the t of the best bound by some atoms.

    The atoms have prices at t = 1, slopes ``c_k``, and rates: the fall of the price when t grows by
    1. The bound is concave in t. Where atom k is the cheapest, its slope is ``K/t - c_k``, which is
    0 at ``K/c_k``. So of two atoms alone, one that is the cheapest at smaller t and one at larger
    t, the best t is one of these zeros, or it is where their prices are the same.
    """
    low, high = _SCALES
    zeros = np.clip(size / np.maximum(slopes, size / high), low, high)
    left, right = (int((prices + (1 - t) * rates).argmin()) for t in _SCALES)
    t = high
    for _ in range(len(prices)):  # each time another atom
        meet = t = float(zeros[left])
        if rates[left] != rates[right]:
            meet = 1 + float((prices[right] - prices[left]) / (rates[right] - rates[left]))
            t = max(float(zeros[right]), min(meet, t))
        lines = prices + (1 - t) * rates
        if t == meet:  # a large rate magnifies the round-off of t
            lines[right] = lines[left]
        found = int(lines.argmin())
        if not lines[found] < min(lines[left], lines[right]):
            break
        left, right = (found, right) if zeros[found] > t else (left, found)
    return t


def inflated_bound(tangent: InflatableTangent, here: Bound) -> Bound:
    """Return the bound at a slightly larger metric, where the trace bound is far from binding.

    There a price just below 0 still costs the whole budget. At ``B + (1 + η)(M - B)`` all prices
    are higher, so that none need be below 0, and the tangent loses only about tr M times that price
    ("Proposition: inflated certificate"). Else it is `here`, the bound at the metric itself.
    """
    value, price, total = abs(tangent.value), tangent.price, tangent.total
    if (
        tangent.budget < _FAR * total
        or -price * total > _NEAR * value
        or tangent.value - here.value <= _CLOSED * value
    ):
        return here
    bound, share = here, _INFLATIONS[0]
    for _ in range(_MOST_INFLATIONS):
        try:
            check_time_for(0.0)
        except TimeLimitError:
            break  # a result can do without
        there = tangent.inflated(share)
        if there is None:
            break
        found = there.bound()
        bound = found if found.value > bound.value else bound
        gained = (there.price - price) / share
        if not gained > 0:
            break
        # Twice the η at which the prices are 0, to make up for round-off as well.
        share = min(max(-2 * price / gained, _INFLATIONS[1]), _INFLATIONS[2])
    return bound


# --- the dual problem -----------------------------------------------------------------------------


def dual_bound(problem: MetricProblem, point: Point) -> Bound:
    """Return the bound of the gradient's dual matrix, clipped; -inf where that is not definite.

    For ``Q(M) = ⟨S, M⟩ + φ(M)``, φ a barrier, each matrix W whose difference from S favours no
    member of the set gives a lower bound ("Proposition: dual certificate"). Near the optimum it is
    sharper than that of a tangent, and it needs no trace bound. The problem has no linear
    constraints, and the metric may be any positive definite one.
    """
    barrier, feasible_set = cast(BarrierPoint, point), problem.feasible_set
    metric, linear, gradient = point.metric, barrier.linear, point.gradient()
    base = feasible_set.base(len(metric))
    multiplier = trace_multiplier(problem, point)
    # Less its nearest matrix in the cone, a matrix favours nothing in the cone.
    excess = -gradient - feasible_set.family.with_feasible_entries(-gradient)
    dual = linear + excess
    dual.flat[:: len(dual) + 1] += multiplier
    value, rounded = barrier.conjugate(dual)
    of_base, of_trace = float(np.vdot(excess, base)), multiplier * feasible_set.trace_bound
    # `conjugate` allows for the sums of W as well, which are rounded relative to its entries.
    sizes = (len(dual) ** 2 + 8) * float(np.vdot(np.abs(base), np.abs(excess))) + 8 * of_trace
    rounded += UNIT * (sizes + 4 * abs(value))
    return Bound(value - of_base - of_trace - rounded, rounded)


def trace_multiplier(problem: MetricProblem, point: Point) -> float:
    """Return an estimate of the trace bound's multiplier, 0 where the trace is not at the bound.

    At the optimum ``-G = E + yI`` with ``⟨E, M - B⟩ = 0`` ("Proposition: dual certificate").
    """
    feasible_set, size = problem.feasible_set, len(point.metric)
    atomic_part = point.metric - feasible_set.base(size)
    total = float(np.trace(atomic_part))
    if total < (1 - _AT_BOUND) * feasible_set.budget(size):
        return 0.0
    return max(0.0, -float(np.vdot(point.gradient(), atomic_part)) / total)
