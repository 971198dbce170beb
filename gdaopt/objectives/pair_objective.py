"""Objectives that are a loss of the squared distances of pairs of samples, and their points."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from functools import cached_property, partial
from typing import Any, Generic, Self, TypeVar

import numpy as np
from scipy.sparse import csr_array, issparse

from gdaopt.errors import InvalidInputError
from gdaopt.linalg.entries import IndexArray
from gdaopt.linalg.magnitudes import magnitude_form
from gdaopt.linalg.samples import is_sparse
from gdaopt.objectives.base import Objective
from gdaopt.objectives.cluster import Cluster
from gdaopt.objectives.pair_loss import DistanceLoss
from gdaopt.objectives.pair_point import PairPoint, SparsePoint
from gdaopt.objectives.pair_sums import PairSums, add_sums, chunk_sums, pair_sums
from gdaopt.objectives.pairs.expressions import expression_bytes
from gdaopt.objectives.pairs.pairs import MANY_PAIRS, Factors, Pairs, PairValues
from gdaopt.objectives.pairs.scatter import Scatter
from gdaopt.objectives.protocol import Point
from gdaopt.objectives.round_off import UNIT, RoundOff
from gdaopt.support.resources import check_fits, mapped
from gdaopt.support.validation import FloatArray, symmetric_matrix, symmetric_sparse

MOST_DENSE = 1000
"""With more features, and more than samples, no K×K matrix is made unless it is asked for."""

_GRAM_MATRICES = 6  # arrays of N×N numbers beside each other, about
_ARRAYS_KEPT = 7  # distances at four points, coefficients at two, rates of a line
_ROUNDINGS = 200  # in a value, for few features and one tile of pairs
_SLOPE_ROUNDINGS = 64  # in a derivative, but for sums over samples
_SMALLEST_NUMBER = 2.0**-1074  # below 1e-308, numbers are rounded to multiples of it
_CURVATURE_SAMPLES = 512, 2048  # in the subsample for second derivatives, at least and at most
_CURVATURE_SHARE = 1 / 8  # the share of all samples, in between
_SMALLEST = 1000  # samples; each next size is four times the last
_GROWTH = 4  # a subsample is at least that many times smaller than the samples it represents
_LEAST = 2  # samples of each class

LossT = TypeVar("LossT", bound=DistanceLoss, covariant=True)

Draw = Callable[[Any, Any, int], tuple[Pairs, DistanceLoss, IndexArray]]
"""Returns the pairs and the loss of about n samples, given the pairs and the loss of all, and n.

With them come the indices of the samples, in the order of the new pairs.
"""


class PairObjective(Objective, Generic[LossT]):
    """``Q(M) = f(δ(M))`` with a loss f of the squared distances of pairs of samples.

    A subclass makes the pairs and the loss in its ``__init__``, and writes `to_cvxpy` for the conic
    methods ("Definition: losses of distances").

    Parameters
    ----------
    pairs : Pairs
        The pairs whose distances the loss sees.
    loss : DistanceLoss
        f.
    draw : callable, optional
        Draws about n samples that represent all. Without it, all pairs are always evaluated.
    n_represented : int, optional
        The number of pairs of the full objective, if these pairs are a subsample of them.

    Attributes
    ----------
    has_many_features : bool
        Whether there are too many features for K×K arrays, or sparse samples.
    memory_limit : int
        Of the class: bytes that the numbers of all pairs of an objective may take. If they need
        more, they are recomputed tile by tile in each pass instead of being kept.
    """

    memory_limit = 2**28

    def __init__(
        self, pairs: Pairs, loss: LossT, *, draw: Draw | None = None, n_represented: int = 0
    ) -> None:
        self.pairs = pairs
        self.loss = loss
        self.n_samples, self.n_features = pairs.features.shape
        self.is_sparse = is_sparse(pairs.features)
        self.has_many_features = self.is_sparse or self.n_features > max(MOST_DENSE, self.n_samples)
        self.log_convex = loss.is_exponential
        self.convex = loss.convex
        self.n_represented = n_represented
        self._draw = draw
        # So many pairs that second derivatives come from a subsample.
        self.has_many_pairs = bool(n_represented) or pairs.n_pairs > MANY_PAIRS
        # If the loss is not convex, those of a subsample may have another sign.
        self.estimates_curvature = self.has_many_pairs and loss.convex and draw is not None
        self.keeps_pairs = pairs.n_pairs * 8 * _ARRAYS_KEPT <= self.memory_limit
        # Value and gradient at a metric come from one pass, which keeps nothing.
        self.is_single_pass = self.has_many_pairs or not self.keeps_pairs
        self._cluster: Cluster | None = None

    def _counts(self) -> dict[str, int]:
        n_samples, n_features = self.pairs.features.shape
        return {"samples": n_samples, "distances": self.pairs.n_pairs, "features": n_features}

    def distributed(self, client: Any) -> Self:
        """Return the same objective; other machines compute its value and gradient.

        The samples are sent to the workers of a Dask cluster once, and to other executors with each
        chunk of the pairs. This machine computes second derivatives, and every result of a copy,
        because a client cannot be pickled.

        Parameters
        ----------
        client : distributed.Client or concurrent.futures.Executor
            Its workers have gdaopt.
        """
        objective = copy(self)
        objective._cluster = Cluster(client, self.loss, self._chunks)
        objective.is_single_pass, objective.has_many_features = True, False
        return objective

    def of_features(self, features: IndexArray, gram: FloatArray) -> PairObjective[DistanceLoss]:
        """Return the same loss of distances by some of the features, and by a Gram matrix."""
        return PairObjective(self.pairs.of_features(features, gram), self.loss, draw=self._draw)

    def at_gram(self, gram: FloatArray) -> tuple[PairSums, FloatArray]:
        """Return sums at the Gram matrix ``X M X'`` of the samples, and the N×N gradient by it."""
        what = f"the Gram matrix of {self.n_samples} samples"
        check_fits(8.0 * _GRAM_MATRICES * self.n_samples**2, what, "take fewer samples")
        pairs = self.pairs.of_features(np.zeros(0, dtype=np.intp), gram)
        distances = PairValues(lambda: pairs.distances(np.zeros((0, 0))), self.keeps_pairs)

        def laplacian(p: Iterable[FloatArray], degrees: FloatArray | None) -> Scatter:
            return Scatter.of(pairs.laplacian(p, degrees))

        sums = pair_sums(self.loss, pairs, distances, laplacian)
        return sums, self.loss.sign * sums.scale * sums.scatter.dense

    @np.errstate(over="ignore", invalid="ignore")
    def round_off(self, sums: PairSums, metric: FloatArray | csr_array) -> RoundOff:
        """Return how exact value and gradient are ("Lemma: round-off of sums over pairs").

        The metric is an array or sparse.
        """
        weight, squares = float(sums.degrees.sum()) / 2, self.pairs.squares(sums.degrees)
        cancelled = np.zeros_like(squares)
        if self.loss.cancelled is not None:
            weight += float(self.loss.cancelled.sum()) / 2
            cancelled = self.pairs.squares(self.loss.cancelled)
        of_terms = abs(sums.scaled) + self.constant * weight
        of_terms += magnitude_form(metric, np.sqrt(squares + cancelled))
        factor = _ROUNDINGS + 6 * self.n_features + 4 * len(self.pairs.tiles)
        of_slopes = _SLOPE_ROUNDINGS + 2 * self.pairs.longest_sum
        unit = UNIT * sums.scale + _SMALLEST_NUMBER
        return RoundOff(
            factor * unit * of_terms,
            np.sqrt(unit * (of_slopes * squares + _ROUNDINGS * cancelled)),
        )

    def at(self, metric: Any) -> Point:
        """Return the point at a symmetric K×K matrix, an array or sparse.

        At a sparse one, or of sparse samples, it has a value and a gradient alone.
        """
        if issparse(metric):
            return SparsePoint(self, symmetric_sparse("metric", metric, self.n_features))
        metric = symmetric_matrix("metric", metric, self.n_features)
        if issparse(self.pairs.features):
            return SparsePoint(self, csr_array(metric))
        return PairPoint(self, metric)

    def conic_bytes(self) -> float:
        return expression_bytes(self.pairs)

    def squares(self) -> PairValues:
        """Return ``‖d_p‖²`` of all pairs."""
        features = self.pairs.features
        if self.is_sparse:
            factors = Factors.of((features @ features.T).toarray(), np.eye(self.n_samples))
        else:
            factors = Factors.of(features, features)
        return PairValues(partial(self.pairs.products, factors), is_kept=False)

    def subsample(self) -> PairObjective[DistanceLoss] | None:
        """Return the objective of a subsample; None if samples are few, or without `draw`."""
        n_samples = self.pairs.features.shape[0]
        if not self.has_many_pairs or n_samples < _GROWTH * _SMALLEST:
            return None
        size = _SMALLEST
        while _GROWTH**2 * size <= n_samples:
            size *= _GROWTH
        return self._sample(size)

    @cached_property
    def curvature_sample(self) -> PairObjective[DistanceLoss] | None:
        """The objective of a subsample for second derivatives; None if these are of all."""
        if not self.estimates_curvature:
            return None
        least, most = _CURVATURE_SAMPLES
        size = min(max(least, int(_CURVATURE_SHARE * self.pairs.features.shape[0])), most)
        sample = self._sample(size // self.pairs.orders)
        if sample is not None:  # the second derivatives need its distances again
            sample.is_single_pass = not sample.keeps_pairs
        return sample

    def _sample(self, n_samples: int) -> PairObjective[DistanceLoss] | None:
        if self._draw is None:
            return None
        pairs, loss, chosen = self._draw(self.pairs, self.loss, n_samples)
        if self.pairs.gram is not None:
            pairs.gram = self.pairs.gram[np.ix_(chosen, chosen)]
        n_all = self.pairs.n_pairs
        return PairObjective(pairs, loss, draw=self._draw, n_represented=n_all)

    @cached_property
    def _chunks(self) -> Sequence[Pairs]:
        return self.pairs.chunks()

    def sums(self, metric: FloatArray) -> PairSums:
        """Return the sums from one pass over all pairs at a K×K metric, which keeps nothing."""
        if self._cluster is not None:
            return self._cluster.sums(metric)
        factors = Factors.of(self.pairs.features @ metric, self.pairs.features)
        sums = mapped(lambda chunk: chunk_sums(self.loss, chunk, metric, factors), self._chunks)
        return add_sums(sums)

    @cached_property
    def constant(self) -> float:
        """The largest number that is added to a distance."""
        sizes = (np.abs(tile[np.isfinite(tile)]) for tile in self.pairs.log_weights or ())
        return self.loss.constant + max((size.max(initial=0.0) for size in sizes), default=0.0)


def draw_stratified(strata: IndexArray, size: int) -> tuple[IndexArray, FloatArray]:
    """Return about `size` samples, of each stratum its share, and how many each represents."""
    rng = np.random.default_rng(0)
    indices, counts = [], []
    starts = np.flatnonzero(np.diff(strata, prepend=strata[0] - 1))
    for start, stop in zip(starts, [*starts[1:], len(strata)], strict=True):
        n_all = int(stop - start)
        n_taken = min(max(round(size * n_all / len(strata)), _LEAST), n_all)
        bounds = start + np.arange(n_taken + 1) * n_all // n_taken
        indices.append(rng.integers(bounds[:-1], bounds[1:]))
        counts.append(np.full(n_taken, n_all / n_taken))
    return np.concatenate(indices), np.concatenate(counts)


def nothing_pulls(option: str) -> InvalidInputError:
    """Return the error of an objective that has no bound, because of an option."""
    return InvalidInputError(
        f"with {option} larger metrics are always better, and trace_bound='auto' makes no bound; "
        "pass a number, or 'K'"
    )


def isotropic_trace(distance: float, squares: FloatArray) -> float:
    """Return the trace of the isotropic metric under which the mean squared distance is as given.

    Its trace is spread evenly over all features that vary, of which the squares are the mean
    squared differences ("Proposition: trace bounds of isotropic metrics").
    """
    varying = squares[squares > 0]
    if not len(varying):
        raise InvalidInputError(
            "all samples that are to be near each other coincide, so that trace_bound='auto' has "
            "no value; pass a number, or 'K'"
        )
    return distance / float(varying.mean())
