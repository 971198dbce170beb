"""
The same samples, other objectives
==================================

What a metric is good for decides the objective: smooth labels (GLR), near samples of one class
(NCA), or a margin between classes (LMNN). All take the same sets, methods and certificates.
"""

import matplotlib.pyplot as plt

import gdaopt as gda
from gdaopt.datasets import load, scale_features

iris = load("iris")
X, y = scale_features(iris.features), iris.labels
objectives = {
    "GLR": gda.GLR(X, iris.signal("setosa")),
    "NCA": gda.NCA(X, y),
    "LMNN": gda.LMNN(X, y),
}
figure, axes = plt.subplots(1, 3, figsize=(11, 3.8), layout="constrained")
for ax, (name, objective) in zip(axes, objectives.items()):
    run = gda.solve(gda.MetricProblem(objective, gda.GraphMetrics(trace_bound=4.0)))
    image = ax.imshow(run.metric, cmap="PuOr_r", vmin=-4, vmax=4)
    ax.set(title=name, xticks=range(4), yticks=range(4))
figure.colorbar(image, ax=axes, label="entry of the metric")
plt.show()
