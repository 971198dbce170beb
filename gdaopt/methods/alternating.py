"""The paper's method: Frank–Wolfe on the diagonal and on each column in turn (DESIGN section 5)."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, ClassVar

import numpy as np

from gdaopt.errors import (
    InfeasibleProblemError,
    InvalidInputError,
    SolverFailedError,
    unknown_name,
)
from gdaopt.linalg.eigen import align
from gdaopt.methods.base import Method
from gdaopt.methods.blocks import ColumnBlock, DiagonalBlock
from gdaopt.methods.state import Clock, RunEnded, State
from gdaopt.objectives import Objective, Point
from gdaopt.problem import MetricProblem
from gdaopt.programs import (
    ColumnPolytope,
    ColumnProgram,
    DiagonalPolytope,
    DiagonalProgram,
)
from gdaopt.programs.column import CONNECTIVITY
from gdaopt.sets import GraphMetrics
from gdaopt.steps import Step, find_step
from gdaopt.validation import FloatArray, integer, number

__all__ = ["Alternating"]

_ROUND_OFF = 1e-11  # of C: the current metric may break its left-ends by this much, not by more


@dataclass(frozen=True, kw_only=True, eq=False)
class Alternating(Method):
    """Gershgorin disc alignment: Frank–Wolfe on the diagonal, then on each column, in rounds.

    Before each block the metric's first eigenvector v aligns its Gershgorin left-ends; with v fixed
    the semidefinite constraint becomes ``M v ≥ ρ v``, linear in the block. A round in which the
    objective decreases by less than ``tolerance·|Q|`` ends the run as *stalled*.

    The end depends on the start and on the block's iterations (by up to 27 % on wine); it need not
    be the optimum: when λ_min = ρ and tr M = C, the diagonal cannot move and columns only shrink.

    Parameters
    ----------
    solver : str, optional
        Who solves the linear programs: any solver that CVXPY knows, in any case, or ``"analytic"``
        for their closed forms.
    solver_opts : mapping, optional
        Options of that solver.
    step : str or Step, optional
        ``"exact"``, ``"full"``, or an object (see `gdaopt.steps`).
    initial_edge_weight : float or "auto", optional
        Edge weight of the path start (see `gdaopt.GraphMetrics.start`).
    block_iterations : int, optional
        Most steps in a block with v fixed; fewer when the block's gap falls below
        ``tolerance·|Q|``.
    connectivity : {"tree", "zeta"}, optional
        Which edges a column keeps when the set has an edge floor: those of a maximum spanning tree,
        or the paper's rule, the column's largest entry. The latter may disconnect the graph or
        become infeasible; the run then ends with that status and the metric before the step.
    **limits
        See `gdaopt.methods.Method`; the tolerance is 1e-5 here.

    Raises
    ------
    InvalidInputError, SolverNotFoundError
        For a bad option.

    Notes
    -----
    Source: Yang, Cheung, Hu, *Graph Metric Learning via Gershgorin Disc Alignment*, ICASSP 2020.

    Examples
    --------
    >>> import gdaopt as gda
    >>> glr = gda.GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
    >>> problem = gda.MetricProblem(glr, gda.GraphMetrics(trace_bound=4.0))
    >>> result = gda.solve(problem, gda.Alternating(solver="HIGHS"))
    >>> result.status, problem.feasible_set.contains(result.metric)
    ('stalled', True)
    """

    name: ClassVar[str] = "alternating"

    tolerance: float = 1e-5
    solver: str = "HIGHS"
    solver_opts: Mapping[str, Any] | None = None
    step: str | Step = "exact"
    initial_edge_weight: float | str = "auto"
    block_iterations: int = 10
    connectivity: str = "tree"

    def __post_init__(self) -> None:
        super().__post_init__()
        integer("block_iterations", self.block_iterations, at_least=1)
        if self.connectivity not in CONNECTIVITY:
            raise unknown_name("connectivity", self.connectivity, CONNECTIVITY)
        if not isinstance(self.initial_edge_weight, str):
            number("initial_edge_weight", self.initial_edge_weight, at_least=0)
        if self.initial is not None and self.initial_edge_weight != "auto":
            raise InvalidInputError(
                "initial and initial_edge_weight both say where to start; pass one of them"
            )
        find_step(self.step)
        # The solver is looked up by building a program, which compiles nothing yet.
        object.__setattr__(self, "solver", DiagonalProgram(1, self.solver, self.solver_opts).solver)

    @property
    def solver_name(self) -> str:
        """Canonical name of the solver."""
        return self.solver

    def states(self, problem: MetricProblem, clock: Clock) -> Iterator[State]:
        """Yield the start and the state after each step."""
        if not isinstance(problem.feasible_set, GraphMetrics):
            raise InvalidInputError(
                f"method 'alternating' needs a set of GraphMetrics, got {problem.feasible_set!r}"
            )
        return _Run(self, problem.objective, problem.feasible_set, clock).states(
            self.initial_metric(problem)
        )


class _Run:
    """One run: its state, its alignment and its compiled programs."""

    def __init__(
        self, method: Alternating, objective: Objective, metrics: GraphMetrics, clock: Clock
    ) -> None:
        self.method = method
        self.objective = objective
        self.metrics = metrics
        self.clock = clock
        self.step = find_step(method.step)
        self.aligned: Point | None = None
        size = objective.n_features
        self.diagonal = DiagonalProgram(size, method.solver, method.solver_opts)
        self.column = ColumnProgram(size - 1, method.solver, method.solver_opts)

    def states(self, initial: FloatArray | None) -> Iterator[State]:
        """Yield the states of the run."""
        size = self.objective.n_features
        if initial is None:
            initial = self.metrics.start(size, self.method.initial_edge_weight)
        point = self.objective.at(initial)
        vanished = point.vanished()
        if vanished is not None:
            raise InvalidInputError(f"nothing to learn from at the start: {vanished}")
        self.state = State(point=point, objective=point.value)
        self._align()
        yield self.state
        for round_ in count(1):
            before = self.state.objective
            yield from self._steps(round_, None)
            for column in range(size if size > 1 else 0):
                yield from self._steps(round_, column)
            decrease = before - self.state.objective
            if decrease <= self.method.tolerance * abs(before):
                end = (
                    f"round {round_} lowered the objective by {max(decrease, 0.0):.3g}, at most "
                    f"{self.method.tolerance:g} of its value"
                )
                raise RunEnded("stalled", self.state.point.vanished() or end)

    def _steps(self, round_: int, column: int | None) -> Iterator[State]:
        """Align, then take the steps of one block, the diagonal (None) or a column."""
        eig_seconds = self._align()
        block = self._block(column)
        for iteration in range(self.method.block_iterations):
            self.state = replace(
                self._step(block, iteration),
                round=round_,
                phase=block.phase,
                block=block.index,
                eig_seconds=eig_seconds,
            )
            yield self.state
            eig_seconds = 0.0  # of the block's first row
            gap = self.state.block_gap
            if gap is None or gap <= self.method.tolerance * abs(self.state.objective):
                return

    def _align(self) -> float:
        """Align the left-ends of the current metric, from the last scaling; return the seconds."""
        if self.aligned is self.state.point:
            return 0.0  # the block before left the metric where it was
        start = time.perf_counter()
        self.aligned = self.state.point
        metric = self.state.metric
        self.alignment = align(
            metric,
            self.metrics.min_eigenvalue,
            edge_threshold=self.metrics.edge_threshold(len(metric)),
            guess=self.state.v,
        )
        self.state = replace(
            self.state,
            v=self.alignment.v,
            aligned_spread=self.alignment.spread,
            scaling=self.alignment.scaling,
            eig_iterations=self.state.eig_iterations + self.alignment.iterations,
        )
        return time.perf_counter() - start

    def _block(self, column: int | None) -> DiagonalBlock | ColumnBlock:
        """Return the block with the polytope that the alignment gives it."""
        metric, metrics = self.state.metric, self.metrics
        slack = self._slack()
        if column is None:
            polytope = DiagonalPolytope.at(metric, slack, metrics.trace_bound)
            return DiagonalBlock(self.diagonal, polytope)
        floor = np.zeros(len(metric) - 1)
        if metrics.edge_floor > 0:
            floor = CONNECTIVITY[self.method.connectivity](metric, column, metrics.edge_floor)
        try:
            edges = ColumnPolytope.at(metric, self.alignment.v, slack, column, floor)
        except InfeasibleProblemError as error:
            raise RunEnded("infeasible", f"column {column}: {error}") from error
        return ColumnBlock(self.column, edges, column)

    def _slack(self) -> FloatArray:
        """Return the left-ends minus ρ, with negative round-off as 0.

        So the current metric stays inside its polytopes to the last bit, also where it is tight.
        """
        slack = self.alignment.left_ends - self.metrics.min_eigenvalue
        if slack.min() < -_ROUND_OFF * self.metrics.trace_bound:
            raise SolverFailedError(
                f"the eigenvector ({self.alignment.scaling}) leaves a left-end "
                f"{-slack.min():.3g} below the smallest eigenvalue allowed"
            )
        return np.maximum(slack, 0.0)

    def _step(self, block: DiagonalBlock | ColumnBlock, iteration: int) -> State:
        """Solve the block's program, step towards its vertex, and return the state there."""
        start = time.perf_counter()
        point = self.state.point
        cost = block.cost(point)
        before_program = time.perf_counter()
        solution = block.vertex(cost, self.clock.left)
        after_program = time.perf_counter()
        change = solution.point - block.values
        gap = -float(cost @ change)
        gamma = 0.0
        if gap > 0:  # else the block is at its optimum, up to round-off
            direction = block.direction(change)
            gamma = self.step.size(point.line(direction), iteration)
        if gamma > 0:
            point = point.moved(direction, gamma)
            self._keep_connected(point.metric, block)
            block.values = block.values + gamma * change
        objective = point.value
        end = time.perf_counter()
        return replace(
            self.state,
            point=point,
            objective=objective,
            iteration=self.state.iteration + 1,
            block_gap=max(gap, 0.0),
            step=gamma,
            moved=solution.moved,
            oracle_calls=self.state.oracle_calls + 1,
            build_seconds=solution.build_seconds,
            solve_seconds=solution.solve_seconds,
            objective_seconds=end - after_program + before_program - start,
            solver=solution.solver,
            solver_status=solution.status,
        )

    def _keep_connected(self, metric: FloatArray, block: DiagonalBlock | ColumnBlock) -> None:
        """End the run, at the metric before, when a step would disconnect the graph."""
        if self.metrics.edge_floor > 0 and self.metrics.n_components(metric) > 1:
            raise RunEnded(
                "disconnected",
                f"the step in column {block.index} would leave "
                f"{self.metrics.n_components(metric)} components by edges of weight ≥ "
                f"{self.metrics.edge_floor:g}; connectivity='tree' prevents it",
            )
