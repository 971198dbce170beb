"""
Left-ends that move
===================

`gdaopt.plotting.animate` makes a picture of a run move: left-ends, convergence, discs or the graph.
``animate(run, "discs", "discs.gif")`` writes a file; GIF, HTML and MP4 are possible. Discs and graphs
need ``keep_iterates=True``.
"""

import matplotlib.pyplot as plt

import gdaopt as gda
from gdaopt.datasets import load, scale_features

wine = load("wine")
X, z = scale_features(wine.features), wine.signal("class_1")
problem = gda.MetricProblem(gda.GLR(X, z), gda.GraphMetrics(trace_bound=13.0, min_eigenvalue=1e-6))

run = gda.solve(problem, "alternating", solver="analytic", max_iterations=16)
animation = gda.plotting.animate(run, "left_ends", frames_per_second=3)
plt.show()
