"""Frank–Wolfe over all entries at once, under the current alignment of the left-ends."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count
from typing import ClassVar

from gdaopt.errors import InvalidInputError
from gdaopt.linalg.atoms import dual_alignment
from gdaopt.linalg.entries import entries_of, pairs_of
from gdaopt.linalg.gershgorin import left_ends
from gdaopt.methods.aligned import AlignedMethod, AlignedRun, tree_floors
from gdaopt.methods.blocks import MetricBlock
from gdaopt.methods.state import Clock, State
from gdaopt.methods.stopping import StallRule
from gdaopt.problem import MetricProblem
from gdaopt.programs import JointPolytope, JointProgram
from gdaopt.programs.constrained import keeping_rows, with_rows
from gdaopt.support.validation import check_name, store_integer

__all__ = ["Joint"]

_ALIGNMENTS = ("eigenvector", "gradient")
_ROUNDS = 2  # that have to lower the objective together: edges gain and lose weight in turns


@dataclass(frozen=True, kw_only=True, eq=False)
class Joint(AlignedMethod):
    """Frank–Wolfe whose program moves all entries of the metric at once.

    A round is K steps. Two rounds in a row that lower the objective by less than `tolerance` of its
    size together (`gdaopt.methods.StallRule`) end the run as *stalled*.

    Parameters
    ----------
    align : {"eigenvector", "gradient"}, optional
        Where the scaling v comes from: the metric's first eigenvector, under which the metric stays
        in the program's polytope, or the gradient (dual alignment), under which the program finds
        the best vertex of the whole set ("Proposition: dual alignment").
    realign_every : int, optional
        Steps between alignments; K by default, which is once a round.
    **options
        ``solver``, ``step``, ``edge_floor`` and more: see `gdaopt.methods.AlignedMethod`;
        limits: see `gdaopt.methods.Method`.

    Examples
    --------
    >>> import gdaopt as gda
    >>> glr = gda.GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
    >>> problem = gda.MetricProblem(glr, gda.GraphMetrics(trace_bound=4.0))
    >>> result = gda.solve(problem, "joint", solver="HIGHS")
    >>> result.status, problem.feasible_set.contains(result.metric)
    ('stalled', True)
    """

    name: ClassVar[str] = "joint"
    keeps_constraints: ClassVar[bool] = True

    align: str = "eigenvector"
    realign_every: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_name("align", self.align, _ALIGNMENTS)
        if self.realign_every is not None:
            store_integer(self, "realign_every", at_least=1)
        if self.align == "gradient" and self.edge_floor > 0:
            raise InvalidInputError(
                f"align='gradient' is the alignment of the set without a floor, and edge_floor is "
                f"{self.edge_floor:g}; use align='eigenvector' or edge_floor=0"
            )

    def _check_options(self, problem: MetricProblem) -> None:
        """Refuse options that do not go with linear constraints."""
        super()._check_options(problem)
        if problem.rows is not None and self.align == "gradient":
            raise InvalidInputError(
                f"align='gradient' moves to vertices that linear constraints "
                f"({problem.rows.names[0]}, …) may cut off; use align='eigenvector'"
            )

    def begin(self, problem: MetricProblem, clock: Clock) -> AlignedRun:
        """Return a run of this method."""
        return _Run(self, problem, clock)


class _Run(AlignedRun):
    """One run, with its compiled program."""

    def __init__(self, method: Joint, problem: MetricProblem, clock: Clock) -> None:
        super().__init__(method, problem, clock)
        self._by_gradient = method.align == "gradient"
        self._realign_every = method.realign_every or problem.n_features
        self._edges = self.feasible_set.edges_of(problem.n_features)
        program = JointProgram(problem.n_features, self._edges, method.program_options)
        self._program = with_rows(program, problem.rows)

    def rounds(self) -> Iterator[State]:
        """Yield the states of rounds of K steps."""
        size = self.problem.n_features
        stall = StallRule(self.problem, self.state.point, self._method.tolerance, rounds=_ROUNDS)
        for round_ in count(1):
            for step in range((round_ - 1) * size, round_ * size):
                iteration = step % self._realign_every
                if iteration == 0:
                    if self._by_gradient:
                        self._align_by_gradient()
                    else:
                        self.align()
                    block = self._block()
                yield self.advance(block, iteration, round_)
            stall.check(self.state.point)

    def _block(self) -> MetricBlock:
        """Return all entries, with the polytope that the alignment gives them."""
        metric, feasible_set = self.state.metric, self.feasible_set
        assert self.state.v is not None
        polytope = JointPolytope(
            self.state.v,
            feasible_set.min_eigenvalue,
            feasible_set.trace_bound,
            self._edges,
            tree_floors(metric, self._method.edge_floor)[self._edges],
            entries_of(metric, self._edges),
        )
        pairs = pairs_of(len(metric), self._edges)
        kept = keeping_rows(polytope, self.problem.rows, metric, pairs)
        return MetricBlock(self._program, kept, len(metric), self._edges)

    def _align_by_gradient(self) -> None:
        """Take the scaling from the gradient."""
        start = time.perf_counter()
        v = dual_alignment(self.feasible_set.gradient_at(self.state.point), self._edges)
        ends = left_ends(self.state.metric, v)
        spread = float(ends.max() - ends.min())
        self.state = replace(self.state, v=v, aligned_spread=spread, scaling="gradient")
        self._eig_seconds += time.perf_counter() - start
