"""Recorded programs solved again, one after the other, by any backend: with the time of each stage.

All backends are judged alike: by the point that they return, before it is made feasible, in the
units that they see, against the answer that was recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from gdaopt.backends import Answer, StageSeconds, Stopwatch
from gdaopt.backends.protocol import Backend, checked_point
from gdaopt.backends.registry import check_solver_options, find_solver, make_backend
from gdaopt.bench.recorded import RecordedProgram, list_programs
from gdaopt.errors import InfeasibleProblemError, SolverFailedError
from gdaopt.support.validation import FloatArray, check_name, flag, number, options_mapping

Start = Literal["cold", "re-solve", "hot"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Replayed:
    """How a backend solved one program; without an answer it failed, with infinite residuals."""

    answer: Answer | None
    failure: str = ""
    calls_infeasible: bool = False
    seconds: StageSeconds
    infeasibility: float = np.inf  # the largest violation, in the units that solvers see
    suboptimality: float = np.inf  # over the size of the terms; negative if it is outside
    duality_gap: float = np.nan  # by the solver's multipliers, over the size; NaN without any

    @property
    def residual(self) -> float:
        """The larger of both, by size; infinity when the backend failed."""
        return max(self.infeasibility, abs(self.suboptimality))

    def is_verified(self, tolerance: float) -> bool:
        """Say whether the point is feasible and optimal up to a tolerance."""
        return self.residual <= tolerance


def replay(
    programs: Iterable[RecordedProgram],
    solver: str,
    *,
    start: Start = "re-solve",
    solver_opts: Mapping[str, Any] | None = None,
    isolate: bool = False,
    time_limit: float | None = None,
) -> Iterator[Replayed]:
    """Solve recorded programs again, in order.

    Parameters
    ----------
    programs : iterable of RecordedProgram
        Such as `gdaopt.bench.load_programs` returns.
    solver : str
        Any solver that CVXPY knows, ``"highspy"`` or ``"analytic"``, in capitals or not.
    start : {"re-solve", "cold", "hot"}, optional
        The state that is kept from one program to the next of its kind and size: the compiled
        program (``"re-solve"``); nothing (``"cold"``); or the program and the last answer, from
        which the solver starts if it can (``"hot"``).
    solver_opts : mapping, optional
        Options of the solver.
    isolate : bool, optional
        Solve in a worker process, which is killed when the time limit is over.
    time_limit : float, optional
        Seconds for each program.

    Yields
    ------
    Replayed
        One for each program: the ``answer``, or why there is none (``failure``); the ``seconds`` of
        its stages; how far the point is from an optimum (``residual``, ``is_verified``); and how
        far the solver's multipliers are from a proof (``duality_gap``).

    Raises
    ------
    InvalidInputError, SolverNotFoundError
        For a bad option, before a program is solved.

    Examples
    --------
    >>> from gdaopt.backends import LinearArrays
    >>> from gdaopt.bench import ProgramSequence
    >>> arrays = [LinearArrays.of([-1, -2], [[1, 1]], row_upper=[5 + k]) for k in (0, 1)]
    >>> programs = ProgramSequence.from_arrays("mine", arrays).programs
    >>> [replayed.is_verified(1e-6) for replayed in replay(programs, "highspy", start="hot")]
    [True, True]
    """
    check_name("start", start, get_args(Start))
    name = find_solver(solver)
    options = options_mapping("solver_opts", solver_opts)
    isolate = flag("isolate", isolate)
    if time_limit is not None:
        time_limit = number("time_limit", time_limit, above=0)
    check_solver_options(name, options)

    def backend() -> Backend:
        return make_backend(name, options, isolate=isolate, hot=start == "hot")

    return _replay_by(list_programs(programs), backend, start, time_limit)


def _replay_by(
    programs: Iterable[RecordedProgram],
    backend: Callable[[], Backend],
    start: Start,
    time_limit: float | None,
) -> Iterator[Replayed]:
    """Solve the programs, by one backend, or each by a new one."""
    lasting = None if start == "cold" else backend()
    for recorded in programs:
        watch = Stopwatch()
        solver = lasting or backend()
        try:
            answer = solver.minimize(recorded.polytope, recorded.cost, watch, time_limit)
            watch.lap("unpack")
            whose = f"{solver.name} called the {recorded.polytope.name} {answer.status}"
            point = checked_point(answer.point, recorded.cost.shape, whose)
        except (InfeasibleProblemError, SolverFailedError) as error:
            watch.lap("solve")
            yield Replayed(
                answer=None,
                failure=str(error),
                calls_infeasible=isinstance(error, InfeasibleProblemError),
                seconds=watch.seconds,
            )
            continue
        yield _judge(recorded, answer, point, watch.seconds)


def _judge(
    recorded: RecordedProgram, answer: Answer, point: FloatArray, seconds: StageSeconds
) -> Replayed:
    polytope = recorded.polytope
    arrays, best = recorded.arrays, polytope.coordinates(recorded.point)
    if answer.is_exact:
        point = polytope.coordinates(point)
    costs, gap = np.abs(arrays.cost), np.nan
    if answer.row_duals is not None:
        gap = arrays.residuals(point, answer.row_duals).gap
    # If the best point is 0: the cost of one entry of size 1; all costs may be 0.
    size = max(float(costs @ np.maximum(np.abs(point), np.abs(best))), float(costs.max())) or 1.0
    return Replayed(
        answer=answer,
        seconds=seconds,
        infeasibility=arrays.residuals(point, np.zeros(arrays.pattern.n_rows)).feasibility,
        suboptimality=float(arrays.cost @ (point - best)) / size,
        duality_gap=gap,
    )
