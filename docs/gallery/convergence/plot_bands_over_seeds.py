"""
Median and band over seeds
==========================

One run says little about a method. Here each method solves five problems, each of other samples: a
list of runs is drawn as its median, and as a band between two quantiles. ``problems=`` says which runs
solve the same problem, because each problem has its own lower bound.
"""

import matplotlib.pyplot as plt
import numpy as np

import gdaopt as gda
from gdaopt.datasets import load, scale_features

wine = load("wine")
X, z = scale_features(wine.features), wine.signal("class_1")
seeds = range(5)
runs = {"alternating": [], "certified": []}
for seed in seeds:
    rows = np.random.default_rng(seed).choice(len(z), 100, replace=False)
    problem = gda.MetricProblem(gda.GLR(X[rows], z[rows]), gda.GraphMetrics(trace_bound=13.0))
    runs["alternating"].append(gda.solve(problem, "alternating", solver="analytic"))
    runs["certified"].append(gda.solve(problem))

figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
labels = {name: [*seeds] for name in runs}
gda.plotting.convergence(runs, ax, relative=True, problems=labels, bands=(0.1, 0.9))
plt.show()
