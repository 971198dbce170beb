"""Weighted pairs of samples from a list, such as pairs of each sample with its neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np

from gdaopt.linalg.entries import IndexArray
from gdaopt.linalg.samples import Samples
from gdaopt.objectives.pairs.pairs import Factors, Pairs, Tile
from gdaopt.objectives.pairs.scatter import Scatter
from gdaopt.support.validation import FloatArray

_TILE_ENTRIES = 2**17  # 1 MB: the differences of a run of pairs stay in cache


@dataclass(frozen=True, eq=False)
class ListedWeights:
    """The logarithms of the weights of a list of pairs."""

    logarithms: FloatArray

    def __call__(self, pairs: Pairs) -> Iterator[FloatArray]:
        for tile in pairs.tiles:
            yield self.logarithms[tile.rows]


class ListedPairs(Pairs):
    """Pairs of samples with a weight each; pairs of weight 0 drop out.

    The tiles are runs of the list; `group` pairs, one after the other, are in one tile.
    """

    def __init__(
        self,
        features: Samples,
        left: IndexArray,
        right: IndexArray,
        weights: FloatArray | None = None,
        group: int = 1,
    ) -> None:
        log_weight = None
        if weights is not None:
            counts = np.flatnonzero(weights > 0)
            left, right, log_weight = (
                left[counts],
                right[counts],
                ListedWeights(np.log(weights[counts])),
            )
        self._left, self._right = left, right
        self.group = group
        super().__init__(features, self._runs(features.shape[1]), log_weight)

    def _runs(self, size: int) -> list[Tile]:
        """Return the list in tiles, for so many features."""
        step, n_pairs = self._in_groups(_TILE_ENTRIES // max(size, 1)), len(self._left)
        return [Tile(slice(i, min(i + step, n_pairs))) for i in range(0, n_pairs, step)]

    def of_features(self, features: IndexArray, gram: FloatArray) -> Self:
        return super().of_features(features, gram)._with_tiles(self._runs(len(features)))

    def samples(self, tile: Tile) -> tuple[IndexArray, IndexArray]:
        return self._left[tile.rows], self._right[tile.rows]

    def _differences(self, values: FloatArray) -> Iterator[FloatArray]:
        """Yield the differences of values of samples, for the pairs of each tile."""
        for tile in self.tiles:
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
        for tile, of_tile, p in zip(self.tiles, differences, coefficients, strict=True):
            total += of_tile.T @ (p[:, None] * of_tile)
            if degrees is not None:
                self.add_degrees(degrees, tile, p)
        return Scatter.of((total + total.T) / 2)  # symmetric to the last bit

    def _subtract(self, weights: FloatArray, tile: Tile, p: FloatArray) -> None:
        np.subtract.at(weights, self.samples(tile), p)

    @property
    def longest_sum(self) -> int:
        # Sums over tiles, and of tiles.
        return max(tile.shape[0] for tile in self.tiles) + len(self.tiles)

    def add_degrees(self, degrees: FloatArray, tile: Tile, p: FloatArray) -> None:
        for samples in self.samples(tile):
            np.add.at(degrees, samples, p)
