"""What the programs share: polytopes with a closed form, and the CVXPY problem beside it.

A *program* is a linear subproblem of Frank–Wolfe. Its data are a *polytope*, which knows its closed
form and the way back for points outside, and a *program* object, which holds the compiled CVXPY
problem and hands it to any solver (DESIGN section 3). With a solver named, the closed form is never
called in its place.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import numpy as np

from gdaopt.backends import find_solver, solve_program
from gdaopt.errors import InvalidInputError, SolverFailedError
from gdaopt.validation import FloatArray

if TYPE_CHECKING:
    import cvxpy as cp

__all__ = ["ANALYTIC", "Polytope", "Program", "ProgramSolution"]

ANALYTIC = "analytic"


class Polytope(Protocol):
    """A polytope of a linear program."""

    @property
    def current(self) -> FloatArray:
        """A point known to be inside: the iterate."""

    @property
    def unit(self) -> float | FloatArray:
        """The size of its points or of each entry, ≥ 0: solvers see them divided by it."""

    def minimize(self, cost: FloatArray) -> FloatArray:
        """Return a point of smallest ``cost · x``, in closed form."""

    def repaired(self, point: FloatArray) -> FloatArray:
        """Return a point inside, moved from `point` in proportion to how far it is outside."""


PolytopeT = TypeVar("PolytopeT", bound=Polytope)


@dataclass(frozen=True, eq=False)
class ProgramSolution:
    """The answer to a program.

    Attributes
    ----------
    point : ndarray
        Inside the polytope.
    value : float
        ``cost · point``.
    moved : float
        Largest entry of the change that brought the solver's point back into the polytope.
    solver, status : str
        Who solved it and how it ended.
    build_seconds, solve_seconds : float
        See `gdaopt.backends.SolverReport`.
    """

    point: FloatArray
    value: float
    moved: float
    solver: str
    status: str
    build_seconds: float | None
    solve_seconds: float


class Program(ABC, Generic[PolytopeT]):
    """A parametrised linear program, compiled once and solved for many costs and polytopes.

    Parameters
    ----------
    size : int
        Number of variables.
    solver : str, optional
        Any linear programming solver that CVXPY knows, in any case, or ``"analytic"`` for the
        closed form.
    solver_opts : mapping, optional
        Options of the solver.

    Raises
    ------
    SolverNotFoundError
        When the solver does not work here.

    Attributes
    ----------
    solver : str
        Canonical name.
    """

    name: str

    def __init__(
        self, size: int, solver: str = "HIGHS", solver_opts: Mapping[str, Any] | None = None
    ) -> None:
        self.size = size
        self.solver = ANALYTIC if str(solver).lower() == ANALYTIC else find_solver(solver)
        self.solver_opts = dict(solver_opts or {})
        if self.solver == ANALYTIC and self.solver_opts:
            raise InvalidInputError(
                f"solver_opts {self.solver_opts} make no sense with solver='analytic'"
            )

    @abstractmethod
    def _build(self) -> tuple[cp.Problem, cp.Variable]:
        """Build the problem and name its variable of shape (size,)."""

    @abstractmethod
    def _assign(self, polytope: PolytopeT) -> None:
        """Set the parameters of the polytope, in its units."""

    @cached_property
    def _built(self) -> tuple[cp.Problem, cp.Variable]:
        return self._build()

    @property
    def problem(self) -> cp.Problem:
        """The CVXPY problem, in units of the polytope and of the largest cost in these units."""
        return self._built[0]

    @cached_property
    def parameters(self) -> dict[str, cp.Parameter]:
        """The parameters of the problem, by name."""
        return {parameter.name(): parameter for parameter in self.problem.parameters()}

    def is_dpp(self) -> bool:
        """Say whether the problem follows CVXPY's rules for cheap re-solves."""
        return bool(self.problem.is_dpp())

    def solve(
        self, cost: FloatArray, polytope: PolytopeT, time_limit: float | None = None
    ) -> ProgramSolution:
        """Minimise ``cost · x`` over a polytope.

        Parameters
        ----------
        cost : ndarray of shape (size,)
            Costs of any magnitude; one that is 0 over the whole polytope is answered by the current
            point.
        polytope : Polytope
            Of this program's kind and size.
        time_limit : float, optional
            Seconds left, for solvers that have such an option.

        Returns
        -------
        ProgramSolution

        Raises
        ------
        InvalidInputError
            When the cost is not finite.
        InfeasibleProblemError, SolverFailedError
            See `gdaopt.backends.solve_program`; a point that is NaN counts as failed.
        """
        if not np.isfinite(cost).all():
            bad = cost[~np.isfinite(cost)][0]
            raise InvalidInputError(f"the cost of the {self.name} holds {bad}")
        start = time.perf_counter()
        costs = cost * polytope.unit
        scale = float(np.abs(costs).max())
        if scale == 0 or self.solver == ANALYTIC:
            point = polytope.minimize(cost) if scale > 0 else polytope.current
            seconds = time.perf_counter() - start
            return ProgramSolution(
                point, float(cost @ point), 0.0, ANALYTIC, "optimal", 0.0, seconds
            )
        problem, variable = self._built
        # Solvers judge reduced costs on an absolute scale: at 1e-7 they answer with any vertex.
        self.parameters["cost"].value = costs / scale
        self._assign(polytope)
        report = solve_program(
            problem,
            self.solver,
            solver_opts=self.solver_opts,
            time_limit=time_limit,
            name=self.name,
        )
        if variable.value is None or not np.isfinite(variable.value).all():
            raise SolverFailedError(
                f"{self.solver} called the {self.name} {report.status} "
                f"and returned {variable.value}"
            )
        raw = polytope.unit * np.asarray(variable.value, dtype=np.float64)
        point = polytope.repaired(raw)
        return ProgramSolution(
            point,
            float(cost @ point),
            float(np.abs(point - raw).max()),
            self.solver,
            report.status,
            report.build_seconds,
            report.solve_seconds,
        )
