"""Blocks of the metric matrix: Frank–Wolfe moves the entries of one and keeps all other entries."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from gdaopt.linalg.directions import ColumnDirection, DenseDirection, DiagonalDirection, Direction
from gdaopt.linalg.entries import Edges, IndexArray, pairs_of
from gdaopt.methods.context import Context
from gdaopt.methods.steps import Step
from gdaopt.objectives.protocol import Point
from gdaopt.programs import Program
from gdaopt.programs.base import Polytope, observe
from gdaopt.state import State
from gdaopt.support.validation import FloatArray


@dataclass(frozen=True, eq=False)
class Block:
    """Entries of a K×K metric that move together: ``M_ij = Σ s x`` over the x of the entry.

    An off-diagonal, with i < j or in column j, stands in the metric twice. It has an x ≥ 0 with
    s = -1, one with s = +1, or both; a diagonal entry has one with s = +1.
    """

    phase: str  # what the trace calls it: "diagonal", "column" or "joint"
    rows: IndexArray
    columns: IndexArray
    signs: FloatArray
    n_features: int
    index: int | None = None  # that of a column

    @classmethod
    def diagonal(cls, n_features: int) -> Block:
        """Return the diagonal."""
        every = np.arange(n_features)
        return cls("diagonal", every, every, np.ones(n_features), n_features)

    @classmethod
    def column(cls, column: int, others: IndexArray, signs: FloatArray, n_features: int) -> Block:
        """Return the off-diagonals of a column."""
        return cls("column", others, np.full(len(others), column), signs, n_features, column)

    @classmethod
    def all_entries(cls, n_features: int, edges: Edges, signs: FloatArray) -> Block:
        """Return the diagonal, then the edges."""
        rows, columns = pairs_of(n_features, edges)
        return cls("joint", rows, columns, np.append(np.ones(n_features), signs), n_features)

    @cached_property
    def _factors(self) -> FloatArray:
        return np.where(self.rows == self.columns, 1.0, 2.0) * self.signs

    def cost(self, point: Point) -> FloatArray:
        """Return the objective's derivatives by x."""
        return point.gradient_entries(self.rows, self.columns) * self._factors

    def direction(self, change: FloatArray) -> Direction:
        """Return the direction of the metric that a change of x means."""
        if self.phase == "diagonal":
            return DiagonalDirection(change)
        size = self.n_features
        if self.phase == "column":
            whole = np.zeros(size)
            np.add.at(whole, self.rows, self.signs * change)
            return ColumnDirection(self.columns[0], whole)
        total = np.zeros((size, size))
        np.add.at(total, (self.rows[size:], self.columns[size:]), self.signs[size:] * change[size:])
        total += total.T
        np.fill_diagonal(total, change[:size])
        return DenseDirection(total)


@dataclass(eq=False)
class BlockRun:
    """Steps of Frank–Wolfe in a block: where they are, and the program of its linear subproblem."""

    block: Block
    program: Program
    polytope: Polytope
    values: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        self.values = self.polytope.current

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
            cost = self.block.cost(point)
        answer = self.program.solve(cost, self.polytope, context.left)
        context.add_program(answer)
        observe(cost, self.polytope, self.values, answer.point)
        with context.timed("objective"):
            change = answer.point - self.values
            gap = -float(cost @ change)
            gamma = 0.0
            if gap > 0:  # else the block is at its optimum, up to round-off
                line = point.line(self.block.direction(change))
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
            phase=self.block.phase,
            block=self.block.index,
            block_gap=max(gap, 0.0),
            step=gamma,
            oracle_calls=state.oracle_calls + 1,
            repair_distance=answer.repair_distance,
            solver=answer.solver,
            solver_status=answer.status,
        )
