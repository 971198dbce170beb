"""The graph Laplacian regulariser at one metric."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Protocol

import numpy as np

from gdaopt.linalg.directions import DenseDirection, Direction
from gdaopt.linalg.entries import Edges
from gdaopt.linalg.known_entries import KnownEntries
from gdaopt.objectives.distance_round_off import DistanceRoundOff
from gdaopt.objectives.exponentials import ExponentialLine, ExponentialSum
from gdaopt.objectives.pairs import PairSums, PairValues, WeightedPairs
from gdaopt.objectives.round_off import UNIT, RoundOff
from gdaopt.support.validation import FloatArray, read_only

__all__ = ["GLRPoint", "Regulariser"]

_LARGEST_FACTOR = 1e150  # the square of a larger one leaves float64
_NOISE = 1e-15  # of what coinciding samples add to sums: with less, the others do not count
_GATHERING = 16  # what an entry of a product of matrices costs alone, in units of one in the whole
_LEAST_GRADIENT = 1e-290  # products with a gradient below this lose digits, and in the end all
_MOVES_BEFORE_REFRESH = 64  # updates add up round-off; after so many, exponents are computed anew


class Regulariser(Protocol):
    """What a point sees of `gdaopt.GLR`."""

    n_pairs_meant: int

    @property
    def pairs(self) -> WeightedPairs:
        """The pairs."""

    @property
    def log_weights(self) -> PairValues:
        """The logarithms of their weights."""

    @property
    def keeps_pairs(self) -> bool:
        """Whether numbers of all pairs are kept."""

    @property
    def sweeps(self) -> bool:
        """Whether value and gradient come from one pass over the pairs, which keeps nothing."""

    @property
    def weight_roundings(self) -> float:
        """By how many u the logarithm of a weight, and of its exponential, can be off."""

    @property
    def sum_roundings(self) -> int:
        """How many roundings in a row a sum over all pairs takes."""

    def swept(self, metric: FloatArray) -> PairSums:
        """Return the sums of one pass over all pairs."""

    def pair_values(self, compute: Callable[[], Iterator[FloatArray]]) -> PairValues:
        """Return numbers of all pairs, which are kept where memory allows it."""

    def summed(self, exponents: PairValues) -> ExponentialSum:
        """Return the sum ``Σ exp(e)`` over all pairs."""


class GLRPoint:
    """The graph Laplacian regulariser at one metric: a `gdaopt.objectives.Point`.

    Parameters
    ----------
    objective : Regulariser
        The regulariser.
    metric : ndarray of shape (K, K)
        M.
    known : ExponentialSum, optional
        The sum over pairs at M, where it is known already.
    distances : DistanceRoundOff, optional
        How exact the distances of that sum are.
    """

    def __init__(
        self,
        objective: Regulariser,
        metric: FloatArray,
        known: ExponentialSum | None = None,
        distances: DistanceRoundOff | None = None,
    ) -> None:
        self.objective = objective
        self.metric = read_only(metric)
        self._distances = distances
        self._pairs = objective.pairs
        self.sum = known or objective.summed(objective.pair_values(self._compute_exponents))
        self._is_swept = objective.sweeps and known is None
        self._moves = 0
        self._last_line: ExponentialLine | None = None
        self._known: KnownEntries | None = None
        self._last_width = 0

    def _compute_exponents(self) -> Iterator[FloatArray]:
        distances = self._pairs.products(*DenseDirection(self.metric).factors(self._pairs.features))
        for distance, log_weight in zip(distances, self.objective.log_weights, strict=True):
            yield np.subtract(log_weight, distance, out=distance)

    @cached_property
    def _swept(self) -> PairSums | None:
        """The sums of one pass over all pairs, where their numbers are too many."""
        return self.objective.swept(self.metric) if self._is_swept else None

    @property
    def _sums(self) -> PairSums | ExponentialSum:
        """What says the value: the sums of the pass, or of the numbers that are kept."""
        return self._swept or self.sum

    @property
    def value(self) -> float:
        """``Q(M)``."""
        return self._sums.value

    @property
    def log_value(self) -> float:
        """``log Q(M)``."""
        return self._sums.log_value

    @cached_property
    def _scatter(self) -> FloatArray:
        swept = self._swept
        return self._pairs.scatter(self.sum.terms) if swept is None else swept.moments.scatter

    @cached_property
    def _gradient(self) -> FloatArray:
        with np.errstate(over="ignore", invalid="ignore"):  # certificates report the overflow
            gradient: FloatArray = -self._sums.scale * self._scatter
        return read_only(gradient)

    def gradient(self) -> FloatArray:
        """Return ``∇Q(M)``, shape (K, K), read-only."""
        return self._gradient

    def log_gradient(self) -> FloatArray:
        """Return ``∇ log Q(M)``, shape (K, K)."""
        gradient: FloatArray = -self._scatter / self._sums.total
        return gradient

    def gradient_diagonal(self) -> FloatArray:
        """Return the diagonal of the gradient, shape (K,)."""
        diagonal: FloatArray = self._pairs.scatter_diagonal(self.sum.terms)
        diagonal *= -self.sum.scale
        return diagonal

    def _scatter_diagonal(self) -> FloatArray:
        """Return the diagonal of the scatter, all of which is computed unless entries are known."""
        return np.diagonal(self._scatter) if self._known is None else self._known.on_diagonal

    def gradient_column(self, column: int) -> FloatArray:
        """Return one column of the gradient, shape (K,)."""
        entries: FloatArray = self._pairs.scatter_column(self.sum.terms, column)
        entries *= -self.sum.scale
        return entries

    def gradient_entries(self, edges: Edges) -> KnownEntries:
        """Return the gradient's diagonal and its entries of edges, without the others if few."""
        size = self._pairs.features.shape[1]
        is_known = "_gradient" in vars(self) or self._is_swept
        if is_known or _GATHERING * (size + len(edges[0])) >= size**2:
            return KnownEntries.of(self._gradient, edges)
        if self._known is None or self._known.edges is not edges:
            self._known = self._pairs.scatter_entries(self.sum.terms, edges)
        with np.errstate(over="ignore", invalid="ignore"):  # certificates report the overflow
            return self._known.scaled(-self.sum.scale)

    def hessian_product(self, direction: Direction) -> FloatArray:
        """Return ``∇²Q(M)[D]``, shape (K, K)."""
        line = self.line(direction)
        weighted = (p * rate for p, rate in zip(self.sum.terms, line.rates, strict=True))
        product: FloatArray = self.sum.scale * self._pairs.scatter(weighted)
        return product

    def line(self, direction: Direction) -> ExponentialLine:
        """Return Q restricted to ``M + γ D``: a trial step costs one exponential per pair."""
        if self._last_line is None or self._last_line.direction is not direction:
            factors = direction.factors(self._pairs.features)
            self._last_width = factors[0].shape[1]
            rates = self.objective.pair_values(lambda: self._pairs.products(*factors))
            self._last_line = ExponentialLine(direction, self.sum.exponents, rates)
        return self._last_line

    def moved(self, direction: Direction, gamma: float) -> GLRPoint:
        """Return the point at ``M + γ D``, with the exponents updated along the line."""
        metric = direction.added_to(self.metric, gamma)
        if not self.objective.keeps_pairs or self._moves >= _MOVES_BEFORE_REFRESH:
            return GLRPoint(self.objective, metric)
        line = self.line(direction)
        exponents = self.objective.pair_values(lambda: line.exponents(gamma))
        distances = self.distance_round_off.moved(direction, gamma, self._last_width)
        moved = GLRPoint(self.objective, metric, self.objective.summed(exponents), distances)
        moved._moves = self._moves + 1
        return moved

    @property
    def distance_round_off(self) -> DistanceRoundOff:
        """How exact the distances are that the sum over pairs was computed from."""
        return self._distances or DistanceRoundOff.of_metric(self.metric)

    @cached_property
    def _sizes(self) -> FloatArray:
        """``Σ exp(e - shift) (x_rk² + x_ck²)``, shape (K,)."""
        swept = self._swept
        return self._pairs.squared_sizes(self.sum.terms) if swept is None else swept.moments.sizes

    def round_off(self) -> RoundOff:
        """Return how exact value and gradient are ("Lemma: round-off of the regulariser")."""
        objective, total = self.objective, self._sums
        with np.errstate(over="ignore", invalid="ignore"):
            sizes = total.scale * self._sizes
            lengths = np.sqrt(sizes)
            distances = 2 * self.distance_round_off.form(lengths)
            relative = (
                objective.sum_roundings
                + 2 * abs(total.shift)
                + 4 * math.log(self._pairs.n_pairs)
                + (2 + self._moves) * objective.weight_roundings
            )
            # A scale near to underflow has few digits. One that is 0 leaves a tangent of 0, which
            # is below the regulariser everywhere.
            of_scale = float(np.spacing(total.scale)) * total.total
            return RoundOff(
                UNIT * (relative * total.value + distances) + of_scale,
                np.sqrt(2 * UNIT * self._pairs.scatter_roundings) * lengths,
            )

    def vanished(self) -> str | None:
        """Say by which factor to rescale where Q or its gradient is 0, or nearly, in float64."""
        return self._vanished

    @cached_property
    def _vanished(self) -> str | None:
        if not math.isfinite(self.value):
            return f"the objective is {self.value}: the metric is far outside of the cone"
        features = self._pairs.features
        largest = float(np.abs(features).max())
        if largest == 0:
            return "all samples coincide: the gradient is 0, and no metric tells them apart"
        # The scatter is positive semidefinite: its largest entry is on the diagonal.
        steepest = float(self._scatter_diagonal().max())
        is_small = steepest <= _NOISE * float(self._sizes.sum())
        is_flat = steepest * float(np.trace(self.metric)) <= _NOISE * self._sums.total
        is_lost = steepest * self._sums.scale <= _LEAST_GRADIENT
        if self.value > 0 and not (is_small and is_flat) and not is_lost:
            return None
        # The root mean squared distance of samples, in units in which squares stay within float64.
        spread = largest * math.sqrt(2 * float(((features / largest) ** 2).sum(axis=1).mean()))
        unit = float(np.abs(np.diagonal(self.metric)).mean()) or 1.0
        factor = 1 / (spread * math.sqrt(unit))
        what = "the objective" if self.value == 0 else "the gradient of the objective"
        advice = (
            f"{what} is 0 in floating point or nearly so (log Q is {self.log_value:.6g}); multiply "
            f"the features by about {factor:.2g}"
        )
        if factor > _LARGEST_FACTOR:
            return advice
        return f"{advice}, or the trace bound and the smallest eigenvalue by about {factor**2:.2g}"
