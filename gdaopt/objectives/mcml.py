"""Maximally collapsing metric learning: each sample near to its class, far from other classes."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np

from gdaopt.objectives.pairs import Block, Changes
from gdaopt.objectives.pairs.blocks import own_classes
from gdaopt.objectives.pairs.expressions import all_distances
from gdaopt.objectives.protocol import Expression, Terms
from gdaopt.objectives.softmax import SoftmaxLoss, SoftmaxObjective, SoftmaxRows
from gdaopt.support.validation import FloatArray

__all__ = ["MCML", "MCMLLoss"]


class MCMLLoss(SoftmaxLoss):
    """``Σ_i w_i ( mean_{j in the class of i} δ_ij + log Σ_{k≠i} exp(-δ_ik) )``."""

    def cancelled(self, block: Block, /) -> FloatArray:
        """Return the pull on each pair: near the optimum the softmax cancels it."""
        return self.pulls(block)

    def at(self, block: Block, distances: FloatArray) -> _Rows:
        return _Rows(self, block, distances)


class _Rows(SoftmaxRows):
    def __init__(self, loss: MCMLLoss, block: Block, distances: FloatArray) -> None:
        super().__init__(loss, block, distances)
        self._loss = loss
        self._pulled = self._mean_pull()

    def _mean_pull(self) -> FloatArray:
        """Return ``mean δ_ij - min_k δ_ik`` over the own class; of samples alone less the last."""
        exponents = self.exponents
        pull: FloatArray = -self.nearest
        exponents[self.rows, self.own] = 0.0
        for rows, members in own_classes(self.block, self._loss.classes):
            if n_others := members.stop - members.start - 1:
                pull[rows] = -exponents[rows, members].sum(axis=1)
                pull[rows] /= n_others
        exponents[self.rows, self.own] = -math.inf
        return pull

    @cached_property
    def value(self) -> float:
        return float(self.weights @ (self._pulled + np.log(self.total)))

    @property
    def magnitude(self) -> float:
        return float(self.weights @ (np.abs(self._pulled) + self.most))

    def coefficients(self) -> FloatArray:
        coefficients = self.terms
        coefficients *= (-self.weights / self.total)[:, None]
        self._loss.pull(self.block, coefficients)
        coefficients[self.rows, self.own] = 0.0
        return coefficients

    def factors(self, changes: Changes) -> FloatArray:
        """Return ``√(w_i p_ik) (φ_ik - Σ_l p_il φ_il)``: their Gram is a sum of covariances."""
        centred, shares, _ = self.centred(changes)
        factors: FloatArray = centred * np.sqrt(shares)
        return factors


class MCML(SoftmaxObjective[MCMLLoss]):
    """Maximally collapsing metric learning.

    ``Q(M) = Σ_i s_i [ (1/n_i) Σ_{j: y_j = y_i, j ≠ i} δ_ij(M) + log Σ_{k ≠ i} exp(-δ_ik(M)) ] /
    Σ_i s_i``, with n_i the number of other samples of the class of i. Up to a constant that is the
    mean Kullback–Leibler divergence of two distributions over the other samples: the uniform one
    over the own class, and the softmax of minus the squared distances. Q is convex. A sample that
    is alone in its class has no first term.

    Parameters
    ----------
    X : array-like of shape (N, K)
        Samples × features.
    y : array-like of shape (N,)
        Class labels: numbers, booleans or texts.
    sample_weight : array-like of shape (N,), optional
        Positive s: how much the terms of each sample count.

    Raises
    ------
    InvalidInputError
        For NaN or infinite values, lengths that differ, fewer than two samples, samples that all
        coincide, one class only, no two samples of one class, or weights that are not positive.

    Notes
    -----
    Where all classes are pairs of samples, Q is positive, and nearly 0 where a large trace is
    allowed and the pairs are far from each other. Runs then end as *stalled* with a gap that is
    round-off alone, or as *converged* with an ``absolute_tolerance``.

    Evaluation takes O(N² K + N K²) operations. Source: Globerson, Roweis, *Metric learning by
    collapsing classes*, NIPS 2005; "Definition: losses of distances" and "Lemma: second derivatives
    of losses of distances" in ``docs/theory``.

    Examples
    --------
    >>> mcml = MCML([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], ["a", "a", "b"])
    >>> round(mcml.value(np.eye(2)), 6)
    -1.206667
    >>> np.diagonal(mcml.gradient(np.eye(2))).round(6)
    array([-0.073839, -1.420549])
    """

    def __init__(self, X: Any, y: Any, *, sample_weight: Any = None) -> None:
        super().__init__(X, y, sample_weight, MCMLLoss)

    def to_cvxpy(self, metric: Expression) -> Terms:
        """Return Q for CVXPY: one exponential cone for each ordered pair of samples."""
        import cvxpy as cp  # on demand: importing gdaopt loads no solver

        size = len(self.pairs.features)
        distances, position, constraints = all_distances(self.pairs.features, metric)
        others = position[~np.eye(size, dtype=bool)]
        rows = cp.reshape(distances[others], (size, size - 1), order="C")
        pulls = np.concatenate([self.loss.pulls(block) for block in self.pairs.blocks()])
        pulls += pulls.T
        pulled = pulls[np.triu_indices(size, 1)] @ distances
        return pulled + self.loss.weights @ cp.log_sum_exp(-rows, axis=1), constraints
