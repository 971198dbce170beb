"""Large margin nearest neighbours: samples of other classes stay behind the target neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gdaopt.errors import InvalidInputError
from gdaopt.objectives.distances import (
    DistanceObjective,
    NeighborTriplets,
    SmoothHinge,
    class_codes,
    even_trace,
    nothing_pulls,
    target_neighbors,
)
from gdaopt.objectives.pairs import (
    RectanglePairs,
    checked_samples,
    expression_bytes,
    squared_distances,
)
from gdaopt.support.validation import integer, number

if TYPE_CHECKING:
    import cvxpy as cp

__all__ = ["LMNN"]


class LMNN(DistanceObjective):
    """Large margin nearest neighbours, with a smoothed hinge.

    ``Q(M) = (1/(N k)) Σ_i Σ_{j of i} [ (1 - μ) δ_ij(M) + μ Σ_{l: y_l ≠ y_i} h(m + δ_ij(M) -
    δ_il(M)) ]``. The k target neighbours j of sample i are the nearest of its class by Euclidean
    distance. A sample l of another class costs nothing where it is farther from i than each j by
    the margin m. The hinge h is 0 for z ≤ 0, ``z²/(2ω)`` up to the width ω and ``z - ω/2`` above:
    with ``max(0, z)`` in its place Q would be larger by at most ``μ ω/2`` times the mean number of
    impostors within the margin. Q is convex.

    Parameters
    ----------
    X : array-like of shape (N, K)
        Samples × features.
    y : array-like of shape (N,)
        Class labels: numbers, booleans or texts.
    n_neighbors : int, optional
        k; each class must have more samples than that.
    push_weight : float, optional
        μ, above 0 and at most 1.
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
        For NaN or infinite values, lengths that differ, fewer than two samples, samples that all
        coincide, one class only, a class that has no more than n_neighbors samples, or a weight, a
        margin or a width that is out of its range.

    Notes
    -----
    Evaluation takes O(N² K + N K²) operations, and a few for each triplet within the margin.
    Source: Weinberger, Saul, *Distance metric learning for large margin nearest neighbor
    classification*, JMLR 10, 2009; "Definition: losses of distances" in ``docs/theory.md``.

    Examples
    --------
    >>> lmnn = LMNN([[0.0, 0.0], [1.0, 0.0], [0.0, 1.5], [1.0, 1.5]], [0, 0, 1, 1], n_neighbors=1)
    >>> round(lmnn.value(np.eye(2)), 6)
    0.5
    >>> np.diagonal(lmnn.gradient(np.diag([1.0, 0.5]))).round(6)
    array([ 1.   , -1.125])
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        *,
        n_neighbors: int = 3,
        push_weight: float = 0.5,
        margin: float = 1.0,
        width: float = 0.2,
        memory_limit: int = 2**28,
    ) -> None:
        n_neighbors = integer("n_neighbors", n_neighbors, at_least=1)
        push = number("push_weight", push_weight, above=0, at_most=1)
        margin, width = number("margin", margin, above=0), number("width", width, above=0)
        features = checked_samples(X)
        codes = class_codes(y, len(features))
        smallest = int(np.bincount(codes).min())
        if smallest <= n_neighbors:
            raise InvalidInputError(
                f"n_neighbors is {n_neighbors}, and a class has {smallest} sample(s); each class "
                "needs more samples than n_neighbors"
            )
        order = np.argsort(codes, kind="stable")
        features, codes = features[order], codes[order]
        targets = target_neighbors(features, codes, n_neighbors)
        self._triplets = NeighborTriplets(
            codes,
            targets,
            (1 - push) / targets.size,
            push / targets.size,
            margin,
            SmoothHinge(width),
        )
        self._codes = codes
        super().__init__(RectanglePairs.ordered(features), self._triplets, memory_limit)

    def auto_trace_bound(self) -> float:
        """Return C by the rule "auto" ("Proposition: trace bounds of even metrics").

        Under an even metric of larger trace the pull on a sample costs more than k impostors at
        distance 0, which would outvote its k target neighbours.

        Raises
        ------
        InvalidInputError
            Where nothing pulls: ``push_weight=1``, or target neighbours that all coincide.
        """
        triplets, features = self._triplets, self.pairs.features
        if not triplets.pull:
            raise nothing_pulls("push_weight=1")
        squares = ((features[:, None] - features[triplets.targets]) ** 2).mean(axis=(0, 1))
        impostor = triplets.push * float(triplets.hinge(np.array(triplets.margin))[0])
        return even_trace(triplets.targets.shape[1] * impostor / triplets.pull, squares)

    def lipschitz(self, min_eigenvalue: float) -> float:  # noqa: ARG002 (the same for all)
        """Return ``L = (μ/(N k ω)) Σ_ijl (‖d_ij‖⁴ + ‖d_il‖⁴)``, which holds for every metric."""
        triplets, total = self._triplets, 0.0
        n_targets = triplets.targets.shape[1]
        for block, squares in zip(self.pairs.blocks(), self.squares(), strict=True):
            fourth = squares**2
            near = np.take_along_axis(fourth, triplets.targets[block.rows], axis=1).sum(axis=1)
            is_other = np.not_equal.outer(self._codes[block.rows], self._codes)
            total += float(near @ is_other.sum(axis=1))
            total += n_targets * float(fourth[is_other].sum())
        return triplets.push * triplets.hinge.max_curvature * total

    def to_cvxpy(
        self,
        metric: cp.Expression,
        log: bool = False,  # noqa: ARG002 (no log_convex)
    ) -> tuple[cp.Expression, list[cp.Constraint]]:
        """Return Q for CVXPY: one hinge for each triplet."""
        import cvxpy as cp  # on demand: importing gdaopt loads no solver

        triplets, size = self._triplets, len(self._codes)
        left, right = np.triu_indices(size, 1)
        distances, constraints = squared_distances(self.pairs.features, left, right, metric)
        position = np.zeros((size, size), dtype=np.intp)
        position[left, right] = position[right, left] = np.arange(len(left))
        sample, impostor = np.nonzero(np.not_equal.outer(self._codes, self._codes))
        expression: cp.Expression = cp.Constant(0.0)
        for targets in triplets.targets.T:
            near = distances[position[np.arange(size), targets]]
            z = triplets.margin + near[sample] - distances[position[sample, impostor]]
            expression += triplets.pull * cp.sum(near)
            expression += triplets.push * cp.sum(triplets.hinge.to_cvxpy(z))
        return expression, constraints

    def conic_bytes(self) -> float:
        """Return an estimate of the memory of the expression, CVXPY's own copies of it included."""
        return float(self._triplets.targets.shape[1] * expression_bytes(self.pairs))
