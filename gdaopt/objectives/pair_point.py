"""Points of objectives of pairs: the distances at one metric, and the sums that a loss makes of it.

If there are few pairs, their numbers are kept. Of many, one pass finds value and gradient.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from gdaopt.errors import InvalidInputError
from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.directions import Direction
from gdaopt.linalg.entries import IndexArray
from gdaopt.linalg.samples import is_sparse, products_of
from gdaopt.objectives.matrix_point import MatrixPoint
from gdaopt.objectives.pair_loss import DistanceLoss, LossValues, thin, weighted_curvature
from gdaopt.objectives.pair_sums import PairSums, pair_sums
from gdaopt.objectives.pairs.changes import Rates, SquaredChanges
from gdaopt.objectives.pairs.pairs import Factors, Pairs, PairValues
from gdaopt.objectives.protocol import Derivatives, Line, Point
from gdaopt.objectives.round_off import RoundOff
from gdaopt.support.resources import check_fits
from gdaopt.support.validation import FloatArray, read_only

_GATHERING = 16  # times as long as in the whole product of matrices takes one entry alone
_LARGEST_FACTOR = 1e150  # the square of a larger one leaves float64
_NOISE = 1e-15  # less than that share of the sums' terms is round-off
_LEAST_GRADIENT = 1e-290  # products with a gradient below this lose digits, and in the end all
_MOST_PAIRS = 2**18  # that second derivatives are summed over
_SPARSE = 8  # if few pairs are curved, parts of this size are summed over at once
_CURVATURE_PAIRS = 32, 256  # for each atom, at least and at most
_PAIRS_SHARE = 1 / 256  # the share of all pairs, in between

# Slopes overflow, and are infinite at some distances of 0: steps are shortened, and bounds say so.
_without_warnings = np.errstate(over="ignore", divide="ignore", invalid="ignore")


class PairPoint(Point):
    """An objective of pairs at one metric."""

    def __init__(self, objective: Any, metric: FloatArray) -> None:  # a PairObjective
        self.objective = objective
        self.pairs: Pairs = objective.pairs
        self.metric = read_only(metric)
        self._gradient: FloatArray | None = None
        self._of_subsample: PairPoint | None = None
        # ``δ_p - log w_p`` of all pairs
        compute = partial(self.pairs.distances, metric)
        self.distances = PairValues(compute, objective.keeps_pairs)

    @cached_property
    def sums(self) -> PairSums:
        """Value, gradient and round-off, from one pass over all pairs."""
        if self.objective.is_single_pass:
            sums: PairSums = self.objective.sums(self.metric)
            return sums
        return pair_sums(self.objective.loss, self.pairs, self.distances)

    @property
    def value(self) -> float:
        return self.sums.value

    def logarithm(self) -> ExponentialLogarithm:
        return ExponentialLogarithm(self)

    @_without_warnings
    def gradient(self) -> FloatArray:
        if self._gradient is None:
            scale: float = self.objective.loss.sign * self.sums.scale
            self._gradient = read_only(scale * self.sums.scatter.dense)
        return self._gradient

    @_without_warnings
    def gradient_entries(self, rows: IndexArray, columns: IndexArray) -> FloatArray:
        if _GATHERING * len(rows) >= len(self.metric) ** 2:
            return self.gradient()[rows, columns]
        scale: float = self.objective.loss.sign * self.sums.scale
        return scale * self.sums.scatter.entries(rows, columns)

    @_without_warnings
    def slopes(self, atoms: Atoms) -> FloatArray:
        return self.sums.scale * self.scaled_slopes(atoms)

    @_without_warnings
    def scaled_slopes(self, atoms: Atoms) -> FloatArray:
        """Return the slopes in the unit of the loss."""
        sign: float = self.objective.loss.sign
        return sign * self.sums.scatter.quadratic_forms(atoms)

    @property
    def curvature_point(self) -> PairPoint:
        """The point that gives second derivatives."""
        # Kept in itself, a point would be freed only when the garbage collector comes by.
        if self._of_subsample is None and self.objective.estimates_curvature:
            self._of_subsample = PairPoint(self.objective.curvature_sample, self.metric)
        return self._of_subsample or self

    def curvature(self, atoms: Atoms) -> FloatArray:
        point = self.curvature_point
        scale = point.sums.scale
        if not scale:  # a term of a sum that has underflowed: its moments may overflow
            return np.zeros((len(atoms), len(atoms)))
        return scale * point.scaled_curvature(atoms)

    @_without_warnings
    def scaled_curvature(self, atoms: Atoms, means: FloatArray | None = None) -> FloatArray:
        """Return the second derivatives of these pairs alone in the unit of the loss.

        Of many pairs they are taken from some rows or some terms, always the same. The means, of
        shape (n,), are first subtracted from the changes of all distances.
        """
        loss: DistanceLoss = self.objective.loss
        pairs, shift, size = self.pairs, self.sums.shift, len(atoms)
        values = np.ascontiguousarray(atoms.projected(pairs.features).T)
        total = np.zeros((size, size))
        if not size:
            return total
        least, n_represented = 0.0, self.objective.n_represented
        if n_represented and loss.is_exponential:
            fewest, most = (size * n_pairs for n_pairs in _CURVATURE_PAIRS)
            least = self.sums.scaled / min(max(fewest, _PAIRS_SHARE * n_represented), most)
        every, n_values = 1, size // _SPARSE + 1
        if not loss.curvature_is_local:
            every, n_values = 1 if least else max(1, pairs.n_pairs // _MOST_PAIRS), size
        place, n_seen, rng = 0, 0, np.random.default_rng(0)
        for tile, of_tile in zip(pairs.tiles, self.distances, strict=True):
            for part, rows in pairs.parts(tile, n_values):
                place += 1
                if place % every:
                    continue
                changes = SquaredChanges(*pairs.samples(part), values, means)
                distances = of_tile[rows] + shift
                n_seen += distances.size
                at = loss.at(part, distances)
                if least:
                    total += weighted_curvature(thin(at.first(), least, rng), changes)
                else:
                    total += at.curvature(changes)
        total *= pairs.n_pairs / n_seen
        return total

    def line(self, direction: Direction) -> PairLine:
        return PairLine(self, direction)

    def round_off(self) -> RoundOff:
        stated: RoundOff = self.objective.round_off(self.sums, self.metric)
        return stated

    def degenerate_reason(self) -> str | None:
        total, metric = self.sums, self.metric
        if not math.isfinite(total.value):
            return f"the objective is {total.value}: the metric is far outside of the cone"
        if not np.isfinite(total.degrees).all():
            return (
                "the gradient of the objective is not finite: the distance of two samples is 0 "
                "under this metric, though they differ; start from a positive definite metric"
            )
        if not self.objective.log_convex:
            return None
        every = np.arange(len(metric))  # the largest entry is on the diagonal: it is semidefinite
        steepest = float(total.scatter.entries(every, every).max())
        is_lost = steepest * total.scale <= _LEAST_GRADIENT or total.value == 0
        if not is_lost and steepest * float(np.trace(metric)) <= _NOISE * total.scaled:
            is_lost = steepest <= _NOISE * float(self.pairs.squares(total.degrees).sum())
        return self._underflow(steepest) if is_lost else None

    def _underflow(self, steepest: float) -> str:
        """Say by which factor to rescale if Q or its gradient is 0, or nearly, in float64."""
        features, metric, total = self.pairs.features, self.metric, self.sums
        largest = max(float(features.max()), -float(features.min()))
        if largest == 0:
            return "all samples coincide: the gradient is 0, and no metric tells them apart"
        # The root mean squared distance of samples, in units in which squares stay within float64.
        spread = largest * math.sqrt(
            2 * float(((features / largest) ** 2).sum()) / features.shape[0]
        )
        unit = float(np.abs(np.diagonal(metric)).mean()) or 1.0
        factor = 1 / (spread * math.sqrt(unit))
        what = "the objective" if total.value == 0 else "the gradient of the objective"
        advice = (
            f"{what} is 0 in floating point or nearly so (log Q is {total.log_value:.6g}); "
            f"multiply the features by about {factor:.2g}"
        )
        # The squares of tiny features are lost under every metric.
        if steepest <= _LEAST_GRADIENT or not 1 / _LARGEST_FACTOR <= factor <= _LARGEST_FACTOR:
            return advice
        return f"{advice}, or the trace bound and the smallest eigenvalue by about {factor**2:.2g}"


class PairLine(Line):
    """The loss along a direction, along which the distances are ``δ + γ η`` with the rates η."""

    def __init__(self, point: PairPoint, direction: Direction) -> None:
        self.point = point
        self.direction = direction
        self.has_balance = bool(point.objective.loss.is_exponential)

    @cached_property
    def rates(self) -> PairValues:
        """η of all pairs."""
        pairs = self.point.pairs
        factors = Factors.of(*self.direction.factors(pairs.features))
        return PairValues(partial(pairs.products, factors), self.point.objective.keeps_pairs)

    def losses(self, gamma: float) -> Iterator[LossValues]:
        """Yield the loss of each tile at ``M + γ D``."""
        point, shift = self.point, self.point.sums.shift
        for tile, distance, rate in zip(
            point.pairs.tiles, point.distances, self.rates, strict=True
        ):
            trial = rate * gamma
            trial += distance
            if shift:
                trial += shift
            yield point.objective.loss.at(tile, trial)

    @_without_warnings
    def value(self, gamma: float) -> float:
        return self.point.sums.scale * sum(loss.value for loss in self.losses(gamma))

    @_without_warnings
    def derivatives(self, gamma: float) -> tuple[float, float]:
        slope = bend = 0.0
        for loss, rate in zip(self.losses(gamma), self.rates, strict=True):
            bend += float(loss.curvature(Rates(rate))[0, 0])
            slope += float(np.vdot(loss.first(), rate))
        scale = self.point.sums.scale
        return self.point.objective.loss.sign * scale * slope, scale * bend

    @_without_warnings
    def balance(self, gamma: float) -> tuple[float, float]:
        """Return the logarithm of rising over falling parts of the slope, or the slope itself."""
        if not self.has_balance:
            return self.derivatives(gamma)
        rising = falling = rising_rate = falling_rate = 0.0
        for loss, rate in zip(self.losses(gamma), self.rates, strict=True):
            weighted = loss.first() * rate
            part = np.minimum(weighted, 0.0)
            rising -= float(part.sum())
            rising_rate += float(np.vdot(part, rate))
            np.maximum(weighted, 0.0, out=weighted)
            falling += float(weighted.sum())
            falling_rate += float(np.vdot(weighted, rate))
        if not (0 < rising < math.inf and 0 < falling < math.inf):
            return (math.inf if rising > 0 else -math.inf), math.nan
        return math.log(rising / falling), rising_rate / rising + falling_rate / falling

    def at(self, gamma: float) -> PairPoint:
        point = self.point
        return PairPoint(point.objective, self.direction.added_to(point.metric, gamma))


class SparsePoint(MatrixPoint):
    """Value, gradient and round-off at a sparse K×K metric, by the Gram matrix of the samples."""

    objective: Any

    def __init__(self, objective: Any, metric: csr_array) -> None:
        self.objective = objective
        self._sparse_metric = metric

    @cached_property
    def metric(self) -> FloatArray:  # type: ignore[override]  # made only where it is asked for
        """The metric matrix as an array, unless that takes too much memory."""
        _check_dense(self.objective.n_features)
        metric: Any = self._sparse_metric
        return read_only(metric.toarray())

    @cached_property
    def _sums_and_laplacian(self) -> tuple[PairSums, FloatArray]:
        samples = self.objective.pairs.features
        product: Any = samples @ (self._sparse_metric @ samples.T)
        gram: FloatArray = product.toarray() if is_sparse(product) else product
        sums, laplacian = self.objective.at_gram((gram + gram.T) / 2)
        return sums, laplacian

    @property
    def value(self) -> float:
        sums, _ = self._sums_and_laplacian
        return sums.value

    @cached_property
    def _gradient(self) -> FloatArray:
        _check_dense(self.objective.n_features)
        samples, (_, laplacian) = self.objective.pairs.features, self._sums_and_laplacian
        half: FloatArray = samples.T @ products_of(laplacian, samples) / 2
        return read_only(half + half.T)

    def gradient(self) -> FloatArray:
        return self._gradient

    def round_off(self) -> RoundOff:
        sums, _ = self._sums_and_laplacian
        stated: RoundOff = self.objective.round_off(sums, self._sparse_metric)
        return stated

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
        return self.point.sums.log_value

    def slopes(self, atoms: Atoms) -> FloatArray:
        return self.point.scaled_slopes(atoms) / self.point.sums.scaled

    def curvature(self, atoms: Atoms) -> FloatArray:
        """Return the covariance of the changes of the distances under the shares of the pairs."""
        point = self.point.curvature_point
        means = -point.scaled_slopes(atoms) / point.sums.scaled
        return point.scaled_curvature(atoms, means) / point.sums.scaled
