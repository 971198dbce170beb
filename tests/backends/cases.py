"""Faults of solvers in this process and in the worker, and questions about processes."""

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import linprog

from gdaopt.backends import Answer, LinearArrays, isolated
from gdaopt.backends import cvxpy as backend
from gdaopt.backends.cvxpy import solve_program
from gdaopt.backends.registry import find_solver
from gdaopt.programs import Knapsack, Program
from gdaopt.programs.base import ProgramOptions
from tests.backends.sabotage import Sabotaged
from tests.helpers import Rng
from tests.process_cases import is_alive
from tests.programs.cases import AnyPolytope, random_column, random_diagonal, situation

Real = Callable[[], object]
Solve = Callable[[cp.Problem, dict[str, Any], Real], None]


def patch_solves(monkeypatch: pytest.MonkeyPatch, solve: Solve) -> None:
    """Patch the solves of CVXPY problems in this process.

    The new one gets the problem, the options with the solver among them, and the real solve.
    """
    real = backend._solve_here

    def patched(
        problem: cp.Problem, solver: str, options: Any, watch: Any, limit: str | None = None
    ) -> Any:
        solve(
            problem,
            {"solver": solver, **options},
            lambda: real(problem, solver, options, watch, limit),
        )
        return Answer(solver=solver, point=np.zeros(0), status=str(problem.status))

    monkeypatch.setattr(backend, "_solve_here", patched)


def tiny_problem() -> cp.Problem:
    x = cp.Variable()
    return cp.Problem(cp.Minimize(x), [x >= 2])


def solve_diagonal(solver: str = "HIGHS", **options: Any) -> Answer:
    """Solve a program whose optimum is (1, 4)."""
    polytope = Knapsack(np.ones(2), 5.0)
    program = Program(ProgramOptions(solver=solver, **options))
    return program.solve(np.array([-1.0, -2.0]), polytope)


class Fault:
    """A patched solve of CVXPY problems: it solves the problem, and then makes a fault."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        find_solver("HIGHS")  # tried before it is patched, else it would count as unusable
        self.calls: list[dict[str, Any]] = []
        self.error: BaseException | None = None
        self.status: str | None = None
        self.value: float | None = None
        self.forgets_time = False
        self.solve_time: float | None = None  # that it reports then

        def solve(problem: cp.Problem, options: dict[str, Any], real: Real) -> None:
            self.calls.append(options)
            real()
            self.strike(problem)

        patch_solves(monkeypatch, solve)

    def strike(self, problem: cp.Problem) -> None:
        if self.error is not None:
            raise self.error
        if self.status is not None:
            problem._status = self.status
        if self.forgets_time:
            problem.solver_stats.solve_time = self.solve_time
        if self.value is not None:
            for variable in problem.variables():
                variable.save_value(np.full(variable.shape, self.value))


def sabotaged(**options: Any) -> None:
    """Solve a problem that misbehaves in the worker."""
    x = cp.Variable()
    problem = Sabotaged(cp.Minimize(x), [x >= 2])
    limit = options.pop("time_limit", None)
    solve_program(problem, "HIGHS", solver_opts=options, time_limit=limit, isolate=True)


def worker() -> int:
    """Return the process id of the worker, after checking that it runs."""
    pid = isolated._worker().pid
    assert is_alive(pid)
    return pid


def three_programs(
    rng: Rng, size: int, solver: str | ProgramOptions = "HIGHS"
) -> dict[str, tuple[Program, Any]]:
    """Return a program of each kind with a random polytope, of bounds and budgets that bind."""
    polytopes: dict[str, AnyPolytope] = {
        "diagonal": random_diagonal(rng, size),
        "column": random_column(rng, size + 1, "floors"),
        "joint": situation(rng, size, "floors").joint(),
    }
    return {kind: (Program(solver), one) for kind, one in polytopes.items()}


WRONG: dict[str, Callable[[np.ndarray], Any]] = {
    "one number too many": lambda value: np.append(value.ravel(), 1.0),
    "a number": lambda value: 1.0,
    "no numbers": lambda value: value[:0],
    "complex": lambda value: value * 1j,
    "objects": lambda value: np.full(value.shape, None),
    "text": lambda value: "optimal",
    "lists of several lengths": lambda value: [[1.0], [1.0, 2.0]],
}
"""What no solver should return, whatever it calls it."""


def replaced(change: Callable[[np.ndarray], Any]) -> Callable[[cp.Problem], None]:
    """Return what puts something else into the place of the answer."""

    def strike(problem: cp.Problem) -> None:
        for variable in problem.variables():
            assert variable.value is not None
            variable._value = change(np.asarray(variable.value))

    return strike


def by_scipy(arrays: LinearArrays) -> Any:
    """Return the answer of SciPy, whose least value is `fun`."""
    upper, lower = np.isfinite(arrays.row_upper), np.isfinite(arrays.row_lower)
    matrix = arrays.matrix.toarray()
    found: Any = linprog(
        arrays.cost,
        np.vstack([matrix[upper], -matrix[lower]]),
        np.concatenate([arrays.row_upper[upper], -arrays.row_lower[lower]]),
        bounds=np.column_stack([arrays.lower, arrays.upper]),  # type: ignore[call-overload]
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert found.status == 0
    return found
