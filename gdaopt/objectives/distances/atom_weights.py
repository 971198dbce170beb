"""An objective of distances as a function of the weights of atoms.

It needs only the samples' coordinates along the atoms, ``a = Xu``: the distances are
``δ_ij(w) = δ_ij(B) + Σ_k w_k (a_ik - a_jk)²``. K no longer appears.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from gdaopt.linalg.atoms import Atoms
from gdaopt.objectives.distances.loss_sum import LossSum
from gdaopt.objectives.distances.pair_loss import PairLoss
from gdaopt.objectives.distances.point import DistancePoint
from gdaopt.support.validation import FloatArray

__all__ = ["DistanceAtomWeights", "DistanceAtomWeightsPoint"]


class DistanceAtomWeights:
    """An objective around a base B as a function of the weights of atoms: an `AtomWeights`.

    Parameters
    ----------
    base : DistancePoint
        The objective at B.
    """

    def __init__(self, base: DistancePoint) -> None:
        self.pair_loss: PairLoss = base.pair_loss
        self.base = base

    def at(self, atoms: Atoms, weights: FloatArray) -> DistanceAtomWeightsPoint:
        """Return the point at ``B + Σ_k w_k u_k u_k'``."""
        return DistanceAtomWeightsPoint(_Along(self, atoms), weights)


class _Along:
    """What all points along the same atoms share."""

    def __init__(self, atom_weights: DistanceAtomWeights, atoms: Atoms) -> None:
        self.pair_loss = atom_weights.pair_loss
        self.base = atom_weights.base
        self.atoms = atoms
        self.coordinates = atoms.projected(self.pair_loss.pairs.features)


class DistanceAtomWeightsPoint:
    """An objective at given weights of given atoms: an `AtomWeightsPoint`."""

    def __init__(self, along: _Along, weights: FloatArray) -> None:
        self._along = along
        self.weights = weights
        pair_loss = along.pair_loss
        distances = pair_loss.pair_values(self._compute_distances)
        # The coefficients are not kept: the gradient by the weights is one pass, as the value is.
        self._loss = LossSum(pair_loss.loss, pair_loss.pairs, distances)

    def _compute_distances(self) -> Iterator[FloatArray]:
        coordinates = self._along.coordinates
        changes = self._along.pair_loss.pairs.products(coordinates * self.weights, coordinates)
        for change, distance in zip(changes, self._along.base.loss.distances, strict=True):
            yield np.add(distance, change, out=change)

    @property
    def value(self) -> float:
        """Q at the metric."""
        return self._loss.value

    @cached_property
    def _gradient(self) -> FloatArray:
        pairs, coordinates = self._along.pair_loss.pairs, self._along.coordinates
        return pairs.scatter_diagonal(self._loss.coefficients, coordinates)

    def gradient(self) -> FloatArray:
        """Return the derivatives ``u_k' ∇Q u_k``."""
        return self._gradient

    def hessian(self) -> FloatArray:
        """Return the second derivatives ("Lemma: second derivatives of losses of distances")."""
        return self._loss.hessian(self._along.coordinates)

    def at(self, weights: FloatArray) -> DistanceAtomWeightsPoint:
        """Return the point at other weights of the same atoms."""
        return DistanceAtomWeightsPoint(self._along, weights)

    def point(self) -> DistancePoint:
        """Return the objective at the metric ``M(w)``; its distances are known already."""
        along = self._along
        metric = along.atoms.added_to(along.base.metric, self.weights)
        round_off = along.base.distance_round_off.with_atoms(along.atoms, self.weights)
        return DistancePoint(along.pair_loss, metric, self._loss.distances, round_off)
