"""Programs with linear constraints of the user's own: rows over the variables of another program.

The rows ``⟨A_k, M⟩ ≤ b_k`` or ``= b_k`` are restricted to the entries that a block moves; the rest
of M is a constant in the bound. Each constraint keeps its label, so that it is found by name in the
CVXPY problem, with its dual.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gdaopt.backends import LinearArrays, Part, RowPattern
from gdaopt.constraints import LinearConstraints
from gdaopt.constraints.rows import constraint
from gdaopt.errors import InvalidInputError
from gdaopt.linalg.entries import Edges
from gdaopt.programs.base import Polytope, Program
from gdaopt.support.cvxpy_loading import cp
from gdaopt.support.validation import FloatArray

_TAKEN = ("budget", "floors", "rows")  # names of the programs' own constraints
_CORRECTIONS = 20  # rounds of mending rows and polytope in turns
_ALLOWED = 5e-10  # of the largest entry: how far a vertex may break a row


@dataclass(frozen=True, eq=False)
class ConstrainedPolytope:
    """The points x of another polytope that keep linear constraints, its *rows*.

    Parameters
    ----------
    polytope : Polytope
        The polytope without the rows; its current point keeps the rows.
    rows : LinearConstraints
        The linear constraints, for which of them are equalities.
    coefficients : ndarray of shape (m, size)
        Of the entries of the metric that x moves.
    residuals : ndarray of shape (m,)
        ``⟨A_k, M⟩ - b_k`` at the current metric.
    """

    polytope: Polytope
    rows: LinearConstraints
    coefficients: FloatArray
    residuals: FloatArray

    @property
    def current(self) -> FloatArray:
        """The iterate."""
        return self.polytope.current

    @property
    def unit(self) -> float | FloatArray:
        """The unit of the polytope without the rows."""
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

    def row_multipliers(self, _cost: FloatArray, /) -> dict[str, FloatArray]:
        """Return nothing: without a solver, programs are answered where no entry can move only."""
        return {}

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


class ConstrainedProgram(Program[ConstrainedPolytope]):
    """Another program with the rows as constraints beside its own.

    The parameters of a constraint are called ``coefficients: label`` and ``bounds: label``.

    Parameters
    ----------
    program : Program
        The program without the rows.
    rows : LinearConstraints
        The rows.

    Examples
    --------
    >>> import numpy as np
    >>> from gdaopt.constraints import read_constraints
    >>> from gdaopt.programs import DiagonalPolytope, DiagonalProgram
    >>> rows = read_constraints(lambda M: [M[0, 0] <= 2], n_features=2)
    >>> program = ConstrainedProgram(DiagonalProgram(2), rows)
    >>> program.is_dpp(), program.problem.constraints[-1].label
    (True, 'M[0, 0] <= 2.0')
    >>> polytope = DiagonalPolytope(np.ones(2), trace_bound=5.0)
    >>> residuals = rows.residuals(np.eye(2))
    >>> coefficients = rows.of_entries((np.arange(2), np.arange(2)))
    >>> constrained = ConstrainedPolytope(polytope, rows, coefficients, residuals)
    >>> program.solve(np.array([-2.0, -1.0]), constrained).point
    array([2., 3.])
    """

    def __init__(self, program: Program[Any], rows: LinearConstraints) -> None:
        super().__init__(program.size, program.options)
        self._program = program
        self._rows = rows
        self._patterns: tuple[RowPattern, RowPattern] | None = None

    @property
    def name(self) -> str:  # type: ignore[override]  # of the inner program
        """The name of the program without the rows, for messages."""
        return self._program.name

    @property
    def is_linear(self) -> bool:  # type: ignore[override]  # of the inner program
        """Whether the program without the rows is linear."""
        return self._program.is_linear

    def _build(self) -> tuple[cp.Problem, cp.Variable]:
        problem, variable = self._program._built
        own = []
        for label, indices, is_equality in self._rows.parts():
            coefficients = cp.Parameter((len(indices), self.size), name=f"coefficients: {label}")
            bounds = cp.Parameter(len(indices), name=f"bounds: {label}")
            added = constraint(coefficients @ variable, bounds, is_equality)
            own.append(added.set_label(_part_name(label)))
        return cp.Problem(problem.objective, [*problem.constraints, *own]), variable

    def _assign(self, polytope: ConstrainedPolytope) -> None:
        self._program._assign(polytope.polytope)
        coefficients, bounds = polytope.coefficients * polytope.unit, polytope.bounds
        scale = self._own_scales(polytope)
        for label, indices, _ in self._rows.parts():
            own = scale[indices]
            self.parameters[f"coefficients: {label}"].value = coefficients[indices] * own[:, None]
            self.parameters[f"bounds: {label}"].value = bounds[indices] * own

    def _own_scales(self, polytope: ConstrainedPolytope) -> FloatArray:
        """Return factors that bring the coefficients of each row to about 1, in the unit of x."""
        largest = np.abs(polytope.coefficients * polytope.unit).max(axis=1)
        # Rows without coefficients hold.
        scales: FloatArray = np.divide(1.0, largest, out=np.zeros_like(largest), where=largest > 0)
        return scales

    def arrays(self, cost: FloatArray, polytope: ConstrainedPolytope) -> LinearArrays:
        """Return the arrays of the program without the rows, with the user's rows below."""
        arrays = self._program.arrays(cost, polytope.polytope)
        rows = self._rows
        bounds = polytope.bounds * rows.norms
        coefficients = (polytope.coefficients * rows.norms[:, None]).ravel()
        return replace(
            arrays,
            pattern=self._pattern_below(arrays.pattern),
            coefficients=np.concatenate([arrays.coefficients, coefficients]),
            lower_bounds=np.concatenate(
                [arrays.lower_bounds, np.where(rows.is_equality, bounds, -np.inf)]
            ),
            upper_bounds=np.concatenate([arrays.upper_bounds, bounds]),
            parts=(*arrays.parts, *self._own_parts(arrays.pattern.n_rows)),
        )

    def _pattern_below(self, pattern: RowPattern) -> RowPattern:
        """Return the pattern with the rows below, the same object for the same pattern."""
        if self._patterns is None or self._patterns[0] is not pattern:
            self._patterns = pattern, pattern.with_dense(len(self._rows))
        return self._patterns[1]

    def _own_parts(self, n_rows: int) -> list[Part]:
        """Return the parts of the user's rows, which follow the first `n_rows` rows."""
        return [
            Part(_part_name(label), "rows", slice(n_rows + own[0], n_rows + own[-1] + 1))
            for label, own, _ in self._rows.parts()
        ]

    def _row_scales(self, polytope: ConstrainedPolytope) -> dict[str, float | FloatArray]:
        scale = self._own_scales(polytope) / self._rows.norms
        own = {_part_name(label): scale[indices] for label, indices, _ in self._rows.parts()}
        return {**self._program._row_scales(polytope.polytope), **own}

    def _mended(
        self, rows: Mapping[str, FloatArray], arrays: LinearArrays, polytope: ConstrainedPolytope
    ) -> Mapping[str, FloatArray]:
        return self._program._mended(rows, arrays, polytope.polytope)


def _part_name(label: str) -> str:
    """Return the name of a constraint of the user's, which must not be one of the program's own.

    Different labels have different names, also labels that end with ``(own)``.
    """
    return f"{label} (own)" if label.replace(" (own)", "") in _TAKEN else label


def with_rows(program: Program[Any], rows: LinearConstraints | None) -> Program[Any]:
    """Return a program with linear constraints, where there are some."""
    return program if rows is None else ConstrainedProgram(program, rows)


def keeping_rows(
    polytope: Polytope,
    rows: LinearConstraints | None,
    metric: FloatArray,
    pairs: Edges,
    signs: FloatArray | float = -1.0,
) -> Polytope:
    """Return a polytope with linear constraints on its entries, where there are some.

    Parameters
    ----------
    polytope : Polytope
        Of some entries of a metric.
    rows : LinearConstraints or None
        The constraints.
    metric : ndarray of shape (K, K)
        It keeps them.
    pairs : tuple of two ndarrays of int
        Which entries they are, see `LinearConstraints.of_entries`.
    signs : ndarray, optional
        The signs that they have in the metric.
    """
    if rows is None:
        return polytope
    return ConstrainedPolytope(
        polytope, rows, rows.of_entries(pairs, signs), rows.residuals(metric)
    )
