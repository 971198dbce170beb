"""Polytopes with linear constraints of the user's own: rows that are appended to the program.

The rows ``⟨A_k, M⟩ ≤ b_k`` or ``= b_k`` are restricted to the entries that a block moves; the rest
of M is a constant in the bound. Solvers see them in the coordinates of the polytope, scaled so that
the largest coefficient of each is 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from gdaopt.backends import LinearArrays
from gdaopt.backends.arrays import Pattern
from gdaopt.constraints.rows import LinearConstraints
from gdaopt.errors import InvalidInputError
from gdaopt.linalg.entries import Edges
from gdaopt.programs.base import Polytope, scaled_costs
from gdaopt.programs.joint import JointPolytope
from gdaopt.programs.knapsack import FAR, SharesPolytope
from gdaopt.programs.whole_set import WholeSet
from gdaopt.support.validation import FloatArray

_TAKEN = ("budget", "floors", "rows")  # names of the programs' own constraints
_CORRECTIONS = 20  # rounds of mending rows and polytope in turns
_ROUND_OFF = 1e-12  # a share of the terms of a row: how far a point that is mended may break it
_ALLOWED = 5e-10  # a share of the largest entry: so far a vertex may break a row that is not mended


@dataclass(frozen=True, eq=False)
class ConstrainedPolytope(Polytope):
    """The points of another polytope that keep linear constraints, its *rows*.

    `coefficients` are those of the entries of the metric that x moves, and `residuals` the numbers
    ``⟨A_k, M⟩ - b_k`` at the current metric, whose point keeps the rows.
    """

    polytope: SharesPolytope | WholeSet
    rows: LinearConstraints
    coefficients: FloatArray
    residuals: FloatArray

    @property
    def name(self) -> str:
        return self.polytope.name

    @property
    def current(self) -> FloatArray:  # type: ignore[override]
        """The iterate."""
        return self.polytope.current

    def minimize(self, _cost: FloatArray, /) -> FloatArray:
        """Raise InvalidInputError: with rows there is no closed form."""
        raise InvalidInputError(
            "with linear constraints a program has no closed form; name a solver, such as 'HIGHS'"
        )

    def point(self, y: FloatArray) -> FloatArray:
        return self.polytope.point(y)

    def coordinates(self, x: FloatArray) -> FloatArray:
        return self.polytope.coordinates(x)

    @cached_property
    def _rows(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Rows and their bounds in the coordinates y, their units, and the current y.

        The current point keeps the rows to the last bit. A row that no coordinate touches holds.
        """
        rows = np.array([self.polytope.prices(row) for row in self.coefficients])
        units = np.abs(rows).max(axis=1, initial=0.0)
        units[units == 0] = np.inf
        rows, current = rows / units[:, None], self.polytope.coordinates(self.current)
        room = np.where(self.rows.is_equality, 0.0, np.maximum(-self.residuals, 0.0))
        far = FAR * np.abs(rows).sum(axis=1)  # solvers take no bounds that are huge
        return rows, rows @ current + np.minimum(room / units, far), units, current

    def made_feasible(self, y: FloatArray) -> FloatArray:
        """Correct rows and polytope in turns, then go towards the iterate until the rows hold.

        Coordinates change in proportion to their size: what is 0 stays 0.
        """
        rows, _, units, current = self._rows
        y = self.polytope.made_feasible(y)
        exact = _ROUND_OFF * (1 + np.abs(self.coefficients) @ np.abs(self.current) / units)
        for _ in range(_CORRECTIONS):
            excesses = self._excesses(y)
            broken = np.abs(excesses) > exact
            if not broken.any():
                return y
            terms = rows[broken] * y
            change = np.linalg.lstsq(terms, excesses[broken])[0]
            y = self.polytope.made_feasible(y * (1 - change))
        allowed = np.maximum(exact, _ALLOWED * np.abs(self.point(y)).max() / units)
        share = 1 / max(float((np.abs(self._excesses(y)) / allowed).max()), 1.0)
        feasible: FloatArray = current + share * (y - current)
        return feasible

    def _excesses(self, y: FloatArray) -> FloatArray:
        rows, bounds, _, _ = self._rows
        residuals = rows @ y - bounds
        return np.where(self.rows.is_equality, residuals, np.maximum(residuals, 0.0))

    @cached_property
    def _numbers(self) -> tuple[FloatArray, FloatArray, FloatArray, Pattern]:
        """The bounds, the coefficients and the pattern of the arrays with the rows below."""
        arrays, (rows, bounds, _, _) = self.polytope.arrays(0 * self.current), self._rows
        least = np.where(self.rows.is_equality, bounds, -np.inf)
        pattern = _pattern_below(arrays.pattern, self.rows.is_equality.tobytes())
        return (
            np.concatenate([arrays.lower_bounds, least]),
            np.concatenate([arrays.upper_bounds, bounds]),
            np.concatenate([arrays.coefficients, rows.ravel()]),
            pattern,
        )

    def arrays(self, cost: FloatArray) -> LinearArrays:
        """Return the arrays of the polytope, with the rows below."""
        lower, upper, coefficients, pattern = self._numbers
        costs, cones = scaled_costs(self.polytope.prices(cost))[0], self.polytope.arrays(cost).cones
        return LinearArrays(costs, lower, upper, pattern, coefficients, cones)

    def duals(self, cost: FloatArray, row_duals: FloatArray | None) -> dict[str, FloatArray]:
        """Return those of the polytope, then those of the rows as they were written."""
        if row_duals is None:  # the cost is 0
            row_duals = np.zeros(len(self.rows) + 1)
        scale, units = scaled_costs(self.polytope.prices(cost))[1], self._rows[2]
        of_rows = -row_duals[-len(self.rows) :] / (scale * units)
        of_rows = np.where(self.rows.is_equality, of_rows, np.maximum(of_rows, 0.0))
        budget = 0.0
        if isinstance(self.polytope, SharesPolytope):
            budget = self.polytope.rate(row_duals, scale)
        values = self.polytope.multipliers(cost + of_rows @ self.coefficients, budget)
        for label, index, _ in self.rows.parts():
            values[_own_name(label)] = of_rows[index] / self.rows.norms[index]
        return values


def _own_name(label: str) -> str:
    """Return another name for a user's constraint that has the name of one of ours."""
    return f"{label} (own)" if label.replace(" (own)", "") in _TAKEN else label


@lru_cache(maxsize=64)
def _pattern_below(pattern: Pattern, is_equality: bytes) -> Pattern:
    """Return the pattern with rows below that have all coefficients."""
    fixed = np.frombuffer(is_equality, dtype=bool)
    below = pattern.starts[-1] + pattern.size * np.arange(1, len(fixed) + 1)
    every = np.tile(np.arange(pattern.size), len(fixed))
    return Pattern(
        np.concatenate([pattern.starts, below]).astype(np.int32),
        np.concatenate([pattern.columns, every]).astype(np.int32),
        np.append(pattern.has_lower, np.zeros_like(fixed)),
        np.append(pattern.has_upper, ~fixed),
        np.append(pattern.is_fixed, fixed),
    )


def keep_rows(
    polytope: SharesPolytope | JointPolytope | WholeSet,
    rows: LinearConstraints | None,
    metric: FloatArray,
    pairs: Edges,
    signs: FloatArray | float = -1.0,
) -> Polytope:
    """Return a polytope with linear constraints on the entries of these pairs, if any.

    The joint program is then in shares.
    """
    if rows is None:
        return polytope
    extensible = polytope.in_shares() if isinstance(polytope, JointPolytope) else polytope
    return ConstrainedPolytope(
        extensible, rows, rows.of_entries(pairs, signs), rows.residuals(metric)
    )
