"""Who solves a program, and how."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gdaopt.backends import Backend, check_solver_options, find_backend, make_backend
from gdaopt.errors import InvalidInputError
from gdaopt.support.text import shortened
from gdaopt.support.validation import check_instance, options_mapping, store_flag

__all__ = ["ProgramOptions", "program_options"]


@dataclass(frozen=True, kw_only=True)
class ProgramOptions:
    """Who solves a program, and how.

    Parameters
    ----------
    solver : str, optional
        Any solver that CVXPY knows, in any case; ``"highspy"`` for HiGHS without CVXPY, started
        hot; or ``"analytic"`` for the closed form.
    solver_opts : mapping, optional
        Options of the solver.
    fallback : str or sequence of str, optional
        Solvers, or ``"analytic"``, that take over in order when the one before fails.
    isolate : bool, optional
        Solve in a worker process, which is killed when the time limit is over.
    cone : {"second-order", "semidefinite"}, optional
        What the solvers have to have, where the program is not linear.

    Raises
    ------
    InvalidInputError
        For options beside ``solver="analytic"``, and for options that highspy does not know.
    SolverNotFoundError
        When a solver does not work here, or lacks the cone.

    Examples
    --------
    >>> ProgramOptions(solver="highs", fallback=["analytic"]).solver
    'HIGHS'
    """

    solver: str = "HIGHS"
    solver_opts: Mapping[str, Any] | None = None
    fallback: str | Sequence[str] = ()
    isolate: bool = False
    cone: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "solver", find_backend(self.solver, self.cone))
        options = options_mapping("solver_opts", self.solver_opts)
        object.__setattr__(self, "solver_opts", options)
        fallback = (self.fallback,) if isinstance(self.fallback, str) else self.fallback
        if not isinstance(fallback, Sequence):
            raise InvalidInputError(
                f"fallback must be names of solvers, got {shortened(self.fallback)}; such as "
                "['CLARABEL', 'analytic']"
            )
        names = tuple(find_backend(name, self.cone) for name in fallback)
        object.__setattr__(self, "fallback", names)
        store_flag(self, "isolate")
        check_solver_options(self.solver, options)

    def backends(self) -> tuple[Backend, ...]:
        """Return new backends: the solver's, then those that take over."""
        return (
            make_backend(self.solver, self.solver_opts, isolate=self.isolate),
            *(make_backend(name, isolate=self.isolate) for name in self.fallback),
        )


def program_options(solver: str | ProgramOptions, cone: str | None = None) -> ProgramOptions:
    """Return who solves a program, given by name or with options.

    Examples
    --------
    >>> program_options("highs").solver
    'HIGHS'
    """
    if isinstance(solver, str):
        return ProgramOptions(solver=solver, cone=cone)
    check_instance("solver", solver, ProgramOptions)
    return solver
