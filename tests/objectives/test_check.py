"""The check of an objective finds what is wrong with it."""

from __future__ import annotations

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.errors import InvalidInputError
from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.directions import (
    DeferredMatrix,
    Direction,
)
from gdaopt.linalg.entries import Edges
from gdaopt.linalg.masked import MaskedMatrix
from gdaopt.objectives import PairPoint
from gdaopt.objectives.glr import ExponentialLine
from gdaopt.support.validation import FloatArray
from tests.objectives.cases import LogDet, N, samples


class WrongGradient(LogDet):
    def gradient(self, metric: FloatArray) -> FloatArray:
        return 1.001 * super().gradient(metric)


class AsymmetricGradient(LogDet):
    def gradient(self, metric: FloatArray) -> FloatArray:
        return super().gradient(metric) + np.diag(np.full(len(metric) - 1, 0.01), 1)


class Concave(gda.DenseObjective):
    def value(self, metric: FloatArray) -> float:
        return -float(np.sum(metric**2))

    def gradient(self, metric: FloatArray) -> FloatArray:
        return -2 * metric


class PatchedGLR(gda.GLR):
    """A GLR whose points are of another class."""

    def __init__(self, point: type[PairPoint]) -> None:
        rng = np.random.default_rng(0)
        super().__init__(samples(rng)[:, :3], rng.standard_normal(N))
        self.point = point

    def at(self, metric: FloatArray) -> PairPoint:
        return self.point(self, DeferredMatrix(metric.copy))


class WrongColumn(PairPoint):
    def gradient_column(self, column: int) -> FloatArray:
        return super().gradient_column(0)


class WrongDiagonal(PairPoint):
    def gradient_diagonal(self) -> FloatArray:
        return 2 * super().gradient_diagonal()


class WrongEntries(PairPoint):
    def gradient_entries(self, edges: Edges) -> MaskedMatrix:
        right = super().gradient_entries(edges)
        return MaskedMatrix(right.on_diagonal, 2 * right.on_edges, edges)


class WrongCurvatureLine(ExponentialLine):
    def derivatives(self, gamma: float) -> tuple[float, float]:
        slope, curvature = super().derivatives(gamma)
        return slope, 0.9 * curvature


class WrongCurvature(PairPoint):
    def line(self, direction: Direction) -> ExponentialLine:
        right = super().line(direction)
        return WrongCurvatureLine(direction, self.sum, right.rates)


class WrongSlopes(PairPoint):
    def slopes(self, atoms: Atoms) -> FloatArray:
        return 2 * super().slopes(atoms)


class WrongSecondDerivatives(PairPoint):
    def curvature(self, atoms: Atoms) -> FloatArray:
        return 0.9 * super().curvature(atoms)


class WrongMove(PairPoint):
    def moved(self, direction: Direction, gamma: float) -> PairPoint:
        return super().moved(direction, 2 * gamma)


class StaleMove(PairPoint):
    def moved(self, direction: Direction, gamma: float) -> PairPoint:
        return PairPoint(self.objective, self._metric.moved(direction, gamma), self.sum.distances)


class TestCheckObjective:
    @pytest.mark.parametrize(
        ("objective", "message"),
        [
            (WrongGradient(np.eye(3)), "^the line's slope along a"),
            (AsymmetricGradient(np.eye(3)), "^the gradient is symmetric: error 0.01"),
            (Concave(3), "^the objective is not convex: its second derivative along a"),
            (PatchedGLR(WrongColumn), "^gradient_column: error"),
            (PatchedGLR(WrongDiagonal), "^gradient_diagonal: error"),
            (PatchedGLR(WrongEntries), "^gradient_entries: error"),
            (PatchedGLR(WrongCurvature), "^the line's curvature along a DiagonalDirection"),
            (PatchedGLR(WrongSlopes), "^slopes: error"),
            (PatchedGLR(WrongSecondDerivatives), "^curvature: error"),
            (PatchedGLR(WrongMove), "^the metric moved along a DiagonalDirection"),
            (PatchedGLR(StaleMove), "^the value moved along a DiagonalDirection"),
        ],
        ids=lambda value: type(value).__name__,
    )
    def test_names_what_is_wrong(self, objective: gda.GLR, message: str) -> None:
        with pytest.raises(InvalidInputError, match=message):
            gda.check_objective(objective)

    def test_the_patched_objective_is_right_without_the_fault(self) -> None:
        gda.check_objective(PatchedGLR(PairPoint))
