"""What a backend is: it solves one linear program after the other, and says where the time went.

The closed form is the simplest, and stands here; each other backend has its own module. A backend
gets a program and its costs. It keeps what it has compiled for each pattern of arrays.

The *stages* of a call are the same for all backends, and they are measured by one clock whose laps
follow one another, so that they add up to the call's time.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from gdaopt.backends.arrays import LinearArrays
from gdaopt.errors import InfeasibleProblemError, InvalidInputError, SolverFailedError
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


@dataclass(frozen=True, eq=False, kw_only=True)
class Answer:
    """What a solve returned, all the way from a solver to the trace.

    A backend returns a point in the units that solvers see. `Program.solve` returns a point of the
    program, with its `value`, `repair_distance` and `duals`.

    Attributes
    ----------
    solver : str
        Who solved it.
    point : ndarray of shape (n,)
        The answer; empty if variables of CVXPY hold it.
    status : str
        How it ended, such as ``"optimal"`` or ``"optimal_inaccurate"``.
    row_duals : ndarray of shape (m,), or None
        The duals y of the rows, see ``gdaopt.backends.arrays``. None when the solver gives none.
    is_exact : bool
        Whether the point is that of the closed form, which is inside in the program's own units.
    iterations, reported_seconds : int and float, or None
        The solver's own counts, if it reports any.
    restarts : int
        How often the solver was asked again from the start, because its answer was wrong.
    seconds : StageSeconds
        Wall time of the stages of the call, failed attempts included.
    value : float
        The cost of the point.
    repair_distance : float
        Largest entry of the change that brought the solver's point into the program.
    """

    solver: str
    point: FloatArray
    status: str = "optimal"
    row_duals: FloatArray | None = None
    is_exact: bool = False
    iterations: int | None = None
    reported_seconds: float | None = None
    restarts: int = 0
    seconds: StageSeconds = StageSeconds()
    value: float = float("nan")
    repair_distance: float = 0.0
    _duals: Callable[[], dict[str, FloatArray]] | None = None

    @property
    def duals(self) -> dict[str, FloatArray] | None:
        """The multipliers of the constraints by name, in the units of the cost and the program.

        Each is λ ≥ 0: the least value falls by about λ when the constraint is loosened by 1; for an
        equality ``a·x = b``, of either sign, when b rises by 1. The names are ``"budget"``,
        ``"rows"`` (``M v ≥ ρ v``, row by row), ``"floors"``, and the labels of linear constraints
        of one's own, as they were written. None when the solver gives none.
        """
        return None if self._duals is None else self._duals()


def checked_point(point: object, shape: tuple[int, ...], whose: str) -> FloatArray:
    """Return the point of an answer; refuse one that is no finite array of its shape."""
    try:
        array = np.asarray(point)
        fits = array.shape == shape and array.dtype.kind in "biuf" and is_finite(array)
    except (TypeError, ValueError):  # such as lists of several lengths
        fits = False
    if not fits:
        raise SolverFailedError(
            f"{whose} and returned {shortened(point)}, not finite numbers of shape {shape}"
        )
    return array.astype(np.float64, copy=False)


def check_status(status: str, solver: str, program: str) -> None:
    """Raise an error of `Backend.minimize` for a status of CVXPY that comes without a point."""
    if status in ("infeasible", "infeasible_inaccurate"):
        raise InfeasibleProblemError(f"{solver} calls the {program} {status}")
    if status not in ("optimal", "optimal_inaccurate"):
        raise SolverFailedError(f"{solver} ended on the {program} with status {status!r}")


class LinearProgram(Protocol):
    """A linear program as backends see it: the polytope, which the costs are given with."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What messages call it."""

    @abstractmethod
    def arrays(self, cost: FloatArray, /) -> LinearArrays:
        """Return the program as arrays, in units in which the numbers are about 1."""

    @abstractmethod
    def minimize(self, cost: FloatArray, /) -> FloatArray:
        """Return a point of smallest ``cost · x``, in closed form, in the program's own units.

        An InvalidInputError says that there is no closed form.
        """


class Backend(Protocol):
    """Minimises linear programs, and may keep what it likes between the calls."""

    @property
    def name(self) -> str:
        """What messages and traces call it."""

    def minimize(
        self,
        program: LinearProgram,
        cost: FloatArray,
        watch: Stopwatch,
        time_limit: float | None,
        /,
    ) -> Answer:
        """Return a point of least cost, in the seconds left; call the watch after each stage.

        An InfeasibleProblemError says that the solver calls the program infeasible, a
        SolverFailedError that it ends in any other way than with a point.
        """


class ClosedForm:
    """The exact solution of each program: it has no options, and never hangs."""

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
        self, program: LinearProgram, cost: FloatArray, watch: Stopwatch, _time_limit: float | None
    ) -> Answer:
        """Return the exact answer; see `Backend`."""
        point = program.minimize(cost)
        watch.lap("solve")
        return Answer(solver=ANALYTIC, point=point, is_exact=True)
