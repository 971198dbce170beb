"""Solver backends: which solvers work here, and the one function that calls them."""

from gdaopt.backends.cvxpy import SolverReport, solve_program
from gdaopt.backends.registry import SolverInfo, find_solver, solvers

__all__ = ["SolverInfo", "SolverReport", "find_solver", "solve_program", "solvers"]
