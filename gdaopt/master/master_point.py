"""Q or log Q as a function of the weights of atoms."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from gdaopt.linalg.atoms import Atoms, ProjectedAtoms
from gdaopt.linalg.directions import AtomsDirection
from gdaopt.master.active_set import ActiveSet
from gdaopt.objectives.base import Objective
from gdaopt.objectives.protocol import Derivatives, Point
from gdaopt.support.validation import FloatArray, is_finite

_NEARBY = 0.1  # of the weights: closer to each other, a subsample tells no difference
_ROUND_OFF = 1e-14  # of a value


class MasterPoint:
    """F(w), which is Q or log Q at the metric ``B + Σ_k w_k u_k u_k'``, at some weights w.

    If F is not convex, Newton's method takes the magnitudes of the eigenvalues of the second
    derivatives, and goes down where it would go to a saddle point. An `UpdatedHessian` takes the
    place of second derivatives that are of a subsample (`Objective.estimates_curvature`).
    """

    def __init__(
        self,
        base: Point,
        atoms: Atoms,
        weights: FloatArray,
        log: bool = False,
        updated: UpdatedHessian | None = None,
        point: Point | None = None,
        convex: bool = True,
    ) -> None:
        self.convex = convex
        self.weights = weights
        self._base = base
        # The samples' coordinates along the atoms are the same at all weights.
        self._atoms = ProjectedAtoms.of(atoms)
        self._log = log
        self._updated = updated
        if point is None:
            point = base.line(AtomsDirection(weights, self._atoms)).at(1.0)
        self.point = point

    @classmethod
    def of(
        cls, objective: Objective, base: Point, active_set: ActiveSet, point: Point | None
    ) -> MasterPoint:
        """Return F at the weights of an active set; its point is evaluated unless it is known."""
        updated = UpdatedHessian() if objective.estimates_curvature else None
        log, convex = objective.log_convex, objective.convex
        return cls(base, active_set.atoms, active_set.weights, log, updated, point, convex)

    def at(self, weights: FloatArray) -> MasterPoint:
        """Return F at other weights of the same atoms."""
        return MasterPoint(
            self._base, self._atoms, weights, self._log, self._updated, convex=self.convex
        )

    @cached_property
    def _derivatives(self) -> Derivatives:
        return self.point.logarithm() if self._log else self.point

    @property
    def value(self) -> float:
        """F."""
        return self._derivatives.value

    @property
    def rate(self) -> float:
        """``dQ/dF``."""
        return self.point.value or 1.0 if self._log else 1.0

    @property
    def round_off(self) -> float:
        """By how much rounding changes F, of the order."""
        return _ROUND_OFF * (abs(self.value) + self._log)

    def gradient(self) -> FloatArray:
        """Return the derivatives of F, shape (n,)."""
        return self._derivatives.slopes(self._atoms)

    def hessian(self) -> FloatArray:
        """Return the second derivatives of F, or positive semidefinite ones in their place."""
        if self._updated is None:
            return self._curvature()
        return self._updated.at(self.weights, self.gradient(), self._curvature)

    def _curvature(self) -> FloatArray:
        curvature = self._derivatives.curvature(self._atoms)
        return curvature if self.convex else _with_magnitudes(curvature)


def _with_magnitudes(matrix: FloatArray) -> FloatArray:
    """Return a matrix with the magnitudes of its eigenvalues, in units of its diagonal."""
    if not is_finite(matrix):  # such a step is shortened
        return matrix
    units = np.sqrt(np.abs(np.diagonal(matrix)))
    units[units == 0] = 1.0
    values, vectors = np.linalg.eigh(matrix / np.outer(units, units))
    scaled = units[:, None] * vectors
    magnitudes: FloatArray = (scaled * np.abs(values)) @ scaled.T
    return magnitudes


class UpdatedHessian:
    """The second derivatives of a subsample, updated (BFGS) by the gradients at short steps."""

    def __init__(self) -> None:
        self._last: tuple[FloatArray, FloatArray, FloatArray] | None = None

    def at(
        self, weights: FloatArray, gradient: FloatArray, curvature: Callable[[], FloatArray]
    ) -> FloatArray:
        """Return the matrix at weights with a gradient."""
        hessian = None if self._last is None else _update(*self._last, weights, gradient)
        if hessian is None:
            hessian = curvature()
        self._last = weights, gradient, hessian
        return hessian


def _update(
    start: FloatArray,
    slope: FloatArray,
    hessian: FloatArray,
    weights: FloatArray,
    gradient: FloatArray,
) -> FloatArray | None:
    """Return the Hessian after a step; None if the step was long."""
    step, bend = weights - start, gradient - slope
    if float(np.abs(step).sum()) > _NEARBY * float(start.sum()):
        return None
    curved = hessian @ step
    measured, expected = float(bend @ step), float(curved @ step)
    if not (measured > 0 and expected > 0):
        return hessian
    updated: FloatArray = (
        hessian + np.outer(bend, bend) / measured - np.outer(curved, curved) / expected
    )
    return updated
