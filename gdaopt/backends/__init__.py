"""Solver backends: one protocol, a file for each kind, and which solvers work here."""

from gdaopt.backends.arrays import LinearArrays, Part, Residuals, RowPattern
from gdaopt.backends.catalogue import CATALOGUE, SolverEntry
from gdaopt.backends.cvxpy import SolverReport, solve_program
from gdaopt.backends.protocol import (
    ANALYTIC,
    Answer,
    Backend,
    PreparedProgram,
    StageSeconds,
    Stopwatch,
    checked_point,
)
from gdaopt.backends.registry import (
    SolverInfo,
    check_solver_options,
    find_backend,
    find_solver,
    make_backend,
    solvers,
)

__all__ = [
    "ANALYTIC",
    "CATALOGUE",
    "Answer",
    "Backend",
    "LinearArrays",
    "Part",
    "PreparedProgram",
    "Residuals",
    "RowPattern",
    "SolverEntry",
    "SolverInfo",
    "SolverReport",
    "StageSeconds",
    "Stopwatch",
    "check_solver_options",
    "checked_point",
    "find_backend",
    "find_solver",
    "make_backend",
    "solve_program",
    "solvers",
]
