"""Lower bounds over metrics of many features, from the Gram matrix of the samples alone.

With the gradient S by the Gram matrix, ``⟨∇Q(M), N⟩ = ⟨S, X N X'⟩``: of all features only the least
price has to be known ("Proposition: screened prices").
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array, eye_array

from gdaopt.certificate.certify import Certificate, Kind, certificate_by
from gdaopt.certificate.tangent import Bound, Tangent, inflated_bound, lower_bound
from gdaopt.linalg.entries import Edges, no_edges
from gdaopt.linalg.magnitudes import magnitude_inner
from gdaopt.objectives.pair_sums import PairSums
from gdaopt.objectives.round_off import UNIT
from gdaopt.support.validation import FloatArray
from gdaopt.wide.features import ManyFeatures, used_features
from gdaopt.wide.pricing import Prices, Pricing

_PRICE_ROUNDINGS = 16  # round-offs of a price, relative to the largest entry of the gradient
_SUM_ROUNDINGS = 128  # round-offs of a sum of rows, which NumPy adds up in pairs of parts


@dataclass(frozen=True, eq=False)
class SparseMember:
    """The metric ``M = ρI + N`` of all features, and the objective there.

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
    def _evaluated(self) -> tuple[PairSums, FloatArray]:
        return self.whole.at(self.gram)

    @property
    def value(self) -> float:
        """``Q(M)``."""
        return self._evaluated[0].value

    @property
    def gradient(self) -> FloatArray:
        """``∇Q`` by the Gram matrix ``X M X'``."""
        return self._evaluated[1]

    @cached_property
    def prices(self) -> Prices:
        """The least prices of all atoms."""
        return self.pricing.best(self.gradient, self.guess)

    @cached_property
    def held(self) -> float:
        """``⟨∇Q(M), N⟩``."""
        return float(np.einsum("ij,ij->i", self.gradient, self.gram).sum())

    @property
    def gap(self) -> float:
        """``⟨∇Q(M), M⟩ - min_S ⟨∇Q(M), ·⟩``."""
        return self.held - self.whole.budget * min(0.0, float(self.prices.prices[0]))

    @np.errstate(over="ignore", invalid="ignore")
    def tangent(self) -> Tangent:
        """Return the tangent at M, with its bound less what is rounded.

        See "Proposition: round-off of the certificate".
        """
        whole, gap, (sums, gradient) = self.whole, self.gap, self._evaluated
        used, block = used_features(self.atomic_part)
        magnitudes, value, price = abs(block), sums.value, float(self.prices.prices[0])
        metric = csr_array(self.atomic_part + whole.floor * eye_array(whole.size))
        stated = whole.objective.round_off(sums, metric)
        errors, least = stated.gradient, min(price, 0.0)
        # No entry of the gradient is larger: (x - y)² is at most 2 (x² + y²).
        largest = 2 * sums.scale * float(whole.objective.pairs.squares(sums.degrees).max())
        lowered = least - float(np.sort(errors**2)[-2:].sum()) - _PRICE_ROUNDINGS * UNIT * largest
        # The inner product adds up N numbers in each row, then these; each is rounded as the value.
        terms = magnitude_inner(gradient, self.gram)
        of_gap = (
            stated.value
            + (len(self.gram) + _SUM_ROUNDINGS) * UNIT * terms
            + whole.budget * (least - lowered)
            + float(errors[used] @ (magnitudes @ errors[used]))
            - 16 * UNIT * whole.feasible_set.trace_bound * lowered
            + 8 * UNIT * abs(gap)
        )
        bound = lower_bound(value, stated.value, gap, of_gap, whole.objective.log_convex)
        return Tangent(
            value=value,
            price=price,
            budget=whole.budget,
            total=float(self.atomic_part.diagonal().sum()),
            gap=gap,
            gap_round_off=of_gap,
            bound=Bound(bound, stated.value + of_gap),
        )

    def inflated_tangent(self, share: float) -> Tangent | None:
        """Return the tangent at ``ρI + (1 + η) N``, None if it carries no information."""
        factor = 1 + share
        there = replace(self, atomic_part=factor * self.atomic_part, gram=factor * self.gram)
        value, gradient = there.value, there.gradient
        carries = math.isfinite(value) and np.isfinite(gradient).all() and gradient.any()
        return there.tangent() if carries else None

    def certificate(self) -> Certificate:
        """Return the certificate of M."""
        tangent, objective = self.tangent(), self.whole.objective
        others: list[tuple[Bound, Kind]] = []
        if objective.convex and not objective.log_convex:
            others.append((inflated_bound(tangent, self.inflated_tangent), "scaled"))
        certificate = certificate_by(tangent, objective, others)
        return replace(certificate, lower_bound=min(certificate.lower_bound, tangent.value))


def member_at(whole: ManyFeatures, metric: csr_array) -> SparseMember:
    """Return a sparse symmetric K×K metric as ``ρI + N``."""
    atomic_part = csr_array(metric - whole.floor * eye_array(whole.size))
    atomic_part.eliminate_zeros()
    pricing = Pricing(whole.samples, whole.feasible_set, whole.is_negative)
    return SparseMember(whole, pricing, no_edges(), atomic_part, whole.gram_of(atomic_part))
