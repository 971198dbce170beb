"""
Time by the number of features
==============================

How the time of methods grows with K, on random data. Each point is the time to its own end; a
relative tolerance of 1e-3 ends the runs that prove their gap. A dotted line is the time limit, at which
runs end that take longer.
"""

import matplotlib.pyplot as plt
import numpy as np

import gdaopt as gda

sizes = (5, 10, 20, 40)
methods = ("certified", "frank-wolfe", "projected-gradient")
seconds = {method: [] for method in methods}
for size in sizes:
    rng = np.random.default_rng(0)
    X, z = rng.standard_normal((100, size)), rng.choice([-1.0, 1.0], 100)
    problem = gda.MetricProblem(gda.GLR(X, z), gda.GraphMetrics(trace_bound=float(size)))
    for method in methods:
        run = gda.solve(problem, method, tolerance=1e-3, time_limit=2.0, trace_every=0)
        seconds[method].append(run.seconds)

figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
for marker, (method, times) in zip("os^", seconds.items()):
    ax.loglog(sizes, times, marker=marker, label=method)
ax.set(xlabel="features", ylabel="seconds", xticks=sizes, xticklabels=sizes)
ax.axhline(2.0, color="gray", linestyle=":")
ax.minorticks_off()
ax.legend()
plt.show()
