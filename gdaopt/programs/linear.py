"""Any linear program with bounds, by its arrays: what others give solvers to be compared on."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from gdaopt.backends import LinearArrays, RowPattern
from gdaopt.errors import InvalidInputError
from gdaopt.programs.base import Program, ProgramOptions
from gdaopt.support.cvxpy_loading import cp
from gdaopt.support.validation import FloatArray


@dataclass(frozen=True, eq=False)
class LinearPolytope:
    """``{x : lower ≤ x ≤ upper, row_lower ≤ A x ≤ row_upper}``, in its own units.

    Parameters
    ----------
    lower_bounds, upper_bounds : ndarray of shape (n + m,)
        Of the variables, then of the rows; see `gdaopt.backends.LinearArrays`.
    starts, columns : ndarray of int32
        Where the coefficients are; see `gdaopt.backends.RowPattern`.
    coefficients : ndarray of shape (n_coefficients,)
        Of the rows.
    current : ndarray of shape (n,)
        A point known to be inside.
    """

    lower_bounds: FloatArray
    upper_bounds: FloatArray
    starts: npt.NDArray[np.int32]
    columns: npt.NDArray[np.int32]
    coefficients: FloatArray
    current: FloatArray

    unit = 1.0

    def __post_init__(self) -> None:
        # A pattern that is damaged would let solvers read what lies behind the arrays.
        shape = (len(self.starts) - 1, len(self.current))
        csr_array((self.coefficients, self.columns, self.starts), shape).check_format()
        if not len(self.lower_bounds) == len(self.upper_bounds) == sum(shape):
            raise InvalidInputError(f"the bounds must be {sum(shape)}, of variables and rows")

    @cached_property
    def pattern(self) -> RowPattern:
        """Where the coefficients are."""
        return RowPattern(self.starts, self.columns, len(self.current))

    @property
    def sides(self) -> tuple[npt.NDArray[np.bool_], ...]:
        """Which of the variables and rows are fixed, and which others have a bound on a side."""
        fixed = self.lower_bounds == self.upper_bounds
        lower, upper = np.isfinite(self.lower_bounds), np.isfinite(self.upper_bounds)
        return fixed, lower & ~fixed, upper & ~fixed

    def minimize(self, _cost: FloatArray, /) -> FloatArray:
        """Raise InvalidInputError: there is no closed form."""
        raise InvalidInputError(
            "a linear program that is given by its arrays has no closed form; name a solver, such "
            "as 'HIGHS'"
        )

    def row_multipliers(self, _cost: FloatArray, /) -> dict[str, FloatArray]:
        """Return nothing: rows have no names."""
        return {}

    def made_feasible(self, point: FloatArray) -> FloatArray:
        """Return the point: there is no rule that mends any point in proportion."""
        return point


class LinearProgram(Program[LinearPolytope]):
    """A linear program for all polytopes that have coefficients and bounds in the same places.

    Solvers see it as it was given, without units. Its parameters are ``cost``, ``coefficients``,
    and ``fixed``, ``lower`` and ``upper`` for the bounds.

    Parameters
    ----------
    like : LinearPolytope
        One of the polytopes.
    solver : str or ProgramOptions, optional
        Who solves it: a name, or a name with options.

    Examples
    --------
    >>> import numpy as np
    >>> like = LinearPolytope(
    ...     lower_bounds=np.array([0.0, 0.0, -np.inf]),
    ...     upper_bounds=np.array([3.0, np.inf, 4.0]),
    ...     starts=np.array([0, 2], np.int32),
    ...     columns=np.array([0, 1], np.int32),
    ...     coefficients=np.ones(2),
    ...     current=np.zeros(2),
    ... )
    >>> LinearProgram(like, "highspy").solve(np.array([-2.0, -1.0]), like).point
    array([3., 1.])
    """

    name = "linear program"

    def __init__(self, like: LinearPolytope, solver: str | ProgramOptions = "HIGHS") -> None:
        super().__init__(len(like.current), solver)
        self._like = like

    def _build(self) -> tuple[cp.Problem, cp.Variable]:
        pattern, count = self._like.pattern, len(self._like.coefficients)
        x = cp.Variable(self.size, name="x")
        cost = cp.Parameter(self.size, name="cost")
        values: cp.Expression = x
        every = np.arange(count)
        if count:
            coefficients = cp.Parameter(count, name="coefficients")
            shape = (pattern.n_rows, count)
            summed = csr_array((np.ones(count), (pattern.row_indices, every)), shape=shape)
            taken = csr_array((np.ones(count), (every, pattern.columns)), (count, self.size))
            values = cp.hstack([x, summed @ cp.multiply(coefficients, taken @ x)])
        constraints = []
        compared = (operator.eq, operator.ge, operator.le)
        for name, own, relation in zip(
            ("fixed", "lower", "upper"), self._sides, compared, strict=True
        ):
            if len(own):
                constraints.append(relation(values[own], cp.Parameter(len(own), name=name)))
        return cp.Problem(cp.Minimize(cost @ x), constraints), x

    @cached_property
    def _sides(self) -> list[npt.NDArray[np.intp]]:
        """Where bounds are; without coefficients the rows are no constraints."""
        size = len(self._like.lower_bounds) if len(self._like.coefficients) else self.size
        return [np.flatnonzero(own[:size]) for own in self._like.sides]

    def _assign(self, polytope: LinearPolytope) -> None:
        values = {
            "coefficients": polytope.coefficients,
            "fixed": polytope.lower_bounds[self._sides[0]],
            "lower": polytope.lower_bounds[self._sides[1]],
            "upper": polytope.upper_bounds[self._sides[2]],
        }
        for name, value in values.items():
            if name in self.parameters:
                self.parameters[name].value = value

    def arrays(self, cost: FloatArray, polytope: LinearPolytope) -> LinearArrays:
        """Return the program as arrays, whose constraints have no names."""
        return LinearArrays(
            cost,
            polytope.lower_bounds,
            polytope.upper_bounds,
            self._like.pattern,
            polytope.coefficients,
            (),
        )

    def _scaled(self, costs: FloatArray) -> tuple[FloatArray, float]:
        return costs, 1.0

    def _in_units(self, cost: FloatArray, polytope: LinearPolytope) -> LinearArrays:
        return self.arrays(cost, polytope)

    def _row_scales(self, _polytope: LinearPolytope, /) -> dict[str, float | FloatArray]:
        return {}
