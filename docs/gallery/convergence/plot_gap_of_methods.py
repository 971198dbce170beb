"""
Gap over iterations, seconds and linear programs
================================================

Three methods on one problem. A step of one method can cost as much as ten of another, so that the
three horizontal axes tell different stories. Each gap is measured from the largest lower bound that
any of the runs has proven.
"""

import matplotlib.pyplot as plt

import gdaopt as gda
from gdaopt.datasets import load, scale_features

wine = load("wine")
X, z = scale_features(wine.features), wine.signal("class_1")
problem = gda.MetricProblem(gda.GLR(X, z), gda.GraphMetrics(trace_bound=13.0, min_eigenvalue=1e-6))

runs = {
    "alternating": gda.solve(problem, "alternating", solver="analytic"),
    "joint": gda.solve(problem, "joint", solver="analytic", max_iterations=100),
    "certified": gda.solve(problem),
}
figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained", sharey=True)
for ax, x in zip(axes, ("iterations", "seconds", "oracle_calls")):
    gda.plotting.convergence(runs, ax, x=x, legend=ax is axes[0])
plt.show()
