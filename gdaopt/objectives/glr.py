"""The graph Laplacian regulariser, the objective of the paper: a sum of exponentials over pairs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np

from gdaopt.errors import InvalidInputError
from gdaopt.linalg.entries import IndexArray
from gdaopt.linalg.samples import Samples, as_samples
from gdaopt.objectives.pair_loss import DistanceLoss, LossValues, weighted_curvature
from gdaopt.objectives.pair_objective import PairObjective, draw_stratified
from gdaopt.objectives.pairs.expressions import distinct_differences, squared_distances
from gdaopt.objectives.pairs.listed_pairs import ListedPairs
from gdaopt.objectives.pairs.pairs import Pairs, Tile
from gdaopt.objectives.pairs.reading import (
    LARGEST_SPREAD,
    check_spread,
    read_pairs,
    read_weights,
)
from gdaopt.objectives.pairs.signal_pairs import SignalWeights, signal_pairs
from gdaopt.objectives.protocol import Expression, Terms
from gdaopt.support.cvxpy_loading import cp
from gdaopt.support.validation import FloatArray, finite_array

_LARGEST_WEIGHT = 1e100  # and its inverse is the smallest
_NEGLIGIBLE = 1e-20  # relative to the largest term: 1e8 such pairs are below round-off


def _draw(
    pairs: Pairs, loss: Exponentials, n_samples: int
) -> tuple[Pairs, Exponentials, IndexArray]:
    """Return the pairs and the loss of about `n_samples` samples, stratified by the signal."""
    of_all = cast(SignalWeights, pairs.log_weight)
    chosen, counts = draw_stratified(of_all.strata, n_samples)
    weights = np.exp(of_all.log_sample_weight[chosen]) * counts
    return signal_pairs(pairs.features[chosen], of_all.signal[chosen], weights), loss, chosen


def _listed(features: Samples, signal: FloatArray, weights: FloatArray, pairs: Any) -> ListedPairs:
    """Return those of some pairs whose samples differ in the signal; refuse if none does."""
    left, right = read_pairs(pairs, len(signal)).T
    # Signal by signal: the differences of all at once would take n·m numbers.
    squares = sum(((z[left] - z[right]) ** 2 for z in signal.T), start=np.zeros(len(left)))
    squares *= weights[left] * weights[right]
    listed = ListedPairs(features, left, right, 2 * squares)
    if not listed.n_pairs:
        raise InvalidInputError("pairs holds no two samples with different signals")
    return listed


@dataclass(eq=False)
class Exponentials(DistanceLoss):
    """``Σ_p w_p exp(-δ_p)``, given ``δ_p - log w_p``."""

    sign = -1.0
    is_exponential = True

    constant: float

    def at(self, _tile: Tile, distances: FloatArray) -> LossValues:
        out = distances if distances.flags.writeable else None
        terms = np.negative(distances, out=out)
        np.exp(terms, out=terms)
        curvature = partial(weighted_curvature, terms, negligible=_NEGLIGIBLE)
        return LossValues(float(terms.sum()), lambda: terms, curvature)


class GLR(PairObjective[Exponentials]):
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
        Sum over these pairs only, in both orders, such as those of near samples if N is large.
        All pairs when left out.

    Raises
    ------
    InvalidInputError
        For NaN or infinite values, lengths that differ, a signal that is the same for all samples
        or in all pairs, or values so large or small that their squares leave float64.

    Notes
    -----
    Evaluation takes O(pairs · K + N K²) operations; pairs of equal signal drop out. Source:
    equation 3 of Yang, Cheung, Hu (ICASSP 2020).

    Examples
    --------
    >>> glr = GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
    >>> round(glr.value(np.eye(2)), 6)
    3.089561
    """

    tested = True

    def __init__(self, X: Any, z: Any, *, sample_weight: Any = None, pairs: Any = None) -> None:
        features = as_samples(X)
        signal = finite_array("z", z, ndim=(1, 2), is_data=True)
        if features.shape[0] != len(signal):
            raise InvalidInputError(
                f"X has {features.shape[0]} samples and z has {len(signal)}; they must be as many"
            )
        if features.shape[0] < 2:
            raise InvalidInputError("X has 1 sample; pairs need at least 2")
        signal = signal.reshape(len(signal), -1)
        if (signal == signal[0]).all():
            raise InvalidInputError(
                f"z is {signal[0].squeeze().tolist()} for all {len(signal)} samples; "
                "the signal must take at least two values"
            )
        check_spread("X", features, least=0.0)
        check_spread("z", signal, least=1 / LARGEST_SPREAD)
        weights = read_weights(sample_weight, len(signal))
        if not (weights.max() <= _LARGEST_WEIGHT and weights.min() >= 1 / _LARGEST_WEIGHT):
            raise InvalidInputError(
                f"sample_weight goes from {weights.min():.2g} to {weights.max():.2g}, and products "
                "of two weights leave floating point; pass weights of about 1"
            )
        differing: Pairs
        if pairs is None:
            differing = signal_pairs(features, signal, weights)
            # A logarithm of a weight is a sum, whose terms can be larger.
            most = 2 * float(np.abs(np.log(weights)).max())
        else:
            differing, most = _listed(features, signal, weights, pairs), 0.0
        # A weight is a sum over signals, and the largest of P exponents is above their mean by the
        # logarithm of P at most.
        loss = Exponentials(signal.shape[1] + math.log(differing.n_pairs) + most)
        super().__init__(differing, loss, draw=_draw if pairs is None else None)

    @np.errstate(under="ignore")
    def log_value(self, metric: FloatArray) -> float:
        """Return ``log Q(M)``, finite also if ``Q(M)`` underflows to 0."""
        return self.at(metric).logarithm().value

    def lipschitz(self, min_eigenvalue: float) -> float:
        """Return L by "Lemma: Lipschitz constant of the regulariser" in ``docs/theory``."""
        log_weights = self.pairs.log_weights
        assert log_weights is not None
        return sum(
            float((np.exp(log_weight - min_eigenvalue * square) * square**2).sum())
            for square, log_weight in zip(self.squares(), log_weights, strict=True)
        )

    def to_cvxpy(self, metric: Expression) -> Terms:
        """Return Q for CVXPY: one exponential cone for each pair of different signal."""
        exponents, constraints = self._exponents(metric)
        return cp.sum(cp.exp(exponents)), constraints

    def log_to_cvxpy(self, metric: Expression) -> Terms:
        exponents, constraints = self._exponents(metric)
        return cp.log_sum_exp(exponents), constraints

    def _exponents(self, metric: Expression) -> Terms:
        left, right, weights = distinct_differences(self.pairs)
        distances, constraints = squared_distances(self.pairs.features, left, right, metric)
        return np.log(weights) - distances, constraints
