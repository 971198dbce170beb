"""
Where the time goes
===================

If a solver is called through CVXPY, most time is spent around the solver. The parts are columns of
the trace.
"""

import matplotlib.pyplot as plt

import gdaopt as gda
from gdaopt.datasets import load, scale_features

wine = load("wine")
glr = gda.GLR(scale_features(wine.features), wine.signal("class_1"))
problem = gda.MetricProblem(glr, gda.GraphMetrics(trace_bound=13.0, min_eigenvalue=1e-6))
runs = {
    solver: gda.solve(problem, "joint", solver=solver, max_iterations=30)
    for solver in ("HIGHS", "CLARABEL", "highspy", "analytic")
}
gda.plotting.time_split(runs)
plt.show()
