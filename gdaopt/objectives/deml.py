"""Distances of pairs of two classes against squared distances of pairs of one class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gdaopt.objectives.distances import (
    DistanceObjective,
    Identity,
    MinusRoot,
    Separable,
    Term,
    even_trace,
    nothing_pulls,
    read_labelled_pairs,
)
from gdaopt.objectives.pairs import squared_distances
from gdaopt.support.validation import number

if TYPE_CHECKING:
    import cvxpy as cp

__all__ = ["DEML"]


class DEML(DistanceObjective):
    """Distances between classes, less squared distances within them.

    ``Q(M) = (c/n_S) Σ_similar δ_ij(M) - (1/n_D) Σ_dissimilar √δ_ij(M)`` over the n_S pairs of one
    class and the n_D pairs of two classes. Q is convex. Over a cone the minimisers are multiples of
    those of Xing et al.: ``max Σ_dissimilar √δ_ij`` with ``Σ_similar δ_ij ≤ 1`` ("Lemma: roots of
    distances" in ``docs/theory.md``). With c = 0 the trace bound alone holds the metric.

    At a metric under which two samples of two classes coincide, though they differ, the gradient is
    infinite; such metrics have no certificate, and no minimiser is one. Pairs of two classes that
    coincide in X count, with the distance 0 whatever the metric is.


    Parameters
    ----------
    X : array-like of shape (N, K)
        Samples × features.
    y : array-like of shape (N,)
        Class labels: numbers, booleans or texts.
    similar_weight : float, optional
        c ≥ 0.
    pairs : array-like of int, shape (n, 2), optional
        Sum over these pairs only, such as those of near samples where N is large. All pairs when
        left out.
    memory_limit : int, optional
        Bytes that the numbers of all pairs may take. Where they need more, they are recomputed
        block by block in each pass instead of being kept.

    Raises
    ------
    InvalidInputError
        For NaN or infinite values, lengths that differ, fewer than two samples, samples that all
        coincide, one class only, no two samples of one class, pairs that refer to samples that X
        does not have, or pairs of one class only, or a weight
        that is negative.

    Notes
    -----
    Source: Xing, Ng, Jordan, Russell, *Distance metric learning, with application to clustering
    with side-information*, NIPS 2002; "Definition: losses of distances" in ``docs/theory.md``.

    Examples
    --------
    >>> deml = DEML([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], ["a", "a", "b"])
    >>> round(deml.value(np.eye(2)), 6)
    -1.118034
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        *,
        similar_weight: float = 1.0,
        pairs: Any = None,
        memory_limit: int = 2**28,
    ) -> None:
        self.similar_weight = number("similar_weight", similar_weight, at_least=0)
        labelled = read_labelled_pairs(
            X, y, pairs, need_similar=bool(self.similar_weight)
        ).without_equal()
        terms = [Term(False, MinusRoot(), 1 / labelled.n_dissimilar)]
        if self.similar_weight:
            weight = self.similar_weight / labelled.n_similar
            terms.append(Term(True, Identity(), weight))
        self._loss = Separable(labelled, tuple(terms))
        super().__init__(labelled.pairs, self._loss, memory_limit)

    def auto_trace_bound(self) -> float:
        """Return C by the rule "auto" ("Proposition: trace bounds of even metrics").

        No even metric of larger trace is a minimiser among its own multiples.

        Raises
        ------
        InvalidInputError
            Where nothing pulls: ``similar_weight=0``, or classes whose samples all coincide.
        """
        if not self.similar_weight:
            raise nothing_pulls("similar_weight=0")
        labelled = self._loss.pairs
        within, between = (labelled.mean_squares(similar=similar) for similar in (True, False))
        pulled = self.similar_weight**2 * float(within.sum()) or np.inf
        return even_trace(float(between.sum()) / (4 * pulled), within)

    def lipschitz(self, min_eigenvalue: float) -> float | None:
        """Return ``L = Σ_dissimilar ‖d_ij‖ / (4 n_D ρ^(3/2))``; None for ρ = 0."""
        if not min_eigenvalue > 0:
            return None
        term, total = self._loss.terms[0], 0.0
        for block, squares in zip(self.pairs.blocks(), self.squares(), strict=True):
            total += float(np.sqrt(squares[self._loss.pairs.mask(block, False)]).sum())
        return float(term.weight * total / (4 * min_eigenvalue**1.5))

    def to_cvxpy(
        self,
        metric: cp.Expression,
        log: bool = False,  # noqa: ARG002 (no log_convex)
    ) -> tuple[cp.Expression, list[cp.Constraint]]:
        """Return Q for CVXPY: one second-order cone for each pair of two classes."""
        import cvxpy as cp  # on demand: importing gdaopt loads no solver

        of_dissimilar, *of_similar = self._loss.terms
        left, right = self._loss.pairs.one_by_one(similar=False)
        distances, constraints = squared_distances(self.pairs.features, left, right, metric)
        expression = of_dissimilar.weight * cp.sum(of_dissimilar.function.to_cvxpy(distances))
        for term in of_similar:
            left, right = self._loss.pairs.one_by_one(similar=True)
            differences = self.pairs.features[left] - self.pairs.features[right]
            scatter = differences.T @ differences
            expression += term.weight * cp.sum(cp.multiply(scatter, metric))
        return expression, constraints
