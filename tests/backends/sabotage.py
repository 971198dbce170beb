"""Solves that misbehave, importable in worker processes, which get no monkeypatches."""

import os
import time
import warnings
from pathlib import Path
from typing import Any

import cvxpy as cp

from gdaopt.backends import Answer
from gdaopt.backends.highspy import HighsModel


class TwoPartError(Exception):
    """An error that can be pickled but not unpickled: its constructor takes other arguments."""

    def __init__(self, what: str, code: int) -> None:
        super().__init__(f"{what} ({code})")


class PanicException(BaseException):
    """What a panic of a solver in Rust looks like."""


class Sabotaged(cp.Problem):
    """A problem whose solves by HiGHS fail as its class says, or options ``fault`` and ``after``.

    The faults begin after so many solves of this process.
    """

    fault = ""
    solves = 0

    def get_problem_data(self, solver: Any, **kwargs: Any) -> Any:  # type: ignore[override]
        solver_opts = kwargs["solver_opts"].get("highs_options", {})
        # What is left goes to the solver afterwards.
        fault = solver_opts.pop("fault", self.fault)
        after = solver_opts.pop("after", 0)
        note = solver_opts.pop("note", "")
        Sabotaged.solves += 1
        if Sabotaged.solves <= after:
            fault = note = ""
        if note:
            Path(note).write_text(str(os.getpid()))
        match fault:
            case "hang":
                time.sleep(600)
            case "die":
                os._exit(3)
            case "raise":
                raise cp.SolverError("no licence\nfound in /opt")
            case "raise two parts":
                raise TwoPartError("no licence", 7)
            case "exit":
                raise SystemExit(4)
            case "panic":
                raise PanicException("index out of bounds")
            case "print":  # from Python and from C
                print("stdout of Python")
                os.write(1, b"stdout of C\n")
                os.write(2, b"stderr of C\n")
                warnings.warn("a warning of the solver", stacklevel=2)
        return super().get_problem_data(solver, **kwargs)


class Dying(Sabotaged):
    fault = "die"


class HangingModel(HighsModel):
    """A model of HiGHS that hangs."""

    def minimize(self, *args: Any, **options: Any) -> Answer:
        time.sleep(600)
        return super().minimize(*args, **options)


class DyingModel(HighsModel):
    """A model of HiGHS that ends its process."""

    def minimize(self, *args: Any, **options: Any) -> Answer:
        os._exit(3)
