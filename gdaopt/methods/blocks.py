"""Blocks of the metric matrix: Frank–Wolfe moves the entries of one and keeps all other entries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count

import numpy as np

from gdaopt.linalg.directions import ColumnDirection, DenseDirection, DiagonalDirection, Direction
from gdaopt.linalg.entries import Edges, IndexArray, pairs_of
from gdaopt.methods.context import Context
from gdaopt.methods.steps import Step
from gdaopt.objectives.protocol import Point
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
    index: int | None = None  # the column

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


def take_steps(
    state: State, block: Block, polytope: Polytope, rule: Step, context: Context
) -> Iterator[State]:
    """Yield the states after steps of Frank–Wolfe in a block, over one polytope, without end.

    Each step minimises the tangent over the polytope, and goes towards the minimiser by the rule.
    """
    x, point = polytope.current, state.point
    for n_steps in count():
        with context.timed("objective"):
            cost = block.cost(point)
        answer = context.solve(cost, polytope)
        observe(cost, polytope, x, answer.point)
        with context.timed("objective"):
            change, gamma = answer.point - x, 0.0
            gap = -float(cost @ change)
            if gap > 0:  # else the block is at its optimum, up to round-off
                line = point.line(block.direction(change))
                gamma = rule.checked_size(line, n_steps)
            if gamma > 0:
                point, x = line.at(gamma), x + gamma * change
            point.value  # noqa: B018  (is evaluated here)
        state = replace(
            state,
            point=point,
            iteration=state.iteration + 1,
            phase=block.phase,
            block=block.index,
            block_gap=max(gap, 0.0),
            step=gamma,
            oracle_calls=state.oracle_calls + 1,
            repair_distance=answer.repair_distance,
            solver=answer.solver,
            solver_status=answer.status,
        )
        yield state
