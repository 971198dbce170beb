"""Large margin nearest neighbours: samples of other classes stay behind the target neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np

from gdaopt.errors import InvalidInputError
from gdaopt.linalg.entries import IndexArray
from gdaopt.linalg.samples import Samples, is_sparse
from gdaopt.objectives.comparisons import MarginLoss
from gdaopt.objectives.pair_loss import LossValues, gram
from gdaopt.objectives.pair_objective import PairObjective
from gdaopt.objectives.pairs.changes import Changes
from gdaopt.objectives.pairs.expressions import all_distances, expression_bytes
from gdaopt.objectives.pairs.pairs import Tile
from gdaopt.objectives.pairs.reading import (
    LabelledPairs,
    class_codes,
    mean_squares,
    read_samples,
)
from gdaopt.objectives.pairs.rectangles import RectanglePairs, classes_of, own_classes
from gdaopt.objectives.protocol import Expression, Terms
from gdaopt.objectives.scalar_functions import SmoothHinge
from gdaopt.support.cvxpy_loading import cp
from gdaopt.support.deadline import check_time
from gdaopt.support.validation import FloatArray, integer, number

_TILE_ENTRIES = 2**18  # 2 MB: the distances that neighbours are found in


def target_neighbors(features: Samples, codes: IndexArray, n_neighbors: int) -> IndexArray:
    """Return the nearest samples of the same class by Euclidean distance, of shape (N, k)."""
    targets = np.zeros((features.shape[0], n_neighbors), dtype=np.intp)
    for code in range(int(codes.max()) + 1):
        members = np.flatnonzero(codes == code)
        step = max(1, _TILE_ENTRIES // len(members))
        for start in range(0, len(members), step):
            check_time()
            some = members[start : start + step]
            distances = _squared_distances(features[some], features[members])
            distances[np.arange(len(some)), start + np.arange(len(some))] = np.inf
            nearest = np.argsort(distances, axis=1, kind="stable")[:, :n_neighbors]
            # In a class that is too small a sample would be its own neighbour.
            targets[some, : nearest.shape[1]] = members[nearest]
    return targets


def _squared_distances(left: Samples, right: Samples) -> FloatArray:
    if is_sparse(left):
        products = (left @ right.T).toarray()
        squares = (np.asarray(side.power(2).sum(axis=1)).ravel() for side in (left, right))
        return np.asarray(np.add.outer(*squares) - 2 * products)
    from scipy.spatial.distance import cdist  # on demand: it takes 60 ms to import

    return np.asarray(cdist(left, right, "sqeuclidean"))


class LMNNLoss(MarginLoss):
    """``Σ_ij (a δ_ij + b Σ_l h(m + δ_ij - δ_il))`` over targets j and impostors l of i."""

    def __init__(self, codes: IndexArray, targets: IndexArray, *options: Any) -> None:
        super().__init__(*options)
        self.codes = codes
        self.targets = targets
        self.classes = classes_of(codes)

    def at(self, tile: Tile, distances: FloatArray) -> LossValues:
        """Return the loss in some rows, over the triplets within the margin."""
        every, targets = np.arange(len(distances)), self.targets[tile.rows]
        near = distances[every[:, None], targets]
        reach = self.margin + near
        within = distances < reach.max(axis=1)[:, None]
        for rows, columns in own_classes(tile, self.classes):
            within[rows, columns] = False
        row, impostor = np.divmod(np.flatnonzero(within), within.shape[1])
        z = reach[row] - distances[row, impostor][:, None]
        values, slopes = self.function(z)

        def first() -> FloatArray:
            derivatives = np.zeros(distances.shape)
            derivatives[row, impostor] = -self.push * slopes.sum(axis=1)
            for k, neighbors in enumerate(targets.T):
                pushed = np.bincount(row, slopes[:, k], len(distances))
                derivatives[every, neighbors] += self.pull + self.push * pushed
            return derivatives

        def curvature(changes: Changes) -> FloatArray:
            """Return the sum of ``b h'' (φ_ij - φ_il)(φ_ij - φ_il)'`` over bent hinges."""
            factors, second = [], self.function.second(z)
            for k, neighbors in enumerate(targets.T):
                bent = second[:, k] > 0
                difference = changes(row[bent], neighbors[row[bent]])
                difference -= changes(row[bent], impostor[bent])
                factors.append(difference * np.sqrt(self.push * second[bent, k]))
            return gram(np.concatenate(factors, axis=1))

        value = self.pull * float(near.sum()) + self.push * float(values.sum())
        return LossValues(value, first, curvature)


class LMNN(PairObjective[LMNNLoss]):
    """Large margin nearest neighbours, with a smoothed hinge.

    ``Q(M) = (1/(N k)) Σ_i Σ_{j of i} [ (1 - μ) δ_ij(M) + μ Σ_{l: y_l ≠ y_i} h(m + δ_ij(M) -
    δ_il(M)) ]``. The k target neighbours j of sample i are the nearest of its class by Euclidean
    distance. A sample l of another class costs nothing if it is farther from i than each j by
    the margin m. The hinge h is that of `PairHinge`: with ``max(0, z)`` in its place Q would be
    larger by at most ``μ ω/2`` times the mean number of impostors within the margin. Q is convex.

    Parameters
    ----------
    X, y
        As for `MCML`.
    n_neighbors : int, optional
        k; each class must have more samples than that.
    push_weight, margin, width
        μ, m and ω, as for `TripletHinge`.

    Raises
    ------
    InvalidInputError
        As for `MCML`, and for a class that has no more than n_neighbors samples.

    Notes
    -----
    Evaluation takes O(N² K + N K²) operations, and a few for each triplet within the margin.
    Source: Weinberger, Saul, *Distance metric learning for large margin nearest neighbor
    classification*, JMLR 10, 2009.

    Examples
    --------
    >>> lmnn = LMNN([[0.0, 0.0], [1.0, 0.0], [0.0, 1.5], [1.0, 1.5]], [0, 0, 1, 1], n_neighbors=1)
    >>> round(lmnn.value(np.eye(2)), 6)
    0.5
    """

    tested = True

    def __init__(
        self,
        X: Any,
        y: Any,
        *,
        n_neighbors: int = 3,
        push_weight: float = 0.5,
        margin: float = 1.0,
        width: float = 0.2,
    ) -> None:
        n_neighbors = integer("n_neighbors", n_neighbors, at_least=1)
        push = number("push_weight", push_weight, above=0, at_most=1)
        margin, width = number("margin", margin, above=0), number("width", width, above=0)
        features = read_samples(X)
        codes = class_codes(y, features.shape[0])
        smallest = int(np.bincount(codes).min())
        if smallest <= n_neighbors:
            raise InvalidInputError(
                f"n_neighbors is {n_neighbors}, and a class has {smallest} sample(s); each class "
                "needs more samples than n_neighbors"
            )
        order = np.argsort(codes, kind="stable")
        features, codes = features[order], codes[order]
        targets = target_neighbors(features, codes, n_neighbors)
        weights = (1 - push) / targets.size, push / targets.size
        loss = LMNNLoss(codes, targets, *weights, margin, SmoothHinge(width))
        super().__init__(RectanglePairs.ordered(features), loss)

    def auto_trace_bound(self) -> float:
        """Return the trace beyond which the pull on a sample costs more than k impostors.

        If each sample coincides with its targets, as with few binary features, nothing pulls. Then
        all samples of the class take the place of the targets.
        """
        features, codes, targets = self.pairs.features, self.loss.codes, self.loss.targets
        rows = np.repeat(np.arange(len(targets)), targets.shape[1])
        squares = mean_squares(features, rows, targets.ravel())
        if not squares.any():
            squares = LabelledPairs(self.pairs, codes=codes).mean_squares(similar=True)
        return self.loss.auto_trace_bound(squares, n_pushed=targets.shape[1])

    def lipschitz(self, _min_eigenvalue: float, /) -> float:
        """Return ``L = (μ/(N k ω)) Σ_ijl (‖d_ij‖⁴ + ‖d_il‖⁴)``, which holds for every metric."""
        triplets, total = self.loss, 0.0
        n_targets = triplets.targets.shape[1]
        for tile, squares in zip(self.pairs.tiles, self.squares(), strict=True):
            fourth = squares**2
            near = np.take_along_axis(fourth, triplets.targets[tile.rows], axis=1).sum(axis=1)
            is_other = np.not_equal.outer(triplets.codes[tile.rows], triplets.codes)
            total += float(near @ is_other.sum(axis=1))
            total += n_targets * float(fourth[is_other].sum())
        return triplets.push * triplets.function.max_curvature * total

    def to_cvxpy(self, metric: Expression) -> Terms:
        """Return Q for CVXPY: one hinge for each triplet."""
        triplets, size = self.loss, len(self.loss.codes)
        distances, position, constraints = all_distances(self.pairs.features, metric)
        sample, impostor = np.nonzero(np.not_equal.outer(triplets.codes, triplets.codes))
        expression: cp.Expression = cp.Constant(0.0)
        for targets in triplets.targets.T:
            near = distances[position[np.arange(size), targets]]
            z = triplets.margin + near[sample] - distances[position[sample, impostor]]
            expression += triplets.pull * cp.sum(near)
            expression += triplets.push * cp.sum(triplets.function.to_cvxpy(z))
        return expression, constraints

    def conic_bytes(self) -> float:
        return float(self.loss.targets.shape[1] * expression_bytes(self.pairs))
