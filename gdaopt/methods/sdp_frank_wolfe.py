"""Frank–Wolfe whose linear subproblem over the whole set is a semidefinite program."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, ClassVar

from gdaopt.certificate import certify_point
from gdaopt.methods.base import TakesSolver
from gdaopt.methods.blocks import MetricBlock, block_step
from gdaopt.methods.bounds import RunningBounds
from gdaopt.methods.memory import check_memory, cone_bytes
from gdaopt.methods.state import Clock, RunEnded, State
from gdaopt.methods.whole_set import WholeSetMethod
from gdaopt.problem import MetricProblem
from gdaopt.programs import ANALYTIC, SemidefiniteProgram, WholeSet
from gdaopt.programs.joint import entries_of
from gdaopt.sets import DiagonalMetrics, FeasibleSet
from gdaopt.steps import Step, find_step

__all__ = ["SemidefiniteFrankWolfe"]

_WINDOW = 2  # rounds of K steps that have to gain something


@dataclass(frozen=True, kw_only=True, eq=False)
class SemidefiniteFrankWolfe(TakesSolver, WholeSetMethod):
    """Frank–Wolfe with vertices from a semidefinite program, compiled once, over any set.

    The vertices are those of `gdaopt.FrankWolfe`, which has them in closed form: here a conic
    solver finds them, as it would have to without DESIGN section 4. A round is K steps. The run has
    *converged* when the certificate says so, and has *stalled* when two rounds in a row lower the
    objective by less than ``tolerance·|Q|`` together.

    Parameters
    ----------
    solver : str, optional
        Any solver that CVXPY knows with a semidefinite cone, in any case, or ``"analytic"``.
    solver_opts : mapping, optional
        Options of that solver.
    fallback : str or sequence of str, optional
        Who takes over a program that the solver fails on, in order.
    isolate : bool, optional
        Solve in a worker process that is killed when the time limit is over.
    step : str or Step, optional
        A name from `gdaopt.steps`, or an object.
    force : bool, optional
        Go on where the program is estimated to need more memory than is free.
    **limits
        See `gdaopt.Method`.

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

    solver: str = "CLARABEL"
    solver_opts: Mapping[str, Any] | None = None
    fallback: str | Sequence[str] = ()
    isolate: bool = False
    step: str | Step = "exact"
    force: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        find_step(self.step)
        # The solvers are looked up by making a program, which compiles nothing yet.
        program = self._program(DiagonalMetrics(1.0), 1)
        object.__setattr__(self, "solver", program.solver)

    def _program(self, feasible_set: FeasibleSet, n_features: int) -> SemidefiniteProgram:
        fallback = (self.fallback,) if isinstance(self.fallback, str) else self.fallback
        return SemidefiniteProgram(
            feasible_set, n_features, self.solver, self.solver_opts, fallback, self.isolate
        )

    def states(self, problem: MetricProblem, clock: Clock) -> Iterator[State]:
        """Yield the start and the state after each step."""
        feasible_set, size = problem.feasible_set, problem.n_features
        point = self.start_point(problem)
        program = self._program(feasible_set, size)
        if self.solver != ANALYTIC and not self.force:
            check_memory(cone_bytes(size, "semidefinite"), f"the {program.name}")
        step, bounds = find_step(self.step).prepared(problem), RunningBounds()
        certified = bounds.add(certify_point(problem, point))
        state = State(point=point, objective=point.value, **certified)
        yield state
        values = deque([point.value], maxlen=_WINDOW + 1)
        for iteration in count(1):
            block = MetricBlock(program, WholeSet(feasible_set, entries_of(state.metric)), size)
            state = block_step(state, block, step, iteration - 1, clock.left)
            certified = bounds.add(certify_point(problem, state.point))
            state = replace(state, round=1 + (iteration - 1) // size, **certified)
            yield state
            if iteration % size == 0:
                values.append(state.objective)
                changed = abs(values[0] - values[-1])  # open-loop steps may raise it, and go on
                if len(values) > _WINDOW and changed <= self.tolerance * abs(values[0]):
                    raise RunEnded(
                        "stalled",
                        f"two rounds of {size} steps changed the objective by {changed:.3g}, at "
                        f"most {self.tolerance:g} of its value",
                    )
