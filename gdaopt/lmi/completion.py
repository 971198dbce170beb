"""Matrix inequalities whose entries are free: cones on the graph of the multiplier, and a matrix.

See `docs/theory/lmi.md`, "Theorem: entries that are free".
"""

from __future__ import annotations

import cvxpy as cp
import numpy as np
from scipy.sparse.csgraph import shortest_path

from gdaopt.linalg.balance import find_switching
from gdaopt.linalg.entries import incidence, sparse_symmetric
from gdaopt.lmi.cones import products
from gdaopt.lmi.model import AffineMatrix, Model
from gdaopt.lmi.signs import Inequality, free_entries
from gdaopt.support.validation import FloatArray

_LEAST = 1e-300  # a correlation of 0 has no logarithm


def minor_cones(matrix: AffineMatrix, point: cp.Expression) -> list[cp.Constraint]:
    """Return the constraints ``F_ij² ≤ F_ii F_jj``, where there are edges, and ``F_ii ≥ 0``."""
    (diagonal, entries), (first, second) = matrix.at(point), matrix.edges
    if not len(first):
        return [diagonal >= 0]
    return [products(diagonal[first], diagonal[second], entries), diagonal >= 0]


def multiplier_of(matrix: AffineMatrix, constraints: list[cp.Constraint]) -> FloatArray:
    """Return the multiplier of F ⪰ 0 from those of its cones: a block of 2×2 for each edge."""
    values, diagonal = np.zeros(0), np.atleast_1d(constraints[-1].dual_value)
    if len(constraints) > 1:
        sums, (differences, values) = (each.value for each in constraints[0].dual_variables)
        first, second = (incidence(nodes, matrix.n_nodes) for nodes in matrix.edges)
        diagonal = diagonal + first @ (sums + differences) + second @ (sums - differences)
    return sparse_symmetric(diagonal, matrix.edges, values).toarray()


def complete(
    model: Model, matrix: AffineMatrix, inequality: Inequality, point: FloatArray
) -> FloatArray:
    """Return a point with the free entries of F moved, without harm, so that F ⪰ 0.

    Along a bridge the correlation ``F_ij / √(F_ii F_jj)`` stays, along other edges it becomes ±1,
    and that of two nodes is the product along a path between them.
    """
    graph, roots = inequality.matrix, np.sqrt(np.maximum(matrix.diagonal @ point, 0.0))
    sizes = roots[graph.edges[0]] * roots[graph.edges[1]]
    ratios = np.clip(graph.entries @ point / np.where(sizes > 0, sizes, np.inf), -1, 1)
    steps = np.where(graph.in_cycle, -inequality.signs, ratios)
    sides, _ = find_switching(graph.n_nodes, graph.edges, -np.sign(steps))
    # The logarithm of a product along a path is the length of the path.
    lengths = -np.log(np.maximum(np.abs(steps), _LEAST))
    links = sparse_symmetric(np.zeros(len(roots)), graph.edges, lengths)
    correlations = np.outer(sides, sides) * np.exp(-shortest_path(links, "D"))
    wanted = np.outer(roots, roots) * correlations
    columns, slopes = free_entries(model, matrix)
    moved = slopes != 0
    change = wanted[matrix.edges] - matrix.entries @ point
    completed = point.copy()
    completed[columns[moved]] += change[moved] / slopes[moved]
    return completed
