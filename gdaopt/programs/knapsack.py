"""The programs of the alternating method are one knapsack: the diagonal, or a column.

    min c'x   s.t.   floor ≤ x ≤ upper,   Σ weights_j x_j ≤ budget

In the *diagonal program* x is the diagonal, all weights are 1, and the trace bound C is the budget
("Proposition: diagonal program"):

    floor_i = Σ_{j≠i} |M_ij| v_j / v_i + ρ,   no upper bounds,   budget = C

In the *column program* ``x_j = |M_jc|`` for the neighbours j of c, to which c may have an edge, and
the diagonal is fixed ("Proposition: column program is a fractional knapsack"):

    weights_j = v_j / v_c,   budget = M_cc - ρ
    upper_j = weights_j (M_jj - ρ) - Σ_{k≠c,j} |M_jk| v_k / v_c

Its floors keep a graph connected (`gdaopt.methods.aligned`).

Solvers see *shares*: y is the share of the largest value above its floor that an entry can take,
and r the share of the budget above the floors, its spare part, that this value takes:

    0 ≤ y ≤ caps,   r · y ≤ 1

The caps are 1 if an upper bound is what limits an entry. If the budget is, they are beyond 1,
so that the multiplier of the budget stands at the budget alone; without an upper bound there is no
cap. A point that is slightly outside can always be mended there.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from gdaopt.backends import LinearArrays
from gdaopt.backends.arrays import Pattern
from gdaopt.errors import InfeasibleProblemError
from gdaopt.linalg.entries import IndexArray
from gdaopt.programs.base import Polytope, scaled_costs, store
from gdaopt.support.validation import FloatArray, as_vector, number, positive_vector

_DIAGONAL = "diagonal program"
_ROUND_OFF = 1e-10  # relative excess of floors over the budget, or over bounds, that is removed
_ROW_SCALE = 1e3  # for columns: HiGHS may fill all entries, and break the row by its tolerance
FAR = 2.0  # shares of the budget: no point gets there
_LARGEST_GAIN = 1e3  # in solvers' costs: HiGHS' absolute tolerance of 1e-7 is 1e-10 of it


class Shares(NamedTuple):
    """What solvers see of a polytope: ``0 ≤ y ≤ caps``, ``rates · y ≤ 1``."""

    caps: FloatArray  # ≥ 1, infinite if nothing but the budget is a limit
    rates: FloatArray  # ≥ 0: the shares of the spare budget that the largest values take


class SharesPolytope(Polytope):
    """A polytope that solvers see as shares of what its floors leave of the budget.

    Attributes
    ----------
    spare : float
        What the floors leave of the budget, ≥ 0.
    row_scale : float
        The factor of the row that solvers see, because their tolerances are absolute.
    """

    spare: float
    row_scale: float = 1.0

    @property
    @abstractmethod
    def shares(self) -> Shares:
        """The bounds of y, and what each takes of the budget."""

    @abstractmethod
    def prices(self, cost: FloatArray) -> FloatArray:
        """Return the costs of y."""

    @abstractmethod
    def multipliers(self, cost: FloatArray, budget: float | None) -> dict[str, FloatArray]:
        """Return the multipliers by name from that of the budget; None for the closed form."""

    def made_feasible(self, y: FloatArray) -> FloatArray:
        """Clip shares to their bounds, then scale them down to the budget."""
        caps, rates = self.shares
        inside = np.minimum(np.maximum(y, 0.0), caps)
        total = float(rates @ inside)
        return inside / total if total > 1 else inside

    @cached_property
    def _numbers(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The lower and upper bounds of shares and row, and the coefficients of the row."""
        caps, rates = self.shares
        lower = np.append(np.zeros(len(rates)), -np.inf)
        return lower, np.append(caps, self.row_scale), self.row_scale * rates

    def arrays(self, cost: FloatArray) -> LinearArrays:
        """Return the program of the shares."""
        costs, _ = _gains(self.prices(cost))
        lower, upper, coefficients = self._numbers
        pattern = _pattern(np.isfinite(upper).tobytes())
        return LinearArrays(costs, lower, upper, pattern, coefficients)

    def duals(self, cost: FloatArray, row_duals: FloatArray | None) -> dict[str, FloatArray]:
        if row_duals is None or self.spare == 0:
            return self.multipliers(cost, None)
        return self.multipliers(cost, self.rate(row_duals, _gains(self.prices(cost))[1]))

    def rate(self, row_duals: FloatArray, scale: float) -> float:
        """Return the multiplier of the budget, from duals of rows of costs with a scale."""
        if self.spare == 0:
            return 0.0
        return max(-self.row_scale * float(row_duals[0]) / (scale * self.spare), 0.0)


@lru_cache(maxsize=256)
def _pattern(has_upper: bytes) -> Pattern:
    """Return the pattern of one row, which has all coefficients, below bounds of some shares."""
    upper = np.where(np.frombuffer(has_upper, dtype=bool), 1.0, np.inf)
    size = len(upper) - 1
    lower = np.append(np.zeros(size), -np.inf)
    return Pattern.of_bounds([0, size], np.arange(size), lower, upper)


def _gains(prices: FloatArray) -> tuple[FloatArray, float]:
    """Return costs of shares that solvers can judge, with the same optimal points; and their scale.

    A share is used for a negative price only. How large a positive one is does not matter, and it
    is cut off: left large, it would make the negative ones look like 0 to a solver.
    """
    gain = -float(prices.min(initial=0.0))
    if gain <= 0:
        return scaled_costs(prices)
    scale = _LARGEST_GAIN / gain
    return np.minimum(prices, gain) * scale, scale


@dataclass(frozen=True, eq=False)
class Knapsack(SharesPolytope):
    """``{x : floor ≤ x ≤ upper, weights · x ≤ budget}``, x of shape (n,).

    Parameters
    ----------
    floor : ndarray of shape (n,)
        Least values ≥ 0; if they exceed the budget by round-off they are lowered to it.
    budget : float
        An InfeasibleProblemError says that the floors exceed it by more, or a bound.
    weights : ndarray of shape (n,), optional
        Positive; 1 by default.
    upper : ndarray of shape (n,), optional
        Upper bounds; none by default, which makes this a diagonal program.
    current : ndarray of shape (n,), optional
        A point inside; the floors when left out.

    Examples
    --------
    >>> column = Knapsack(
    ...     np.zeros(2), budget=3.0, weights=np.ones(2), upper=np.array([1.0, 5.0])
    ... )
    >>> column.minimize(np.array([-2.0, -1.0]))
    array([1., 2.])
    """

    floor: FloatArray
    budget: float
    weights: FloatArray = None  # type: ignore[assignment]  # these three: until the end of
    upper: FloatArray = None  # type: ignore[assignment]    # __post_init__
    current: FloatArray = None  # type: ignore[assignment]
    name: str = field(init=False, default="")

    def __post_init__(self) -> None:
        floor, budget = as_vector("floor", self.floor), number("budget", self.budget)
        size, name = len(floor), _DIAGONAL if self.upper is None else "column program"
        ones, none = np.ones(size), np.full(size, np.inf)
        weights = ones if self.weights is None else positive_vector("weights", self.weights, size)
        upper = none if self.upper is None else as_vector("upper", self.upper, size)
        over = floor > upper * (1 + _ROUND_OFF)
        if over.any():
            j = int(over.argmax())
            raise InfeasibleProblemError(
                f"{name}: the floor {floor[j]:.6g} of entry {j} exceeds its bound {upper[j]:.6g}"
            )
        needed = float(weights @ floor)
        if needed > budget:
            if needed > budget * (1 + _ROUND_OFF):
                raise InfeasibleProblemError(
                    f"{name}: the floors need {needed:.6g} of a budget of {budget:.6g}"
                )
            floor = floor * (budget / needed)
            needed = float(weights @ floor)
        current = floor if self.current is None else as_vector("current", self.current, size)
        store(
            self,
            floor=floor,
            budget=budget,
            weights=weights,
            upper=np.maximum(upper, floor),
            current=current,
            name=name,
            spare=max(budget - needed, 0.0),
            row_scale=1.0 if self.upper is None else _ROW_SCALE,
        )

    @classmethod
    def diagonal(cls, metric: FloatArray, slack: FloatArray, trace_bound: float) -> Knapsack:
        """Return the diagonals that a metric may take; slack are its scaled left-ends minus ρ."""
        diagonal = np.diagonal(metric).copy()
        return cls(diagonal - slack, trace_bound, current=diagonal)

    @classmethod
    def column(
        cls,
        metric: FloatArray,
        v: FloatArray,
        slack: FloatArray,
        column: int,
        others: IndexArray,
        floor: FloatArray,
        signs: FloatArray | float = -1.0,
    ) -> Knapsack:
        """Return the edge weights that a column of a metric may take: all other entries stay.

        Bounds are written as the current weight plus the slack, the left-ends under v minus ρ, so
        that the current column is inside to the last bit. A neighbour with an edge of either sign
        is twice among the others; one of the two is 0 at an optimum, because their costs are
        opposite.
        """
        weights = v[others] / v[column]
        entries = signs * metric[others, column]
        current = np.maximum(entries, 0.0)
        upper = np.abs(entries) + weights * slack[others]
        budget = float(weights @ current + slack[column])
        return cls(floor, budget, weights, upper, current)

    @cached_property
    def largest(self) -> FloatArray:
        """The largest value above its floor of each entry."""
        return np.minimum(self.upper - self.floor, self.spare / self.weights)

    @cached_property
    def shares(self) -> Shares:
        room, largest = self.upper - self.floor, self.largest
        most = np.where(np.isinf(room), np.inf, np.minimum(room, FAR * largest))
        caps = np.divide(most, largest, out=np.ones_like(room), where=largest > 0)
        used = self.weights * largest
        return Shares(caps, used / self.spare if self.spare else used)

    def prices(self, cost: FloatArray) -> FloatArray:
        return cost * self.largest

    def point(self, y: FloatArray) -> FloatArray:
        x: FloatArray = self.floor + self.largest * y
        return x

    def coordinates(self, x: FloatArray) -> FloatArray:
        above = x - self.floor
        return np.divide(above, self.largest, out=np.zeros_like(x), where=self.largest > 0)

    def minimize(self, cost: FloatArray) -> FloatArray:
        """Fill by ascending cost per weight while that is negative."""
        ratio = cost / self.weights
        order = ratio.argsort(kind="stable")[: np.count_nonzero(ratio < 0)]
        weights, floor = self.weights[order], self.floor[order]
        share = (weights * (self.upper[order] - floor)).cumsum()
        np.minimum(share, self.spare, out=share)
        share[1:] -= share[:-1]  # what each entry gets of the budget
        point = self.floor.copy()
        point[order] += share / weights
        return np.minimum(point, self.upper, out=point)

    def multipliers(self, cost: FloatArray, budget: float | None) -> dict[str, FloatArray]:
        """Return the gain from a unit more of the budget, and the reduced costs of bounds."""
        if budget is None:
            budget = self._rate(cost)
        reduced = cost + budget * self.weights
        below, above = np.maximum(reduced, 0.0), np.maximum(-reduced, 0.0)
        bounds = {"rows": below} if self.name == _DIAGONAL else {"floors": below, "rows": above}
        return {**bounds, "budget": np.array(budget)}

    def _rate(self, cost: FloatArray) -> float:
        """Return the gain per budget if that runs out, 0 if it does not."""
        ratio = cost / self.weights
        order = ratio.argsort(kind="stable")[: np.count_nonzero(ratio < 0)]
        wanted = (self.weights[order] * (self.upper[order] - self.floor[order])).cumsum()
        runs_out = int(np.searchsorted(wanted, self.spare))
        return -float(ratio[order[runs_out]]) if runs_out < len(order) else 0.0
