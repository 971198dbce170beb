"""The linear programs of aligned discs: bounds from above and from below by one vector.

See `docs/theory/lmi.md`, "Theorem: one vector, two linear programs".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np
from scipy.sparse import csr_array, eye_array
from scipy.sparse.linalg import splu

from gdaopt.backends.cvxpy import solve_program
from gdaopt.errors import InfeasibleProblemError, SolverFailedError
from gdaopt.lmi.cones import edge_cones, incidence
from gdaopt.lmi.model import Model
from gdaopt.lmi.signs import Structure
from gdaopt.support.validation import FloatArray

_MOST_STEPS = 30  # inverse iteration converges quadratically
_EIGENVALUE = 1e-12  # relative accuracy of inverse iteration
_SHIFT = 1e-13  # relative to the diagonal: the shifted matrix stays invertible
_GAP = 1e-6  # an interior point need not be the best one
_LEAST = 1e-8  # relative to the largest entry: a vector that aligns must be positive


@dataclass(frozen=True, eq=False)
class Optimum:
    """The optimum of a program.

    Attributes
    ----------
    value : float
        The least value of the objective, or of its negative, if it is to be maximised.
    x : ndarray
        The entries of all variables one after the other.
    multipliers : ndarray or None
        Of the rows that the program adds to the problem's, each ≥ 0; None with whole numbers.
    """

    value: float
    x: FloatArray
    multipliers: FloatArray | None = None


class DiscPrograms:
    """The linear programs of a problem whose matrix inequalities are exact.

    All matrices are handled as one, with a diagonal block for each. The magnitudes |F_ij| are
    affine where the sign is known; for bridges of unknown sign they are variables.
    """

    def __init__(
        self, model: Model, structure: Structure, solver: str, options: Mapping[str, Any]
    ) -> None:
        self.model, self.n_solved = model, 0
        self._solver, self._options = solver, dict(options)
        self._matrices = [each.matrix for each in structure.inequalities]
        starts = np.cumsum([0, *(matrix.n_nodes for matrix in self._matrices)])
        self.n_nodes = int(starts[-1])
        self.edges = np.concatenate(
            [matrix.edges + start for matrix, start in zip(self._matrices, starts, strict=False)]
        )
        self.diagonal = cp.hstack([matrix.diagonal(model.x) for matrix in self._matrices])
        signs = np.concatenate([each.signs for each in structure.inequalities])
        unknown = np.flatnonzero(signs == 0)
        self._constraints = [copy for _, copy in model.constraints]
        if len(signs):
            entries = cp.hstack(
                [each.entries(model.x) for each in self._matrices if len(each.edges)]
            )
            self.magnitudes = cp.multiply(signs, entries)
            if len(unknown):
                sizes = cp.Variable(len(unknown))
                places = (np.ones(len(unknown)), (unknown, np.arange(len(unknown))))
                self.magnitudes += csr_array(places, shape=(len(signs), len(unknown))) @ sizes
                self._constraints += [sizes >= cp.abs(entries[unknown])]

    # --- The programs -------------------------------------------------------------------------

    def from_above(self, v: FloatArray, x: FloatArray | None = None) -> Optimum:
        """Return the optimum over all points whose left-ends, aligned by v > 0, are not negative.

        Such points keep the matrix inequalities: the value is an upper bound. Where an x is given,
        the whole numbers are those of x.
        """
        v = np.maximum(v, _LEAST * v.max())
        left_ends = self.diagonal
        if len(self.edges):
            first, second = self.edges.T
            left_ends -= (
                incidence(first, self.n_nodes, v[second] / v[first])
                + incidence(second, self.n_nodes, v[first] / v[second])
            ) @ self.magnitudes
        index = np.flatnonzero(self.model.is_integer)
        fixed = [] if x is None else [self.model.x[index] == np.round(x[index])]
        return self.minimize([left_ends >= 0, *fixed])

    def bound_below(self, d: FloatArray) -> float:
        """Return the optimum over all points with ``d'DF(x)Dd ≥ 0``: -∞ if there is none."""
        if not d.any():
            return -np.inf
        d = d / d.max()
        form = d**2 @ self.diagonal
        if len(self.edges):
            form -= 2 * np.prod(d[self.edges], axis=1) @ self.magnitudes
        try:
            return self.minimize([form >= 0]).value
        except SolverFailedError:
            return -np.inf

    def minimize(self, rows: list[cp.Constraint]) -> Optimum:
        """Minimise the objective under rows beside the problem's linear constraints."""
        program = cp.Problem(self.model.objective, [*self._constraints, *rows])
        solve_program(program, self._solver, solver_opts=self._options)
        self.n_solved += 1
        duals = rows[0].dual_value
        return Optimum(
            self.model.sign * float(program.value),
            np.asarray(self.model.x.value, dtype=np.float64),
            None if duals is None else np.maximum(np.atleast_1d(duals), 0.0),
        )

    # --- Points -------------------------------------------------------------------------------

    def value(self, x: FloatArray) -> float:
        """Return the objective at x, to be minimised."""
        self.model.assign(x)
        return self.model.sign * float(self.model.objective.value)

    def switched(self, x: FloatArray) -> csr_array:
        """Return DF(x)D, whose off-diagonals are ``-|F_ij|``."""
        first, second = self.edges.T
        values = -np.abs(np.concatenate([matrix.entries(x) for matrix in self._matrices]))
        nodes = np.arange(self.n_nodes)
        places = np.concatenate([first, second, nodes]), np.concatenate([second, first, nodes])
        diagonal = np.concatenate([matrix.diagonal(x) for matrix in self._matrices])
        numbers = np.concatenate([values, values, diagonal])
        return csr_array((numbers, places), shape=(self.n_nodes, self.n_nodes))

    def first_alignment(self) -> FloatArray:
        """Return the first eigenvector at an interior point: discs that it aligns have a point."""
        return first_eigenvector(self.switched(self.interior_point))[0]

    def feasible_near(self, x: FloatArray) -> Optimum:
        """Return the point nearest to x on the line to an interior one that keeps all inequalities.

        x must keep the linear constraints.
        """
        end = first_eigenvector(self.switched(x))[1]
        if end < 0:
            inner = self.interior_point
            inner_end = first_eigenvector(self.switched(inner))[1]
            x = x + end / (end - inner_end) * (inner - x)
        return Optimum(self.value(x), x)

    @cached_property
    def interior_point(self) -> FloatArray:
        """The x whose matrices have a least eigenvalue that is as large as possible, at most 1.

        Raises
        ------
        InfeasibleProblemError
            When that eigenvalue is negative for all x; the message has a vector that proves it.
        """
        model, least = self.model, cp.Variable()
        cones = [
            edge_cones(matrix.diagonal(model.x) - least, matrix.edges, matrix.entries(model.x))
            for matrix in self._matrices
        ]
        program = cp.Problem(
            cp.Maximize(least),
            [least <= 1, *self._constraints, *(each for both in cones for each in both)],
        )
        solve_program(program, "CLARABEL", gap=_GAP, name="search for an interior point")
        if program.value < -_GAP:
            squares = np.concatenate([np.atleast_1d(both[-1].dual_value) for both in cones])
            vector = np.sqrt(np.maximum(squares, 0.0))
            raise InfeasibleProblemError(
                f"each point has an eigenvalue below {program.value:.3g}: d'F(x)d is negative for "
                f"d = {np.array2string(vector, precision=4, threshold=8)}, up to signs"
            )
        return np.asarray(model.x.value, dtype=np.float64)


def first_eigenvector(matrix: csr_array, v: FloatArray | None = None) -> tuple[FloatArray, float]:
    """Return v > 0 whose least left-end is near λ_min of a matrix, and that left-end.

    The off-diagonals must not be positive. The left-end is a lower bound of λ_min for any v. This
    is Noda's iteration: inverse iteration shifted by the least left-end.

    References
    ----------
    Noda, *Note on the computation of the maximal eigenvalue of a non-negative irreducible matrix*,
    Numerische Mathematik 17 (1971).

    Examples
    --------
    >>> _, end = first_eigenvector(csr_array([[2.0, -1.0], [-1.0, 2.0]]), np.array([1.0, 0.5]))
    >>> round(end, 12)
    1.0
    """
    v = np.ones(matrix.shape[0]) if v is None else v
    scale = float(np.abs(matrix.diagonal()).max(initial=1e-300))
    identity = eye_array(len(v), format="csc")
    end = float(((matrix @ v) / v).min())
    for _ in range(_MOST_STEPS):
        solved = splu((matrix - (end - _SHIFT * scale) * identity).tocsc()).solve(v)
        if not (np.isfinite(solved).all() and solved.min() > 0):
            break  # singular to working precision
        solved /= solved.max()
        raised = float(((matrix @ solved) / solved).min())
        if raised - end <= _EIGENVALUE * scale:
            break
        v, end = solved, raised
    return v, end
