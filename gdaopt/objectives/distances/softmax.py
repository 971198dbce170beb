"""The loss of MCML: the logarithm of the sum of exponentials in each row of distances."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from gdaopt.objectives.pairs import Block, Changes
from gdaopt.validation import FloatArray

__all__ = ["RowSoftmax"]

_NEGLIGIBLE = 1e-11  # of a row's softmax: with less, a pair does not change a Newton step
_EXPONENT = 746  # exp of less is 0: the largest exponent that is rounded


class RowSoftmax:
    """``Σ_i w_i log Σ_{k≠i} exp(-δ_ik)``: a `DistanceLoss` of ordered pairs.

    Parameters
    ----------
    weights : ndarray of shape (N,)
        w, positive.
    """

    # Sums and exponentials; exponents are relative to the largest.
    value_roundings = 80.0
    coefficient_roundings = _EXPONENT + 160.0

    def __init__(self, weights: FloatArray) -> None:
        self.weights = weights

    def at(self, block: Block, distances: FloatArray) -> _Rows:
        """Return the loss at rows of distances."""
        return _Rows(self.weights[block.rows], distances, block.rows.start - block.columns.start)


class _Rows:
    """The loss in some rows: a `BlockLoss`. Row r is that of the sample in column first + r."""

    def __init__(self, weights: FloatArray, distances: FloatArray, first: int) -> None:
        rows = np.arange(len(distances))
        exponents = -distances
        exponents[rows, first + rows] = -math.inf
        self._weights = weights
        self._shift = exponents.max(axis=1)
        exponents -= self._shift[:, None]
        self._terms = np.exp(exponents, out=exponents)
        self._total = self._terms.sum(axis=1)

    @cached_property
    def value(self) -> float:
        return float(self._weights @ (self._shift + np.log(self._total)))

    @property
    def magnitude(self) -> float:
        most = 1 + math.log(self._terms.shape[1])
        return float(self._weights @ (np.abs(self._shift) + most))

    def coefficients(self) -> FloatArray:
        scales = -self._weights / self._total
        coefficients: FloatArray = self._terms * scales[:, None]
        return coefficients

    def factors(self, changes: Changes) -> FloatArray:
        """Return ``√(w_i p_ik) (φ_ik - Σ_l p_il φ_il)``: their Gram is a sum of covariances."""
        counts = self._terms > _NEGLIGIBLE
        if np.count_nonzero(counts) > counts.size / 2:
            shares = self._terms / self._total[:, None]
            values = changes.all()
            centred = values - np.einsum("nrc,rc->nr", values, shares)[:, :, None]
            centred *= np.sqrt(self._weights[:, None] * shares)
            return centred.reshape(len(centred), -1)
        # Under a metric of large trace most samples have few others near.
        rows, columns = np.nonzero(counts)
        share = self._terms[rows, columns] / self._total[rows]
        values = changes.at(rows, columns)
        starts = np.searchsorted(rows, np.arange(len(counts)))
        means = np.add.reduceat(values * share, starts, axis=1)
        centred = values - means[:, rows]
        centred *= np.sqrt(self._weights[rows] * share)
        return centred
