"""The semidefinite program: the best metric of a whole set, found without its closed form.

    min ⟨G, M⟩   s.t.   M in the set

Its closed form is the exact oracle of the set ("Theorem: exact linear minimisation oracle"). The
entries of a metric are handled as in the joint program: K diagonal entries, then ``y_ij = -M_ij``
for the set's edges i < j, row by row.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from gdaopt.backends import LinearArrays, RowPattern
from gdaopt.linalg.entries import Edges, entries_of, matrix_of, placement
from gdaopt.programs.base import Polytope, store
from gdaopt.sets import FeasibleSet
from gdaopt.support.cvxpy_loading import cp
from gdaopt.support.validation import FloatArray, as_vector, check_instance, integer, store_checked


@dataclass(frozen=True, eq=False)
class WholeSet(Polytope):
    """A set of metrics, as vectors of entries.

    Parameters
    ----------
    feasible_set : FeasibleSet
        The set.
    n_features : int
        K.
    current : ndarray of shape (K + n_edges,)
        Entries of a member.

    Examples
    --------
    >>> import gdaopt as gda
    >>> feasible_set = gda.GraphMetrics(trace_bound=4.0, min_eigenvalue=0.0)
    >>> whole = WholeSet(feasible_set, 2, np.zeros(3))
    >>> program = gda.programs.Program("CLARABEL")
    >>> found = program.solve(np.array([-1.0, -1.0, -6.0]), whole)
    >>> matrix_of(found.point, 2, whole.edges).round(4)
    array([[ 2., -2.],
           [-2.,  2.]])
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
    def is_linear(self) -> bool:
        return False

    @property
    def edges(self) -> Edges:
        """The pairs of features that may have an edge in the set."""
        return self.feasible_set.edges_of(self.n_features)

    @property
    def unit(self) -> float:
        """C, about the size of a vertex."""
        return self.feasible_set.trace_bound

    def minimize(self, cost: FloatArray) -> FloatArray:
        """Return the vertex that the set's exact oracle finds."""
        size, edges = self.n_features, self.edges
        # An edge stands in the metric twice, with the opposite sign: its cost is -2 G_ij.
        gradient = matrix_of(np.concatenate([cost[:size], cost[size:] / 2]), size, edges)
        return entries_of(self.feasible_set.minimize_linear(gradient).vertex, edges)

    def arrays(self, cost: FloatArray) -> LinearArrays:
        """Return arrays without bounds and rows: the set is in the `cones`."""
        no_bounds = np.full(len(cost), np.inf)
        return LinearArrays(cost, -no_bounds, no_bounds, _pattern(len(cost)), np.zeros(0), ())

    def row_scales(self) -> FloatArray:
        return np.zeros(0)

    def cones(self, x: cp.Variable) -> list[cp.Constraint]:
        """Return the constraints of the set."""
        size = self.n_features
        metric = cp.reshape(placement(size, self.edges) @ x, (size, size), order="C")
        return self.feasible_set.of(self.unit * metric)

    def made_feasible(self, point: FloatArray) -> FloatArray:
        """Return the entries of a member near a point."""
        metric = matrix_of(point, self.n_features, self.edges)
        return entries_of(self.feasible_set.made_feasible(metric), self.edges)


@lru_cache(maxsize=16)
def _pattern(size: int) -> RowPattern:
    return RowPattern.of(np.zeros(0, np.intp), np.zeros(0, np.intp), 0, size)
