"""Random masks of edges, and problems under them."""

from dataclasses import replace

import numpy as np

import gdaopt as gda
from gdaopt.linalg.entries import all_edges
from gdaopt.sets import EdgeMask
from gdaopt.support.validation import FloatArray
from tests.helpers import Rng

SHARES = (0.0, 0.3, 0.6, 1.0)  # of the pairs that a mask has

MaskedSet = gda.GraphMetrics | gda.SignedGraphMetrics


def random_mask(rng: Rng, size: int, share: float | None = None) -> EdgeMask:
    """Return a mask of a share of all pairs; the graph of few pairs is not connected."""
    rows, columns = all_edges(size)
    kept = rng.random(len(rows)) < (rng.choice(SHARES) if share is None else share)
    return EdgeMask.of(np.column_stack([rows[kept], columns[kept]]))


def random_set(rng: Rng, size: int, kind: str) -> MaskedSet:
    """Return graph metrics or signed ones under a random mask."""
    bounds = float(size * rng.choice([0.5, 3.0])), float(rng.choice([1e-6, 1e-2]))
    mask = random_mask(rng, size)
    if kind == "graph":
        return gda.GraphMetrics(*bounds, edges=mask)
    return gda.SignedGraphMetrics(rng.choice([-1, 1], size).tolist(), *bounds, edges=mask)


def without_mask(feasible_set: MaskedSet) -> MaskedSet:
    """Return the set of all edges."""
    return replace(feasible_set, edges=None)


def objective_of(rng: Rng, size: int, kind: str) -> gda.GLR | gda.LogDet:
    """Return a small objective."""
    X = rng.standard_normal((24, size)) @ rng.standard_normal((size, size)) / size
    if kind == "log-det":
        return gda.LogDet(np.cov(X.T).reshape(size, size) + 0.1 * np.eye(size))
    z = np.where(X[:, 0] + 0.3 * rng.standard_normal(24) > np.median(X[:, 0]), 1.0, -1.0)
    return gda.GLR(X / np.sqrt(2 * size), z)


def is_allowed(size: int, feasible_set: MaskedSet) -> FloatArray:
    """Return 1 for the entries that members may have, 0 elsewhere."""
    allowed = np.eye(size)
    rows, columns = feasible_set.family.edges_of(size)
    allowed[rows, columns] = allowed[columns, rows] = 1.0
    return allowed
