"""Losses of single distances, of similar pairs of samples and of dissimilar ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gdaopt.objectives.pair_loss import DistanceLoss, LossValues, weighted_curvature
from gdaopt.objectives.pair_objective import PairObjective, isotropic_trace, nothing_pulls
from gdaopt.objectives.pairs.changes import Changes
from gdaopt.objectives.pairs.expressions import squared_distances
from gdaopt.objectives.pairs.pairs import Tile
from gdaopt.objectives.pairs.reading import Chosen, LabelledPairs, read_labelled_pairs
from gdaopt.objectives.protocol import Expression, Terms
from gdaopt.objectives.scalar_functions import (
    Identity,
    Logistic,
    MinusRoot,
    ScalarFunction,
    SmoothHinge,
    scalar_function,
)
from gdaopt.support.cvxpy_loading import cp
from gdaopt.support.validation import FloatArray, number


@dataclass(frozen=True, eq=False)
class Term:
    """The term ``w ψ(s (δ - t))`` of similar or of dissimilar pairs."""

    similar: bool
    function: ScalarFunction
    weight: float
    sign: float = 1.0
    threshold: float = 0.0


class _SeparableLoss(DistanceLoss):
    def __init__(self, pairs: LabelledPairs, terms: tuple[Term, ...]) -> None:
        self.pairs = pairs
        self.terms = terms
        self.constant = max(abs(term.threshold) for term in terms)
        self.curvature_is_local = any(term.function.curvature_is_local for term in terms)

    def at(self, tile: Tile, distances: FloatArray) -> LossValues:
        value, parts = 0.0, list[tuple[Term, Chosen, FloatArray, FloatArray]]()
        for term in self.terms:
            chosen = self.pairs.choose(tile, term.similar)
            if chosen is not None:
                z = term.sign * (distances[chosen] - term.threshold)
                values, slopes = term.function(z)
                value += term.weight * float(values.sum())
                parts.append((term, chosen, z, slopes))

        def first() -> FloatArray:
            derivatives = np.zeros(distances.shape)
            for term, chosen, _, slopes in parts:
                derivatives[chosen] = term.weight * term.sign * slopes
            return derivatives

        def curvature(changes: Changes) -> FloatArray:
            second = np.zeros(distances.shape)
            for term, chosen, z, _ in parts:
                second[chosen] = term.weight * term.function.second(z)
            return weighted_curvature(second, changes)

        return LossValues(value, first, curvature)


class SeparablePairs(PairObjective[_SeparableLoss]):
    """``Q(M) = Σ_p w_p ψ(s_p (δ_p - t_p))``, over pairs by `read_labelled_pairs`."""

    def __init__(self, labelled: LabelledPairs, terms: tuple[Term, ...]) -> None:
        self.labelled = labelled
        self.terms = terms
        super().__init__(labelled.pairs, _SeparableLoss(labelled, terms))

    def lipschitz(self, _min_eigenvalue: float, /) -> float | None:
        """Return ``L = Σ_p w_p max ψ'' ‖d_p‖⁴``, which holds for every metric."""
        total = 0.0
        for tile, squares in zip(self.pairs.tiles, self.squares(), strict=True):
            for term in self.terms:
                fourth = float((squares[self.labelled.mask(tile, term.similar)] ** 2).sum())
                total += term.weight * term.function.max_curvature * fourth
        return total

    def to_cvxpy(self, metric: Expression) -> Terms:
        """Return Q for CVXPY: one cone for each pair, as far as its term needs one."""
        expression: cp.Expression = cp.Constant(0.0)
        constraints: list[cp.Constraint] = []
        features = self.pairs.features
        for term in self.terms:
            left, right = self.labelled.list_pairs(similar=term.similar)
            weight = term.weight
            if term.function.max_curvature:
                distances, equations = squared_distances(features, left, right, metric)
                constraints += equations
            else:  # a linear function needs no more than the mean of all distances
                differences = features[left] - features[right]
                scatter = differences.T @ differences
                distances = cp.sum(cp.multiply(scatter / len(left), metric))
                weight *= len(left)
            losses = term.function.to_cvxpy(term.sign * (distances - term.threshold))
            expression += weight * cp.sum(losses)
        return expression, constraints


class PairLoss(SeparablePairs):
    """A function of one number on pairs of samples: similar ones are to be near, others far.

    ``Q(M) = (1/n) [ Σ_similar ψ(δ_ij(M) - u) + Σ_dissimilar ψ(l - δ_ij(M)) ]`` over n pairs i < j,
    with a convex ψ that does not fall. Q is convex.

    Parameters
    ----------
    X, y
        As for `MCML`; pairs of one class are similar.
    function : {"squared-hinge", "hinge", "logistic"} or ScalarFunction, optional
        ψ: ``max(0, z)²``; the hinge of `PairHinge` of width 0.2; ``log(1 + exp(z))``; or an object
        of a subclass of `gdaopt.objectives.ScalarFunction`, with values and two derivatives.
    upper : float, optional
        u ≥ 0: squared distance from which on pairs of one class are too far.
    lower : float, optional
        l > 0: squared distance below which pairs of two classes are too near.
    pairs : array-like of int, shape (n, 2), optional
        Sum over these pairs only, such as pairs of near samples if N is large. All pairs when
        left out.
    similar : array-like of bool, shape (n,), optional
        Which of `pairs` are similar. It takes the place of `y` if you know which pairs are of one
        class, but not the classes.

    Raises
    ------
    InvalidInputError
        As for `MCML`; also if both y and similar are given, or neither, for pairs with indices that
        X does not have, for pairs that are all similar or all dissimilar, and for another function.

    Examples
    --------
    >>> X, y = [[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], ["a", "a", "b"]
    >>> round(PairLoss(X, y, upper=0.5).value(np.diag([1.0, 0.25])), 6)
    0.416667

    A loss of your own:

    >>> from gdaopt.objectives import ScalarFunction
    >>> class Exponential(ScalarFunction):
    ...     def __call__(self, z):
    ...         return np.exp(z), np.exp(z)
    ...
    ...     def second(self, z):
    ...         return np.exp(z)
    >>> round(PairLoss(X, y, Exponential()).value(np.eye(2)), 6)
    0.395041
    """

    def __init__(
        self,
        X: Any,
        y: Any = None,
        function: str | ScalarFunction = "squared-hinge",
        *,
        upper: float = 1.0,
        lower: float = 2.0,
        pairs: Any = None,
        similar: Any = None,
    ) -> None:
        thresholds = number("upper", upper, at_least=0), number("lower", lower, above=0)
        function = scalar_function(function)
        labelled = read_labelled_pairs(X, y, pairs, similar, need_similar=True)
        weight = 1 / (labelled.n_similar + labelled.n_dissimilar)
        terms = (
            Term(similar, function, weight, sign, threshold)
            for similar, sign, threshold in zip((True, False), (1.0, -1.0), thresholds, strict=True)
        )
        super().__init__(labelled, tuple(terms))
        self.tested = function.tested

    def auto_trace_bound(self) -> float:
        """Return the trace beyond which the pairs of one class alone cost more than Q at M = 0."""
        labelled, (similar, dissimilar) = self.labelled, self.terms
        of_similar, of_dissimilar = (
            float(term.function(np.array(-term.sign * term.threshold))[0])
            for term in (similar, dissimilar)
        )
        at_zero = of_similar + labelled.n_dissimilar / labelled.n_similar * of_dissimilar
        distance = similar.threshold + similar.function.reach(at_zero)
        return isotropic_trace(distance, labelled.mean_squares(similar=True))


def PairHinge(
    X: Any,
    y: Any = None,
    *,
    upper: float = 1.0,
    lower: float = 2.0,
    width: float = 0.2,
    pairs: Any = None,
    similar: Any = None,
) -> PairLoss:
    """Return smoothed hinge penalties on pairs of samples.

    ``Q(M) = (1/n) [ Σ_similar h(δ_ij(M) - u) + Σ_dissimilar h(l - δ_ij(M)) ]`` over n pairs i < j:
    pairs of one class are to be nearer than u, and pairs of two classes farther than l. The hinge
    h is 0 for z ≤ 0, ``z²/(2ω)`` up to the width ω and ``z - ω/2`` above, at most ω/2 below
    ``max(0, z)``. Q is convex. In a sum with `gdaopt.LogDet` it is the penalty form of ITML.

    Parameters
    ----------
    X, y
        As for `MCML`; pairs of one class are similar.
    upper : float, optional
        u ≥ 0: squared distance of pairs of one class that costs nothing.
    lower : float, optional
        l > 0: squared distance of pairs of two classes that costs nothing.
    width : float, optional
        ω > 0: width over which the kink of the hinge is smoothed.
    pairs, similar
        As for `PairLoss`, and so are the errors.

    Notes
    -----
    Source: Davis, Kulis, Jain, Sra, Dhillon, *Information-theoretic metric learning*, ICML 2007.

    Examples
    --------
    >>> hinge = PairHinge([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], ["a", "a", "b"], upper=0.5)
    >>> round(hinge.value(np.eye(2)), 6)
    0.133333
    """
    hinge = SmoothHinge(number("width", width, above=0))
    loss = PairLoss(X, y, hinge, upper=upper, lower=lower, pairs=pairs, similar=similar)
    loss.name = "PairHinge"
    return loss


def LogisticPairs(
    X: Any, y: Any = None, *, bias: float = 1.0, pairs: Any = None, similar: Any = None
) -> PairLoss:
    """Return the logistic loss on pairs of samples: logistic discriminant metric learning (LDML).

    ``Q(M) = (1/n) Σ_{i<j} log(1 + exp(±(δ_ij(M) - b)))`` with + for pairs of one class and - for
    pairs of two classes, n pairs in all. That is the mean negative log-likelihood if a pair is
    of one class with the probability ``1 / (1 + exp(δ_ij - b))``. Q is convex.

    Parameters
    ----------
    X, y, pairs, similar
        As for `PairHinge`, and so are the errors.
    bias : float, optional
        b > 0: the squared distance at which both kinds of pairs are as likely.

    Raises
    ------
    InvalidInputError
        As for `PairHinge`, and for a bias that is not positive.

    Notes
    -----
    Source: Guillaumin, Verbeek, Schmid, *Is that you? Metric learning approaches for face
    identification*, ICCV 2009.

    Examples
    --------
    >>> ldml = LogisticPairs([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], ["a", "a", "b"])
    >>> round(ldml.value(np.eye(2)), 6)
    0.253295
    """
    b = number("bias", bias, above=0)
    loss = PairLoss(X, y, Logistic(), upper=b, lower=b, pairs=pairs, similar=similar)
    loss.name = "LogisticPairs"
    return loss


class DEML(SeparablePairs):
    """Distances between classes, less squared distances within them.

    ``Q(M) = (c/n_S) Σ_similar δ_ij(M) - (1/n_D) Σ_dissimilar √δ_ij(M)`` over the n_S pairs of one
    class and the n_D pairs of two classes. Q is convex. Over a cone the minimisers are multiples of
    the minimisers of Xing et al.: ``max Σ_dissimilar √δ_ij`` with ``Σ_similar δ_ij ≤ 1`` ("Lemma:
    roots of distances" in ``docs/theory``). With c = 0 only the trace bound limits the metric.

    At a metric under which two samples of two classes coincide, though they differ, the gradient is
    infinite; such metrics have no certificate, and no minimiser is one. Pairs of two classes that
    coincide in X count, with the distance 0 whatever the metric is.

    Parameters
    ----------
    X, y, pairs
        As for `PairHinge`, and so are the errors; y must be given.
    similar_weight : float, optional
        c ≥ 0.

    Raises
    ------
    InvalidInputError
        As for `PairHinge`, and for a weight that is negative.

    Notes
    -----
    Source: Xing, Ng, Jordan, Russell, *Distance metric learning, with application to clustering
    with side-information*, NIPS 2002.

    Examples
    --------
    >>> deml = DEML([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], ["a", "a", "b"])
    >>> round(deml.value(np.eye(2)), 6)
    -1.118034
    """

    tested = True

    def __init__(self, X: Any, y: Any, *, similar_weight: float = 1.0, pairs: Any = None) -> None:
        self.similar_weight = number("similar_weight", similar_weight, at_least=0)
        labelled = read_labelled_pairs(
            X, y, pairs, need_similar=bool(self.similar_weight)
        ).without_equal()
        terms = [Term(False, MinusRoot(), 1 / labelled.n_dissimilar)]
        if self.similar_weight:
            weight = self.similar_weight / labelled.n_similar
            terms.append(Term(True, Identity(), weight))
        super().__init__(labelled, tuple(terms))

    def auto_trace_bound(self) -> float:
        """Return the trace beyond which no isotropic metric is the best of its own multiples."""
        if not self.similar_weight:
            raise nothing_pulls("similar_weight=0")
        labelled = self.labelled
        within, between = (labelled.mean_squares(similar=similar) for similar in (True, False))
        pulled = self.similar_weight**2 * float(within.sum()) or np.inf
        return isotropic_trace(float(between.sum()) / (4 * pulled), within)

    def lipschitz(self, min_eigenvalue: float, /) -> float | None:
        """Return ``L = Σ_dissimilar ‖d_ij‖ / (4 n_D ρ^(3/2))``; None for ρ = 0."""
        if not min_eigenvalue > 0:
            return None
        term, total = self.terms[0], 0.0
        for tile, squares in zip(self.pairs.tiles, self.squares(), strict=True):
            total += float(np.sqrt(squares[self.labelled.mask(tile, False)]).sum())
        return float(term.weight * total / (4 * min_eigenvalue**1.5))
