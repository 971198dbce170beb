"""
The discs of a network
======================

Links of a grid get weights under a budget, so that the smallest eigenvalue of its grounded
Laplacian is as large as possible. Left: the network; a link is as wide as its weight, and a node as
large as its ground. Then the discs of the Laplacian, as they are and aligned by its first
eigenvector: all left-ends meet at the smallest eigenvalue, which is therefore proven.
"""

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np

import gdaopt as gda

side = 5
nodes = np.arange(side**2).reshape(side, side)
across = np.column_stack([nodes[:, :-1].ravel(), nodes[:, 1:].ravel()])
edges = np.concatenate([across, np.column_stack([nodes[:-1].ravel(), nodes[1:].ravel()])])
ground = np.random.default_rng(0).random(side**2)

differences = np.eye(side**2)[edges[:, 0]] - np.eye(side**2)[edges[:, 1]]
weights, least = cp.Variable(len(edges), nonneg=True), cp.Variable()
laplacian = differences.T @ cp.diag(weights) @ differences + np.diag(ground)
constraints = [laplacian >> least * np.eye(side**2), cp.sum(weights) <= len(edges)]
cp.Problem(cp.Maximize(least), constraints).solve(method="discs")

figure, (network, raw, aligned) = plt.subplots(1, 3, figsize=(14, 5), layout="constrained")
places = np.column_stack([nodes.ravel() % side, nodes.ravel() // side])
for (first, second), weight in zip(edges, weights.value, strict=True):
    network.plot(*places[[first, second]].T, color="0.4", linewidth=4 * weight, zorder=1)
network.scatter(*places.T, s=20 + 300 * ground, zorder=2)
network.set_axis_off()
network.set_aspect("equal")
gda.plotting.discs(laplacian.value, ax=(raw, aligned))
plt.show()
