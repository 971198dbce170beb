"""A linear program as arrays: the one form that solvers see.

    min cost·x   s.t.   lower ≤ x ≤ upper,   row_lower ≤ A x ≤ row_upper

Our own programs are in units in which the numbers are about 1, and have bounds only where the
polytope has some: CVXPY makes a row of each. Others' programs may have bounds on any side.

The duals y of rows have one sign for all: the least value rises by about y when the bounds of the
row rise by 1, so that y > 0 is of a lower bound, and y < 0 of an upper one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from gdaopt.errors import InvalidInputError
from gdaopt.support.cvxpy_loading import cp
from gdaopt.support.validation import FloatArray, finite_array

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Pattern:
    """Where a program has coefficients and bounds: programs of one pattern differ in numbers only.

    Attributes
    ----------
    starts, columns : ndarray of int32
        Of the coefficients of the rows, as in a csr_array of shape (m, n).
    has_lower, has_upper, is_fixed : ndarray of bool, shape (n + m,)
        Which variables, then which rows, have a bound on a side only, on both, or are equalities.
        What is fixed has no other bound.
    """

    starts: npt.NDArray[np.int32]
    columns: npt.NDArray[np.int32]
    has_lower: BoolArray
    has_upper: BoolArray
    is_fixed: BoolArray

    @cached_property
    def key(self) -> tuple[int, bytes, bytes]:
        """What patterns that are equal have in common."""
        places = np.concatenate([self.starts, self.columns])
        sides = np.concatenate([self.has_lower, self.has_upper, self.is_fixed])
        return len(self.starts), places.tobytes(), sides.tobytes()

    @property
    def n_rows(self) -> int:
        """The number of rows, m."""
        return len(self.starts) - 1

    @cached_property
    def size(self) -> int:
        """The number of variables, n."""
        return len(self.is_fixed) - self.n_rows

    @cached_property
    def row_indices(self) -> npt.NDArray[np.intp]:
        """The row of each coefficient."""
        return np.repeat(np.arange(self.n_rows), np.diff(self.starts))

    @cached_property
    def column_indices(self) -> npt.NDArray[np.intp]:
        """The variable of each coefficient, of the type by which NumPy indexes without a copy."""
        return self.columns.astype(np.intp)

    @cached_property
    def every_column(self) -> npt.NDArray[np.int32]:
        """The numbers of all variables."""
        return np.arange(self.size, dtype=np.int32)

    @classmethod
    def of_bounds(
        cls, starts: npt.ArrayLike, columns: npt.ArrayLike, lower: FloatArray, upper: FloatArray
    ) -> Pattern:
        """Return the pattern of given bounds, of the variables and then of the rows."""
        fixed = lower == upper
        return cls(
            np.asarray(starts, dtype=np.int32),
            np.asarray(columns, dtype=np.int32),
            np.isfinite(lower) & ~fixed,
            np.isfinite(upper) & ~fixed,
            fixed,
        )


class Residuals(NamedTuple):
    """How far a point, with multipliers of the rows, is from an optimum; 0 at one.

    `feasibility` is the largest violation of a bound or a row. `gap` is the value minus the bound
    that the multipliers prove, over the size of the value's terms, or of the largest cost if
    that is larger: in units in which points are about 1, solvers see no smaller differences,
    however little of the value is left.
    """

    feasibility: float
    gap: float

    @property
    def total(self) -> float:
        """The sum of both; NaN if one is NaN."""
        return self.feasibility + abs(self.gap)


@dataclass(frozen=True, eq=False)
class LinearArrays:
    """The numbers of a linear program with n variables and m rows.

    Attributes
    ----------
    cost : ndarray of shape (n,)
        The costs.
    lower_bounds, upper_bounds : ndarray of shape (n + m,)
        Of the variables, then of the rows. They may be infinite, and are equal for an equality.
    pattern, coefficients : Pattern and ndarray of shape (n_coefficients,)
        Where the coefficients of the rows are, and these.
    cones : callable, optional
        What the arrays leave out of a program that is not linear: CVXPY constraints on a variable.

    Examples
    --------
    The diagonal program in shares of what the floors leave of the budget:

    >>> import numpy as np
    >>> from gdaopt.programs import Knapsack
    >>> arrays = Knapsack(np.ones(2), budget=5.0).arrays(np.array([-1.0, -2.0]))
    >>> arrays.cost, arrays.upper, arrays.coefficients, arrays.row_upper
    (array([ -500., -1000.]), array([inf, inf]), array([1., 1.]), array([1.]))
    >>> arrays.residuals(np.array([0.0, 1.0]), np.array([-1000.0])).gap
    0.0
    """

    cost: FloatArray
    lower_bounds: FloatArray
    upper_bounds: FloatArray
    pattern: Pattern
    coefficients: FloatArray
    cones: Callable[[cp.Variable], list[cp.Constraint]] | None = None

    @classmethod
    def of(
        cls,
        cost: npt.ArrayLike,
        matrix: Any,
        row_lower: npt.ArrayLike = -np.inf,
        row_upper: npt.ArrayLike = np.inf,
        lower: npt.ArrayLike = 0.0,
        upper: npt.ArrayLike = np.inf,
    ) -> LinearArrays:
        """Return a linear program by the arrays that other software has.

        Parameters
        ----------
        cost : array_like of shape (n,)
            The costs.
        matrix : array_like or sparse array of shape (m, n)
            The coefficients of the rows.
        row_lower, row_upper : array_like of shape (m,) or float, optional
            The bounds of the rows, which may be infinite.
        lower, upper : array_like of shape (n,) or float, optional
            The bounds of the variables; by default these are ≥ 0.

        Raises
        ------
        InvalidInputError
            For arrays whose shapes do not go together, NaN, infinite costs or coefficients, and
            bounds that contradict each other.

        Examples
        --------
        >>> arrays = LinearArrays.of([-1.0, -2.0], [[1.0, 1.0]], row_upper=[5.0])
        >>> arrays.residuals(np.array([0.0, 5.0]), np.array([-2.0])).total
        0.0
        """
        c = finite_array("cost", cost, 1)
        rows = csr_array(matrix, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != len(c):
            raise InvalidInputError(
                f"matrix has the shape {rows.shape}; with {len(c)} costs it must be (m, {len(c)})"
            )
        rows.sum_duplicates()
        if not np.isfinite(rows.data).all():
            raise InvalidInputError("matrix holds NaN or infinite numbers; all must be finite")
        both = []
        for name, of_variables, of_rows in (
            ("lower", lower, row_lower),
            ("upper", upper, row_upper),
        ):
            try:
                bounds = [
                    np.broadcast_to(np.asarray(bound, dtype=np.float64), size)
                    for bound, size in ((of_variables, len(c)), (of_rows, rows.shape[0]))
                ]
            except (TypeError, ValueError) as error:
                raise InvalidInputError(
                    f"the {name} bounds must be numbers, one for each of {len(c)} variables and of "
                    f"{rows.shape[0]} rows: {error}"
                ) from error
            both.append(np.concatenate(bounds))
        if not (both[0] <= both[1]).all():  # NaN is no order either
            i = int(np.argmin(both[0] <= both[1]))
            what = f"variable {i}" if i < len(c) else f"row {i - len(c)}"
            raise InvalidInputError(f"{what} has the bounds {both[0][i]:g} and {both[1][i]:g}")
        pattern = Pattern.of_bounds(rows.indptr, rows.indices, *both)
        return cls(c, both[0], both[1], pattern, rows.data)

    @property
    def lower(self) -> FloatArray:
        """The lower bounds of the variables, shape (n,)."""
        return self.lower_bounds[: self.pattern.size]

    @property
    def upper(self) -> FloatArray:
        """The upper bounds of the variables, shape (n,)."""
        return self.upper_bounds[: self.pattern.size]

    @property
    def row_lower(self) -> FloatArray:
        """The lower bounds of the rows, shape (m,)."""
        return self.lower_bounds[self.pattern.size :]

    @property
    def row_upper(self) -> FloatArray:
        """The upper bounds of the rows, shape (m,)."""
        return self.upper_bounds[self.pattern.size :]

    @property
    def matrix(self) -> csr_array:
        """The coefficients as a matrix of shape (m, n)."""
        pattern = self.pattern
        return csr_array(
            (self.coefficients, pattern.columns, pattern.starts),
            shape=(pattern.n_rows, pattern.size),
        )

    def row_values(self, point: FloatArray) -> FloatArray:
        """Return ``A x``, shape (m,)."""
        pattern = self.pattern
        terms = self.coefficients * point[pattern.column_indices]
        values = np.bincount(pattern.row_indices, terms, minlength=pattern.n_rows)
        floats: FloatArray = values.astype(np.float64, copy=False)  # if m = 0 they are whole
        return floats

    def reduced_costs(self, row_duals: FloatArray) -> FloatArray:
        """Return ``cost - A'y``, shape (n,)."""
        pattern = self.pattern
        terms = self.coefficients * row_duals[pattern.row_indices]
        products = np.bincount(pattern.column_indices, terms, minlength=pattern.size)
        reduced: FloatArray = self.cost - products
        return reduced

    def residuals(self, point: FloatArray, row_duals: FloatArray) -> Residuals:
        """Return how far a point is from an optimum; a dual y > 0 is of a row's lower bound."""
        rows, reduced = self.row_values(point), self.reduced_costs(row_duals)
        values, multipliers = np.concatenate([point, rows]), np.concatenate([reduced, row_duals])
        above, below = values - self.lower_bounds, self.upper_bounds - values
        # cost·x = reduced·x + y·Ax, and the multipliers prove the same for the bounds in the place
        # of x and Ax: the gap is the sum of these differences.
        # This runs once for each of thousands of small programs: reduce is faster than min.
        over = 0.0 - float(np.minimum.reduce(np.minimum(above, below), initial=0.0))
        gap = float(np.abs(multipliers) @ _slack(multipliers, above, below, values))
        costs = np.abs(self.cost)
        size = max(float(costs @ np.abs(point)), float(np.maximum.reduce(costs, initial=0.0)))
        return Residuals(over, gap / size if size else gap)


def _slack(
    multipliers: FloatArray, above: FloatArray, below: FloatArray, values: FloatArray
) -> FloatArray:
    """Return how far values are from the bound of their multiplier; `below` is overwritten.

    A multiplier without a bound on its side should be 0: the size of the value, or 1 if that is
    larger, stands for the distance.
    """
    slack = below
    np.copyto(slack, above, where=multipliers > 0)  # in half the time of where
    missing = np.isinf(slack)
    if np.count_nonzero(missing):
        np.copyto(slack, np.maximum(np.abs(values), 1.0), where=missing)
    return slack
