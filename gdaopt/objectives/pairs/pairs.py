"""Pairs of samples: the linear map from metrics to their squared distances, and its adjoint."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise, repeat
from typing import Any, NamedTuple, Self

import numpy as np

from gdaopt.linalg.entries import IndexArray
from gdaopt.linalg.samples import (
    Samples,
    by_columns,
    column_forms,
    columns_of,
    is_sparse,
    squared_columns,
)
from gdaopt.objectives.pairs.scatter import Scatter
from gdaopt.support.deadline import check_time
from gdaopt.support.validation import FloatArray, read_only

MANY_PAIRS = 2**17
"""With more pairs, an evaluation is one pass, and second derivatives come from a subsample."""

ONE = np.zeros(())
"""The logarithm of a weight of 1."""

_MOST_KEPT = 2**22  # pairs: of more, the logarithms of weights are computed in each pass
_PART_ENTRIES = 2**18  # 2 MB: what second derivatives are summed from at a time
_RUN = 1000  # samples: their features stay in cache
_LARGEST_SIZE = 1e6  # with a larger product of a sample the three terms lose digits
_CHUNK = 2**21  # pairs: a pass over a chunk takes much longer than to begin one
_MOST_CHUNKS = 64


class Tile(NamedTuple):
    """A rectangle ``rows × columns`` of pairs; `rows` of a list of pairs have one column."""

    rows: slice
    columns: slice = slice(0, 1)

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and of columns."""
        return self.rows.stop - self.rows.start, self.columns.stop - self.columns.start

    @property
    def n_pairs(self) -> int:
        """The number of its pairs."""
        rows, columns = self
        n_pairs: int = (rows.stop - rows.start) * (columns.stop - columns.start)
        return n_pairs


LogWeight = Callable[["Pairs"], Iterator[FloatArray]]
"""Yields, tile by tile, the logarithms of the weights of pairs, or one that all of a tile have."""


@dataclass(eq=False)
class PairValues:
    """One array for each tile of pairs: kept after the first pass, or computed in each."""

    tiles: Callable[[], Iterator[FloatArray]] | list[FloatArray]
    is_kept: bool

    def __iter__(self) -> Iterator[FloatArray]:
        if self.is_kept and not isinstance(self.tiles, list):
            # The callable is let go: it often refers back to its owner, and such a cycle would hold
            # the arrays until the garbage collector comes by.
            self.tiles = list(map(read_only, _in_time(self.tiles())))
        return _in_time(self.tiles if isinstance(self.tiles, list) else self.tiles())


def _in_time(tiles: Iterable[FloatArray]) -> Iterator[FloatArray]:
    """Yield tiles as long as there is time: a pass over all pairs can be left at each of them."""
    for tile in tiles:
        check_time()
        yield tile


@dataclass(frozen=True, eq=False)
class Factors:
    """Factors a and b of samples, and matrices whose product is ``Σ_f (a_rf - a_cf)(b_rf - b_cf)``.

    Either F is 1, or ``a @ b.T`` is symmetric. The matrices have ``-2a``, ``a·b`` and 1 of a sample
    in a row, and ``b``, 1 and ``a·b`` in a column. There are none if F is 1, or if large terms
    would cancel.
    """

    left: FloatArray
    right: FloatArray
    matrices: tuple[FloatArray, FloatArray] | None

    @classmethod
    def of(cls, left: FloatArray, right: FloatArray) -> Factors:
        """Return the matrices of two factors of shape (N, F)."""
        n_samples, size = left.shape
        if size == 1:
            return cls(left, right, None)
        rows, of_columns = np.empty((2, n_samples, size + 2))
        columns = of_columns.T  # BLAS takes samples in rows on both sides
        columns[:size], columns[size], rows[:, size + 1] = right.T, 1.0, 1.0
        largest = 0.0
        for start in range(0, n_samples, _RUN):
            part = slice(start, start + _RUN)
            a, b = left[part], right[part]
            rows[part, size] = columns[size + 1, part] = np.einsum("nf,nf->n", a, b)
            np.multiply(a, -2, out=rows[part, :size])
            sizes = np.einsum("nf,nf->n", np.abs(a), np.abs(b))
            largest = max(largest, float(sizes.max()))
        return cls(left, right, None if largest > _LARGEST_SIZE else (rows, columns))


class Pairs(ABC):
    """Pairs p of samples, each with a difference ``d_p`` of its two samples.

    Numbers of pairs are passed *tile by tile*, as an iterator over arrays, each of the shape that
    `products` yields for that tile. The order of the pairs is always the same.

    Parameters
    ----------
    features : array or sparse array of shape (N, K)
        The samples.
    tiles : sequence of Tile
        All pairs, each once.
    log_weight : callable, optional
        Of pairs with weights.
    order : ndarray of shape (N,), optional
        The samples in the order in which tiles refer to them.
    orders : int, optional
        2 if rows are samples against all, so that each pair is met in both orders.
    """

    features: Any  # X, read-only and centred against cancellation; sparse ones only by columns
    group = 1  # rows of a tile that are not separated
    gram: FloatArray | None = None  # what distances of samples have beside the features

    def __init__(
        self,
        features: Samples,
        tiles: Sequence[Tile],
        log_weight: LogWeight | None = None,
        order: IndexArray | None = None,
        orders: int = 1,
    ) -> None:
        self.tiles, self.n_pairs = tiles, sum(tile.n_pairs for tile in tiles)
        self.log_weight = log_weight
        self.orders = orders
        if is_sparse(features):  # differences need no centre
            self.features = by_columns(features if order is None else features[order])
            self._centre = np.zeros(features.shape[1])
            return
        offsets = features - features[0]  # first, so that a constant feature becomes 0 exactly
        self._centre = offsets.mean(axis=0)
        offsets -= self._centre
        offsets = offsets if order is None else offsets[order]
        self.features = read_only(np.ascontiguousarray(offsets))

    # --- the same pairs, otherwise ------------------------------------------------------------

    def _with_tiles(self, tiles: Sequence[Tile]) -> Self:
        """Return the pairs of some tiles; what was computed for all of them is forgotten."""
        pairs = copy(self)
        pairs.tiles, pairs.n_pairs = tiles, sum(tile.n_pairs for tile in tiles)
        vars(pairs).pop("log_weights", None)
        return pairs

    def of_features(self, features: IndexArray, gram: FloatArray) -> Self:
        """Return the same pairs by some of the features, and by a Gram matrix of their samples.

        Distances of pairs (r, c) are larger by ``g_rr + g_cc - 2 g_rc`` than by the features alone.
        """
        pairs = self._with_tiles(self.tiles)
        pairs.features = read_only(np.ascontiguousarray(columns_of(self.features, features)))
        pairs._centre, pairs.gram = self._centre[features], gram
        return pairs

    def chunks(self) -> Sequence[Self]:
        """Return the pairs in chunks, which together have all of them once, in order."""
        n_chunks = min(max(1, self.n_pairs // _CHUNK), _MOST_CHUNKS, len(self.tiles))
        ends = np.cumsum([tile.n_pairs for tile in self.tiles])
        shares = np.arange(1, n_chunks) * (self.n_pairs / n_chunks)
        bounds = [0, *np.searchsorted(ends, shares).tolist(), len(ends)]
        return [self._with_tiles(self.tiles[i:j]) for i, j in pairwise(bounds) if i < j]

    # --- the samples of pairs -----------------------------------------------------------------

    @abstractmethod
    def samples(self, tile: Tile) -> tuple[IndexArray, IndexArray]:
        """Return both samples of the pairs of a tile, as arrays that broadcast to its shape."""

    def parts(self, tile: Tile, n_values: int) -> Iterator[tuple[Tile, slice]]:
        """Yield parts of a tile for which n numbers a pair stay in cache, and their rows in it."""
        n_rows, n_columns = tile.shape
        step = self._in_groups(_PART_ENTRIES // (n_values * n_columns))
        for start in range(0, n_rows, step):
            check_time()
            stop = min(start + step, n_rows)
            rows = slice(tile.rows.start + start, tile.rows.start + stop)
            yield Tile(rows, tile.columns), slice(start, stop)

    def _in_groups(self, n_rows: int) -> int:
        """Return about as many rows, but whole groups."""
        return self.group * max(1, n_rows // self.group)

    def list_pairs(self) -> tuple[IndexArray, IndexArray, FloatArray]:
        """Return both samples of each pair of positive weight, and the weights, tile by tile."""
        listed = []
        for tile, log_weight in zip(self.tiles, self.log_weights or repeat(ONE), strict=False):
            pairs = np.broadcast_arrays(*self.samples(tile), np.exp(log_weight))
            counts = pairs[2] > 0
            listed.append([numbers[counts] for numbers in pairs])
        left, right, weights = map(np.concatenate, zip(*listed, strict=True))
        return left, right, weights

    # --- the map ------------------------------------------------------------------------------

    @abstractmethod
    def products(self, factors: Factors) -> Iterator[FloatArray]:
        """Yield ``Σ_f (a_rf - a_cf)(b_rf - b_cf)`` for the pairs (r, c) of each tile.

        Each array may be overwritten.
        """

    def distances(self, metric: FloatArray, factors: Factors | None = None) -> Iterator[FloatArray]:
        """Yield ``δ_p - log w_p`` at a K×K metric, whose factors may be known, tile by tile."""
        products = self.products(factors or Factors.of(self.features @ metric, self.features))
        for product, log_weight in zip(products, self.log_weights or repeat(ONE), strict=False):
            if log_weight is not ONE:
                product -= log_weight
            yield product

    @cached_property
    def log_weights(self) -> PairValues | None:
        """``log w_p`` for the pairs of each tile; None if all weights are 1.

        A tile whose weights are all the same may be an array without dimensions. What distances
        have beside the features is subtracted: for a loss it is the same.
        """
        compute = self.log_weight if self.gram is None else Pairs._less_gram
        if compute is None:
            return None
        return PairValues(partial(compute, self), self.n_pairs <= _MOST_KEPT)

    def _less_gram(self) -> Iterator[FloatArray]:
        assert self.gram is not None
        squares = np.diagonal(self.gram)
        log_weights = repeat(ONE) if self.log_weight is None else self.log_weight(self)
        for tile, log_weight in zip(self.tiles, log_weights, strict=False):
            left, right = self.samples(tile)
            beside = squares[left] + squares[right] - 2 * self.gram[left, right]
            yield log_weight - beside

    # --- its adjoint --------------------------------------------------------------------------

    @abstractmethod
    def scatter(
        self, coefficients: Iterable[FloatArray], degrees: FloatArray | None = None
    ) -> Scatter:
        """Return ``Σ_p c_p d_p d_p'``, the adjoint of the distances.

        To the degrees of samples, if given, it adds their coefficients (see `add_degrees`).
        """

    def laplacian(
        self, coefficients: Iterable[FloatArray], degrees: FloatArray | None = None
    ) -> FloatArray:
        """Return the N×N matrix L with ``X'LX = scatter``: a Laplacian of weights c."""
        n_samples = self.features.shape[0]
        signed, weights = np.zeros(n_samples), np.zeros((n_samples, n_samples))
        for tile, p in zip(self.tiles, coefficients, strict=True):
            self.add_degrees(signed, tile, p)
            self._subtract(weights, tile, p)
        weights += weights.T
        weights.flat[:: n_samples + 1] += signed
        if degrees is not None:
            degrees += signed
        return weights

    @abstractmethod
    def _subtract(self, weights: FloatArray, tile: Tile, p: FloatArray) -> None: ...

    def scatter_diagonal(self, coefficients: Iterable[FloatArray]) -> FloatArray:
        """Return the diagonal of `scatter`, shape (K,)."""
        if is_sparse(self.features):
            return column_forms(self.laplacian(coefficients), self.features)
        every = np.arange(self.features.shape[1])
        return self.scatter(coefficients).entries(every, every)

    # --- what round-off is relative to --------------------------------------------------------

    @property
    @abstractmethod
    def longest_sum(self) -> int:
        """How many numbers an entry of `scatter` adds up one after the other, at most."""

    @abstractmethod
    def add_degrees(self, degrees: FloatArray, tile: Tile, p: FloatArray) -> None:
        """Add the number p of each pair of a tile to the degrees of both of its samples."""

    def squares(self, degrees: FloatArray) -> FloatArray:
        """Return ``Σ_n d_n y_nk²`` for degrees d ≥ 0: what round-off is relative to, shape (K,).

        The sizes y of the samples are on the page "Certificates in floating point".
        """
        # Of sums of sixteen and more roundings relative to X only four are relative to the centre.
        return squared_columns(self.features, degrees, np.abs(self._centre) / 4)
