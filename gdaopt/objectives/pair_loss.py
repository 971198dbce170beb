"""Losses of squared distances, over all pairs of samples: at a metric, and along a direction.

A loss can be evaluated on any rows of a tile alone, and needs no samples. If pairs have weights
w, it gets ``δ - log w`` in place of a distance δ: ``w exp(-δ) = exp(-(δ - log w))``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg.blas import dgemm

from gdaopt.objectives.pairs.changes import Changes
from gdaopt.objectives.pairs.pairs import Tile
from gdaopt.support.validation import FloatArray

NEGLIGIBLE = 1e-9
"""Second derivatives hardly change a Newton step by this share of the largest in a tile."""

_FEW_ROWS = 32
"""Up to so many rows, two small matrices are multiplied faster than a large one by its own."""
_SMALL = 800_000  # multiplications: for products of at most 100³ OpenBLAS copies nothing
_IN_CACHE = 2**17  # entries


class LossValues(NamedTuple):
    """A loss f at the distances δ of one tile, or of some of its rows.

    Attributes
    ----------
    value : float
        ``f(δ)``.
    first : callable
        It returns ``∂f/∂δ`` times the sign of the loss, an array of the shape of the distances.
        Second derivatives do without it, which takes LMNN a sixth of the time of a run.
    curvature : callable
        It returns the second derivatives along the n directions of some ``Changes``, shape (n, n).
    """

    value: float
    first: Callable[[], FloatArray]
    curvature: Callable[[Changes], FloatArray]


class DistanceLoss(ABC):
    """A function of the squared distances of pairs; write a subclass for your own loss.

    Attributes
    ----------
    constant : float
        t, the largest number that is added to a distance, such as a threshold: no term of a value
        is larger than a few ``|c| (t + |δ|)`` with the derivative c, but for terms that are all of
        the sign of the value ("Lemma: round-off of sums over pairs").
    cancelled : ndarray of shape (N,) or None
        For each sample, the sum of those terms of the derivatives by distances that cancel each
        other, without the rest; None if no terms cancel.
    sign : float
        -1.0 if no derivative is positive; `LossValues.first` returns then their magnitudes.
    convex : bool
        Whether f is convex.
    curvature_is_local : bool
        Whether only pairs of some distances have second derivatives, so that a few rows of pairs
        are no fair sample.
    is_exponential : bool
        Whether the loss is a sum of exponentials ``exp(-δ)``. Value, derivatives and second
        derivatives are then the same terms, and the logarithm of the sum is convex, too.
    """

    constant: float = 0.0
    cancelled: FloatArray | None = None
    sign: float = 1.0
    convex: bool = True
    curvature_is_local: bool = False
    is_exponential: bool = False

    @abstractmethod
    def at(self, tile: Tile, distances: FloatArray) -> LossValues:
        """Return the loss at the distances of a tile; a writeable array may be overwritten."""


def gram(factors: FloatArray) -> FloatArray:
    """Return ``F F'`` for factors of shape (n, m): second derivatives of a convex loss."""
    size, length = factors.shape
    if size > _FEW_ROWS or not factors.size:
        product: FloatArray = factors @ factors.T
        return product
    total = np.zeros((size, size), order="F")
    step = max(1, min(_SMALL // size**2, _IN_CACHE // size))
    for start in range(0, length, step):
        part = np.ascontiguousarray(factors[:, start : start + step]).T
        total = dgemm(1.0, part, part, beta=1.0, c=total, trans_a=True, overwrite_c=True)
    return total


def weighted_curvature(
    weights: FloatArray, changes: Changes, negligible: float = NEGLIGIBLE
) -> FloatArray:
    """Return ``Σ_p w_p φ_p φ_p'``, without pairs of at most a share of the largest weight."""
    counts = weights > negligible * weights.max(initial=0.0)
    is_dense = counts.all()
    factors = changes() if is_dense else changes(*np.nonzero(counts))
    factors = factors.reshape(len(factors), -1)
    factors *= np.sqrt(weights.ravel() if is_dense else weights[counts])
    return gram(factors)


def thin(terms: FloatArray, least: float, rng: np.random.Generator) -> FloatArray:
    """Return terms ≥ 0, the small ones 0 or `least`, so that sums are right in the mean."""
    is_kept = rng.random(terms.shape) * least < terms
    return np.where(is_kept, np.maximum(terms, least), 0.0)
