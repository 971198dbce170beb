"""
The smallest eigenvalue against ρ
=================================

The set allows no eigenvalue below ρ. With a larger ρ the optimum leaves the boundary later, or never:
the smallest eigenvalue of each run falls to its own dashed line.
"""

import matplotlib.pyplot as plt

import gdaopt as gda
from gdaopt.datasets import load, scale_features

iris = load("iris")
glr = gda.GLR(scale_features(iris.features), iris.signal("setosa"))
runs = {}
for rho in (1e-1, 1e-3, 1e-5):
    problem = gda.MetricProblem(glr, gda.GraphMetrics(trace_bound=4.0, min_eigenvalue=rho))
    runs[f"least eigenvalue {rho:g}"] = gda.solve(problem, "alternating", solver="analytic")

figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
gda.plotting.convergence(runs, ax, y="lambda_min", problems=list(runs))
plt.show()
