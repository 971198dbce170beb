"""Solver backends: one protocol, a file for each kind, and which solvers work here."""

from gdaopt.backends.arrays import LinearArrays, Part, Residuals, RowPattern
from gdaopt.backends.by_name import BACKENDS, check_solver_options, find_backend, make_backend
from gdaopt.backends.cvxpy import SolverReport, solve_program
from gdaopt.backends.highs_model import write_mps
from gdaopt.backends.protocol import (
    ANALYTIC,
    Answer,
    Backend,
    PreparedProgram,
    StageSeconds,
    Stopwatch,
    checked_point,
)
from gdaopt.backends.registry import SolverInfo, find_solver, solvers

__all__ = [
    "ANALYTIC",
    "BACKENDS",
    "Answer",
    "Backend",
    "LinearArrays",
    "Part",
    "PreparedProgram",
    "Residuals",
    "RowPattern",
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
    "write_mps",
]
