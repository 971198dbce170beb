"""Frank–Wolfe over all entries at once, under the current alignment of the left-ends."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from gdaopt.errors import InvalidInputError
from gdaopt.linalg.atoms import dual_alignment
from gdaopt.linalg.entries import Edges, entries_of
from gdaopt.linalg.gershgorin import left_ends
from gdaopt.methods.aligned import AlignedMethod, AlignedRun, tree_floors
from gdaopt.methods.base import Demand, States
from gdaopt.methods.blocks import Block, take_steps
from gdaopt.methods.context import Context
from gdaopt.methods.stopping import StallRule
from gdaopt.problem import MetricProblem
from gdaopt.programs import JointPolytope
from gdaopt.programs.base import Polytope
from gdaopt.programs.constrained import keep_rows
from gdaopt.state import State
from gdaopt.support.validation import check_name, integer, store_checked

_ALIGNMENTS = ("eigenvector", "gradient")
_ROUNDS = 2  # that have to lower the objective together: edges gain and lose weight in turns


@dataclass(frozen=True, kw_only=True, eq=False)
class Joint(AlignedMethod):
    """Frank–Wolfe whose program moves all entries of the metric at once.

    A round is K steps. Two rounds in a row that lower the objective by less than `tolerance` of its
    size together (`StallRule`) end the run for *slow_progress*.

    Parameters
    ----------
    align : {"eigenvector", "gradient"}, optional
        Where the scaling v comes from: the metric's first eigenvector, under which the metric stays
        in the program's polytope, or the gradient (dual alignment), under which the program finds
        the best vertex of the whole set ("Proposition: dual alignment").
    realign_every : int, optional
        Steps between alignments; K by default, which is once a round.
    **options
        ``solver``, ``step``, ``edge_floor`` and more: see `AlignedMethod`.

    Examples
    --------
    >>> import gdaopt as gda
    >>> glr = gda.GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
    >>> problem = gda.MetricProblem(glr, gda.GraphMetrics(trace_bound=4.0))
    >>> result = gda.solve(problem, "joint", solver="HIGHS")
    >>> result.status, result.metric in problem.feasible_set
    ('slow_progress', True)
    """

    name: ClassVar[str] = "joint"
    takes: ClassVar[tuple[Demand, ...]] = ("not convex", "linear constraints")

    align: str = "eigenvector"
    realign_every: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_name("align", self.align, _ALIGNMENTS)
        store_checked(self, integer, "realign_every", at_least=1)
        if self.align == "gradient" and self.edge_floor > 0:
            raise InvalidInputError(
                f"align='gradient' is the alignment of the set without a floor, and edge_floor is "
                f"{self.edge_floor:g}; use align='eigenvector' or edge_floor=0"
            )

    def check(self, problem: MetricProblem) -> None:
        super().check(problem)
        if problem.rows is not None and self.align == "gradient":
            raise InvalidInputError(
                f"align='gradient' moves to vertices that linear constraints "
                f"({problem.rows.names[0]}, …) may cut off; use align='eigenvector'"
            )

    def states(self, problem: MetricProblem, context: Context) -> States:
        run, size = AlignedRun(self, problem, context), problem.n_features
        yield run.state
        pairs = run.family.edges_of(size)
        index, signs = run.family.edge_variables(pairs)
        edges = pairs[0][index], pairs[1][index]
        block = Block.all_entries(size, edges, signs)
        stall = StallRule(problem, run.state.point, self.tolerance, rounds=_ROUNDS)
        n_steps, ending = 0, None
        while ending is None:
            if n_steps % (self.realign_every or size) == 0:
                if self.align == "gradient":
                    run.state = _with_dual_alignment(run, pairs)
                else:
                    run.align()
                polytope = self._polytope(run, block)
                steps = take_steps(run.state, block, polytope, run.step_rule, context)
            run.state = replace(next(steps), round=1 + n_steps // size)
            yield run.state
            n_steps += 1
            if n_steps % size == 0:
                ending = stall.check(run.state.point)
        return ending

    def _polytope(self, run: AlignedRun, block: Block) -> Polytope:
        """Return what the metric may be under the current scaling."""
        metric, feasible_set, size = run.state.metric, run.feasible_set, block.n_features
        edges = block.rows[size:], block.columns[size:]
        assert run.state.v is not None
        pairs = block.rows, block.columns
        with run.context.timed("build"):
            polytope = JointPolytope(
                run.state.v,
                feasible_set.min_eigenvalue,
                feasible_set.trace_bound,
                edges,
                tree_floors(metric, self.edge_floor)[edges],
                entries_of(metric, edges, block.signs[size:]),
            )
            return keep_rows(polytope, run.problem.rows, metric, pairs, block.signs)


def _with_dual_alignment(run: AlignedRun, pairs: Edges) -> State:
    """Return the state of a run with the scaling that its gradient gives."""
    state = run.state
    with run.context.timed("eig"):
        gradient = run.family.gradient_at(state.point)
        v = dual_alignment(run.family.as_of_graph(gradient), pairs)
        ends = left_ends(state.metric, v)
    return replace(state, v=v, aligned_spread=float(np.ptp(ends)), scaling="gradient")
