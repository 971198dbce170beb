"""The graph Laplacian regulariser as a function of the weights of atoms.

It needs only the samples' coordinates along the atoms, ``a = Xu``: the distances are
``δ_ij(w) = δ_ij(B) + Σ_k w_k (a_ik - a_jk)²``. K no longer appears, and a step in the weights costs
as much as one in the metric of n features would.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

import numpy as np

from gdaopt.linalg.atoms import Atoms
from gdaopt.objectives.glr_point import GLRPoint, Regulariser
from gdaopt.objectives.many_pairs import thinned
from gdaopt.support.validation import FloatArray

__all__ = ["GLRAtomWeights", "GLRAtomWeightsPoint"]


class GLRAtomWeights:
    """The regulariser around a base B as a function of the weights of atoms: an `AtomWeights`.

    Parameters
    ----------
    objective : Regulariser
        The regulariser.
    base : GLRPoint
        The regulariser at B.
    log : bool
        Whether it is log Q.
    """

    def __init__(self, objective: Regulariser, base: GLRPoint, log: bool) -> None:
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

    @property
    def _terms(self) -> Iterable[FloatArray]:
        """The terms that second derivatives are summed over."""
        n_pairs = self._atom_weights.objective.n_pairs_meant
        if not n_pairs:
            return self._sum.terms
        return thinned(self._sum.terms, self._sum.total, len(self.weights), n_pairs)

    def gradient(self) -> FloatArray:
        """Return the derivatives of Q."""
        gradient: FloatArray = -self._sum.scale * self._moments
        return gradient

    def hessian(self) -> FloatArray:
        """Return the second derivatives of Q: ``Σ_p A_p (u_k'd_p)² (u_l'd_p)²``."""
        nothing = np.zeros(len(self._moments))
        if not self._sum.scale:  # a term of a sum that has underflowed: its moments may overflow
            return np.outer(nothing, nothing)
        hessian = self._pairs.covariance(self._terms, self._coordinates, nothing)
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
            self._terms, self._coordinates, -self._gradient
        )
        hessian /= self._sum.total
        return hessian
