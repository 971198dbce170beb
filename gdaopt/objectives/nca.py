"""Neighbourhood components analysis: the neighbours that samples draw are to be of their class."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from gdaopt.objectives.mcml import MCMLLoss
from gdaopt.objectives.pair_objective import PairObjective
from gdaopt.objectives.pairs import Block, Changes
from gdaopt.objectives.pairs.blocks import own_classes
from gdaopt.objectives.softmax import SoftmaxLoss, SoftmaxObjective, SoftmaxRows, drawn
from gdaopt.support.validation import FloatArray

__all__ = ["NCA"]


class _NCALoss(SoftmaxLoss):
    """``-Σ_i w_i p_i``, where p_i is the sum of p_ij over the other samples j of the class of i."""

    convex = False

    def at(self, block: Block, distances: FloatArray) -> _Rows:
        return _Rows(self, block, distances)


class _Rows(SoftmaxRows):
    def __init__(self, loss: _NCALoss, block: Block, distances: FloatArray) -> None:
        super().__init__(loss, block, distances)
        self._is_own = np.zeros(distances.shape, dtype=bool)
        for rows, members in own_classes(block, loss.classes):
            self._is_own[rows, members] = True

    @cached_property
    def _shares(self) -> tuple[FloatArray, FloatArray]:
        """The probabilities p_i of a neighbour of the own class, and ``1 - p_i`` exactly."""
        others = np.where(self._is_own, 0.0, self.terms).sum(axis=1)
        own = np.where(self._is_own, self.terms, 0.0).sum(axis=1)
        return own / self.total, others / self.total

    @cached_property
    def value(self) -> float:
        return -float(self.weights @ self._shares[0])

    @property
    def magnitude(self) -> float:
        return float(self.weights.sum()) * self.most

    def coefficients(self) -> FloatArray:
        """Return ``w_i p_ij (1 - p_i)`` for pairs of one class, ``-w_i p_ij p_i`` for others."""
        own, others = self._shares
        coefficients = self.terms
        coefficients *= (self.weights / self.total)[:, None]
        coefficients *= np.where(self._is_own, others[:, None], -own[:, None])
        return coefficients

    def curvature(self, changes: Changes) -> FloatArray:
        """Return ``Σ_ij w_i p_ij (p_i - [j is of the class of i]) ψ_ij ψ_ij'``, ψ the centred φ."""
        own, others = self._shares
        centred, shares, counted = self.centred(changes)
        signed = shares * np.where(self._is_own, -others[:, None], own[:, None])[counted].ravel()
        curvature: FloatArray = (centred * signed) @ centred.T
        return curvature


class NCA(SoftmaxObjective[_NCALoss]):
    """Neighbourhood components analysis.

    ``Q(M) = -Σ_i s_i p_i(M) / Σ_i s_i``, where ``p_i = Σ_{j ≠ i: y_j = y_i} p_ij`` is the
    probability that sample i draws a neighbour of its own class, and ``p_ij`` is the softmax of
    minus the squared distances ``δ_ij(M)`` over j ≠ i. So ``1 + Q`` is the expected share of errors
    of a classifier by one neighbour that is drawn in this way.

    Q is *not convex*: runs end at a stationary point, and no lower bound is certified
    ("Definition: neighbourhood components" in ``docs/theory``). Classes may consist of several
    clouds, which `MCML` would pull into one point. The trace bound of the set keeps the metric from
    fitting single samples.

    Parameters
    ----------
    X : array-like of shape (N, K)
        Samples × features.
    y : array-like of shape (N,)
        Class labels: numbers, booleans or texts.
    sample_weight : array-like of shape (N,), optional
        Positive s: how much the term of each sample counts.

    Raises
    ------
    InvalidInputError
        For NaN or infinite values, lengths that differ, fewer than two samples, samples that all
        coincide, one class only, no two samples of one class, or weights that are not positive.

    Notes
    -----
    Evaluation takes O(N² K + N K²) operations. Source: Goldberger, Roweis, Hinton, Salakhutdinov,
    *Neighbourhood components analysis*, NIPS 2004, where the metric is ``A'A`` without a bound.

    Examples
    --------
    >>> nca = NCA([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], ["a", "a", "b"])
    >>> round(nca.value(np.eye(2)), 6)
    -0.644863
    >>> np.diagonal(nca.gradient(np.eye(2))).round(6)
    array([ 0.015059, -0.083786])
    """

    def __init__(self, X: Any, y: Any, *, sample_weight: Any = None) -> None:
        super().__init__(X, y, sample_weight, _NCALoss)

    def surrogate(self) -> PairObjective[MCMLLoss]:
        """Return `MCML` of the same samples: convex, and with a constant an upper bound of Q.

        A sample that is alone in its class counts in it alone.
        """
        loss = MCMLLoss(self.loss.codes, self.loss.weights)
        return PairObjective(self.pairs, loss, draw=drawn)
