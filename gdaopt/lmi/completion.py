"""Matrix inequalities whose entries are free: cones on the graph of the multiplier, and a matrix.

See `docs/theory/lmi.md`, "Theorem: entries that are free".
"""

from __future__ import annotations

import cvxpy as cp
import numpy as np
from scipy.sparse.csgraph import shortest_path

from gdaopt.lmi.graphs import find_switching, symmetric
from gdaopt.lmi.model import AffineMatrix, Model
from gdaopt.lmi.signs import Inequality, free_entries
from gdaopt.support.validation import FloatArray

_LEAST = 1e-300  # a correlation of 0 has no logarithm


def minor_cones(inequality: Inequality, x: cp.Expression) -> list[cp.Constraint]:
    """Return the constraints ``F_ii ≥ 0`` and ``F_ij² ≤ F_ii F_jj`` on the multiplier's graph."""
    matrix = inequality.matrix
    diagonal = matrix.diagonal(x)
    if not len(matrix.edges):
        return [diagonal >= 0]
    p, q = diagonal[matrix.edges[:, 0]], diagonal[matrix.edges[:, 1]]
    cones = cp.SOC(p + q, cp.vstack([p - q, 2 * matrix.entries(x)]), axis=0)
    return [cones, diagonal >= 0]


def multiplier_of(inequality: Inequality, constraints: list[cp.Constraint]) -> FloatArray:
    """Return the multiplier of F ⪰ 0 from those of its cones: a block of 2×2 for each edge."""
    multiplier = np.diag(np.atleast_1d(constraints[-1].dual_value).astype(float))
    if len(constraints) > 1:
        sums, (differences, products) = (
            np.asarray(each.value) for each in constraints[0].dual_variables
        )
        first, second = inequality.matrix.edges.T
        np.add.at(multiplier, (first, first), sums + differences)
        np.add.at(multiplier, (second, second), sums - differences)
        multiplier[first, second] += products
        multiplier[second, first] += products
    return multiplier


def complete(
    model: Model, matrix: AffineMatrix, inequality: Inequality, x: FloatArray
) -> FloatArray:
    """Return x with the free entries of F moved, without harm, so that F ⪰ 0.

    Along a bridge the correlation ``F_ij / √(F_ii F_jj)`` stays, along other edges it becomes ±1,
    and that of two nodes is the product along a path between them.
    """
    roots = np.sqrt(np.maximum(matrix.diagonal(x), 0.0))
    graph = inequality.matrix
    sizes = roots[graph.edges].prod(axis=1)
    ratios = np.clip(graph.entries(x) / np.where(sizes > 0, sizes, np.inf), -1, 1)
    steps = np.where(inequality.is_bridge, ratios, -inequality.signs)
    sides, _ = find_switching(graph.n_nodes, graph.edges, np.where(steps > 0, -1.0, 1.0))
    # The logarithm of a product along a path is the length of the path.
    lengths = -np.log(np.maximum(np.abs(steps), _LEAST))
    links = symmetric(np.zeros(len(roots)), graph.edges, lengths)
    correlations = np.outer(sides, sides) * np.exp(-shortest_path(links, "D"))
    first, second = matrix.edges.T
    columns, slopes = free_entries(model, matrix)
    moved = np.flatnonzero(slopes)
    change = (roots[first] * roots[second] * correlations[first, second] - matrix.entries(x))[moved]
    x = x.copy()
    x[columns[moved]] += change / slopes[moved]
    return np.asarray(model.symmetry @ x)
