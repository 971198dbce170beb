"""The base of objectives that are evaluated at the K×K metric, not at distances of samples."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from gdaopt.objectives.matrix_atom_weights import CurvedPoint, MatrixAtomWeights
from gdaopt.objectives.sums import Summable
from gdaopt.support.validation import FloatArray, symmetric_matrix

__all__ = ["MatrixObjective"]

PointT = TypeVar("PointT", bound=CurvedPoint)


class MatrixObjective(Summable, ABC, Generic[PointT]):
    """Base of objectives whose points know value, gradient and curvature.

    A subclass writes its points, its CVXPY expression and its Lipschitz constant.
    """

    log_convex = False
    tested = True

    @property
    @abstractmethod
    def n_features(self) -> int:
        """K, the size of the metric matrices."""

    @abstractmethod
    def _point(self, metric: FloatArray) -> PointT:
        """Return the point at a symmetric K×K matrix that has been checked."""

    def at(self, metric: FloatArray) -> PointT:
        """Return the point at a symmetric K×K matrix."""
        return self._point(symmetric_matrix("metric", metric, self.n_features))

    def atom_weights(
        self,
        base: FloatArray,
        log: bool = False,  # noqa: ARG002 (log Q is not convex)
    ) -> MatrixAtomWeights:
        """Return Q as a function of the weights of atoms."""
        return MatrixAtomWeights(self, base)

    def value(self, metric: FloatArray) -> float:
        """Return ``Q(M)``, infinite outside of Q's domain."""
        return self.at(metric).value

    def gradient(self, metric: FloatArray) -> FloatArray:
        """Return ``∇Q(M)``, symmetric K×K."""
        return self.at(metric).gradient()
