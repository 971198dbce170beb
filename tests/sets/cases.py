"""The sets of metrics, described a second time by hand: base, cone and constraints."""

from collections.abc import Callable
from dataclasses import dataclass

import cvxpy as cp
import networkx as nx
import numpy as np

from gdaopt.sets import (
    DiagonalMetrics,
    FeasibleSet,
    GraphMetrics,
    PositiveDefiniteMetrics,
    SDDMetrics,
    SignedGraphMetrics,
)
from gdaopt.support.validation import FloatArray
from tests.helpers import Rng, random_metric, random_symmetric

RHO = 0.1


@dataclass(frozen=True)
class Family:
    """One kind of sets, for any size: C = 1.5 K, ρ = 0.1."""

    kind: str
    path_weight: float = 0.0
    share: float = 1.0  # of the pairs that may have an edge

    def __str__(self) -> str:
        return self.kind + "-path" * (self.path_weight > 0) + "-masked" * (self.share < 1)

    def mask(self, size: int) -> FloatArray:
        """Return 1 for the entries that members may have, 0 elsewhere."""
        share = 0.0 if self.kind == "diagonal" else self.share
        kept = np.triu(np.random.default_rng([size, 1]).random((size, size)) < share, 1)
        return np.asarray(np.eye(size) + kept + kept.T)

    def colors(self, size: int) -> FloatArray:
        """Return random colours, of both kinds, where the set has them, else ones; 0 is unknown."""
        if self.kind not in ("signed", "partial", "sdd"):
            return np.ones(size)
        colors = np.random.default_rng(size).choice([-1.0, 1.0], size)
        colors[0] = -colors[-1]
        if self.kind != "signed":
            colors[1 if self.kind == "partial" else 0 :: 3 if self.kind == "partial" else 1] = 0.0
        return colors

    def of_graph(self, gradient: FloatArray) -> FloatArray:
        """Return a gradient whose entries are positive where an edge of an allowed sign lowers."""
        colors = self.colors(len(gradient))
        signs = np.outer(colors, colors)
        of_graph: FloatArray = np.where(signs == 0, np.abs(gradient), signs * gradient)
        np.fill_diagonal(of_graph, np.diagonal(gradient))
        return of_graph * self.mask(len(gradient))

    def bound(self, size: int) -> float:
        return 1.5 * size

    def feasible_set(self, size: int) -> FeasibleSet:
        bounds, colors = (self.bound(size), RHO), tuple(self.colors(size))
        edges = None if self.share == 1 else self.mask(size) > 0
        match self.kind:
            case "graph":
                return GraphMetrics(*bounds, self.path_weight, edges)
            case "signed":
                return SignedGraphMetrics(colors, *bounds, self.path_weight, edges)
            case "sdd":
                return SDDMetrics(*bounds, edges)
            case "partial":
                return SDDMetrics(*bounds, edges, colors)
            case "diagonal":
                return DiagonalMetrics(*bounds)
        return PositiveDefiniteMetrics(*bounds)

    def flipped(self, matrix: FloatArray) -> FloatArray:
        colors = np.where(self.colors(len(matrix)) < 0, -1.0, 1.0)
        flipped: FloatArray = np.diag(colors) @ matrix @ np.diag(colors)
        return flipped

    def base(self, size: int) -> FloatArray:
        path = nx.laplacian_matrix(nx.path_graph(size)).toarray()
        return self.flipped(RHO * np.eye(size) + self.path_weight * path)

    def budget(self, size: int) -> float:
        return self.bound(size) - RHO * size - 2 * self.path_weight * (size - 1)

    def atomic_part(self, rng: Rng, size: int) -> FloatArray:
        """Return a random member of the cone over the atoms, of trace 1, singular or not."""
        if self.kind == "definite":
            root = random_symmetric(rng, size)[:, : rng.integers(1, size + 1)]
            matrix: FloatArray = root @ root.T
        else:
            density, decades = rng.choice([0.0, 0.3, 1.0]), rng.choice([0.0, 6.0])
            matrix = self.mask(size) * random_metric(rng, size, density=density, decades=decades)
            if size > 1 and rng.random() < 0.5:
                matrix -= np.linalg.eigvalsh(matrix)[0] * np.eye(size)
        any_sign = np.triu(rng.choice([-1.0, 1.0], (size, size)), 1)
        is_free = np.outer(self.colors(size), self.colors(size)) == 0
        signs = np.where(is_free, any_sign + any_sign.T + np.eye(size), 1.0)
        atomic_part: FloatArray = signs * self.flipped(matrix / np.trace(matrix))
        return atomic_part

    def member(self, rng: Rng, size: int) -> FloatArray:
        """Return a random member of the hull, at the trace bound or not."""
        share = rng.choice([1.0, rng.random()])
        atomic_part: FloatArray = share * self.budget(size) * self.atomic_part(rng, size)
        return self.base(size) + atomic_part

    def constraints(self, metric: cp.Expression) -> list[cp.Constraint]:
        """Return the constraints on a variable, written out."""
        size = metric.shape[0]
        inside = [metric - self.base(size) >> 0, cp.trace(metric) <= self.bound(size)]
        if self.kind == "definite":
            return inside
        if self.kind in ("sdd", "partial"):
            comparison = cp.Variable((size, size), symmetric=True)
            beyond = metric - self.base(size)
            inside[0] = comparison >> 0
            inside += [cp.diag(comparison) == cp.diag(beyond)]
            upper = np.triu_indices(size, 1)
            if size > 1:
                inside += [cp.abs(beyond[upper]) <= -comparison[upper]]
        for i in range(size):
            for j in range(i + 1, size):
                floor = self.path_weight if j == i + 1 else 0.0
                sign = float(self.colors(size)[i] * self.colors(size)[j])
                if not self.mask(size)[i, j]:
                    inside.append(metric[i, j] == 0)
                elif sign:
                    inside.append(sign * metric[i, j] <= -floor)
        return inside


FAMILIES = [
    Family("graph"),
    Family("graph", path_weight=0.1),
    Family("diagonal"),
    Family("definite"),
    Family("signed"),
    Family("signed", path_weight=0.1),
    Family("graph", share=0.5),
    Family("signed", share=0.5),
    Family("partial"),
    Family("sdd"),
    Family("sdd", share=0.5),
]


def sparse(rng: Rng, size: int) -> FloatArray:
    matrix = random_symmetric(rng, size) * (rng.random((size, size)) < 0.4)
    return np.triu(matrix) + np.triu(matrix, 1).T


def definite(rng: Rng, size: int) -> FloatArray:
    root = random_symmetric(rng, size)
    matrix: FloatArray = root @ root.T
    return matrix


def graded(rng: Rng, size: int) -> FloatArray:
    """Return a gradient of GLR on features of scales over decades."""
    features = rng.standard_normal((2 * size, size)) * 10 ** rng.uniform(-4, 0, size)
    gradient: FloatArray = -features.T @ features
    return gradient


Draw = Callable[[Rng, int], FloatArray]

GRADIENTS: dict[str, Draw] = {
    "indefinite": random_symmetric,
    "positive definite": definite,
    "negative definite": lambda rng, size: -definite(rng, size),
    "zeros": sparse,
    "ties": lambda rng, size: np.round(2 * random_symmetric(rng, size)),
    "graded": graded,
    "large": lambda rng, size: 1e200 * random_symmetric(rng, size),
    "small": lambda rng, size: 1e-200 * random_symmetric(rng, size),
    "diagonal": lambda rng, size: np.diag(rng.standard_normal(size)) - abs(sparse(rng, size)) / 10,
}


def unit_of(gradient: FloatArray) -> float:
    """Return the largest entry, 1 for a zero matrix: what errors are measured in."""
    return float(np.abs(gradient).max()) or 1.0
