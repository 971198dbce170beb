"""Pairs of samples: the sums over them that every objective of distances is made of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.samples import (
    Samples,
    by_columns,
    column_forms,
    columns_of,
    is_sparse,
    paired_sums,
    squared_columns,
)
from gdaopt.objectives.pairs.passes import MOST_KEPT, ONE, Factors, PairValues, Tile
from gdaopt.support.deadline import check_time
from gdaopt.support.validation import FloatArray, read_only

Indices = npt.NDArray[np.intp]

LogWeight = Callable[[Tile], FloatArray]
"""Returns the logarithms of the weights of a tile's pairs, or one that all of them have."""

_PART_ENTRIES = 2**18  # 2 MB: what second derivatives are summed from at a time


class Pairs(ABC):
    """Pairs p of samples, each with a difference ``d_p`` of its two samples.

    Numbers of pairs are passed *tile by tile*, as an iterator over arrays, each of the shape that
    `products` yields for that tile. The order of the pairs is always the same.
    """

    features: Any  # X, read-only and centred against cancellation; sparse ones only by columns
    n_pairs: int  # how many numbers all tiles have together
    orders = 1  # in which pairs are met: 2 if rows are samples against all
    group = 1  # rows of a tile that are not separated
    gram: FloatArray | None = None  # what distances of samples have beside the features

    def __init__(
        self,
        features: Samples,
        log_weight: LogWeight | None = None,
        order: Indices | None = None,
    ) -> None:
        self.log_weight = log_weight
        if is_sparse(features):  # differences need no centre
            self.features = by_columns(features if order is None else features[order])
            self._centre = np.zeros(features.shape[1])
            return
        offsets = features - features[0]  # first, so that a constant feature becomes 0 exactly
        self._centre = offsets.mean(axis=0)
        offsets -= self._centre
        offsets = offsets if order is None else offsets[order]
        self.features = read_only(np.ascontiguousarray(offsets))

    def of_features(self, features: Indices, gram: FloatArray) -> Self:
        """Return the same pairs by some of the features, and by a Gram matrix of their samples.

        Distances of pairs (r, c) are larger by ``g_rr + g_cc - 2 g_rc`` than by the features alone.
        """
        pairs = copy(self)
        pairs.features = read_only(np.ascontiguousarray(columns_of(self.features, features)))
        pairs._centre, pairs.gram = self._centre[features], gram
        vars(pairs).pop("log_weights", None)
        return pairs

    @abstractmethod
    def tiles(self) -> Iterator[Tile]:
        """Yield the tiles, as long as there is time."""

    @abstractmethod
    def samples(self, tile: Tile) -> tuple[Indices, Indices]:
        """Return both samples of the pairs of a tile, as arrays that broadcast to its shape."""

    def parts(self, tile: Tile, n_values: int) -> Iterator[tuple[Tile, slice]]:
        """Yield parts of a tile for which n numbers a pair stay in cache, and their rows in it."""
        n_rows, n_columns = tile.shape
        step = self._in_groups(_PART_ENTRIES // (n_values * max(n_columns, 1)))
        for start in range(0, n_rows, step):
            check_time()
            stop = min(start + step, n_rows)
            rows = slice(tile.rows.start + start, tile.rows.start + stop)
            yield Tile(rows, tile.columns), slice(start, stop)

    def _in_groups(self, n_rows: int) -> int:
        """Return about as many rows, but whole groups."""
        return self.group * max(1, n_rows // self.group)

    def chunks(self) -> Sequence[Self]:
        """Return the pairs in chunks, which together have all of them once, in order."""
        return [self]

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
        if self.log_weight is None and self.gram is None:
            return None
        return PairValues(self._log_weights, self.n_pairs <= MOST_KEPT)

    def _log_weights(self) -> Iterator[FloatArray]:
        for tile in self.tiles():
            log_weight = ONE if self.log_weight is None else self.log_weight(tile)
            if self.gram is not None:
                (left, right), squares = self.samples(tile), np.diagonal(self.gram)
                beside = squares[left] + squares[right] - 2 * self.gram[left, right]
                log_weight = log_weight - beside
            yield log_weight

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
        for tile, p in zip(self.tiles(), coefficients, strict=True):
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

    def list_pairs(self) -> tuple[Indices, Indices, FloatArray]:
        """Return both samples of each pair of positive weight, and the weights, tile by tile."""
        tiles = []
        for tile, log_weight in zip(self.tiles(), self.log_weights or repeat(ONE), strict=False):
            pairs = np.broadcast_arrays(*self.samples(tile), np.exp(log_weight))
            counts = pairs[2] > 0
            tiles.append([numbers[counts] for numbers in pairs])
        left, right, weights = map(np.concatenate, zip(*tiles, strict=True))
        return left, right, weights


@dataclass(frozen=True, eq=False)
class Scatter:
    """``Σ_p c_p d_p d_p' = X'Y + Y'X + R``: no K×K matrix is made until it is asked for.

    X are the samples and Y, of the same shape, half of the Laplacian of the coefficients times X. R
    is what has been added up otherwise, None if that is nothing.
    """

    samples: FloatArray
    half: FloatArray
    rest: FloatArray | None = None

    @classmethod
    def of(cls, matrix: FloatArray) -> Scatter:
        """Return a symmetric K×K matrix as a scatter."""
        nothing = np.zeros((0, len(matrix)))
        return cls(nothing, nothing, matrix)

    @cached_property
    def dense(self) -> FloatArray:
        """The K×K matrix, exactly symmetric."""
        if not len(self.samples):
            assert self.rest is not None
            return self.rest
        total: FloatArray = self.samples.T @ self.half
        if self.rest is not None:
            total += self.rest / 2  # BLAS does not round products alike on both sides
        return total + total.T

    @property
    def _is_dense(self) -> bool:
        return "dense" in vars(self) or not len(self.samples)

    def quadratic_forms(self, atoms: Atoms) -> FloatArray:
        """Return ``u_k' G u_k`` for n atoms."""
        if self._is_dense:
            return atoms.quadratic_forms(self.dense)
        samples, half = atoms.projected(self.samples), atoms.projected(self.half)
        forms: FloatArray = 2 * np.einsum("ik,ik->k", samples, half)
        return forms if self.rest is None else forms + atoms.quadratic_forms(self.rest)

    def entries(self, rows: Indices, columns: Indices) -> FloatArray:
        """Return some entries, each in O(N)."""
        if self._is_dense:
            return self.dense[rows, columns]
        if len(columns) and (columns == columns[0]).all():  # products with one column are faster
            of_column = self.samples.T @ self.half[:, columns[0]]
            of_column += self.half.T @ self.samples[:, columns[0]]
            return of_column[rows] + (0.0 if self.rest is None else self.rest[rows, columns])
        entries = paired_sums(self.samples, self.half, (rows, columns))
        entries += paired_sums(self.half, self.samples, (rows, columns))
        return entries if self.rest is None else entries + self.rest[rows, columns]


class Changes(ABC):
    """How the distances of the pairs of a tile change along n directions, φ."""

    @abstractmethod
    def __call__(self, *indices: Any) -> FloatArray:
        """Return φ of pairs at given indices, or of all, n first; it may be overwritten."""

    @abstractmethod
    def row_sums(self, shares: FloatArray) -> FloatArray:
        """Return ``Σ_c s_rc φ_rc`` for a tile of whole rows r, of shape (n, rows)."""


@dataclass(frozen=True, eq=False)
class Rates(Changes):
    """The changes along one direction."""

    rates: FloatArray

    def __call__(self, *indices: Any) -> FloatArray:
        return self.rates[None][(slice(None), *indices)].copy()

    def row_sums(self, shares: FloatArray) -> FloatArray:
        sums: FloatArray = (shares * self.rates).sum(axis=1)[None]
        return sums


@dataclass(frozen=True, eq=False)
class SquaredChanges(Changes):
    """``φ_k = (a_r - a_c)_k²``, less optional means, with coordinates a along n atoms."""

    left: Indices
    right: Indices
    values: FloatArray  # a', atoms × samples
    means: FloatArray | None = None

    def __call__(self, *indices: Any) -> FloatArray:
        left, right = self.left, self.right
        if indices:
            left, right = (each[indices] for each in np.broadcast_arrays(left, right))
        changes = _differences(self.values.take(left, axis=1), self.values.take(right, axis=1))
        changes *= changes
        if self.means is not None:
            changes -= self.means.reshape(-1, *[1] * (changes.ndim - 1))
        return changes

    def row_sums(self, shares: FloatArray) -> FloatArray:
        rows, columns = (self.values.take(side.ravel(), axis=1) for side in (self.left, self.right))
        sums: FloatArray = (columns * columns) @ shares.T
        sums += rows * (rows * shares.sum(axis=1) - 2 * (columns @ shares.T))
        return sums


def _differences(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return ``left - right``, in the memory of `left` if it fits; the first axis are atoms.

    Each column less each row is ``left · 1 + 1 · (-right)``: as a product of matrices it is exact,
    too, and takes half as long.
    """
    if left.shape[2:] != (1,) or right.shape[1] != 1:
        return np.asarray(np.subtract(left, right, out=left if left.shape == right.shape else None))
    columns = np.concatenate([left, np.ones_like(left)], axis=2)
    product: FloatArray = columns @ np.concatenate([np.ones_like(right), -right], axis=1)
    return product
