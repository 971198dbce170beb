"""The programs of the alternating method: the diagonal, or one column, under aligned left-ends.

Both are fractional knapsacks: bounds on the entries, and one row, the budget.

The *diagonal program* has the trace bound as its budget ("Proposition: diagonal program"):

    min g'm   s.t.   m_i ≥ l_i = Σ_{j≠i} |M_ij| v_j / v_i + ρ,   Σ m_i ≤ C

The *column program* is over ``x_j = -M_jc ≥ 0`` for the neighbours j of c, to which c may
have an edge, with ``a_j = v_j / v_c`` and the diagonal fixed ("Proposition: column program is a
fractional knapsack"):

    min h'x   s.t.   floor_j ≤ x_j ≤ u_j,   Σ a_j x_j ≤ M_cc - ρ
    u_j = a_j (M_jj - ρ) - Σ_{k≠c,j} |M_jk| v_k / v_c

Floors keep a graph connected (`gdaopt.methods.aligned`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar, Literal

import numpy as np

from gdaopt.backends import LinearArrays
from gdaopt.backends.arrays import Part, RowPattern
from gdaopt.errors import InfeasibleProblemError
from gdaopt.linalg.entries import IndexArray
from gdaopt.programs.base import Polytope, store
from gdaopt.support.validation import FloatArray, as_vector, number, positive_vector

_LOWERED = 1e-10  # of C: a sum of lower bounds above C by less is lowered, by more refused
_ROUND_OFF = 1e-12  # relative excess of floors over their bounds that is removed
_BUDGET_UNIT = 1e3  # solvers see this budget: their tolerances for it are absolute, as for costs

_Shape = tuple[RowPattern, tuple[Part, ...]]


@lru_cache(maxsize=256)
def _shape(size: int, *bounds: tuple[str, Literal["lower", "upper"]]) -> _Shape:
    """Return the pattern of one row, the budget, and the constraints by name."""
    every = np.arange(size)
    parts = (Part(name, kind, slice(size)) for name, kind in bounds)
    budget = Part("budget", "rows", slice(1), is_single=True)
    return RowPattern.of(0 * every, every, 1, size), (*parts, budget)


def _knapsack(
    cost: FloatArray,
    lower: FloatArray,
    upper: float | FloatArray,
    weights: FloatArray,
    budget: float,
    shape: _Shape,
) -> LinearArrays:
    """Return a program with bounds on its variables, and one row, the budget."""
    lower_bounds, upper_bounds = np.empty((2, len(cost) + 1))
    lower_bounds[:-1], lower_bounds[-1] = lower, -np.inf
    upper_bounds[:-1], upper_bounds[-1] = upper, budget
    pattern, parts = shape
    return LinearArrays(cost, lower_bounds, upper_bounds, pattern, weights, parts)


@dataclass(frozen=True, eq=False)
class DiagonalPolytope(Polytope):
    """``{m : m ≥ lower, Σm ≤ trace_bound}``; for ⟨G, M⟩ the cost is ``G_ii``.

    Parameters
    ----------
    lower : ndarray of shape (K,)
        Lower bounds; where they exceed the trace bound by round-off they are lowered to it.
    trace_bound : float
        C; an InfeasibleProblemError says that the bounds exceed it by more.

    Examples
    --------
    >>> polytope = DiagonalPolytope(np.array([1.0, 1.0]), trace_bound=5.0)
    >>> polytope.minimize(np.array([-1.0, -2.0]))
    array([1., 4.])
    """

    name: ClassVar[str] = "diagonal program"
    only_gains_matter: ClassVar[bool] = True

    lower: FloatArray
    trace_bound: float
    current: FloatArray = None  # type: ignore[assignment]  # until the end of __post_init__

    def __post_init__(self) -> None:
        lower = as_vector("lower", self.lower)
        trace_bound = number("trace_bound", self.trace_bound, above=0)
        excess = float(lower.sum()) - trace_bound
        if excess > _LOWERED * trace_bound:
            raise InfeasibleProblemError(
                f"diagonal program: the lower bounds add up to {lower.sum():.6g}, "
                f"above the trace bound {trace_bound:.6g}"
            )
        lower = lower - max(excess, 0.0) / len(lower)
        current = lower if self.current is None else as_vector("current", self.current, len(lower))
        store(self, lower=lower, trace_bound=trace_bound, current=current)

    @classmethod
    def at(cls, metric: FloatArray, slack: FloatArray, trace_bound: float) -> DiagonalPolytope:
        """Return the diagonals that a metric may take; slack are its scaled left-ends minus ρ."""
        diagonal = np.diagonal(metric).copy()
        return cls(diagonal - slack, trace_bound, diagonal)

    @property
    def unit(self) -> float:
        """C/K."""
        return self.trace_bound / len(self.lower)

    @cached_property
    def spare(self) -> float:
        """What the lower bounds leave of the trace bound."""
        return max(self.trace_bound - float(self.lower.sum()), 0.0)

    def minimize(self, cost: FloatArray) -> FloatArray:
        """Return the lower bounds, with all that is spare on the smallest cost if negative."""
        point = self.lower.copy()
        best = int(cost.argmin())
        if cost[best] < 0:
            point[best] += self.spare
        return point

    def row_multipliers(self, cost: FloatArray) -> dict[str, FloatArray]:
        """Return the gain from a unit more of the budget."""
        return {"budget": np.array(max(-float(cost.min()), 0.0))}

    def made_feasible(self, point: FloatArray) -> FloatArray:
        """Raise entries to their bounds, then scale the surplus down to the budget."""
        surplus = np.maximum(point - self.lower, 0.0)
        total, spare = float(surplus.sum()), self.spare
        if total > spare:
            surplus *= spare / total
        feasible: FloatArray = self.lower + surplus
        return feasible

    def arrays(self, cost: FloatArray) -> LinearArrays:
        """Return the program as arrays, with the parts ``"rows"`` and ``"budget"``."""
        size, ones = len(cost), np.ones(len(cost))
        shape = _shape(size, ("rows", "lower"))
        return _knapsack(cost, self.lower, np.inf, ones, self.trace_bound, shape)

    def row_scales(self) -> FloatArray:
        return np.array([1 / self.unit])


@dataclass(frozen=True, eq=False)
class ColumnPolytope(Polytope):
    """``{x : floor ≤ x ≤ upper, weights · x ≤ budget}``, x of shape (n,) for n neighbours.

    For ⟨G, M⟩ the cost is ``h_j = -2 G_jc``: the variable is ``x_j = -M_jc``, which stands in M
    twice, in column c and in row c.

    Parameters
    ----------
    upper, weights, floor : ndarray of shape (n,)
        Upper bounds, positive weights ``v_j / v_c``, and floors ≥ 0.
    budget : float
        ``M_cc - ρ``. An InfeasibleProblemError says that the floors exceed it, or a bound.
    current : ndarray of shape (n,), optional
        A point inside; the floors when left out.

    Examples
    --------
    >>> polytope = ColumnPolytope(
    ...     upper=np.array([1.0, 5.0]), weights=np.ones(2), floor=np.zeros(2), budget=3.0
    ... )
    >>> polytope.minimize(np.array([-2.0, -1.0]))
    array([1., 2.])
    """

    name: ClassVar[str] = "column program"
    only_gains_matter: ClassVar[bool] = True

    upper: FloatArray
    weights: FloatArray
    floor: FloatArray
    budget: float
    current: FloatArray = None  # type: ignore[assignment]  # until the end of __post_init__

    def __post_init__(self) -> None:
        upper = as_vector("upper", self.upper)
        size = len(upper)
        weights = positive_vector("weights", self.weights, size)
        floor, budget = as_vector("floor", self.floor, size), number("budget", self.budget)
        current = floor if self.current is None else as_vector("current", self.current, size)
        over = floor > upper * (1 + _ROUND_OFF)
        if over.any():
            j = int(over.argmax())
            raise InfeasibleProblemError(
                f"column program: the floor {floor[j]:.6g} of entry {j} exceeds its bound "
                f"{upper[j]:.6g}"
            )
        needed = float(weights @ floor)
        if needed > budget * (1 + _ROUND_OFF):
            raise InfeasibleProblemError(
                f"column program: the floors need {needed:.6g} of a budget of {budget:.6g}"
            )
        store(
            self,
            upper=np.maximum(upper, floor),
            weights=weights,
            floor=floor,
            budget=max(budget, needed),
            current=current,
        )

    @classmethod
    def at(
        cls,
        metric: FloatArray,
        v: FloatArray,
        slack: FloatArray,
        column: int,
        others: IndexArray,
        floor: FloatArray,
        signs: FloatArray | float = -1.0,
    ) -> ColumnPolytope:
        """Return the edge weights that a column of a metric may take: all other entries stay.

        Bounds are written as the current weight plus the slack, the left-ends under v minus ρ, so
        that the current column is inside to the last bit. A neighbour with an edge of either sign
        is twice among the others; at an optimum one of the two is 0, as their costs are opposite.
        """
        weights = v[others] / v[column]
        entries = signs * metric[others, column]
        current = np.maximum(entries, 0.0)
        upper = np.abs(entries) + weights * slack[others]
        budget = float(weights @ current + slack[column])
        return cls(upper, weights, floor, budget, current)

    @cached_property
    def spare(self) -> float:
        """What the floors leave of the budget."""
        return max(self.budget - float(self.weights @ self.floor), 0.0)

    @cached_property
    def unit(self) -> FloatArray:
        """The largest value of each entry: with one unit for all, interior point solvers fail."""
        largest: FloatArray = np.minimum(self.upper, self.floor + self.spare / self.weights)
        return largest

    def minimize(self, cost: FloatArray) -> FloatArray:
        """Return the fractional knapsack: fill by ascending cost per weight while negative."""
        ratio = cost / self.weights
        order = ratio.argsort(kind="stable")[: np.count_nonzero(ratio < 0)]
        weights, floor = self.weights[order], self.floor[order]
        share = (weights * (self.upper[order] - floor)).cumsum()
        np.minimum(share, self.spare, out=share)
        share[1:] -= share[:-1]  # of the budget, what each entry gets
        point = self.floor.copy()
        point[order] += share / weights
        return np.minimum(point, self.upper, out=point)

    def row_multipliers(self, cost: FloatArray) -> dict[str, FloatArray]:
        """Return the gain from a unit more of the budget: the ratio at which it runs out."""
        ratio = cost / self.weights
        order = ratio.argsort(kind="stable")[: np.count_nonzero(ratio < 0)]
        wanted = (self.weights[order] * (self.upper[order] - self.floor[order])).cumsum()
        runs_out = int(np.searchsorted(wanted, self.spare))
        gain = -float(ratio[order[runs_out]]) if runs_out < len(order) else 0.0
        return {"budget": np.array(gain)}

    def made_feasible(self, point: FloatArray) -> FloatArray:
        """Clip to the bounds, then scale the surplus down to the budget."""
        surplus = np.minimum(np.maximum(point, self.floor), self.upper) - self.floor
        total = float(self.weights @ surplus)
        spare = self.spare
        if total > spare:
            surplus *= spare / total
        feasible: FloatArray = self.floor + surplus
        return feasible

    def arrays(self, cost: FloatArray) -> LinearArrays:
        """Return the program as arrays, with the parts ``"floors"``, ``"rows"``, ``"budget"``."""
        shape = _shape(len(cost), ("floors", "lower"), ("rows", "upper"))
        return _knapsack(cost, self.floor, self.upper, self.weights, self.budget, shape)

    def row_scales(self) -> FloatArray:
        return np.array([_BUDGET_UNIT / (self.budget or 1.0)])
