"""The lower bound by the tangent at one metric, and by how much rounding can have raised it.

This is the bound of "Proposition: certificate" or, where log Q is convex, of "Proposition:
exponential certificate", for the gradient of the Lagrangian where there are linear constraints
("Proposition: certificate with linear constraints").
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from gdaopt.linalg.known_entries import (
    KnownEntries,
    Symmetric,
    inner,
    like,
    magnitude_form,
    magnitude_inner,
    norm,
)
from gdaopt.objectives.protocol import Point
from gdaopt.objectives.round_off import UNIT, RoundOff, round_off_at
from gdaopt.problem import MetricProblem
from gdaopt.sets import PricedAtoms
from gdaopt.support.validation import FloatArray

__all__ = ["Bound", "bound_at", "membership", "nothing_to_certify", "tangent_gap"]

_LARGEST_EXPONENT = 709.0  # exp of it is finite in float64


@dataclass(frozen=True)
class Bound:
    """A lower bound, and by how much it is lowered for round-off."""

    value: float
    round_off: float


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


def _is_finite(gradient: Symmetric) -> bool:
    if isinstance(gradient, KnownEntries):
        return gradient.is_finite()
    return math.isfinite(float(gradient.sum()))


def bound_at(
    problem: MetricProblem,
    point: Point,
    gradient: Symmetric,
    best: PricedAtoms,
    multipliers: FloatArray | None,
) -> Bound:
    """Return the linear bound at a point, or the exponential one where log Q is convex."""
    with np.errstate(over="ignore", invalid="ignore"):
        of_point = round_off_at(point)
        base = problem.feasible_set.base_like(gradient)
        above = like(gradient, point.metric) - base
        gap = tangent_gap(problem, gradient, above, point.metric, best, multipliers)
        # The last terms stand for the few operations of `_lower_bound`.
        of_gap = 8 * UNIT * abs(gap) + _round_off(
            problem, gradient, base, above, point.metric, best, multipliers, of_point
        )
        of_value = of_point.value + 12 * UNIT * abs(point.value)
        log_convex = problem.objective.log_convex
        bound = _lower_bound(point.value, of_value, gap, of_gap, log_convex)
    return Bound(bound, of_value + of_gap)


def tangent_gap(
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


def membership(
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
