"""
What a tolerance costs
======================

How many calls of the oracle it takes to prove a certified gap. Each run is one
point; ``status`` says whether its tolerance was reached.
"""

import matplotlib.pyplot as plt

import gdaopt as gda
from gdaopt.datasets import load, scale_features

wine = load("wine")
glr = gda.GLR(scale_features(wine.features), wine.signal("class_1"))
problem = gda.MetricProblem(glr, gda.GraphMetrics(trace_bound=13.0, min_eigenvalue=1e-6))
tolerances = (1e-1, 1e-2, 1e-3, 1e-4, 1e-6)
runs = [gda.solve(problem, tolerance=tolerance) for tolerance in tolerances]
print([run.status for run in runs])

figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
ax.semilogx([run.relative_gap for run in runs], [run.oracle_calls for run in runs], "o-")
ax.set(xlabel="relative gap that was proven", ylabel="oracle calls")
plt.show()
