"""The paper's method: Frank–Wolfe on the diagonal and on each column in turn."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import ClassVar

import numpy as np

from gdaopt.errors import (
    DisconnectedError,
    EdgeFloorError,
    InfeasibleProblemError,
    InvalidInputError,
    SolverFailedError,
)
from gdaopt.linalg.directions import ColumnDirection
from gdaopt.linalg.entries import IndexArray, neighbors
from gdaopt.methods.aligned import AlignedMethod, AlignedRun, tree_floors
from gdaopt.methods.base import Demand, States
from gdaopt.methods.blocks import Block, take_steps
from gdaopt.methods.context import Context
from gdaopt.methods.stopping import StallRule
from gdaopt.problem import MetricProblem
from gdaopt.programs import Knapsack
from gdaopt.programs.base import Polytope
from gdaopt.programs.constrained import keep_rows
from gdaopt.sets import SDDMetrics, TwoSparseAtoms
from gdaopt.state import State
from gdaopt.support.validation import FloatArray, check_name, flag, integer, store_checked

_CONNECTIVITY = ("tree", "zeta")
_ROUND_OFF = 1e-11  # share of C: by so much the current metric may break its left-ends
_TIED = ", and linear constraints may tie blocks together (they do not stop method 'certified')"


def column_floor(
    metric: FloatArray, column: int, others: IndexArray, edge_floor: float, rule: str
) -> FloatArray:
    """Return the least weights of the edges of a column: of `tree_floors`, or by the paper's rule.

    That is ε on the entry that was largest before, index ζ, which does not keep the graph connected
    ("Erratum 2: one kept edge does not keep the graph connected").
    """
    if edge_floor > 0 and rule == "tree":
        return np.asarray(tree_floors(metric, edge_floor)[others, column])
    floor = np.zeros(len(others))
    if edge_floor > 0:
        floor[(-metric[others, column]).argmax()] = edge_floor
    return floor


@dataclass(frozen=True, kw_only=True, eq=False)
class Alternating(AlignedMethod):
    """Gershgorin disc alignment: Frank–Wolfe on the diagonal, then on each column, in rounds.

    Before each block the metric's first eigenvector v aligns its Gershgorin left-ends; with v fixed
    the semidefinite constraint becomes ``M v ≥ ρ v``, linear in the block. A round in which the
    objective decreases by less than `tolerance` of its size (`StallRule`) ends the run: at a
    *block_minimum* if the gap of every block is within the tolerances there, so that no block
    improves on its own; else for *slow_progress*.

    The end depends on the start and on the block's iterations (by up to 27 % on wine); it need not
    be the optimum: when λ_min = ρ and tr M = C, the diagonal cannot move and columns only shrink
    ("Proposition: where the alternation stops"). Linear constraints that tie blocks together can
    stop it, too, because then no block can move alone.

    Parameters
    ----------
    block_iterations : int, optional
        Most steps in a block with v fixed; fewer when the block's gap falls below
        ``tolerance·|Q|``.
    connectivity : {"tree", "zeta"}, optional
        Which edges a column keeps when there is an edge floor: those of a maximum spanning tree or,
        by the paper's rule, the column's largest entry. The latter may disconnect the graph or
        become infeasible; the run then ends with that status and the metric before the step.
    greedy_colors : bool, optional
        Over `gdaopt.SDDMetrics`: look for a balanced signed graph. Each feature in turn gets the
        better of two colours: two runs over its column decide, by the lower objective. The rounds
        then keep these colours (`Result.colors`). The lower bound is that of all colours; method
        ``"balanced"`` finds the best of them.
    **options
        ``solver``, ``step``, ``edge_floor`` and more: see `AlignedMethod`.

    Notes
    -----
    Source: Yang, Cheung, Hu, *Graph Metric Learning via Gershgorin Disc Alignment*, ICASSP 2020;
    for the colours *Signed Graph Metric Learning via Gershgorin Disc Perfect Alignment*, TPAMI
    2022.

    Examples
    --------
    >>> import gdaopt as gda
    >>> glr = gda.GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
    >>> problem = gda.MetricProblem(glr, gda.GraphMetrics(trace_bound=4.0))
    >>> result = gda.solve(problem, gda.methods.Alternating(solver="HIGHS"))
    >>> result.status, result.metric in problem.feasible_set
    ('block_minimum', True)
    """

    name: ClassVar[str] = "alternating"
    takes: ClassVar[tuple[Demand, ...]] = ("not convex", "linear constraints")

    block_iterations: int = 10
    connectivity: str = "tree"
    greedy_colors: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        store_checked(self, integer, "block_iterations", at_least=1)
        check_name("connectivity", self.connectivity, _CONNECTIVITY)
        store_checked(self, flag, "greedy_colors")
        if self.greedy_colors and self.initial is not None:
            raise InvalidInputError(
                "greedy_colors=True begins at a diagonal metric; leave initial out"
            )

    def check(self, problem: MetricProblem) -> None:
        super().check(problem)
        if not self.greedy_colors:
            return
        if not isinstance(problem.feasible_set, SDDMetrics):
            raise InvalidInputError(
                f"greedy_colors=True needs a set of SDDMetrics, got {problem.feasible_set!r}"
            )
        if problem.rows is not None:
            raise InvalidInputError(
                f"greedy_colors=True cannot keep linear constraints ({problem.rows.names[0]}, …); "
                "leave it out"
            )

    def states(self, problem: MetricProblem, context: Context) -> States:
        run, size = AlignedRun(self, problem, context), problem.n_features
        yield run.state
        if self.greedy_colors:
            yield from self._choose_colors(run)
        blocks = [Block.diagonal(size)]
        for column, others in enumerate(neighbors(size, run.family.edges_of(size))):
            index, signs = run.family.edge_variables((np.full(len(others), column), others))
            if len(others):
                blocks.append(Block.column(column, others[index], signs, size))
        stall = StallRule(problem, run.state.point, self.tolerance)
        round_, ending = 0, None
        while ending is None:
            round_ += 1
            before, largest_gap = run.state.point, 0.0
            for block in blocks:
                run.align()
                for state in self._take_steps(run, block, round_):
                    yield state
                    largest_gap = max(largest_gap, state.block_gap or 0.0)
            ending = stall.check(run.state.point)
        if ending[0] == "stalled":
            return ending
        if run.state.point is not before:  # else nothing has moved since the gaps were found
            largest_gap = self._find_largest_gap(run, blocks)
        if not largest_gap <= self.allowed_gap(run.state.objective):
            return ending
        tied = "" if problem.rows is None else _TIED
        why = "the gap of each is within the tolerances"
        return "block_minimum", f"no block improves on its own{tied}: {why}"

    def _find_largest_gap(self, run: AlignedRun, blocks: Sequence[Block]) -> float:
        """Return the gap of the first block with one above the tolerance, or the largest of all."""
        point, largest = run.state.point, 0.0
        run.align()
        try:
            for block in blocks:
                cost, polytope = block.cost(point), self._polytope(run, block)
                vertex = run.context.solve(cost, polytope).point
                largest = max(largest, float(cost @ (polytope.current - vertex)))
                if not largest <= self.allowed_gap(point.value):
                    break
        except (SolverFailedError, InfeasibleProblemError):  # which proves nothing
            return math.inf
        return largest

    def _choose_colors(self, run: AlignedRun) -> Iterator[State]:
        """Give each feature in turn the better colour; yield the state after each."""
        feasible_set, size = run.feasible_set, run.problem.n_features
        assert isinstance(feasible_set, SDDMetrics)
        fixed = np.zeros(size) if feasible_set.colors is None else np.array(feasible_set.colors)
        colors = np.where(fixed, fixed, 1.0)
        for column, others in enumerate(neighbors(size, run.family.edges_of(size))):
            start, calls = run.state, 0
            best: State | None = None
            for color in (1.0, -1.0) if len(others) and not fixed[column] else ():
                signs = -color * colors[others]
                run.state = _without_wrong_signs(start, column, others, signs)
                run.align()
                block = Block.column(column, others, signs, size)
                for state in self._take_steps(run, block, 0):
                    calls += 1
                    if best is None or state.objective < best.objective:
                        best, colors[column] = state, color
            if best is not None:
                run.state = replace(
                    best,
                    iteration=start.iteration + 1,
                    oracle_calls=start.oracle_calls + calls,
                    colors=colors.copy(),
                )
                yield run.state
        run.state = replace(run.state, colors=colors)
        run.family = TwoSparseAtoms(feasible_set.signs, feasible_set.edges, colors)

    def _take_steps(self, run: AlignedRun, block: Block, round_: int) -> Iterator[State]:
        """Take the steps of one block, with the scaling fixed."""
        polytope, start = self._polytope(run, block), replace(run.state, round=round_)
        steps = take_steps(start, block, polytope, run.step_rule, run.context)
        for state in islice(steps, self.block_iterations):
            if state.step and self.edge_floor > 0:
                n_components = self.count_components(state.metric)
                if n_components > 1:
                    raise DisconnectedError(
                        f"the step in column {state.block} would leave {n_components} components "
                        f"by edges of weight ≥ {self.edge_floor:g}; connectivity='tree' prevents it"
                    )
            run.state = state
            yield state
            gap = state.block_gap
            if gap is None or gap <= self.tolerance * abs(state.objective):
                return

    def _polytope(self, run: AlignedRun, block: Block) -> Polytope:
        """Return what the block may be under the current scaling."""
        metric, column, others = run.state.metric, block.index, block.rows
        with run.context.timed("build"):
            rise = run.alignment.left_ends - run.feasible_set.min_eigenvalue
            if rise.min() < -_ROUND_OFF * run.feasible_set.trace_bound:
                raise SolverFailedError(
                    f"the eigenvector ({run.alignment.scaling}) leaves a left-end "
                    f"{-rise.min():.3g} below the smallest eigenvalue allowed"
                )
            # So the current metric stays inside its polytopes to the last bit, also if it is tight.
            slack = np.maximum(rise, 0.0)
            if column is None:
                polytope = Knapsack.diagonal(metric, slack, run.feasible_set.trace_bound)
            else:
                v = run.alignment.v
                floor = column_floor(metric, column, others, self.edge_floor, self.connectivity)
                try:
                    polytope = Knapsack.column(metric, v, slack, column, others, floor, block.signs)
                except InfeasibleProblemError as error:
                    raise EdgeFloorError(f"column {column}: {error}") from error
            pairs = others, block.columns
            return keep_rows(polytope, run.problem.rows, metric, pairs, block.signs)


def _without_wrong_signs(state: State, column: int, others: IndexArray, signs: FloatArray) -> State:
    """Return the state without those edges of a column whose entries have another sign."""
    entries = state.metric[others, column]
    wrong = signs * entries < 0
    if not wrong.any():
        return state
    change = np.zeros(len(state.metric))
    change[others[wrong]] = -entries[wrong]
    point = state.point.line(ColumnDirection(column, change)).at(1.0)
    return replace(state, point=point)
