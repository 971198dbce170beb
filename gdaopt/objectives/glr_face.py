"""The graph Laplacian regulariser as a function of the weights of atoms (DESIGN section 4).

In the samples' coordinates along the atoms, ``a = Xu``, the distances are
``δ_ij(w) = δ_ij(B) + Σ_k w_k (a_ik - a_jk)²``: K no longer appears, and a step in the weights costs
as much as one in the metric of n features would.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from gdaopt.linalg.atoms import Atoms
from gdaopt.validation import FloatArray

if TYPE_CHECKING:
    from gdaopt.objectives.glr import GLR, GLRPoint

__all__ = ["GLRAtomWeights", "GLRAtomWeightsPoint"]


class GLRAtomWeights:
    """The regulariser around a base: a `gdaopt.objectives.AtomWeights`.

    Parameters
    ----------
    objective : GLR
        The regulariser.
    base : GLRPoint
        At B.
    """

    def __init__(self, objective: GLR, base: GLRPoint) -> None:
        self.objective = objective
        self.base = base

    def at(self, atoms: Atoms, weights: FloatArray) -> GLRAtomWeightsPoint:
        """Return the point at ``B + Σ_k w_k u_k u_k'``."""
        coordinates = atoms.projected(self.objective.pairs.features)
        return GLRAtomWeightsPoint(self, atoms, coordinates, weights)


class GLRAtomWeightsPoint:
    """One point of a `GLRAtomWeights`."""

    def __init__(
        self,
        face: GLRAtomWeights,
        atoms: Atoms,
        coordinates: FloatArray,
        weights: FloatArray,
    ) -> None:
        self._face = face
        self._pairs = face.objective.pairs
        self._atoms = atoms
        self._coordinates = coordinates
        self.weights = weights
        self._sum = face.objective.summed(face.objective.blocks(self._compute))

    def _compute(self) -> Iterator[FloatArray]:
        distances = self._pairs.products(self._coordinates * self.weights, self._coordinates)
        for distance, exponent in zip(distances, self._face.base.sum.exponents, strict=True):
            yield np.subtract(exponent, distance, out=distance)

    @property
    def value(self) -> float:
        """Log Q at the metric."""
        return self._sum.log_value

    @cached_property
    def _gradient(self) -> FloatArray:
        moments = self._pairs.scatter_diagonal(self._sum.terms, self._coordinates)
        gradient: FloatArray = -moments / self._sum.total
        return gradient

    def gradient(self) -> FloatArray:
        """Return the derivatives of log Q: ``-Σ_p p (u_k'd_p)²``, p the softmax over pairs."""
        return self._gradient

    def hessian(self) -> FloatArray:
        """Return ``Φ' diag(p) Φ - rr'`` with ``Φ_pk = (u_k'd_p)²`` and ``r = Φ'p``.

        It is the covariance of Φ under p; written so, it loses no digits where a few pairs have
        almost all of p.
        """
        hessian: FloatArray = self._pairs.covariance(
            self._sum.terms, self._coordinates, -self._gradient
        )
        hessian /= self._sum.total
        return hessian

    def at(self, weights: FloatArray) -> GLRAtomWeightsPoint:
        """Return the point at other weights of the same atoms."""
        return GLRAtomWeightsPoint(self._face, self._atoms, self._coordinates, weights)

    def point(self) -> GLRPoint:
        """Return the objective at the metric ``M(w)``."""
        metric = self._atoms.added_to(self._face.base.metric, self.weights)
        return self._face.objective.known(metric, self._sum)
