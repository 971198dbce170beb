"""Weighted pairs of samples from a list.

Where each sample is paired with a few others only, such as its neighbours, the pairs form no
rectangles (see `gdaopt.objectives.pairs.signal_pairs`). Their differences are written out, for one
run of pairs at a time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from gdaopt.linalg.entries import Edges
from gdaopt.linalg.masked import MaskedMatrix, paired_sums
from gdaopt.objectives.pairs.blocks import Block, KnownChanges
from gdaopt.objectives.pairs.passes import Coefficients, Moments, TransformedSamples, less
from gdaopt.support.deadline import check_time
from gdaopt.support.validation import FloatArray, read_only

__all__ = ["ListedPairs"]

_BLOCK_ENTRIES = 2**17  # 1 MB: the differences of a run of pairs stay in cache
_MOMENT_ENTRIES = 2**18  # 2 MB: what second derivatives are summed from at a time


class ListedPairs:
    """Pairs of samples with a weight each: a `WeightedPairs`. Those of weight 0 drop out.

    The blocks are runs of the list; the numbers of a block are an array of one dimension.

    Parameters
    ----------
    features : ndarray of shape (N, K)
        Samples.
    left, right : ndarray of int, shape (n,)
        The two samples of each pair; a pair that is listed twice counts twice.
    weights : ndarray of shape (n,), optional
        Non-negative; all 1 when left out.
    weight_roundings : int, optional
        By how many u a weight can be off.
    group : int, optional
        So many pairs of positive weight, one after the other, are always in one block.

    Attributes
    ----------
    features : ndarray of shape (N, K)
        The samples, centred, in the order in which they were given.
    n_pairs : int
        Number of pairs of positive weight.

    Examples
    --------
    >>> X, z = np.array([[0.0], [1.0], [3.0]]), np.array([[1.0], [-1.0], [1.0]])
    >>> pairs = ListedPairs.of_signal(X, z, np.ones(3), np.array([[0, 1], [0, 2], [1, 2]]))
    >>> [distances.tolist() for distances in pairs.products(X, X)]
    [[1.0, 4.0]]
    """

    def __init__(
        self,
        features: FloatArray,
        left: npt.NDArray[np.intp],
        right: npt.NDArray[np.intp],
        weights: FloatArray | None = None,
        weight_roundings: int = 0,
        group: int = 1,
    ) -> None:
        offsets = features - features[0]  # first, so that a constant feature becomes 0 exactly
        centre = offsets.mean(axis=0)
        self.features = read_only(offsets - centre)
        self._squares = (np.abs(self.features) + np.abs(centre) / 4) ** 2  # see `SignalPairs`
        counts = slice(None) if weights is None else np.flatnonzero(weights > 0)
        self._left, self._right = left[counts], right[counts]
        self._weights = None if weights is None else weights[counts]
        self.n_pairs = len(self._left)
        self.weight_roundings = weight_roundings
        self._group = group
        self.orders = 1

    @classmethod
    def of_signal(
        cls,
        features: FloatArray,
        signal: FloatArray,
        sample_weight: FloatArray,
        pairs: npt.NDArray[np.intp],
    ) -> ListedPairs:
        """Return pairs with the weights ``2 s_i s_j Σ_m (z_im - z_jm)²``, as in `SignalPairs`.

        Parameters
        ----------
        features : ndarray of shape (N, K)
            Samples.
        signal : ndarray of shape (N, m)
            z.
        sample_weight : ndarray of shape (N,)
            s, positive.
        pairs : ndarray of int, shape (n, 2)
            The samples of each pair.
        """
        left, right = pairs[:, 0], pairs[:, 1]
        # Signal by signal: the differences of all at once would take n·m numbers.
        squares = sum(((z[left] - z[right]) ** 2 for z in signal.T), start=np.zeros(len(pairs)))
        weights = 2 * sample_weight[left] * sample_weight[right] * squares
        return cls(features, left, right, weights, signal.shape[1] + 8)

    def products(self, left: FloatArray, right: FloatArray) -> Iterator[FloatArray]:
        """Yield ``Σ_f (a_rf - a_cf)(b_rf - b_cf)`` for each run of pairs (see `Pairs`)."""
        for pairs in self._runs():
            yield np.einsum(
                "pf,pf->p", self._differences(left, pairs), self._differences(right, pairs)
            )

    def log_weights(self) -> Iterator[FloatArray] | None:
        """Yield the logarithms of the weights of each run; None where all are 1."""
        weights = self._weights
        return None if weights is None else (np.log(weights[pairs]) for pairs in self._runs())

    def transformed(self, metric: FloatArray) -> TransformedSamples:
        """Return what passes at a metric share (see `Pairs`)."""
        return TransformedSamples.of(self.features, metric)

    def distances(self, samples: TransformedSamples) -> Iterator[FloatArray]:
        """Yield the squared distances of each run, less the logarithms of the weights."""
        distances = self.products(self.features @ samples.metric, self.features)
        log_weights = self.log_weights()
        return distances if log_weights is None else less(distances, log_weights)

    def moments(self, coefficients: Coefficients, are_magnitudes: bool = False) -> Moments:
        """Return the sum, `scatter` and `squared_sizes` of coefficients, in one pass."""
        size = self.features.shape[1]
        total, scatter, degrees = 0.0, np.zeros((size, size)), np.zeros(len(self.features))
        for pairs, p in zip(self._runs(), coefficients(), strict=True):
            differences = self._differences(self.features, pairs)
            total += float(p.sum())
            scatter += differences.T @ (p[:, None] * differences)
            magnitudes = p if are_magnitudes else np.abs(p)
            np.add.at(degrees, self._left[pairs], magnitudes)
            np.add.at(degrees, self._right[pairs], magnitudes)
        return Moments(total, (scatter + scatter.T) / 2, degrees @ self._squares)

    def chunks(self) -> list[ListedPairs]:
        """Return all pairs as one chunk."""
        return [self]

    def scatter(self, coefficients: Iterable[FloatArray]) -> FloatArray:
        """Return ``Σ p_rc (x_r - x_c)(x_r - x_c)'`` over all pairs, shape (K, K)."""
        size = self.features.shape[1]
        total = np.zeros((size, size))
        for pairs, p in zip(self._runs(), coefficients, strict=True):
            differences = self._differences(self.features, pairs)
            total += differences.T @ (p[:, None] * differences)
        symmetric: FloatArray = (total + total.T) / 2  # to the last bit
        return symmetric

    def scatter_entries(self, coefficients: Iterable[FloatArray], edges: Edges) -> MaskedMatrix:
        """Return the diagonal and some entries of `scatter`, in O(pairs (K + n)) for n of them."""
        diagonal, entries = np.zeros(self.features.shape[1]), np.zeros(len(edges[0]))
        for pairs, p in zip(self._runs(), coefficients, strict=True):
            differences = self._differences(self.features, pairs)
            weighted = p[:, None] * differences
            diagonal += np.einsum("pk,pk->k", differences, weighted)
            entries += paired_sums(differences, weighted, edges)
        return MaskedMatrix(diagonal, entries, edges)

    def squared_sizes(self, coefficients: Iterable[FloatArray]) -> FloatArray:
        """Return what the round-off of `scatter` is relative to (see `Pairs`)."""
        degrees = np.zeros(len(self.features))
        for pairs, p in zip(self._runs(), coefficients, strict=True):
            np.add.at(degrees, self._left[pairs], p)
            np.add.at(degrees, self._right[pairs], p)
        sizes: FloatArray = degrees @ self._squares
        return sizes

    @property
    def scatter_roundings(self) -> int:
        """The error-growth factor of an entry of `scatter`: sums over runs, and of runs."""
        step = self._run_length
        return min(step, self.n_pairs) + math.ceil(self.n_pairs / step) + 16

    def scatter_diagonal(
        self, coefficients: Iterable[FloatArray], coordinates: FloatArray | None = None
    ) -> FloatArray:
        """Return ``Σ p_rc (a_r - a_c)²``, shape (n,): the diagonal of `scatter` if a is X."""
        values = self.features if coordinates is None else coordinates
        diagonal = np.zeros(values.shape[1])
        for pairs, p in zip(self._runs(), coefficients, strict=True):
            diagonal += p @ self._differences(values, pairs) ** 2
        return diagonal

    def scatter_column(self, coefficients: Iterable[FloatArray], column: int) -> FloatArray:
        """Return one column of `scatter`, shape (K,)."""
        result = np.zeros(self.features.shape[1])
        for pairs, p in zip(self._runs(), coefficients, strict=True):
            differences = self._differences(self.features, pairs)
            result += (p * differences[:, column]) @ differences
        return result

    def merged(self) -> ListedPairs:
        """Return the pairs of the distinct samples."""
        distinct, group = np.unique(self.features, axis=0, return_inverse=True)
        group = group.ravel()
        left, right = group[self._left], group[self._right]
        return ListedPairs(distinct, left, right, self._weights, self.weight_roundings)

    def listed(self) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], FloatArray]:
        """Return the indices of both samples of each pair, and the weights."""
        weights = np.ones(self.n_pairs) if self._weights is None else self._weights
        return self._left, self._right, weights

    def blocks(self) -> Iterator[Block]:
        """Yield the runs."""
        for pairs in self._runs():
            yield Block(slice(pairs.start, min(pairs.stop, self.n_pairs)))

    def parts(self, block: Block, n_values: int) -> Iterator[tuple[Block, slice]]:
        """Yield shorter runs of a block (see `Pairs`)."""
        first, last = block.rows.start, block.rows.stop
        step = self._in_groups(_MOMENT_ENTRIES // n_values)
        for start in range(0, last - first, step):
            check_time()
            stop = min(first + start + step, last)
            yield Block(slice(first + start, stop)), slice(start, start + step)

    def changes(self, block: Block, values: FloatArray) -> KnownChanges:
        """Return ``(a_r - a_c)²`` for the pairs of a block (see `Pairs`)."""
        differences = values[:, self._left[block.rows]] - values[:, self._right[block.rows]]
        differences *= differences
        return KnownChanges(differences)

    @property
    def _run_length(self) -> int:
        return self._in_groups(_BLOCK_ENTRIES // int(self.features.shape[1]))

    def _in_groups(self, length: int) -> int:
        """Return about the length of a run, but whole groups."""
        return self._group * max(1, length // self._group)

    def _runs(self) -> Iterator[slice]:
        step = self._run_length
        for start in range(0, self.n_pairs, step):
            check_time()
            yield slice(start, start + step)

    def _differences(self, values: FloatArray, pairs: slice) -> FloatArray:
        differences: FloatArray = values[self._left[pairs]] - values[self._right[pairs]]
        return differences
