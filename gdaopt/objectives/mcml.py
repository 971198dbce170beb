"""Maximally collapsing metric learning: each sample is near to its class, and far from others."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from gdaopt.errors import InvalidInputError
from gdaopt.objectives.distances import ClassCollapse, DistanceObjective, class_codes, even_trace
from gdaopt.objectives.many_pairs import stratified
from gdaopt.objectives.pairs import (
    RectanglePairs,
    checked_samples,
    checked_weights,
    squared_distances,
)

if TYPE_CHECKING:
    import cvxpy as cp

__all__ = ["MCML"]


class MCML(DistanceObjective):
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
    memory_limit : int, optional
        Bytes that the numbers of all pairs may take. Where they need more, they are recomputed
        block by block in each pass instead of being kept.

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

    def __init__(
        self, X: Any, y: Any, *, sample_weight: Any = None, memory_limit: int = 2**28
    ) -> None:
        features = checked_samples(X)
        codes = class_codes(y, len(features))
        weights = checked_weights(sample_weight, len(features))
        order = np.argsort(codes, kind="stable")
        loss = ClassCollapse(codes[order], (weights / weights.sum())[order])
        if not loss.has_class.any():
            raise InvalidInputError(
                f"each of the {len(features)} samples is alone in its class; there must be two "
                "samples of one class"
            )
        self._collapse = loss
        self._codes = codes[order]
        self._memory_limit = memory_limit
        super().__init__(RectanglePairs.ordered(features, order), loss, memory_limit)

    def _of_samples(self, size: int) -> MCML | None:
        if not self._pair_loss.has_many_pairs:
            return None
        chosen, counts = stratified(self._codes, size)
        return MCML(
            self.pairs.features[chosen],
            self._codes[chosen],
            sample_weight=self._collapse.weights[chosen] * counts,
            memory_limit=self._memory_limit,
        )

    def auto_trace_bound(self) -> float:
        """Return C by the rule "auto" ("Proposition: trace bounds of even metrics").

        Under the even metric of this trace the mean squared distance within classes is log(N - 1).
        The other samples then weigh together, at that distance, as much as one at distance 0: the
        softmax reaches no further than the nearest sample.
        """
        pulls = (self._collapse.offsets(block) for block in self.pairs.blocks())
        distance = math.log(len(self.pairs.features) - 1)
        return even_trace(distance, self.pairs.scatter_diagonal(pulls))

    def lipschitz(self, min_eigenvalue: float) -> float:  # noqa: ARG002 (the same for all)
        """Return ``L = Σ_i s_i max_k ‖d_ik‖⁴ / Σ_i s_i``, which holds for every metric.

        See "Lemma: second derivatives of losses of distances" in ``docs/theory.md``.
        """
        blocks = zip(self.pairs.blocks(), self.squares(), strict=True)
        return sum(
            float(self._collapse.weights[block.rows] @ squares.max(axis=1) ** 2)
            for block, squares in blocks
        )

    def to_cvxpy(
        self,
        metric: cp.Expression,
        log: bool = False,  # noqa: ARG002 (Q may be negative)
    ) -> tuple[cp.Expression, list[cp.Constraint]]:
        """Return Q for CVXPY: one exponential cone for each ordered pair of samples."""
        import cvxpy as cp  # on demand: importing gdaopt loads no solver

        size = len(self.pairs.features)
        left, right = np.triu_indices(size, 1)
        distances, constraints = squared_distances(self.pairs.features, left, right, metric)
        position = np.zeros((size, size), dtype=np.intp)
        position[left, right] = position[right, left] = np.arange(len(left))
        others = position[~np.eye(size, dtype=bool)]
        rows = cp.reshape(distances[others], (size, size - 1), order="C")
        pulls = np.concatenate([self._collapse.offsets(block) for block in self.pairs.blocks()])
        pulls += pulls.T
        pulled = pulls[left, right] @ distances
        return pulled + self._collapse.weights @ cp.log_sum_exp(-rows, axis=1), constraints
