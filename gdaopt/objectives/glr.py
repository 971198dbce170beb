"""The graph Laplacian regulariser, the objective of the paper.

It is a sum of exponentials over pairs of samples ("Definition: graph Laplacian regulariser" in
``docs/theory.md``). What needs the samples comes from `gdaopt.objectives.pairs`, and what needs the
exponentials from `gdaopt.objectives.exponentials`.

As a function of the weights of atoms it needs only the samples' coordinates along the atoms,
``a = Xu``: the distances are ``δ_ij(w) = δ_ij(B) + Σ_k w_k (a_ik - a_jk)²``. K no longer appears,
and a step in the weights costs as much as one in the metric of n features would.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.directions import DenseDirection, Direction
from gdaopt.linalg.entries import Edges
from gdaopt.linalg.known_entries import KnownEntries
from gdaopt.objectives.distance_round_off import DistanceRoundOff
from gdaopt.objectives.exponentials import ExponentialLine, ExponentialSum
from gdaopt.objectives.pairs import (
    Memory,
    PairValues,
    distinct_differences,
    expression_bytes,
    squared_distances,
    weighted_pairs,
)
from gdaopt.objectives.round_off import UNIT, RoundOff
from gdaopt.objectives.sums import Summable
from gdaopt.validation import FloatArray, integer, read_only, symmetric_matrix

if TYPE_CHECKING:
    import cvxpy as cp

__all__ = ["GLR", "GLRAtomWeights", "GLRAtomWeightsPoint", "GLRPoint"]

_ARRAYS_KEPT = 9  # weights, exponents at a base, those and their exponentials at three points
_LARGEST_FACTOR = 1e150  # the square of a larger one leaves float64
_NOISE = 1e-15  # of what coinciding samples add to sums: with less, the others do not count
_GATHERING = 16  # what an entry of a product of matrices costs alone, in units of one in the whole
_LEAST_GRADIENT = 1e-290  # products with a gradient below this lose digits, and in the end all
_SUM_ROUNDINGS = 64  # in a row: NumPy adds up an array of 2^17 numbers in pairs of parts
_MOVES_BEFORE_REFRESH = 64  # updates add up round-off; after so many, exponents are computed anew


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

    def __init__(
        self,
        X: Any,
        z: Any,
        *,
        sample_weight: Any = None,
        pairs: Any = None,
        memory_limit: int = 2**28,
    ) -> None:
        limit = integer("memory_limit", memory_limit, at_least=1)
        self.pairs = weighted_pairs(X, z, sample_weight, pairs)
        self.keeps_pairs = self.pairs.n_pairs * 8 * _ARRAYS_KEPT <= limit
        self._memory = Memory(self.pairs.n_pairs, _ARRAYS_KEPT) if self.keeps_pairs else None
        self.log_weights = self.pair_values(self.pairs.log_weights)

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

    def atom_weights(self, base: FloatArray, log: bool = False) -> GLRAtomWeights:
        """Return Q or log Q as a function of the weights of atoms, around a K×K base."""
        return GLRAtomWeights(self, GLRPoint(self, base), log)

    def value(self, metric: FloatArray) -> float:
        """Return ``Q(M)``."""
        return self.at(metric).value

    def gradient(self, metric: FloatArray) -> FloatArray:
        """Return ``∇Q(M) = -Σ_ij exp(-δ_ij) ‖z_i - z_j‖² d_ij d_ij'``, shape (K, K)."""
        return self.at(metric).gradient()

    def log_value(self, metric: FloatArray) -> float:
        """Return ``log Q(M)``, finite also where ``Q(M)`` underflows to 0."""
        return self.at(metric).log_value

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


class GLRPoint:
    """The graph Laplacian regulariser at one metric: a `gdaopt.objectives.Point`.

    Parameters
    ----------
    objective : GLR
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
        objective: GLR,
        metric: FloatArray,
        known: ExponentialSum | None = None,
        distances: DistanceRoundOff | None = None,
    ) -> None:
        self.objective = objective
        self.metric = read_only(metric)
        self._distances = distances
        self._pairs = objective.pairs
        self.sum = known or objective.summed(objective.pair_values(self._compute_exponents))
        self._moves = 0
        self._last_line: ExponentialLine | None = None
        self._known: KnownEntries | None = None
        self._last_width = 0

    def _compute_exponents(self) -> Iterator[FloatArray]:
        distances = self._pairs.products(*DenseDirection(self.metric).factors(self._pairs.features))
        for distance, log_weight in zip(distances, self.objective.log_weights, strict=True):
            yield np.subtract(log_weight, distance, out=distance)

    @property
    def value(self) -> float:
        """``Q(M)``."""
        return self.sum.value

    @property
    def log_value(self) -> float:
        """``log Q(M)``."""
        return self.sum.log_value

    @cached_property
    def _scatter(self) -> FloatArray:
        return self._pairs.scatter(self.sum.terms)

    @cached_property
    def _gradient(self) -> FloatArray:
        with np.errstate(over="ignore", invalid="ignore"):  # certificates report the overflow
            gradient: FloatArray = -self.sum.scale * self._scatter
        return read_only(gradient)

    def gradient(self) -> FloatArray:
        """Return ``∇Q(M)``, shape (K, K), read-only."""
        return self._gradient

    def log_gradient(self) -> FloatArray:
        """Return ``∇ log Q(M)``, shape (K, K)."""
        gradient: FloatArray = -self._scatter / self.sum.total
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
        if "_gradient" in vars(self) or _GATHERING * (size + len(edges[0])) >= size**2:
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
        return self._pairs.squared_sizes(self.sum.terms)

    def round_off(self) -> RoundOff:
        """Return how exact value and gradient are ("Lemma: round-off of the regulariser")."""
        objective, total = self.objective, self.sum
        with np.errstate(over="ignore", invalid="ignore"):
            sizes = total.scale * self._sizes
            lengths = np.sqrt(sizes)
            distances = 2 * self.distance_round_off.form(lengths)
            relative = (
                objective.sum_roundings
                + 2 * abs(total.shift)
                + 4 * math.log(self._pairs.n_pairs)
                + (2 + self._moves) * objective.weight_roundings
                + float(np.spacing(total.scale)) / (UNIT * total.scale)
            )
            return RoundOff(
                UNIT * (relative * total.value + distances),
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
        is_flat = steepest * float(np.trace(self.metric)) <= _NOISE * self.sum.total
        is_lost = steepest * self.sum.scale <= _LEAST_GRADIENT
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


class GLRAtomWeights:
    """The regulariser around a base B as a function of the weights of atoms: an `AtomWeights`.

    Parameters
    ----------
    objective : GLR
        The regulariser.
    base : GLRPoint
        The regulariser at B.
    log : bool
        Whether it is log Q.
    """

    def __init__(self, objective: GLR, base: GLRPoint, log: bool) -> None:
        self.objective = objective
        self.base = base
        self._kind = GLRLogAtomWeightsPoint if log else GLRAtomWeightsPoint

    def at(self, atoms: Atoms, weights: FloatArray) -> GLRAtomWeightsPoint:
        """Return the point at ``B + Σ_k w_k u_k u_k'``."""
        coordinates = atoms.projected(self.objective.pairs.features)
        return self._kind(self, atoms, coordinates, weights)


class GLRAtomWeightsPoint:
    """The regulariser at given weights of given atoms: an `AtomWeightsPoint`."""

    def __init__(
        self,
        atom_weights: GLRAtomWeights,
        atoms: Atoms,
        coordinates: FloatArray,
        weights: FloatArray,
    ) -> None:
        self._atom_weights = atom_weights
        self._pairs = atom_weights.objective.pairs
        self._atoms = atoms
        self._coordinates = coordinates
        self.weights = weights
        objective = atom_weights.objective
        self._sum = objective.summed(objective.pair_values(self._compute_exponents))

    def _compute_exponents(self) -> Iterator[FloatArray]:
        distances = self._pairs.products(self._coordinates * self.weights, self._coordinates)
        at_base = self._atom_weights.base.sum.exponents
        for distance, exponent in zip(distances, at_base, strict=True):
            yield np.subtract(exponent, distance, out=distance)

    @property
    def value(self) -> float:
        """Q at the metric."""
        return self._sum.value

    @cached_property
    def _moments(self) -> FloatArray:
        """``Σ_p t_p (u_k'd_p)²``, with the terms t of the sum over pairs."""
        return self._pairs.scatter_diagonal(self._sum.terms, self._coordinates)

    def gradient(self) -> FloatArray:
        """Return the derivatives of Q."""
        gradient: FloatArray = -self._sum.scale * self._moments
        return gradient

    def hessian(self) -> FloatArray:
        """Return the second derivatives of Q: ``Σ_p A_p (u_k'd_p)² (u_l'd_p)²``."""
        nothing = np.zeros(len(self._moments))
        hessian = self._pairs.covariance(self._sum.terms, self._coordinates, nothing)
        hessian *= self._sum.scale
        return hessian

    def at(self, weights: FloatArray) -> GLRAtomWeightsPoint:
        """Return the point at other weights of the same atoms."""
        return type(self)(self._atom_weights, self._atoms, self._coordinates, weights)

    def point(self) -> GLRPoint:
        """Return the objective at the metric ``M(w)``; its sum over pairs is known already."""
        base = self._atom_weights.base
        metric = self._atoms.added_to(base.metric, self.weights)
        distances = base.distance_round_off.with_atoms(self._atoms, self.weights)
        return GLRPoint(base.objective, metric, self._sum, distances)


class GLRLogAtomWeightsPoint(GLRAtomWeightsPoint):
    """The logarithm of the regulariser at given weights of given atoms."""

    @property
    def value(self) -> float:
        """``log Q`` at the metric."""
        return self._sum.log_value

    @cached_property
    def _gradient(self) -> FloatArray:
        gradient: FloatArray = -self._moments / self._sum.total
        return gradient

    def gradient(self) -> FloatArray:
        """Return the derivatives of log Q: ``-Σ_p p (u_k'd_p)²``, p the softmax over pairs."""
        return self._gradient

    def hessian(self) -> FloatArray:
        """Return ``Φ' diag(p) Φ - rr'`` with ``Φ_pk = (u_k'd_p)²`` and ``r = Φ'p``.

        That is the covariance of Φ under p. Computed as a covariance it loses no digits where a few
        pairs have almost all of p.
        """
        hessian: FloatArray = self._pairs.covariance(
            self._sum.terms, self._coordinates, -self._gradient
        )
        hessian /= self._sum.total
        return hessian
