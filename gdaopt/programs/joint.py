"""The joint program: the best metric of all that have the same aligned left-ends.

    min ⟨G, M⟩   s.t.   M_ij ≤ 0 (i ≠ j),   M v ≥ ρ v,   tr M ≤ C

With ``y_ij = -M_ij`` and the slacks of the rows, ``t_i = (Mv)_i / v_i - ρ``, one budget remains:

    Σ t_i + Σ_{i<j} (v_j/v_i + v_i/v_j) y_ij ≤ C - Kρ

so that the polytope is a simplex with a vertex for each entry and one more, and the program one
ratio test ("Proposition: joint program is a ratio test"). The entries of a metric are handled as a
vector: K diagonal entries, then y_ij for the edges i < j, row by row (`gdaopt.linalg.entries`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np

from gdaopt.backends import LinearArrays
from gdaopt.backends.arrays import Part, RowPattern
from gdaopt.errors import InfeasibleProblemError
from gdaopt.linalg.entries import Edges, IndexArray, as_edges, entries_of, matrix_of, placement
from gdaopt.programs.base import Polytope, store
from gdaopt.sets import FeasibleSet
from gdaopt.support.cvxpy_loading import cp
from gdaopt.support.validation import (
    FloatArray,
    as_vector,
    check_instance,
    integer,
    number,
    positive_vector,
    store_checked,
)

_ROUND_OFF = 1e-10  # of the trace bound: floors that exceed the budget by less are lowered


@dataclass(frozen=True, eq=False)
class JointPolytope(Polytope):
    """``{M : M_ij ≤ -floor_ij, M v ≥ ρ v, tr M ≤ C}``, as vectors of entries.

    An entry M_ij that is no edge is 0. For ⟨G, M⟩ the cost is ``G_ii`` for the diagonal and
    ``-2 G_ij`` for the edges: the variable is ``y_ij = -M_ij``, which stands in M twice (see
    `gdaopt.linalg.entries_of`).

    Parameters
    ----------
    v : ndarray of shape (K,)
        Positive scaling.
    min_eigenvalue, trace_bound : float
        ρ and C.
    edges : tuple of two ndarrays of int, shape (n,)
        Rows and columns of the edges, see `gdaopt.linalg.entries`.
    floor : ndarray of shape (n,)
        Least edge weights; an InfeasibleProblemError says that they need more trace than there is.
    current : ndarray of shape (K + n,), optional
        Entries of a metric inside; by default edges are at their floors and rows tight.

    Examples
    --------
    With v = 1 the best vertex for this cost is a scaled ``(e_0 - e_1)(e_0 - e_1)'``:

    >>> from gdaopt.linalg.entries import all_edges, matrix_of
    >>> polytope = JointPolytope(np.ones(2), 0.0, 4.0, all_edges(2), floor=np.zeros(1))
    >>> matrix_of(polytope.minimize(np.array([-1.0, -1.0, -6.0])), 2, polytope.edges)
    array([[ 2., -2.],
           [-2.,  2.]])
    """

    name: ClassVar[str] = "joint program"

    v: FloatArray
    min_eigenvalue: float
    trace_bound: float
    edges: Edges
    floor: FloatArray
    current: FloatArray = None  # type: ignore[assignment]  # until the end of __post_init__

    def __post_init__(self) -> None:
        v = positive_vector("v", self.v)
        edges = as_edges(self.edges, len(v))
        store(
            self,
            v=v,
            min_eigenvalue=number("min_eigenvalue", self.min_eigenvalue),
            trace_bound=number("trace_bound", self.trace_bound, above=0),
            edges=edges,
            floor=as_vector("floor", self.floor, len(edges[0])),
        )
        needed = float(self.weights @ self.floor)
        if needed > self.budget + _ROUND_OFF * self.trace_bound:
            raise InfeasibleProblemError(
                f"joint program: the floors need {needed:.6g} of a budget of {self.budget:.6g}"
            )
        least = np.concatenate([self._least_diagonal, self.floor])
        given = least if self.current is None else self.current
        store(self, current=as_vector("current", given, len(least)))

    @cached_property
    def ratios(self) -> tuple[FloatArray, FloatArray]:
        """``v_j / v_i`` and ``v_i / v_j`` of each edge: how much of rows i and j it uses."""
        rows, columns = self.edges
        forward: FloatArray = self.v[columns] / self.v[rows]
        return forward, 1 / forward

    @cached_property
    def weights(self) -> FloatArray:
        """What each edge takes of the budget."""
        forward, backward = self.ratios
        return forward + backward

    @property
    def budget(self) -> float:
        """``C - Kρ``."""
        return self.trace_bound - len(self.v) * self.min_eigenvalue

    @cached_property
    def spare(self) -> float:
        """What the floors leave of the budget."""
        return max(self.budget - float(self.weights @ self.floor), 0.0)

    @cached_property
    def unit(self) -> FloatArray:
        """C/K for the diagonal, and for an edge the largest weight that the budget allows.

        Where v spans many decades, a small weight of one edge can use the whole budget: in these
        units an error of the solver costs the same in all entries.
        """
        size = len(self.v)
        diagonal = np.full(size, self.trace_bound / size)
        edges = self.floor + self.spare / self.weights
        return np.concatenate([diagonal, np.where(edges > 0, edges, diagonal[0])])

    def minimize(self, cost: FloatArray) -> FloatArray:
        """Return the floors, with the spare budget on the entry of least cost if it is negative."""
        size = len(self.v)
        prices = self._prices(cost)
        best = int(prices.argmin())
        point = np.concatenate([self._least_diagonal, self.floor])
        if prices[best] < 0 and best < size:
            point[best] += self.spare
        elif prices[best] < 0:
            edge = best - size
            weight = self.spare / self.weights[edge]
            point[best] += weight
            for nodes, ratio in zip(self.edges, self.ratios, strict=True):
                point[nodes[edge]] += ratio[edge] * weight
        return point

    def row_multipliers(self, cost: FloatArray) -> dict[str, FloatArray]:
        """Return the gain from a unit more of the budget, and from a unit less of each row."""
        gain = max(-float(self._prices(cost).min()), 0.0)
        return {"budget": np.array(gain), "rows": cost[: len(self.v)] + gain}

    def _prices(self, cost: FloatArray) -> FloatArray:
        """Return the cost of a unit of the budget on each diagonal entry and on each edge."""
        size = len(self.v)
        rows, columns = self.edges
        forward, backward = self.ratios
        diagonal, own = cost[:size], cost[size:]
        # An edge comes with the diagonal entries that keep its two rows as they are.
        prices = own + diagonal[rows] * forward + diagonal[columns] * backward
        return np.concatenate([diagonal, prices / self.weights])

    def made_feasible(self, point: FloatArray) -> FloatArray:
        """Clip edges and rows to their bounds, then scale the surplus down to the budget."""
        size, least, spare = len(self.v), self._least_diagonal, self.spare
        surplus = np.maximum(point[size:] - self.floor, 0.0)
        rise = np.maximum(point[:size] - least, self._taken(surplus))
        total = float(rise.sum())  # edges use as much of the budget as of the rows
        if total > spare:
            surplus *= spare / total
            rise *= spare / total
        return np.concatenate([least + rise, self.floor + surplus])

    @cached_property
    def _least_diagonal(self) -> FloatArray:
        """The diagonal whose rows are tight where all edges are at their floors."""
        least: FloatArray = self.min_eigenvalue + self._taken(self.floor)
        return least

    def _taken(self, weights: FloatArray) -> FloatArray:
        """Return how much of each row the edges use."""
        size = len(self.v)
        rows, columns = self.edges
        forward, backward = self.ratios
        taken = np.zeros(size)
        taken += np.bincount(rows, forward * weights, minlength=size)
        taken += np.bincount(columns, backward * weights, minlength=size)
        return taken

    def arrays(self, cost: FloatArray) -> LinearArrays:
        """Return the program as arrays, with the parts ``"budget"``, ``"rows"``, ``"floors"``."""
        size = len(self.v)
        pattern, order, parts = _shape(size, *(index.tobytes() for index in self.edges))
        coefficients = np.concatenate([np.ones(2 * size), *(-ratio for ratio in self.ratios)])
        least = np.full(size, self.min_eigenvalue)
        lower_bounds = np.concatenate([np.full(size, -np.inf), self.floor, [-np.inf], least])
        upper_bounds = np.full(len(lower_bounds), np.inf)
        upper_bounds[len(cost)] = self.trace_bound
        return LinearArrays(cost, lower_bounds, upper_bounds, pattern, coefficients[order], parts)

    def row_scales(self) -> FloatArray:
        return np.full(1 + len(self.v), 1 / self.unit[0])


@lru_cache(maxsize=16)
def _shape(size: int, *edges: bytes) -> tuple[RowPattern, IndexArray, tuple[Part, ...]]:
    """Return the pattern of the rows, where in it the coefficients are, and the names."""
    starts, ends = (np.frombuffer(index, dtype=np.intp) for index in edges)
    diagonal, weights = np.arange(size), size + np.arange(len(starts))
    rows = np.concatenate([0 * diagonal, 1 + diagonal, 1 + starts, 1 + ends])
    columns = np.concatenate([diagonal, diagonal, weights, weights])
    order = np.lexsort((columns, rows))
    n_entries = size + len(starts)
    parts = (
        Part("budget", "rows", slice(1), is_single=True),
        Part("rows", "rows", slice(1, 1 + size), is_lower=True),
        Part("floors", "lower", slice(size, n_entries)),
    )
    return RowPattern.of(rows[order], columns[order], 1 + size, n_entries), order, parts


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
    def is_linear(self) -> bool:
        return False

    @property
    def edges(self) -> Edges:
        """The pairs of features that may have an edge in the set."""
        return self.feasible_set.family.edges_of(self.n_features)

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
        return self.feasible_set.of(self.unit * placed(x, self.n_features, self.edges))

    def made_feasible(self, point: FloatArray) -> FloatArray:
        """Return the entries of a member near a point."""
        metric = matrix_of(point, self.n_features, self.edges)
        return entries_of(self.feasible_set.made_feasible(metric), self.edges)


def placed(entries: cp.Expression, n_features: int, edges: Edges) -> cp.Expression:
    """Return the K×K matrix of a vector of entries in CVXPY's language."""
    matrix = placement(n_features, edges) @ entries
    return cp.reshape(matrix, (n_features, n_features), order="C")


@lru_cache(maxsize=16)
def _pattern(size: int) -> RowPattern:
    return RowPattern.of(np.zeros(0, np.intp), np.zeros(0, np.intp), 0, size)
