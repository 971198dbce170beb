"""The joint program: the best metric of all that have the same aligned left-ends.

    min ⟨G, M⟩   s.t.   M_ij ≤ 0 (i ≠ j),   M v ≥ ρ v,   tr M ≤ C

With ``y_ij = -M_ij`` and what the rows leave, ``t_i = (Mv)_i / v_i - ρ``, one budget remains:

    Σ t_i + Σ_{i<j} (v_j/v_i + v_i/v_j) y_ij ≤ C - Kρ

so that the polytope is a simplex with K(K+1)/2 + 1 vertices, and the program one ratio test
("Proposition: joint program is a ratio test"). The entries of a metric are handled as a vector: K
diagonal entries, then y_ij for i < j, row by row.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from gdaopt.errors import InfeasibleProblemError
from gdaopt.programs.base import Program, ProgramOptions
from gdaopt.validation import FloatArray

if TYPE_CHECKING:
    import cvxpy as cp

__all__ = ["JointPolytope", "JointProgram", "edges_of", "entries_of", "matrix_of", "pairs_of"]

_ROUND_OFF = 1e-10  # of the trace bound: floors that exceed the budget by less are repaired


@cache
def edges_of(n_features: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return the rows and columns of the edges i < j, row by row."""
    rows, columns = np.triu_indices(n_features, 1)
    rows.flags.writeable = columns.flags.writeable = False
    return rows, columns


@cache
def pairs_of(n_features: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return i and j of all entries: the diagonal, then the edges i < j."""
    diagonal, (rows, columns) = np.arange(n_features), edges_of(n_features)
    return np.concatenate([diagonal, rows]), np.concatenate([diagonal, columns])


def entries_of(metric: FloatArray) -> FloatArray:
    """Return the diagonal and the edge weights of a metric, shape (K(K+1)/2,).

    Examples
    --------
    >>> entries_of(np.array([[2.0, -1.0], [-1.0, 3.0]]))
    array([2., 3., 1.])
    """
    return np.concatenate([np.diagonal(metric), -metric[edges_of(len(metric))]])


def matrix_of(entries: FloatArray, n_features: int) -> FloatArray:
    """Return the symmetric matrix with the given diagonal and edge weights.

    Examples
    --------
    >>> matrix_of(np.array([2.0, 3.0, 1.0]), 2)
    array([[ 2., -1.],
           [-1.,  3.]])
    """
    matrix = np.zeros((n_features, n_features))
    matrix[edges_of(n_features)] = -entries[n_features:]
    matrix += matrix.T
    np.fill_diagonal(matrix, entries[:n_features])
    return matrix


@dataclass(frozen=True, eq=False)
class JointPolytope:
    """``{M : M_ij ≤ -floor_ij, M v ≥ ρ v, tr M ≤ C}``, as vectors of entries.

    Parameters
    ----------
    v : ndarray of shape (K,)
        Positive scaling.
    min_eigenvalue, trace_bound : float
        ρ and C.
    floor : ndarray of shape (K(K-1)/2,)
        Least edge weights, such as those of `gdaopt.programs.floors.tree_floors`.
    current : ndarray of shape (K(K+1)/2,), optional
        Entries of a metric inside; when left out, the one that all edges at their floors and all
        rows tight give.

    Raises
    ------
    InfeasibleProblemError
        When the floors need more trace than there is.

    Examples
    --------
    With v = 1 the best vertex for this cost is a scaled ``(e_0 - e_1)(e_0 - e_1)'``:

    >>> polytope = JointPolytope(np.ones(2), 0.0, 4.0, floor=np.zeros(1))
    >>> matrix_of(polytope.minimize(np.array([-1.0, -1.0, -6.0])), 2)
    array([[ 2., -2.],
           [-2.,  2.]])
    """

    v: FloatArray
    min_eigenvalue: float
    trace_bound: float
    floor: FloatArray
    current: FloatArray

    def __init__(
        self,
        v: FloatArray,
        min_eigenvalue: float,
        trace_bound: float,
        floor: FloatArray,
        current: FloatArray | None = None,
    ) -> None:
        object.__setattr__(self, "v", v)
        object.__setattr__(self, "min_eigenvalue", min_eigenvalue)
        object.__setattr__(self, "trace_bound", trace_bound)
        object.__setattr__(self, "floor", floor)
        needed = float(self.weights @ floor)
        if needed > self.budget + _ROUND_OFF * trace_bound:
            raise InfeasibleProblemError(
                f"joint program: the floors need {needed:.6g} of a budget of {self.budget:.6g}"
            )
        least = self._entries(np.zeros(len(v)), floor) if current is None else current
        object.__setattr__(self, "current", least)

    @cached_property
    def ratios(self) -> tuple[FloatArray, FloatArray]:
        """``v_j / v_i`` and ``v_i / v_j`` of each edge: what it takes from rows i and j."""
        rows, columns = edges_of(len(self.v))
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

    @property
    def spare(self) -> float:
        """What the floors leave of the budget."""
        return max(self.budget - float(self.weights @ self.floor), 0.0)

    @cached_property
    def unit(self) -> FloatArray:
        """C/K for the diagonal, and for an edge the largest weight that the budget allows.

        Under a v over many decades a little of one edge can cost all of the budget: in these units
        what a solver is off by costs the same everywhere.
        """
        size = len(self.v)
        diagonal = np.full(size, self.trace_bound / size)
        edges = self.floor + self.spare / self.weights
        return np.concatenate([diagonal, np.where(edges > 0, edges, diagonal[0])])

    def minimize(self, cost: FloatArray) -> FloatArray:
        """Return the floors, with all that is spare on the entry of least price if negative."""
        size = len(self.v)
        rows, columns = edges_of(len(self.v))
        forward, backward = self.ratios
        diagonal, edges = cost[:size], cost[size:]
        # An edge comes with the diagonal entries that keep its two rows as they are.
        prices = edges + diagonal[rows] * forward + diagonal[columns] * backward
        prices = np.concatenate([diagonal, prices / self.weights])
        best = int(prices.argmin())
        rest, edge_weights = np.zeros(size), self.floor.copy()
        if prices[best] < 0 and best < size:
            rest[best] = self.spare
        elif prices[best] < 0:
            edge_weights[best - size] += self.spare / self.weights[best - size]
        return self._entries(rest, edge_weights)

    def repaired(self, point: FloatArray) -> FloatArray:
        """Clip edges and rows to their bounds, then shrink what is above to the budget."""
        size = len(self.v)
        above = np.maximum(point[size:] - self.floor, 0.0)
        tight = self._entries(np.zeros(size), self.floor + above)[:size]
        rest = np.maximum(point[:size] - tight, 0.0)
        total = float(rest.sum() + self.weights @ above)
        if total > self.spare:
            above *= self.spare / total
            rest *= self.spare / total
        return self._entries(rest, self.floor + above)

    def _entries(self, rest: FloatArray, edges: FloatArray) -> FloatArray:
        """Return the entries whose rows leave ``rest``."""
        size = len(self.v)
        rows, columns = edges_of(len(self.v))
        forward, backward = self.ratios
        diagonal = self.min_eigenvalue + rest
        diagonal += np.bincount(rows, forward * edges, minlength=size)
        diagonal += np.bincount(columns, backward * edges, minlength=size)
        return np.concatenate([diagonal, edges])


class JointProgram(Program[JointPolytope]):
    """The joint program for CVXPY: a vector of K diagonal entries and K(K-1)/2 edge weights.

    Its parameters are ``cost``, ``min_eigenvalue``, ``trace_bound``, ``floor``, and ``forward`` and
    ``backward``, the ratios v_j/v_i and v_i/v_j of each edge, all in the polytope's units.

    Parameters
    ----------
    n_features : int
        K.
    solver : str or ProgramOptions, optional
        Who solves it: a name, or a name with options.

    Examples
    --------
    >>> program = JointProgram(2, "HIGHS")
    >>> polytope = JointPolytope(np.ones(2), 0.0, 4.0, floor=np.zeros(1))
    >>> program.is_dpp(), program.solve(np.array([-1.0, -1.0, 6.0]), polytope).value
    (True, -4.0)
    """

    name = "joint program"

    def __init__(self, n_features: int, solver: str | ProgramOptions = "HIGHS") -> None:
        super().__init__(n_features * (n_features + 1) // 2, solver)
        self.n_features = n_features

    def _build(self) -> tuple[cp.Problem, cp.Variable]:
        import cvxpy as cp

        size, n_edges = self.n_features, self.size - self.n_features
        entries = cp.Variable(self.size, name="entries")
        diagonal, edges = entries[:size], entries[size:]
        cost = cp.Parameter(self.size, name="cost")
        rho = cp.Parameter(nonneg=True, name="min_eigenvalue")
        trace_bound = cp.Parameter(nonneg=True, name="trace_bound")
        constraints = [cp.sum(diagonal) <= trace_bound]
        taken = 0
        if n_edges:
            floor = cp.Parameter(n_edges, nonneg=True, name="floor")
            forward = cp.Parameter(n_edges, nonneg=True, name="forward")
            backward = cp.Parameter(n_edges, nonneg=True, name="backward")
            starts, ends = (
                csr_array((np.ones(n_edges), (nodes, np.arange(n_edges))), shape=(size, n_edges))
                for nodes in edges_of(size)
            )
            constraints.append(edges >= floor)
            taken = starts @ cp.multiply(forward, edges) + ends @ cp.multiply(backward, edges)
        constraints.append(diagonal - taken >= rho)
        return cp.Problem(cp.Minimize(cost @ entries), constraints), entries

    def _assign(self, polytope: JointPolytope) -> None:
        unit, edge_units = polytope.unit[0], polytope.unit[self.n_features :]
        self.parameters["min_eigenvalue"].value = polytope.min_eigenvalue / unit
        self.parameters["trace_bound"].value = polytope.trace_bound / unit
        if self.size > self.n_features:
            forward, backward = polytope.ratios
            self.parameters["floor"].value = polytope.floor / edge_units
            self.parameters["forward"].value = forward * edge_units / unit
            self.parameters["backward"].value = backward * edge_units / unit
