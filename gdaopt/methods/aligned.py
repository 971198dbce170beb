"""Methods that align the Gershgorin left-ends: what the alternation and the joint method share."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gdaopt.errors import InvalidInputError, SolverFailedError
from gdaopt.linalg.eigen import Alignment, align
from gdaopt.methods.base import Method, TakesSolver, check_start
from gdaopt.methods.blocks import Block, block_step
from gdaopt.methods.state import Clock, RunEnded, State
from gdaopt.objectives import Objective, Point
from gdaopt.problem import MetricProblem
from gdaopt.programs import DiagonalProgram
from gdaopt.sets import GraphMetrics
from gdaopt.steps import Step, find_step
from gdaopt.validation import FloatArray, number

__all__ = ["AlignedMethod", "AlignedRun"]

_ROUND_OFF = 1e-11  # of C: the current metric may break its left-ends by this much, not by more


@dataclass(frozen=True, kw_only=True, eq=False)
class AlignedMethod(TakesSolver, Method):
    """A method over graph metrics whose linear programs follow the metric's first eigenvector.

    Parameters
    ----------
    solver : str, optional
        Who solves the linear programs: any solver that CVXPY knows, in any case, or ``"analytic"``
        for their closed forms.
    solver_opts : mapping, optional
        Options of that solver.
    fallback : str or sequence of str, optional
        Who takes over a program that the solver fails on, in order; the trace says who solved it.
    isolate : bool, optional
        Solve in a worker process that is killed when the time limit is over. Its start takes a
        second or two of that limit.
    step : str or Step, optional
        A name from `gdaopt.steps`, or an object.
    initial_edge_weight : float or "auto", optional
        Edge weight of the path start (see `gdaopt.GraphMetrics.start`).
    **limits
        See `gdaopt.Method`; the tolerance is 1e-5 here.

    Raises
    ------
    InvalidInputError, SolverNotFoundError
        For a bad option.
    """

    tolerance: float = 1e-5
    solver: str = "HIGHS"
    solver_opts: Mapping[str, Any] | None = None
    fallback: str | Sequence[str] = ()
    isolate: bool = False
    step: str | Step = "exact"
    initial_edge_weight: float | str = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.initial_edge_weight, str):
            number("initial_edge_weight", self.initial_edge_weight, at_least=0)
        if self.initial is not None and self.initial_edge_weight != "auto":
            raise InvalidInputError(
                "initial and initial_edge_weight both say where to start; pass one of them"
            )
        find_step(self.step)
        # The solvers are looked up by making a program, which compiles nothing yet.
        object.__setattr__(self, "solver", DiagonalProgram(1, **self.program_options()).solver)

    def program_options(self) -> dict[str, Any]:
        """Return who solves the programs and how, as options of a `gdaopt.programs.Program`."""
        return {
            "solver": self.solver,
            "solver_opts": self.solver_opts,
            "fallback": (self.fallback,) if isinstance(self.fallback, str) else self.fallback,
            "isolate": self.isolate,
        }

    @abstractmethod
    def begin(self, problem: MetricProblem, feasible_set: GraphMetrics, clock: Clock) -> AlignedRun:
        """Return a run of this method."""

    def states(self, problem: MetricProblem, clock: Clock) -> Iterator[State]:
        """Yield the start and the state after each step."""
        feasible_set = problem.feasible_set
        if not isinstance(feasible_set, GraphMetrics):
            raise InvalidInputError(
                f"method {self.name!r} needs a set of GraphMetrics, got {feasible_set!r}"
            )
        initial = self.initial_metric(problem)
        if initial is None:
            initial = feasible_set.start(problem.n_features, self.initial_edge_weight)
        yield from self.begin(problem, feasible_set, clock).states(initial)


class AlignedRun(ABC):
    """One run: its state and its alignment.

    Parameters
    ----------
    method : AlignedMethod
        With its options.
    problem : MetricProblem
        The problem.
    feasible_set : GraphMetrics
        The problem's set.
    clock : Clock
        Says how much time is left.
    """

    state: State
    alignment: Alignment

    def __init__(
        self,
        method: AlignedMethod,
        problem: MetricProblem,
        feasible_set: GraphMetrics,
        clock: Clock,
    ) -> None:
        self.objective: Objective = problem.objective
        self.feasible_set = feasible_set
        self._tolerance = method.tolerance
        self._clock = clock
        self._step = find_step(method.step).prepared(problem)
        self._aligned: Point | None = None

    def states(self, initial: FloatArray) -> Iterator[State]:
        """Yield the start, then the states of the rounds until the run has stalled."""
        point = self.objective.at(initial)
        check_start(point)
        self.state = State(point=point, objective=point.value)
        self.align()
        yield self.state
        yield from self.rounds()

    @abstractmethod
    def rounds(self) -> Iterator[State]:
        """Yield the states after the start; end by raising `RunEnded`."""

    def gained_little(self, before: float) -> bool:
        """Say whether the objective fell by no more than the tolerance since it was `before`."""
        return before - self.state.objective <= self._tolerance * abs(before)

    def stalled(self, rounds: str, before: float) -> RunEnded:
        """Return the end of a run whose last rounds gained little."""
        message = (
            f"{rounds} lowered the objective by {max(before - self.state.objective, 0.0):.3g}, "
            f"at most {self._tolerance:g} of its value"
        )
        return RunEnded("stalled", self.state.point.vanished() or message)

    def align(self) -> float:
        """Align the left-ends of the current metric, from the last scaling; return the seconds."""
        if self._aligned is self.state.point:
            return 0.0  # the block before left the metric where it was
        start = time.perf_counter()
        self._aligned = self.state.point
        metric = self.state.metric
        self.alignment = align(
            metric,
            self.feasible_set.min_eigenvalue,
            edge_threshold=self.feasible_set.edge_threshold(len(metric)),
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

    def slack(self) -> FloatArray:
        """Return the left-ends minus ρ, with negative round-off as 0.

        So the current metric stays inside its polytopes to the last bit, also where it is tight.
        """
        slack = self.alignment.left_ends - self.feasible_set.min_eigenvalue
        if slack.min() < -_ROUND_OFF * self.feasible_set.trace_bound:
            raise SolverFailedError(
                f"the eigenvector ({self.alignment.scaling}) leaves a left-end "
                f"{-slack.min():.3g} below the smallest eigenvalue allowed"
            )
        return np.maximum(slack, 0.0)

    def advance(self, block: Block[Any], iteration: int, round_: int, eig_seconds: float) -> State:
        """Solve the block's program, step towards its vertex, and return the state there.

        Parameters
        ----------
        block : Block
            What moves.
        iteration : int
            Steps taken before with the same polytope.
        round_ : int
            For the trace.
        eig_seconds : float
            Time that the alignment before this step took.
        """
        state = block_step(self.state, block, self._step, iteration, self._clock.left)
        if state.step:
            self._keep_connected(state.metric, block)
        self.state = replace(state, round=round_, eig_seconds=eig_seconds)
        return self.state

    def _keep_connected(self, metric: FloatArray, block: Block[Any]) -> None:
        """End the run, at the metric before, when a step would disconnect the graph."""
        if self.feasible_set.edge_floor > 0 and self.feasible_set.n_components(metric) > 1:
            raise RunEnded(
                "disconnected",
                f"the step in column {block.index} would leave "
                f"{self.feasible_set.n_components(metric)} components by edges of weight ≥ "
                f"{self.feasible_set.edge_floor:g}; connectivity='tree' prevents it",
            )
