"""
Traces from files
=================

A trace is a table: write it as CSV, read it anywhere, and draw it again without the run. Several runs
in one file work the same way, by ``dict(list(table.groupby("run")))``.
"""

from pathlib import Path
from tempfile import mkdtemp

import matplotlib.pyplot as plt
import pandas as pd

import gdaopt as gda
from gdaopt.datasets import load, scale_features

wine = load("wine")
X, z = scale_features(wine.features), wine.signal("class_1")
problem = gda.MetricProblem(gda.GLR(X, z), gda.GraphMetrics(trace_bound=13.0, min_eigenvalue=1e-6))
folder = Path(mkdtemp())
for method in ("certified", "sdp-frank-wolfe"):
    gda.solve(problem, method, max_iterations=60).trace.to_csv(folder / f"{method}.csv")

# Later, in another script:
traces = {file.stem: pd.read_csv(file) for file in sorted(folder.glob("*.csv"))}
figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
gda.plotting.convergence(traces, ax, problems=list(traces))  # two sets of metrics
plt.show()
