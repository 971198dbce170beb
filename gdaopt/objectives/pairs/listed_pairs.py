"""Weighted pairs of samples from a list, such as pairs of each sample with its neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from gdaopt.objectives.pairs.base import Indices, Pairs, Scatter
from gdaopt.objectives.pairs.passes import Factors, Tile
from gdaopt.support.deadline import check_time
from gdaopt.support.validation import FloatArray

_TILE_ENTRIES = 2**17  # 1 MB: the differences of a run of pairs stay in cache


@dataclass(frozen=True, eq=False)
class ListedWeights:
    """The logarithms of the weights of a list of pairs."""

    logarithms: FloatArray

    def __call__(self, tile: Tile) -> FloatArray:
        return self.logarithms[tile.rows]


class ListedPairs(Pairs):
    """Pairs of samples with a weight each; pairs of weight 0 drop out.

    The tiles are runs of the list; `group` pairs, one after the other, are in one tile.
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

    def tiles(self) -> Iterator[Tile]:
        width = max(self.features.shape[1], 1)
        step = self._in_groups(_TILE_ENTRIES // int(width))
        for start in range(0, self.n_pairs, step):
            check_time()
            yield Tile(slice(start, min(start + step, self.n_pairs)))

    def samples(self, tile: Tile) -> tuple[Indices, Indices]:
        return self._left[tile.rows], self._right[tile.rows]

    def _differences(self, values: FloatArray) -> Iterator[FloatArray]:
        """Yield the differences of values of samples, for the pairs of each tile."""
        for tile in self.tiles():
            left, right = self.samples(tile)
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
        for tile, of_tile, p in zip(self.tiles(), differences, coefficients, strict=True):
            total += of_tile.T @ (p[:, None] * of_tile)
            if degrees is not None:
                self.add_degrees(degrees, tile, p)
        return Scatter.of((total + total.T) / 2)  # symmetric to the last bit

    def _subtract(self, weights: FloatArray, tile: Tile, p: FloatArray) -> None:
        np.subtract.at(weights, self.samples(tile), p)

    @property
    def longest_sum(self) -> int:
        # Sums over tiles, and of tiles.
        sizes = [int(tile.rows.stop - tile.rows.start) for tile in self.tiles()]
        return max(sizes) + len(sizes)

    def add_degrees(self, degrees: FloatArray, tile: Tile, p: FloatArray) -> None:
        for samples in self.samples(tile):
            np.add.at(degrees, samples, p)
