"""
The objective between its bounds
================================

Each method proves lower bounds of the optimum on its way. The thin line below an objective is the
largest one so far: where the two meet, the optimum is proven.
"""

import matplotlib.pyplot as plt

import gdaopt as gda
from gdaopt.datasets import load, scale_features

wine = load("wine")
X, z = scale_features(wine.features), wine.signal("class_1")
problem = gda.MetricProblem(gda.GLR(X, z), gda.GraphMetrics(trace_bound=13.0, min_eigenvalue=1e-6))

runs = {
    "joint": gda.solve(problem, "joint", solver="analytic", max_iterations=100),
    "certified": gda.solve(problem),
}
figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
gda.plotting.convergence(runs, ax, y="objective", lower_bounds=True)
plt.show()
