"""Lower bounds over metrics of many features, from the Gram matrix of the samples alone.

With the gradient S by the Gram matrix, ``⟨∇Q(M), N⟩ = ⟨S, X N X'⟩``: of all features only the least
price has to be known ("Proposition: screened prices").
"""

from __future__ import annotations

import math

import numpy as np
from scipy.sparse import csr_array

from gdaopt.certificate.certify import Certificate
from gdaopt.certificate.tangent import _lower_bound as lower_bound
from gdaopt.objectives.pair_objective import GramPoint
from gdaopt.objectives.round_off import UNIT
from gdaopt.support.validation import FloatArray
from gdaopt.wide.features import ManyFeatures, used_features

_PRICE_ROUNDINGS = 16  # of a price, relative to the largest entry of the gradient


def certified(
    whole: ManyFeatures, atomic_part: csr_array, gram: FloatArray, point: GramPoint, price: float
) -> Certificate:
    """Return the certificate of ``M = ρI + N`` by the least price of all atoms.

    Parameters
    ----------
    whole : ManyFeatures
        The problem.
    atomic_part : csr_array of shape (K, K)
        N.
    gram : ndarray of shape (N, N)
        ``X N X'``.
    point : GramPoint
        The objective at M.
    price : float
        The computed least price ``u' ∇Q(M) u`` of all atoms u.
    """
    value, budget = point.total.value, whole.budget
    gap = float(np.vdot(point.gradient, gram)) - budget * min(0.0, price)
    of_value, of_gap = _round_off(whole, atomic_part, point, price)
    of_gap += 8 * UNIT * (abs(gap) + 2 * budget * abs(min(0.0, price)))
    round_off = {"frank_wolfe_gap": max(gap, 0.0), "gap_round_off": of_gap}
    if not whole.objective.convex:
        return Certificate(value, -math.inf, "none", round_off=math.inf, **round_off)
    log_convex = whole.objective.log_convex
    with np.errstate(over="ignore", invalid="ignore"):
        bound = lower_bound(value, of_value, gap, of_gap, log_convex)
    if not bound > -math.inf:
        return Certificate(
            value, -math.inf, "none", "round-off leaves no bound", round_off=math.inf
        )
    return Certificate(
        value,
        min(bound, value),
        "exponential" if log_convex else "linear",
        round_off=of_value + of_gap,
        **round_off,
    )


def _round_off(
    whole: ManyFeatures, atomic_part: csr_array, point: GramPoint, price: float
) -> tuple[float, float]:
    """Return how far value and gap are off ("Proposition: round-off of the certificate")."""
    used, block = used_features(atomic_part)
    magnitudes = np.abs(block)

    def form(sizes: FloatArray) -> float:
        """Return ``s'(ρI + |N|)s``."""
        return whole.floor * float(sizes @ sizes) + float(sizes[used] @ (magnitudes @ sizes[used]))

    stated = whole.objective.round_off(point.total, point.sizes, form)
    errors = stated.gradient
    # The largest entries are on the diagonal, and each is a sum of terms that `squares` counts.
    largest = point.total.scale * float(point.sizes.squares.max())
    of_price = float(np.sort(errors**2)[-2:].sum()) + _PRICE_ROUNDINGS * UNIT * largest
    least = min(price - of_price, 0.0)
    of_gap = whole.budget * (min(price, 0.0) - least) + float(
        errors[used] @ (magnitudes @ errors[used])
    )
    # The inner product adds up numbers of pairs, as the value does.
    return stated.value, stated.value + of_gap - 8 * UNIT * whole.feasible_set.trace_bound * least
