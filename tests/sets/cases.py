"""The sets of metrics, described a second time by hand: base, cone and constraints."""

from __future__ import annotations

from dataclasses import dataclass

import cvxpy as cp
import networkx as nx
import numpy as np

from gdaopt.sets import (
    DiagonalMetrics,
    FeasibleSet,
    GraphMetrics,
    PositiveDefiniteMetrics,
    SignedGraphMetrics,
)
from gdaopt.support.validation import FloatArray
from tests.helpers import random_metric, random_symmetric

RHO = 0.1


@dataclass(frozen=True)
class Family:
    """One kind of sets, for any size: C = 1.5 K, ρ = 0.1."""

    kind: str
    path_weight: float = 0.0

    def __str__(self) -> str:
        return f"{self.kind}-path" if self.path_weight else self.kind

    def colors(self, size: int) -> FloatArray:
        """Return random colours, of both kinds, where the set has them, else ones."""
        if self.kind != "signed":
            return np.ones(size)
        colors = np.random.default_rng(size).choice([-1.0, 1.0], size)
        colors[0] = -colors[-1]
        return colors

    def bound(self, size: int) -> float:
        return 1.5 * size

    def feasible_set(self, size: int) -> FeasibleSet:
        bound = self.bound(size)
        if self.kind == "graph":
            return GraphMetrics(bound, RHO, self.path_weight)
        if self.kind == "signed":
            return SignedGraphMetrics(tuple(self.colors(size)), bound, RHO, self.path_weight)
        cls = {"diagonal": DiagonalMetrics, "definite": PositiveDefiniteMetrics}[self.kind]
        return cls(bound, RHO)

    def flipped(self, matrix: FloatArray) -> FloatArray:
        colors = self.colors(len(matrix))
        flipped: FloatArray = np.diag(colors) @ matrix @ np.diag(colors)
        return flipped

    def base(self, size: int) -> FloatArray:
        path = nx.laplacian_matrix(nx.path_graph(size)).toarray()
        return self.flipped(RHO * np.eye(size) + self.path_weight * path)

    def budget(self, size: int) -> float:
        return self.bound(size) - RHO * size - 2 * self.path_weight * (size - 1)

    def beyond_base(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Return a random member of the cone over the atoms, of trace 1, singular or not."""
        if self.kind == "diagonal":
            return np.diag(rng.dirichlet(np.full(size, 0.5)))
        if self.kind == "definite":
            root = random_symmetric(rng, size)[:, : rng.integers(1, size + 1)]
            matrix: FloatArray = root @ root.T
        else:
            density, decades = rng.choice([0.0, 0.3, 1.0]), rng.choice([0.0, 6.0])
            matrix = random_metric(rng, size, density=density, decades=decades)
            if size > 1 and rng.random() < 0.5:
                matrix -= np.linalg.eigvalsh(matrix)[0] * np.eye(size)
        return self.flipped(matrix / np.trace(matrix))

    def member(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Return a random member of the hull, at the trace bound or not."""
        share = rng.choice([1.0, rng.random()])
        beyond_base: FloatArray = share * self.budget(size) * self.beyond_base(rng, size)
        return self.base(size) + beyond_base

    def constraints(self, metric: cp.Expression) -> list[cp.Constraint]:
        """Return the constraints on a variable, written out."""
        size = metric.shape[0]
        inside = [metric - self.base(size) >> 0, cp.trace(metric) <= self.bound(size)]
        if self.kind == "diagonal":
            return [metric == cp.diag(cp.diag(metric)), cp.diag(metric) >= RHO, inside[1]]
        if self.kind == "definite":
            return inside
        for i in range(size):
            for j in range(i + 1, size):
                floor = self.path_weight if j == i + 1 else 0.0
                sign = float(self.colors(size)[i] * self.colors(size)[j])
                inside.append(sign * metric[i, j] <= -floor)
        return inside


FAMILIES = [
    Family("graph"),
    Family("graph", path_weight=0.1),
    Family("diagonal"),
    Family("definite"),
    Family("signed"),
    Family("signed", path_weight=0.1),
]
