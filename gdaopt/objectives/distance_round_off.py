"""How exact the squared distances of samples are, however they were computed.

The distances ``δ_rc = (x_r - x_c)' M (x_r - x_c)`` of all pairs come from products of the samples
with the metric, or with the atoms that it is a sum of, and are then updated along lines. What each
of these adds to the round-off is counted here ("Lemma: round-off of the regulariser").
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.directions import Direction
from gdaopt.support.validation import FloatArray

__all__ = ["DistanceRoundOff"]

_CENTRING = 16  # roundings of the samples themselves, and of the sums of a few terms


@dataclass(frozen=True, eq=False)
class DistanceRoundOff:
    """The round-off of distances: ``|δ̃_rc - δ_rc| ≤ u (|x_r| + |x_c|)' R (|x_r| + |x_c|)``.

    Attributes
    ----------
    forms : ndarray of shape (K, K)
        What the products with the samples add to R: magnitudes of what the metric is made of, times
        the roundings in a row.
    additions : int
        The roundings in a row of sums: of the metric, and of the exponents that the distances are
        part of.

    Examples
    --------
    >>> DistanceRoundOff.of_metric(np.diag([1.0, 2.0])).form(np.array([1.0, 3.0]))
    418.0
    """

    forms: FloatArray
    additions: int = 0

    @classmethod
    def of_metric(cls, metric: FloatArray) -> DistanceRoundOff:
        """Return that of products with a K×K metric."""
        size = len(metric)
        forms = np.abs(metric)
        forms *= _roundings(size, size)
        return cls(forms)

    def with_atoms(self, atoms: Atoms, weights: FloatArray) -> DistanceRoundOff:
        """Return that of the metric plus weighted atoms, from the coordinates along the atoms."""
        count = _roundings(len(self.forms), len(atoms))
        forms = atoms.magnitude().added_to(self.forms, count * np.abs(weights))
        return DistanceRoundOff(forms, self.additions + len(atoms) + 2)

    def moved(self, direction: Direction, gamma: float, n_factors: int) -> DistanceRoundOff:
        """Return that after a step along a direction, from so many factors."""
        count = _roundings(len(self.forms), n_factors)
        forms = direction.magnitude().added_to(self.forms, count * abs(gamma))
        return DistanceRoundOff(forms, self.additions + n_factors + 2)

    def form(self, sizes: FloatArray) -> float:
        """Return ``s'Rs`` for magnitudes s of samples, shape (K,)."""
        # What has been added up was never larger than the sum of all magnitudes.
        share = 1 + self.additions / _roundings(len(self.forms), 0)
        return share * float(sizes @ self.forms @ sizes)


def _roundings(n_features: int, n_factors: int) -> int:
    """Return how many roundings in a row a quadratic form takes: products with X, of factors."""
    return 2 * n_features + n_factors + _CENTRING
