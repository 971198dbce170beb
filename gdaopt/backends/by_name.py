"""Backends by the names of their solvers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gdaopt.backends.analytic import AnalyticBackend
from gdaopt.backends.cvxpy import CvxpyBackend
from gdaopt.backends.highs_model import check_options
from gdaopt.backends.highspy import HighspyBackend
from gdaopt.backends.option_names import check_option_names
from gdaopt.backends.protocol import ANALYTIC, Backend
from gdaopt.backends.registry import find_solver
from gdaopt.errors import InvalidInputError
from gdaopt.printing import shortened

__all__ = ["check_solver_options", "find_backend", "make_backend"]


def find_backend(name: str, cone: str | None = None) -> str:
    """Return the canonical name of a backend that works here.

    Parameters
    ----------
    name : str
        Name of a solver that CVXPY knows, ``"highspy"`` or ``"analytic"``, in any case.
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
    if lowered == ANALYTIC or (lowered == HighspyBackend.name and cone is None):
        return lowered
    return find_solver(name, cone=cone)


def check_solver_options(solver: str, options: Mapping[str, Any]) -> None:
    """Refuse options that the backend of a canonical name does not know, where it can tell.

    Raises
    ------
    InvalidInputError
        With the option.
    """
    if solver == ANALYTIC and options:
        raise InvalidInputError(
            f"solver_opts {shortened(dict(options))} make no sense with solver='analytic'"
        )
    elif solver == HighspyBackend.name:
        check_options(options)
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
    if solver == ANALYTIC:
        return AnalyticBackend()
    if solver == HighspyBackend.name:
        return HighspyBackend(given, isolate=isolate, hot=hot is not False)
    return CvxpyBackend(solver, given, isolate=isolate, hot=bool(hot))
