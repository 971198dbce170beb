"""
Discs before and after alignment
================================

Left: the Gershgorin discs of the metric learned. Some begin below zero, although all eigenvalues
are positive. Right: the same metric, scaled by its first eigenvector. All discs of a component begin
at its smallest eigenvalue.
"""

import matplotlib.pyplot as plt

import gdaopt as gda
from gdaopt.datasets import load, scale_features

wine = load("wine")
X, z = scale_features(wine.features), wine.signal("class_1")
problem = gda.MetricProblem(gda.GLR(X, z), gda.GraphMetrics(trace_bound=13.0, min_eigenvalue=1e-6))

run = gda.solve(problem, "alternating", solver="analytic")
gda.plotting.discs(run, names=wine.feature_names)
plt.show()
