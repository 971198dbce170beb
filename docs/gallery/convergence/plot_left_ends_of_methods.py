"""
Left-ends as small multiples
============================

The left-ends of the scaled discs are lower bounds of the eigenvalues. A step may
spread them, but none falls below ρ. Each step is drawn with the left-ends after it, under the
vector that aligned them before it.
"""

import matplotlib.pyplot as plt

import gdaopt as gda
from gdaopt.datasets import load, scale_features

wine = load("wine")
X, z = scale_features(wine.features), wine.signal("class_1")
problem = gda.MetricProblem(gda.GLR(X, z), gda.GraphMetrics(trace_bound=13.0, min_eigenvalue=1e-6))

methods = ("alternating", "joint", "certified")
figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained", sharey=True)
for ax, method in zip(axes, methods):
    options = {} if method == "certified" else {"solver": "analytic", "max_iterations": 25}
    run = gda.solve(problem, method, **options)
    gda.plotting.left_ends(run, ax, legend=ax is axes[0])
    ax.set_xlabel(f"iteration of {method}")
plt.show()
