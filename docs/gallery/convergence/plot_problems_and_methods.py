"""
Several problems and several methods
====================================

Colour and marker stand for the method, the line style for the problem; ``color_by="problem"`` swaps
them. Each problem has its own lower bound, and gaps are shares of its objective at the start.
"""

import matplotlib.pyplot as plt

import gdaopt as gda
from gdaopt.datasets import load, scale_features

runs, labels = {}, []
for name, label in (("wine", "class_1"), ("iris", "setosa")):
    data = load(name)
    glr = gda.GLR(scale_features(data.features), data.signal(label))
    n_features = data.features.shape[1]
    problem = gda.MetricProblem(glr, gda.GraphMetrics(trace_bound=float(n_features)))
    for method, options in (("alternating", {"solver": "analytic"}), ("certified", {})):
        runs[f"{name}, {method}"] = gda.solve(problem, method, **options)
        labels.append(name)

figure, ax = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
gda.plotting.convergence(runs, ax, relative=True, problems=labels)
plt.show()
