"""
The price of a linear constraint
================================

The first feature may weigh at most b. The multiplier of the constraint is the slope of the least
objective: its tangent bounds what a larger b gains.
"""

import matplotlib.pyplot as plt
import numpy as np

import gdaopt as gda
from gdaopt.datasets import load, scale_features

wine = load("wine")
glr = gda.GLR(scale_features(wine.features), wine.signal("class_1"))


def solve(bound):
    problem = gda.MetricProblem(
        glr, gda.GraphMetrics(trace_bound=13.0), constraints=lambda M: [M[0, 0] <= bound]
    )
    return gda.solve(problem)


bounds = np.linspace(0.5, 4.0, 8)
values = [solve(bound).objective for bound in bounds]
at = solve(1.5)
tangent = at.objective - at.multipliers[0] * (bounds - 1.5)

figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
ax.plot(bounds, values, "o-", label="least objective")
ax.plot(bounds, tangent, "--", label="tangent by the multiplier at 1.5")
ax.set(xlabel="most weight of the first feature", ylabel="objective")
ax.legend()
plt.show()
