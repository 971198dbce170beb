"""Linear constraints of the user's own: their rows, and column generation over a set with rows.

`read_constraints` reads them from CVXPY, once. `presolve` decides what they mean together, and
finds a metric that keeps them all or proves that there is none. A `LinearProgram` over the set with
rows has the multipliers that make a certificate tight ("Proposition: certificate with linear
constraints").
"""

from gdaopt.constraints.column_generation import LinearProgram
from gdaopt.constraints.presolve import PresolvedRows, presolve
from gdaopt.constraints.rows import ConstraintsOf, LinearConstraints, read_constraints

__all__ = [
    "ConstraintsOf",
    "LinearConstraints",
    "LinearProgram",
    "PresolvedRows",
    "presolve",
    "read_constraints",
]
