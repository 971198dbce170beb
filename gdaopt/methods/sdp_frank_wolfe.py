"""Frank–Wolfe whose linear subproblem over the whole set is a semidefinite program."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count
from typing import ClassVar

from gdaopt.linalg.entries import entries_of, pairs_of
from gdaopt.methods.base import ProgramMethod
from gdaopt.methods.blocks import MetricBlock
from gdaopt.methods.conic import check_memory, cone_bytes, is_isolated
from gdaopt.methods.state import Clock, State
from gdaopt.methods.steps import Step, find_step
from gdaopt.methods.stopping import LowerBound, StallRule
from gdaopt.problem import MetricProblem
from gdaopt.programs import ANALYTIC, Program, WholeSet
from gdaopt.programs.constrained import keeping_rows
from gdaopt.support.deadline import unlimited
from gdaopt.support.validation import flag, store_checked

_ROUNDS = 2  # of K steps that have to change the objective together


@dataclass(frozen=True, kw_only=True, eq=False)
class SemidefiniteFrankWolfe(ProgramMethod):
    """Frank–Wolfe with vertices from a semidefinite program, compiled once, over any set.

    The vertices are those of `gdaopt.methods.FrankWolfe`, which has them in closed form; here a
    conic solver finds them, as it would have to without that closed form. A round is K steps. The
    run has *converged* when the certificate says so, and has *stalled* when two rounds in a row
    lower the objective by less than `tolerance` of its size together (`gdaopt.methods.StallRule`).

    Parameters
    ----------
    solver : str, optional
        Any solver that CVXPY knows with a semidefinite cone, in any case, or ``"analytic"``.
    solver_opts, fallback, isolate
        See `gdaopt.methods.ProgramMethod`.
    step : str or Step, optional
        A name from `gdaopt.methods.steps`, or an object.
    force : bool, optional
        Go on where the program is estimated to need more memory than is free.
    **limits
        See `gdaopt.methods.Method`.

    Raises
    ------
    InvalidInputError, SolverNotFoundError
        For a bad option, such as a solver without a semidefinite cone.

    Examples
    --------
    >>> import gdaopt as gda
    >>> glr = gda.GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
    >>> problem = gda.MetricProblem(glr, gda.PositiveDefiniteMetrics(trace_bound=4.0))
    >>> result = gda.solve(problem, "sdp-frank-wolfe", max_iterations=20)
    >>> result.relative_gap < 0.1
    True
    """

    name: ClassVar[str] = "sdp-frank-wolfe"
    keeps_constraints: ClassVar[bool] = True

    cone: ClassVar[str] = "semidefinite"

    solver: str = "CLARABEL"
    step: str | Step = "exact"
    force: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        find_step(self.step)
        store_checked(self, flag, "force")

    def states(self, problem: MetricProblem, clock: Clock) -> Iterator[State]:
        feasible_set, size = problem.feasible_set, problem.n_features
        edges = feasible_set.edges_of(size)
        pairs = pairs_of(size, edges)
        point = self.start_point(problem)
        needed = cone_bytes(size, len(edges[0]), "semidefinite")
        isolate = is_isolated(self.isolate, needed, clock)
        program = Program(replace(self.program_options, isolate=isolate))
        if self.solver != ANALYTIC and not self.force:
            check_memory(needed, f"the {WholeSet.name}")
        step, bound = find_step(self.step).prepared(problem), LowerBound()
        state = bound.certified(problem, State(point=point, objective=point.value))
        yield state
        stall = StallRule(problem, point, self.tolerance, rounds=_ROUNDS, rises_count=True)
        for iteration in count(1):
            whole = WholeSet(feasible_set, size, entries_of(state.metric, edges))
            kept = keeping_rows(whole, problem.rows, state.metric, pairs)
            block = MetricBlock(program, kept, size, edges)
            round_ = 1 + (iteration - 1) // size
            state = block.step(state, step, iteration - 1, round_, clock.left)
            with unlimited():  # a step that has been taken is not lost
                state = bound.certified(problem, state)
            yield state
            if iteration % size == 0:
                stall.check(state.point)
