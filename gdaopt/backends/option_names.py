"""Misspelt options of solvers, found before any work starts.

Most solvers refuse an option that they do not know. Some ignore it through CVXPY, so that a run
with ``max_itres=10`` would look like one with ten iterations; their names are read from the solver
or from its interface, or stand here.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping
from functools import cache
from importlib import import_module
from typing import Any

from gdaopt.backends.highs_banner import load_highspy
from gdaopt.support.validation import unknown_name

__all__ = ["check_option_names"]

_OF_CVXOPT = {
    "abstol", "debug", "feastol", "kktreg", "kktsolver", "max_iters", "maxiters", "refinement",
    "reltol", "show_progress",
}  # fmt: skip
_LISTED: dict[str, set[str]] = {
    "CBC": {
        "automaticScaling", "dualTolerance", "infeasibilityCost", "logLevel", "maxNumIteration",
        "optimizationDirection", "presolve", "primalTolerance", "scaling",
    },
    "CVXOPT": _OF_CVXOPT,
    "GLPK": {"glpk", "max_iters", "maxiters"},
    "GLPK_MI": {"glpk", "max_iters", "maxiters"},
    "PROXQP": {"backend", "eps_abs", "eps_rel", "max_iter", "mu_eq", "mu_in", "rho"},
}  # fmt: skip


def check_option_names(solver: str, options: Mapping[str, Any]) -> None:
    """Refuse options that a solver of CVXPY does not know, where this can be told.

    Parameters
    ----------
    solver : str
        Canonical name of a solver of CVXPY that works here.
    options : mapping
        What is passed to it.

    Raises
    ------
    InvalidInputError
        With the option and the nearest name that there is.

    Examples
    --------
    >>> check_option_names("HIGHS", {"presolve": "off", "warm_start": True})
    >>> check_option_names("HIGHS", {"presolv": "off"})
    Traceback (most recent call last):
    gdaopt.errors.InvalidInputError: unknown option of HIGHS 'presolv'; did you mean 'presolve'? ...
    """
    known = _names(solver)
    if not known:
        return
    for name in options:
        if name not in known and name not in _of_cvxpy() and not _is_hidden(solver, name):
            raise unknown_name(f"option of {solver}", name, known)


@cache
def _names(solver: str) -> frozenset[str]:
    """Return the names of a solver's options; none where the solver itself refuses others."""
    read = {
        "DAQP": _of_daqp,
        "HIGHS": _of_highs,
        "QOCO": _of_qoco,
        "SDPA": _of_sdpa,
    }.get(solver)
    return frozenset(_LISTED.get(solver, ()) if read is None else read())


def _of_daqp() -> Collection[str]:
    from cvxpy.reductions.solvers.qp_solvers.daqp_qpif import DAQP

    return DAQP.ALLOWED_SOLVER_OPTS


def _of_highs() -> Collection[str]:
    import highspy

    # The last is CVXPY's: a mapping with options of HiGHS whose names clash with its own.
    return {*_attributes(highspy.HighsOptions), "highs_options"}


def _of_qoco() -> Collection[str]:
    qoco = import_module("qoco")
    return {*_attributes(qoco.QOCO().ext.QOCOSettings), "algebra"}


def _of_sdpa() -> Collection[str]:
    names: Collection[str] = import_module("sdpap.param").param({})
    return names


def _attributes(settings: type) -> Collection[str]:
    """Return the names of the settings in a class of settings."""
    return {name for name in dir(settings) if not name.startswith("_")}


def _of_cvxpy() -> set[str]:
    """Return the names of CVXPY's own options, which every solver may be given."""
    import cvxpy as cp

    # The first passes all on to the second, but may be a subclass's or patched.
    functions = (cp.Problem.solve, cp.Problem._solve)
    return {name for function in functions for name in inspect.signature(function).parameters}


def _is_hidden(solver: str, name: str) -> bool:
    """Say whether HiGHS knows an option that is not among its public ones."""
    if solver != "HIGHS":
        return False
    highspy = load_highspy()
    model = highspy.Highs()
    model.setOptionValue("log_to_console", False)  # on an unknown option it prints an error
    return bool(model.getOptionValue(name)[0] == highspy.HighsStatus.kOk)
