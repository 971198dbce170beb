"""A linear program as a CVXPY problem, whose numbers are parameters: CVXPY compiles it once."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from gdaopt.backends import LinearArrays
from gdaopt.linalg.entries import IndexArray
from gdaopt.support.cvxpy_loading import cp
from gdaopt.support.validation import FloatArray

# In the units of points, whose entries below upper bounds are at most 1.
_NONE = 1e6  # what has no bound is bounded there, since CVXPY takes no infinity
_FAR = 1e3  # upper bounds beyond are put there: interior-point solvers fail on far ones


@dataclass(frozen=True, eq=False)
class _Side:
    """Constraints of one name, on variables or on rows: ``≥`` or ``≤`` a bound, or ``=``."""

    name: str
    of_rows: bool
    index: IndexArray  # among the variables, or among the rows
    is_lower: bool
    is_equality: bool

    def bounds(self, arrays: LinearArrays) -> FloatArray:
        bounds = arrays.lower_bounds if self.is_lower else arrays.upper_bounds
        none = 0.0 if self.is_equality else _NONE  # such as of a row without coefficients
        first = arrays.pattern.size if self.of_rows else 0
        found = np.nan_to_num(bounds[first + self.index], posinf=none, neginf=-none)
        is_ours = bool(self.name) and not (self.of_rows or self.is_lower)
        return np.minimum(found, _FAR) if is_ours else found

    def constraint(self, values: cp.Expression, bounds: cp.Parameter) -> cp.Constraint:
        relation: Callable[..., cp.Constraint] = operator.ge if self.is_lower else operator.le
        relation = operator.eq if self.is_equality else relation
        found = relation(values, bounds)
        return found.set_label(self.name) if self.name else found


class CompiledProblem:
    """The CVXPY problem of all programs that have their coefficients and bounds in the same places.

    Its parameters are ``cost``, ``coefficients``, and ``bounds: NAME`` for the constraints of each
    name, which is also their label.

    Attributes
    ----------
    problem : cvxpy.Problem
        In the units of solvers.
    x : cvxpy.Variable
        Its variable of shape (n,).
    """

    def __init__(
        self, like: LinearArrays, cones: Callable[[cp.Variable], list[cp.Constraint]]
    ) -> None:
        pattern, count = like.pattern, len(like.coefficients)
        self.x = cp.Variable(pattern.size, name="x")
        self._cost = cp.Parameter(pattern.size, name="cost")
        ones, every = np.ones(count), np.arange(count)
        if count:
            factors = csr_array((ones, (every, pattern.columns)), shape=(count, pattern.size))
            self._coefficients = cp.Parameter(count, name="coefficients")
            terms = cp.multiply(self._coefficients, cp.Constant(factors, name="factors") @ self.x)
        sums = csr_array((ones, (pattern.row_indices, every)), shape=(pattern.n_rows, count))
        constraints = cones(self.x)
        self._bounds: list[tuple[_Side, cp.Parameter]] = []
        for side in _sides(like):
            values: cp.Expression
            if side.of_rows:
                values = cp.Constant(csr_array(sums[side.index]), name="sums") @ terms
            else:
                values = self.x if len(side.index) == pattern.size else self.x[side.index]
            bounds = cp.Parameter(len(side.index), name=f"bounds: {side.name}")
            constraints.append(side.constraint(values, bounds))
            self._bounds.append((side, bounds))
        self.problem = cp.Problem(cp.Minimize(self._cost @ self.x), constraints)
        self._assigned: FloatArray | None = None  # the bounds that the parameters have

    def assign(self, arrays: LinearArrays) -> None:
        """Give the parameters the numbers of a program."""
        self._cost.value = arrays.cost
        if arrays.lower_bounds is self._assigned:  # of the same polytope: most steps keep it
            return
        self._assigned = arrays.lower_bounds
        if len(arrays.coefficients):
            self._coefficients.value = arrays.coefficients
        for side, bounds in self._bounds:
            bounds.value = side.bounds(arrays)


def _sides(arrays: LinearArrays) -> Iterator[_Side]:
    """Yield the constraints by name; all that have bounds where the arrays name none."""
    size, n_rows = arrays.pattern.size, arrays.pattern.n_rows
    for part in arrays.parts:
        of_rows = part.kind == "rows"
        index = np.arange(n_rows if of_rows else size)[part.where]
        is_lower = part.kind == "lower" or part.is_lower
        if len(index):
            yield _Side(part.name, of_rows, index, is_lower, part.is_equality)
    if not arrays.parts:
        for name, chosen in arrays.sides.items():
            # Without coefficients the rows are no constraints.
            rows = chosen[size:] if len(arrays.coefficients) else np.zeros(0, dtype=bool)
            for of_rows, own in ((False, chosen[:size]), (True, rows)):
                if own.any():
                    index = np.flatnonzero(own)
                    yield _Side("", of_rows, index, name == "lower", name == "fixed")
