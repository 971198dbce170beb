"""The semidefinite program of a step: the best metric of a whole set, for conic solvers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from gdaopt.backends import LinearArrays
from gdaopt.backends.arrays import Pattern
from gdaopt.linalg.entries import Edges, entries_of, matrix_of, placement
from gdaopt.programs.base import Polytope, scaled_costs, store
from gdaopt.sets import FeasibleSet
from gdaopt.support.cvxpy_loading import cp
from gdaopt.support.validation import (
    FloatArray,
    as_vector,
    check_instance,
    integer,
    store_checked,
)


@dataclass(frozen=True, eq=False)
class WholeSet(Polytope):
    """A set of metrics, as vectors of entries: the *semidefinite program* ``min ⟨G, M⟩`` over it.

    Its closed form is the exact oracle of the set ("Theorem: exact linear minimisation oracle").
    The entries of a metric are handled as in the joint program.
    """

    name: ClassVar[str] = "semidefinite program"

    feasible_set: FeasibleSet
    n_features: int
    current: FloatArray

    def __post_init__(self) -> None:
        check_instance("feasible_set", self.feasible_set, FeasibleSet)
        store_checked(self, integer, "n_features", at_least=1)
        size = self.n_features + len(self.edges[0])
        store(self, current=as_vector("current", self.current, size))

    @property
    def edges(self) -> Edges:
        """The pairs of features that may have an edge in the set."""
        return self.feasible_set.family.edges_of(self.n_features)

    def minimize(self, cost: FloatArray) -> FloatArray:
        """Return the vertex that the set's exact oracle finds."""
        size, edges = self.n_features, self.edges
        # An edge stands in the metric twice, with the opposite sign: its cost is -2 G_ij.
        gradient = matrix_of(np.concatenate([cost[:size], cost[size:] / 2]), size, edges)
        return entries_of(self.feasible_set.minimize_linear(gradient).vertex, edges)

    def prices(self, cost: FloatArray) -> FloatArray:
        """Return the costs of y."""
        return self.feasible_set.trace_bound * cost

    def point(self, y: FloatArray) -> FloatArray:
        x: FloatArray = self.feasible_set.trace_bound * y  # C is about the size of a vertex
        return x

    def coordinates(self, x: FloatArray) -> FloatArray:
        y: FloatArray = x / self.feasible_set.trace_bound
        return y

    def arrays(self, cost: FloatArray) -> LinearArrays:
        """Return arrays without bounds and rows: the set is in the cones."""
        no_bounds = np.full(len(cost), np.inf)
        costs, cones = (
            scaled_costs(self.prices(cost))[0],
            _Cones(self.feasible_set, self.n_features),
        )
        return LinearArrays(costs, -no_bounds, no_bounds, _pattern(len(cost)), np.zeros(0), cones)

    def made_feasible(self, y: FloatArray) -> FloatArray:
        """Return the entries of a member near a point, both in units of C."""
        metric = matrix_of(self.point(y), self.n_features, self.edges)
        return self.coordinates(entries_of(self.feasible_set.made_feasible(metric), self.edges))

    def multipliers(self, _cost: FloatArray, _budget: float | None) -> dict[str, FloatArray]:
        """Return none: the constraints of the set have no names."""
        return {}

    def duals(self, _cost: FloatArray, _row_duals: FloatArray | None) -> dict[str, FloatArray]:
        return {}


@dataclass(frozen=True)
class _Cones:
    """The constraints of a set on its entries, in units of C; equal for the same set."""

    feasible_set: FeasibleSet
    n_features: int

    def __call__(self, y: cp.Variable) -> list[cp.Constraint]:
        feasible_set, size = self.feasible_set, self.n_features
        edges = feasible_set.family.edges_of(size)
        return feasible_set.of(feasible_set.trace_bound * place_entries(y, size, edges))


def place_entries(entries: cp.Expression, n_features: int, edges: Edges) -> cp.Expression:
    """Return the K×K matrix of a vector of entries in CVXPY's language."""
    matrix = placement(n_features, edges) @ entries
    return cp.reshape(matrix, (n_features, n_features), order="C")


@lru_cache(maxsize=16)
def _pattern(size: int) -> Pattern:
    """Return the pattern without bounds and rows."""
    none = np.full(size, np.inf)
    return Pattern.of_bounds(np.zeros(1), np.zeros(0), -none, none)
