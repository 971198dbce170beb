"""Losses of triplets: a sample is to be nearer to a second one than to a third."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from gdaopt.errors import InvalidInputError
from gdaopt.objectives.isotropic import isotropic_trace, nothing_pulls
from gdaopt.objectives.pair_loss import NEGLIGIBLE, BlockLoss, DistanceLoss
from gdaopt.objectives.pair_objective import PairObjective
from gdaopt.objectives.pairs import (
    Block,
    Changes,
    ListedPairs,
    checked_pairs,
    checked_samples,
    squared_distances,
)
from gdaopt.objectives.scalar_functions import Logistic, ScalarFunction, SmoothHinge
from gdaopt.support.validation import FloatArray, number

if TYPE_CHECKING:
    import cvxpy as cp

__all__ = ["LogisticTriplets", "TripletHinge", "TripletLoss"]


class TripletLoss(DistanceLoss):
    """``Σ (a x + b ψ(m + x - y))`` over triplets.

    The distances come one after the other: x to the near sample and y to the far one of the first
    triplet, and so on.

    Parameters
    ----------
    pull, push : float
        a ≥ 0 and b > 0.
    margin : float
        m.
    function : ScalarFunction
        ψ, which does not fall.
    """

    value_roundings = 32.0
    coefficient_roundings = 16.0

    def __init__(self, pull: float, push: float, margin: float, function: ScalarFunction) -> None:
        self.pull = pull
        self.push = push
        self.margin = margin
        self.function = function
        self.curved_everywhere = not function.is_flat_beyond

    def at(self, block: Block, distances: FloatArray) -> _Triplets:  # noqa: ARG002 (of all)
        """Return the loss at the distances of whole triplets."""
        return _Triplets(self, distances)


class _Triplets(BlockLoss):
    """The loss at distances."""

    def __init__(self, loss: TripletLoss, distances: FloatArray) -> None:
        self.loss = loss
        self._near, self._far = distances[0::2], distances[1::2]
        self._z = loss.margin + self._near - self._far
        self._values, self._first = loss.function(self._z)

    @cached_property
    def value(self) -> float:
        loss = self.loss
        return loss.pull * float(self._near.sum()) + loss.push * float(self._values.sum())

    @property
    def magnitude(self) -> float:
        sizes = self.loss.margin + np.abs(self._near) + np.abs(self._far)
        pushed = np.abs(self._values).sum() + self._first @ sizes
        return self.loss.pull * float(np.abs(self._near).sum()) + self.loss.push * float(pushed)

    def coefficients(self) -> FloatArray:
        coefficients = np.empty(2 * len(self._z))
        pushed = self.loss.push * self._first
        coefficients[0::2] = self.loss.pull + pushed
        coefficients[1::2] = -pushed
        return coefficients

    def factors(self, changes: Changes) -> FloatArray:
        """Return ``√(b ψ'') (φ_x - φ_y)``: the Hessian has rank one."""
        second = self.loss.function.second(self._z)
        curved = np.flatnonzero(second > NEGLIGIBLE * second.max(initial=0.0))
        factors: FloatArray = changes(2 * curved)
        factors -= changes(2 * curved + 1)
        factors *= np.sqrt(self.loss.push * second[curved])
        return factors


class _TripletObjective(PairObjective[TripletLoss]):
    """``(1/n) Σ [(1 - μ) δ_ij + μ ψ(m + δ_ij - δ_il)]`` over n triplets (i, j, l)."""

    tested = True

    def __init__(
        self,
        X: Any,
        triplets: Any,
        push_weight: float,
        margin: float,
        function: ScalarFunction,
        memory_limit: int,
    ) -> None:
        push = number("push_weight", push_weight, above=0, at_most=1)
        features = checked_samples(X)
        found = checked_pairs(triplets, len(features), "triplets", 3)
        if not len(found):
            raise InvalidInputError("triplets holds none; pass at least one")
        self.triplets = found
        loss = TripletLoss((1 - push) / len(found), push / len(found), margin, function)
        samples, others = found[:, [0, 0]].ravel(), found[:, 1:].ravel()
        pairs = ListedPairs(features, samples, others, group=2)
        super().__init__(pairs, loss, memory_limit)

    def auto_trace_bound(self) -> float:
        """Return C by the rule "auto" ("Proposition: trace bounds of isotropic metrics").

        Under an isotropic metric of larger trace the pull costs more than all triplets at M = 0.

        Raises
        ------
        InvalidInputError
            Where nothing pulls: ``push_weight=1``, or near samples that all coincide.
        """
        loss, features = self.loss, self.pairs.features
        if not loss.pull:
            raise nothing_pulls("push_weight=1")
        near = features[self.triplets[:, 0]] - features[self.triplets[:, 1]]
        at_zero = loss.push * float(loss.function(np.array([loss.margin]))[0][0])
        return isotropic_trace(at_zero / loss.pull, (near**2).mean(axis=0))

    def lipschitz(self, min_eigenvalue: float) -> float:  # noqa: ARG002 (the same for all)
        """Return ``L = (μ/n) max ψ'' Σ (‖d_ij‖⁴ + ‖d_il‖⁴)``, which holds for every metric."""
        fourth = sum(float((squares**2).sum()) for squares in self.squares())
        return self.loss.push * self.loss.function.max_curvature * fourth

    def to_cvxpy(self, metric: cp.Expression) -> tuple[cp.Expression, list[cp.Constraint]]:
        import cvxpy as cp  # on demand: importing gdaopt loads no solver

        sample, near, far = self.triplets.T
        features = self.pairs.features
        to_near, constraints = squared_distances(features, sample, near, metric)
        to_far, more = squared_distances(features, sample, far, metric)
        pushed = self.loss.function.to_cvxpy(self.loss.margin + to_near - to_far)
        total = self.loss.pull * cp.sum(to_near) + self.loss.push * cp.sum(pushed)
        return total, [*constraints, *more]


class TripletHinge(_TripletObjective):
    """Smoothed hinges of triplets: the loss of LMNN for triplets that are given.

    ``Q(M) = (1/n) Σ [(1 - μ) δ_ij(M) + μ h(m + δ_ij(M) - δ_il(M))]`` over n triplets (i, j, l):
    sample i is to be nearer to j than to l by the margin m. The hinge h is 0 for z ≤ 0, ``z²/(2ω)``
    up to the width ω and ``z - ω/2`` above. Q is convex.

    Parameters
    ----------
    X : array-like of shape (N, K)
        Samples × features.
    triplets : array-like of int, shape (n, 3)
        Indices i, j, l of three samples each.
    push_weight : float, optional
        μ, above 0 and at most 1. With 1 nothing pulls, and the trace bound alone keeps metrics
        small.
    margin : float, optional
        m > 0.
    width : float, optional
        ω > 0: width over which the kink of the hinge is smoothed.
    memory_limit : int, optional
        Bytes that the numbers of all pairs may take. Where they need more, they are recomputed
        block by block in each pass instead of being kept.

    Raises
    ------
    InvalidInputError
        For NaN or infinite values, fewer than two samples, samples that all coincide, no triplets,
        triplets that refer to samples that X does not have, or a weight, a margin or a width that
        is out of its range.

    Notes
    -----
    Source: Weinberger, Saul, *Distance metric learning for large margin nearest neighbor
    classification*, JMLR 10, 2009; "Definition: losses of distances" in ``docs/theory.md``.

    Examples
    --------
    >>> hinge = TripletHinge([[0.0, 0.0], [1.0, 0.0], [0.0, 1.5]], [[0, 1, 2]])
    >>> hinge.value(np.eye(2))
    0.5
    >>> hinge.value(np.diag([1.0, 0.5]))
    0.8875
    """

    def __init__(
        self,
        X: Any,
        triplets: Any,
        *,
        push_weight: float = 0.5,
        margin: float = 1.0,
        width: float = 0.2,
        memory_limit: int = 2**28,
    ) -> None:
        margin = number("margin", margin, above=0)
        hinge = SmoothHinge(number("width", width, above=0))
        super().__init__(X, triplets, push_weight, margin, hinge, memory_limit)


class LogisticTriplets(_TripletObjective):
    """Logistic losses of triplets.

    ``Q(M) = (1/n) Σ [(1 - μ) δ_ij(M) + μ log(1 + exp(m + δ_ij(M) - δ_il(M)))]`` over n triplets
    (i, j, l): sample i is to be nearer to j than to l. The logistic term is the negative
    log-likelihood where that is so with the probability ``1 / (1 + exp(m + δ_ij - δ_il))``. Q is
    convex.

    Parameters
    ----------
    X : array-like of shape (N, K)
        Samples × features.
    triplets : array-like of int, shape (n, 3)
        Indices i, j, l of three samples each.
    push_weight : float, optional
        μ, above 0 and at most 1. With 1 nothing pulls, and the trace bound alone keeps metrics
        small.
    margin : float, optional
        m ≥ 0.
    memory_limit : int, optional
        Bytes that the numbers of all pairs may take. Where they need more, they are recomputed
        block by block in each pass instead of being kept.

    Raises
    ------
    InvalidInputError
        For NaN or infinite values, fewer than two samples, samples that all coincide, no triplets,
        triplets that refer to samples that X does not have, or a weight or a margin that is out of
        its range.

    Notes
    -----
    The hinge of `TripletHinge`, made smooth in the way of `LogisticPairs`; "Definition: losses of
    distances" in ``docs/theory.md``.

    Examples
    --------
    >>> loss = LogisticTriplets([[0.0, 0.0], [1.0, 0.0], [0.0, 1.5]], [[0, 1, 2]])
    >>> round(loss.value(np.eye(2)), 6)
    0.625965
    """

    def __init__(
        self,
        X: Any,
        triplets: Any,
        *,
        push_weight: float = 0.5,
        margin: float = 0.0,
        memory_limit: int = 2**28,
    ) -> None:
        margin = number("margin", margin, at_least=0)
        super().__init__(X, triplets, push_weight, margin, Logistic(), memory_limit)
