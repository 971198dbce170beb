"""Polytopes with linear constraints of the user's own: rows over the entries of another polytope.

The rows ``⟨A_k, M⟩ ≤ b_k`` or ``= b_k`` are restricted to the entries that a block moves; the rest
of M is a constant in the bound. Each constraint keeps its label, so that it is found by name in the
CVXPY problem, with its dual.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from gdaopt.backends import LinearArrays
from gdaopt.backends.arrays import Part, RowPattern
from gdaopt.constraints.rows import LinearConstraints
from gdaopt.errors import InvalidInputError
from gdaopt.linalg.entries import Edges
from gdaopt.programs.base import Polytope
from gdaopt.support.cvxpy_loading import cp
from gdaopt.support.validation import FloatArray

_TAKEN = ("budget", "floors", "rows")  # names of the programs' own constraints
_CORRECTIONS = 20  # rounds of mending rows and polytope in turns
_ALLOWED = 5e-10  # of the largest entry: how far a vertex may break a row


@dataclass(frozen=True, eq=False)
class ConstrainedPolytope(Polytope):
    """The points x of another polytope that keep linear constraints, its *rows*.

    `coefficients` are those of the entries of the metric that x moves, and `residuals` the numbers
    ``⟨A_k, M⟩ - b_k`` at the current metric, whose point keeps the rows.
    """

    polytope: Polytope
    rows: LinearConstraints
    coefficients: FloatArray
    residuals: FloatArray

    @property
    def name(self) -> str:
        return self.polytope.name

    @property
    def is_linear(self) -> bool:
        return self.polytope.is_linear

    @property
    def current(self) -> FloatArray:  # type: ignore[override]  # of the polytope
        """The iterate."""
        return self.polytope.current

    @property
    def unit(self) -> float | FloatArray:
        return self.polytope.unit

    @property
    def bounds(self) -> FloatArray:
        """The bounds of the rows, which the current point keeps to the last bit, shape (m,)."""
        room = np.where(self.rows.is_equality, 0.0, np.maximum(-self.residuals, 0.0))
        bounds: FloatArray = self.coefficients @ self.current + room
        return bounds

    def minimize(self, _cost: FloatArray, /) -> FloatArray:
        """Raise InvalidInputError: with rows there is no closed form."""
        raise InvalidInputError(
            "with linear constraints a program has no closed form; name a solver, such as 'HIGHS'"
        )

    def made_feasible(self, point: FloatArray) -> FloatArray:
        """Correct rows and polytope in turns, then go towards the iterate until the rows hold."""
        bounds, current = self.bounds, self.current
        point = self.polytope.made_feasible(point)
        allowed = _ALLOWED * max(float(np.abs(current).max()), float(np.abs(point).max()))
        for _ in range(_CORRECTIONS):
            excesses = self._excesses(point, bounds)
            broken = np.abs(excesses) > allowed
            if not broken.any():
                return point
            own = self.coefficients[broken] * self.unit  # the least change in units of each entry
            change = np.linalg.lstsq(own, excesses[broken])[0] * self.unit
            point = self.polytope.made_feasible(point - change)
        share = allowed / np.abs(self._excesses(point, bounds)).max()
        feasible: FloatArray = current + min(share, 1.0) * (point - current)
        return feasible

    def _excesses(self, point: FloatArray, bounds: FloatArray) -> FloatArray:
        residuals = self.coefficients @ point - bounds
        return np.where(self.rows.is_equality, residuals, np.maximum(residuals, 0.0))

    def arrays(self, cost: FloatArray) -> LinearArrays:
        """Return the arrays of the polytope without the rows, with these below."""
        arrays, rows = self.polytope.arrays(cost), self.rows
        bounds, n_rows = self.bounds * rows.norms, arrays.pattern.n_rows
        coefficients = (self.coefficients * rows.norms[:, None]).ravel()
        least = np.where(rows.is_equality, bounds, -np.inf)
        own = (
            Part(
                _part_name(label),
                "rows",
                slice(n_rows + index[0], n_rows + index[-1] + 1),
                is_equality=is_equality,
            )
            for label, index, is_equality in rows.parts()
        )
        return replace(
            arrays,
            pattern=_pattern_below(arrays.pattern, len(rows)),
            coefficients=np.concatenate([arrays.coefficients, coefficients]),
            lower_bounds=np.concatenate([arrays.lower_bounds, least]),
            upper_bounds=np.concatenate([arrays.upper_bounds, bounds]),
            parts=(*arrays.parts, *own),
        )

    def row_scales(self) -> FloatArray:
        """Return factors that bring the coefficients of each row to about 1, in the unit of x."""
        largest = np.abs(self.coefficients * self.unit).max(axis=1)
        # Rows without coefficients hold.
        scales = np.divide(1.0, largest, out=np.zeros_like(largest), where=largest > 0)
        return np.concatenate([self.polytope.row_scales(), scales / self.rows.norms])

    def cones(self, x: cp.Variable) -> list[cp.Constraint]:
        return self.polytope.cones(x)


def _part_name(label: str) -> str:
    """Return another name for a user's constraint that has the name of one of ours."""
    return f"{label} (own)" if label.replace(" (own)", "") in _TAKEN else label


@lru_cache(maxsize=64)
def _pattern_below(pattern: RowPattern, n_rows: int) -> RowPattern:
    """Return the pattern with rows below that have all coefficients."""
    return pattern.with_dense(n_rows)


def keeping_rows(
    polytope: Polytope,
    rows: LinearConstraints | None,
    metric: FloatArray,
    pairs: Edges,
    signs: FloatArray | float = -1.0,
) -> Polytope:
    """Return a polytope with linear constraints on the entries of these pairs, if any."""
    if rows is None:
        return polytope
    return ConstrainedPolytope(
        polytope, rows, rows.of_entries(pairs, signs), rows.residuals(metric)
    )
