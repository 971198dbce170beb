"""Maximally collapsing metric learning: each sample near to its class, far from other classes."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np

from gdaopt.errors import InvalidInputError
from gdaopt.objectives.pair_loss import BlockLoss, DistanceLoss
from gdaopt.objectives.pair_objective import PairObjective, isotropic_trace
from gdaopt.objectives.pairs import (
    Block,
    Changes,
    Codes,
    RectanglePairs,
    checked_samples,
    checked_weights,
    class_codes,
)
from gdaopt.objectives.pairs.blocks import classes_of, own_classes
from gdaopt.objectives.pairs.expressions import all_distances
from gdaopt.objectives.protocol import Expression, Terms
from gdaopt.objectives.subsamples import stratified
from gdaopt.support.validation import FloatArray

__all__ = ["MCML", "MCMLLoss"]

_NEGLIGIBLE = 1e-7  # of the largest in a row: pairs that hardly change a Newton step


def _drawn(
    pairs: RectanglePairs, loss: MCMLLoss, n_samples: int
) -> tuple[RectanglePairs, MCMLLoss]:
    """Return the pairs and the loss of about `n_samples` samples, stratified by the classes."""
    chosen, counts = stratified(loss.codes, n_samples)
    weights = loss.weights[chosen] * counts
    found = MCMLLoss(loss.codes[chosen], weights / weights.sum())
    return RectanglePairs.ordered(pairs.features[chosen]), found


class MCMLLoss(DistanceLoss):
    """``Σ_i w_i ( mean_{j in the class of i} δ_ij + log Σ_{k≠i} exp(-δ_ik) )``.

    Its pairs are all ordered pairs of samples, which are sorted by class; the weights w are
    positive.
    """

    value_roundings = 80.0  # sums and exponentials, relative to the largest exponential
    coefficient_roundings = 80.0  # how well a softmax adds up to 1

    def __init__(self, codes: Codes, weights: FloatArray) -> None:
        self.codes = codes
        self.weights = weights
        self.classes = classes_of(codes)
        n_others = np.array([members.stop - members.start - 1 for members in self.classes])
        self.has_class = np.repeat(n_others > 0, n_others + 1)  # other samples of the own class
        self.pulls = weights / np.maximum(np.repeat(n_others, n_others + 1), 1)

    def cancelled(self, block: Block, /) -> FloatArray:
        """Return the pull on each pair: near the optimum the softmax cancels it."""
        pulls = np.zeros(
            (block.rows.stop - block.rows.start, block.columns.stop - block.columns.start)
        )
        self.pull(block, pulls)
        return pulls

    def pull(self, block: Block, coefficients: FloatArray) -> None:
        """Add the coefficients of the mean distances within classes, samples themselves too."""
        pulls = self.pulls[block.rows]
        for rows, members in own_classes(block, self.classes):
            if members.stop - members.start > 1:
                coefficients[rows, members] += pulls[rows, None]

    def at(self, block: Block, distances: FloatArray) -> _Rows:
        return _Rows(self, block, distances)


class _Rows(BlockLoss):
    def __init__(self, loss: MCMLLoss, block: Block, distances: FloatArray) -> None:
        self._loss = loss
        self._block = block
        self._weights = loss.weights[block.rows]
        self._rows = np.arange(len(distances))
        self._own = block.rows.start + self._rows  # the columns of the samples themselves
        exponents = np.negative(distances, out=distances if distances.flags.writeable else None)
        exponents[self._rows, self._own] = -math.inf
        shift = exponents.max(axis=1)
        exponents -= shift[:, None]
        self._pulled = self._mean_pull(exponents, shift)
        self._terms = np.exp(exponents, out=exponents)
        self._total = self._terms.sum(axis=1)

    def _mean_pull(self, exponents: FloatArray, shift: FloatArray) -> FloatArray:
        """Return ``mean δ_ij - min_k δ_ik`` over the own class; of samples alone less the last."""
        pull = shift.copy()
        exponents[self._rows, self._own] = 0.0
        for rows, members in own_classes(self._block, self._loss.classes):
            if n_others := members.stop - members.start - 1:
                pull[rows] = -exponents[rows, members].sum(axis=1)
                pull[rows] /= n_others
        exponents[self._rows, self._own] = -math.inf
        return pull

    @cached_property
    def value(self) -> float:
        return float(self._weights @ (self._pulled + np.log(self._total)))

    @property
    def magnitude(self) -> float:
        most = 1 + math.log(self._terms.shape[1])
        return float(self._weights @ (np.abs(self._pulled) + most))

    def coefficients(self) -> FloatArray:
        coefficients = self._terms
        coefficients *= (-self._weights / self._total)[:, None]
        self._loss.pull(self._block, coefficients)
        coefficients[self._rows, self._own] = 0.0
        return coefficients

    def factors(self, changes: Changes) -> FloatArray:
        """Return ``√(w_i p_ik) (φ_ik - Σ_l p_il φ_il)``: their Gram is a sum of covariances."""
        counts = self._terms > _NEGLIGIBLE
        if np.count_nonzero(counts) > counts.size / 2:
            shares = self._terms / self._total[:, None]
            values = changes()
            means = np.matmul(values.transpose(1, 0, 2), shares[:, :, None])
            centred: FloatArray = values - means.transpose(1, 0, 2)
            centred *= np.sqrt(self._weights[:, None] * shares)
            return centred.reshape(len(centred), -1)
        # Under a metric of large trace most samples have few neighbours.
        rows, columns = np.nonzero(counts)
        share = self._terms[rows, columns] / self._total[rows]
        values = changes(rows, columns)
        starts = np.searchsorted(rows, self._rows)
        means = np.add.reduceat(values * share, starts, axis=1)
        few: FloatArray = values - means[:, rows]
        few *= np.sqrt(self._weights[rows] * share)
        return few


class MCML(PairObjective[MCMLLoss]):
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
    of losses of distances" in ``docs/theory.md``.

    Examples
    --------
    >>> mcml = MCML([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], ["a", "a", "b"])
    >>> round(mcml.value(np.eye(2)), 6)
    -1.206667
    >>> np.diagonal(mcml.gradient(np.eye(2))).round(6)
    array([-0.073839, -1.420549])
    """

    tested = True

    def __init__(self, X: Any, y: Any, *, sample_weight: Any = None) -> None:
        features = checked_samples(X)
        codes = class_codes(y, len(features))
        weights = checked_weights(sample_weight, len(features))
        order = np.argsort(codes, kind="stable")
        loss = MCMLLoss(codes[order], (weights / weights.sum())[order])
        if not loss.has_class.any():
            raise InvalidInputError(
                f"each of the {len(features)} samples is alone in its class; there must be two "
                "samples of one class"
            )
        pairs = RectanglePairs.ordered(features, order)
        super().__init__(pairs, loss, draw=_drawn)

    def auto_trace_bound(self) -> float:
        """Return C by the rule "auto" ("Proposition: trace bounds of isotropic metrics").

        Under the isotropic metric of this trace the mean squared distance within classes is
        log(N - 1). The other samples then weigh together, at that distance, as much as one at
        distance 0: the softmax reaches no further than the nearest sample.
        """
        pulls = (self.loss.cancelled(block) for block in self.pairs.blocks())
        distance = math.log(len(self.pairs.features) - 1)
        return isotropic_trace(distance, self.pairs.scatter_diagonal(pulls))

    def lipschitz(self, _min_eigenvalue: float, /) -> float:
        """Return ``L = Σ_i s_i max_k ‖d_ik‖⁴ / Σ_i s_i``, which holds for every metric.

        See "Lemma: second derivatives of losses of distances" in ``docs/theory.md``.
        """
        blocks = zip(self.pairs.blocks(), self.squares(), strict=True)
        return sum(
            float(self.loss.weights[block.rows] @ squares.max(axis=1) ** 2)
            for block, squares in blocks
        )

    def to_cvxpy(self, metric: Expression) -> Terms:
        """Return Q for CVXPY: one exponential cone for each ordered pair of samples."""
        import cvxpy as cp  # on demand: importing gdaopt loads no solver

        size = len(self.pairs.features)
        distances, position, constraints = all_distances(self.pairs.features, metric)
        others = position[~np.eye(size, dtype=bool)]
        rows = cp.reshape(distances[others], (size, size - 1), order="C")
        pulls = np.concatenate([self.loss.cancelled(block) for block in self.pairs.blocks()])
        pulls += pulls.T
        pulled = pulls[np.triu_indices(size, 1)] @ distances
        return pulled + self.loss.weights @ cp.log_sum_exp(-rows, axis=1), constraints
