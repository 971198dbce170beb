"""The common part of the two methods that align the Gershgorin left-ends."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from gdaopt.backends.protocol import ANALYTIC
from gdaopt.errors import InvalidInputError
from gdaopt.linalg import laplacian
from gdaopt.linalg.gershgorin import align
from gdaopt.methods.base import ProgramMethod
from gdaopt.methods.context import Context
from gdaopt.methods.steps import Step, find_step
from gdaopt.objectives import Point
from gdaopt.problem import MetricProblem
from gdaopt.sets import (
    EntrywiseMetrics,
    FeasibleSet,
    GraphMetrics,
    SDDMetrics,
    SignedGraphMetrics,
    TwoSparseAtoms,
)
from gdaopt.state import State
from gdaopt.support.validation import FloatArray, number, store_checked

_FLOOR_SLACK = 1e-9  # share of the edge floor: an edge that is lighter by less still counts


def tree_floors(metric: FloatArray, edge_floor: float) -> FloatArray:
    """Return ``min(ε, weight)`` on the edges of a maximum spanning tree, 0 elsewhere, K×K.

    Keeping them is always feasible, and never disconnects ("Lemma: spanning tree floors").
    """
    floors = np.zeros_like(metric)
    if edge_floor > 0:
        rows, columns = laplacian.maximum_spanning_tree(metric).T
        floors[rows, columns] = np.minimum(edge_floor, -metric[rows, columns])
    return np.asarray(floors + floors.T)


@dataclass(frozen=True, kw_only=True, eq=False)
class AlignedMethod(ProgramMethod):
    """A method over graphs, also signed ones, with linear programs under aligned left-ends.

    The scaling follows the first eigenvector of the metric, or, if some off-diagonals are
    positive, that of its comparison matrix.

    Parameters
    ----------
    step : str or Step, optional
        A name from `gdaopt.methods.steps`, or an object.
    edge_floor : float, optional
        ε ≥ 0. When positive, the edges of weight ≥ ε connect all features at every step
        ("Definition: edge floor"). Such metrics form no convex set, so that lower bounds
        hold for the feasible set without the floor.
    **options
        See `ProgramMethod` and `Method`; the tolerance is 1e-5 here.
    """

    sets: ClassVar[tuple[type[FeasibleSet], ...]] = (GraphMetrics, SignedGraphMetrics, SDDMetrics)

    tolerance: float = 1e-5
    step: str | Step = "exact"
    edge_floor: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        store_checked(self, number, "edge_floor", at_least=0)
        find_step(self.step)

    def check(self, problem: MetricProblem) -> None:
        super().check(problem)
        feasible_set, rows = problem.feasible_set, problem.rows
        assert isinstance(feasible_set, EntrywiseMetrics)
        if feasible_set.path_weight > 0:
            raise InvalidInputError(
                f"method {self.name!r} moves all edges, and every member of {feasible_set!r} "
                "contains a path; leave path_weight out, and pass "
                f"edge_floor={feasible_set.path_weight:g} to the method instead"
            )
        if rows is not None and ANALYTIC in (self.solver, *self.fallback):
            raise InvalidInputError(
                f"with linear constraints ({rows.names[0]}, …) the programs of method "
                f"{self.name!r} have no closed form: take a solver, such as 'HIGHS', in place of "
                "'analytic'"
            )
        if self.edge_floor == 0:
            return
        if rows is not None:
            raise InvalidInputError(
                f"edge_floor = {self.edge_floor:g} keeps edges that linear constraints may forbid; "
                "write the least weights as constraints, such as M[0, 1] <= -0.1, and leave "
                "edge_floor out"
            )
        if not isinstance(feasible_set, GraphMetrics):
            raise InvalidInputError(
                f"edge_floor is for GraphMetrics, and the set is {feasible_set!r}; leave it out"
            )
        feasible_set.check_connected(problem.n_features, self.edge_floor, "edge_floor")

    def count_components(self, metric: FloatArray) -> int:
        """Return the number of components by edges of weight ≥ ε."""
        return laplacian.n_components(metric, self.edge_floor * (1 - _FLOOR_SLACK))

    def default_start(self, problem: MetricProblem) -> FloatArray:
        """Return the path start, with edges of at least the floor; with constraints the centre."""
        feasible_set, size, floor = problem.feasible_set, problem.n_features, self.edge_floor
        assert isinstance(feasible_set, EntrywiseMetrics)
        if problem.rows is not None:
            return problem.central_metric()
        if floor == 0 or size == 1 or not isinstance(feasible_set, GraphMetrics):
            return feasible_set.start(size)
        feasible_set.check_path(size, floor, "edge_floor")
        bound = feasible_set.largest_edge_weight(size)
        if floor >= bound:
            # A constant diagonal cannot carry every floor that the set allows; this start can.
            return replace(feasible_set, path_weight=floor).start(size)
        return feasible_set.start(size, max(bound / 2, floor))


class AlignedRun:
    """One run: its state, and the alignment of its metric."""

    def __init__(self, method: AlignedMethod, problem: MetricProblem, context: Context) -> None:
        self.problem, self.context = problem, context
        self.feasible_set = problem.feasible_set
        assert isinstance(self.feasible_set.family, TwoSparseAtoms)
        self.family = self.feasible_set.family
        self.step_rule = find_step(method.step).prepared(problem)  # which may refuse the problem
        self._edge_threshold = method.edge_floor * (1 - _FLOOR_SLACK) or laplacian.edge_threshold(
            self.feasible_set.trace_bound, problem.n_features
        )
        with context.timed("objective"):
            self.state = State(point=method.start_point(problem))
        if method.initial is not None and method.edge_floor > 0:
            n_components = method.count_components(self.state.metric)
            if n_components > 1:
                raise InvalidInputError(
                    f"initial is not connected: its edges of weight ≥ edge_floor = "
                    f"{method.edge_floor:g} leave {n_components} components, not 1"
                )
        self._aligned: Point | None = None  # its point
        self.align()

    def align(self) -> None:
        """Align the left-ends of the current metric, from the last scaling."""
        state = self.state
        if self._aligned is state.point:
            return  # the block before left the metric where it was
        self._aligned = state.point
        with self.context.timed("eig"):
            self.alignment = alignment = align(
                state.metric,
                self.feasible_set.min_eigenvalue,
                edge_threshold=self._edge_threshold,
                guess=state.v,
            )
        self.state = replace(
            state,
            v=alignment.v,
            aligned_spread=alignment.spread,
            scaling=alignment.scaling,
            eig_iterations=state.eig_iterations + alignment.iterations,
        )
