"""A CVXPY problem with matrix inequalities, read: its matrices, and its linear parts.

Importing the module loads CVXPY.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, hstack, vstack

from gdaopt.errors import InvalidInputError
from gdaopt.lmi.graphs import BoolArray, IntArray
from gdaopt.support.cvxpy_internals import AffineExpressions, replace_params_with_consts
from gdaopt.support.text import shortened
from gdaopt.support.validation import FloatArray, check_instance

_MOST_ROUNDS = 5  # bound propagation may go on for ever


@dataclass(frozen=True, eq=False)
class AffineMap:
    """``A x + b``."""

    matrix: csr_array
    offset: FloatArray

    def __call__(self, x: Any) -> Any:
        """Return the values at x, which may be an expression of CVXPY."""
        if not len(self.offset):
            return np.zeros(0)  # CVXPY 1.7 has no empty matrices
        return self.matrix @ x + self.offset

    def __getitem__(self, rows: npt.NDArray[Any]) -> AffineMap:
        return AffineMap(csr_array(self.matrix[rows]), self.offset[rows])

    def __rmatmul__(self, factors: Any) -> AffineMap:
        """Return ``S (A x + b)`` for a sparse matrix S."""
        return AffineMap(csr_array(factors @ self.matrix), factors @ self.offset)

    def __add__(self, other: AffineMap) -> AffineMap:
        return AffineMap(csr_array(self.matrix + other.matrix), self.offset + other.offset)

    def with_variables(self, columns: Any) -> AffineMap:
        """Return ``A x + b + C y`` for further variables y; C may be their number, which is 0."""
        if isinstance(columns, int):
            columns = csr_array((len(self.offset), columns))
        return AffineMap(csr_array(hstack([self.matrix, columns])), self.offset)

    def interval(self, lower: FloatArray, upper: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return bounds of the values where ``lower ≤ x ≤ upper``."""
        rows, columns = self.matrix.nonzero()
        at_lower, at_upper = self.matrix.data * lower[columns], self.matrix.data * upper[columns]
        size = len(self.offset)
        least = np.bincount(rows, np.minimum(at_lower, at_upper), minlength=size)
        largest = np.bincount(rows, np.maximum(at_lower, at_upper), minlength=size)
        return self.offset + least, self.offset + largest


def stack(maps: list[AffineMap]) -> AffineMap:
    """Return affine maps of the same variables one below the other."""
    offsets = np.concatenate([each.offset for each in maps])
    return AffineMap(csr_array(vstack([each.matrix for each in maps])), offsets)


@dataclass(frozen=True, eq=False)
class AffineMatrix:
    """A symmetric matrix F(x) by its diagonal and its edges, where it is not 0 for all x.

    Attributes
    ----------
    source : cvxpy.Constraint or cvxpy.Variable
        What says that the matrix is positive semidefinite, as the user wrote it.
    inequality : cvxpy.Constraint
        The same in the variables of the model.
    diagonal, entries : AffineMap
        The values F_ii, and F_ij of each edge.
    edges : ndarray of shape (m, 2)
        The pairs i < j.
    """

    source: cp.Constraint | cp.Variable
    inequality: cp.Constraint
    diagonal: AffineMap
    edges: IntArray
    entries: AffineMap

    @property
    def n_nodes(self) -> int:
        """The number of rows of F."""
        return len(self.diagonal.offset)

    def with_edges(self, index: npt.NDArray[Any]) -> AffineMatrix:
        """Return the matrix with some of its edges."""
        return replace(self, edges=self.edges[index], entries=self.entries[index])


@dataclass(frozen=True, eq=False)
class Model:
    """A problem whose matrix inequalities stand apart.

    Attributes
    ----------
    objective : cvxpy.Minimize or cvxpy.Maximize
        The objective.
    constraints : list of pairs of cvxpy.Constraint
        All but the matrix inequalities: as the user wrote them, and in `variables`.
    variables : list of pairs of cvxpy.Variable
        The user's, and those that take their places: other ones where the user's have ``PSD=True``.
    x : cvxpy.Expression
        The entries of all variables one after the other, each column by column.
    matrices : list of AffineMatrix
        The matrix inequalities.
    cost : AffineMap or None
        The objective, to be minimised; None if it is not affine.
    rows : AffineMap
        What the linear constraints say is at most 0, one constraint after the other.
    is_equality : ndarray of bool
        Which of these rows must be 0.
    lower, upper : ndarray
        Bounds of x by attributes of the variables.
    symmetry : csr_array
        What gives all entries of x from those that maps depend on: of symmetric variables the lower
        half, and of all others each one.
    """

    objective: cp.Minimize | cp.Maximize
    constraints: list[tuple[cp.Constraint, cp.Constraint]]
    variables: list[tuple[cp.Variable, cp.Variable]]
    x: cp.Expression
    matrices: list[AffineMatrix]
    cost: AffineMap | None
    rows: AffineMap
    is_equality: BoolArray
    lower: FloatArray
    upper: FloatArray
    symmetry: csr_array

    @property
    def sign(self) -> float:
        """What the objective is multiplied by to be minimised: 1 or -1."""
        return -1.0 if isinstance(self.objective, cp.Maximize) else 1.0

    @property
    def is_linear(self) -> bool:
        """Whether the objective and all constraints beside the matrices are linear."""
        return self.cost is not None and all(
            linear_row(user) is not None for user, _ in self.constraints
        )

    @property
    def is_integer(self) -> BoolArray:
        """Which entries of x are whole numbers."""
        masks = [
            _mask(user, user.integer_idx) | _mask(user, user.boolean_idx)
            for user, _ in self.variables
        ]
        return np.concatenate([mask.ravel(order="F") for mask in masks])

    def assign(self, x: FloatArray) -> None:
        """Give all variables the values of x, the user's own as well."""
        start = 0
        for pair in self.variables:
            entries = x[start : start + pair[0].size].reshape(pair[0].shape, order="F")
            for variable in pair:
                variable.save_value(entries)
            start += pair[0].size

    @cached_property
    def is_harmed(self) -> tuple[BoolArray, BoolArray]:
        """Whether the objective or a constraint may suffer where an entry of x rises, or falls.

        Matrix inequalities are left out.
        """
        rises, falls = np.isfinite(self.upper), np.isfinite(self.lower)
        both_ways: list[npt.NDArray[Any]] = [
            self.rows[np.flatnonzero(self.is_equality)].matrix.indices
        ]
        parts = [(user, linear_row(user)) for user, _ in self.constraints]
        curved: list[Any] = [user for user, row in parts if row is None]
        curved += [self.objective] if self.cost is None else []
        names = {variable.id for part in curved for variable in part.variables()}
        start = 0
        for pair in self.variables:
            if names & {each.id for each in pair}:
                both_ways.append(self.symmetry.indices[start : start + pair[0].size])
            start += pair[0].size
        both_ways.append(np.flatnonzero(self.is_integer))
        for part in (self.rows, *([] if self.cost is None else [self.cost])):
            rises[part.matrix.indices[part.matrix.data > 0]] = True
            falls[part.matrix.indices[part.matrix.data < 0]] = True
        for index in both_ways:
            rises[index] = falls[index] = True
        return rises, falls

    @cached_property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Bounds of x that follow from its own ones by interval arithmetic over the rows."""
        equal = self.rows[np.flatnonzero(self.is_equality)]
        rows = stack([self.rows, AffineMap(-equal.matrix, -equal.offset)])
        places, columns = rows.matrix.nonzero()
        numbers, size = rows.matrix.data, len(rows.offset)
        lower, upper = self.lower, self.upper
        for _ in range(_MOST_ROUNDS):
            before = lower, upper
            least = numbers * np.where(numbers > 0, lower[columns], upper[columns])
            is_finite = np.isfinite(least)
            sums = np.bincount(places, np.where(is_finite, least, 0.0), minlength=size)
            n_infinite = np.bincount(places, ~is_finite, minlength=size)
            # The least that the other terms of the row can be.
            is_bounded = n_infinite[places] == ~is_finite
            others = np.where(is_bounded, sums[places] - np.where(is_finite, least, 0.0), -np.inf)
            ends = (-rows.offset[places] - others) / numbers
            lower, upper = lower.copy(), upper.copy()
            np.minimum.at(upper, columns[numbers > 0], ends[numbers > 0])
            np.maximum.at(lower, columns[numbers < 0], ends[numbers < 0])
            if np.array_equal(before[0], lower) and np.array_equal(before[1], upper):
                break
        return lower, upper


def read_model(problem: cp.Problem) -> Model:
    """Read a problem for the values that its parameters have.

    Raises
    ------
    InvalidInputError
        For problems without a matrix inequality, and for matrices that are not affine, or complex.
    """
    check_instance("problem", problem, cp.Problem)
    for variable in problem.variables():
        if variable.is_complex():
            raise InvalidInputError(
                f"the variable {variable} is complex; write its real and imaginary parts as two "
                "variables, and the matrix as a real one of twice the size"
            )
    variables = [(variable, _without_cone(variable)) for variable in problem.variables()]
    leaves = {id(first): second for first, second in variables if first is not second}

    def placed(part: Any) -> Any:
        """Return the user's part itself, if it can stay: a solve then sets its dual values."""
        return part.tree_copy(leaves) if leaves else part

    symmetry = _symmetry([second for _, second in variables])

    def read(expression: cp.Expression) -> AffineMap:
        written = replace_params_with_consts(expression)
        matrix, offset = AffineExpressions([written], *(first for first, _ in variables)).arrays()
        return AffineMap(csr_array(matrix @ symmetry), offset)

    constraints, matrices = [], []
    for constraint in problem.constraints:
        pair = constraint, placed(constraint)
        if isinstance(constraint, cp.constraints.PSD):
            matrices.append(_matrix_of(*pair, constraint.args[0], read))
        else:
            constraints.append(pair)
    for variable, stand_in in variables:
        if variable is not stand_in:
            sign = 1.0 if variable.attributes["PSD"] else -1.0
            matrices.append(_matrix_of(variable, sign * stand_in >> 0, sign * variable, read))
    if not matrices:
        raise InvalidInputError(
            "the problem has no matrix inequality; write one as F >> 0, or solve it without "
            "method='discs'"
        )
    linear = [(user, linear_row(user)) for user, _ in constraints]
    rows = [(user, row) for user, row in linear if row is not None]
    is_equality = [np.full(row.size, isinstance(user, _EQUALITIES)) for user, row in rows]
    minimised = problem.objective.args[0] * (
        -1 if isinstance(problem.objective, cp.Maximize) else 1
    )
    size = symmetry.shape[0]
    return Model(
        placed(problem.objective),
        constraints,
        variables,
        cp.hstack([cp.vec(second, order="F") for _, second in variables]),
        matrices,
        read(minimised) if minimised.is_affine() else None,
        read(cp.hstack([row for _, row in rows]))
        if rows
        else AffineMap(csr_array((0, size)), np.zeros(0)),
        np.concatenate([np.zeros(0, dtype=bool), *is_equality]),
        *_bounds_of(variables, symmetry),
        symmetry,
    )


_EQUALITIES = (cp.constraints.Equality, cp.constraints.Zero)


def linear_row(constraint: cp.Constraint) -> Any:
    """Return the vector that a linear constraint says is ≤ 0, or 0; None for other constraints."""
    if not all(argument.is_affine() for argument in constraint.args):
        return None
    kinds = cp.constraints
    if isinstance(constraint, kinds.Inequality | kinds.Equality):
        return cp.vec(constraint.args[0] - constraint.args[1], order="F")
    if isinstance(constraint, kinds.NonPos | kinds.NonNeg | kinds.Zero):
        sign = -1 if isinstance(constraint, kinds.NonNeg) else 1
        return cp.vec(sign * constraint.args[0], order="F")
    return None


def _without_cone(variable: cp.Variable) -> cp.Variable:
    """Return a symmetric variable for one that is positive or negative semidefinite."""
    if variable.attributes["PSD"] or variable.attributes["NSD"]:
        return cp.Variable(variable.shape, symmetric=True)
    return variable


def _symmetry(variables: list[cp.Variable]) -> csr_array:
    """Return the matrix that counts the entries of a symmetric variable once, in its lower half."""
    columns, start = [], 0
    for variable in variables:
        places = start + np.arange(variable.size).reshape(variable.shape, order="F")
        is_folded = variable.ndim == 2 and variable.is_symmetric()
        columns.append((np.minimum(places, places.T) if is_folded else places).ravel(order="F"))
        start += variable.size
    return csr_array((np.ones(start), (np.arange(start), np.concatenate(columns))), (start, start))


def _matrix_of(
    source: Any, inequality: cp.Constraint, matrix: cp.Expression, read: Any
) -> AffineMatrix:
    """Read an affine matrix; of one that is not symmetric its symmetric part, as CVXPY does."""
    if not matrix.is_affine() or matrix.is_complex():
        what = "complex" if matrix.is_complex() else "not affine"
        raise InvalidInputError(
            f"the matrix {shortened(str(matrix))[1:-1]} is {what}; discs are for real matrices "
            "that are affine in the variables"
        )
    size, full = matrix.shape[0], read(matrix)
    transposed = np.arange(size * size).reshape(size, size).T.ravel()
    half = csr_array(0.5 * (full.matrix + full.matrix[transposed]))
    offset = 0.5 * (full.offset + full.offset[transposed])
    half.eliminate_zeros()
    places = np.union1d(np.flatnonzero(np.diff(half.indptr)), np.flatnonzero(offset))
    first, second = places % size, places // size
    is_edge = first < second
    symmetric = AffineMap(half, offset)
    return AffineMatrix(
        source,
        inequality,
        symmetric[np.arange(size) * (size + 1)],
        np.stack([first[is_edge], second[is_edge]], axis=1),
        symmetric[places[is_edge]],
    )


def _mask(variable: cp.Variable, index: Any) -> BoolArray:
    """Return which entries of a variable an index names."""
    mask = np.zeros(variable.shape or (1,), dtype=bool)
    if len(index):
        mask[tuple(index)] = True
    return mask.reshape(variable.shape)


def _bounds_of(
    variables: list[tuple[cp.Variable, cp.Variable]], symmetry: csr_array
) -> tuple[FloatArray, FloatArray]:
    """Return the bounds of x that the attributes of variables say."""
    lower, upper = [], []
    for variable, _ in variables:
        has = variable.attributes
        low, high = np.full(variable.shape, -np.inf), np.full(variable.shape, np.inf)
        if has["nonneg"] or has["pos"]:
            low = np.zeros(variable.shape)
        if has["nonpos"] or has["neg"]:
            high = np.zeros(variable.shape)
        is_truth = _mask(variable, variable.boolean_idx)
        low, high = np.where(is_truth, 0.0, low), np.where(is_truth, 1.0, high)
        if isinstance(has["bounds"], list | tuple):
            ends: list[Any] = [getattr(bound, "value", bound) for bound in has["bounds"]]
            low, high = np.maximum(low, ends[0]), np.minimum(high, ends[1])
        if has["diag"] or has["sparsity"]:
            inside = variable.sparse_idx if has["sparsity"] else np.diag_indices(len(low))
            is_zero = ~_mask(variable, inside)
            low, high = np.where(is_zero, 0.0, low), np.where(is_zero, 0.0, high)
        lower.append(low.ravel(order="F"))
        upper.append(high.ravel(order="F"))
    places, least, largest = symmetry.indices, *np.zeros((2, symmetry.shape[0]))
    least[places], largest[places] = -np.inf, np.inf  # what no map depends on stays 0
    np.maximum.at(least, places, np.concatenate(lower))
    np.minimum.at(largest, places, np.concatenate(upper))
    return least, largest
