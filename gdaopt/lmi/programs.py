"""The linear programs of aligned discs: bounds from above and from below by one vector.

See `docs/theory/lmi.md`, "Theorem: one vector, two linear programs".
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np
from scipy.sparse import csr_array, diags_array, eye_array, hstack, vstack

from gdaopt.backends import LinearArrays, Stopwatch
from gdaopt.backends.cvxpy import CompiledProblem, solve_program
from gdaopt.backends.registry import make_backend
from gdaopt.errors import (
    InaccurateSolutionWarning,
    InfeasibleProblemError,
    InvalidInputError,
    SolverFailedError,
)
from gdaopt.linalg.balance import first_eigenvector
from gdaopt.linalg.entries import incidence, sparse_symmetric
from gdaopt.lmi.cones import edge_cones
from gdaopt.lmi.model import join, widened
from gdaopt.lmi.signs import Structure
from gdaopt.programs.base import observe
from gdaopt.programs.linear import LinearPolytope
from gdaopt.support.validation import FloatArray
from gdaopt.support.warning_filters import ignoring

_MOST_STEPS = 30  # Newton's method converges quadratically
_EIGENVALUE = 1e-12  # relative to the diagonal: a matrix is singular
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

    def __init__(self, structure: Structure, solver: str, options: Mapping[str, Any]) -> None:
        for each in structure.inequalities:
            if not each.is_exact or each.is_free:
                raise InvalidInputError(
                    f"{each}; linear programs and their proofs need the signs of its own entries, "
                    "so take by='cones'"
                )
        self.structure, self.model = structure, structure.model
        if self.model.cones:
            raise InvalidInputError(
                "linear programs need an objective and constraints, beside the matrix "
                "inequalities, that CVXPY writes as rows; take by='cones' for others"
            )
        self._solver, self._options, self.n_solved = solver, dict(options), 0
        self.matrix = join([each.matrix for each in structure.inequalities])
        entries = self.matrix.entries
        signs = np.concatenate([each.signs for each in structure.inequalities])
        unknown = signs == 0
        count = int(np.count_nonzero(unknown))
        of_edges = eye_array(len(signs), format="csr")[:, unknown]
        self.diagonal = widened(self.matrix.diagonal, count)
        self.magnitudes = csr_array(hstack([diags_array(signs) @ entries, of_edges]))
        sides = [hstack([bare, eye_array(count)]) for bare in (entries[unknown], -entries[unknown])]
        self._rows = csr_array(vstack([widened(self.model.rows, count), *sides]))

    # --- The programs -------------------------------------------------------------------------

    def aligned(self, v: FloatArray, spread: float = np.inf) -> Optimum:
        """Return the optimum where left-ends are aligned by v > 0, and their multipliers are near.

        These are at most `spread` times as far apart as the squares of v. With infinity, the
        default, all left-ends have to be ≥ 0, which keeps the matrix inequalities: the value is an
        upper bound. Else the left-ends may fall short, at a price.
        """
        left_ends, squares = self._align(v)
        if spread == np.inf:
            return self.minimize(left_ends)
        short = hstack([left_ends, eye_array(len(v))])
        form = hstack([squares @ left_ends, (1 - spread) * squares])
        optimum = self.minimize(csr_array(vstack([short, form])))
        of_nodes, of_form = optimum.multipliers[:-1], optimum.multipliers[-1]
        return replace(optimum, multipliers=of_nodes + of_form * squares.toarray()[0])

    def bound_below(self, d: FloatArray) -> Optimum:
        """Return the optimum over all points with ``d'DF(x)Dd ≥ 0``; its value may be -∞."""
        left_ends, squares = self._align(d)
        try:
            optimum = self.minimize(csr_array(squares @ left_ends))
        except (InfeasibleProblemError, SolverFailedError):
            return NO_BOUND
        return replace(optimum, multipliers=optimum.multipliers * squares.toarray()[0])

    def _align(self, v: FloatArray) -> tuple[csr_array, csr_array]:
        """Return the coefficients of the left-ends that v aligns, and the row of its squares."""
        v = np.maximum(v, _LEAST * v.max()) if v.any() else np.ones(len(v))
        first, second = self.matrix.edges
        ratios = v[second] / v[first]
        radii = incidence(first, len(v), ratios) + incidence(second, len(v), 1 / ratios)
        left_ends = csr_array(self.diagonal - radii @ self.magnitudes)
        return left_ends, csr_array(v[None, :] ** 2 / (v @ v))

    def minimize(self, rows: csr_array) -> Optimum:
        """Minimise the objective where rows are ≥ 0; their last variables are new ones, all ≥ 0."""
        model, (n_rows, n_old) = self.model, self._rows.shape
        n_new = rows.shape[1] - n_old
        everything = vstack([widened(self._rows, n_new), rows]).tocsc()
        cost = widened(model.cost, rows.shape[1] - model.cost.shape[1]).toarray()[0]
        least = -everything[:, [0]].toarray().ravel()
        most, equal = np.full(len(least), np.inf), np.flatnonzero(model.is_equality)
        most[equal] = least[equal]
        lower = np.repeat([-np.inf, 0.0], [n_old - 1, n_new])
        arrays = LinearArrays.of(cost[1:], everything[:, 1:], least, most, lower)
        self.n_solved += 1
        if model.is_integer.any():
            point, duals = self._solve_whole(arrays), None
        else:
            polytope = LinearPolytope.of(arrays, np.zeros(len(lower)))
            backend = make_backend(self._solver, self._options)
            with ignoring(category=InaccurateSolutionWarning):
                answer = backend.minimize(polytope, arrays.cost, Stopwatch(), None)
            if answer.status != "optimal":  # its value would be no bound
                raise SolverFailedError(f"{self._solver} calls a linear program {answer.status}")
            point, duals = answer.point, answer.row_duals
            observe(arrays.cost, polytope, point, point)
        duals = np.zeros(len(least)) if duals is None else duals
        return Optimum(
            float(cost[0] + cost[1:] @ point),
            np.append(1.0, point[: model.cost.shape[1] - 1]),
            point[n_old - 1 :],
            np.maximum(duals[n_rows:], 0.0),
            duals[: len(model.is_equality)],
        )

    def _solve_whole(self, arrays: LinearArrays) -> FloatArray:
        """Return the optimum of a program with whole numbers, by a solver that CVXPY calls."""
        index = np.flatnonzero(self.model.is_integer) - 1
        whole = cp.Variable(len(index), integer=True)
        compiled = CompiledProblem(replace(arrays, cones=lambda x: [x[index] == whole]))
        compiled.assign(arrays)
        solver = "HIGHS" if self._solver == "highspy" else self._solver
        solve_program(compiled.problem, solver, solver_opts=self._options)
        return np.asarray(compiled.x.value, dtype=np.float64)

    # --- Points -------------------------------------------------------------------------------

    def switched(self, point: FloatArray) -> csr_array:
        """Return DF(x)D, whose off-diagonals are ``-|F_ij|``."""
        diagonal, entries = self.matrix.at(point)
        return sparse_symmetric(diagonal, self.matrix.edges, -np.abs(entries))

    def first_alignment(self) -> FloatArray:
        """Return the first eigenvector at an interior point: discs that it aligns have a point.

        With whole numbers no such point is looked for; all entries are 1 then.
        """
        if self.model.is_integer.any():
            return np.ones(self.matrix.n_nodes)
        return self.interior[1]

    def feasible_near(self, point: FloatArray) -> tuple[FloatArray, float]:
        """Return the nearest point on the line to an interior one, and its value.

        The point must keep the linear constraints. Newton's steps never go too far, because the
        least eigenvalue is concave; where they are short, one goes to where its chord is 0.

        With whole numbers it is the optimum of the discs that the first eigenvector aligns.

        Returns
        -------
        point : ndarray
            A point that keeps all constraints.
        value : float
            Its value; infinity if none is found, because the interior is empty.
        """
        if self.model.is_integer.any():
            with suppress(InfeasibleProblemError):
                above = self.aligned(first_eigenvector(self.switched(point))[0])
                return above.point, above.value
            return point, np.inf
        v = None
        for _ in range(_MOST_STEPS):
            matrix = self.switched(point)
            v, end = first_eigenvector(matrix, v)
            if end >= 0:
                return point, (self.model.cost @ point).item()
            interior, _, depth = self.interior
            if depth <= 0:
                break
            share = end / (end - depth) + _EIGENVALUE
            at, there = float(v @ matrix @ v), float(v @ self.switched(interior) @ v)
            if end < -_EIGENVALUE * np.abs(matrix.diagonal()).max() and at < 0:
                share = min(share, at / (at - there))
            point = point + share * (interior - point)
        return point, np.inf

    @cached_property
    def interior(self) -> tuple[FloatArray, FloatArray, float]:
        """A point with a largest least eigenvalue, at most 1; its first eigenvector, and the value.

        Raises
        ------
        InfeasibleProblemError
            When that eigenvalue is negative for all x; the message has a vector that proves it.
        """
        model, least = self.model, cp.Variable()
        diagonal, entries = self.matrix.at(model.form.point)
        cones = edge_cones(diagonal - least, self.matrix.edges, entries)
        program = cp.Problem(cp.Maximize(least), [least <= 1, *model.linear, *cones])
        solve_program(program, "CLARABEL", gap=_GAP, name="search for an interior point")
        if program.value < -_GAP:
            vector = np.sqrt(np.maximum(np.atleast_1d(cones[-1].dual_value), 0.0))
            raise InfeasibleProblemError(
                f"each point has an eigenvalue below {program.value:.3g}: d'F(x)d is negative for "
                f"d = {np.array2string(vector, precision=4, threshold=8)}, up to signs"
            )
        point = np.asarray(model.form.point.value)
        return point, *first_eigenvector(self.switched(point))
