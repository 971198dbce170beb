"""Baselines of conic solvers: the whole problem, or the linear subproblem of Frank–Wolfe."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from gdaopt.backends.cvxpy import solve_program
from gdaopt.backends.protocol import ANALYTIC
from gdaopt.certificate.tangent import is_at_kink
from gdaopt.errors import InfeasibleProblemError, SolverFailedError
from gdaopt.linalg.entries import entries_of
from gdaopt.methods.base import Demand, ProgramMethod, States
from gdaopt.methods.blocks import Block, take_steps
from gdaopt.methods.context import Context
from gdaopt.methods.steps import Step, find_step
from gdaopt.methods.stopping import LowerBound, StallRule
from gdaopt.problem import MetricProblem
from gdaopt.programs.constrained import keep_rows
from gdaopt.programs.whole_set import WholeSet, place_entries
from gdaopt.state import State
from gdaopt.support.cvxpy_loading import cp
from gdaopt.support.resources import check_fits
from gdaopt.support.validation import flag, store_checked

_REMEDY = "take method 'certified', fewer samples or features, or force=True"
_ADVICE = "take another solver, or other solver_opts"
_ROUNDS = 2  # rounds of K steps of Frank–Wolfe that have to change the objective together
_FARTHEST = 0.1  # share of C: a point farther outside is no inexact answer but a wrong one

# Bytes for each of the d² entries that a factorisation holds: interior-point solvers see all
# entries of the metric coupled. d is K(K+1)/2 in a semidefinite cone, and K plus the number of
# edges in second-order cones. Measured with CLARABEL and ECOS, K from 10 to 80, all edges.
_BYTES = {"semidefinite": 60, "second-order": 24}
_LARGE = 2e7  # bytes: CVXPY and a solver take about a second to begin with such a program


@dataclass(frozen=True, kw_only=True, eq=False)
class ConicMethod(ProgramMethod):
    """The problem as one conic program.

    The solver's point is moved into the set (`Result.repair_distance`), then certified. The run is
    *inaccurate* when the solver was not accurate enough. Interior-point solvers leave weights of
    about 1e-9 on edges that the optimum does not have, and these count as edges.

    Parameters
    ----------
    solver : str, optional
        Any solver that CVXPY knows and that has the cones, in capitals or not. CLARABEL, ECOS and
        SCS get an accuracy that suits `tolerance` unless `solver_opts` say otherwise; other solvers
        keep their defaults.
    force : bool, optional
        Go on if the program is estimated to need more memory than is free.
    **options
        See `ProgramMethod` and `Method`. If the solver fails, the result is `initial`.
    """

    cone: ClassVar[str]
    closed_form: ClassVar[bool] = False
    takes: ClassVar[tuple[Demand, ...]] = ("linear constraints",)

    solver: str = "CLARABEL"
    force: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        store_checked(self, flag, "force")

    def states(self, problem: MetricProblem, context: Context) -> States:
        feasible_set, size = problem.feasible_set, problem.n_features
        start = self.start_point(problem)
        n_edges = len(feasible_set.family.edges_of(size)[0])
        needed = cone_bytes(size, n_edges, self.cone) + problem.objective.conic_bytes()
        if not self.force:
            check_fits(needed, f"the {self.cone} program", _REMEDY)
        bound = LowerBound()
        first = bound.certify(problem, context, State(point=start))
        if self.initial is None:
            problem.take_centre(start.value, first.frank_wolfe_gap)
        if not context.is_over:  # else the run ends at its start
            with context.timed("build"):
                program, variable = self._program(problem, problem.size_of(start.value))
        yield first
        options = context.programs
        assert options is not None
        failures: list[InfeasibleProblemError | SolverFailedError] = []
        for solver in (options.solver, *options.fallback):
            if failures and context.is_over:
                continue  # to the first one's error
            try:
                answer = solve_program(
                    program,
                    solver,
                    solver_opts=None if failures else options.solver_opts,
                    time_limit=context.left,
                    gap=self.tolerance,
                    isolate=is_isolated(self.isolate, needed, context),
                    name=f"{self.cone} program",
                )
                break
            except (InfeasibleProblemError, SolverFailedError) as error:
                failures.append(error)
        else:
            raise type(failures[0])(f"{failures[0]}; {_ADVICE}") from failures[0].__cause__
        metric = np.asarray(variable.value)
        answered = (metric + metric.T) / 2  # exactly symmetric
        context.add_program(answer)
        feasible = problem.made_feasible(answered)
        moved = float(np.abs(feasible - answered).max())
        if moved > _FARTHEST * feasible_set.trace_bound:
            raise SolverFailedError(
                f"{solver} called the {self.cone} program {answer.status} and returned a "
                f"point {moved:.3g} outside of the set, more than inexact solvers are off by; "
                f"{_ADVICE}"
            )
        with context.completing("objective"):
            point = problem.objective.at(feasible)
        state = State(
            point=point,
            iteration=1,
            round=1,
            phase=self.name,
            repair_distance=moved,
            oracle_calls=1,
            solver=answer.solver,
            solver_status=answer.status,
        )
        state = bound.certify(problem, context, state)
        yield state
        gap = f"{solver} ended {answer.status}, and its answer has a certified gap of "
        gap += f"{state.objective - bound.value:.3g}"
        if is_at_kink(problem, point):
            why = "at a kink of the objective, where the gap of one subgradient tells little"
            return "inaccurate", f"{gap}, {why}"
        return "inaccurate", f"{gap}; ask for more by solver_opts, or by another solver"

    def _program(self, problem: MetricProblem, unit: float) -> tuple[cp.Problem, cp.Expression]:
        """Return the CVXPY problem, in units that solvers like, and the metric in it."""
        feasible_set, size = problem.feasible_set, problem.n_features
        edges = feasible_set.family.edges_of(size)
        if 2 * len(edges[0]) == size * (size - 1):
            entries: cp.Expression = cp.Variable((size, size), symmetric=True)
        else:  # no entry that must be 0
            entries = place_entries(cp.Variable(size + len(edges[0])), size, edges)
        metric = feasible_set.trace_bound / size * entries
        log = problem.objective.log_convex  # if Q spans decades, its logarithm does not
        program = problem.to_cvxpy(metric, cone=self.cone, log=log)
        return (program if log else program / (unit or 1.0)), metric


class Semidefinite(ConicMethod):
    """The problem as a semidefinite program, over any set: exact.

    See ``ConicMethod`` for the options.

    Examples
    --------
    >>> import gdaopt as gda
    >>> glr = gda.GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
    >>> problem = gda.MetricProblem(glr, gda.PositiveDefiniteMetrics(trace_bound=4.0))
    >>> gda.solve(problem, "sdp", solver="CLARABEL").relative_gap < 1e-4
    True
    """

    name: ClassVar[str] = "sdp"
    cone: ClassVar[str] = "semidefinite"


class SecondOrder(ConicMethod):
    """The same problem in second-order cones, over graph metrics and signed ones: exact too.

    Solvers without semidefinite cones, such as ECOS, can take it. See ``ConicMethod`` for the
    options.

    Examples
    --------
    >>> import gdaopt as gda
    >>> glr = gda.GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
    >>> problem = gda.MetricProblem(glr, gda.GraphMetrics(trace_bound=4.0))
    >>> gda.solve(problem, "socp", solver="CLARABEL").relative_gap < 1e-4
    True
    """

    name: ClassVar[str] = "socp"
    cone: ClassVar[str] = "second-order"


@dataclass(frozen=True, kw_only=True, eq=False)
class SemidefiniteFrankWolfe(ProgramMethod):
    """Frank–Wolfe with vertices from a semidefinite program, compiled once, over any set.

    The vertices are those of `FrankWolfe`; here a conic solver finds them, which would be necessary
    without their closed form. A round is K steps. The run ends for *slow_progress* when two rounds
    in a row lower the objective by less than `tolerance` of its size together (`StallRule`).

    Parameters
    ----------
    step : str or Step, optional
        A name from `gdaopt.methods.steps`, or an object.
    force : bool, optional
        Go on if the program is estimated to need more memory than is free.
    **options
        See `ProgramMethod` and `Method`.

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
    takes: ClassVar[tuple[Demand, ...]] = ("not convex", "linear constraints")

    cone: ClassVar[str] = "semidefinite"

    solver: str = "CLARABEL"
    step: str | Step = "exact"
    force: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        find_step(self.step)
        store_checked(self, flag, "force")

    def states(self, problem: MetricProblem, context: Context) -> States:
        feasible_set, size = problem.feasible_set, problem.n_features
        edges = feasible_set.family.edges_of(size)
        point = self.start_point(problem)
        needed = cone_bytes(size, len(edges[0]), "semidefinite")
        context.isolate = is_isolated(self.isolate, needed, context)
        if self.solver != ANALYTIC and not self.force:
            check_fits(needed, f"the {WholeSet.name}", _REMEDY)
        step, bound = find_step(self.step).prepared(problem), LowerBound()
        start = bound.certify(problem, context, State(point=point))
        yield start
        stall = StallRule(problem, point, self.tolerance, rounds=_ROUNDS, rises_count=True)
        block = Block.all_entries(size, edges, np.full(len(edges[0]), -1.0))
        whole = WholeSet(feasible_set, size, entries_of(start.metric, edges))
        polytope = keep_rows(whole, problem.rows, start.metric, (block.rows, block.columns))
        steps, ending = take_steps(start, block, polytope, step, context), None
        while ending is None:
            state = next(steps)
            state = replace(state, round=1 + (state.iteration - 1) // size)
            state = bound.certify(problem, context, state)
            yield state
            if state.iteration % size == 0:
                ending = stall.check(state.point)
        return ending


def cone_bytes(n_features: int, n_edges: int, cone: str) -> float:
    """Return an estimate of the bytes that ``M ⪰ ρI`` takes inside of a solver."""
    is_matrix = cone == "semidefinite"
    entries = n_features * (n_features + 1) / 2 if is_matrix else n_features + n_edges
    return _BYTES[cone] * entries**2


def is_isolated(asked: bool | None, needed: float, context: Context) -> bool:
    """Say whether a conic program is solved in a worker process, which can be killed.

    Solvers look at the clock once an iteration, and CVXPY never does.
    """
    return context.left is not None and needed > _LARGE if asked is None else asked
