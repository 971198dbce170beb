"""The weights of atoms for objectives that are evaluated at the K×K metric itself."""

from __future__ import annotations

from typing import Protocol

from gdaopt.linalg.atoms import Atoms
from gdaopt.objectives.protocol import Point
from gdaopt.validation import FloatArray

__all__ = ["CurvedPoint", "MetricAtomWeights", "MetricAtomWeightsPoint"]


class CurvedPoint(Point, Protocol):
    """A point that knows the second derivatives of Q along atoms."""

    def curvature(self, atoms: Atoms) -> FloatArray:
        """Return ``∇²Q(M)[u_k u_k', u_l u_l']``, shape (n, n)."""


class _CurvedObjective(Protocol):
    """An objective whose points know their curvature."""

    def at(self, metric: FloatArray) -> CurvedPoint:
        """Return the point at a symmetric K×K matrix."""


class MetricAtomWeights:
    """Q as a function of the weights of atoms: a `gdaopt.objectives.AtomWeights` of K×K matrices.

    Parameters
    ----------
    objective : Objective
        Whose points have a `CurvedPoint.curvature`.
    base : ndarray of shape (K, K)
        B.
    """

    def __init__(self, objective: _CurvedObjective, base: FloatArray) -> None:
        self.objective = objective
        self.base = base

    def at(self, atoms: Atoms, weights: FloatArray) -> MetricAtomWeightsPoint:
        """Return the point at ``B + Σ_k w_k u_k u_k'``."""
        return MetricAtomWeightsPoint(self, atoms, weights)


class MetricAtomWeightsPoint:
    """One point of a `MetricAtomWeights`: all it knows comes from the objective at the metric."""

    def __init__(self, face: MetricAtomWeights, atoms: Atoms, weights: FloatArray) -> None:
        self._face = face
        self._atoms = atoms
        self.weights = weights
        self._point = face.objective.at(atoms.added_to(face.base, weights))

    @property
    def value(self) -> float:
        """Q at the metric."""
        return self._point.value

    def gradient(self) -> FloatArray:
        """Return ``u_k' ∇Q u_k``."""
        return self._atoms.quadratic_forms(self._point.gradient())

    def hessian(self) -> FloatArray:
        """Return ``∇²Q[u_k u_k', u_l u_l']``."""
        return self._point.curvature(self._atoms)

    def at(self, weights: FloatArray) -> MetricAtomWeightsPoint:
        """Return the point at other weights of the same atoms."""
        return MetricAtomWeightsPoint(self._face, self._atoms, weights)

    def point(self) -> Point:
        """Return the objective at the metric."""
        return self._point
