"""The backend of HiGHS itself, without CVXPY: one model, changed in place and started hot.

Hot starts have hazards: a basis that has become singular or infeasible has led HiGHS to wrong
answers that it called optimal (its issues 2913, 3138 and 3194). So each answer is checked against
the numbers of its program, by residuals of the point and the duals. If they are too large, or
HiGHS calls the program infeasible, it is asked again from the start, and the answer says so.
"""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from types import ModuleType
from typing import Any
from uuid import uuid4

import numpy as np
import numpy.typing as npt

from gdaopt.backends.arrays import LinearArrays
from gdaopt.backends.isolated import Held, call_in_worker
from gdaopt.backends.protocol import Answer, LinearProgram, StageSeconds, Stopwatch, check_status
from gdaopt.errors import InaccurateSolutionWarning, InvalidInputError, SolverFailedError
from gdaopt.support.text import reason, shortened
from gdaopt.support.validation import FloatArray, check_name

DEFAULTS: dict[str, Any] = {
    "output_flag": False,
    "solver": "simplex",
    # In the units of prepared programs. HiGHS' own tolerances are 1e-7; programs this small are
    # solved to 1e-9 in the same time.
    "primal_feasibility_tolerance": 1e-9,
    "dual_feasibility_tolerance": 1e-9,
    # Most programs have the polytope of the one before, in which its basis is still feasible: the
    # primal simplex goes on from there. HiGHS chooses it then, and the dual one otherwise.
    "simplex_strategy": 0,
    # The units have scaled the program. Both options together save a tenth to a quarter of the time
    # of joint programs, and do not change the time of other programs.
    "simplex_scale_strategy": 0,
}
"""Options of HiGHS if the user names none."""

_ACCURATE = 1e-7  # residuals of answers that are taken without asking again
_USABLE = 1e-4  # residuals of answers that are called inaccurate; HiGHS calls none of them so
_COUNTS = (
    "simplex_iteration_count",
    "ipm_iteration_count",
    "crossover_iteration_count",
    "pdlp_iteration_count",
)


@cache
def load_highspy() -> ModuleType:
    """Return the package highspy; models that are made after this call write no banner.

    Since version 1.16 the constructor of a process' first model enables callbacks, which writes two
    lines to where the model's log goes. Here that log is off by then, and all others stay as they
    are.
    """
    import highspy  # on demand: importing gdaopt loads no solver

    class Quiet(highspy.Highs):  # noqa: TID251 (this is where it may be used)
        def enableCallbacks(self) -> None:  # noqa: N802 (a name of HiGHS)
            self.setOptionValue("log_to_console", False)
            super().enableCallbacks()  # type: ignore[no-untyped-call]  # it has few types

    Quiet()  # type: ignore[no-untyped-call]  # as above
    return highspy


class _Scheduler(threading.local):
    """What runs HiGHS' tasks in this thread: it has the threads that its first run asked for."""

    threads: object = 0  # by default HiGHS takes half of the processors


_scheduler = _Scheduler()


def use_threads(number: object) -> None:
    """Let HiGHS use a number of threads in its next runs; 0 stands for its default.

    It is called before each run: without it HiGHS fails if a run asks for another number than
    the first one of this thread.
    """
    if number != _scheduler.threads:
        load_highspy().Highs.resetGlobalScheduler(True)
        _scheduler.threads = number


class HighsModel:
    """Programs of one pattern in HiGHS; options that it does not know or refuses are errors."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        highspy = load_highspy()
        self._highs: Any = highspy.Highs()
        self._highs.setOptionValue("output_flag", False)  # else a refusal is printed
        for name, value in {**DEFAULTS, **options}.items():
            check_name("option of highspy:", name, highs_options())
            if not self._takes(name, value):
                kind = type(self._highs.getOptionValue(name)[1]).__name__
                raise InvalidInputError(
                    f"HiGHS refuses the option {name} = {shortened(value)}: it takes a value of "
                    f"type {kind}; see the options in its documentation"
                )
        self._set: dict[str, Any] = {
            name: self._highs.getOptionValue(name)[1] for name in ("presolve", "time_limit")
        }
        self._own = dict(self._set)
        self._threads = self._highs.getOptionValue("threads")[1]
        solver = self._highs.getOptionValue("solver")[1]
        self._counts = ("simplex_iteration_count",) if solver == "simplex" else _COUNTS
        self._sent: LinearArrays | None = None

    def _takes(self, name: str, value: Any) -> bool:
        """Set an option; say whether HiGHS takes the value."""
        from highspy import HighsStatus

        try:
            return bool(self._highs.setOptionValue(name, value) == HighsStatus.kOk)
        except TypeError:  # no option has such a type, e.g. a list
            return False

    def minimize(
        self,
        arrays: LinearArrays,
        *,
        hot: bool,
        time_limit: float | None = None,
        presolve: bool = True,
    ) -> Answer:
        """Solve a program, from the last basis if hot; only what has changed is written."""
        highs = self._highs
        self._send(arrays)
        if not hot:
            highs.clearSolver()
        self._change("presolve", self._own["presolve"] if presolve else "off")
        before = highs.getRunTime()
        # HiGHS counts the time of all runs of a model. A limit of the user's comes before ours.
        left = self._own["time_limit"]
        if time_limit is not None and left == np.inf:
            left = max(time_limit, 0.01)
        self._change("time_limit", before + left)
        use_threads(self._threads)
        highs.run()
        status = _statuses().get(highs.getModelStatus(), "solver_error")
        solution = highs.getSolution()
        counts = [highs.getInfoValue(name)[1] for name in self._counts]
        return Answer(
            solver=HighspyBackend.name,
            status=status,
            point=np.array(solution.col_value),
            row_duals=np.array(solution.row_dual),
            iterations=sum(max(count, 0) for count in counts),
            reported_seconds=highs.getRunTime() - before,
        )

    def basis(self) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Return which variables and rows are basic after a call, and which are at upper bounds."""
        from highspy import HighsBasisStatus

        basis = self._highs.getBasis()
        statuses = [*basis.col_status, *basis.row_status]
        is_basic = np.array([status == HighsBasisStatus.kBasic for status in statuses])
        return is_basic, np.array([status == HighsBasisStatus.kUpper for status in statuses])

    def _change(self, name: str, value: Any) -> None:
        """Set an option if it has another value."""
        if self._set[name] != value:
            self._highs.setOptionValue(name, value)
            self._set[name] = value

    def _send(self, arrays: LinearArrays) -> None:
        """Write what has changed since the last call into the model."""
        highs, sent, pattern = self._highs, self._sent, arrays.pattern
        if sent is None:
            self._pass_whole(arrays)
        elif not _same(arrays.coefficients, sent.coefficients):
            # HiGHS changes coefficients one by one: a new model with the old basis takes less time.
            basis = highs.getBasis()
            self._pass_whole(arrays)
            if basis.valid:
                highs.setBasis(basis)
        else:
            columns = pattern.every_column
            highs.changeColsCost(pattern.size, columns, arrays.cost)
            if arrays.upper_bounds is not sent.upper_bounds:  # most steps keep the polytope
                highs.changeColsBounds(pattern.size, columns, arrays.lower, arrays.upper)
                for row in range(pattern.n_rows):  # highspy before 1.13 takes them one by one
                    highs.changeRowBounds(row, arrays.row_lower[row], arrays.row_upper[row])
        self._sent = arrays

    def _pass_whole(self, arrays: LinearArrays) -> None:
        import highspy

        pattern = arrays.pattern
        self._highs.passModel(
            pattern.size,
            pattern.n_rows,
            len(arrays.coefficients),
            int(highspy.MatrixFormat.kRowwise),
            int(highspy.ObjSense.kMinimize),
            0.0,
            arrays.cost,
            arrays.lower,
            arrays.upper,
            arrays.row_lower,
            arrays.row_upper,
            pattern.starts,
            pattern.columns,
            arrays.coefficients,
            np.zeros(pattern.size, dtype=np.int32),  # no integers
        )


def _same(a: FloatArray, b: FloatArray) -> bool:
    return a is b or np.array_equal(a, b)


class HighspyBackend:
    """HiGHS through its own interface, on the program's arrays: a model for each pattern of them.

    The options have their names there, such as ``{"solver": "ipm"}``; an InvalidInputError refuses
    unknown ones, and values that HiGHS refuses.
    """

    name = "highspy"

    def __init__(
        self, options: Mapping[str, Any], *, isolate: bool = False, hot: bool | None = None
    ) -> None:
        self._options = dict(options)
        self._unused = [HighsModel(options)]  # which checks the options
        self._models: dict[object, HighsModel] = {}
        self._key = uuid4().bytes if isolate else None  # for the worker's models
        # Only the simplex starts from a basis.
        self._hot = hot is not False and options.get("solver", "simplex") in ("simplex", "choose")

    def minimize(
        self, program: LinearProgram, cost: FloatArray, watch: Stopwatch, time_limit: float | None
    ) -> Answer:
        """Return HiGHS' answer, checked; see `gdaopt.backends.protocol.Backend`."""
        arrays = program.arrays(cost)
        if arrays.cones is not None:
            raise InvalidInputError(f"the {program.name} is not linear: arrays are not all of it")
        watch.lap("write")
        start = time.perf_counter()
        try:
            answer = self._solve(arrays, watch, time_limit, self._hot, True)
            residual = _residual(arrays, answer)
            if answer.status != "user_limit" and not residual <= _ACCURATE:
                watch.lap("unpack")
                left = None if time_limit is None else time_limit - (time.perf_counter() - start)
                # The presolve calls some feasible programs infeasible, whose budget is redundant
                # up to round-off (compare issue 2511 of HiGHS).
                presolve = answer.status != "infeasible"
                answer = replace(self._solve(arrays, watch, left, False, presolve), restarts=1)
                residual = _residual(arrays, answer)
        except Exception as error:  # HiGHS raises errors of any kind
            message = f"{self.name} failed on the {program.name}: {reason(error)}"
            raise SolverFailedError(message) from error
        check_status(answer.status, self.name, program.name)
        if residual > _USABLE:
            answer = replace(answer, status="optimal_inaccurate")
            warnings.warn(
                f"{self.name} calls its answer to the {program.name} optimal, but it is off by "
                f"{residual:.3g}",
                InaccurateSolutionWarning,
                stacklevel=2,
            )
        watch.lap("unpack")
        return answer

    def _solve(
        self,
        arrays: LinearArrays,
        watch: Stopwatch,
        time_limit: float | None,
        hot: bool,
        presolve: bool,
    ) -> Answer:
        """Solve in this process, or in the worker."""
        if self._key is None:
            key = arrays.pattern.key
            if key not in self._models:
                unused = self._unused.pop() if self._unused else HighsModel(self._options)
                self._models[key] = unused
            answer = self._models[key].minimize(
                arrays, hot=hot, time_limit=time_limit, presolve=presolve
            )
            watch.lap("solve")
            return answer
        call = (HighsModel, self._key, self._options, arrays, hot, time_limit, presolve)
        answer, seconds = call_in_worker(_solve_in_worker, *call, time_limit=time_limit)
        watch.lap_elsewhere(seconds)
        return answer


def _residual(arrays: LinearArrays, answer: Answer) -> float:
    """Return how far an answer is from an optimum; infinity for one that is not called optimal."""
    if answer.status != "optimal" or answer.row_duals is None:
        return float("inf")
    return arrays.residuals(answer.point, answer.row_duals).total


_held: Held[HighsModel] = Held()  # filled in the worker only


def _solve_in_worker(
    make: type[HighsModel],
    key: bytes,
    options: Mapping[str, Any],
    arrays: LinearArrays,
    hot: bool,
    time_limit: float | None,
    presolve: bool,
) -> tuple[Answer, StageSeconds]:
    """Solve in the worker, which keeps the model of a key; return the stages as well."""
    watch = Stopwatch()
    model = _held.get((key, arrays.pattern.key), lambda: make(options))
    answer = model.minimize(arrays, hot=hot, time_limit=time_limit, presolve=presolve)
    watch.lap("solve")
    return answer, watch.seconds


@cache
def highs_options() -> frozenset[str]:
    """Return the names of the public options of HiGHS."""
    import highspy

    return frozenset(name for name in dir(highspy.HighsOptions) if not name.startswith("_"))


@cache
def _statuses() -> dict[Any, str]:
    """Return CVXPY's words for the statuses of HiGHS; all other statuses are errors."""
    from highspy import HighsModelStatus as Status

    return {
        Status.kOptimal: "optimal",
        Status.kInfeasible: "infeasible",
        Status.kUnbounded: "unbounded",
        Status.kUnboundedOrInfeasible: "infeasible",
        Status.kTimeLimit: "user_limit",
        Status.kIterationLimit: "user_limit",
        Status.kInterrupt: "user_limit",
    }
