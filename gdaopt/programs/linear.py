"""Any linear program by its arrays, as others give it: there is no closed form."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from gdaopt.backends import LinearArrays
from gdaopt.backends.arrays import Pattern
from gdaopt.errors import InvalidInputError
from gdaopt.programs.base import Polytope
from gdaopt.support.validation import FloatArray


@dataclass(frozen=True, eq=False)
class LinearPolytope(Polytope):
    """``{x : lower ≤ x ≤ upper, row_lower ≤ A x ≤ row_upper}``; solvers see it as it is.

    Its author counts a cost as `sign` times the cost, plus `constant`.
    """

    lower_bounds: FloatArray
    upper_bounds: FloatArray
    starts: npt.NDArray[np.int32]
    columns: npt.NDArray[np.int32]
    coefficients: FloatArray
    current: FloatArray
    sign: float = 1.0
    constant: float = 0.0

    name: ClassVar[str] = "linear program"

    def __post_init__(self) -> None:
        # A pattern that is damaged would let solvers read what lies behind the arrays.
        shape = (len(self.starts) - 1, len(self.current))
        csr_array((self.coefficients, self.columns, self.starts), shape).check_format()
        if not len(self.lower_bounds) == len(self.upper_bounds) == sum(shape):
            raise InvalidInputError(f"the bounds must be {sum(shape)}, of variables and rows")

    @classmethod
    def of(
        cls, arrays: LinearArrays, point: FloatArray, sign: float = 1.0, constant: float = 0.0
    ) -> LinearPolytope:
        """Return the polytope of arrays, and a point of it."""
        return cls(
            arrays.lower_bounds,
            arrays.upper_bounds,
            arrays.pattern.starts,
            arrays.pattern.columns,
            arrays.coefficients,
            point,
            sign,
            constant,
        )

    @cached_property
    def _pattern(self) -> Pattern:
        return Pattern.of_bounds(self.starts, self.columns, self.lower_bounds, self.upper_bounds)

    def arrays(self, cost: FloatArray) -> LinearArrays:
        bounds = self.lower_bounds, self.upper_bounds
        return LinearArrays(cost, *bounds, self._pattern, self.coefficients)

    def minimize(self, _cost: FloatArray, /) -> FloatArray:
        """Raise InvalidInputError: there is no closed form."""
        raise InvalidInputError(
            "a linear program that is given by its arrays has no closed form; name a solver, such "
            "as 'HIGHS'"
        )

    def point(self, y: FloatArray) -> FloatArray:
        return y

    def coordinates(self, x: FloatArray) -> FloatArray:
        return x

    def made_feasible(self, y: FloatArray) -> FloatArray:
        """Return the point: there is no rule that mends any point in proportion."""
        return y

    def duals(self, _cost: FloatArray, _row_duals: FloatArray | None) -> dict[str, FloatArray]:
        """Return none: its constraints have no names."""
        return {}
