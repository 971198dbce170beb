"""Solver backends: which solvers work here, and the one function that calls them."""

from gdaopt.backends.cvxpy import SolverReport, solve_program
from gdaopt.backends.option_names import check_option_names
from gdaopt.backends.registry import SolverInfo, find_solver, solvers

__all__ = [
    "SolverInfo",
    "SolverReport",
    "check_option_names",
    "find_solver",
    "solve_program",
    "solvers",
]
