"""Losses of relative comparisons: one distance is to be smaller than another distance.

Arrays of distances have both of each comparison, one after the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gdaopt.errors import InvalidInputError
from gdaopt.linalg.entries import IndexArray
from gdaopt.linalg.samples import Samples
from gdaopt.objectives.pair_loss import NEGLIGIBLE, DistanceLoss, LossValues, gram
from gdaopt.objectives.pair_objective import PairObjective, isotropic_trace, nothing_pulls
from gdaopt.objectives.pairs.changes import Changes
from gdaopt.objectives.pairs.expressions import squared_distances
from gdaopt.objectives.pairs.listed_pairs import ListedPairs
from gdaopt.objectives.pairs.pairs import Pairs, Tile
from gdaopt.objectives.pairs.reading import (
    class_codes,
    mean_squares,
    places_of,
    read_pairs,
    read_samples,
)
from gdaopt.objectives.protocol import Expression, Terms
from gdaopt.objectives.scalar_functions import ScalarFunction, SmoothHinge, scalar_function
from gdaopt.support.cvxpy_loading import cp
from gdaopt.support.validation import FloatArray, integer, number

_DRAWN = 20  # quadruplets for each sample


class MarginLoss(DistanceLoss):
    """``Σ (a x + b ψ(m + x - y))`` for a that pulls and b that pushes, where ψ does not fall."""

    def __init__(self, pull: float, push: float, margin: float, function: ScalarFunction) -> None:
        self.pull = pull
        self.push = push
        self.margin = margin
        self.function = function
        self.constant = margin
        self.curvature_is_local = function.curvature_is_local

    def at(self, _tile: Tile, distances: FloatArray) -> LossValues:
        near = distances[0::2]
        z = self.margin + near - distances[1::2]
        values, slopes = self.function(z)

        def first() -> FloatArray:
            pushed, derivatives = self.push * slopes, np.empty(len(distances))
            derivatives[0::2], derivatives[1::2] = self.pull + pushed, -pushed
            return derivatives

        def curvature(changes: Changes) -> FloatArray:
            """Return the sum of ``b ψ'' (φ_x - φ_y)(φ_x - φ_y)'``."""
            second = self.function.second(z)
            curved = np.flatnonzero(second > NEGLIGIBLE * second.max(initial=0.0))
            factors = changes(2 * curved)
            factors -= changes(2 * curved + 1)
            factors *= np.sqrt(self.push * second[curved])
            return gram(factors)

        value = self.pull * float(near.sum()) + self.push * float(values.sum())
        return LossValues(value, first, curvature)

    def auto_trace_bound(self, squares: FloatArray, n_pushed: int = 1) -> float:
        """Return the trace of the isotropic metric that pulls as much as triplets at distance 0."""
        if not self.pull:
            raise nothing_pulls("push_weight=1")
        at_zero = self.push * float(self.function(np.array(self.margin))[0])
        return isotropic_trace(n_pushed * at_zero / self.pull, squares)


class TripletLoss(PairObjective[MarginLoss]):
    """A function of one number on triplets: a sample is to be nearer to one than to another.

    ``Q(M) = (1/n) Σ [(1 - μ) δ_ij(M) + μ ψ(m + δ_ij(M) - δ_il(M))]`` over n triplets (i, j, l),
    with a convex ψ that does not fall. Q is convex.

    Parameters
    ----------
    X : array-like of shape (N, K)
        Samples × features.
    triplets : array-like of int, shape (n, 3)
        IndexArray i, j, l of three samples each.
    function : {"hinge", "squared-hinge", "logistic"} or ScalarFunction, optional
        ψ, as for `PairLoss`.
    push_weight : float, optional
        μ, above 0 and at most 1. With 1 nothing pulls, and only the trace bound keeps metrics
        small.
    margin : float, optional
        m ≥ 0.

    Raises
    ------
    InvalidInputError
        As for `gdaopt.MCML`, and for no triplets, indices of samples that X does not have, or
        another function.

    Notes
    -----
    Source: Weinberger, Saul, *Distance metric learning for large margin nearest neighbor
    classification*, JMLR 10, 2009, for triplets that are given.

    Examples
    --------
    >>> loss = TripletLoss([[0.0, 0.0], [1.0, 0.0], [0.0, 1.5]], [[0, 1, 2]], "squared-hinge")
    >>> loss.value(np.eye(2))
    0.5
    """

    def __init__(
        self,
        X: Any,
        triplets: Any,
        function: str | ScalarFunction = "hinge",
        *,
        push_weight: float = 0.5,
        margin: float = 1.0,
    ) -> None:
        push = number("push_weight", push_weight, above=0, at_most=1)
        margin, function = number("margin", margin, at_least=0), scalar_function(function)
        features = read_samples(X)
        self.triplets = read_pairs(triplets, features.shape[0], "triplets", 3)
        n = len(self.triplets)
        if not n:
            raise InvalidInputError("triplets holds none; pass at least one")
        loss = MarginLoss((1 - push) / n, push / n, margin, function)
        super().__init__(_pair_up(features, self.triplets[:, [0, 1, 0, 2]]), loss)
        self.tested = function.tested

    def auto_trace_bound(self) -> float:
        """Return the trace beyond which the pull costs more than all triplets at M = 0."""
        squares = mean_squares(self.pairs.features, *self.triplets[:, :2].T)
        return self.loss.auto_trace_bound(squares)

    def lipschitz(self, _min_eigenvalue: float, /) -> float:
        """Return ``L = (μ/n) max ψ'' Σ (‖d_ij‖⁴ + ‖d_il‖⁴)``, which holds for every metric."""
        fourth = sum(float((squares**2).sum()) for squares in self.squares())
        return self.loss.push * self.loss.function.max_curvature * fourth

    def to_cvxpy(self, metric: Expression) -> Terms:
        near, far, constraints = _compared_distances(self.pairs, metric)
        pushed = self.loss.function.to_cvxpy(self.loss.margin + near - far)
        return self.loss.pull * cp.sum(near) + self.loss.push * cp.sum(pushed), constraints


def TripletHinge(
    X: Any,
    triplets: Any,
    *,
    push_weight: float = 0.5,
    margin: float = 1.0,
    width: float = 0.2,
) -> TripletLoss:
    """Return smoothed hinges of triplets: the loss of LMNN for triplets that are given.

    ``Q(M) = (1/n) Σ [(1 - μ) δ_ij(M) + μ h(m + δ_ij(M) - δ_il(M))]`` over n triplets (i, j, l):
    sample i is to be nearer to j than to l by the margin m. The hinge h is that of `PairHinge`.

    Parameters
    ----------
    X, triplets, push_weight
        As for `TripletLoss`, and so are the errors.
    margin : float, optional
        m > 0.
    width : float, optional
        ω > 0: width over which the kink of the hinge is smoothed.

    Examples
    --------
    >>> hinge = TripletHinge([[0.0, 0.0], [1.0, 0.0], [0.0, 1.5]], [[0, 1, 2]])
    >>> hinge.value(np.eye(2))
    0.5
    """
    margin = number("margin", margin, above=0)
    hinge = SmoothHinge(number("width", width, above=0))
    loss = TripletLoss(X, triplets, hinge, push_weight=push_weight, margin=margin)
    loss.name = "TripletHinge"
    return loss


def LogisticTriplets(
    X: Any, triplets: Any, *, push_weight: float = 0.5, margin: float = 0.0
) -> TripletLoss:
    """Return logistic losses of triplets.

    ``Q(M) = (1/n) Σ [(1 - μ) δ_ij(M) + μ log(1 + exp(m + δ_ij(M) - δ_il(M)))]`` over n triplets
    (i, j, l): the negative log-likelihood if sample i is nearer to j than to l with the
    probability ``1 / (1 + exp(m + δ_ij - δ_il))``. Q is convex.

    Parameters
    ----------
    X, triplets, push_weight, margin
        As for `TripletLoss`, and so are the errors.

    Examples
    --------
    >>> loss = LogisticTriplets([[0.0, 0.0], [1.0, 0.0], [0.0, 1.5]], [[0, 1, 2]])
    >>> round(loss.value(np.eye(2)), 6)
    0.625965
    """
    loss = TripletLoss(X, triplets, "logistic", push_weight=push_weight, margin=margin)
    loss.name = "LogisticTriplets"
    return loss


@dataclass(frozen=True, eq=False)
class LSMLLoss(DistanceLoss):
    """``w Σ (√x - √y)²`` over the pairs of distances with x > y."""

    curvature_is_local = True

    weight: float

    def at(self, _tile: Tile, distances: FloatArray) -> LossValues:
        near, far = np.maximum(distances[0::2], 0), np.maximum(distances[1::2], 0)
        place = np.flatnonzero(near > far)
        x, y = near[place], far[place]

        def first() -> FloatArray:
            ratio, derivatives = np.sqrt(y / x), np.zeros(len(distances))
            derivatives[2 * place] = self.weight * (1 - ratio)
            derivatives[2 * place + 1] = -self.weight * (1 - ratio) / ratio
            return derivatives

        def curvature(changes: Changes) -> FloatArray:
            """Return the sum of the squares of ``√(w/2) (y^¼ x^-¾ φ_x - x^¼ y^-¾ φ_y)``."""
            p, q = x**0.25, y**0.25
            factors = changes(2 * place) * (q / p**3)
            factors -= changes(2 * place + 1) * (p / q**3)
            factors *= np.sqrt(self.weight / 2)
            return gram(factors)

        value = self.weight * float(((np.sqrt(x) - np.sqrt(y)) ** 2).sum())
        return LossValues(value, first, curvature)


class LSML(PairObjective[LSMLLoss]):
    """Least squared-residual metric learning from relative comparisons.

    ``Q(M) = (1/n) Σ_q max(0, √δ_ab(M) - √δ_cd(M))²`` over n quadruplets q = (a, b, c, d) of
    samples: a and b are to be nearer to each other than c and d. Q is convex, and 0 at M = 0. The
    source adds a log-determinant that keeps the metric away from 0; here the smallest eigenvalue of
    the set does this, or a sum with `gdaopt.LogDet`.

    Parameters
    ----------
    X : array-like of shape (N, K)
        Samples × features.
    y : array-like of shape (N,), optional
        Class labels, from which quadruplets are drawn: a and b of one class, c and d of two
        classes.
    quadruplets : array-like of int, shape (n, 4), optional
        The samples a, b, c, d of each quadruplet, in place of y; c and d must differ.
    n_quadruplets : int, optional
        How many are drawn; 20 N when left out. Quadruplets whose c and d coincide are dropped.
    random_state : int, optional
        Seed of the draw.

    Raises
    ------
    InvalidInputError
        As for `gdaopt.MCML`; also if both y and quadruplets are given, or neither, and for
        quadruplets with indices that X does not have, or whose c and d coincide.

    Notes
    -----
    Source: Liu, Guo, Zhang, Jojic, Wang, *Metric learning from relative comparisons by minimizing
    squared residual*, ICDM 2012.

    Examples
    --------
    >>> lsml = LSML([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0]], quadruplets=[[0, 1, 0, 2]])
    >>> lsml.value(np.eye(2))
    1.0
    """

    tested = True

    def __init__(
        self,
        X: Any,
        y: Any = None,
        *,
        quadruplets: Any = None,
        n_quadruplets: int | None = None,
        random_state: int = 0,
    ) -> None:
        features = read_samples(X)
        rng = np.random.default_rng(integer("random_state", random_state, at_least=0))
        if n_quadruplets is None:
            n_quadruplets = _DRAWN * features.shape[0]
        count = integer("n_quadruplets", n_quadruplets, at_least=1)
        if (y is None) == (quadruplets is None):
            raise InvalidInputError(
                "pass either labels y or quadruplets, "
                + ("got neither" if y is None else "got both")
            )
        chosen = (
            read_pairs(quadruplets, features.shape[0], "quadruplets", 4)
            if y is None
            else _draw(class_codes(y, features.shape[0]), count, rng)
        )
        places = places_of(features)
        coincide = places[chosen[:, 2]] == places[chosen[:, 3]]
        if y is None and coincide.any():
            index = int(coincide.argmax())
            raise InvalidInputError(
                f"the samples c and d of quadruplet {index} coincide: their distance is 0 under "
                "every metric; leave it out"
            )
        chosen = chosen[~coincide]
        if not len(chosen):
            raise InvalidInputError("there are no quadruplets whose samples c and d differ")
        self.quadruplets = chosen
        super().__init__(_pair_up(features, chosen), LSMLLoss(1 / len(chosen)))

    def to_cvxpy(self, metric: Expression) -> Terms:
        """Return Q for CVXPY: one second-order cone for each quadruplet.

        A term is the least ``(x + s) + y - 2t`` with s ≥ 0 and ``t² ≤ (x + s) y``.
        """
        size = len(self.quadruplets)
        near, far, constraints = _compared_distances(self.pairs, metric)
        raised = near + cp.Variable(size, nonneg=True)
        root = cp.Variable(size)
        cone = cp.SOC(raised + far, cp.vstack([2 * root, raised - far]))
        return cp.sum(raised + far - 2 * root) / size, [*constraints, cone]


def _draw(codes: IndexArray, count: int, rng: np.random.Generator) -> IndexArray:
    """Return quadruplets: a and b different samples of one class, c and d of two classes."""
    sizes = np.bincount(codes)
    by_class = np.argsort(codes, kind="stable")
    first = np.concatenate([[0], np.cumsum(sizes)])
    several = np.flatnonzero(sizes[codes] > 1)
    if not len(several):
        raise InvalidInputError(
            f"each of the {len(codes)} samples is alone in its class; there must be two samples of "
            "one class"
        )
    a, c = rng.choice(several, count), rng.integers(len(codes), size=count)
    place = np.empty(len(codes), dtype=np.intp)
    place[by_class] = np.arange(len(codes))
    group = codes[a]
    step = _uniform(rng, sizes[group] - 1) + 1
    b = by_class[first[group] + (place[a] - first[group] + step) % sizes[group]]
    group = codes[c]
    skipped = _uniform(rng, len(codes) - sizes[group])  # counted from the end of the class of c
    d = by_class[(first[group + 1] + skipped) % len(codes)]
    return np.column_stack([a, b, c, d])


def _uniform(rng: np.random.Generator, below: IndexArray) -> IndexArray:
    """Return random indices, each below its own bound."""
    return np.floor(rng.random(len(below)) * below).astype(np.intp)


def _pair_up(features: Samples, quadruplets: IndexArray) -> ListedPairs:
    """Return the pairs (a, b) and (c, d) of each quadruplet, one after the other."""
    left, right = quadruplets[:, [0, 2]].ravel(), quadruplets[:, [1, 3]].ravel()
    return ListedPairs(features, left, right, group=2)


def _compared_distances(
    pairs: Pairs, metric: Expression
) -> tuple[Expression, Expression, list[cp.Constraint]]:
    """Return the smaller and the larger distances of all comparisons for CVXPY, and constraints."""
    left, right, _ = pairs.list_pairs()
    distances, constraints = squared_distances(pairs.features, left, right, metric)
    return distances[0::2], distances[1::2], constraints
