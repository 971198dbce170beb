"""The joint program: the best metric of all that have the same aligned left-ends.

    min ⟨G, M⟩   s.t.   M_ij ≤ 0 (i ≠ j),   M v ≥ ρ v,   tr M ≤ C

With ``y_ij = -M_ij`` and the slacks of the rows, ``t_i = (Mv)_i / v_i - ρ``, one budget remains:

    Σ t_i + Σ_{i<j} (v_j/v_i + v_i/v_j) y_ij ≤ C - Kρ

so that the polytope is a simplex with a vertex for each entry and one more, and the program one
ratio test ("Proposition: joint program is a ratio test"). The entries of a metric are handled as a
vector: K diagonal entries, then y_ij for the edges i < j, row by row (`gdaopt.linalg.entries`).

Solvers see the program as it stands at the top, each entry in a unit of its own; in shares of the
budget only if it has linear constraints (`gdaopt.programs.knapsack`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np

from gdaopt.backends import LinearArrays
from gdaopt.backends.arrays import Pattern
from gdaopt.errors import InfeasibleProblemError
from gdaopt.linalg.entries import Edges, IndexArray, as_edges
from gdaopt.programs.base import Polytope, scaled_costs, store
from gdaopt.programs.knapsack import Shares, SharesPolytope
from gdaopt.support.validation import FloatArray, as_vector, number, positive_vector

_ROUND_OFF = 1e-10  # share of the trace bound: floors that exceed the budget by less are lowered


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
        Entries of a metric of the polytope; by default edges are at their floors and rows tight.

    Attributes
    ----------
    forward, backward, weights : ndarrays of shape (n,)
        What a unit of each edge takes of its two rows, ``v_j / v_i`` and ``v_i / v_j``, and of the
        budget, which is their sum.
    budget, spare : float
        ``C - Kρ``, and what the floors leave of it.
    least_diagonal : ndarray of shape (K,)
        The diagonal whose rows are tight if all edges are at their floors.

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

    forward: FloatArray = field(init=False, repr=False)
    backward: FloatArray = field(init=False, repr=False)
    weights: FloatArray = field(init=False, repr=False)
    budget: float = field(init=False, repr=False)
    spare: float = field(init=False, repr=False)
    least_diagonal: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        v = positive_vector("v", self.v)
        edges = as_edges(self.edges, len(v))
        forward = v[edges[1]] / v[edges[0]]
        store(
            self,
            v=v,
            min_eigenvalue=number("min_eigenvalue", self.min_eigenvalue),
            trace_bound=number("trace_bound", self.trace_bound, above=0),
            edges=edges,
            floor=as_vector("floor", self.floor, len(edges[0])),
            forward=forward,
            backward=1 / forward,
            weights=forward + 1 / forward,
        )
        budget = self.trace_bound - len(v) * self.min_eigenvalue
        needed = float(self.weights @ self.floor)
        if needed > budget + _ROUND_OFF * self.trace_bound:
            raise InfeasibleProblemError(
                f"joint program: the floors need {needed:.6g} of a budget of {budget:.6g}"
            )
        least_diagonal = self.min_eigenvalue + self.row_use(self.floor)
        least = np.concatenate([least_diagonal, self.floor])
        start = least if self.current is None else self.current
        store(
            self,
            budget=budget,
            spare=max(budget - needed, 0.0),
            least_diagonal=least_diagonal,
            current=as_vector("current", start, len(least)),
        )

    @cached_property
    def unit(self) -> FloatArray:
        """C/K for the diagonal, and for an edge the largest weight that the budget allows.

        If v spans many decades, a small weight of one edge can use the whole budget: in these
        units an error of the solver costs the same in all entries.
        """
        size = len(self.v)
        diagonal = np.full(size, self.trace_bound / size)
        return np.concatenate([diagonal, self.spare / self.weights])

    def point(self, y: FloatArray) -> FloatArray:
        x = self.unit * y
        x[len(self.v) :] += self.floor
        return x

    def coordinates(self, x: FloatArray) -> FloatArray:
        least = np.append(np.zeros(len(self.v)), self.floor)
        return np.divide(x - least, self.unit, out=np.zeros_like(x), where=self.unit > 0)

    def minimize(self, cost: FloatArray) -> FloatArray:
        """Return the floors, with the spare budget on the entry of least cost if it is negative."""
        size = len(self.v)
        prices = self.budget_prices(cost)
        best = int(prices.argmin())
        point = np.concatenate([self.least_diagonal, self.floor])
        if prices[best] < 0 and best < size:
            point[best] += self.spare
        elif prices[best] < 0:
            edge = best - size
            weight = self.spare / self.weights[edge]
            point[best] += weight
            point[self.edges[0][edge]] += self.forward[edge] * weight
            point[self.edges[1][edge]] += self.backward[edge] * weight
        return point

    def duals(self, cost: FloatArray, row_duals: FloatArray | None) -> dict[str, FloatArray]:
        if row_duals is None:
            return self.multipliers(cost, None)
        scale = scaled_costs(self.unit * cost)[1] * self.unit[0]
        return self.multipliers(cost, max(-float(row_duals[0]) / scale, 0.0))

    def multipliers(self, cost: FloatArray, budget: float | None) -> dict[str, FloatArray]:
        """Return the gains from a unit more of the budget, a unit less of each row and floor."""
        if budget is None:
            budget = max(-float(self.budget_prices(cost).min()), 0.0)
        size, (first, second) = len(self.v), self.edges
        rows = np.maximum(cost[:size] + budget, 0.0)
        floors = cost[size:] + self.forward * rows[first] + self.backward * rows[second]
        return {"budget": np.array(budget), "rows": rows, "floors": np.maximum(floors, 0.0)}

    def budget_prices(self, cost: FloatArray) -> FloatArray:
        """Return the cost of a unit of the budget on each diagonal entry and on each edge."""
        size, (first, second) = len(self.v), self.edges
        # An edge comes with the diagonal entries that keep its two rows as they are.
        prices = cost[size:] + cost[first] * self.forward + cost[second] * self.backward
        return np.concatenate([cost[:size], prices / self.weights])

    def made_feasible(self, y: FloatArray) -> FloatArray:
        """Clip edges and rows to their bounds, then scale the surplus down to the budget."""
        size, least, unit, spare = len(self.v), self.least_diagonal, self.unit, self.spare
        edges = np.maximum(y[size:], 0.0)
        rise = np.maximum(unit[:size] * y[:size] - least, self.row_use(unit[size:] * edges))
        total = float(rise.sum())  # edges use as much of the budget as of the rows
        if total > spare:
            edges *= spare / total
            rise *= spare / total
        return np.concatenate([(least + rise) / unit[:size], edges])

    def row_use(self, edges: FloatArray) -> FloatArray:
        """Return how much of each row some weights of the edges use."""
        size, (first, second) = len(self.v), self.edges
        use = np.zeros(size)
        use += np.bincount(first, self.forward * edges, minlength=size)
        use += np.bincount(second, self.backward * edges, minlength=size)
        return use

    @cached_property
    def _bounds(self) -> tuple[FloatArray, FloatArray, FloatArray, Pattern]:
        """The bounds of variables and rows, the coefficients of the rows, and their pattern."""
        size, n_edges, unit = len(self.v), len(self.floor), self.unit
        pattern, order, lower = _shape(size, self.edges[0].tobytes(), self.edges[1].tobytes())
        forward = self.forward * unit[size:] / unit[0]
        backward = self.backward * unit[size:] / unit[0]
        coefficients = np.concatenate([np.ones(size), -np.ones(size), forward, backward])[order]
        no_caps = np.full(size + n_edges, np.inf)
        upper = np.concatenate([no_caps, [float(size)], -self.least_diagonal / unit[0]])
        return lower, upper, coefficients, pattern

    def arrays(self, cost: FloatArray) -> LinearArrays:
        """Return ``tr M ≤ C`` and ``-M v ≤ -ρ v``, row by row, in the units of the entries."""
        lower, upper, coefficients, pattern = self._bounds
        return LinearArrays(scaled_costs(self.unit * cost)[0], lower, upper, pattern, coefficients)

    def in_shares(self) -> JointShares:
        """Return the same polytope, which solvers then see as shares of the budget."""
        return JointShares(self)


@lru_cache(maxsize=16)
def _shape(size: int, *edges: bytes) -> tuple[Pattern, IndexArray, FloatArray]:
    """Return the pattern, where in it the coefficients are, and the lower bounds."""
    starts, ends = (np.frombuffer(index, dtype=np.intp) for index in edges)
    diagonal, weights = np.arange(size), size + np.arange(len(starts))
    rows = np.concatenate([0 * diagonal, 1 + diagonal, 1 + starts, 1 + ends])
    columns = np.concatenate([diagonal, diagonal, weights, weights])
    order = np.lexsort((columns, rows))
    # The rows keep the diagonal above 0: with a bound of its own a solver may stop at 0, where the
    # rows are broken by ρ, which is within its tolerance.
    lower = np.repeat([-np.inf, 0.0, -np.inf], [size, len(starts), 1 + size])
    upper = np.repeat([np.inf, 1.0], [size + len(starts), 1 + size])
    pattern = Pattern.of_bounds(
        np.append(0, np.bincount(rows).cumsum()), columns[order], lower, upper
    )
    return pattern, order, lower


@dataclass(frozen=True, eq=False)
class JointShares(SharesPolytope):
    """The joint program as a simplex: shares of the spare budget, for each ``t_i`` and ``y_ij``."""

    joint: JointPolytope

    name: ClassVar[str] = JointPolytope.name

    @property
    def current(self) -> FloatArray:  # type: ignore[override]  # it is the joint program's
        """The iterate."""
        return self.joint.current

    @property
    def spare(self) -> float:  # type: ignore[override]  # as well
        """What the floors leave of the budget."""
        return self.joint.spare

    @cached_property
    def shares(self) -> Shares:
        size = len(self.joint.current)
        return Shares(np.full(size, np.inf), np.ones(size))

    def minimize(self, cost: FloatArray) -> FloatArray:
        return self.joint.minimize(cost)

    def prices(self, cost: FloatArray) -> FloatArray:
        return self.spare * self.joint.budget_prices(cost)

    def point(self, y: FloatArray) -> FloatArray:
        joint, size = self.joint, len(self.joint.v)
        edges = self.spare * y[size:] / joint.weights
        diagonal = joint.least_diagonal + self.spare * y[:size] + joint.row_use(edges)
        return np.concatenate([diagonal, joint.floor + edges])

    def coordinates(self, x: FloatArray) -> FloatArray:
        joint, size = self.joint, len(self.joint.v)
        edges = x[size:] - joint.floor
        rise = x[:size] - joint.least_diagonal - joint.row_use(edges)
        used = np.concatenate([rise, edges * joint.weights])
        return used / self.spare if self.spare else 0 * used

    def multipliers(self, cost: FloatArray, budget: float | None) -> dict[str, FloatArray]:
        return self.joint.multipliers(cost, budget)
