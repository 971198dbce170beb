"""Blocks of the metric matrix: Frank–Wolfe moves the entries of one and keeps all other entries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from gdaopt.linalg.directions import ColumnDirection, DenseDirection, DiagonalDirection, Direction
from gdaopt.linalg.entries import Edges, IndexArray, matrix_of, pairs_of
from gdaopt.methods.context import Context
from gdaopt.methods.steps import Step
from gdaopt.objectives.protocol import Point
from gdaopt.programs import Program, ProgramSolution
from gdaopt.programs.base import Polytope, observe
from gdaopt.state import State
from gdaopt.support.validation import FloatArray


@dataclass(eq=False)
class Block(ABC):
    """A part of the metric, with the program of its linear subproblem and the polytope of that."""

    phase: ClassVar[str]  # what the trace calls it

    program: Program
    polytope: Polytope
    values: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        self.values = self.polytope.current

    @property
    def index(self) -> int | None:
        """That of a column."""
        return None

    @abstractmethod
    def cost(self, point: Point) -> FloatArray:
        """Return the objective's derivative by the block's values."""

    @abstractmethod
    def direction(self, change: FloatArray) -> Direction:
        """Return the direction of the metric that a change of the values means."""

    def vertex(self, cost: FloatArray, context: Context) -> ProgramSolution:
        """Minimise the cost over the polytope."""
        solution = self.program.solve(cost, self.polytope, context.left)
        context.add_program(solution.seconds, solution.reported_seconds)
        observe(cost, self.polytope, self.values, solution.point)
        return solution

    def step(
        self,
        state: State,
        rule: Step,
        iteration: int,
        round_: int,
        context: Context,
    ) -> State:
        """Solve the program, step towards its vertex, and return the state there.

        `iteration` counts the steps taken before with the same polytope.
        """
        point = state.point
        with context.timed("objective"):
            cost = self.cost(point)
        solution = self.vertex(cost, context)
        with context.timed("objective"):
            change = solution.point - self.values
            gap = -float(cost @ change)
            gamma = 0.0
            if gap > 0:  # else the block is at its optimum, up to round-off
                line = point.line(self.direction(change))
                gamma = rule.checked_size(line, iteration)
            if gamma > 0:
                point = line.at(gamma)
                self.values = self.values + gamma * change
            point.value  # noqa: B018  (is evaluated here)
        return replace(
            state,
            point=point,
            iteration=state.iteration + 1,
            round=round_,
            phase=self.phase,
            block=self.index,
            block_gap=max(gap, 0.0),
            step=gamma,
            oracle_calls=state.oracle_calls + 1,
            repair_distance=solution.repair_distance,
            solver=solution.solver,
            solver_status=solution.status,
        )


class DiagonalBlock(Block):
    """The diagonal, of values ``M_ii``."""

    phase = "diagonal"

    def cost(self, point: Point) -> FloatArray:
        every = np.arange(len(point.metric))
        return point.gradient_entries(every, every)

    def direction(self, change: FloatArray) -> DiagonalDirection:
        return DiagonalDirection(change)


@dataclass(eq=False)
class ColumnBlock(Block):
    """The off-diagonals ``M_jc = Σ s x_j`` of column c, with an edge for each possible sign s."""

    phase = "column"

    column: int
    others: IndexArray
    signs: FloatArray
    n_features: int

    @property
    def index(self) -> int:
        return self.column

    def cost(self, point: Point) -> FloatArray:
        """Return ``2 s G_jc``: entry (j, c) stands in the metric twice."""
        columns = np.full(len(self.others), self.column)
        return 2 * self.signs * point.gradient_entries(self.others, columns)

    def direction(self, change: FloatArray) -> ColumnDirection:
        whole = np.zeros(self.n_features)
        np.add.at(whole, self.others, self.signs * change)
        return ColumnDirection(self.column, whole)


@dataclass(eq=False)
class MetricBlock(Block):
    """All entries: the diagonal, then ``y_ij = -M_ij`` for the edges i < j, or as `signs` say."""

    phase = "joint"

    n_features: int
    edges: Edges
    signs: FloatArray | None = None  # see `gdaopt.linalg.entries_of`

    def cost(self, point: Point) -> FloatArray:
        """Return ``G_ii``, then ``-2 G_ij`` or ``2 s G_ij``: an edge stands in the metric twice."""
        cost = point.gradient_entries(*pairs_of(self.n_features, self.edges))
        cost[self.n_features :] *= -2.0 if self.signs is None else 2 * self.signs
        return cost

    def direction(self, change: FloatArray) -> DenseDirection:
        return DenseDirection(matrix_of(change, self.n_features, self.edges, self.signs))
