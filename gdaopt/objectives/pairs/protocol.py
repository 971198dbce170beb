"""The interface of weighted pairs of samples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, Self

import numpy as np
import numpy.typing as npt

from gdaopt.linalg.entries import Edges
from gdaopt.linalg.known_entries import KnownEntries
from gdaopt.objectives.pairs.blocks import Block, Changes
from gdaopt.objectives.pairs.sweeps import Coefficients, Frame, Moments
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

    def products(self, left: FloatArray, right: FloatArray) -> Iterator[FloatArray]:
        """Yield ``Σ_f (a_rf - a_cf)(b_rf - b_cf)`` for the pairs (r, c) of each block.

        Parameters
        ----------
        left, right : ndarray of shape (N, F)
            a and b, the factors of a direction on `features`: either F is 1, or ``left @ right.T``
            is symmetric.
        """

    def frame(self, metric: FloatArray) -> Frame:
        """Return what the sweeps of all portions at a metric share."""

    def distances(self, frame: Frame) -> Iterator[FloatArray]:
        """Yield the squared distances of each block; each array may be overwritten by the next."""

    def moments(self, coefficients: Coefficients) -> Moments:
        """Return the sum, `scatter` and `squared_sizes` of coefficients, in one pass."""

    def portions(self) -> Sequence[Self]:
        """Return the pairs in portions, which together have all of them once, in order."""

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

    def scatter_entries(self, coefficients: Iterable[FloatArray], edges: Edges) -> KnownEntries:
        """Return the diagonal of `scatter` and its entries (i, j) for the edges i < j."""

    def squared_sizes(self, coefficients: Iterable[FloatArray]) -> FloatArray:
        """Return ``e_k² = Σ_p c_p (y_rk² + y_ck²)`` for each feature k, shape (K,), for c ≥ 0.

        y are the magnitudes of X, plus what centring has rounded. The round-off of entry (k, l) of
        `scatter` is at most ``2 u e_k e_l`` times `scatter_roundings`.
        """

    @property
    def scatter_roundings(self) -> int:
        """How many roundings in a row an entry of `scatter` takes, those of centring included."""

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
    """Pairs p of samples, each with a weight ``w_p``.

    Notes
    -----
    An objective ``Q(M) = Σ_p w_p f(δ_p)`` of the squared distances ``δ_p = d_p' M d_p`` is written
    on this interface as follows. The distances at M, and their change along a direction D, are::

        products(*DenseDirection(M).factors(features))
        products(*D.factors(features))

    With the coefficients ``c_p = w_p f'(δ_p)`` the gradient is ``scatter(c)``, and the slope along
    D is the inner product of c with the change of the distances. For atoms ``u_k`` with weights
    (see `gdaopt.objectives.AtomWeights`) the derivatives are ``scatter_diagonal(c, X U)``, and the
    Hessian ``Σ_p w_p f''(δ_p) (u_k'd_p)² (u_l'd_p)²`` is a `covariance` about means of 0.

    The coefficients need not be a function of one distance each. Where f mixes several pairs (a
    softmax over the pairs of each sample, a hinge over triplets), `listed` says which samples a
    number belongs to: it names the pairs in the order of the blocks, each block row by row, without
    pairs of weight 0.

    Examples
    --------
    A logistic loss on pairs that must be far apart, its value and its gradient:

    >>> from gdaopt.linalg.directions import DenseDirection
    >>> from gdaopt.objectives.pairs import weighted_pairs
    >>> from scipy.special import expit
    >>> pairs = weighted_pairs([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
    >>> weights = [np.exp(logarithms) for logarithms in pairs.log_weights()]
    >>> factors = DenseDirection(np.eye(2)).factors(pairs.features)
    >>> distances = list(pairs.products(*factors))
    >>> losses = [w * np.logaddexp(0, -d) for w, d in zip(weights, distances)]
    >>> round(sum(float(block.sum()) for block in losses), 6)
    2.651293
    >>> pairs.scatter(-w * expit(-d) for w, d in zip(weights, distances)).round(6) + 0.0
    array([[-2.151531,  0.      ],
           [ 0.      , -0.575559]])
    """

    def log_weights(self) -> Iterator[FloatArray]:
        """Yield ``log w_p`` for the pairs of each block.

        A block whose weights are all the same may be an array without dimensions. A pair of weight
        0 has -inf.
        """

    def exponents(self, frame: Frame, shift: float) -> Iterator[FloatArray]:
        """Yield ``log w_p - δ_p - shift``; each array may be overwritten, also by the next."""

    @property
    def weight_roundings(self) -> float:
        """By how many u a weight can be off, beside the round-off of its logarithm."""

    def covariance(
        self, coefficients: Iterable[FloatArray], coordinates: FloatArray, means: FloatArray
    ) -> FloatArray:
        """Return ``Σ_p c_p (φ_k - m_k)(φ_l - m_l)`` with ``φ_k = (a_r - a_c)_k²``, shape (n, n).

        Parameters
        ----------
        coefficients : iterable of ndarray
            c ≥ 0, block by block, of which the largest is about 1: a pair whose coefficient is
            below 1e-20 may be left out.
        coordinates : ndarray of shape (N, n)
            a.
        means : ndarray of shape (n,)
            m.
        """

    def merged(self) -> WeightedPairs:
        """Return the pairs of the distinct samples: pairs that coincide add up their weights."""

    def listed(self) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], FloatArray]:
        """Return the two samples of each pair of positive weight, as indices, and the weights."""
