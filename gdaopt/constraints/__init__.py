"""Linear constraints of the user's own: their rows, and column generation over a set with rows.

`read_constraints` reads them from CVXPY, once. `interior_point` finds a metric that keeps them all,
or proves that there is none, and `best_multipliers` the multipliers that make a certificate tight
("Proposition: certificate with linear constraints").
"""

from gdaopt.constraints.column_generation import LinearSolution, best_multipliers, interior_point
from gdaopt.constraints.rows import ConstraintsOf, LinearConstraints, read_constraints

__all__ = [
    "ConstraintsOf",
    "LinearConstraints",
    "LinearSolution",
    "best_multipliers",
    "interior_point",
    "read_constraints",
]
