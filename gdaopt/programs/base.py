"""What the programs share: polytopes with a closed form, and the CVXPY problem beside it.

A *program* is a linear subproblem of Frank–Wolfe. Its data are a *polytope*, which knows its closed
form and the way back for points outside, and a *program* object, which holds the compiled CVXPY
problem and hands it to any solver ("Remark: inexact solvers and scaled costs"). When a solver is
named, the closed form is never called in its place.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np

from gdaopt.backends import check_option_names, find_solver, solve_program
from gdaopt.deadline import check_time
from gdaopt.errors import InfeasibleProblemError, InvalidInputError, SolverFailedError
from gdaopt.printing import shortened
from gdaopt.validation import FloatArray, check_instance, integer, options_mapping, store_flag

if TYPE_CHECKING:
    import cvxpy as cp

__all__ = [
    "ANALYTIC",
    "Polytope",
    "Program",
    "ProgramOptions",
    "ProgramSolution",
    "program_options",
]

ANALYTIC = "analytic"

_FARTHEST = 0.1  # of the unit: a point farther outside is no inexact answer but a wrong one
_LARGEST_GAIN = 1e3  # what solvers see: HiGHS' absolute tolerance of 1e-7 is 1e-10 of it


@dataclass(frozen=True, kw_only=True)
class ProgramOptions:
    """Who solves a program, and how.

    Parameters
    ----------
    solver : str, optional
        Any solver that CVXPY knows, in any case, or ``"analytic"`` for the closed form.
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
        For options beside ``solver="analytic"``, and misspelt ones where the solver can tell.
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
        object.__setattr__(self, "solver", self._canonical(self.solver))
        object.__setattr__(self, "solver_opts", options_mapping("solver_opts", self.solver_opts))
        fallback = (self.fallback,) if isinstance(self.fallback, str) else self.fallback
        if not isinstance(fallback, Sequence):
            raise InvalidInputError(
                f"fallback must be names of solvers, got {shortened(self.fallback)}; such as "
                "['CLARABEL', 'analytic']"
            )
        object.__setattr__(self, "fallback", tuple(self._canonical(name) for name in fallback))
        store_flag(self, "isolate")
        if self.solver == ANALYTIC and self.solver_opts:
            raise InvalidInputError(
                f"solver_opts {shortened(self.solver_opts)} make no sense with solver='analytic'"
            )
        check_option_names(self.solver, self.solver_opts or {})

    def _canonical(self, solver: str) -> str:
        """Return the canonical name of a solver that works here, or ``"analytic"``."""
        if isinstance(solver, str) and solver.lower() == ANALYTIC:
            return ANALYTIC
        return find_solver(solver, cone=self.cone)


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
    repair_distance : float
        Largest entry of the change that brought the solver's point back into the polytope.
    solver, status : str
        Who solved it and how it ended.
    build_seconds, solve_seconds : float
        See `gdaopt.backends.SolverReport`.
    """

    point: FloatArray
    value: float
    repair_distance: float
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
    solver : str or ProgramOptions, optional
        Who solves it: a name, or a name with options.

    Attributes
    ----------
    name : str
        What messages call the program.
    options : ProgramOptions
        Who solves it, and how.
    only_gains_matter : bool
        Whether each entry has a lower bound of its own that it leaves for a negative cost only. How
        large a positive cost is does then not matter, and it is cut off: left large, it would make
        the negative ones look like 0 to a solver.
    """

    name: ClassVar[str]
    only_gains_matter: ClassVar[bool] = False

    def __init__(self, size: int, solver: str | ProgramOptions = "HIGHS") -> None:
        self.size = integer("size", size, at_least=0)
        self.options = program_options(solver)

    @abstractmethod
    def _build(self) -> tuple[cp.Problem, cp.Variable]:
        """Build the problem and name its variable of shape (size,)."""

    @abstractmethod
    def _assign(self, polytope: PolytopeT) -> None:
        """Set the parameters of the polytope, in its units."""

    def _scaled(self, costs: FloatArray) -> FloatArray:
        """Return costs of a size that solvers can judge, with the same optimal points.

        Their tolerances for reduced costs are absolute: at 1e-7 HiGHS answers with any vertex.
        """
        gain = -float(costs.min())
        if not self.only_gains_matter or gain <= 0:
            return costs / float(np.abs(costs).max())
        scaled: FloatArray = _LARGEST_GAIN * np.minimum(costs / gain, 1.0)
        return scaled

    @cached_property
    def _built(self) -> tuple[cp.Problem, cp.Variable]:
        return self._build()

    @property
    def problem(self) -> cp.Problem:
        """The CVXPY problem, in units of the polytope and of the largest gain."""
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
            Costs of any magnitude; where all that can move are 0, the answer is the current point.
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
            See `gdaopt.backends.solve_program`; also for a point that is NaN or far outside of the
            polytope. When all solvers failed, the first one's error.
        """
        if not np.isfinite(cost).all():
            bad = cost[~np.isfinite(cost)][0]
            raise InvalidInputError(f"the cost of the {self.name} holds {bad}")
        failures: list[InfeasibleProblemError | SolverFailedError] = []
        start = time.perf_counter()
        for solver in (self.options.solver, *self.options.fallback):
            check_time()
            left = None if time_limit is None else time_limit - (time.perf_counter() - start)
            try:
                solution = self._solve_by(solver, cost, polytope, left)
            except (InfeasibleProblemError, SolverFailedError) as error:
                failures.append(error)
                continue
            if failures:
                reasons = "; ".join(str(failure) for failure in failures)
                return replace(solution, status=f"{solution.status}, after: {reasons}")
            return solution
        raise failures[0]

    def _solve_by(
        self, solver: str, cost: FloatArray, polytope: PolytopeT, time_limit: float | None
    ) -> ProgramSolution:
        """Minimise the cost by one solver."""
        start = time.perf_counter()
        costs = cost if solver == ANALYTIC else cost * polytope.unit
        moves = bool(costs.any())
        if solver == ANALYTIC or not moves:
            point = polytope.minimize(cost) if moves else polytope.current
            seconds = time.perf_counter() - start
            return ProgramSolution(
                point, float(cost @ point), 0.0, ANALYTIC, "optimal", 0.0, seconds
            )
        problem, variable = self._built
        self.parameters["cost"].value = self._scaled(costs)
        self._assign(polytope)
        report = solve_program(
            problem,
            solver,
            solver_opts=self.options.solver_opts if solver == self.options.solver else None,
            time_limit=time_limit,
            isolate=self.options.isolate,
            name=self.name,
        )
        answer = f"{solver} called the {self.name} {report.status} and returned"
        if variable.value is None or not np.isfinite(variable.value).all():
            raise SolverFailedError(f"{answer} {variable.value}")
        found = np.asarray(variable.value, dtype=np.float64)
        point = polytope.repaired(polytope.unit * found)
        moved = np.abs(point - polytope.unit * found)
        if (moved > _FARTHEST * polytope.unit).any():
            raise SolverFailedError(
                f"{answer} a point outside of the polytope by {moved.max():.3g}, more than inexact "
                "solvers are off by"
            )
        return ProgramSolution(
            point,
            float(cost @ point),
            float(moved.max()),
            solver,
            report.status,
            report.build_seconds,
            report.solve_seconds,
        )
