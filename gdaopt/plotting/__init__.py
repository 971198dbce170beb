"""Pictures of runs and metrics; matplotlib is loaded when something is drawn.

Every function takes axes and returns them, and changes no global style. Colours, fonts and line
widths are those of the caller's style. Texts, lines and markers shrink in small axes, such as the
axes of a paper's column, so that figures are best made in their final size. A figure without a
layout gets matplotlib's constrained one, which makes room for names and legends. Curves and areas
differ in more than their colours, for grey print and for colour-blind readers. An axis of
eigenvalues is logarithmic, and linear around zero where some are not positive. Arguments that do
not fit, such as no runs, or a wrong number of names or axes, are a
`gdaopt.errors.InvalidInputError`.
"""

from gdaopt.plotting.animation import animate
from gdaopt.plotting.convergence import convergence
from gdaopt.plotting.discs import discs
from gdaopt.plotting.graph import graph
from gdaopt.plotting.left_ends import left_ends
from gdaopt.plotting.time_split import time_split

__all__ = ["animate", "convergence", "discs", "graph", "left_ends", "time_split"]
