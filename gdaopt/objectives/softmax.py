"""Losses of the neighbours that a sample would draw: a softmax of minus its squared distances."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, TypeVar

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
from gdaopt.objectives.subsamples import stratified
from gdaopt.support.validation import FloatArray

__all__ = ["SoftmaxLoss", "SoftmaxObjective", "SoftmaxRows", "drawn"]

_NEGLIGIBLE = 1e-7  # of the largest in a row: pairs that hardly change a Newton step


class SoftmaxLoss(DistanceLoss):
    """A mean over samples i of a function of ``p_ij ∝ exp(-δ_ij)``, j ≠ i, and of the classes.

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
        self._pulls = weights / np.maximum(np.repeat(n_others, n_others + 1), 1)

    def pulls(self, block: Block) -> FloatArray:
        """Return the derivatives of the mean distances within classes, by those of a block."""
        pulls = np.zeros(
            (block.rows.stop - block.rows.start, block.columns.stop - block.columns.start)
        )
        self.pull(block, pulls)
        return pulls

    def pull(self, block: Block, coefficients: FloatArray) -> None:
        """Add these derivatives, also those of the samples themselves."""
        pulls = self._pulls[block.rows]
        for rows, members in own_classes(block, self.classes):
            if members.stop - members.start > 1:
                coefficients[rows, members] += pulls[rows, None]


LossT = TypeVar("LossT", bound=SoftmaxLoss)


def drawn(pairs: RectanglePairs, loss: LossT, n_samples: int) -> tuple[RectanglePairs, LossT]:
    """Return the pairs and the loss of about `n_samples` samples, stratified by the classes."""
    chosen, counts = stratified(loss.codes, n_samples)
    weights = loss.weights[chosen] * counts
    found = type(loss)(loss.codes[chosen], weights / weights.sum())
    return RectanglePairs.ordered(pairs.features[chosen]), found


class SoftmaxRows(BlockLoss):
    """The softmax of some rows.

    Attributes
    ----------
    exponents : ndarray of shape (n_rows, N)
        ``min_k δ_ik - δ_ij``, and ``-inf`` for the sample itself; `terms` overwrites them.
    nearest : ndarray of shape (n_rows,)
        ``min_k δ_ik``.
    """

    def __init__(self, loss: SoftmaxLoss, block: Block, distances: FloatArray) -> None:
        self.block = block
        self.weights = loss.weights[block.rows]
        self.rows = np.arange(len(distances))
        self.own = block.rows.start + self.rows  # the columns of the samples themselves
        exponents = np.negative(distances, out=distances if distances.flags.writeable else None)
        exponents[self.rows, self.own] = -math.inf
        shift: FloatArray = exponents.max(axis=1)
        exponents -= shift[:, None]
        self.exponents = exponents
        self.nearest: FloatArray = -shift

    @cached_property
    def terms(self) -> FloatArray:
        """``exp(min_k δ_ik - δ_ij)``."""
        return np.exp(self.exponents, out=self.exponents)

    @cached_property
    def total(self) -> FloatArray:
        """The sums of the terms, by which they are divided."""
        total: FloatArray = self.terms.sum(axis=1)
        return total

    @property
    def most(self) -> float:
        """What an error of the exponents is multiplied by at most: one and an entropy."""
        return 1 + math.log(self.terms.shape[1])

    def centred(self, changes: Changes) -> tuple[FloatArray, FloatArray, Any]:
        """Return ``φ_ik - Σ_l p_il φ_il`` and ``w_i p_ik`` of the pairs that count, and these."""
        counts = self.terms > _NEGLIGIBLE
        if np.count_nonzero(counts) > counts.size / 2:
            shares = self.terms / self.total[:, None]
            values = changes()
            means = np.matmul(values.transpose(1, 0, 2), shares[:, :, None])
            centred: FloatArray = values - means.transpose(1, 0, 2)
            shares *= self.weights[:, None]
            return centred.reshape(len(centred), -1), shares.ravel(), slice(None)
        # Under a metric of large trace most samples have few neighbours.
        rows, columns = np.nonzero(counts)
        share = self.terms[rows, columns] / self.total[rows]
        values = changes(rows, columns)
        starts = np.searchsorted(rows, self.rows)
        means = np.add.reduceat(values * share, starts, axis=1)
        return values - means[:, rows], self.weights[rows] * share, (rows, columns)


class SoftmaxObjective(PairObjective[LossT]):
    """An objective of a softmax by rows; a subclass passes on the class of its loss."""

    tested = True

    def __init__(self, X: Any, y: Any, sample_weight: Any, kind: type[LossT]) -> None:
        features = checked_samples(X)
        codes = class_codes(y, len(features))
        weights = checked_weights(sample_weight, len(features))
        order = np.argsort(codes, kind="stable")
        loss = kind(codes[order], (weights / weights.sum())[order])
        if not loss.has_class.any():
            raise InvalidInputError(
                f"each of the {len(features)} samples is alone in its class; there must be two "
                "samples of one class"
            )
        super().__init__(RectanglePairs.ordered(features, order), loss, draw=drawn)

    def auto_trace_bound(self) -> float:
        """Return C by the rule "auto" ("Proposition: trace bounds of isotropic metrics").

        Under the isotropic metric of this trace the mean squared distance within classes is
        log(N - 1). The other samples then weigh together, at that distance, as much as one at
        distance 0: the softmax reaches no further than the nearest sample.
        """
        pulls = (self.loss.pulls(block) for block in self.pairs.blocks())
        distance = math.log(len(self.pairs.features) - 1)
        return isotropic_trace(distance, self.pairs.scatter_diagonal(pulls))

    def lipschitz(self, _min_eigenvalue: float, /) -> float:
        """Return ``L = Σ_i s_i max_k ‖d_ik‖⁴ / Σ_i s_i``, which holds for every metric.

        See "Lemma: second derivatives of losses of distances" in ``docs/theory``.
        """
        blocks = zip(self.pairs.blocks(), self.squares(), strict=True)
        return sum(
            float(self.loss.weights[block.rows] @ squares.max(axis=1) ** 2)
            for block, squares in blocks
        )
