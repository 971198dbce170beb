"""The backend of HiGHS itself, without CVXPY: one model, changed in place and started hot.

Hot starts have hazards: a basis that has become singular or infeasible has led HiGHS to wrong
answers that it called optimal (its issues 2913, 3138 and 3194). So each answer is checked against
the numbers of its program, by residuals of the point and the duals. Where they are too large, or
HiGHS calls the program infeasible, it is asked again from the start, and the answer says so.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from gdaopt.backends.arrays import LinearArrays
from gdaopt.backends.highs_model import HighsModel, Solved
from gdaopt.backends.isolated import Held, call_in_worker
from gdaopt.backends.protocol import Answer, PreparedProgram, StageSeconds, Stopwatch
from gdaopt.errors import InaccurateSolutionWarning, InfeasibleProblemError, SolverFailedError
from gdaopt.support.text import reason

__all__ = ["HighspyBackend"]

_ACCURATE = 1e-7  # residuals of answers that are taken without asking again
_USABLE = 1e-4  # residuals of answers that are called inaccurate; HiGHS calls none of them so

_held: Held[HighsModel] = Held()  # filled in the worker only


class HighspyBackend:
    """HiGHS through its own interface, on the program's arrays.

    Parameters
    ----------
    options : mapping
        Options of HiGHS, by their names there, such as ``{"solver": "ipm"}``.
    isolate : bool
        Whether to solve in a worker process, which is killed when the time limit is over.
    hot : bool, optional
        Whether to start from the basis of the program before, as by default.

    Raises
    ------
    InvalidInputError
        For an option that HiGHS does not know, or a value that it refuses.
    """

    name = "highspy"

    def __init__(
        self, options: Mapping[str, Any], *, isolate: bool = False, hot: bool | None = None
    ) -> None:
        self._options = dict(options)
        model = HighsModel(options)  # which checks the options
        self._model = None if isolate else model
        self._key = uuid4().bytes  # of the worker's model
        # Only the simplex starts from a basis.
        self._hot = hot is not False and options.get("solver", "simplex") in ("simplex", "choose")

    def minimize(
        self, program: PreparedProgram, watch: Stopwatch, time_limit: float | None
    ) -> Answer:
        """Return HiGHS' answer, checked; see `gdaopt.backends.Backend`."""
        arrays = program.arrays()
        watch.lap("write")
        start = time.perf_counter()
        try:
            solved = self._solve(arrays, watch, time_limit, self._hot, True)
            residual = _residual(arrays, solved)
            restarts = 0
            if solved.status != "user_limit" and not residual <= _ACCURATE:
                watch.lap("unpack")
                restarts = 1
                left = None if time_limit is None else time_limit - (time.perf_counter() - start)
                # The presolve calls some feasible programs infeasible, whose budget is redundant
                # up to round-off (compare issue 2511 of HiGHS).
                solved = self._solve(arrays, watch, left, False, solved.status != "infeasible")
                residual = _residual(arrays, solved)
        except Exception as error:  # HiGHS raises errors of any kind
            message = f"{self.name} failed on the {program.name}: {reason(error)}"
            raise SolverFailedError(message) from error
        if solved.status == "infeasible":
            raise InfeasibleProblemError(f"{self.name} calls the {program.name} infeasible")
        if solved.status != "optimal":
            raise SolverFailedError(
                f"{self.name} ended on the {program.name} with status {solved.status!r}"
            )
        status = solved.status
        if residual > _USABLE:
            status = "optimal_inaccurate"
            warnings.warn(
                f"{self.name} calls its answer to the {program.name} optimal, but it is off by "
                f"{residual:.3g}",
                InaccurateSolutionWarning,
                stacklevel=2,
            )
        watch.lap("unpack")
        return Answer(
            point=solved.point,
            status=status,
            multipliers=arrays.row_multipliers(solved.row_duals),
            iterations=solved.iterations,
            reported_seconds=solved.reported_seconds,
            restarts=restarts,
        )

    def _solve(
        self,
        arrays: LinearArrays,
        watch: Stopwatch,
        time_limit: float | None,
        hot: bool,
        presolve: bool,
    ) -> Solved:
        """Solve in this process, or in the worker."""
        if self._model is not None:
            solved = self._model.minimize(arrays, hot=hot, time_limit=time_limit, presolve=presolve)
            watch.lap("solve")
            return solved
        call = (HighsModel, self._key, self._options, arrays, hot, time_limit, presolve)
        solved, seconds = call_in_worker(_solve_in_worker, *call, time_limit=time_limit)
        watch.lap_elsewhere(seconds)
        return solved


def _residual(arrays: LinearArrays, solved: Solved) -> float:
    """Return how far an answer is from an optimum; infinity for one that is not called optimal."""
    if solved.status != "optimal":
        return float("inf")
    return arrays.residuals(solved.point, solved.row_duals).total


def _solve_in_worker(
    make: type[HighsModel],
    key: bytes,
    options: Mapping[str, Any],
    arrays: LinearArrays,
    hot: bool,
    time_limit: float | None,
    presolve: bool,
) -> tuple[Solved, StageSeconds]:
    """Solve in the worker, which keeps the model of a key; return the stages as well."""
    watch = Stopwatch()
    model = _held.get(key, lambda: make(options))
    solved = model.minimize(arrays, hot=hot, time_limit=time_limit, presolve=presolve)
    watch.lap("solve")
    return solved, watch.seconds
