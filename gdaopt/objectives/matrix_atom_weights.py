"""Objectives as functions of the weights of atoms, evaluated at the K×K metric itself.

This is for objectives without a short cut of their own, such as that of the graph Laplacian
regulariser, which works in the samples' coordinates along the atoms.
"""

from __future__ import annotations

from typing import Protocol

from gdaopt.linalg.atoms import Atoms
from gdaopt.objectives.protocol import Point
from gdaopt.validation import FloatArray

__all__ = ["CurvedPoint", "MatrixAtomWeights", "MatrixAtomWeightsPoint"]


class CurvedPoint(Point, Protocol):
    """A point that knows the second derivatives of Q along atoms."""

    def curvature(self, atoms: Atoms) -> FloatArray:
        """Return ``∇²Q(M)[u_k u_k', u_l u_l']``, shape (n, n)."""


class _CurvedObjective(Protocol):
    """An objective whose points know their curvature."""

    def at(self, metric: FloatArray) -> CurvedPoint:
        """Return the point at a symmetric K×K matrix."""


class MatrixAtomWeights:
    """Q around a base B as a function of the weights of atoms: an `AtomWeights`.

    Parameters
    ----------
    objective : Objective
        Q; its points are `CurvedPoint`.
    base : ndarray of shape (K, K)
        B.
    """

    def __init__(self, objective: _CurvedObjective, base: FloatArray) -> None:
        self.objective = objective
        self.base = base

    def at(self, atoms: Atoms, weights: FloatArray) -> MatrixAtomWeightsPoint:
        """Return the point at ``B + Σ_k w_k u_k u_k'``."""
        return MatrixAtomWeightsPoint(self, atoms, weights)


class MatrixAtomWeightsPoint:
    """Q at given weights of given atoms, from Q at their metric: an `AtomWeightsPoint`."""

    def __init__(self, atom_weights: MatrixAtomWeights, atoms: Atoms, weights: FloatArray) -> None:
        self._atom_weights = atom_weights
        self._atoms = atoms
        self.weights = weights
        self._point = atom_weights.objective.at(atoms.added_to(atom_weights.base, weights))

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

    def at(self, weights: FloatArray) -> MatrixAtomWeightsPoint:
        """Return the point at other weights of the same atoms."""
        return MatrixAtomWeightsPoint(self._atom_weights, self._atoms, weights)

    def point(self) -> Point:
        """Return the objective at the metric."""
        return self._point
