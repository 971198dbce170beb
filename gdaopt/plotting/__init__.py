"""Pictures of runs and metrics; matplotlib is loaded when something is drawn.

Every function takes axes and returns them, and changes no global style. Texts, lines and
markers shrink in small axes, such as the axes of a paper's column, so that figures are best made in
their final size. Lines and areas can be told apart in grey print and by colour-blind readers. An
axis of eigenvalues is logarithmic, and linear around zero where some are not positive. Arguments
that do not fit, such as no runs, or a wrong number of names or axes, are a
`gdaopt.errors.InvalidInputError`.
"""

from gdaopt.plotting.convergence import convergence, time_split
from gdaopt.plotting.discs import discs
from gdaopt.plotting.graph import graph
from gdaopt.plotting.left_ends import eigenvalues, left_ends

__all__ = ["convergence", "discs", "eigenvalues", "graph", "left_ends", "time_split"]
