"""Weighted pairs of samples from a list, such as pairs of each sample with its neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import repeat

import numpy as np

from gdaopt.objectives.pairs.base import Indices, Pairs, Scatter
from gdaopt.objectives.pairs.passes import ONE, Block, Factors
from gdaopt.support.deadline import check_time
from gdaopt.support.validation import FloatArray

_BLOCK_ENTRIES = 2**17  # 1 MB: the differences of a run of pairs stay in cache
_MOMENT_ENTRIES = 2**18  # 2 MB: what second derivatives are summed from at a time


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
        super().__init__(features)
        counts = slice(None) if weights is None else np.flatnonzero(weights > 0)
        self._left, self._right = left[counts], right[counts]
        self.n_pairs = len(self._left)
        self._group = group
        self._weights = None if weights is None else weights[counts]

    def blocks(self) -> Iterator[Block]:
        width = max(self.features.shape[1], 1)
        step = self._in_groups(_BLOCK_ENTRIES // int(width))
        for start in range(0, self.n_pairs, step):
            check_time()
            yield Block(slice(start, min(start + step, self.n_pairs)))

    def _in_groups(self, length: int) -> int:
        """Return about the length of a run, but whole groups."""
        return self._group * max(1, length // self._group)

    def samples(self, block: Block) -> tuple[Indices, Indices]:
        return self._left[block.rows], self._right[block.rows]

    def parts(self, block: Block, n_values: int) -> Iterator[tuple[Block, slice]]:
        first, last = block.rows.start, block.rows.stop
        step = self._in_groups(_MOMENT_ENTRIES // n_values)
        for start in range(0, last - first, step):
            check_time()
            stop = min(first + start + step, last)
            yield Block(slice(first + start, stop)), slice(start, start + step)

    def _differences(self, values: FloatArray) -> Iterator[FloatArray]:
        """Yield the differences of values of samples, for the pairs of each block."""
        for block in self.blocks():
            left, right = self.samples(block)
            yield values[left] - values[right]

    def products(
        self, factors: Factors, log_weights: Iterable[FloatArray] | None = None
    ) -> Iterator[FloatArray]:
        left, right = map(self._differences, (factors.left, factors.right))
        for a, b, log_weight in zip(left, right, log_weights or repeat(ONE), strict=False):
            yield np.einsum("pf,pf->p", a, b) - log_weight

    def _own_log_weights(self) -> Iterator[FloatArray] | None:
        weights = self._weights
        return None if weights is None else (np.log(weights[b.rows]) for b in self.blocks())

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
