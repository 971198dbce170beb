"""A CVXPY problem with matrix inequalities, read: its matrices, and its linear parts.

All that is affine is a sparse matrix whose columns belong to the *point*: a 1, and then the entries
of all variables. Importing the module loads CVXPY.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array, csr_array, eye_array, hstack, vstack

from gdaopt.backends.arrays import BoolArray
from gdaopt.errors import InvalidInputError
from gdaopt.linalg.entries import Edges
from gdaopt.linalg.laplacian import labels_without_bridges
from gdaopt.support.cvxpy_internals import ConeForm
from gdaopt.support.text import shortened
from gdaopt.support.validation import FloatArray, check_instance

_MOST_ROUNDS = 6  # bound propagation may go on for ever


@dataclass(frozen=True, eq=False)
class AffineMatrix:
    """A symmetric matrix F(x) by its diagonal and its edges, where it is not 0 for all x.

    Attributes
    ----------
    source : cvxpy.Constraint or cvxpy.Variable
        What says that the matrix is positive semidefinite, as the user wrote it; for an atom such
        as `cvxpy.lambda_max` the inequality that CVXPY writes for it.
    inequality : cvxpy.Constraint
        The same in the variables of the model.
    diagonal, entries : csr_array
        The coefficients of F_ii, and of F_ij of each edge.
    edges : tuple of two ndarrays of shape (m,)
        i and j of each edge, i < j.
    """

    source: cp.Constraint | cp.Variable
    inequality: cp.Constraint
    diagonal: csr_array
    edges: Edges
    entries: csr_array

    @property
    def n_nodes(self) -> int:
        """The number of rows of F."""
        return int(self.diagonal.shape[0])

    @cached_property
    def in_cycle(self) -> BoolArray:
        """Which edges lie in a cycle: all others are bridges."""
        labels = labels_without_bridges(self.n_nodes, self.edges)
        first, second = self.edges
        return np.asarray(labels[first] == labels[second])

    def with_edges(self, index: npt.NDArray[Any]) -> AffineMatrix:
        """Return the matrix with some of its edges."""
        first, second = self.edges
        return replace(self, edges=(first[index], second[index]), entries=self.entries[index])

    def at(self, point: Any) -> tuple[Any, Any]:
        """Return the diagonal and the entries at a point, which may be an expression of CVXPY."""
        # CVXPY has no empty matrices before 1.9.
        entries = self.entries @ point if self.entries.shape[0] else np.zeros(0)
        return self.diagonal @ point, entries


def join(matrices: list[AffineMatrix]) -> AffineMatrix:
    """Return the matrix that has others as its diagonal blocks, at least one."""
    starts = np.cumsum([0, *(matrix.n_nodes for matrix in matrices)])
    shifts = np.repeat(starts[:-1], [len(matrix.edges[0]) for matrix in matrices])
    first, second = np.concatenate([matrix.edges for matrix in matrices], axis=1) + shifts
    return replace(
        matrices[0],
        diagonal=csr_array(vstack([matrix.diagonal for matrix in matrices])),
        edges=(first, second),
        entries=csr_array(vstack([matrix.entries for matrix in matrices])),
    )


@dataclass(frozen=True, eq=False)
class Model:
    """A problem, to be minimised, whose matrix inequalities stand apart.

    Attributes
    ----------
    form : ConeForm
        The problem in affine expressions, and in the variables of the model.
    matrices : list of AffineMatrix
        The matrix inequalities.
    linear, cones : list of cvxpy.Constraint
        All other constraints of the form.
    cost : csr_array of one row
        The coefficients of the objective.
    rows : csr_array
        Those of what is at least 0 by the linear constraints, one after the other.
    is_equality : ndarray of bool
        Which of these rows must be 0.
    is_integer : ndarray of bool
        Which entries of a point are whole numbers.
    """

    form: ConeForm
    matrices: list[AffineMatrix]
    linear: list[Any]
    cones: list[Any]
    cost: csr_array
    rows: csr_array
    is_equality: BoolArray
    is_integer: BoolArray

    @cached_property
    def is_harmed(self) -> tuple[BoolArray, BoolArray]:
        """Whether the objective or a constraint may suffer where an entry of x rises, or falls.

        Matrix inequalities are left out.
        """
        curved = [cp.vec(part, order="F") for cone in self.cones for part in cone.args]
        cones = self.form.read(curved)
        whole = eye_array(len(self.is_integer), format="csr")[self.is_integer]
        both_ways = vstack([self.rows[self.is_equality], cones, whole])
        harm = csr_array(vstack([self.cost, -self.rows, both_ways, -both_ways]))
        places = np.arange(len(self.is_integer))
        rises, falls = harm.indices[harm.data > 0], harm.indices[harm.data < 0]
        return np.isin(places, rises), np.isin(places, falls)

    def bounds(self, coefficients: csr_array) -> tuple[FloatArray, FloatArray]:
        """Return bounds of affine values by interval arithmetic over the rows.

        Each value is one more variable, with a row that says what it is.
        """
        count, size = coefficients.shape
        meaning = hstack([coefficients, -eye_array(count)])
        equal = vstack([widened(self.rows[self.is_equality], count), meaning])
        rows = coo_array(vstack([widened(self.rows, count), meaning, -equal]))
        (places, columns), numbers, n_rows = rows.coords, rows.data, rows.shape[0]
        lower, upper = np.full(size + count, -np.inf), np.full(size + count, np.inf)
        for _ in range(_MOST_ROUNDS):
            lower[0] = upper[0] = 1.0
            largest = numbers * np.where(numbers > 0, upper[columns], lower[columns])
            is_finite = np.isfinite(largest)
            finite = np.where(is_finite, largest, 0.0)
            sums = np.bincount(places, finite, minlength=n_rows)
            n_infinite = np.bincount(places, ~is_finite, minlength=n_rows)
            # The largest that the other terms of the row can be.
            is_bounded = n_infinite[places] == ~is_finite
            others = np.where(is_bounded, sums[places] - finite, np.inf)
            ends = -others / numbers
            np.maximum.at(lower, columns[numbers > 0], ends[numbers > 0])
            np.minimum.at(upper, columns[numbers < 0], ends[numbers < 0])
        return lower[size:], upper[size:]


def widened(coefficients: csr_array, count: int) -> csr_array:
    """Return coefficients with as many further variables, on which nothing depends."""
    shape = coefficients.shape[0], coefficients.shape[1] + count
    return csr_array((coefficients.data, coefficients.indices, coefficients.indptr), shape)


def read_model(problem: cp.Problem) -> Model:
    """Read a problem for the values that its parameters have.

    Raises
    ------
    InvalidInputError
        For problems without a matrix inequality, for matrices that are not affine, or complex, and
        for problems that CVXPY does not see to be convex.
    """
    check_instance("problem", problem, cp.Problem)
    for part in (problem.objective, *problem.constraints):
        if not part.is_dcp():
            raise InvalidInputError(
                f"{shortened(str(part))[1:-1]} is not convex by the rules of CVXPY; a matrix "
                "inequality must be affine in the variables"
            )
    for part in (*problem.variables(), *(each for row in problem.constraints for each in row.args)):
        if part.is_complex():
            raise InvalidInputError(
                f"{shortened(str(part))[1:-1]} is complex; write the real and the imaginary parts "
                "as two variables, and the matrix as a real one of twice the size"
            )
    form = ConeForm(problem)
    matrices, linear, cones = [], [], []
    for constraint in form.problem.constraints:
        if isinstance(constraint, cp.constraints.PSD) and constraint.args[0].ndim == 2:
            matrices.append(_read_matrix(form, constraint))
        elif isinstance(constraint, _EQUALITIES + _INEQUALITIES):
            linear.append(constraint)
        else:
            cones.append(constraint)
    if not matrices:
        raise InvalidInputError(
            "the problem has no matrix inequality; write one as F >> 0, or solve it without "
            "method='discs'"
        )
    truths, others = form.list_whole_numbers()
    if truths:
        x = form.point[1:]
        linear += [x[truths] >= 0, x[truths] <= 1]
    signs = [1 if isinstance(each, cp.constraints.NonNeg) else -1 for each in linear]
    rows = [sign * cp.vec(each.expr, order="F") for sign, each in zip(signs, linear, strict=True)]
    is_equality = [np.full(each.size, isinstance(each, _EQUALITIES)) for each in linear]
    return Model(
        form,
        matrices,
        linear,
        cones,
        form.read([form.problem.objective.args[0]]),
        form.read(rows),
        np.concatenate([np.zeros(0, dtype=bool), *is_equality]),
        np.isin(np.arange(form.point.size), 1 + np.array(truths + others)),
    )


_EQUALITIES = (cp.constraints.Equality, cp.constraints.Zero)
_INEQUALITIES = (cp.constraints.Inequality, cp.constraints.NonNeg, cp.constraints.NonPos)


def _read_matrix(form: ConeForm, inequality: Any) -> AffineMatrix:
    """Read an affine matrix; of one that is not symmetric its symmetric part, as CVXPY does."""
    matrix = inequality.args[0]
    size, full = matrix.shape[0], form.read([matrix])
    transposed = np.arange(size * size).reshape(size, size).T.ravel()
    half = csr_array(0.5 * (full + full[transposed]))
    half.eliminate_zeros()
    places = np.flatnonzero(np.diff(half.indptr))
    first, second = places % size, places // size
    is_edge = first < second
    return AffineMatrix(
        form.source_of(inequality),
        inequality,
        half[np.arange(size) * (size + 1)],
        (first[is_edge], second[is_edge]),
        half[places[is_edge]],
    )
