"""The loss of LMNN: hinges over triplets of a sample, a target neighbour and an impostor."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

from gdaopt.objectives.distances.labels import Codes
from gdaopt.objectives.distances.scalar import SmoothHinge
from gdaopt.objectives.pairs import Block, Changes
from gdaopt.support.deadline import check_time
from gdaopt.support.validation import FloatArray

__all__ = ["NeighborTriplets", "target_neighbors"]

_BLOCK_ENTRIES = 2**18  # 2 MB: the distances that neighbours are found in

Indices = npt.NDArray[np.intp]


def target_neighbors(features: FloatArray, codes: Codes, n_neighbors: int) -> Indices:
    """Return the nearest samples of the same class by Euclidean distance, shape (N, n_neighbors).

    Of samples that are equally near, those that come first are taken.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [3.0], [0.5]])
    >>> target_neighbors(X, np.array([0, 0, 0, 1]), 1)[:3].ravel()
    array([1, 0, 1])
    """
    targets = np.zeros((len(features), n_neighbors), dtype=np.intp)
    for code in range(int(codes.max()) + 1):
        members = np.flatnonzero(codes == code)
        step = max(1, _BLOCK_ENTRIES // len(members))
        for start in range(0, len(members), step):
            check_time()
            some = members[start : start + step]
            distances = cdist(features[some], features[members], "sqeuclidean")
            distances[np.arange(len(some)), start + np.arange(len(some))] = np.inf
            nearest = np.argsort(distances, axis=1, kind="stable")[:, :n_neighbors]
            # In a class that is too small a sample would be its own neighbour.
            targets[some, : nearest.shape[1]] = members[nearest]
    return targets


class NeighborTriplets:
    """``a Σ_ij δ_ij + b Σ_ijl h(m + δ_ij - δ_il)``: a `DistanceLoss` of ordered pairs.

    j are the target neighbours of sample i, l the samples of other classes, and h is a smoothed
    hinge. Samples are sorted by class.

    Parameters
    ----------
    codes : ndarray of int, shape (N,)
        Classes, ascending.
    targets : ndarray of int, shape (N, k)
        j, for each i.
    pull, push : float
        a and b.
    margin : float
        m.
    hinge : SmoothHinge
        h.
    """

    curved_everywhere = False
    value_roundings = 32.0

    def __init__(
        self,
        codes: Codes,
        targets: Indices,
        pull: float,
        push: float,
        margin: float,
        hinge: SmoothHinge,
    ) -> None:
        self.targets = targets
        self.pull = pull
        self.push = push
        self.margin = margin
        self.hinge = hinge
        self._bounds = np.flatnonzero(np.diff(codes, prepend=-1, append=codes[-1] + 1)).tolist()
        self.coefficient_roundings = float(len(codes) + 32)  # sums over impostors

    def offsets(self, block: Block) -> None:
        """Return None: of one pair all terms have the same sign."""

    def at(self, block: Block, distances: FloatArray) -> _Triplets:
        """Return the loss at rows of distances."""
        return _Triplets(self, block, distances)

    def own_classes(self, block: Block) -> list[tuple[slice, slice]]:
        """Return rows of a block, from 0 on, and the columns of their class."""
        first, last = block.rows.start, block.rows.stop
        return [
            (slice(max(start - first, 0), min(last, stop) - first), slice(start, stop))
            for start, stop in pairwise(self._bounds)
            if start < last and stop > first
        ]


class _Triplets:
    """The loss in some rows: a `BlockLoss`. Of the triplets it sees those within the margin."""

    def __init__(self, loss: NeighborTriplets, block: Block, distances: FloatArray) -> None:
        self._loss = loss
        self._shape = distances.shape
        self._rows = np.arange(len(distances))[:, None]
        self._targets = loss.targets[block.rows]
        self._near = distances[self._rows, self._targets]
        reach = loss.margin + self._near
        within = distances < reach.max(axis=1)[:, None]
        for rows, columns in loss.own_classes(block):
            within[rows, columns] = False
        self._row, self._impostor = np.divmod(np.flatnonzero(within), within.shape[1])
        self._far = distances[self._row, self._impostor]
        self._beyond = reach[self._row] - self._far[:, None]
        self._hinge, self._first = loss.hinge(self._beyond)

    @cached_property
    def value(self) -> float:
        loss = self._loss
        return loss.pull * float(self._near.sum()) + loss.push * float(self._hinge.sum())

    @property
    def magnitude(self) -> float:
        loss = self._loss
        sizes = loss.margin + 2 * np.abs(self._near[self._row]) + np.abs(self._far)[:, None]
        pushed = float((self._hinge + self._first * sizes).sum())
        return loss.pull * float(np.abs(self._near).sum()) + loss.push * pushed

    def coefficients(self) -> FloatArray:
        loss = self._loss
        coefficients = np.zeros(self._shape)
        coefficients[self._row, self._impostor] = -loss.push * self._first.sum(axis=1)
        for k, targets in enumerate(self._targets.T):
            pushed = np.bincount(self._row, self._first[:, k], self._shape[0])
            coefficients[self._rows[:, 0], targets] += loss.pull + loss.push * pushed
        return coefficients

    def factors(self, changes: Changes) -> FloatArray:
        """Return ``√(b h'') (φ_ij - φ_il)`` of the triplets where the hinge is bent."""
        found, second = [], self._loss.hinge.second(self._beyond)
        for k, targets in enumerate(self._targets.T):
            bent = second[:, k] > 0
            row, impostor = self._row[bent], self._impostor[bent]
            difference = changes.at(row, targets[row]) - changes.at(row, impostor)
            difference *= np.sqrt(self._loss.push * second[bent, k])
            found.append(difference)
        return np.concatenate(found, axis=1)
