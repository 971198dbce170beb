"""The loss of MCML: how far the softmax of each row of distances is from the own class."""

from __future__ import annotations

import math
from functools import cached_property
from itertools import pairwise

import numpy as np

from gdaopt.objectives.distances.labels import Codes
from gdaopt.objectives.pairs import Block, Changes
from gdaopt.support.validation import FloatArray

__all__ = ["ClassCollapse"]

_NEGLIGIBLE = 1e-7  # of the largest in a row: pairs that hardly change a Newton step


class ClassCollapse:
    """``Σ_i w_i ( mean_{j in the class of i} δ_ij + log Σ_{k≠i} exp(-δ_ik) )``: a `DistanceLoss`.

    Its pairs are all ordered pairs of samples, which are sorted by class.

    Parameters
    ----------
    codes : ndarray of int, shape (N,)
        Classes, ascending.
    weights : ndarray of shape (N,)
        w, positive.
    """

    curved_everywhere = True
    value_roundings = 80.0  # sums and exponentials, relative to the largest exponential
    coefficient_roundings = 80.0  # how well a softmax adds up to 1

    def __init__(self, codes: Codes, weights: FloatArray) -> None:
        self.weights = weights
        self._bounds = np.flatnonzero(np.diff(codes, prepend=-1, append=codes[-1] + 1))
        n_others = np.diff(self._bounds) - 1
        self.has_class = np.repeat(n_others > 0, n_others + 1)  # other samples of the own class
        self.pulls = weights / np.maximum(np.repeat(n_others, n_others + 1), 1)

    def classes(self, block: Block) -> list[Block]:
        """Return the parts of a block that are within a class of two samples or more."""
        first, last = block.rows.start, block.rows.stop
        return [
            Block(slice(max(first, start), min(last, stop)), slice(start, stop))
            for start, stop in pairwise(self._bounds.tolist())
            if start < last and stop > first and stop - start > 1
        ]

    def offsets(self, block: Block) -> FloatArray:
        """Return the pull on each pair: near the optimum the softmax cancels it."""
        pulls = np.zeros(
            (block.rows.stop - block.rows.start, block.columns.stop - block.columns.start)
        )
        self.pull(block, pulls)
        return pulls

    def pull(self, block: Block, coefficients: FloatArray) -> None:
        """Add the coefficients of the mean distances within classes, samples themselves too."""
        first = block.rows.start
        for part in self.classes(block):
            rows = slice(part.rows.start - first, part.rows.stop - first)
            coefficients[rows, part.columns] += self.pulls[part.rows, None]

    def at(self, block: Block, distances: FloatArray) -> _Rows:
        """Return the loss at rows of distances."""
        return _Rows(self, block, distances)


class _Rows:
    """The loss in some rows: a `BlockLoss`."""

    def __init__(self, loss: ClassCollapse, block: Block, distances: FloatArray) -> None:
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
        first = self._block.rows.start
        exponents[self._rows, self._own] = 0.0
        for part in self._loss.classes(self._block):
            rows = slice(part.rows.start - first, part.rows.stop - first)
            pull[rows] = -exponents[rows, part.columns].sum(axis=1)
            pull[rows] /= part.columns.stop - part.columns.start - 1
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
            values = changes.all()
            means = np.matmul(values.transpose(1, 0, 2), shares[:, :, None])
            centred: FloatArray = values - means.transpose(1, 0, 2)
            centred *= np.sqrt(self._weights[:, None] * shares)
            return centred.reshape(len(centred), -1)
        # Under a metric of large trace most samples have few others near.
        rows, columns = np.nonzero(counts)
        share = self._terms[rows, columns] / self._total[rows]
        values = changes.at(rows, columns)
        starts = np.searchsorted(rows, self._rows)
        means = np.add.reduceat(values * share, starts, axis=1)
        few: FloatArray = values - means[:, rows]
        few *= np.sqrt(self._weights[rows] * share)
        return few
