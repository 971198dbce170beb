"""The master problem of fully corrective Frank–Wolfe: the best weights of the active set."""

from gdaopt.master.active_set import ActiveSet
from gdaopt.master.burer_monteiro import refined
from gdaopt.master.weights import WeightsSolution, minimize_weights

__all__ = ["ActiveSet", "WeightsSolution", "minimize_weights", "refined"]
