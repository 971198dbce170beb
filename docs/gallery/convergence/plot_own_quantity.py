"""
A quantity of your own
======================

``trace_columns`` takes functions of the state of a run. Their columns are in the trace, in its CSV
file, in a saved result, and in pictures.
"""

import matplotlib.pyplot as plt
import numpy as np

import gdaopt as gda
from gdaopt.datasets import load, scale_features

wine = load("wine")
X, z = scale_features(wine.features), wine.signal("class_1")
problem = gda.MetricProblem(gda.GLR(X, z), gda.GraphMetrics(trace_bound=13.0, min_eigenvalue=1e-6))


def edges(state):
    return np.count_nonzero(np.triu(state.metric, 1) < -1e-6)


options = {"solver": "analytic", "max_iterations": 80, "trace_columns": {"edges": edges}}
runs = {method: gda.solve(problem, method, **options) for method in ("alternating", "joint")}
figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
gda.plotting.convergence(runs, ax, y="edges")
plt.show()
