"""Q or log Q as a function of the weights of atoms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gdaopt.linalg.atoms import Atoms, ProjectedAtoms
from gdaopt.linalg.directions import AtomsDirection
from gdaopt.objectives.protocol import Derivatives, Point
from gdaopt.support.validation import FloatArray, is_finite

_NEARBY = 0.1  # share of the weights: closer to each other, a subsample tells no difference
_ROUND_OFF = 1e-14  # share of a value


class MasterFunction:
    """F(w), which is Q or log Q at the metric ``B + Σ_k w_k u_k u_k'``.

    If F is not convex, Newton's method takes the magnitudes of the eigenvalues of the second
    derivatives, and goes down where it would go to a saddle point. An `UpdatedHessian` takes the
    place of second derivatives that are of a subsample (`Objective.estimates_curvature`).
    """

    def __init__(
        self,
        base_point: Point,
        atoms: Atoms,
        log: bool = False,
        convex: bool = True,
        estimates_curvature: bool = False,
    ) -> None:
        self.base_point, self.log, self.convex = base_point, log, convex
        self.updated = UpdatedHessian() if estimates_curvature else None
        # The samples' coordinates along the atoms are the same at all weights.
        self.atoms = ProjectedAtoms.of(atoms)

    def at(self, x: FloatArray, point: Point | None = None) -> MasterPoint:
        """Evaluate F at weights and their slack, and the objective unless its point is given."""
        weights, total = x[:-1], float(x.sum())
        if point is None:
            point = self.base_point.line(AtomsDirection(weights, self.atoms)).at(1.0)
        derivatives = point.logarithm() if self.log else point
        gradient, slope = derivatives.slopes(self.atoms), np.zeros(len(x))
        slope[:-1] = gradient
        with np.errstate(invalid="ignore"):  # 0·∞: such a step went too far, and is shortened
            slope -= float(weights @ gradient) / total if total else 0.0
        return MasterPoint(self, x, point, derivatives, derivatives.value, gradient, slope)


@dataclass(frozen=True, eq=False)
class MasterPoint:
    """F at some weights.

    Attributes
    ----------
    x : ndarray of shape (n + 1,)
        The weights, then the slack, which is what they leave of their largest sum.
    point : Point
        The objective there.
    gradient : ndarray of shape (n,)
        The derivatives of F by the weights.
    slope : ndarray of shape (n + 1,)
        Those by x, less their mean under x: steps of sum 0 see no difference.
    """

    function: MasterFunction
    x: FloatArray
    point: Point
    derivatives: Derivatives
    value: float
    gradient: FloatArray
    slope: FloatArray

    @property
    def weights(self) -> FloatArray:
        """The weights, shape (n,)."""
        return self.x[:-1]

    @property
    def gap(self) -> float:
        """The Frank–Wolfe gap: F is at most this far above its minimum over the weights."""
        return -float(self.x.sum()) * float(self.slope.min())

    @property
    def rate(self) -> float:
        """``dQ/dF``."""
        return self.point.value or 1.0 if self.function.log else 1.0

    @property
    def round_off(self) -> float:
        """By how much rounding changes F, of the order."""
        return _ROUND_OFF * (abs(self.value) + self.function.log)

    def hessian(self) -> FloatArray:
        """Return the second derivatives by x, or positive semidefinite ones in their place.

        They do not depend on the slack.
        """
        updated, hessian = self.function.updated, np.zeros((len(self.x), len(self.x)))
        if updated is None:
            hessian[:-1, :-1] = self._curvature()
        else:
            hessian[:-1, :-1] = updated.at(self.weights, self.gradient, self._curvature)
        return hessian

    def _curvature(self) -> FloatArray:
        """Return the second derivatives by the weights, with magnitudes if F is not convex."""
        curvature = self.derivatives.curvature(self.function.atoms)
        return curvature if self.function.convex else _with_magnitudes(curvature)


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

    # The last weights, the gradient there and the matrix.
    _last: tuple[FloatArray, FloatArray, FloatArray] | None = None

    def at(
        self, weights: FloatArray, gradient: FloatArray, curvature: Callable[[], FloatArray]
    ) -> FloatArray:
        """Return the last matrix, updated, or the subsample's curvature if the step was long."""
        matrix = self._after_step(weights, gradient)
        if matrix is None:
            matrix = curvature()
        self._last = weights, gradient, matrix
        return matrix

    def _after_step(self, weights: FloatArray, gradient: FloatArray) -> FloatArray | None:
        if self._last is None:
            return None
        start, slope, hessian = self._last
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
