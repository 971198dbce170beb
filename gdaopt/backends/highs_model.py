"""One model of HiGHS that is kept, changed in place, and solved again from its last basis."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gdaopt.backends.arrays import LinearArrays
from gdaopt.backends.highs_banner import load_highspy
from gdaopt.errors import InvalidInputError
from gdaopt.support.text import shortened
from gdaopt.support.validation import FloatArray, check_name

__all__ = ["DEFAULTS", "HighsModel", "Solved", "write_mps"]

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
    # of joint programs, and nothing of the others.
    "simplex_scale_strategy": 0,
}
"""Options of HiGHS where the user names none."""

_COUNTS = (
    "simplex_iteration_count",
    "ipm_iteration_count",
    "crossover_iteration_count",
    "pdlp_iteration_count",
)


class Solved(NamedTuple):
    """What HiGHS returned.

    Attributes
    ----------
    status : str
        In the words of CVXPY: ``"optimal"``, ``"infeasible"``, ``"unbounded"``, ``"user_limit"``
        or ``"solver_error"``.
    point, row_duals : ndarray of shape (n,) and (m,)
        x, and y of ``cost - A'y``.
    iterations : int
        Of the simplex, interior-point or first-order method, and of the crossover.
    reported_seconds : float
        The time that HiGHS reports of itself.
    """

    status: str
    point: FloatArray
    row_duals: FloatArray
    iterations: int
    reported_seconds: float


class HighsModel:
    """A linear program inside of HiGHS.

    Parameters
    ----------
    options : mapping
        Options of HiGHS, by their names there.

    Raises
    ------
    InvalidInputError
        For an option that HiGHS does not know, or a value that it refuses.
    """

    def __init__(self, options: Mapping[str, Any]) -> None:
        highspy = load_highspy()
        self._highs: Any = highspy.Highs()
        self._highs.setOptionValue("output_flag", False)  # else a refusal is printed
        for name, value in {**DEFAULTS, **options}.items():
            check_name("option of highspy:", name, _option_names())
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
        solver = self._highs.getOptionValue("solver")[1]
        self._counts = ("simplex_iteration_count",) if solver == "simplex" else _COUNTS
        self._sent: LinearArrays | None = None

    def _takes(self, name: str, value: Any) -> bool:
        """Set an option; say whether HiGHS takes the value."""
        from highspy import HighsStatus

        try:
            return bool(self._highs.setOptionValue(name, value) == HighsStatus.kOk)
        except TypeError:  # of a type that no option has, such as a list
            return False

    def minimize(
        self,
        arrays: LinearArrays,
        *,
        hot: bool,
        time_limit: float | None = None,
        presolve: bool = True,
    ) -> Solved:
        """Solve a program.

        Parameters
        ----------
        arrays : LinearArrays
            What has changed since the last call is written into the model; all of it where the
            pattern is another one.
        hot : bool
            Whether to start from the basis of the last call.
        time_limit : float, optional
            Seconds; HiGHS' option ``time_limit`` where the user has set one.
        presolve : bool, optional
            False switches the presolve off for this call.
        """
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
        highs.run()
        status = _statuses().get(highs.getModelStatus(), "solver_error")
        solution = highs.getSolution()
        counts = [highs.getInfoValue(name)[1] for name in self._counts]
        return Solved(
            status,
            np.array(solution.col_value),
            np.array(solution.row_dual),
            sum(max(count, 0) for count in counts),
            highs.getRunTime() - before,
        )

    def _change(self, name: str, value: Any) -> None:
        """Set an option where it has another value."""
        if self._set[name] != value:
            self._highs.setOptionValue(name, value)
            self._set[name] = value

    def _send(self, arrays: LinearArrays) -> None:
        """Write what has changed since the last call into the model."""
        highs, sent, pattern = self._highs, self._sent, arrays.pattern
        if sent is None or not pattern.is_same(sent.pattern):
            self._pass_whole(arrays)
        elif not _same(arrays.coefficients, sent.coefficients):
            # HiGHS changes coefficients one by one: a new model with the old basis takes less time.
            basis = highs.getBasis()
            self._pass_whole(arrays)
            if basis.valid:
                highs.setBasis(basis)
        else:
            columns, rows = pattern.every_column, pattern.every_row
            highs.changeColsCost(pattern.size, columns, arrays.cost)
            if arrays.lower_bounds is not sent.lower_bounds:  # most steps keep the polytope
                highs.changeColsBounds(pattern.size, columns, arrays.lower, arrays.upper)
                highs.changeRowsBounds(pattern.n_rows, rows, arrays.row_lower, arrays.row_upper)
        self._sent = arrays

    def _pass_whole(self, arrays: LinearArrays) -> None:
        """Pass a new model."""
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

    def write(self, arrays: LinearArrays, path: Path) -> None:
        """Write a program as an MPS file."""
        self._pass_whole(arrays)
        self._highs.writeModel(str(path))


def write_mps(arrays: LinearArrays, path: Path) -> None:
    """Write a program to a file whose name ends with ``.mps``."""
    HighsModel({}).write(arrays, path)


def _same(a: FloatArray, b: FloatArray) -> bool:
    """Say whether two arrays are equal."""
    return a is b or np.array_equal(a, b)


@cache
def _option_names() -> frozenset[str]:
    """Return the names of all options of HiGHS."""
    import highspy

    return frozenset(name for name in dir(highspy.HighsOptions) if not name.startswith("_"))


@cache
def _statuses() -> dict[Any, str]:
    """Return CVXPY's words for the statuses of HiGHS; all others are errors."""
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
