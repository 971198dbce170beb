"""Objectives as functions of the weights of atoms, evaluated at the K×K metric itself.

This is for objectives without a short cut of their own, such as that of the graph Laplacian
regulariser, which works in the samples' coordinates along the atoms.
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from gdaopt.linalg.atoms import Atoms
from gdaopt.objectives.protocol import AtomWeights, AtomWeightsPoint, Point
from gdaopt.support.validation import FloatArray

__all__ = ["CurvedPoint", "LogAtomWeights", "MatrixAtomWeights", "MatrixAtomWeightsPoint"]


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


class LogAtomWeights:
    """The logarithm of a positive objective as a function of the weights of atoms.

    Parameters
    ----------
    atom_weights : AtomWeights
        Q.
    """

    def __init__(self, atom_weights: AtomWeights) -> None:
        self._atom_weights = atom_weights

    def at(self, atoms: Atoms, weights: FloatArray) -> LogAtomWeightsPoint:
        """Return the point at ``B + Σ_k w_k u_k u_k'``."""
        return LogAtomWeightsPoint(self._atom_weights.at(atoms, weights))


class LogAtomWeightsPoint:
    """The logarithm at given weights of given atoms: an `AtomWeightsPoint`."""

    def __init__(self, inner: AtomWeightsPoint) -> None:
        self._inner = inner

    @property
    def weights(self) -> FloatArray:
        """The weights w."""
        return self._inner.weights

    @property
    def value(self) -> float:
        """``log Q``."""
        return math.log(self._inner.value) if self._inner.value > 0 else -math.inf

    def gradient(self) -> FloatArray:
        """Return ``∇Q / Q``."""
        gradient: FloatArray = self._inner.gradient() / self._inner.value
        return gradient

    def hessian(self) -> FloatArray:
        """Return ``∇²Q / Q - gg'`` with the gradient g of log Q."""
        gradient = self.gradient()
        hessian: FloatArray = self._inner.hessian() / self._inner.value
        return hessian - np.outer(gradient, gradient)

    def at(self, weights: FloatArray) -> LogAtomWeightsPoint:
        """Return the point at other weights of the same atoms."""
        return LogAtomWeightsPoint(self._inner.at(weights))

    def point(self) -> Point:
        """Return the objective at the metric."""
        return self._inner.point()
