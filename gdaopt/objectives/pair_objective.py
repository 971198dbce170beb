"""Objectives that are a loss of the squared distances of pairs of samples, and their points."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Generic, Self, TypeVar, cast

import numpy as np
from scipy.sparse import csr_array, issparse

from gdaopt.errors import InvalidInputError
from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.directions import Direction
from gdaopt.linalg.entries import Edges
from gdaopt.linalg.masked import MaskedMatrix, magnitude_form
from gdaopt.linalg.samples import is_sparse, products_of
from gdaopt.objectives.base import Objective
from gdaopt.objectives.cluster import Cluster
from gdaopt.objectives.matrix_point import MatrixPoint
from gdaopt.objectives.pair_loss import DistanceLoss, LossLine, LossSum, loss_sums
from gdaopt.objectives.pairs.base import Indices, Pairs, less
from gdaopt.objectives.pairs.expressions import expression_bytes
from gdaopt.objectives.pairs.passes import (
    MANY_PAIRS,
    BufferPool,
    PairSums,
    PairValues,
    Sizes,
    Total,
)
from gdaopt.objectives.protocol import Derivatives, Line, Point
from gdaopt.objectives.round_off import UNIT, RoundOff
from gdaopt.support.resources import check_fits, mapped
from gdaopt.support.validation import FloatArray, read_only, symmetric_matrix, symmetric_sparse

MOST_DENSE = 1000
"""With more features, and more than samples, no K×K matrix is made unless it is asked for."""

_ARRAYS_KEPT = 7  # distances at a base and at three points, coefficients at two, rates of a line
_GATHERING = 16  # times as long as in the whole product of matrices takes one entry alone
_MOVES_BEFORE_REFRESH = 64  # updates add up round-off; after so many, distances are computed anew
_ROUNDINGS = 200  # of values, for few features and one block of pairs
_SLOPE_ROUNDINGS = 64  # of a derivative, but for sums over samples
_SMALLEST_NUMBER = 2.0**-1074  # below 1e-308, numbers are rounded to multiples of it
_LARGEST_FACTOR = 1e150  # the square of a larger one leaves float64
_CURVATURE_SAMPLES = 512, 2048  # in the subsample for second derivatives, at least and at most
_CURVATURE_SHARE = 1 / 8  # of all samples, in between
_SMALLEST = 1000  # samples; each next size is four times the last
_GROWTH = 4  # a subsample is at least that many times smaller than the samples it represents
_LEAST = 2  # samples of each class
_NOISE = 1e-15  # of the sums' terms of coinciding samples: less than that is round-off
_LEAST_GRADIENT = 1e-290  # products with a gradient below this lose digits, and in the end all

# Slopes overflow, and are infinite at some distances of 0: certificates report it.
_without_warnings = np.errstate(over="ignore", invalid="ignore")

LossT = TypeVar("LossT", bound=DistanceLoss, covariant=True)

Draw = Callable[[Any, Any, int], tuple[Pairs, DistanceLoss, Indices]]
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
        A `Draw` of about n samples that represent all. Without it, all pairs are always evaluated.
    n_represented : int, optional
        The number of pairs of the full objective, where these pairs are a subsample of them.

    Attributes
    ----------
    memory_limit : int
        Of the class: bytes that the numbers of all pairs of an objective may take. Where they need
        more, they are recomputed block by block in each pass instead of being kept.
    """

    memory_limit = 2**28

    def __init__(
        self, pairs: Pairs, loss: LossT, *, draw: Draw | None = None, n_represented: int = 0
    ) -> None:
        self.pairs = pairs
        self.loss = loss
        self.n_features = pairs.features.shape[1]
        self.log_convex = loss.is_exponential
        self.convex = loss.convex
        self.n_represented = n_represented
        self._draw = draw
        self.keeps_pairs = pairs.n_pairs * 8 * _ARRAYS_KEPT <= self.memory_limit
        self._pool = BufferPool(pairs.n_pairs, _ARRAYS_KEPT) if self.keeps_pairs else None
        self._cluster: Cluster | None = None

    def _counts(self) -> dict[str, int]:
        n_samples, n_features = self.pairs.features.shape
        return {"samples": n_samples, "distances": self.pairs.n_pairs, "features": n_features}

    def distributed(self, client: Any) -> Self:
        """Return the same objective, whose value and gradient other machines compute.

        The samples are sent to the workers of a Dask cluster once, and to other executors with each
        chunk of the pairs. Second derivatives are computed on this machine, and so is every result
        of a copy, since a client cannot be pickled.

        Parameters
        ----------
        client : distributed.Client or concurrent.futures.Executor
            Its workers have gdaopt.
        """
        found = copy(self)
        found._cluster = Cluster(client, self.loss, self._chunks)
        return found

    @property
    def n_samples(self) -> int:
        return int(self.pairs.features.shape[0])

    @property
    def has_many_features(self) -> bool:
        """Whether there are more features than is good for K×K arrays, or sparse samples."""
        is_wide = self.is_sparse or self.n_features > max(MOST_DENSE, self.n_samples)
        return is_wide and self._cluster is None

    @property
    def is_sparse(self) -> bool:
        return is_sparse(self.pairs.features)

    def of_features(self, features: Indices, gram: FloatArray) -> PairObjective[DistanceLoss]:
        """Return the same loss of distances by some of the features, and by a Gram matrix."""
        return PairObjective(self.pairs.of_features(features, gram), self.loss, draw=self._draw)

    def at_gram(self, gram: FloatArray) -> GramPoint:
        """Return the objective at the Gram matrix ``X M X'`` of the samples under a metric."""
        pairs = self.pairs.of_features(np.zeros(0, dtype=np.intp), gram)
        keep = PairObjective(pairs, self.loss).pair_values
        distances = keep(lambda: map(np.negative, pairs.log_weights() or ()))
        sums = LossSum(self.loss, pairs, distances, keep)
        laplacian = pairs.laplacian(sums.coefficients)
        sizes = self.pairs.sizes(sums.degrees)
        return GramPoint(sums.total, sizes, self.loss.sign * sums.scale * laplacian)

    def round_off(
        self,
        total: Total,
        sizes: Sizes,
        form: Callable[[FloatArray], float],
        drift: float = 0.0,
    ) -> RoundOff:
        """Return how exact value and gradient are ("Lemma: round-off of sums over pairs").

        The form is ``ε'|M|ε`` as a function of ε, and the drift what distances are off by beside.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            terms = sizes + self.cancelled
            of_terms = abs(total.scaled) + self.constant * terms.weight
            of_terms += form(np.sqrt(terms.squares))
            factor = _ROUNDINGS + 6 * self.n_features + 4 * self.n_blocks
            of_slopes = _SLOPE_ROUNDINGS + 2 * self.pairs.longest_sum
            unit = UNIT * total.scale + _SMALLEST_NUMBER
            return RoundOff(
                factor * unit * of_terms + total.scale * drift,
                np.sqrt(unit * (of_slopes * sizes.squares + _ROUNDINGS * self.cancelled.squares)),
            )

    def at(self, metric: Any) -> Point:
        """Return the point at a symmetric K×K matrix, an array or sparse.

        At a sparse one, or of sparse samples, it has a value and a gradient alone.
        """
        if issparse(metric):
            return SparsePoint(self, symmetric_sparse("metric", metric, self.n_features))
        metric = symmetric_matrix("metric", metric, self.n_features)
        return SparsePoint(self, csr_array(metric)) if self.is_sparse else PairPoint(self, metric)

    def conic_bytes(self) -> float:
        return expression_bytes(self.pairs)

    def squares(self) -> Iterator[FloatArray]:
        """Yield ``‖d_p‖²`` for the pairs of each block."""
        features = self.pairs.features
        if self.is_sparse:
            return self.pairs.products((features @ features.T).toarray(), np.eye(self.n_samples))
        return self.pairs.products(features, features)

    @property
    def has_many_pairs(self) -> bool:
        """Whether there are so many pairs that second derivatives come from a subsample."""
        return bool(self.n_represented) or self.pairs.n_pairs > MANY_PAIRS

    def subsample(self) -> PairObjective[DistanceLoss] | None:
        """Return the objective of a subsample; None where samples are few, or without `draw`."""
        n_samples = self.pairs.features.shape[0]
        if not self.has_many_pairs or n_samples < _GROWTH * _SMALLEST:
            return None
        size = _SMALLEST
        while _GROWTH**2 * size <= n_samples:
            size *= _GROWTH
        return self._drawn(size)

    @cached_property
    def curvature_sample(self) -> PairObjective[DistanceLoss] | None:
        """The objective of a subsample for second derivatives; None where these are of all."""
        # Where the loss is not convex, those of a subsample may have another sign.
        if not self.has_many_pairs or not self.loss.convex:
            return None
        least, most = _CURVATURE_SAMPLES
        size = min(max(least, int(_CURVATURE_SHARE * self.pairs.features.shape[0])), most)
        return self._drawn(size // self.pairs.orders)

    def _drawn(self, n_samples: int) -> PairObjective[DistanceLoss] | None:
        if self._draw is None:
            return None
        pairs, loss, chosen = self._draw(self.pairs, self.loss, n_samples)
        if self.pairs.gram is not None:
            pairs.gram = self.pairs.gram[np.ix_(chosen, chosen)]
        n_all = self.pairs.n_pairs
        return PairObjective(pairs, loss, draw=self._draw, n_represented=n_all)

    @property
    def is_single_pass(self) -> bool:
        """Whether value and gradient at a metric come from one pass, which keeps nothing."""
        return self.has_many_pairs or not self.keeps_pairs or self._cluster is not None

    @cached_property
    def _chunks(self) -> Sequence[Pairs]:
        return self.pairs.chunks()

    def sums(self, metric: FloatArray) -> PairSums:
        """Return value and moments from one pass over all pairs at a K×K metric."""
        if self._cluster is not None:
            return self._cluster.sums(metric)
        samples = self.pairs.transformed(metric)
        return PairSums.added(
            mapped(lambda chunk: loss_sums(self.loss, chunk, samples), self._chunks)
        )

    def pair_values(self, compute: Callable[[], Iterator[FloatArray]]) -> PairValues:
        """Return numbers of all pairs, which are kept where memory allows it."""
        return PairValues(compute, self._pool)

    @cached_property
    def log_weights(self) -> PairValues | None:
        """The logarithms of the weights of the pairs, block by block; None where all are 1."""
        compute = cast(Callable[[], Iterator[FloatArray]], self.pairs.log_weights)
        return None if compute() is None else self.pair_values(compute)

    @cached_property
    def constant(self) -> float:
        """The largest number that is added to a distance."""
        return self.loss.constant + self.pairs.log_weight_size()

    @cached_property
    def cancelled(self) -> Sizes:
        """The sizes of what cancels in the derivatives by distances."""
        degrees = self.loss.cancelled
        return self.pairs.sizes(np.zeros(self.n_samples) if degrees is None else degrees)

    @cached_property
    def n_blocks(self) -> int:
        """How many blocks the pairs have."""
        return sum(1 for _ in self.pairs.blocks())


class PairPoint(Point):
    """An objective of pairs at one metric; after a step along a line the distances are known."""

    def __init__(
        self,
        objective: PairObjective[DistanceLoss],
        metric: FloatArray,
        distances: PairValues | None = None,
        moves: int = 0,
    ) -> None:
        self.objective = objective
        self._metric = read_only(metric)
        self._pairs = objective.pairs
        known = distances or objective.pair_values(self._compute_distances)
        self.sum = LossSum(objective.loss, self._pairs, known, objective.pair_values)
        self._is_single_pass = distances is None and objective.is_single_pass
        self._moves = moves
        self._last_line: LossLine | None = None
        self._last_slopes: tuple[Atoms, FloatArray] | None = None
        self._entries: MaskedMatrix | None = None

    @property
    def metric(self) -> FloatArray:
        return self._metric

    def _compute_distances(self) -> Iterator[FloatArray]:
        features = self._pairs.features
        distances = self._pairs.products(features, features @ self.metric)
        return less(distances, self.objective.log_weights)

    @cached_property
    def _pass(self) -> PairSums | None:
        """The sums of one pass over all pairs, where these are too many."""
        return self.objective.sums(self.metric) if self._is_single_pass else None

    @cached_property
    def total(self) -> Total:
        """The value, of one pass or of the distances that are kept."""
        return (self._pass or self.sum).total

    @cached_property
    def value(self) -> float:
        return self.total.value

    def logarithm(self) -> ExponentialLogarithm:
        return ExponentialLogarithm(self)

    @cached_property
    def scatter(self) -> FloatArray:
        """The gradient in units of ``exp(shift)``, times the sign of the loss."""
        if self._pass is not None:
            return self._pass.scatter
        return self._pairs.scatter(self.sum.coefficients)

    @cached_property
    @_without_warnings
    def _gradient(self) -> FloatArray:
        gradient: FloatArray = self.objective.loss.sign * self.total.scale * self.scatter
        return read_only(gradient)

    @property
    def _signed_scale(self) -> float:
        return self.objective.loss.sign * self.sum.scale

    def gradient(self) -> FloatArray:
        return self._gradient

    @_without_warnings
    def gradient_diagonal(self) -> FloatArray:
        return self._signed_scale * self._pairs.scatter_diagonal(self.sum.coefficients)

    @_without_warnings
    def gradient_column(self, column: int) -> FloatArray:
        return self._signed_scale * self._pairs.scatter_column(self.sum.coefficients, column)

    @_without_warnings
    def gradient_entries(self, edges: Edges) -> MaskedMatrix:
        size = self.objective.n_features
        is_known = "_gradient" in vars(self) or self._is_single_pass
        if is_known or _GATHERING * (size + len(edges[0])) >= size**2:
            return MaskedMatrix.of(self._gradient, edges)
        if self._entries is None or self._entries.edges is not edges:
            self._entries = self._pairs.scatter_entries(self.sum.coefficients, edges)
        return self._signed_scale * self._entries

    def slopes(self, atoms: Atoms) -> FloatArray:
        return self.total.scale * self.scaled_slopes(atoms)

    def scaled_slopes(self, atoms: Atoms) -> FloatArray:
        """Return the slopes in units of ``exp(shift)``."""
        if self._last_slopes is None or self._last_slopes[0] is not atoms:
            if self._pass is not None or "scatter" in vars(self):  # the gradient is known
                slopes = self.objective.loss.sign * atoms.quadratic_forms(self.scatter)
            else:
                slopes = self.sum.slopes(atoms.projected(self._pairs.features))
            self._last_slopes = atoms, slopes
        return self._last_slopes[1]

    @property
    def estimates_curvature(self) -> bool:
        return self.objective.curvature_sample is not None

    @property
    def curvature_point(self) -> PairPoint:
        """The point that gives second derivatives."""
        # Kept in itself, a point would be freed only when the garbage collector comes by.
        return self._of_subsample or self

    @cached_property
    def _of_subsample(self) -> PairPoint | None:
        sample = self.objective.curvature_sample
        return None if sample is None else PairPoint(sample, self.metric)

    def curvature(self, atoms: Atoms) -> FloatArray:
        point = self.curvature_point
        if not point.sum.scale:  # a term of a sum that has underflowed: its moments may overflow
            return np.zeros((len(atoms), len(atoms)))
        return point.sum.scale * point.scaled_curvature(atoms)

    def scaled_curvature(self, atoms: Atoms, means: FloatArray | None = None) -> FloatArray:
        """Return the second derivatives of these pairs alone (see `LossSum.curvature`)."""
        coordinates = atoms.projected(self._pairs.features)
        return self.sum.curvature(coordinates, means, self.objective.n_represented)

    def line(self, direction: Direction) -> LossLine:
        if self._last_line is None or self._last_line.direction is not direction:
            factors = direction.factors(self._pairs.features)
            rates = self.objective.pair_values(lambda: self._pairs.products(*factors))
            self._last_line = self.sum.loss.line(direction, self.sum, rates)
        return self._last_line

    def moved(self, direction: Direction, gamma: float) -> PairPoint:
        objective, metric = self.objective, direction.added_to(self.metric, gamma)
        line = self._last_line
        is_followed = line is not None and line.direction is direction
        if (
            not objective.keeps_pairs
            or self._moves >= _MOVES_BEFORE_REFRESH
            # One pass gives all that is needed.
            or (self.estimates_curvature and not is_followed)
        ):
            return PairPoint(objective, metric)
        if line is not None and is_followed:
            distances = partial(line.distances, gamma)
        else:
            left, right = direction.factors(self._pairs.features)
            distances = partial(self._moved_distances, gamma * left, right)
        kept = objective.pair_values(distances)
        return PairPoint(objective, metric, kept, self._moves + 1)

    def _moved_distances(self, left: FloatArray, right: FloatArray) -> Iterator[FloatArray]:
        changes = self._pairs.products(left, right)
        for change, distance in zip(changes, self.sum.distances, strict=True):
            yield np.add(distance, change, out=change)

    @property
    def _sizes(self) -> Sizes:
        """The sizes of the derivatives by distances, in units of ``exp(shift)``."""
        return (self._pass or self.sum).sizes

    @_without_warnings
    def _drift(self) -> float:
        """Return ``Σ |c_p| |δ̃_p - δ_p|`` for the distances that are known after steps along lines.

        The distances δ are those that are computed from the metric itself.
        """
        drift = 0.0
        if not self._moves:
            return drift
        known = zip(self.sum.distances, self.sum.coefficients, strict=True)
        for here, (there, p) in zip(self._compute_distances(), known, strict=True):
            here -= there
            here *= p
            drift += float(np.abs(here[p != 0]).sum())  # other distances may be infinite
        return drift

    def round_off(self) -> RoundOff:
        return self.objective.round_off(
            self.total, self._sizes, lambda sizes: magnitude_form(self.metric, sizes), self._drift()
        )

    def degenerate_reason(self) -> str | None:
        return self._degenerate_reason

    @cached_property
    def _degenerate_reason(self) -> str | None:
        if not math.isfinite(self.value):
            return f"the objective is {self.value}: the metric is far outside of the cone"
        if not np.isfinite(self._sizes.squares).all():
            return (
                "the gradient of the objective is not finite: the distance of two samples is 0 "
                "under this metric, though they differ; start from a positive definite metric"
            )
        if not self.objective.log_convex:
            return None
        known = self._entries  # the scatter is semidefinite: its largest entry is on the diagonal
        diagonal = np.diagonal(self.scatter) if known is None else known.on_diagonal
        steepest, size = float(diagonal.max()), float(self._sizes.squares.sum())
        return _underflow(self._pairs.features, self.metric, self.total, steepest, size)


@dataclass(frozen=True, eq=False)
class GramPoint:
    """An objective of pairs at a Gram matrix of its N samples, with its N×N gradient."""

    total: Total
    sizes: Sizes
    gradient: FloatArray


class SparsePoint(MatrixPoint):
    """Value, gradient and round-off at a sparse K×K metric, by the Gram matrix of the samples."""

    objective: PairObjective[DistanceLoss]

    def __init__(self, objective: PairObjective[DistanceLoss], metric: csr_array) -> None:
        self.objective = objective
        self._sparse_metric = metric

    @cached_property
    def metric(self) -> FloatArray:
        _check_dense(self.objective.n_features)
        metric: Any = self._sparse_metric
        return read_only(metric.toarray())

    @cached_property
    def _of_gram(self) -> GramPoint:
        samples = self.objective.pairs.features
        product: Any = samples @ (self._sparse_metric @ samples.T)
        gram: FloatArray = product.toarray() if is_sparse(product) else product
        return self.objective.at_gram((gram + gram.T) / 2)

    @property
    def value(self) -> float:
        return self._of_gram.total.value

    @cached_property
    def _gradient(self) -> FloatArray:
        _check_dense(self.objective.n_features)
        samples = self.objective.pairs.features
        half: FloatArray = samples.T @ products_of(self._of_gram.gradient, samples) / 2
        return read_only(half + half.T)

    def gradient(self) -> FloatArray:
        return self._gradient

    def round_off(self) -> RoundOff:
        magnitudes, found = abs(self._sparse_metric), self._of_gram
        return self.objective.round_off(
            found.total, found.sizes, lambda sizes: float(sizes @ (magnitudes @ sizes))
        )

    def curvature(self, _atoms: Atoms, /) -> FloatArray:
        raise _no_lines()

    def line(self, _direction: Direction, /) -> Line:
        raise _no_lines()


def _check_dense(size: int) -> None:
    check_fits(
        16.0 * size**2, f"an array of {size}×{size} numbers", "values and sparse metrics need none"
    )


def _no_lines() -> InvalidInputError:
    return InvalidInputError(
        "there are no lines and no second derivatives at sparse metrics, or of sparse samples: "
        "pass the samples and the metric as arrays, or take gdaopt.solve with 'certified'"
    )


@dataclass(frozen=True, eq=False)
class ExponentialLogarithm(Derivatives):
    """The logarithm of a sum of exponentials over pairs, which does not underflow."""

    point: PairPoint

    @property
    def value(self) -> float:
        return self.point.total.log_value

    def slopes(self, atoms: Atoms) -> FloatArray:
        return self.point.scaled_slopes(atoms) / self.point.total.scaled

    def curvature(self, atoms: Atoms) -> FloatArray:
        """Return the covariance of the changes of the distances under the shares of the pairs."""
        point = self.point.curvature_point
        means = -point.scaled_slopes(atoms) / point.total.scaled
        return point.scaled_curvature(atoms, means) / point.sum.total.scaled


def _underflow(
    features: FloatArray, metric: FloatArray, total: Total, steepest: float, size: float
) -> str | None:
    """Say by which factor to rescale where Q or its gradient is 0, or nearly, in float64."""
    is_small = steepest <= _NOISE * size
    is_flat = steepest * float(np.trace(metric)) <= _NOISE * total.scaled
    is_lost = steepest * total.scale <= _LEAST_GRADIENT
    if total.value > 0 and not (is_small and is_flat) and not is_lost:
        return None
    largest = max(float(features.max()), -float(features.min()))
    if largest == 0:
        return "all samples coincide: the gradient is 0, and no metric tells them apart"
    # The root mean squared distance of samples, in units in which squares stay within float64.
    spread = largest * math.sqrt(2 * float(((features / largest) ** 2).sum()) / features.shape[0])
    unit = float(np.abs(np.diagonal(metric)).mean()) or 1.0
    factor = 1 / (spread * math.sqrt(unit))
    what = "the objective" if total.value == 0 else "the gradient of the objective"
    advice = (
        f"{what} is 0 in floating point or nearly so (log Q is {total.log_value:.6g}); multiply "
        f"the features by about {factor:.2g}"
    )
    # The squares of tiny features are lost under every metric.
    if steepest <= _LEAST_GRADIENT or not 1 / _LARGEST_FACTOR <= factor <= _LARGEST_FACTOR:
        return advice
    return f"{advice}, or the trace bound and the smallest eigenvalue by about {factor**2:.2g}"


def stratified(strata: Indices, size: int) -> tuple[Indices, FloatArray]:
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
