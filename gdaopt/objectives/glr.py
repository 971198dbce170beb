"""The graph Laplacian regulariser, the objective of the paper.

It is a sum of exponentials over pairs of samples ("Definition: graph Laplacian regulariser" in
``docs/theory.md``). What needs the samples comes from `gdaopt.objectives.pairs`, and what needs the
exponentials from `gdaopt.objectives.exponentials`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from gdaopt.linalg.directions import DenseDirection, Direction
from gdaopt.objectives.cluster import Cluster
from gdaopt.objectives.exponentials import ExponentialSum, exponential_sums
from gdaopt.objectives.glr_atom_weights import GLRAtomWeights
from gdaopt.objectives.glr_point import GLRPoint
from gdaopt.objectives.many_pairs import (
    SweptAtomWeights,
    model_size,
    sample_size,
    stratified,
)
from gdaopt.objectives.pairs import (
    MANY_PAIRS,
    Memory,
    PairSums,
    PairValues,
    SignalPairs,
    WeightedPairs,
    distinct_differences,
    expression_bytes,
    squared_distances,
    weighted_pairs,
)
from gdaopt.objectives.protocol import AtomWeights
from gdaopt.objectives.sums import Summable
from gdaopt.support.validation import FloatArray, integer, symmetric_matrix
from gdaopt.support.warning_filters import underflow_ignored
from gdaopt.support.workers import mapped

if TYPE_CHECKING:
    import cvxpy as cp

__all__ = ["GLR"]

_ARRAYS_KEPT = 9  # weights, exponents at a base, those and their exponentials at three points
_SUM_ROUNDINGS = 64  # in a row: NumPy adds up an array of 2^17 numbers in pairs of parts


class GLR(Summable):
    """Graph Laplacian regulariser of a signal on the graph of samples.

    ``Q(M) = Σ_i Σ_j exp(-δ_ij(M)) ‖z_i - z_j‖²`` over **ordered** pairs of samples, with
    ``δ_ij(M) = (x_i - x_j)' M (x_i - x_j)``. The paper also writes ``z'L(M)z``, which is half of Q.
    Q is convex, and so is its logarithm. Small values mean that samples of different signal are far
    apart under M.

    Parameters
    ----------
    X : array-like of shape (N, K)
        Samples × features.
    z : array-like of shape (N,) or (N, m)
        Training signal, such as ±1 for the two classes; several signals add up.
    sample_weight : array-like of shape (N,), optional
        Positive s: the term of each pair is multiplied by ``s_i s_j``. A sample of weight 2 counts
        as two samples that coincide.
    pairs : array-like of int, shape (n, 2), optional
        Sum over these pairs only, in both orders, such as those of near samples where N is large.
        All pairs when left out.
    memory_limit : int, optional
        Bytes that the numbers of all pairs may take. Where they need more, they are recomputed
        block by block in each pass instead of being kept.
    client : distributed.Client, optional
        Of a Dask cluster, whose workers then compute value and gradient, each of a portion of the
        pairs. The samples are sent to them once; of each metric they get K×K numbers and return as
        many. Second derivatives and samples of the samples stay on this machine, and so do copies
        of the objective, since a client cannot be pickled.

    Raises
    ------
    InvalidInputError
        For NaN or infinite values, lengths that differ, fewer than two samples, a signal that is
        the same for all samples or in all pairs, weights that are not positive, pairs that refer to
        samples that X does not have, or values so large or small that their squares leave float64.

    Notes
    -----
    Evaluation takes O(pairs · K + N K²) operations; pairs of equal signal drop out. Source:
    equation 3 of Yang, Cheung, Hu (ICASSP 2020); "Definition: graph Laplacian regulariser" and
    "Lemma: log-convexity of the regulariser" in ``docs/theory.md``.

    Examples
    --------
    >>> glr = GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
    >>> round(glr.value(np.eye(2)), 6)
    3.089561
    >>> np.diagonal(glr.gradient(np.eye(2))).round(6)
    array([-2.943036, -0.5861  ])
    """

    log_convex = True
    tested = True
    n_pairs_meant = 0  # those of another one, if this one tells its second derivatives
    _is_sample = False
    _cluster: Cluster | None = None

    def __init__(
        self,
        X: Any,
        z: Any,
        *,
        sample_weight: Any = None,
        pairs: Any = None,
        memory_limit: int = 2**28,
        client: Any = None,
    ) -> None:
        limit = integer("memory_limit", memory_limit, at_least=1)
        if client is not None:
            Cluster.check(client)
        self._take(weighted_pairs(X, z, sample_weight, pairs), limit)
        if client is not None:
            self._cluster = Cluster(client, self._portions, exponential_sums)

    def _take(self, pairs: WeightedPairs, memory_limit: int) -> None:
        self.pairs = pairs
        self._memory_limit = memory_limit
        self.keeps_pairs = pairs.n_pairs * 8 * _ARRAYS_KEPT <= memory_limit
        self._memory = Memory(pairs.n_pairs, _ARRAYS_KEPT) if self.keeps_pairs else None
        self.log_weights = self.pair_values(pairs.log_weights)

    @property
    def has_many_pairs(self) -> bool:
        """Whether a sample stands for all samples where that is enough."""
        is_many = self._is_sample or self.pairs.n_pairs > MANY_PAIRS
        return is_many and isinstance(self.pairs, SignalPairs)

    @property
    def sweeps(self) -> bool:
        """Whether value and gradient come from one pass over the pairs, which keeps nothing."""
        return self.has_many_pairs or not self.keeps_pairs or self._cluster is not None

    @cached_property
    def _portions(self) -> Sequence[WeightedPairs]:
        return self.pairs.portions()

    def swept(self, metric: FloatArray) -> PairSums:
        """Return the sums of one pass over all pairs at a K×K metric."""
        if self._cluster is not None:
            return self._cluster.swept(metric)
        frame = self.pairs.frame(metric)
        return PairSums.added(
            mapped(lambda portion: exponential_sums(portion, frame), self._portions)
        )

    @cached_property
    def _model(self) -> GLR:
        """The regulariser of so few samples as are enough for second derivatives."""
        model = self._of_samples(model_size(len(self.pairs.features)))
        model.n_pairs_meant = self.pairs.n_pairs
        return model

    def coarser(self) -> GLR | None:
        """Return the regulariser of a sample of the samples; None where there are few enough.

        The sample is stratified by the signal, and its weights stand for the samples left out.
        """
        size = sample_size(len(self.pairs.features)) if self.has_many_pairs else None
        return None if size is None else self._of_samples(size)

    def _of_samples(self, size: int) -> GLR:
        """Return the regulariser of about so many samples of all."""
        pairs = self.pairs
        assert isinstance(pairs, SignalPairs)
        chosen, counts = stratified(pairs.strata, size)
        weights = pairs.sample_weight[chosen] * counts
        sample = object.__new__(GLR)
        sample._take(
            SignalPairs(pairs.features[chosen], pairs.signal[chosen], weights), self._memory_limit
        )
        sample._is_sample = True
        return sample

    @property
    def n_features(self) -> int:
        """K, the size of the metric matrices."""
        return int(self.pairs.features.shape[1])

    @cached_property
    def weight_roundings(self) -> float:
        """By how many u the logarithm of a weight, and of its exponential, can be off."""
        sizes = (np.abs(block[np.isfinite(block)]) for block in self.log_weights)
        return self.pairs.weight_roundings + 8 * max(float(s.max(initial=0.0)) for s in sizes) + 8

    @cached_property
    def sum_roundings(self) -> int:
        """How many roundings in a row a sum over all pairs takes: within blocks, and of blocks."""
        return _SUM_ROUNDINGS + sum(1 for _ in self.log_weights)

    def pair_values(self, compute: Callable[[], Iterator[FloatArray]]) -> PairValues:
        """Return numbers of all pairs, which are kept where memory allows it."""
        return PairValues(compute, self._memory)

    def summed(self, exponents: PairValues) -> ExponentialSum:
        """Return the sum ``Σ exp(e)`` over all pairs."""
        return ExponentialSum(exponents, self.pair_values)

    def at(self, metric: FloatArray) -> GLRPoint:
        """Return the point at a symmetric K×K matrix; everything else is evaluated from it."""
        return GLRPoint(self, symmetric_matrix("metric", metric, self.n_features))

    def atom_weights(self, base: FloatArray, log: bool = False) -> AtomWeights:
        """Return Q or log Q as a function of the weights of atoms, around a K×K base."""
        if not self.has_many_pairs:
            return GLRAtomWeights(self, GLRPoint(self, base), log)
        model = GLRAtomWeights(self._model, GLRPoint(self._model, base), log)
        return SweptAtomWeights(self, base, log, model)

    @underflow_ignored()
    def value(self, metric: FloatArray) -> float:
        """Return ``Q(M)``."""
        return self.at(metric).value

    @underflow_ignored()
    def gradient(self, metric: FloatArray) -> FloatArray:
        """Return ``∇Q(M) = -Σ_ij exp(-δ_ij) ‖z_i - z_j‖² d_ij d_ij'``, shape (K, K)."""
        return self.at(metric).gradient()

    @underflow_ignored()
    def log_value(self, metric: FloatArray) -> float:
        """Return ``log Q(M)``, finite also where ``Q(M)`` underflows to 0."""
        return self.at(metric).log_value

    @underflow_ignored()
    def log_gradient(self, metric: FloatArray) -> FloatArray:
        """Return ``∇ log Q(M)``, shape (K, K): a softmax over pairs, safe from underflow."""
        return self.at(metric).log_gradient()

    def hessian_product(self, metric: FloatArray, direction: Direction | FloatArray) -> FloatArray:
        """Return ``∇²Q(M)[D]``, shape (K, K), for a direction or a symmetric matrix D."""
        if isinstance(direction, np.ndarray):
            direction = DenseDirection(symmetric_matrix("direction", direction, self.n_features))
        return self.at(metric).hessian_product(direction)

    def lipschitz(self, min_eigenvalue: float) -> float:
        """Return ``L = Σ_ij ‖z_i - z_j‖² exp(-ρ‖d_ij‖²) ‖d_ij‖⁴``.

        L is a Lipschitz constant of the gradient over all ``M ⪰ ρI`` (see "Lemma: Lipschitz
        constant of the regulariser" in ``docs/theory.md``).

        Examples
        --------
        >>> round(GLR([[0.0], [1.0]], [1, -1]).lipschitz(0.0), 12)
        8.0
        """
        factors = DenseDirection(np.eye(self.n_features)).factors(self.pairs.features)
        squares = self.pairs.products(*factors)
        return sum(
            float((np.exp(log_weight - min_eigenvalue * square) * square**2).sum())
            for square, log_weight in zip(squares, self.log_weights, strict=True)
        )

    def to_cvxpy(
        self, metric: cp.Expression, log: bool = False
    ) -> tuple[cp.Expression, list[cp.Constraint]]:
        """Return Q or log Q for CVXPY: one exponential cone for each pair of different signal."""
        import cvxpy as cp  # on demand: importing gdaopt loads no solver

        features, left, right, weights = distinct_differences(self.pairs)
        distances, constraints = squared_distances(features, left, right, metric)
        exponents = np.log(weights) - distances
        return cp.log_sum_exp(exponents) if log else cp.sum(cp.exp(exponents)), constraints

    def conic_bytes(self) -> float:
        """Return an estimate of the memory of the expression, CVXPY's own copies of it included."""
        return expression_bytes(self.pairs)
