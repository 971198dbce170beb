"""Pictures of runs and metrics; matplotlib is loaded when something is drawn.

Every function takes axes and returns them, changes no global style, and keeps what it shows apart
in grey print and for the colour-blind.
"""

from gdaopt.plotting.convergence import convergence
from gdaopt.plotting.discs import discs
from gdaopt.plotting.graph import graph
from gdaopt.plotting.left_ends import left_ends
from gdaopt.plotting.time_split import time_split

__all__ = ["convergence", "discs", "graph", "left_ends", "time_split"]
