"""The LP subproblems of Frank–Wolfe: exact solution and CVXPY problem side by side."""

from gdaopt.backends import ANALYTIC
from gdaopt.programs.base import Polytope, Program, ProgramOptions, ProgramSolution
from gdaopt.programs.constrained import ConstrainedPolytope, ConstrainedProgram
from gdaopt.programs.joint import JointPolytope, JointProgram
from gdaopt.programs.knapsacks import (
    ColumnPolytope,
    ColumnProgram,
    DiagonalPolytope,
    DiagonalProgram,
)
from gdaopt.programs.linear import LinearPolytope, LinearProgram
from gdaopt.programs.readable import at
from gdaopt.programs.semidefinite import SemidefiniteProgram, WholeSet

__all__ = [
    "ANALYTIC",
    "ColumnPolytope",
    "ColumnProgram",
    "ConstrainedPolytope",
    "ConstrainedProgram",
    "DiagonalPolytope",
    "DiagonalProgram",
    "JointPolytope",
    "JointProgram",
    "LinearPolytope",
    "LinearProgram",
    "Polytope",
    "Program",
    "ProgramOptions",
    "ProgramSolution",
    "SemidefiniteProgram",
    "WholeSet",
    "at",
]
