"""Matrix inequalities of networks, small and of random signs."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np

KINDS = ("forest", "cycle", "balanced", "frustrated", "triangle", "random", "blocks")


def random_inequality(
    seed: int, *, as_variable: bool = False
) -> tuple[cp.Problem, cp.Expression, cp.Variable]:
    """Return a problem with one matrix inequality F(x) ⪰ 0, F and x, with x in a box.

    As a variable, it is ``F(x) == X`` with an X that has ``PSD=True``.
    """
    rng = np.random.default_rng(seed)
    kind, size, count = rng.choice(KINDS), int(rng.integers(2, 8)), int(rng.integers(2, 6))
    if kind == "forest":
        edges = [(i, int(rng.integers(0, i))) for i in range(1, size)]
    elif kind == "cycle":
        edges = [(i, (i + 1) % size) for i in range(size if size > 2 else 1)]
    else:
        edges = [(i, j) for i in range(size) for j in range(i) if rng.random() < 0.6]
    if kind == "triangle":  # one that is frustrated, and a path with bridges of any sign
        size = max(size, 3)
        edges = [(1, 0), (2, 0), (2, 1), *((i, i - 1) for i in range(3, size))]
    if kind == "blocks":
        edges = [(i, j) for i, j in edges if (i < size // 2) == (j < size // 2)]
    sides = rng.choice([-1, 1], size)
    matrices = np.zeros((count + 1, size, size))
    for i, j in edges:
        sign = -sides[i] * sides[j]
        if kind in ("frustrated", "triangle", "random"):
            sign = rng.choice([-1, 1]) if kind == "random" else 1
        for matrix in matrices:
            if rng.random() < 0.6:
                is_bridge = kind == "forest" or (kind == "triangle" and i > 2)
                free = is_bridge and rng.random() < 0.3
                matrix[i, j] = matrix[j, i] = (-1 if free else 1) * sign * rng.random()
    diagonals = np.concatenate(
        [2 + abs(rng.normal(size=(1, size))), rng.normal(size=(count, size)) / 2]
    )
    matrices[:, np.arange(size), np.arange(size)] = diagonals
    x = cp.Variable(count, nonneg=True)
    matrix = matrices[0] + sum(x[k] * matrices[k + 1] for k in range(count))
    matrix = rng.choice([0.5, 2.0]) * matrix
    objective = cp.Minimize(rng.normal(size=count) @ x)
    inequality = matrix >> 0
    if as_variable:
        inequality = matrix == cp.Variable((size, size), PSD=True)
    return cp.Problem(objective, [inequality, x <= 1, cp.sum(x) <= count / 2]), matrix, x


def grid_edges(side: int) -> np.ndarray[Any, np.dtype[np.intp]]:
    """Return the edges of a square grid."""
    nodes = np.arange(side * side).reshape(side, side)
    across = np.stack([nodes[:, :-1].ravel(), nodes[:, 1:].ravel()], axis=1)
    down = np.stack([nodes[:-1].ravel(), nodes[1:].ravel()], axis=1)
    return np.concatenate([across, down])


def laplacian(weights: cp.Expression, edges: Any, size: int) -> cp.Expression:
    """Return the Laplacian of a graph by its weights."""
    rows = np.zeros((len(edges), size))
    rows[np.arange(len(edges)), edges[:, 0]], rows[np.arange(len(edges)), edges[:, 1]] = 1, -1
    matrix: cp.Expression = rows.T @ cp.diag(weights) @ rows
    return matrix


def e_optimal(side: int) -> cp.Problem:
    """Return the weights of a grounded grid whose least eigenvalue is largest."""
    edges, size = grid_edges(side), side * side
    w, least = cp.Variable(len(edges), nonneg=True), cp.Variable()
    ground = np.diag(np.random.default_rng(0).random(size))
    matrix = laplacian(w, edges, size) + ground - least * np.eye(size)
    return cp.Problem(cp.Maximize(least), [matrix >> 0, cp.sum(w) <= len(edges), w <= 2])


def spectral_radius(side: int, most: int = 0) -> cp.Problem:
    """Return the links of a network, weakened under a budget, whose spectral radius is least.

    With a number of links that may go, each of them goes or stays.
    """
    edges, size = grid_edges(side), side * side
    kind: dict[str, Any] = {"boolean": True} if most else {"bounds": [0, 1]}
    cut, radius = cp.Variable(len(edges), **kind), cp.Variable()
    diagonal = np.zeros((size, size))
    placed = [(1 - cut[k]) * symmetric_unit(size, int(i), int(j)) for k, (i, j) in enumerate(edges)]
    matrix = radius * np.eye(size) - sum(placed, diagonal)
    return cp.Problem(cp.Minimize(radius), [matrix >> 0, cp.sum(cut) <= (most or len(edges) / 4)])


def compliance(side: int) -> cp.Problem:
    """Return the conductances under a budget for which the energy of a current is least."""
    edges, size = grid_edges(side), side * side
    w, energy = cp.Variable(len(edges), nonneg=True), cp.Variable((1, 1))
    current = np.zeros((size, 1))
    current[0], current[-1] = -1.0, -2.0
    ground = np.diag(np.full(size, 0.1))
    matrix = cp.bmat([[laplacian(w, edges, size) + ground, current], [current.T, energy]])
    return cp.Problem(cp.Minimize(energy[0, 0]), [matrix >> 0, cp.sum(w) <= len(edges)])


def positive_system(size: int) -> cp.Problem:
    """Return the least diagonal Lyapunov function of a stable Metzler matrix on a cycle."""
    rng = np.random.default_rng(1)
    metzler = -3 * np.eye(size)
    for i in range(size):
        for j in ((i + 1) % size, (i - 1) % size):
            metzler[i, j] = rng.random()
    p = cp.Variable(size, nonneg=True)
    lyapunov = -(cp.diag(p) @ metzler + metzler.T @ cp.diag(p))
    return cp.Problem(cp.Minimize(cp.sum(p)), [lyapunov >> np.eye(size)])


NETWORKS = {
    "E-optimal weights": lambda side: e_optimal(side),
    "spectral radius": lambda side: spectral_radius(side),
    "compliance": lambda side: compliance(side),
    "positive system": lambda side: positive_system(side * side),
}


def symmetric_unit(size: int, i: int, j: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    matrix = np.zeros((size, size))
    matrix[i, j] = matrix[j, i] = 1.0
    return matrix
