"""
Only some edges allowed
=======================

Where only some features can be joined, such as neighbours in space or time, a mask says which: here
those side by side in the table. The optimum over the mask is certified as without it.
"""

import matplotlib.pyplot as plt

import gdaopt as gda
from gdaopt.datasets import load, scale_features

wine = load("wine")
glr = gda.GLR(scale_features(wine.features), wine.signal("class_1"))
masks = {"all edges": None, "a path": [(k, k + 1) for k in range(12)]}
figure, axes = plt.subplots(1, 2, figsize=(11, 4.8), layout="constrained")
for ax, (name, edges) in zip(axes, masks.items()):
    run = gda.solve(gda.MetricProblem(glr, gda.GraphMetrics(trace_bound=13.0, edges=edges)))
    gda.plotting.graph(run, names=wine.feature_names, ax=ax)
    print(f"{name}: {run.objective:.4g}")
plt.show()
