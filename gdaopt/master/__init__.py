"""The master problem of fully corrective Frank–Wolfe: the best weights of the active set.

A metric is kept as a base and weighted atoms (`ActiveSet`). Whenever atoms join,
`solve_master_problem` finds the best weights of them all ("Algorithm: fully corrective
Frank–Wolfe"); where every unit vector is an atom, `refined` also moves the atoms themselves
("Algorithm: Burer–Monteiro refinement").
"""

from gdaopt.master.active_set import ActiveSet
from gdaopt.master.burer_monteiro import refined
from gdaopt.master.master_point import MasterPoint
from gdaopt.master.weights import MasterSolution, solve_master_problem

__all__ = ["ActiveSet", "MasterPoint", "MasterSolution", "refined", "solve_master_problem"]
