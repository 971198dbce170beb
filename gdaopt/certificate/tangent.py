"""Lower bounds by tangents, lowered by their round-off (see `gdaopt.certificate.certify`).

If Q has a log-determinant, the best multiple M/t has a closed form but for the oracle. Elsewhere
a slightly larger metric helps if the trace bound is far from binding.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np

from gdaopt.errors import TimeLimitError
from gdaopt.linalg.magnitudes import magnitude_form, magnitude_inner
from gdaopt.objectives.log_det import LogDetPoint
from gdaopt.objectives.protocol import BarrierPoint, Point
from gdaopt.objectives.round_off import UNIT
from gdaopt.problem import MetricProblem
from gdaopt.sets.members import Support
from gdaopt.support.deadline import check_time_for
from gdaopt.support.validation import FloatArray, is_finite

_NEARBY = 1e-6  # a share of the way to the member that is best by the tangent
_LARGEST_EXPONENT = 709.0  # exp of it is finite in float64
_SCALES = (1e-6, 1e6)  # t of the multiples M/t that are looked at
_MOST_SCALES = 40  # searches for t, each with the better atoms of the last; one or two are usual
_ENOUGH = 0.1  # a share of the gap: a multiple that is better by less is not looked for
_MARGIN = 1e-13  # a share of t: it costs nearly nothing, and the round-off of prices may be larger
_FAR = 10.0  # times the trace of M - B: from there on the trace bound is far from binding
_NEAR = 0.01  # a share of the objective: near the optimum, tr M times the price is smaller
_CLOSED = 1e-12  # a share of the objective: a smaller gap needs no better bound
_INFLATIONS = (1e-5, 1e-12, 1e-2)  # η: the first trial, the smallest and the largest
_MOST_INFLATIONS = 2
_AT_BOUND = 1e-6  # a share of the budget: with a trace so near to the trace bound, it may bind


@dataclass(frozen=True)
class Bound:
    """A lower bound, and the round-off by which it has been lowered."""

    value: float
    round_off: float


def nothing_to_certify(point: Point, gradient: FloatArray) -> str | None:
    """Say why there is no bound if an objective carries no information; else None."""
    reason = point.degenerate_reason()
    if reason is None and not math.isfinite(point.value):
        reason = f"the objective is {point.value}"
    if reason is None and not is_finite(gradient):
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


@dataclass(frozen=True, eq=False)
class Tangent:
    """The tangent of the objective at a metric ``M = B + N``, and the bound that it gives.

    Attributes
    ----------
    value : float
        Q(M).
    price, budget, total : float
        The least price of all atoms, the largest sum of their weights, and that of N: its trace.
    gap, gap_round_off : float
        ``⟨G, N⟩ - min_V ⟨G, V - B⟩``, and how far it is off at most.
    bound : Bound
        The linear bound, or the exponential one if log Q is convex.
    """

    value: float
    price: float
    budget: float
    total: float
    gap: float
    gap_round_off: float
    bound: Bound


@np.errstate(over="ignore", invalid="ignore")
def tangent_at(problem: MetricProblem, point: Point, support: Support) -> Tangent:
    """Return the tangent at a point, given the least of its gradient over the members.

    "Proposition: round-off of the certificate" has what is rounded.
    """
    members, gradient, value, errors = (
        problem.members,
        support.gradient,
        point.value,
        point.round_off(),
    )
    atomic_part = point.metric - members.base
    gap = float(np.vdot(gradient, atomic_part)) - support.least
    terms = magnitude_inner(gradient, atomic_part) + magnitude_inner(gradient, members.base)
    of_gap = (
        8 * UNIT * abs(gap)  # for the few operations of `lower_bound`
        + members.round_off(support, errors.gradient)
        # Each entry of the gradient is within g_i g_j.
        + magnitude_form(atomic_part, errors.gradient)
        + (int(np.count_nonzero(gradient)) + 8) * UNIT * terms
    )
    of_value = errors.value + 12 * UNIT * abs(value)
    bound = lower_bound(value, of_value, gap, of_gap, problem.objective.log_convex)
    return Tangent(
        value=value,
        price=float(support.prices[0]),
        budget=members.budget,
        total=float(np.trace(atomic_part)),
        gap=gap,
        gap_round_off=of_gap,
        bound=Bound(bound, of_value + of_gap),
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


def best_multiple(
    problem: MetricProblem, point: LogDetPoint, support: Support
) -> tuple[LogDetPoint, Support]:
    """Return the multiple M/t of the best bound ("Proposition: scaled certificate").

    The prices of given atoms are linear in t, and the bound is concave in t: the best t for the
    atoms known so far is the zero of a slope. The oracle then looks for lower prices there.
    """
    members, atoms = problem.members, support.atoms
    at_base = float(np.vdot(point.inverse, members.base))
    best, best_bound = (point, support), -math.inf
    for _ in range(_MOST_SCALES):
        # Of the atoms, and of the base, whose price is 0 for every t.
        prices = np.append(atoms.quadratic_forms(support.priced), 0.0)
        rates = np.append(atoms.quadratic_forms(point.inverse), 0.0)
        slopes = at_base + members.budget * rates
        t = _best_scale(members.size, prices, slopes, rates) * (1 - _MARGIN)
        multiple = point.scaled(1 / t)
        there = members.support(
            multiple.gradient(), support.multipliers, len(support.prices), support.atoms
        )
        atomic_part = multiple.metric - members.base
        bound = multiple.value - (float(np.vdot(there.gradient, atomic_part)) - there.least)
        if bound > best_bound:
            best, best_bound = (multiple, there), bound
        # No multiple has a larger bound than the atoms known before allow.
        short = float((prices + (1 - t) * rates).min() - there.prices[0])
        if members.budget * short <= _ENOUGH * abs(point.value - best_bound):
            break
        atoms = atoms.joined(there.atoms)
    return best


def _best_scale(size: int, prices: FloatArray, slopes: FloatArray, rates: FloatArray) -> float:
    """Return the t of the best bound by some atoms.

    The atoms have prices at t = 1, slopes ``c_k``, and rates: the fall of the price when t grows by
    1. The bound is concave in t. If atom k is the cheapest, its slope is ``K/t - c_k``, which is
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
        lowest = int(lines.argmin())
        if not lines[lowest] < min(lines[left], lines[right]):
            break
        left, right = (lowest, right) if zeros[lowest] > t else (left, lowest)
    return t


def inflated_bound(tangent: Tangent, inflated: Callable[[float], Tangent | None]) -> Bound:
    """Return the bound at a slightly larger metric, if the trace bound is far from binding.

    There a price just below 0 still costs the whole budget. At ``B + (1 + η) N`` all prices are
    higher, so that none need be below 0, and the tangent loses only about tr M times that price
    ("Proposition: inflated certificate"). Else it is the bound at the metric itself. The function
    `inflated` returns the tangent by η, None if there is none.
    """
    value, price, bound = abs(tangent.value), tangent.price, tangent.bound
    if (
        tangent.budget < _FAR * tangent.total
        or -price * tangent.total > _NEAR * value
        or tangent.value - bound.value <= _CLOSED * value
    ):
        return bound
    share = _INFLATIONS[0]
    for _ in range(_MOST_INFLATIONS):
        try:
            check_time_for(0.0)
        except TimeLimitError:
            break  # a result can do without
        there = inflated(share)
        if there is None:
            break
        bound = max(bound, there.bound, key=lambda bound: bound.value)
        gained = (there.price - price) / share
        if not gained > 0:
            break
        # Twice the η at which the prices are 0, to make up for round-off as well.
        share = min(max(-2 * price / gained, _INFLATIONS[1]), _INFLATIONS[2])
    return bound


def inflated_tangent(
    problem: MetricProblem, point: Point, support: Support, share: float
) -> Tangent | None:
    """Return the tangent at ``B + (1 + η) N`` by the same multipliers, None if there is none."""
    base = problem.members.base
    there = problem.objective.at(base + (1 + share) * (point.metric - base))
    gradient = there.gradient()
    if nothing_to_certify(there, gradient) is not None:
        return None
    guess = support.atoms
    best = problem.members.support(gradient, support.multipliers, len(support.prices), guess)
    return tangent_at(problem, there, best)


# --- the dual problem -----------------------------------------------------------------------------


def dual_bound(problem: MetricProblem, point: Point) -> Bound:
    """Return the bound of the gradient's dual matrix, clipped; -inf if that is not definite.

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
    """Return an estimate of the trace bound's multiplier, 0 if the trace is not at the bound.

    At the optimum ``-G = E + yI`` with ``⟨E, M - B⟩ = 0`` ("Proposition: dual certificate").
    """
    feasible_set, size = problem.feasible_set, len(point.metric)
    atomic_part = point.metric - feasible_set.base(size)
    total = float(np.trace(atomic_part))
    if total < (1 - _AT_BOUND) * feasible_set.budget(size):
        return 0.0
    return max(0.0, -float(np.vdot(point.gradient(), atomic_part)) / total)
