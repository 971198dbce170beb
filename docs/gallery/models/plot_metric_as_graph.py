"""
A metric as a graph of features
===============================

The metric learned is a generalised Laplacian: its edges join features whose differences have to
agree, and a feature's self-loop is its own weight.
"""

import matplotlib.pyplot as plt

import gdaopt as gda
from gdaopt.datasets import load, scale_features

wine = load("wine")
glr = gda.GLR(scale_features(wine.features), wine.signal("class_1"))
run = gda.solve(gda.MetricProblem(glr, gda.GraphMetrics(trace_bound=13.0)))
gda.plotting.graph(run, names=wine.feature_names)
plt.show()
