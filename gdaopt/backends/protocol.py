"""What a backend is: it minimises one prepared linear program, and says where the time went.

The analytic backend is the simplest, and stands here; each other backend has its own module.

A program hands itself to a backend in three forms, and the backend takes one: its exact solution,
a CVXPY problem, or arrays. The *stages* of a call are the same for all backends, and they
are measured by one clock whose laps follow one another, so that they add up to the call's time.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from gdaopt.backends.arrays import LinearArrays
from gdaopt.errors import InfeasibleProblemError, InvalidInputError, SolverFailedError
from gdaopt.support.cvxpy_loading import cp
from gdaopt.support.text import shortened
from gdaopt.support.validation import FloatArray, is_finite

ANALYTIC = "analytic"
"""The solver that is none: the exact solution of each program, in closed form."""


@dataclass(frozen=True, kw_only=True)
class StageSeconds:
    """Wall time of the stages of one call.

    Attributes
    ----------
    write : float
        Putting the program's numbers into parameters or arrays; with a worker process, also the way
        there and back.
    canonicalize : float
        Bringing a CVXPY problem into the form that the solver's interface takes.
    solve : float
        In the solver and its interface.
    unpack : float
        Reading the answer, checking it, and bringing it back into units and into the polytope.
    """

    write: float = 0.0
    canonicalize: float = 0.0
    solve: float = 0.0
    unpack: float = 0.0

    @property
    def build(self) -> float:
        """All that is not in the solver."""
        return self.write + self.canonicalize + self.unpack

    @property
    def total(self) -> float:
        """All of it: the wall time of the call."""
        return self.build + self.solve


class Stopwatch:
    """Measures the stages of a call: each lap begins where the one before has ended."""

    def __init__(self) -> None:
        self._laps = {"write": 0.0, "canonicalize": 0.0, "solve": 0.0, "unpack": 0.0}
        self._last = time.perf_counter()

    def lap(self, stage: str) -> None:
        """Count the time since the last lap as time of a stage."""
        now = time.perf_counter()
        self._laps[stage] += now - self._last
        self._last = now

    def lap_elsewhere(self, elsewhere: StageSeconds) -> None:
        """Count a lap that another process has measured; the way there and back is writing."""
        self.lap("write")
        self._laps["write"] -= elsewhere.total
        for stage in self._laps:
            self._laps[stage] += getattr(elsewhere, stage)

    @property
    def seconds(self) -> StageSeconds:
        """The laps so far, by stage."""
        return StageSeconds(**self._laps)


class Answer(NamedTuple):
    """What a backend found.

    Attributes
    ----------
    point : ndarray of shape (n,) or None
        In the units of the prepared program; None when the solver returned nothing.
    status : str
        ``"optimal"`` or ``"optimal_inaccurate"``.
    multipliers : mapping of str to ndarray, or None
        Multipliers of the rows by name (see `LinearArrays.parts`), in the units of the prepared
        program; other names are ignored. None when the solver gives none.
    is_exact : bool
        Whether this is the analytic answer: in the user's units, and inside of the polytope.
    iterations, reported_seconds : int and float, or None
        Of the solver, where it reports them of itself.
    restarts : int
        How often the solver was asked again from the start, because its answer was wrong.
    """

    point: FloatArray | None
    status: str = "optimal"
    multipliers: Mapping[str, FloatArray] | None = None
    is_exact: bool = False
    iterations: int | None = None
    reported_seconds: float | None = None
    restarts: int = 0


def checked_point(point: object, shape: tuple[int, ...], whose: str) -> FloatArray:
    """Return the point of an answer; refuse one that is no finite array of its shape."""
    try:
        found = np.asarray(point)
        fits = found.shape == shape and found.dtype.kind in "biuf" and is_finite(found)
    except (TypeError, ValueError):  # such as lists of several lengths
        fits = False
    if not fits:
        raise SolverFailedError(
            f"{whose} and returned {shortened(point)}, not finite numbers of shape {shape}"
        )
    return found.astype(np.float64, copy=False)


def check_status(status: str, solver: str, program: str) -> None:
    """Raise an error of `Backend.minimize` for a status of CVXPY that comes without a point."""
    if status in ("infeasible", "infeasible_inaccurate"):
        raise InfeasibleProblemError(f"{solver} calls the {program} {status}")
    if status not in ("optimal", "optimal_inaccurate"):
        raise SolverFailedError(f"{solver} ended on the {program} with status {status!r}")


class PreparedProgram(Protocol):
    """A linear program with its numbers, in the forms that backends take."""

    @property
    def name(self) -> str:
        """What messages call it."""

    def closed_form(self) -> Answer:
        """Return the exact answer; raise InvalidInputError where there is no closed form."""

    def problem(self) -> tuple[cp.Problem, cp.Variable]:
        """Return the CVXPY problem, the same object in each call, and its variable."""

    def arrays(self) -> LinearArrays:
        """Return the arrays, in units in which the numbers are about 1.

        Their pattern is the same object in each call for programs of one kind and size. Raise
        InvalidInputError where the program is not linear.
        """


class Backend(Protocol):
    """Minimises prepared programs of one kind and size, and may keep what it likes between."""

    @property
    def name(self) -> str:
        """What messages and traces call it."""

    def minimize(
        self, program: PreparedProgram, watch: Stopwatch, time_limit: float | None, /
    ) -> Answer:
        """Return a point of least cost, in the seconds left; call the watch after each stage.

        An InfeasibleProblemError says that the solver calls the program infeasible, a
        SolverFailedError that it ends in any other way than with a point.
        """


class AnalyticBackend:
    """The exact solution of each program in closed form: it has no options, and never hangs."""

    name = ANALYTIC

    def __init__(
        self,
        options: Mapping[str, Any],
        *,
        isolate: bool = False,  # noqa: ARG002 (it takes microseconds)
        hot: bool | None = None,  # noqa: ARG002 (it keeps nothing between calls)
    ) -> None:
        if options:
            raise InvalidInputError(
                f"solver_opts {shortened(dict(options))} make no sense with solver='analytic'"
            )

    def minimize(
        self, program: PreparedProgram, watch: Stopwatch, _time_limit: float | None, /
    ) -> Answer:
        """Return the program's exact answer; see `gdaopt.backends.protocol.Backend`."""
        answer = program.closed_form()
        watch.lap("solve")
        return answer
