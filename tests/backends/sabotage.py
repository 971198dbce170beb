"""Solves that misbehave, importable in worker processes, which get no monkeypatches."""

from __future__ import annotations

import os
import time
import warnings
from pathlib import Path
from typing import Any

import cvxpy as cp

from gdaopt.backends.highspy import HighsModel, Solved


class TwoPartError(Exception):
    """An error that can be pickled but not unpickled: its constructor takes other arguments."""

    def __init__(self, what: str, code: int) -> None:
        super().__init__(f"{what} ({code})")


class PanicException(BaseException):
    """What a panic of a solver in Rust looks like."""


class Sabotaged(cp.Problem):
    """A problem whose solves fail as the options ``fault`` and ``after`` of solver_opts say.

    The faults begin after so many solves of this process.
    """

    solves = 0

    def solve(  # not called: it names the options, which are then CVXPY's and not a solver's
        self, *args: Any, fault: str = "", after: int = 0, note: str = "", **kwargs: Any
    ) -> Any:
        raise AssertionError

    def get_problem_data(self, solver: Any, **kwargs: Any) -> Any:  # type: ignore[override]
        solver_opts = kwargs["solver_opts"]
        # The options are CVXPY's own, which go to the solver afterwards.
        fault = solver_opts.pop("fault", "")
        after = solver_opts.pop("after", 0)
        note = solver_opts.pop("note", "")
        Sabotaged.solves += 1
        if Sabotaged.solves <= after:
            fault = note = ""
        if note:
            Path(note).write_text(str(os.getpid()))
        match fault:
            case "hang":
                time.sleep(60)
            case "die":
                os._exit(3)
            case "raise":
                raise cp.SolverError("no licence")
            case "raise two parts":
                raise TwoPartError("no licence", 7)
            case "exit":
                raise SystemExit(4)
            case "panic":
                raise PanicException("index out of bounds")
        return super().get_problem_data(solver, **kwargs)


class Hanging(cp.Problem):
    """A problem whose solve does not end."""

    def get_problem_data(self, *args: Any, **kwargs: Any) -> Any:
        time.sleep(600)


class Dying(cp.Problem):
    """A problem whose solve ends the process."""

    def get_problem_data(self, *args: Any, **kwargs: Any) -> Any:
        os._exit(3)


class Raising(cp.Problem):
    """A problem whose solver has no licence."""

    def get_problem_data(self, *args: Any, **kwargs: Any) -> Any:
        raise cp.SolverError("no licence\nfound in /opt")


class Loud(cp.Problem):
    """A problem whose solver prints, from Python and from C, and warns."""

    def get_problem_data(self, *args: Any, **kwargs: Any) -> Any:
        print("stdout of Python")
        os.write(1, b"stdout of C\n")
        os.write(2, b"stderr of C\n")
        warnings.warn("a warning of the solver", stacklevel=2)
        return super().get_problem_data(*args, **kwargs)


class HangingModel(HighsModel):
    """A model of HiGHS that hangs."""

    def minimize(self, *args: Any, **options: Any) -> Solved:
        time.sleep(60)
        return super().minimize(*args, **options)


class DyingModel(HighsModel):
    """A model of HiGHS that ends its process."""

    def minimize(self, *args: Any, **options: Any) -> Solved:
        os._exit(3)
