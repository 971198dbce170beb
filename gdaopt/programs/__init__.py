"""The LP subproblems of Frank–Wolfe: polytopes that know their exact solution, and any solver."""

from gdaopt.programs.base import Program, ProgramSolution
from gdaopt.programs.joint import JointPolytope
from gdaopt.programs.knapsacks import ColumnPolytope, DiagonalPolytope
from gdaopt.programs.readable import at

__all__ = [
    "ColumnPolytope",
    "DiagonalPolytope",
    "JointPolytope",
    "Program",
    "ProgramSolution",
    "at",
]
