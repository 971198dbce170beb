"""Methods: iterations that yield states, the rules that end them, and one `solve` over all."""

from gdaopt.methods.aligned import AlignedMethod
from gdaopt.methods.alternating import Alternating
from gdaopt.methods.balanced import Balanced
from gdaopt.methods.base import Method, ProgramMethod
from gdaopt.methods.certified import Certified
from gdaopt.methods.conic import SecondOrder, Semidefinite, SemidefiniteFrankWolfe
from gdaopt.methods.context import Context
from gdaopt.methods.cvxpy_method import solve_model
from gdaopt.methods.frank_wolfe import FrankWolfe
from gdaopt.methods.joint import Joint
from gdaopt.methods.projected_gradient import ProjectedGradient
from gdaopt.methods.projected_newton import ProjectedNewton
from gdaopt.methods.solve import METHODS
from gdaopt.methods.stopping import LowerBound, Patience, StallRule
from gdaopt.state import State

__all__ = [
    "METHODS",
    "AlignedMethod",
    "Alternating",
    "Balanced",
    "Certified",
    "Context",
    "FrankWolfe",
    "Joint",
    "LowerBound",
    "Method",
    "Patience",
    "ProgramMethod",
    "ProjectedGradient",
    "ProjectedNewton",
    "SecondOrder",
    "Semidefinite",
    "SemidefiniteFrankWolfe",
    "StallRule",
    "State",
    "solve_model",
]
