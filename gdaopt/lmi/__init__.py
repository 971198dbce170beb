"""Discs for linear matrix inequalities whose signs are balanced, in any CVXPY problem.

Importing this package registers ``problem.solve(method="discs")``, and loads CVXPY.
"""

from gdaopt.lmi.certify import Proof, certify
from gdaopt.lmi.cones import left_ends, sdd
from gdaopt.lmi.solve import DiscStats, solve_by_discs
from gdaopt.lmi.structure import Inequality, Structure, structure

__all__ = [
    "DiscStats",
    "Inequality",
    "Proof",
    "Structure",
    "certify",
    "left_ends",
    "sdd",
    "solve_by_discs",
    "structure",
]
