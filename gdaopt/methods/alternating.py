"""The paper's method: Frank–Wolfe on the diagonal and on each column in turn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import ClassVar

import numpy as np

from gdaopt.errors import InfeasibleProblemError
from gdaopt.linalg.entries import neighbors
from gdaopt.methods.aligned import CONNECTIVITY, AlignedMethod, AlignedRun
from gdaopt.methods.blocks import ColumnBlock, DiagonalBlock
from gdaopt.methods.state import Clock, RunEnded, State
from gdaopt.methods.stopping import StallRule
from gdaopt.problem import MetricProblem
from gdaopt.programs import ColumnPolytope, ColumnProgram, DiagonalPolytope, DiagonalProgram
from gdaopt.programs.constrained import keeping_rows, with_rows
from gdaopt.support.validation import check_name, store_integer

__all__ = ["Alternating"]

_NO_BLOCK = "no block improves on its own"
_TIED = (
    ", as where linear constraints tie blocks together (method 'certified' is not stopped by them)"
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Alternating(AlignedMethod):
    """Gershgorin disc alignment: Frank–Wolfe on the diagonal, then on each column, in rounds.

    Before each block the metric's first eigenvector v aligns its Gershgorin left-ends; with v fixed
    the semidefinite constraint becomes ``M v ≥ ρ v``, linear in the block. A round in which the
    objective decreases by less than `tolerance` of its size (`gdaopt.methods.StallRule`) ends the
    run as *stalled*: no block improves on its own.

    The end depends on the start and on the block's iterations (by up to 27 % on wine); it need not
    be the optimum: when λ_min = ρ and tr M = C, the diagonal cannot move and columns only shrink
    ("Proposition: where the alternation stops"). Linear constraints that tie blocks together can
    stop it, too: no block can move alone.

    Parameters
    ----------
    block_iterations : int, optional
        Most steps in a block with v fixed; fewer when the block's gap falls below
        ``tolerance·|Q|``.
    connectivity : {"tree", "zeta"}, optional
        Which edges a column keeps when there is an edge floor: those of a maximum spanning tree or,
        by the paper's rule, the column's largest entry. The latter may disconnect the graph or
        become infeasible; the run then ends with that status and the metric before the step.
    **options
        ``solver``, ``step``, ``edge_floor`` and more: see `gdaopt.methods.AlignedMethod`;
        limits: see `gdaopt.methods.Method`.

    Notes
    -----
    Source: Yang, Cheung, Hu, *Graph Metric Learning via Gershgorin Disc Alignment*, ICASSP 2020.

    Examples
    --------
    >>> import gdaopt as gda
    >>> glr = gda.GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
    >>> problem = gda.MetricProblem(glr, gda.GraphMetrics(trace_bound=4.0))
    >>> result = gda.solve(problem, gda.methods.Alternating(solver="HIGHS"))
    >>> result.status, problem.feasible_set.contains(result.metric)
    ('stalled', True)
    """

    name: ClassVar[str] = "alternating"
    keeps_constraints: ClassVar[bool] = True

    block_iterations: int = 10
    connectivity: str = "tree"

    def __post_init__(self) -> None:
        super().__post_init__()
        store_integer(self, "block_iterations", at_least=1)
        check_name("connectivity", self.connectivity, CONNECTIVITY)

    def begin(self, problem: MetricProblem, clock: Clock) -> AlignedRun:
        """Return a run of this method."""
        return _Run(self, problem, clock)


class _Run(AlignedRun):
    """One run, with its compiled programs."""

    _method: Alternating

    def __init__(self, method: Alternating, problem: MetricProblem, clock: Clock) -> None:
        super().__init__(method, problem, clock)
        size, options = problem.n_features, method.program_options
        self._neighbors = neighbors(size, self.feasible_set.edges_of(size))
        self._diagonal = with_rows(DiagonalProgram(size, options), problem.rows)
        # A problem of as many variables as neighbours; n edges make about 2√n different numbers.
        counts = {len(others) for others in self._neighbors}
        self._columns = {
            count: with_rows(ColumnProgram(count, options), problem.rows) for count in counts
        }

    def rounds(self) -> Iterator[State]:
        """Yield the states of each round: the diagonal, then the columns in order."""
        columns = [column for column, others in enumerate(self._neighbors) if len(others)]
        what = _NO_BLOCK if self.problem.rows is None else _NO_BLOCK + _TIED
        stall = StallRule(self.problem, self.state.point, self._method.tolerance, what=what)
        for round_ in count(1):
            for column in (None, *columns):
                yield from self._steps(round_, column)
            stall.check(self.state.point)

    def _steps(self, round_: int, column: int | None) -> Iterator[State]:
        """Align, then take the steps of one block, the diagonal (None) or a column."""
        self.align()
        block = self._block(column)
        for iteration in range(self._method.block_iterations):
            state = self.advance(block, iteration, round_)
            yield state
            gap = state.block_gap
            if gap is None or gap <= self._method.tolerance * abs(state.objective):
                return

    def _block(self, column: int | None) -> DiagonalBlock | ColumnBlock:
        """Return the block with the polytope that the alignment gives it."""
        metric, slack, rows = self.state.metric, self.slack(), self.problem.rows
        if column is None:
            polytope = DiagonalPolytope.at(metric, slack, self.feasible_set.trace_bound)
            entries = np.arange(len(metric))
            kept = keeping_rows(polytope, rows, metric, (entries, entries))
            return DiagonalBlock(self._diagonal, kept)
        others, edge_floor = self._neighbors[column], self._method.edge_floor
        floor = np.zeros(len(others))
        if edge_floor > 0:
            floor = CONNECTIVITY[self._method.connectivity](metric, column, others, edge_floor)
        try:
            edges = ColumnPolytope.at(metric, self.alignment.v, slack, column, others, floor)
        except InfeasibleProblemError as error:
            raise RunEnded("infeasible", f"column {column}: {error}") from error
        own = np.full(len(others), column)
        kept = keeping_rows(edges, rows, metric, (own, others))
        return ColumnBlock(self._columns[len(others)], kept, column, others, len(metric))
