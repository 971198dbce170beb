"""
An objective of your own
========================

Any function that CVXPY can prove convex is an objective: here the distance to a covariance, with a
penalty on edges. The set, the method and the certificate stay.
"""

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np

import gdaopt as gda
from gdaopt.datasets import load

iris = load("iris")
target = np.linalg.inv(np.cov(iris.features.T))
target *= 4.0 / np.trace(target)
runs = {}
for penalty in (0.0, 1.0):
    objective = gda.CvxpyObjective(
        lambda M, penalty=penalty: cp.sum_squares(M - target) - penalty * cp.sum(M) / 4,
        n_features=4,
    )
    runs[f"penalty {penalty:g}"] = gda.solve(
        gda.MetricProblem(objective, gda.GraphMetrics(trace_bound=4.0))
    )

figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
metrics = {"target": target} | {name: run.metric for name, run in runs.items()}
for ax, (name, metric) in zip(axes, metrics.items()):
    image = ax.imshow(metric, cmap="PuOr_r", vmin=-2.5, vmax=2.5)
    ax.set(title=name, xticks=range(4), yticks=range(4))
figure.colorbar(image, ax=axes, label="entry of the metric")
plt.show()
