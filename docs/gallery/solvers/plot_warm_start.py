"""
A path of trace bounds with warm starts
=======================================

A problem that differs little from one that is solved needs few rounds from that solution:
``warm_start`` takes an earlier result.
"""

import matplotlib.pyplot as plt
import numpy as np

import gdaopt as gda
from gdaopt.datasets import load, scale_features

wine = load("wine")
glr = gda.GLR(scale_features(wine.features), wine.signal("class_1"))
bounds = np.geomspace(4.0, 30.0, 8)
cold, warm, last = [], [], None
for bound in bounds:
    problem = gda.MetricProblem(glr, gda.GraphMetrics(trace_bound=bound))
    cold.append(gda.solve(problem).oracle_calls)
    last = gda.solve(problem, warm_start=last)
    warm.append(last.oracle_calls)

figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
ax.plot(bounds, cold, "o--", label="each from the middle of the set")
ax.plot(bounds, warm, "s-", label="each from the optimum before")
ax.set(xlabel="trace bound", ylabel="oracle calls", ylim=(0, None))
ax.legend()
plt.show()
