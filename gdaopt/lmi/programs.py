"""The linear programs of aligned discs: bounds from above and from below by one vector.

See `docs/theory/lmi.md`, "Theorem: one vector, two linear programs".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np
from scipy.sparse import csr_array, diags_array, eye_array, hstack, vstack
from scipy.sparse.linalg import splu

from gdaopt.backends import LinearArrays, Stopwatch
from gdaopt.backends.cvxpy import CompiledProblem, solve_program
from gdaopt.backends.registry import make_backend
from gdaopt.errors import (
    InaccurateSolutionWarning,
    InfeasibleProblemError,
    InvalidInputError,
    SolverFailedError,
)
from gdaopt.linalg.entries import sparse_symmetric
from gdaopt.lmi.cones import edge_cones, incidence
from gdaopt.lmi.model import Model, join, widened
from gdaopt.lmi.signs import Structure
from gdaopt.programs.base import observe
from gdaopt.programs.linear import LinearPolytope
from gdaopt.support.validation import FloatArray
from gdaopt.support.warning_filters import ignoring

_MOST_STEPS = 30  # inverse iteration and Newton's method converge quadratically
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
    point : ndarray
        1, and then the entries of the variables of the model.
    more : ndarray
        The entries of the variables that the program adds.
    multipliers : ndarray
        Of the rows that the program adds, each ≥ 0; all 0 with whole numbers.
    row_duals : ndarray
        Those of the rows of the model, in the signs of CVXPY.
    """

    value: float
    point: FloatArray
    more: FloatArray
    multipliers: FloatArray
    row_duals: FloatArray


NO_BOUND = Optimum(-np.inf, *[np.zeros(0)] * 4)
"""What is known of a program that has no optimum."""


class DiscPrograms:
    """The linear programs of a problem whose matrix inequalities are exact.

    All matrices are handled as one, with a diagonal block for each. The magnitudes |F_ij| are
    affine where the sign is known; for bridges of unknown sign they are variables.
    """

    def __init__(
        self, model: Model, structure: Structure, solver: str, options: Mapping[str, Any]
    ) -> None:
        for each in structure.inequalities:
            if not each.is_exact:
                raise InvalidInputError(str(each))
            if each.is_free:
                raise InvalidInputError(
                    f"{each}; linear programs and their proofs know the signs of its own entries "
                    "only, so take by='cones'"
                )
        if model.cones:
            raise InvalidInputError(
                "linear programs need an objective and constraints, beside the matrix "
                "inequalities, that CVXPY writes as rows; take by='cones' for others"
            )
        self.model, self.structure, self.n_solved = model, structure, 0
        self._solver, self._options = solver, dict(options)
        self.matrix = join([each.matrix for each in structure.inequalities])
        entries = self.matrix.entries
        signs = np.concatenate([each.signs for each in structure.inequalities])
        unknown = signs == 0
        count = int(np.count_nonzero(unknown))
        sizes = eye_array(count)
        of_edges = eye_array(len(signs), format="csr")[:, unknown]
        self.diagonal = widened(self.matrix.diagonal, count)
        self.magnitudes = csr_array(hstack([diags_array(signs) @ entries, of_edges]))
        sides = [hstack([bare, sizes]) for bare in (entries[unknown], -entries[unknown])]
        self._rows = csr_array(vstack([widened(model.rows, count), *sides]))

    # --- The programs -------------------------------------------------------------------------

    def aligned(
        self, v: FloatArray, spread: float = np.inf, whole: FloatArray | None = None
    ) -> Optimum:
        """Return the optimum where left-ends are aligned by v > 0, and their multipliers are near.

        These are at most `spread` times as far apart as the squares of v. With infinity, the
        default, all left-ends have to be ≥ 0, which keeps the matrix inequalities: the value is an
        upper bound. With 1 only ``v'DF(x)Dv ≥ 0`` is left: the value is a lower bound. Between them
        the left-ends may fall short, at a price. Where `whole` is a point, whole numbers are its.
        """
        size = self.matrix.n_nodes
        v = np.maximum(v, _LEAST * v.max()) if v.any() else np.ones(size)
        first, second = self.matrix.edges
        ratios = v[second] / v[first]
        radii = incidence(first, size, ratios) + incidence(second, size, 1 / ratios)
        left_ends = csr_array(self.diagonal - radii @ self.magnitudes)
        if spread == np.inf:
            return self.minimize(left_ends, whole)
        squares = v**2 / (v @ v)
        form = csr_array(squares[None, :]) @ left_ends
        if spread == 1:
            optimum, of_nodes = self.minimize(form), np.zeros(size)
        else:
            price = csr_array((1 - spread) * squares[None, :])
            short = [hstack([left_ends, eye_array(size)]), hstack([form, price])]
            optimum = self.minimize(csr_array(vstack(short)))
            of_nodes = optimum.multipliers[:-1]
        return replace(optimum, multipliers=of_nodes + optimum.multipliers[-1] * squares)

    def bound_below(self, d: FloatArray) -> Optimum:
        """Return the optimum over all points with ``d'DF(x)Dd ≥ 0``; its value may be -∞."""
        try:
            return self.aligned(d, 1)
        except (InfeasibleProblemError, SolverFailedError):
            return NO_BOUND

    def minimize(self, rows: csr_array, whole: FloatArray | None = None) -> Optimum:
        """Minimise the objective where rows are ≥ 0; their last variables are new ones, all ≥ 0."""
        model, n_old = self.model, self._rows.shape[1]
        n_new, n_rows = rows.shape[1] - n_old, self._rows.shape[0]
        everything = vstack([widened(self._rows, n_new), rows]).tocsc()
        least = -everything[:, [0]].toarray().ravel()
        most, equal = np.full(len(least), np.inf), np.flatnonzero(model.is_equality)
        most[equal] = least[equal]
        lower = np.where(np.arange(1, n_old + n_new) < n_old, -np.inf, 0.0)
        upper = np.full(len(lower), np.inf)
        if whole is not None:
            index = np.flatnonzero(model.is_integer)
            lower[index - 1] = upper[index - 1] = np.round(whole[index])
        cost = widened(model.cost, n_old + n_new - model.cost.shape[1]).toarray()[0]
        arrays = LinearArrays.of(cost[1:], everything[:, 1:], least, most, lower, upper)
        self.n_solved += 1
        duals = np.zeros(len(least))
        if model.is_integer.any() and whole is None:
            point = self._solve_whole(arrays)
        else:
            polytope = LinearPolytope.of(arrays, np.zeros(len(lower)))
            backend = make_backend(self._solver, self._options)
            with ignoring(category=InaccurateSolutionWarning):
                answer = backend.minimize(polytope, arrays.cost, Stopwatch(), None)
            if answer.status != "optimal":  # its value would be no bound
                raise SolverFailedError(f"{self._solver} calls a linear program {answer.status}")
            point = answer.point
            duals = duals if answer.row_duals is None else answer.row_duals
            observe(arrays.cost, polytope, point, point)
        return Optimum(
            float(cost[0] + cost[1:] @ point),
            np.append(1.0, point[: model.cost.shape[1] - 1]),
            point[n_old - 1 :],
            np.maximum(duals[n_rows:], 0.0),
            duals[: len(model.is_equality)],
        )

    def _solve_whole(self, arrays: LinearArrays) -> FloatArray:
        """Return the optimum of a program with whole numbers, by a solver that CVXPY calls."""
        compiled = CompiledProblem(arrays)
        compiled.assign(arrays)
        index = np.flatnonzero(self.model.is_integer) - 1
        is_whole = compiled.x[index] == cp.Variable(len(index), integer=True)
        program = cp.Problem(compiled.problem.objective, [*compiled.problem.constraints, is_whole])
        solver = "HIGHS" if self._solver == "highspy" else self._solver
        solve_program(program, solver, solver_opts=self._options)
        return np.asarray(compiled.x.value, dtype=np.float64)

    # --- Points -------------------------------------------------------------------------------

    def switched(self, point: FloatArray) -> csr_array:
        """Return DF(x)D, whose off-diagonals are ``-|F_ij|``."""
        diagonal, entries = self.matrix.at(point)
        return sparse_symmetric(diagonal, self.matrix.edges, -np.abs(entries))

    def first_alignment(self) -> FloatArray:
        """Return the first eigenvector at an interior point: discs that it aligns have a point."""
        return first_eigenvector(self.switched(self.interior_point))[0]

    def feasible_near(self, point: FloatArray) -> tuple[FloatArray, float]:
        """Return the nearest point on the line to an interior one, and its value.

        The point must keep the linear constraints. Newton's steps never go too far, because the
        least eigenvalue is concave; where they are short, one goes to where its chord is 0.

        Returns
        -------
        point : ndarray
            A point that keeps all constraints.
        value : float
            Its value; infinity if none is found, because the interior is empty.
        """
        v = None
        for _ in range(_MOST_STEPS):
            matrix = self.switched(point)
            v, end = first_eigenvector(matrix, v)
            if end >= 0:
                return point, (self.model.cost @ point).item()
            inside = self.switched(self.interior_point)
            if self._depth <= 0:
                break
            share = end / (end - self._depth) + _EIGENVALUE
            at, there = float(v @ matrix @ v), float(v @ inside @ v)
            if end < -_EIGENVALUE * np.abs(matrix.diagonal()).max() and at < 0:
                share = min(share, at / (at - there))
            point = point + share * (self.interior_point - point)
        return point, np.inf

    @cached_property
    def _depth(self) -> float:
        """The least eigenvalue at the interior point."""
        return first_eigenvector(self.switched(self.interior_point))[1]

    @cached_property
    def interior_point(self) -> FloatArray:
        """The point whose matrices have a least eigenvalue that is largest, at most 1.

        Raises
        ------
        InfeasibleProblemError
            When that eigenvalue is negative for all x; the message has a vector that proves it.
        """
        rows, is_equality = self.model.rows, self.model.is_equality
        least, new = cp.Variable(), cp.Variable(rows.shape[1] - 1)
        point, constraints = cp.hstack([1.0, new]), [least <= 1]
        if is_equality.any():
            constraints.append(rows[is_equality] @ point == 0)
        if not is_equality.all():
            constraints.append(rows[~is_equality] @ point >= 0)
        diagonal, entries = self.matrix.at(point)
        cones = edge_cones(diagonal - least, self.matrix.edges, entries)
        program = cp.Problem(cp.Maximize(least), [*constraints, *cones])
        solve_program(program, "CLARABEL", gap=_GAP, name="search for an interior point")
        if program.value < -_GAP:
            vector = np.sqrt(np.maximum(np.atleast_1d(cones[-1].dual_value), 0.0))
            raise InfeasibleProblemError(
                f"each point has an eigenvalue below {program.value:.3g}: d'F(x)d is negative for "
                f"d = {np.array2string(vector, precision=4, threshold=8)}, up to signs"
            )
        return np.asarray(point.value)


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
