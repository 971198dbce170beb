"""The LP subproblems of Frank–Wolfe: polytopes that know their exact solution, and any solver."""

from gdaopt.backends import ANALYTIC
from gdaopt.programs.base import Polytope, Program, ProgramOptions, ProgramSolution
from gdaopt.programs.constrained import ConstrainedPolytope
from gdaopt.programs.joint import JointPolytope
from gdaopt.programs.knapsacks import ColumnPolytope, DiagonalPolytope
from gdaopt.programs.linear import LinearPolytope
from gdaopt.programs.readable import at
from gdaopt.programs.semidefinite import WholeSet

__all__ = [
    "ANALYTIC",
    "ColumnPolytope",
    "ConstrainedPolytope",
    "DiagonalPolytope",
    "JointPolytope",
    "LinearPolytope",
    "Polytope",
    "Program",
    "ProgramOptions",
    "ProgramSolution",
    "WholeSet",
    "at",
]
