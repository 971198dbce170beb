"""Weighted pairs of samples from a list, such as pairs of each sample with its neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from gdaopt.objectives.pairs.base import Indices, Pairs, Scatter
from gdaopt.objectives.pairs.passes import Block, Factors
from gdaopt.support.deadline import check_time
from gdaopt.support.validation import FloatArray

_BLOCK_ENTRIES = 2**17  # 1 MB: the differences of a run of pairs stay in cache


@dataclass(frozen=True, eq=False)
class ListedWeights:
    """The logarithms of the weights of a list of pairs."""

    logarithms: FloatArray

    def __call__(self, block: Block) -> FloatArray:
        return self.logarithms[block.rows]


class ListedPairs(Pairs):
    """Pairs of samples with a weight each; pairs of weight 0 drop out.

    The blocks are runs of the list; `group` pairs, one after the other, are in one block.
    """

    def __init__(
        self,
        features: FloatArray,
        left: Indices,
        right: Indices,
        weights: FloatArray | None = None,
        group: int = 1,
    ) -> None:
        if weights is None:
            super().__init__(features)
            self._left, self._right = left, right
        else:
            counts = np.flatnonzero(weights > 0)
            super().__init__(features, ListedWeights(np.log(weights[counts])))
            self._left, self._right = left[counts], right[counts]
        self.n_pairs = len(self._left)
        self.group = group

    def blocks(self) -> Iterator[Block]:
        width = max(self.features.shape[1], 1)
        step = self._in_groups(_BLOCK_ENTRIES // int(width))
        for start in range(0, self.n_pairs, step):
            check_time()
            yield Block(slice(start, min(start + step, self.n_pairs)))

    def samples(self, block: Block) -> tuple[Indices, Indices]:
        return self._left[block.rows], self._right[block.rows]

    def _differences(self, values: FloatArray) -> Iterator[FloatArray]:
        """Yield the differences of values of samples, for the pairs of each block."""
        for block in self.blocks():
            left, right = self.samples(block)
            yield values[left] - values[right]

    def products(self, factors: Factors) -> Iterator[FloatArray]:
        left, right = map(self._differences, (factors.left, factors.right))
        for a, b in zip(left, right, strict=True):
            yield np.einsum("pf,pf->p", a, b)

    def scatter(
        self, coefficients: Iterable[FloatArray], degrees: FloatArray | None = None
    ) -> Scatter:
        size = self.features.shape[1]
        total = np.zeros((size, size))
        differences = self._differences(self.features)
        for block, of_block, p in zip(self.blocks(), differences, coefficients, strict=True):
            total += of_block.T @ (p[:, None] * of_block)
            if degrees is not None:
                self.add_degrees(degrees, block, p)
        return Scatter.of((total + total.T) / 2)  # symmetric to the last bit

    def _subtract(self, weights: FloatArray, block: Block, p: FloatArray) -> None:
        np.subtract.at(weights, self.samples(block), p)

    @property
    def longest_sum(self) -> int:
        # Sums over blocks, and of blocks.
        sizes = [int(block.rows.stop - block.rows.start) for block in self.blocks()]
        return max(sizes) + len(sizes)

    def add_degrees(self, degrees: FloatArray, block: Block, p: FloatArray) -> None:
        for samples in self.samples(block):
            np.add.at(degrees, samples, p)
