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
    if not whole.problem.is_convex:
        return Certificate(value, -math.inf, "none", round_off=math.inf, **round_off)
    log_convex = whole.objective.log_convex
    with np.errstate(over="ignore", invalid="ignore"):
        bound = lower_bound(value, of_value, gap, of_gap, log_convex)
    if not bound > -math.inf:
        return Certificate(value, -math.inf, "none", "round-off leaves no bound", round_off=math.inf)
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
    magnitudes = np.abs(point.gradient)
    np.fill_diagonal(magnitudes, 0.0)
    degrees = magnitudes.sum(axis=1)  # of the graph of pairs: of each sample all |c_p|
    n_samples = len(degrees)
    errors = 2 * UNIT * (2 * n_samples + point.roundings) * whole.squares(degrees)
    largest = whole.largest_form(atomic_part)
    of_value = UNIT * (4 * (whole.roundings + n_samples) * largest * float(degrees.sum()))
    of_value += point.round_off
    of_price = float(np.sort(errors)[-2:].sum())
    of_price += _PRICE_ROUNDINGS * UNIT * float(errors.max()) / UNIT
    least = min(price - of_price, 0.0)
    used, block = used_features(atomic_part)
    g = np.sqrt(errors[used])
    of_gap = whole.budget * (min(price, 0.0) - least) + float(g @ (np.abs(block) @ g))
    return of_value, of_gap - 8 * UNIT * whole.feasible_set.trace_bound * least
