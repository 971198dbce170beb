"""Linear programs solved without round-off: by HiGHS' basis, corrected and checked in fractions.

All numbers of a program are binary fractions, and so its vertices and multipliers are fractions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from gdaopt.backends import LinearArrays
from gdaopt.backends.highspy import HighsModel
from gdaopt.errors import SolverFailedError
from gdaopt.support.validation import FloatArray

_MOST_PIVOTS = 200


@dataclass(frozen=True)
class Optimum:
    """An optimal vertex and the duals y of the rows that prove it; see `LinearArrays.residuals`."""

    point: Sequence[Fraction]
    row_duals: Sequence[Fraction]

    def value(self, arrays: LinearArrays) -> Fraction:
        """Return the cost of the vertex."""
        terms = zip(map(Fraction, arrays.cost.tolist()), self.point, strict=True)
        return sum((cost * value for cost, value in terms), Fraction(0))

    def is_proven(self, arrays: LinearArrays) -> bool:
        """Say whether the vertex is feasible and its multipliers are complementary, exactly."""
        exact = _Exact(arrays)
        for j, value in enumerate([*self.point, *exact.row_values(self.point)]):
            multiplier = exact.reduced_cost(j, self.row_duals)
            needed = exact.low[j] if multiplier > 0 else exact.high[j]
            if not exact.holds(j, value) or (multiplier and value != needed):
                return False
        return True


def exact_optimum(arrays: LinearArrays) -> Optimum:
    """Return an optimal vertex and its multipliers, checked by `Optimum.is_proven`."""
    exact, model = _Exact(arrays), HighsModel({})
    for presolve in (True, False):  # some feasible programs are solved with it alone, or without
        status = model.minimize(arrays, hot=False, presolve=presolve).status
        if status != "optimal":
            continue
        basis: _Basis | None = _Basis.of(exact, *model.basis())
        for _ in range(_MOST_PIVOTS):
            if basis is None:
                break
            optimum = Optimum(basis.point()[: exact.size], basis.row_duals())
            if optimum.is_proven(arrays):
                return optimum
            basis = basis.pivot()
    raise SolverFailedError(
        f"no optimum of a linear program was found in fractions; HiGHS calls it {status}"
    )


class _Exact:
    """A program in fractions: variables and rows, ``A x - s = 0`` with bounds on both."""

    def __init__(self, arrays: LinearArrays) -> None:
        pattern = arrays.pattern
        self.size, self.n_rows = pattern.size, pattern.n_rows
        self.cost = [*map(Fraction, arrays.cost.tolist()), *[Fraction(0)] * self.n_rows]
        self.low, self.high = _bounds(arrays.lower_bounds), _bounds(arrays.upper_bounds)
        self.columns: list[dict[int, Fraction]] = [{} for _ in range(self.size)]
        entries = zip(
            pattern.row_indices.tolist(),
            pattern.columns.tolist(),
            arrays.coefficients.tolist(),
            strict=True,
        )
        for row, column, value in entries:
            if value:
                self.columns[column][row] = Fraction(value)
        self.columns += [{row: Fraction(-1)} for row in range(self.n_rows)]

    def row_values(self, point: Sequence[Fraction]) -> list[Fraction]:
        values = [Fraction(0)] * self.n_rows
        for column, value in zip(self.columns, point, strict=False):
            for row, coefficient in column.items() if value else ():
                values[row] += coefficient * value
        return values

    def reduced_cost(self, j: int, row_duals: Sequence[Fraction]) -> Fraction:
        """Return the cost of a variable or a row minus what the duals of the rows pay for it."""
        return self.cost[j] - self.product(j, row_duals)

    def product(self, j: int, rows: Sequence[Fraction]) -> Fraction:
        return sum((value * rows[row] for row, value in self.columns[j].items()), Fraction(0))

    def holds(self, j: int, value: Fraction) -> bool:
        low, high = self.low[j], self.high[j]
        return (low is None or value >= low) and (high is None or value <= high)


@dataclass(frozen=True)
class _Basis:
    """Which variables and rows are basic, in order, and where all others are."""

    exact: _Exact
    basic: tuple[int, ...]
    at: Mapping[int, Fraction]

    @classmethod
    def of(cls, exact: _Exact, is_basic: np.ndarray, at_upper: np.ndarray) -> _Basis:
        at = {}
        for j in np.flatnonzero(~is_basic).tolist():
            near, far = exact.low[j], exact.high[j]
            if at_upper[j]:
                near, far = far, near
            at[j] = near if near is not None else Fraction(0) if far is None else far
        return cls(exact, tuple(np.flatnonzero(is_basic).tolist()), at)

    def point(self) -> list[Fraction]:
        """Return the values of all variables and rows."""
        exact = self.exact
        right = [Fraction(0)] * exact.n_rows
        for j, value in self.at.items():
            for row, coefficient in exact.columns[j].items() if value else ():
                right[row] -= coefficient * value
        basic = dict(zip(self.basic, self._solve(right), strict=True))
        return [self.at[j] if j in self.at else basic[j] for j in range(len(exact.columns))]

    def row_duals(self) -> list[Fraction]:
        return self._solve_transposed([self.exact.cost[j] for j in self.basic])

    def pivot(self) -> _Basis | None:
        """Return the basis after a step of the dual or primal simplex; None where none leads."""
        exact, point, duals = self.exact, self.point(), self.row_duals()
        for place, j in enumerate(self.basic):
            if not exact.holds(j, point[j]):
                return self._leave(place, point[j], duals)
        for j, at in self.at.items():
            slope = exact.reduced_cost(j, duals)
            if (slope < 0 and at != exact.high[j]) or (slope > 0 and at != exact.low[j]):
                return self._enter(j, -1 if slope > 0 else 1, point)
        return None

    def _leave(self, place: int, value: Fraction, duals: Sequence[Fraction]) -> _Basis | None:
        """Return the basis after a basic variable that breaks a bound goes there."""
        exact, leaving = self.exact, self.basic[place]
        low = exact.low[leaving]
        bound = low if low is not None and value < low else exact.high[leaving]
        assert bound is not None
        rises = value < bound
        share = [Fraction(int(i == place)) for i in range(len(self.basic))]
        factors = self._solve_transposed(share)
        best: tuple[Fraction, int] | None = None
        for j, at in self.at.items():
            slope = exact.product(j, factors)
            # The basic variable rises where this one rises and the slope is negative.
            is_free = at != (exact.high[j] if (slope < 0) == rises else exact.low[j])
            if slope and is_free:
                ratio = abs(exact.reduced_cost(j, duals) / slope), j
                best = ratio if best is None else min(best, ratio)
        return None if best is None else self._exchange(place, best[1], bound)

    def _enter(self, entering: int, sign: int, point: Sequence[Fraction]) -> _Basis | None:
        exact = self.exact
        right = [Fraction(0)] * exact.n_rows
        for row, value in exact.columns[entering].items():
            right[row] = value
        other = exact.high[entering] if sign > 0 else exact.low[entering]
        best: tuple[Fraction, int, Fraction] | None = None
        if other is not None:
            best = abs(other - self.at[entering]), -1, other
        for place, (j, slope) in enumerate(zip(self.basic, self._solve(right), strict=True)):
            bound = exact.low[j] if slope * sign > 0 else exact.high[j]
            if slope and bound is not None:
                ratio = abs((point[j] - bound) / slope), place, bound
                best = ratio if best is None else min(best, ratio)
        if best is None:
            return None
        _, place, bound = best
        if place < 0:
            return _Basis(exact, self.basic, {**self.at, entering: bound})
        return self._exchange(place, entering, bound)

    def _exchange(self, place: int, entering: int, bound: Fraction) -> _Basis:
        at = {**self.at, self.basic[place]: bound}
        del at[entering]
        basic = (*self.basic[:place], entering, *self.basic[place + 1 :])
        return _Basis(self.exact, basic, at)

    def _solve(self, right: list[Fraction]) -> list[Fraction]:
        rows: list[dict[int, Fraction]] = [{} for _ in right]
        for place, j in enumerate(self.basic):
            for row, value in self.exact.columns[j].items():
                rows[row][place] = value
        return _solve_sparse(rows, right)

    def _solve_transposed(self, right: list[Fraction]) -> list[Fraction]:
        return _solve_sparse([dict(self.exact.columns[j]) for j in self.basic], right)


def _solve_sparse(rows: list[dict[int, Fraction]], right: Sequence[Fraction]) -> list[Fraction]:
    """Return the solution of a regular sparse system; the rows are overwritten."""
    values, left = list(right), set(range(len(rows)))
    pivots: list[tuple[int, int]] = []  # unknowns, and the rows that end up with them alone
    while left:
        shortest = min(left, key=lambda i: len(rows[i]))
        unknown = min(rows[shortest], key=lambda k: sum(k in rows[i] for i in left))
        left.remove(shortest)
        pivots.append((unknown, shortest))
        pivot = rows[shortest][unknown]
        for i, row in enumerate(rows):
            if i == shortest or unknown not in row:
                continue
            factor = row.pop(unknown) / pivot
            values[i] -= factor * values[shortest]
            for k, value in rows[shortest].items():
                if k != unknown:
                    row[k] = row.get(k, Fraction(0)) - factor * value
                    if not row[k]:
                        del row[k]
    solution = [Fraction(0)] * len(rows)
    for unknown, row_of in pivots:
        solution[unknown] = values[row_of] / rows[row_of][unknown]
    return solution


def _bounds(bounds: FloatArray) -> list[Fraction | None]:
    return [Fraction(bound) if np.isfinite(bound) else None for bound in bounds.tolist()]
