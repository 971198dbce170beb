"""The LP subproblems of Frank–Wolfe: polytopes that know their exact solution, and any solver."""

from gdaopt.programs.base import Program
from gdaopt.programs.joint import JointPolytope
from gdaopt.programs.knapsack import Knapsack
from gdaopt.programs.readable import at

__all__ = [
    "JointPolytope",
    "Knapsack",
    "Program",
    "at",
]
