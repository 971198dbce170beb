"""Discs for linear matrix inequalities whose signs are balanced, in any CVXPY problem.

Importing this package loads CVXPY.
"""

from gdaopt.lmi.cones import left_ends, sdd
from gdaopt.lmi.proof import Proof, certify
from gdaopt.lmi.signs import Inequality, Structure, structure
from gdaopt.lmi.solve import solve_by_discs

__all__ = [
    "Inequality",
    "Proof",
    "Structure",
    "certify",
    "left_ends",
    "sdd",
    "solve_by_discs",
    "structure",
]
