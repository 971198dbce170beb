"""Lower bounds over metrics of many features, from the Gram matrix of the samples alone.

With the gradient S by the Gram matrix, ``⟨∇Q(M), N⟩ = ⟨S, X N X'⟩``: of all features only the least
price has to be known ("Proposition: screened prices").
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array, eye_array

from gdaopt.certificate.certify import Certificate, Kind
from gdaopt.certificate.tangent import Bound, InflatableTangent, inflated_bound, lower_bound
from gdaopt.linalg.entries import Edges, no_edges
from gdaopt.linalg.masked import magnitude_inner
from gdaopt.objectives.pair_point import GramPoint
from gdaopt.objectives.round_off import UNIT
from gdaopt.support.validation import FloatArray
from gdaopt.wide.features import ManyFeatures, used_features
from gdaopt.wide.pricing import Prices, Pricing

_PRICE_ROUNDINGS = 16  # of a price, relative to the largest entry of the gradient
_SUM_ROUNDINGS = 128  # of a sum of rows, which NumPy adds up in pairs of parts


@dataclass(frozen=True, eq=False)
class GramTangent(InflatableTangent):
    """The tangent of the objective at ``M = ρI + N``, over all features.

    Parameters
    ----------
    whole : ManyFeatures
        The problem.
    pricing : Pricing
        The search for the least prices of all its features.
    guess : pair of ndarrays of int
        Pairs of features that are good atoms here.
    atomic_part : csr_array of shape (K, K)
        N.
    gram : ndarray of shape (N, N)
        ``X N X'``.
    """

    whole: ManyFeatures
    pricing: Pricing
    guess: Edges
    atomic_part: csr_array
    gram: FloatArray

    @cached_property
    def point(self) -> GramPoint:
        """The objective at M."""
        return self.whole.at(self.gram)

    @cached_property
    def prices(self) -> Prices:
        """The least prices of all atoms."""
        return self.pricing.best(
            self.point.gradient, self.guess, is_negative=self.whole.is_negative
        )

    @property
    def value(self) -> float:
        return self.point.sums.value

    @property
    def price(self) -> float:
        return float(self.prices.prices[0])

    @property
    def total(self) -> float:
        return float(self.atomic_part.diagonal().sum())

    @property
    def budget(self) -> float:
        return self.whole.budget

    @cached_property
    def held(self) -> float:
        """``⟨∇Q(M), N⟩``."""
        return float(np.einsum("ij,ij->i", self.point.gradient, self.gram).sum())

    @property
    def gap(self) -> float:
        """``⟨∇Q(M), M⟩ - min_S ⟨∇Q(M), ·⟩``."""
        return self.held - self.budget * min(0.0, self.price)

    def inflated(self, share: float) -> GramTangent | None:
        factor = 1 + share
        there = replace(self, atomic_part=factor * self.atomic_part, gram=factor * self.gram)
        return there if there.is_finite else None

    @property
    def is_finite(self) -> bool:
        """Whether value and gradient carry information."""
        gradient = self.point.gradient
        return math.isfinite(self.value) and bool(np.isfinite(gradient).all() and gradient.any())

    def bound(self) -> Bound:
        of_value, of_gap = self.round_off
        log_convex = self.whole.objective.log_convex
        with np.errstate(over="ignore", invalid="ignore"):
            bound = lower_bound(self.value, of_value, self.gap, of_gap, log_convex)
        return Bound(bound, of_value + of_gap)

    @cached_property
    def round_off(self) -> tuple[float, float]:
        """How far value and gap are off ("Proposition: round-off of the certificate")."""
        whole, point, least = self.whole, self.point, min(self.price, 0.0)
        used, block = used_features(self.atomic_part)
        magnitudes = abs(block)

        def form(sizes: FloatArray) -> float:
            """Return ``s'(ρI + |N|)s``."""
            beyond = sizes[used] @ (magnitudes @ sizes[used])
            return whole.floor * float(sizes @ sizes) + float(beyond)

        stated = whole.objective.round_off(point.sums, form)
        errors = stated.gradient
        # No entry of the gradient is larger: (x - y)² is at most 2 (x² + y²).
        largest = 2 * point.sums.scale * float(point.sums.squares.max())
        lowered = least - float(np.sort(errors**2)[-2:].sum()) - _PRICE_ROUNDINGS * UNIT * largest
        # The inner product adds up N numbers in each row, then these; each is rounded as the value.
        terms = magnitude_inner(point.gradient, self.gram)
        return stated.value, (
            stated.value
            + (len(self.gram) + _SUM_ROUNDINGS) * UNIT * terms
            + self.budget * (least - lowered)
            + float(errors[used] @ (magnitudes @ errors[used]))
            - 16 * UNIT * whole.feasible_set.trace_bound * lowered
            + 8 * UNIT * abs(self.gap)
        )

    def certificate(self) -> Certificate:
        """Return the certificate of M."""
        of_gap = self.round_off[1]
        known: dict[str, Any] = {"frank_wolfe_gap": max(self.gap, 0.0), "gap_round_off": of_gap}
        if not self.whole.objective.convex:
            reason = "the objective is not convex: a tangent is no lower bound"
            return Certificate(self.value, -math.inf, "none", reason, math.inf, **known)
        log_convex = self.whole.objective.log_convex
        here = self.bound()
        best = here if log_convex else inflated_bound(self, here)
        if not best.value > -math.inf:
            reason = "round-off leaves no bound: the metric is far out of scale"
            return Certificate(self.value, -math.inf, "none", reason, math.inf)
        kind: Kind = "exponential" if log_convex else "linear"
        kind = "scaled" if best.value > here.value else kind
        bound = min(best.value, self.value)
        return Certificate(self.value, bound, kind, round_off=best.round_off, **known)


def tangent_at(whole: ManyFeatures, metric: csr_array) -> GramTangent:
    """Return the tangent at a sparse symmetric K×K metric."""
    atomic_part = csr_array(metric - whole.floor * eye_array(whole.size))
    atomic_part.eliminate_zeros()
    pricing = Pricing(whole.samples, whole.feasible_set)
    return GramTangent(whole, pricing, no_edges(), atomic_part, whole.gram_of(atomic_part))
