"""Pictures of runs and metrics; matplotlib is loaded when something is drawn."""

from gdaopt.plotting.convergence import convergence
from gdaopt.plotting.discs import discs

__all__ = ["convergence", "discs"]
