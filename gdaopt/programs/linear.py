"""Any linear program with bounds, by its arrays: what others give solvers to be compared on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from gdaopt.backends import LinearArrays, RowPattern
from gdaopt.errors import InvalidInputError
from gdaopt.programs.base import Polytope
from gdaopt.support.validation import FloatArray


@dataclass(frozen=True, eq=False)
class LinearPolytope(Polytope):
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

    Examples
    --------
    >>> from gdaopt.programs import Program
    >>> polytope = LinearPolytope(
    ...     lower_bounds=np.array([0.0, 0.0, -np.inf]),
    ...     upper_bounds=np.array([3.0, np.inf, 4.0]),
    ...     starts=np.array([0, 2], np.int32),
    ...     columns=np.array([0, 1], np.int32),
    ...     coefficients=np.ones(2),
    ...     current=np.zeros(2),
    ... )
    >>> Program("highspy").solve(np.array([-2.0, -1.0]), polytope).point
    array([3., 1.])
    """

    lower_bounds: FloatArray
    upper_bounds: FloatArray
    starts: npt.NDArray[np.int32]
    columns: npt.NDArray[np.int32]
    coefficients: FloatArray
    current: FloatArray

    name: ClassVar[str] = "linear program"
    is_scaled: ClassVar[bool] = False

    def __post_init__(self) -> None:
        # A pattern that is damaged would let solvers read what lies behind the arrays.
        shape = (len(self.starts) - 1, len(self.current))
        csr_array((self.coefficients, self.columns, self.starts), shape).check_format()
        if not len(self.lower_bounds) == len(self.upper_bounds) == sum(shape):
            raise InvalidInputError(f"the bounds must be {sum(shape)}, of variables and rows")

    @property
    def unit(self) -> float:
        """1: solvers see the program as it was given."""
        return 1.0

    def row_scales(self) -> FloatArray:
        return np.ones(len(self.starts) - 1)

    def arrays(self, cost: FloatArray) -> LinearArrays:
        """Return the program as arrays, whose constraints have no names."""
        pattern = _pattern(self.starts.tobytes(), self.columns.tobytes(), len(cost))
        bounds = self.lower_bounds, self.upper_bounds
        return LinearArrays(cost, *bounds, pattern, self.coefficients, ())

    def minimize(self, _cost: FloatArray, /) -> FloatArray:
        """Raise InvalidInputError: there is no closed form."""
        raise InvalidInputError(
            "a linear program that is given by its arrays has no closed form; name a solver, such "
            "as 'HIGHS'"
        )

    def made_feasible(self, point: FloatArray) -> FloatArray:
        """Return the point: there is no rule that mends any point in proportion."""
        return point


@lru_cache(maxsize=16)
def _pattern(starts: bytes, columns: bytes, size: int) -> RowPattern:
    return RowPattern(np.frombuffer(starts, np.int32), np.frombuffer(columns, np.int32), size)
