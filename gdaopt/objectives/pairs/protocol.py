"""The interface of weighted pairs of samples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, Self

import numpy as np
import numpy.typing as npt

from gdaopt.linalg.entries import Edges
from gdaopt.linalg.masked import MaskedMatrix
from gdaopt.objectives.pairs.blocks import Block, Changes
from gdaopt.objectives.pairs.passes import Coefficients, Moments, TransformedSamples
from gdaopt.support.validation import FloatArray

__all__ = ["Pairs", "WeightedPairs"]


class Pairs(Protocol):
    """Pairs p of samples, each with a difference ``d_p`` of its two samples.

    The pairs are split into blocks, so that an array with one number a pair never has to exist as a
    whole. Numbers of pairs come out and go in *block by block*, as an iterator over arrays: one
    array for each block, with the shape that `products` yields for that block. The order of the
    pairs is always the same.
    """

    @property
    def features(self) -> FloatArray:
        """The samples X, shape (N, K), read-only, centred, in an order of their own.

        All arrays with one row a sample that the methods take are in this order, such as those that
        ``Direction.factors`` makes of X.
        """

    @property
    def n_pairs(self) -> int:
        """How many numbers all blocks have together."""

    @property
    def orders(self) -> int:
        """In how many orders pairs are met: 2 where rows are samples against all, else 1."""

    def products(self, left: FloatArray, right: FloatArray) -> Iterator[FloatArray]:
        """Yield ``Σ_f (a_rf - a_cf)(b_rf - b_cf)`` for the pairs (r, c) of each block.

        Parameters
        ----------
        left, right : ndarray of shape (N, F)
            a and b, the factors of a direction on `features`: either F is 1, or ``left @ right.T``
            is symmetric.
        """

    def transformed(self, metric: FloatArray) -> TransformedSamples:
        """Return the samples transformed by a metric, which the passes over all chunks share."""

    def distances(self, samples: TransformedSamples) -> Iterator[FloatArray]:
        """Yield ``δ_p - log w_p`` for the pairs of each block.

        Each array may be overwritten, also by the next.
        """

    def log_weights(self) -> Iterator[FloatArray] | None:
        """Yield ``log w_p`` for the pairs of each block; None where all weights are 1.

        A block whose weights are all the same may be an array without dimensions. A pair of weight
        0 has -inf.
        """

    @property
    def weight_roundings(self) -> float:
        """By how many u a weight can be off, beside the round-off of its logarithm."""

    def moments(self, coefficients: Coefficients, are_magnitudes: bool = False) -> Moments:
        """Return the sum, `scatter` and `squared_sizes` of coefficients, in one pass.

        Parameters
        ----------
        coefficients : callable
            Yields c block by block.
        are_magnitudes : bool, optional
            Whether all c are known to be at least 0.
        """

    def chunks(self) -> Sequence[Self]:
        """Return the pairs in chunks, which together have all of them once, in order."""

    def scatter(self, coefficients: Iterable[FloatArray]) -> FloatArray:
        """Return ``Σ_p c_p d_p d_p'``, shape (K, K), exactly symmetric."""

    def scatter_diagonal(
        self, coefficients: Iterable[FloatArray], coordinates: FloatArray | None = None
    ) -> FloatArray:
        """Return ``Σ_p c_p (a_r - a_c)²``, shape (n,), for p = (r, c).

        Parameters
        ----------
        coefficients : iterable of ndarray
            c, block by block.
        coordinates : ndarray of shape (N, n), optional
            a. When left out, it is `features`, and the result is the diagonal of `scatter`.
        """

    def scatter_column(self, coefficients: Iterable[FloatArray], column: int) -> FloatArray:
        """Return one column of `scatter`, shape (K,)."""

    def scatter_entries(self, coefficients: Iterable[FloatArray], edges: Edges) -> MaskedMatrix:
        """Return the diagonal of `scatter` and its entries (i, j) for the edges i < j."""

    def squared_sizes(self, coefficients: Iterable[FloatArray]) -> FloatArray:
        """Return ``e_k² = Σ_p c_p (y_rk² + y_ck²)`` for each feature k, shape (K,), for c ≥ 0.

        y are the magnitudes of X, plus what centring has rounded. The round-off of entry (k, l) of
        `scatter` is at most ``2 u e_k e_l`` times `scatter_roundings`.
        """

    @property
    def scatter_roundings(self) -> int:
        """The error-growth factor of an entry of `scatter`, with the roundings of centring."""

    def blocks(self) -> Iterator[Block]:
        """Yield which pairs the blocks have."""

    def parts(self, block: Block, n_values: int) -> Iterator[tuple[Block, slice]]:
        """Yield parts of a block, and which rows of its arrays they are.

        A part has rows of the block as a whole. There are so many that ``n_values`` numbers for
        each of its pairs stay in cache.
        """

    def changes(self, block: Block, values: FloatArray) -> Changes:
        """Return ``φ_k = (a_r - a_c)_k²`` for the pairs of a block.

        Parameters
        ----------
        block : Block
            A block, or a part of one.
        values : ndarray of shape (n, N)
            a, with a row for each k.
        """


class WeightedPairs(Pairs, Protocol):
    """Pairs that each have a weight, and that CVXPY expressions can be made of."""

    def merged(self) -> WeightedPairs:
        """Return the pairs of the distinct samples: pairs that coincide add up their weights."""

    def listed(self) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], FloatArray]:
        """Return the two samples of each pair of positive weight, as indices, and the weights."""
