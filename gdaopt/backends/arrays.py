"""A linear program as arrays: bounds, rows on a fixed pattern, and names of its constraints.

    min cost·x   s.t.   lower ≤ x ≤ upper,   row_lower ≤ A x ≤ row_upper

Multipliers are λ ≥ 0, with one convention for all constraints: the least value falls by about λ
when the constraint is loosened by 1. For an equality ``a·x = b`` they have either sign, and the
least value falls by about λ when b rises by 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from gdaopt.errors import InvalidInputError
from gdaopt.support.validation import FloatArray, finite_array

_NO_BOUND = 1e6  # in units in which points are about 1: nothing gets there
_SMALLEST = np.finfo(np.float64).tiny  # of a size that one can divide by


@dataclass(frozen=True, eq=False)
class RowPattern:
    """Where the coefficients of the rows are: as in a csr_array of shape (m, n), n being `size`."""

    starts: npt.NDArray[np.int32]
    columns: npt.NDArray[np.int32]
    size: int

    @cached_property
    def row_indices(self) -> npt.NDArray[np.intp]:
        """The row of each coefficient."""
        return np.repeat(np.arange(self.n_rows), np.diff(self.starts))

    @cached_property
    def column_indices(self) -> npt.NDArray[np.intp]:
        """The variable of each coefficient, of the type by which NumPy indexes without a copy."""
        return self.columns.astype(np.intp)

    @cached_property
    def every_row(self) -> npt.NDArray[np.int32]:
        """The numbers of all rows."""
        return np.arange(self.n_rows, dtype=np.int32)

    @cached_property
    def every_column(self) -> npt.NDArray[np.int32]:
        """The numbers of all variables."""
        return np.arange(self.size, dtype=np.int32)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.starts) - 1

    def is_same(self, other: RowPattern) -> bool:
        """Say whether two patterns are equal."""
        return self is other or (
            self.size == other.size
            and np.array_equal(self.starts, other.starts)
            and np.array_equal(self.columns, other.columns)
        )

    @classmethod
    def of(
        cls, rows: npt.NDArray[np.intp], columns: npt.NDArray[np.intp], n_rows: int, size: int
    ) -> RowPattern:
        """Return the pattern of coefficients that are in order of their rows."""
        counts = np.bincount(rows, minlength=n_rows)
        starts = np.concatenate([[0], counts.cumsum()]).astype(np.int32)
        return cls(starts, columns.astype(np.int32), size)

    def with_dense(self, n_rows: int) -> RowPattern:
        """Return this pattern with rows below that have all coefficients."""
        below = self.starts[-1] + self.size * np.arange(1, n_rows + 1)
        return RowPattern(
            np.concatenate([self.starts, below.astype(np.int32)]),
            np.concatenate([self.columns, np.tile(np.arange(self.size), n_rows)]).astype(np.int32),
            self.size,
        )


@dataclass(frozen=True)
class Part:
    """Constraints of one name: bounds of the variables, or rows, in the slice `where`.

    A single constraint has a multiplier of the shape (). Rows that are neither equalities nor have
    lower bounds have upper bounds.
    """

    name: str
    kind: Literal["lower", "upper", "rows"]
    where: slice
    is_single: bool = False
    is_lower: bool = False
    is_equality: bool = False

    @property
    def sign(self) -> float:
        """The sign of the duals y of rows whose multipliers are positive."""
        return 1.0 if self.is_lower else -1.0


class Residuals(NamedTuple):
    """How far a point, with multipliers of the rows, is from an optimum; 0 at one.

    `feasibility` is the largest violation of a bound or a row. `gap` is the value minus the bound
    that the multipliers prove, over the size of the value's terms, or of the largest cost where
    that is larger: in units in which points are about 1, solvers see no smaller differences,
    however little of the value is left.
    """

    feasibility: float
    gap: float

    @property
    def total(self) -> float:
        """The sum of both; NaN where one is NaN."""
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
    pattern, coefficients : RowPattern and ndarray of shape (n_coefficients,)
        Where the coefficients of the rows are, and these.
    parts : tuple of Part
        The constraints by name. Where there is none, rows are named by what `sides` calls them.

    Examples
    --------
    >>> import numpy as np
    >>> from gdaopt.programs import DiagonalPolytope
    >>> arrays = DiagonalPolytope(np.ones(2), trace_bound=5.0).arrays(np.array([-1.0, -2.0]))
    >>> arrays.lower, arrays.row_upper, [part.name for part in arrays.parts]
    (array([1., 1.]), array([5.]), ['rows', 'budget'])
    >>> arrays.residuals(np.array([1.0, 4.0]), np.array([-2.0])).gap
    0.0
    """

    cost: FloatArray
    lower_bounds: FloatArray
    upper_bounds: FloatArray
    pattern: RowPattern
    coefficients: FloatArray
    parts: tuple[Part, ...]

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
                    np.broadcast_to(np.asarray(own, dtype=np.float64), size)
                    for own, size in ((of_variables, len(c)), (of_rows, rows.shape[0]))
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
        pattern = RowPattern(rows.indptr.astype(np.int32), rows.indices.astype(np.int32), len(c))
        return cls(c, both[0], both[1], pattern, rows.data, ())

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
    def sides(self) -> dict[str, npt.NDArray[np.bool_]]:
        """Which variables and rows are fixed, and which of the others have a bound on a side."""
        fixed = self.lower_bounds == self.upper_bounds
        lower, upper = np.isfinite(self.lower_bounds), np.isfinite(self.upper_bounds)
        return {"fixed": fixed, "lower": lower & ~fixed, "upper": upper & ~fixed}

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
        found: FloatArray = values.astype(np.float64, copy=False)  # whole numbers where m = 0
        return found

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

    def signed(self, multipliers: Mapping[str, FloatArray]) -> FloatArray:
        """Return the duals y of the rows, from their multipliers by name; 0 where there is none."""
        duals = np.zeros(self.pattern.n_rows)
        for part in self.parts:
            if part.kind == "rows" and part.name in multipliers:
                duals[part.where] = part.sign * multipliers[part.name]
        for side, rows in self._unnamed_rows().items():
            if side in multipliers:
                duals[rows] += multipliers[side] if side == "lower" else -multipliers[side]
        return duals

    def row_multipliers(self, row_duals: FloatArray) -> dict[str, FloatArray]:
        """Return the multipliers of the rows by name, from their duals y."""
        found = {}
        for part in self.parts:
            if part.kind == "rows":
                found[part.name] = _shaped(part, part.sign * row_duals[part.where])
        sides = self._unnamed_rows()
        for side, rows in sides.items():
            own = row_duals[rows] if side == "lower" else -row_duals[rows]
            # Of a row with bounds on both sides one multiplier is 0.
            has_both = (sides["lower"] & sides["upper"])[rows]
            found[side] = np.where(has_both & (own < 0), 0.0, own)
        return found

    def _unnamed_rows(self) -> dict[str, npt.NDArray[np.bool_]]:
        """Return the rows by what `sides` calls their bounds; none where constraints have names."""
        sides = {} if self.parts else self.sides
        return {side: chosen[self.pattern.size :] for side, chosen in sides.items()}

    def multipliers(self, rows: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """Return all multipliers by name, from those of rows: of bounds they are reduced costs."""
        duals = self.signed(rows)
        for part in self.parts:
            if part.kind == "rows" and not part.is_equality:
                own = duals[part.where]
                duals[part.where] = np.maximum(part.sign * own, 0.0) * part.sign
        found = self.row_multipliers(duals)
        reduced = self.reduced_costs(duals)
        for part in self.parts:
            if part.kind != "rows":
                own = reduced[part.where] if part.kind == "lower" else -reduced[part.where]
                found[part.name] = _shaped(part, np.maximum(own, 0.0))
        return found

    def in_units(
        self, unit: float | FloatArray, row_scale: FloatArray, cost: FloatArray
    ) -> LinearArrays:
        """Return the same program for the points divided by their unit, with costs in these units.

        An entry whose unit is 0 stays 0. Rows are multiplied by their scale; a row of scale 0
        holds, and its bounds are left out.
        """
        pattern = self.pattern
        size, units = pattern.size, np.full(pattern.size, unit)
        can_move = units >= _SMALLEST
        all_move = np.count_nonzero(can_move) == size
        inverse = 1 / (units if all_move else np.where(can_move, units, 1.0))
        scale = np.concatenate([inverse, row_scale])
        lower = _times(self.lower_bounds, scale, -np.inf)
        upper = _times(self.upper_bounds, scale, np.inf)
        upper[:size][upper[:size] > _NO_BOUND] = np.inf
        if not all_move:
            lower[:size][~can_move] = upper[:size][~can_move] = 0.0
        factors = units[pattern.column_indices] * row_scale[pattern.row_indices]
        coefficients = self.coefficients * factors
        return LinearArrays(cost, lower, upper, pattern, coefficients, self.parts)

    def with_cost(self, cost: FloatArray) -> LinearArrays:
        """Return the same program with another cost."""
        return LinearArrays(
            cost,
            self.lower_bounds,
            self.upper_bounds,
            self.pattern,
            self.coefficients,
            self.parts,
        )


def _slack(
    multipliers: FloatArray, above: FloatArray, below: FloatArray, values: FloatArray
) -> FloatArray:
    """Return how far values are from the bound of their multiplier; `below` is overwritten.

    A multiplier without a bound on its side should be 0: the size of the value, or 1 where that is
    larger, stands for the distance.
    """
    slack = below
    np.copyto(slack, above, where=multipliers > 0)  # in half the time of where
    missing = np.isinf(slack)
    if np.count_nonzero(missing):
        np.copyto(slack, np.maximum(np.abs(values), 1.0), where=missing)
    return slack


def _times(bounds: FloatArray, scale: FloatArray, nothing: float) -> FloatArray:
    """Return bounds times their scale, and no bound where it is 0."""
    if np.count_nonzero(scale) == len(scale):
        return bounds * scale
    return np.multiply(bounds, scale, out=np.full_like(bounds, nothing), where=scale > 0)


def _shaped(part: Part, values: FloatArray) -> FloatArray:
    return values.reshape(()) if part.is_single else values
