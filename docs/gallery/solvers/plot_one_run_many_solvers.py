"""
One run by several solvers of linear programs
=============================================

The same method with the same programs: by HiGHS through CVXPY, by HiGHS on its own, and in closed
form. The steps are the same up to the choice among equal vertices; what differs is the time.
"""

import matplotlib.pyplot as plt

import gdaopt as gda
from gdaopt.datasets import load, scale_features

iris = load("iris")
glr = gda.GLR(scale_features(iris.features), iris.signal("setosa"))
problem = gda.MetricProblem(glr, gda.GraphMetrics(trace_bound=4.0, min_eigenvalue=1e-6))
runs = {
    solver: gda.solve(problem, "joint", solver=solver, max_iterations=60)
    for solver in ("HIGHS", "highspy", "analytic")
}
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained", sharey=True)
gda.plotting.convergence(runs, axes[0])
gda.plotting.convergence(runs, axes[1], x="seconds", legend=False)
plt.show()
