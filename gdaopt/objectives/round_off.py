"""How exact an objective's value and gradient are in floating point.

A result of k rounded operations, one after the other, is off by k u at most: k is called its
*error-growth factor* ("Proposition: round-off of the certificate").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gdaopt.linalg.directions import DeferredMatrix, Direction
from gdaopt.linalg.masked import magnitude_form
from gdaopt.support.validation import FloatArray

UNIT = 2.0**-53
"""u: a rounded operation of float64 has at most this relative error."""

_ROUNDINGS = 1000  # an error-growth factor that also covers sums of some ten thousand terms
_CENTRING = 16  # the error-growth factor of centring the samples, and of sums of a few terms


@dataclass(frozen=True, eq=False)
class RoundOff:
    """How far the value q and the gradient G that were computed at M can be off: e and gg'.

    The tangent, lowered by that much, is below the objective at every symmetric V::

        Q(V) ≥ q - e + ℓ(V),    ℓ(V) = Σ_ij ( G_ij (V - M)_ij - g_i g_j |V - M|_ij ),

    and for an objective with `log_convex`, if ``e < q``, ``log Q(V) ≥ log(q - e) + ℓ(V) / (q ± e)``
    with the sign of ℓ(V). Both are true where ``|q - Q(M)| ≤ e`` and ``|G - ∇Q(M)|_ij ≤ g_i g_j``.

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


@dataclass(frozen=True, eq=False)
class DistanceRoundOff:
    """How exact squared distances are: ``|δ̃_rc - δ_rc| ≤ u s'Rs`` with ``s = |x_r| + |x_c|``.

    The `forms` are R up to `additions`: the magnitudes of the terms of the metric, times the
    error-growth factor of their products with the samples. The additions are that of sums: of these
    terms, and of exponents that contain the distances ("Lemma: round-off of the regulariser").
    """

    n_features: int
    forms: DeferredMatrix
    additions: int = 0

    @classmethod
    def of_metric(cls, metric: DeferredMatrix, n_features: int) -> DistanceRoundOff:
        """Return the round-off of distances computed by products with a K×K metric."""

        def forms() -> Any:
            factor = _factor_roundings(n_features, n_features)
            known: Any = metric.known()
            return factor * abs(known)

        return cls(n_features, DeferredMatrix(forms))

    def moved(self, direction: Direction, gamma: float, n_factors: int) -> DistanceRoundOff:
        """Return the round-off after a step along a direction of `n_factors` factors."""
        length = _factor_roundings(self.n_features, n_factors) * abs(gamma)
        # Of most points, trial steps, nobody asks.
        forms = DeferredMatrix(lambda: self.forms.moved(direction.magnitude(), length).known())
        return DistanceRoundOff(self.n_features, forms, self.additions + n_factors + 2)

    def form(self, sizes: FloatArray) -> float:
        """Return ``s'Rs`` for magnitudes s of samples, shape (K,)."""
        # No partial sum was larger than the sum of all magnitudes.
        share = 1 + self.additions / _factor_roundings(self.n_features, 0)
        forms = self.forms.known()
        if isinstance(forms, np.ndarray):
            return share * float(sizes @ forms @ sizes)
        return share * magnitude_form(forms, sizes)


def _factor_roundings(n_features: int, n_factors: int) -> int:
    """Return the error-growth factor of a quadratic form: of products with X, and of factors."""
    return 2 * n_features + n_factors + _CENTRING
