"""Backends by the names of their solvers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gdaopt.backends.analytic import AnalyticBackend
from gdaopt.backends.cvxpy import CvxpyBackend
from gdaopt.backends.highspy import HighspyBackend
from gdaopt.backends.option_names import check_option_names
from gdaopt.backends.protocol import Backend
from gdaopt.backends.registry import find_solver

__all__ = ["BACKENDS", "check_solver_options", "find_backend", "make_backend"]

BACKENDS: dict[str, Callable[..., Backend]] = {
    AnalyticBackend.name: AnalyticBackend,
    HighspyBackend.name: HighspyBackend,
}
"""The backends beside CVXPY's solvers, by name in lower case.

Each is called with the options of the solver, and with the keywords `isolate` and `hot` of
`make_backend`; it refuses options that it does not know with an InvalidInputError.
"""


def find_backend(name: str, cone: str | None = None) -> str:
    """Return the canonical name of a backend that works here.

    Parameters
    ----------
    name : str
        Name of a solver that CVXPY knows, or one of `BACKENDS`, in any case.
    cone : {"second-order", "semidefinite", "exponential"}, optional
        What a solver has to have, where the program is not linear.

    Raises
    ------
    SolverNotFoundError
        See `gdaopt.backends.find_solver`.

    Examples
    --------
    >>> find_backend("Analytic"), find_backend("highs"), find_backend("HiGHSpy")
    ('analytic', 'HIGHS', 'highspy')
    """
    lowered = name.lower() if isinstance(name, str) else ""
    # Programs over cones have a closed form, too; other backends solve linear programs.
    if lowered in BACKENDS and (cone is None or lowered == AnalyticBackend.name):
        return lowered
    return find_solver(name, cone=cone)


def check_solver_options(solver: str, options: Mapping[str, Any]) -> None:
    """Refuse options that the backend of a canonical name does not know, where it can tell.

    Raises
    ------
    InvalidInputError
        With the option.
    """
    if not options:
        return
    if solver in BACKENDS:
        BACKENDS[solver](options)
    else:
        check_option_names(solver, options)


def make_backend(
    solver: str,
    options: Mapping[str, Any] | None = None,
    *,
    isolate: bool = False,
    hot: bool | None = None,
) -> Backend:
    """Return a new backend, for programs of one kind and size.

    Parameters
    ----------
    solver : str
        A canonical name of `find_backend`.
    options : mapping, optional
        Options of the solver.
    isolate : bool, optional
        Whether to solve in a worker process, which is killed when the time limit is over.
    hot : bool, optional
        Whether the solver may start from its last answer; by default highspy does, and CVXPY's
        solvers do not.

    Examples
    --------
    >>> make_backend("highspy", {"solver": "ipm"}).name
    'highspy'
    """
    given = options or {}
    if solver in BACKENDS:
        return BACKENDS[solver](given, isolate=isolate, hot=hot)
    return CvxpyBackend(solver, given, isolate=isolate, hot=bool(hot))
