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
from gdaopt.lmi.cones import edge_cones
from gdaopt.lmi.graphs import incidence, symmetric
from gdaopt.lmi.model import AffineMap, Model, stack
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
    x : ndarray
        The entries of all variables one after the other.
    more : ndarray
        The entries of the variables that the program adds.
    multipliers : ndarray
        Of the rows that the program adds, each ≥ 0; all 0 with whole numbers.
    row_duals : ndarray
        The multipliers of the rows of the model, in the signs of CVXPY.
    """

    value: float
    x: FloatArray
    more: FloatArray
    multipliers: FloatArray
    row_duals: FloatArray


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
        if model.cost is None or not model.is_linear:
            raise InvalidInputError(
                "linear programs need a linear objective, and linear constraints beside the matrix "
                "inequalities; write those as rows, or take by='cones'"
            )
        self.model, self.n_solved, self._cost = model, 0, model.cost
        self._solver, self._options = solver, dict(options)
        matrices = [each.matrix for each in structure.inequalities]
        starts = np.cumsum([0, *(matrix.n_nodes for matrix in matrices)])
        self.n_nodes = int(starts[-1])
        self.edges = np.concatenate(
            [matrix.edges + start for matrix, start in zip(matrices, starts, strict=False)]
        )
        self._diagonal = stack([matrix.diagonal for matrix in matrices])
        self._entries = stack([matrix.entries for matrix in matrices])
        signs = np.concatenate([each.signs for each in structure.inequalities])
        unknown = np.flatnonzero(signs == 0)
        count = len(unknown)
        sizes = csr_array((np.ones(count), (unknown, np.arange(count))), (len(signs), count))
        self.magnitudes = (diags_array(signs) @ self._entries).with_variables(sizes)
        self.diagonal = self._diagonal.with_variables(count)
        bare = self._entries[unknown]  # each size is at least this, and its negative
        both = stack([bare, AffineMap(-bare.matrix, -bare.offset)])
        negative = -vstack([eye_array(count)] * 2)
        rows = stack([model.rows.with_variables(count), both.with_variables(negative)])
        is_equality = np.concatenate([model.is_equality, np.zeros(2 * count, dtype=bool)])
        self._program = LinearArrays.of(
            model.cost.with_variables(count).matrix.toarray()[0],
            rows.matrix,
            np.where(is_equality, -rows.offset, -np.inf),
            -rows.offset,
            np.concatenate([model.lower, np.full(count, -np.inf)]),
            np.concatenate([model.upper, np.full(count, np.inf)]),
        )

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
        v = np.maximum(v, _LEAST * v.max()) if v.any() else np.ones(self.n_nodes)
        first, second = self.edges.T
        ratios = incidence(first, self.n_nodes, -v[second] / v[first]) + incidence(
            second, self.n_nodes, -v[first] / v[second]
        )
        left_ends = self.diagonal + csr_array(ratios) @ self.magnitudes
        if spread == np.inf:
            return self.minimize(left_ends, whole)
        squares = v**2 / (v @ v)
        form = csr_array(squares[None, :]) @ left_ends
        if spread == 1:
            optimum, of_nodes = self.minimize(form), np.zeros(self.n_nodes)
        else:
            price = csr_array((1 - spread) * squares[None, :])
            short = left_ends.with_variables(eye_array(self.n_nodes))
            optimum = self.minimize(stack([short, form.with_variables(price)]))
            of_nodes = optimum.multipliers[:-1]
        return replace(optimum, multipliers=of_nodes + optimum.multipliers[-1] * squares)

    def bound_below(self, d: FloatArray) -> Optimum:
        """Return the optimum over all points with ``d'DF(x)Dd ≥ 0``; its value may be -∞."""
        try:
            return self.aligned(d, 1)
        except (InfeasibleProblemError, SolverFailedError):
            nothing = np.zeros(0)
            rows = np.zeros(len(self.model.is_equality))
            return Optimum(-np.inf, nothing, nothing, np.zeros(self.n_nodes), rows)

    def minimize(self, rows: AffineMap, whole: FloatArray | None = None) -> Optimum:
        """Minimise the objective where rows are ≥ 0; their last variables are new ones, all ≥ 0."""
        program, model = self._program, self.model
        n_old, n_rows = program.matrix.shape[1], program.matrix.shape[0]
        n_new = rows.matrix.shape[1] - n_old
        lower, upper = program.lower.copy(), program.upper.copy()
        if whole is not None:
            index = np.flatnonzero(model.is_integer)
            lower[index] = upper[index] = np.round(whole[index])
        arrays = LinearArrays.of(
            np.concatenate([program.cost, np.zeros(n_new)]),
            vstack([hstack([program.matrix, csr_array((n_rows, n_new))]), rows.matrix]),
            np.concatenate([program.row_lower, -rows.offset]),
            np.concatenate([program.row_upper, np.full(len(rows.offset), np.inf)]),
            np.concatenate([lower, np.zeros(n_new)]),
            np.concatenate([upper, np.full(n_new, np.inf)]),
        )
        self.n_solved += 1
        duals = np.zeros(arrays.pattern.n_rows)
        if model.is_integer.any() and whole is None:
            point = self._solve_whole(arrays)
        else:
            polytope = LinearPolytope.of(arrays, np.zeros(n_old + n_new))
            backend = make_backend(self._solver, self._options)
            with ignoring(category=InaccurateSolutionWarning):
                answer = backend.minimize(polytope, arrays.cost, Stopwatch(), None)
            if answer.status != "optimal":  # its value would be no bound
                raise SolverFailedError(f"{self._solver} calls a linear program {answer.status}")
            point = answer.point
            duals = duals if answer.row_duals is None else answer.row_duals
            observe(arrays.cost, polytope, point, point)
        return Optimum(
            float(arrays.cost @ point) + float(self._cost.offset[0]),
            model.symmetry @ point[: len(model.lower)],
            point[n_old:],
            np.maximum(duals[n_rows:], 0.0),
            -duals[: len(model.is_equality)],
        )

    def _solve_whole(self, arrays: LinearArrays) -> FloatArray:
        """Return the optimum of a program with whole numbers, by a solver that CVXPY calls."""
        compiled = CompiledProblem(arrays)
        compiled.assign(arrays)
        index = np.flatnonzero(self.model.is_integer)
        is_whole = compiled.x[index] == cp.Variable(len(index), integer=True)
        program = cp.Problem(compiled.problem.objective, [*compiled.problem.constraints, is_whole])
        solver = "HIGHS" if self._solver == "highspy" else self._solver
        solve_program(program, solver, solver_opts=self._options)
        return np.asarray(compiled.x.value, dtype=np.float64)

    # --- Points -------------------------------------------------------------------------------

    def switched(self, x: FloatArray) -> csr_array:
        """Return DF(x)D, whose off-diagonals are ``-|F_ij|``."""
        return symmetric(self._diagonal(x), self.edges, -np.abs(self._entries(x)))

    def first_alignment(self) -> FloatArray:
        """Return the first eigenvector at an interior point: discs that it aligns have a point."""
        return first_eigenvector(self.switched(self.interior_point))[0]

    def feasible_near(self, x: FloatArray) -> tuple[FloatArray, float]:
        """Return the point nearest to x on the line to an interior one, and its value.

        x must keep the linear constraints. Newton's steps never go too far, because the least
        eigenvalue is concave; where they are short, one goes to where its chord is 0.

        Returns
        -------
        x : ndarray
            A point that keeps all constraints.
        value : float
            Its value; infinity if none is found, because the interior is empty.
        """
        matrix = self.switched(x)
        v, end = first_eigenvector(matrix)
        if end < 0:
            inner = self.interior_point
            inside = self.switched(inner)
            _, deep = first_eigenvector(inside)
            if deep <= 0:
                return x, np.inf
        for _ in range(_MOST_STEPS):
            if end >= 0:
                return x, float(self._cost(x)[0])
            share = end / (end - deep) + _EIGENVALUE
            if end < -_EIGENVALUE * np.abs(matrix.diagonal()).max():
                at, there = float(v @ matrix @ v), float(v @ inside @ v)
                share = min(share, at / (at - there)) if at < 0 else share
            x = x + share * (inner - x)
            matrix = self.switched(x)
            v, end = first_eigenvector(matrix, v)
        return x, np.inf

    @cached_property
    def interior_point(self) -> FloatArray:
        """The x whose matrices have a least eigenvalue that is as large as possible, at most 1.

        Raises
        ------
        InfeasibleProblemError
            When that eigenvalue is negative for all x; the message has a vector that proves it.
        """
        compiled, least = CompiledProblem(self._program), cp.Variable()
        compiled.assign(self._program)
        x = compiled.x
        cones = edge_cones(self.diagonal(x) - least, self.edges, self.magnitudes(x))
        constraints = [least <= 1, *compiled.problem.constraints, *cones]
        program = cp.Problem(cp.Maximize(least), constraints)
        solve_program(program, "CLARABEL", gap=_GAP, name="search for an interior point")
        if program.value < -_GAP:
            vector = np.sqrt(np.maximum(np.atleast_1d(cones[-1].dual_value), 0.0))
            raise InfeasibleProblemError(
                f"each point has an eigenvalue below {program.value:.3g}: d'F(x)d is negative for "
                f"d = {np.array2string(vector, precision=4, threshold=8)}, up to signs"
            )
        point = np.asarray(x.value)[: len(self.model.lower)]
        return np.asarray(self.model.symmetry @ point)


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
