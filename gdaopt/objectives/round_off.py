"""How exact an objective's value and gradient are in floating point.

A result of k rounded operations, one after the other, is off by k u at most: k is called its
*error-growth factor* ("Proposition: round-off of the certificate").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gdaopt.support.validation import FloatArray

UNIT = 2.0**-53
"""u: a rounded operation of float64 has at most this relative error."""

_ROUNDINGS = 1000  # an error-growth factor that also covers sums of some ten thousand terms


@dataclass(frozen=True, eq=False)
class RoundOff:
    """How far the value q and the gradient G that were computed at M can be off: e and gg'.

    The tangent, lowered by that much, is below the objective at every symmetric V::

        Q(V) ≥ q - e + ℓ(V),    ℓ(V) = Σ_ij ( G_ij (V - M)_ij - g_i g_j |V - M|_ij ),

    and if log Q is convex and ``e < q``, ``log Q(V) ≥ log(q - e) + ℓ(V) / (q ± e)``
    with the sign of ℓ(V). Both are true if ``|q - Q(M)| ≤ e`` and ``|G - ∇Q(M)|_ij ≤ g_i g_j``.

    Attributes
    ----------
    value : float
        e ≥ 0.
    gradient : ndarray of shape (K,)
        g ≥ 0.
    """

    value: float
    gradient: FloatArray


def assumed_roundings(n_features: int) -> float:
    """Return the relative round-off of results whose operations are not known: (1000 + K²) u."""
    return (_ROUNDINGS + n_features**2) * UNIT


def assumed_round_off(point: Any) -> RoundOff:
    """Return the round-off at a `Point` of an objective that does not say how exact it is.

    For the gradient it is relative to its largest entry, plus the slope by which the value is
    uncertain across the distance to the zero matrix.
    """
    metric, gradient, value = point.metric, point.gradient(), abs(point.value)
    relative = assumed_roundings(len(metric))
    distance = float(np.linalg.norm(metric))
    slope = float(np.abs(gradient).max()) + (value / distance if distance else 0.0)
    return RoundOff(
        relative * (value + float(np.abs(gradient * metric).sum())),
        np.full(len(metric), np.sqrt(relative * slope)),
    )
