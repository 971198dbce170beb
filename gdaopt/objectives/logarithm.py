"""The logarithm of a positive objective at one metric, with its derivatives along atoms.

Where Q spans decades its logarithm does not, and where it is convex, too, methods minimise it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gdaopt.linalg.atoms import Atoms
from gdaopt.objectives.protocol import Derivatives
from gdaopt.support.validation import FloatArray

__all__ = ["ExponentialLogarithm", "Logarithm", "MultipleLogarithm", "minimised"]


def minimised(point: Any, log_convex: bool) -> Derivatives:
    """Return the function that methods minimise at a point: log Q where it is convex, else Q."""
    found: Derivatives = point.logarithm() if log_convex else point
    return found


@dataclass(frozen=True, eq=False)
class Logarithm(Derivatives):
    """``log Q`` from Q itself, -inf where Q is not positive.

    With the derivatives g of log Q the second ones are ``∇²Q / Q - gg'``.
    """

    of: Derivatives

    @property
    def value(self) -> float:
        return math.log(self.of.value) if self.of.value > 0 else -math.inf

    def slopes(self, atoms: Atoms) -> FloatArray:
        return self.of.slopes(atoms) / self.of.value

    def curvature(self, atoms: Atoms) -> FloatArray:
        slopes = self.slopes(atoms)
        curvature: FloatArray = self.of.curvature(atoms) / self.of.value
        return curvature - np.outer(slopes, slopes)


@dataclass(frozen=True, eq=False)
class MultipleLogarithm(Derivatives):
    """The logarithm of a positive multiple: its derivatives are those of ``log Q``."""

    logarithm: Derivatives
    factor: float

    @property
    def value(self) -> float:
        return math.log(self.factor) + self.logarithm.value

    def slopes(self, atoms: Atoms) -> FloatArray:
        return self.logarithm.slopes(atoms)

    def curvature(self, atoms: Atoms) -> FloatArray:
        return self.logarithm.curvature(atoms)


@dataclass(frozen=True, eq=False)
class ExponentialLogarithm(Derivatives):
    """The logarithm of a sum of exponentials over pairs.

    Nothing underflows, because all sums are in units of ``exp(shift)``.
    """

    point: Any  # a PairPoint imports this module

    @property
    def value(self) -> float:
        return float(self.point.total.log_value)

    def gradient(self) -> FloatArray:
        """Return ``∇ log Q(M)``, shape (K, K): a softmax over pairs."""
        gradient: FloatArray = -self.point.scatter / self.point.total.scaled
        return gradient

    def slopes(self, atoms: Atoms) -> FloatArray:
        slopes: FloatArray = self.point.scaled_slopes(atoms) / self.point.total.scaled
        return slopes

    def curvature(self, atoms: Atoms) -> FloatArray:
        """Return the second derivatives of ``log Q`` by the weights of atoms, shape (n, n).

        With the shares p of the pairs in Q these are the covariance of the changes under p.
        Computed as a covariance they lose no digits where a few pairs have almost all of p.
        """
        modelled = self.point.modelled
        means = -modelled.kept_slopes(atoms) / modelled.sum.total.scaled
        curvature: FloatArray = modelled.scaled_curvature(atoms, means) / modelled.sum.total.scaled
        return curvature
