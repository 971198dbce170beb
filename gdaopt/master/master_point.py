"""The active set, and Q or log Q as a function of its weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gdaopt.linalg.atoms import Atoms, ProjectedAtoms
from gdaopt.linalg.directions import AtomsDirection
from gdaopt.objectives.protocol import Derivatives, Point, minimised
from gdaopt.support.validation import FloatArray, is_finite

_SAME = 1e-7  # distance of two atoms that count as one; an objective changes by its square
_NEARBY = 0.1  # of the weights: closer to each other, a subsample tells no difference


@dataclass(frozen=True, eq=False)
class ActiveSet:
    """Atoms and their weights w ≥ 0, of shape (n,)."""

    atoms: Atoms
    weights: FloatArray

    def __len__(self) -> int:
        return len(self.weights)

    @property
    def total(self) -> float:
        """The sum of the weights."""
        return float(self.weights.sum())

    def without_zeros(self) -> ActiveSet:
        """Return the active set without the atoms of weight 0."""
        kept = self.weights > 0
        return self if kept.all() else ActiveSet(self.atoms[kept], self.weights[kept])

    def with_new(self, atoms: Atoms) -> ActiveSet:
        """Return the active set with new atoms, of weight 0; atoms it already has do not join."""
        if not len(self):
            return ActiveSet(atoms, np.zeros(len(atoms)))
        new = atoms[self.nearest(atoms)[1] > _SAME]
        return ActiveSet(self.atoms.joined(new), np.concatenate([self.weights, np.zeros(len(new))]))

    def on_the_way(self, other: ActiveSet, share: float) -> ActiveSet:
        """Return the metric that is a share of the way to another active set's."""
        joined = self.with_new(other.atoms)
        weights = (1 - share) * joined.weights
        np.add.at(weights, joined.nearest(other.atoms)[0], share * other.weights)
        return ActiveSet(joined.atoms, weights)

    def nearest(self, atoms: Atoms) -> tuple[np.ndarray, FloatArray]:
        """Return for each given atom the nearest own one, up to its sign, and its distance."""
        cosines = np.abs(atoms.products(self.atoms))
        nearest = cosines.argmax(axis=1)
        cosine = np.minimum(cosines[np.arange(len(atoms)), nearest], 1.0)
        return nearest, np.sqrt(2 * (1 - cosine))


class MasterPoint:
    """F(w), which is Q or log Q at the metric ``B + Σ_k w_k u_k u_k'``, at some weights w.

    Where F is not convex, Newton's method takes the magnitudes of the eigenvalues of the second
    derivatives, and goes down where it would go to a saddle point. With a model, second derivatives
    are updated at short steps: they are of a subsample (`Objective.estimates_curvature`).
    """

    def __init__(
        self,
        base: Point,
        atoms: Atoms,
        weights: FloatArray,
        log: bool = False,
        model: UpdatedHessian | None = None,
        point: Point | None = None,
        convex: bool = True,
    ) -> None:
        self.convex = convex
        self.weights = weights
        self._base = base
        # The samples' coordinates along the atoms are the same at all weights.
        self._atoms = ProjectedAtoms.of(atoms)
        self._log = log
        self._model = model
        if point is None:
            point = base.line(AtomsDirection(weights, self._atoms)).at(1.0)
        self.point = point

    @cached_property
    def _derivatives(self) -> Derivatives:
        return minimised(self.point, self._log)

    @property
    def value(self) -> float:
        """F."""
        return self._derivatives.value

    def gradient(self) -> FloatArray:
        """Return the derivatives of F, shape (n,)."""
        return self._derivatives.slopes(self._atoms)

    def hessian(self) -> FloatArray:
        """Return the second derivatives of F, or a positive semidefinite model of them."""
        if self._model is None:
            return self._curvature()
        return self._model.at(self.weights, self.gradient(), self._curvature)

    def _curvature(self) -> FloatArray:
        curvature = self._derivatives.curvature(self._atoms)
        return curvature if self.convex else _with_magnitudes(curvature)

    def at(self, weights: FloatArray) -> MasterPoint:
        """Return F at other weights of the same atoms."""
        return MasterPoint(
            self._base, self._atoms, weights, self._log, self._model, convex=self.convex
        )


def _with_magnitudes(matrix: FloatArray) -> FloatArray:
    """Return a matrix with the magnitudes of its eigenvalues, in units of its diagonal."""
    if not is_finite(matrix):  # such a step is shortened
        return matrix
    units = np.sqrt(np.abs(np.diagonal(matrix)))
    units[units == 0] = 1.0
    values, vectors = np.linalg.eigh(matrix / np.outer(units, units))
    scaled = units[:, None] * vectors
    found: FloatArray = (scaled * np.abs(values)) @ scaled.T
    return found


class UpdatedHessian:
    """The second derivatives of a subsample, updated (BFGS) by the gradients at short steps."""

    def __init__(self) -> None:
        self._known: tuple[FloatArray, FloatArray, FloatArray] | None = None

    def at(
        self, weights: FloatArray, gradient: FloatArray, curvature: Callable[[], FloatArray]
    ) -> FloatArray:
        """Return the matrix at weights where the gradient is known."""
        hessian = None if self._known is None else _updated(*self._known, weights, gradient)
        if hessian is None:
            hessian = curvature()
        self._known = weights, gradient, hessian
        return hessian


def _updated(
    start: FloatArray,
    slope: FloatArray,
    hessian: FloatArray,
    weights: FloatArray,
    gradient: FloatArray,
) -> FloatArray | None:
    """Return the Hessian after a step; None where the step was long."""
    step, bend = weights - start, gradient - slope
    if float(np.abs(step).sum()) > _NEARBY * float(start.sum()):
        return None
    curved = hessian @ step
    found, expected = float(bend @ step), float(curved @ step)
    if not (found > 0 and expected > 0):
        return hessian
    updated: FloatArray = (
        hessian + np.outer(bend, bend) / found - np.outer(curved, curved) / expected
    )
    return updated
